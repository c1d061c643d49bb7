"""Physical forgetting on Redis: files of every server rewritten, then searched; no more is claimed than was seen."""

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
from recollect import Memory, StoreError
from recollect.records import Fact, Job, Thread
from recollect.runtime import BlockingRuntime, Runtime, run_blocking
from recollect.stores.base import Delete, DeleteRange, Put, Scan
from recollect.stores.redis import RedisStore, nodes, snapshots
from recollect.stores.redis.keys import base_of
from recollect.testing.plugin import Run
from recollect.testing.samples import NOW, fact, later, thread
from tests.servers.redis import RedisServer, free_port, products, start_redis, start_redis_cluster, wait_for

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


def verdict(store: RedisStore, run: Run, needle: bytes = NEEDLE) -> Any:
    return run(store.verify_absent([needle], org="o"))


# -- files


@pytest.mark.parametrize("product", products())
@pytest.mark.parametrize("kept", ["append-only file", "snapshot", "both", "nothing"])
def test_scrubbed_text_is_found_nowhere(product: str, kept: str, start: Start, runtime: Runtime, run: Run) -> None:
    aof = "always" if kept in ("append-only file", "both") else "no"
    server = start(
        product=product, aof=aof, options={} if kept in ("append-only file", "nothing") else {"save": "3600 1"}
    )
    store = opened(server, runtime, run)
    if kept in ("snapshot", "both"):
        with server.client() as client:
            client.save()
    assert verdict(store, run).found[0] == "rows of facts"
    forget(store, run)
    before = verdict(store, run)
    assert bool(before.found) == (kept != "nothing")
    run(store.scrub())
    after = verdict(store, run)
    assert (after.found, after.unchecked, after.verified) == ([], [], True)
    assert verdict(store, run, b"global\0k2").found, "what is live is seen"
    run(store.close())


def test_text_that_a_snapshot_has_packed_is_seen(start: Start, runtime: Runtime, run: Run) -> None:
    server = start(aof="no", options={"save": "3600 1"})
    store = opened(server, runtime, run)
    packed = "a sentence that follows so many equal ones that it is packed"
    run(store.apply([Put(fact("o", value=f"{'a sentence that is packed, ' * 50}{packed}"))], now=NOW))
    with server.client() as client:
        client.save()
    assert server.folder is not None
    assert packed.encode() not in (server.folder / "dump.rdb").read_bytes(), "too easy: it is there as it is"
    run(store.apply([Delete(Fact, ("o", "global", "k"))], now=NOW))
    assert verdict(store, run, packed.encode()).found == [f"dump.rdb of 127.0.0.1:{server.port}"]
    run(store.close())


def test_packed_strings_are_seen_wherever_a_chunk_ends(
    start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = start(aof="no")
    texts = [f"number {n} {'said again and ' * (n % 40)}ends with {n:05d}".encode() for n in range(300)]
    with server.client() as client:
        for n, text in enumerate(texts):
            client.set(f"k{n}", text)
        client.save()
    assert server.folder is not None
    file = server.folder / "dump.rdb"
    needles = [text[-16:] for text in texts]
    assert snapshots.held(file, [*needles, b"not in any of them"]) == set(needles)
    for chunk in (37, 256, 1000):
        monkeypatch.setattr(snapshots, "CHUNK", chunk)
        assert snapshots.held(file, needles) == set(needles)


def test_bytes_that_only_look_packed_are_passed_over() -> None:
    assert snapshots.unpack(b"\x04hello", 5) == b"hello"
    assert snapshots.unpack(b"\x00a\xe0\xff\x00", 265) == b"a" * 265
    for broken in (b"", b"\x04hell", b"\x20", b"\x20\x05", b"\xe0\x01", b"\x00a\x20\x01"):
        assert snapshots.unpack(broken, 5) is None


def test_a_file_left_by_a_rewriting_that_broke_off_is_found(start: Start, runtime: Runtime, run: Run) -> None:
    server = start()
    store = opened(server, runtime, run)
    assert server.folder is not None
    forget(store, run)
    run(store.scrub())
    for name in ("temp-4711.rdb", "appendonlydir/temp-rewriteaof-4711.aof"):
        left = server.folder / name
        left.write_bytes(b"REDIS0010" + NEEDLE)
        assert verdict(store, run).found == [f"{name} of 127.0.0.1:{server.port}"]
        left.unlink()
    assert verdict(store, run).verified is True
    run(store.close())


def test_files_from_before_a_setting_was_changed_are_rewritten(start: Start, runtime: Runtime, run: Run) -> None:
    server = start(options={"save": "3600 1"})
    store = opened(server, runtime, run)
    with server.client() as client:
        client.save()
        client.config_set("appendonly", "no")
        client.config_set("save", "")
    forget(store, run)
    assert len(verdict(store, run).found) == 2
    run(store.scrub())
    assert verdict(store, run).verified is True
    run(store.close())


def test_a_server_that_keeps_nothing_gets_no_files_by_it(start: Start, runtime: Runtime, run: Run) -> None:
    server = start(aof="no")
    store = opened(server, runtime, run)
    forget(store, run)
    run(store.scrub())
    assert verdict(store, run).verified is True
    assert server.folder is not None and [path.name for path in server.folder.iterdir()] == ["log"]
    run(store.close())


# -- what cannot be seen is not called seen


def test_files_on_another_machine_are_not_called_verified(
    start: Start, runtime: Runtime, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = start()
    store = opened(server, runtime, run)
    forget(store, run)
    run(store.scrub())
    assert server.folder is not None
    shutil.copytree(server.folder, tmp_path / "other")
    run(store.scrub())
    # The server's folder as seen from elsewhere: not there, or there with the files of another server.
    for folder in (tmp_path / "nothing", tmp_path / "other"):
        listed = nodes._files({"dir": str(folder)})
        with monkeypatch.context() as patched:
            patched.setattr(nodes, "_files", lambda settings, listed=listed: listed)
            looked = verdict(store, run)
        assert looked.verified is None and looked.found == []
        assert looked.unchecked == [f"files of 127.0.0.1:{server.port} (they are not on this machine)"]
        assert "keys and values of this org" in looked.checked
    assert verdict(store, run).verified is True
    run(store.close())


@pytest.mark.parametrize(
    ("denied", "said"),
    [
        ("-config", "CONFIG is not allowed"),
        ("-scan", "SCAN"),
        ("-zscan", "ZSCAN"),
        ("-slowlog", "SLOWLOG is not allowed"),
    ],
)
def test_what_a_user_may_not_ask_for_is_told(denied: str, said: str, start: Start, runtime: Runtime, run: Run) -> None:
    server = start()
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "app", "on", ">secret", "~rc:*", "+@all", denied)
    store = opened(server, runtime, run, f"redis://app:secret@127.0.0.1:{server.port}/0")
    forget(store, run)
    run(store.scrub())
    looked = verdict(store, run)
    assert looked.verified is None and len(looked.unchecked) == 1 and said in looked.unchecked[0]
    run(store.close())


def test_the_documented_rights_are_enough(start: Start, runtime: Runtime, run: Run) -> None:
    server = start(options={"save": "3600 1"})
    page = (Path(__file__).parents[2] / "docs" / "deploy-redis.md").read_text("utf-8")
    [line] = [line for line in page.splitlines() if "ACL SETUSER" in line]
    words = [word.strip("'") for word in line.partition("ACL SETUSER")[2].split()]
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", *words)
    store = opened(server, runtime, run, f"redis://{words[0]}:secret@127.0.0.1:{server.port}/0")
    forget(store, run)
    run(store.scrub())
    assert verdict(store, run).verified is True
    run(store.close())


# -- replicas


def test_files_of_a_replica_are_rewritten_and_searched(start: Start, runtime: Runtime, run: Run) -> None:
    primary = start(options={"repl-diskless-sync-delay": "0"})
    store = opened(primary, runtime, run)
    replica = start(options={"replicaof": f"127.0.0.1 {primary.port}"})
    wait_for(lambda: in_step(replica), lambda: "the replica did not follow")
    forget(store, run)
    assert any(str(replica.port) in place for place in verdict(store, run).found)
    run(store.scrub())
    looked = verdict(store, run)
    assert looked.verified is True and f"files of 127.0.0.1:{replica.port}" in looked.checked
    replica.kill()
    with primary.client() as client:
        wait_for(lambda: client.info("replication")["connected_slaves"] == 0, lambda: "the replica is still there")
    looked = verdict(store, run)
    assert looked.verified is None and "not connected" in looked.unchecked[0]
    run(store.close())


def test_every_node_of_a_cluster_is_searched_and_so_are_their_replicas(runtime: Runtime, run: Run) -> None:
    cluster = start_redis_cluster()
    settings = {"cluster-enabled": "yes", "cluster-config-file": "nodes.conf", "cluster-node-timeout": "5000"}
    replica = start_redis(options=settings, port=free_port(below=55_536))
    try:
        store = RedisStore(cluster.url, runtime=runtime)
        run(store.open())
        run(store.apply([Put(fact("o", value=SECRET))], now=NOW))
        [owner] = [node for node in cluster.nodes if in_folder(node)]
        follow(replica, owner)
        forget(store, run)
        assert {place.rpartition(":")[2] for place in verdict(store, run).found} == {str(owner.port), str(replica.port)}
        run(store.scrub())
        looked = verdict(store, run)
        assert looked.verified is True
        ports = {str(node.port) for node in [*cluster.nodes, replica]}
        assert {place.rpartition(":")[2] for place in looked.checked if place.startswith("files")} == ports
        [other, *_] = [node for node in cluster.nodes if node is not owner]
        assert other.folder is not None
        (other.folder / "temp-1.rdb").write_bytes(NEEDLE)
        assert verdict(store, run).found == [f"temp-1.rdb of 127.0.0.1:{other.port}"]
        run(store.close())
    finally:
        replica.stop()
        cluster.stop()


def in_folder(node: RedisServer) -> bool:
    assert node.folder is not None
    return any(NEEDLE in file.read_bytes() for file in node.folder.rglob("*") if file.is_file())


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
    assert f"slow log of 127.0.0.1:{server.port}" in verdict(store, run, b"rc:{o}:").found
    with server.client() as client:
        client.config_set("slowlog-log-slower-than", "-1")
    run(store.scrub())
    assert verdict(store, run).verified is True
    with server.client() as client:
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
    assert "rows of facts" in run(store.verify_absent([b"other-name"], org=org)).found
    assert not [place for place in run(store.verify_absent([b"telling"], org=org)).found if "rows" in place]
    run(store.close())


# -- as the hot tier


def test_a_hot_store_that_is_away_is_told_and_forgets_when_it_is_back(start: Start, tmp_path: Path) -> None:
    server = start(options={"save": "3600 1"})
    with Memory(tmp_path / "memory.db", hot=server.url, embedder=None, worker=False) as memory:
        memory.threads.create("user:ada", id="telling-thread")
        memory.threads.append("telling-thread", SECRET)
        assert [message.text for message in memory.threads.recent("telling-thread")] == [SECRET]
        server.kill()
        with pytest.raises(StoreError):
            memory.forget(user="ada", physical=True)
        assert memory.threads.get("telling-thread") is None
        server.restart()
        hot = RedisStore(server.url, runtime=BlockingRuntime(), on_risk="ignore")
        assert run_blocking(hot.verify_absent([NEEDLE], org="default")).found[0] == "rows of state"
        memory.forget(source="anything")
        assert run_blocking(memory._core.scan(Job, "forget")) == []
        for needle in (NEEDLE, b"telling-thread"):
            assert run_blocking(memory._core.store.verify_absent([needle], org="default")).verified is True  # type: ignore[attr-defined]
        run_blocking(hot.close())


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
        erasure = memory.forget(user="ada", physical=True)
        assert erasure.verified is True and erasure.counts["facts"] == 1
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


def _mount(place: Path) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(place)]
    return shutil.which("mount") is not None and subprocess.run(command, capture_output=True).returncode == 0


def test_a_rewriting_that_fails_is_told_and_what_was_forgotten_stays_so(
    small_server: tuple[RedisServer, Callable[[], None]], tmp_path: Path
) -> None:
    server, make_room = small_server
    disk = tmp_path / "disk"
    with pytest.warns(UserWarning, match="appendfsync"), Memory(server.url, embedder=None, worker=False) as memory:
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
        with pytest.raises(StoreError, match="could not rewrite its files"):
            memory.forget(user="ada", physical=True)
        assert memory.threads.get("talk") is None
        memory.facts.set("user:bob", "city", "Oslo")
        assert memory.forget(user="bob").counts["facts"] == 1, "what waits for room holds up no other forgetting"
        assert len(run_blocking(memory._core.scan(Job, "forget"))) == 1
        make_room()
        memory.forget(source="anything")
        assert run_blocking(memory._core.scan(Job, "forget")) == []
        store = RedisStore(server.url, runtime=BlockingRuntime(), on_risk="ignore")
        assert run_blocking(store.verify_absent([NEEDLE], org="default")).verified is True
        run_blocking(store.close())
    with redis.Redis.from_url(server.url) as client:
        assert client.dbsize() > 0
