"""Physical removal on Redis: the files of every server are rewritten; what was not is told."""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import redis
from memorist import Memory, StoreError
from memorist.records import Fact, Thread
from memorist.runtime import Runtime
from memorist.stores.base import Delete, DeleteRange, Put, Scan
from memorist.stores.redis import RedisStore
from memorist.stores.redis.keys import base_of
from memorist_testing.plugin import Run
from memorist_testing.samples import NOW, fact, later, thread
from tests.servers.ports import free_port
from tests.servers.redis import RedisCluster, RedisServer, products, start_redis, start_redis_cluster, wait_for

SECRET = "a very secret sentence, said once and never again"
NEEDLE = SECRET.encode()
Start = Callable[..., RedisServer]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts servers that keep files, and stops them after the test."""
    started: list[RedisServer] = []

    def make(**options: Any) -> RedisServer:
        started.append(start_redis(**options))
        return started[-1]

    yield make
    for server in started:
        server.stop()


def opened(server: RedisServer, runtime: Runtime, run: Run, url: str | None = None) -> RedisStore:
    """A store with a kept fact and one that is deleted again."""
    store = RedisStore(url or server.url, runtime=runtime, on_risk="ignore")
    run(store.open())
    run(store.apply([Put(fact("o", value=SECRET)), Put(fact("o", "k2", "kept"))], now=NOW))
    return store


def forget(store: RedisStore, run: Run) -> None:
    run(store.apply([Delete(Fact, ("o", "global", "k"))], now=NOW))


def holding(*servers: RedisServer, needle: bytes = NEEDLE) -> list[str]:
    """The files of these servers that hold a text; our servers keep strings as they are."""
    paths = [path for server in servers for path in server._folder().rglob("*") if path.is_file()]
    return [path.name for path in paths if needle in path.read_bytes()]


# -- files


@pytest.mark.parametrize("product", products())
@pytest.mark.parametrize("persistence", ["append-only file", "snapshot", "both", "nothing"])
def test_scrubbed_text_is_found_nowhere(
    product: str, persistence: str, start: Start, runtime: Runtime, run: Run
) -> None:
    aof = "always" if persistence in ("append-only file", "both") else "no"
    saves = {"save": "3600 1"} if persistence in ("snapshot", "both") else {}
    server = start(product=product, aof=aof, options={"rdbcompression": "no", **saves})
    store = opened(server, runtime, run)
    if persistence in ("snapshot", "both"):
        with server.client() as client:
            client.save()
    forget(store, run)
    assert bool(holding(server)) == (persistence != "nothing")
    report = run(store.scrub())
    assert report.left == [] and holding(server) == []
    assert bool(holding(server, needle=b"kept")) == (persistence != "nothing"), "what is live is there"
    assert f"slow log of 127.0.0.1:{server.port}" in report.done
    assert (f"append-only file of 127.0.0.1:{server.port}" in report.done) == (
        persistence in ("append-only file", "both")
    )
    assert (f"snapshot of 127.0.0.1:{server.port}" in report.done) == (persistence in ("snapshot", "both"))
    run(store.close())


def test_a_snapshot_from_before_snapshots_were_switched_off_is_rewritten(
    start: Start, runtime: Runtime, run: Run
) -> None:
    server = start(options={"save": "3600 1", "rdbcompression": "no"})
    store = opened(server, runtime, run)
    with server.client() as client:
        client.save()
        client.config_set("save", "")
    forget(store, run)
    run(store.scrub())
    assert holding(server) == []
    run(store.close())


def test_a_server_that_keeps_nothing_gets_no_files_by_it(start: Start, runtime: Runtime, run: Run) -> None:
    server = start(aof="no")
    store = opened(server, runtime, run)
    forget(store, run)
    run(store.scrub())
    assert [path.name for path in server._folder().iterdir()] == ["log"]
    run(store.close())


# -- what a user of the server may not do


def test_a_log_that_may_not_be_emptied_is_told(start: Start, runtime: Runtime, run: Run) -> None:
    server = start()
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "app", "on", ">secret", "~mm:*", "+@all", "-slowlog")
    store = opened(server, runtime, run, f"redis://app:secret@127.0.0.1:{server.port}/0")
    report = run(store.scrub())
    [remainder] = report.left
    assert remainder.startswith(f"logs of 127.0.0.1:{server.port} (") and "SLOWLOG RESET" in remainder
    run(store.close())


def test_a_user_who_may_not_rewrite_files_is_told(start: Start, runtime: Runtime, run: Run) -> None:
    server = start()
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "app", "on", ">secret", "~mm:*", "+@all", "-bgrewriteaof")
    store = opened(server, runtime, run, f"redis://app:secret@127.0.0.1:{server.port}/0")
    with pytest.raises(StoreError, match="refused BGREWRITEAOF"):
        run(store.scrub())
    run(store.close())


def documented_user() -> list[str]:
    page = (Path(__file__).parents[2] / "docs" / "deploy-redis.md").read_text("utf-8")
    [line] = [line for line in page.splitlines() if "ACL SETUSER" in line]
    return [word.strip("'") for word in line.partition("ACL SETUSER")[2].split()]


def test_the_documented_rights_are_enough_on_a_cluster(
    redis_cluster: RedisCluster, runtime: Runtime, run: Run, org: str
) -> None:
    words = documented_user()
    for node in redis_cluster.nodes:
        with node.client() as client:
            client.execute_command("ACL", "SETUSER", *words)
    url = redis_cluster.url.replace("://", f"://{words[0]}:secret@")
    store = RedisStore(url, runtime=runtime)
    run(store.open())
    run(store.apply([Put(fact(org))], now=NOW))
    assert run(store.get(Fact, fact(org).row_key, now=NOW)) is not None
    run(store.close())
    for node in redis_cluster.nodes:
        with node.client() as client:
            client.execute_command("ACL", "DELUSER", words[0])


def test_the_documented_rights_are_enough(start: Start, runtime: Runtime, run: Run) -> None:
    server = start(options={"save": "3600 1", "rdbcompression": "no"})
    words = documented_user()
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", *words)
    store = opened(server, runtime, run, f"redis://{words[0]}:secret@127.0.0.1:{server.port}/0")
    forget(store, run)
    assert run(store.scrub()).left == [] and holding(server) == []
    run(store.close())


# -- replicas


def test_files_of_a_replica_are_rewritten(start: Start, runtime: Runtime, run: Run) -> None:
    primary = start(options={"repl-diskless-sync-delay": "0", "rdbcompression": "no"})
    store = opened(primary, runtime, run)
    replica = start(options={"replicaof": f"127.0.0.1 {primary.port}", "rdbcompression": "no"})
    wait_for(lambda: in_step(replica), lambda: "the replica did not follow")
    forget(store, run)
    assert holding(replica)
    report = run(store.scrub())
    assert holding(primary, replica) == [] and report.left == []
    assert f"append-only file of 127.0.0.1:{replica.port}" in report.done
    replica.kill()
    with primary.client() as client:
        wait_for(lambda: client.info("replication")["connected_slaves"] == 0, lambda: "the replica is still there")
    assert "not connected" in run(store.scrub()).left[0]
    run(store.close())


def test_every_node_of_a_cluster_is_scrubbed_and_so_are_their_replicas(runtime: Runtime, run: Run) -> None:
    cluster = start_redis_cluster()
    settings = {"cluster-enabled": "yes", "cluster-config-file": "nodes.conf", "cluster-node-timeout": "5000"}
    replica = start_redis(options={**settings, "rdbcompression": "no"}, port=free_port())
    try:
        for node in cluster.nodes:
            with node.client() as client:
                client.config_set("rdbcompression", "no")
        store = RedisStore(cluster.url, runtime=runtime)
        run(store.open())
        run(store.apply([Put(fact("o", value=SECRET))], now=NOW))
        [owner] = [node for node in cluster.nodes if holding(node)]
        follow(replica, owner)
        forget(store, run)
        assert holding(owner) and holding(replica)
        report = run(store.scrub())
        assert holding(*cluster.nodes, replica) == [] and report.left == []
        ports = {str(node.port) for node in [*cluster.nodes, replica]}
        assert {file.rpartition(":")[2] for file in report.done if file.startswith("append")} == ports
        run(store.close())
    finally:
        replica.stop()
        cluster.stop()


def follow(replica: RedisServer, owner: RedisServer) -> None:
    """Make a server the replica of a node of a cluster, and wait until it has all."""
    with owner.client() as client:
        client.config_set("repl-diskless-sync-delay", "0")
        owner_id = bytes(client.execute_command("CLUSTER", "MYID"))
    with replica.client() as client:
        client.execute_command("CLUSTER", "MEET", "127.0.0.1", str(owner.port))
        wait_for(
            lambda: owner_id in bytes(client.execute_command("CLUSTER", "NODES")), lambda: "the replica met nobody"
        )
        client.execute_command("CLUSTER", "REPLICATE", owner_id)
    wait_for(lambda: in_step(replica), lambda: "the replica did not follow")


def in_step(replica: RedisServer) -> bool:
    with replica.client() as client:
        return bool(client.info("replication")["master_link_status"] == "up" and client.dbsize() > 0)


# -- what else remembers


def test_the_slow_log_forgets_too(start: Start, runtime: Runtime, run: Run) -> None:
    server = start(options={"slowlog-log-slower-than": "0"})
    store = opened(server, runtime, run)
    forget(store, run)
    with server.client() as client:
        client.config_set("slowlog-log-slower-than", "-1")
        assert client.slowlog_len() > 0
        run(store.scrub())
        assert client.slowlog_len() == 0
    run(store.close())


def test_names_of_rows_that_the_server_collected_go_with_a_range(
    redis_server: RedisServer, runtime: Runtime, run: Run, org: str
) -> None:
    store = RedisStore(redis_server.url, runtime=runtime)
    run(store.open())
    brief = [Put(fact(org, f"{key}-name", expires_at=later(1))) for key in ("telling", "other")]
    run(store.apply([*brief, Put(thread(org, "telling-thread", expires_at=later(1)))], now=NOW))
    with redis_server.client() as client:
        base = base_of(org)
        for name in (b"facts:global\0telling-name\0", b"facts:global\0other-name\0", b"threads:telling-thread\0"):
            assert client.delete(base + name) == 1  # as the server does when a row's time has come
        run(store.apply([DeleteRange(Fact, (org, "global"), before=("telling-namf",), after=("p",))], now=NOW))
        assert run(store.scan(Scan(Thread, (org, "global"), index="by_ns"), now=NOW)) == []
        assert run(store.scan(Scan(Thread, (org,)), now=NOW)) == []
        index_entries = repr([(name, client.zrange(name, 0, -1)) for name in client.scan_iter(base + b"@*")])
        assert "other-name" in index_entries and "telling" not in index_entries
    run(store.close())


# -- as the hot tier


def test_a_hot_store_that_is_away_is_told_and_scrubbed_when_it_is_back(start: Start, tmp_path: Path) -> None:
    server = start(options={"save": "3600 1", "rdbcompression": "no"})
    with Memory(tmp_path / "memory.db", hot=server.url, all_orgs=True, embedder=None, worker=False) as memory:
        memory.threads.create("user:ada", id="telling-thread")
        memory.threads.append("telling-thread", SECRET)
        assert [message.text for message in memory.threads.recent("telling-thread")] == [SECRET]
        server.kill()
        memory.forget(user="ada")
        assert memory.threads.get("telling-thread") is None
        with pytest.raises(StoreError):
            memory.scrub()
        server.restart()
        assert holding(server)
        report = memory.scrub()
        assert report.left == [] and {file.partition(":")[0] for file in report.done} == {"sqlite", "redis"}
        for needle in (NEEDLE, b"telling-thread"):
            assert holding(server, needle=needle) == []


# -- a server out of memory, a full disk


@pytest.mark.parametrize("product", products())
def test_deleting_and_forgetting_work_on_a_server_that_is_out_of_memory(product: str, start: Start) -> None:
    server = start(product=product, options={"maxmemory": "12mb", "maxmemory-policy": "noeviction"})
    with Memory(server.url, embedder=None, worker=False) as memory:
        for thread, ns in (("talk", "user:ada"), ("other", "user:bob"), ("rest", "global")):
            memory.threads.create(ns, id=thread)
        memory.threads.append("talk", SECRET)
        memory.facts.set("global", "heard", SECRET, source="talk#1")
        memory.facts.set("user:ada", "home", "Rome")
        for size in (100_000, 100):
            with pytest.raises(StoreError, match="out of memory"):
                while True:
                    memory.threads.append("rest", "x" * size)
    # A client that has not yet seen this org registered.
    with Memory(server.url, embedder=None, worker=False) as memory:
        assert memory.facts.delete("user:ada", "home") is True
        assert memory.threads.delete("other") is True
        assert memory.forget(user="ada").counts["facts"] == 1
        assert memory.facts.get("global", "heard") is None and memory.threads.get("talk") is None
        assert memory.threads.delete("rest") is True
        memory.threads.create("global", id="again")


@pytest.fixture(params=["mounted", "limited"])
def small_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[RedisServer, Callable[[], None]]]:
    """A server on a disk with room for a few writes and none for a rewriting, and what makes room.

    Where nothing may be mounted, the server may write no file longer than a few hundred kilobytes.
    """
    server = start_redis(aof="everysec")
    folder = tmp_path / "disk"
    folder.mkdir()
    server._end()
    mounted = request.param == "mounted" and _mount(folder)
    if mounted:
        server._command += ["--dir", str(folder)]
        server.start()
        full = folder / "full"
        yield server, lambda: full.unlink()
        server.stop()
        subprocess.run(["umount", str(folder)], check=True)
        return
    server.start()
    yield server, lambda: _limit(server, -1)
    server.stop()


def _limit(server: RedisServer, size: int) -> None:
    process = server._running().pid
    most = resource.prlimit(process, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(process, resource.RLIMIT_FSIZE, (most if size < 0 else size, most))


def _mount(folder: Path) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(folder)]
    return shutil.which("mount") is not None and subprocess.run(command, capture_output=True).returncode == 0


def test_a_rewriting_that_fails_is_told_and_what_was_forgotten_stays_so(
    small_server: tuple[RedisServer, Callable[[], None]], tmp_path: Path
) -> None:
    server, make_room = small_server
    disk = tmp_path / "disk"
    options: dict[str, Any] = {"all_orgs": True, "embedder": None, "worker": False}
    with pytest.warns(UserWarning, match="appendfsync"), Memory(server.url, **options) as memory:
        memory.threads.create("user:ada", id="talk")
        memory.threads.append("talk", SECRET)
        memory.threads.create("global", id="rest")
        dice = random.Random(1)
        for _ in range(20):
            memory.threads.append("rest", dice.randbytes(50_000).hex())
        if disk.is_mount():
            room = shutil.disk_usage(disk).free
            (disk / "full").write_bytes(bytes(room - 400_000))
        else:
            with server.client() as client:
                client.bgrewriteaof()
                wait_for(lambda: not client.info("persistence")["aof_rewrite_in_progress"], lambda: "still rewriting")
            _limit(server, 300_000)
        memory.forget(user="ada")
        with pytest.raises(StoreError, match="could not rewrite its files"):
            memory.scrub()
        assert memory.threads.get("talk") is None
        make_room()
        assert memory.scrub().left == []
    folder = disk if disk.is_mount() else server._folder()
    assert not [path for path in folder.rglob("*") if path.is_file() and NEEDLE in path.read_bytes()]
    with redis.Redis.from_url(server.url) as client:
        assert client.dbsize() > 0
