"""A real PgBouncer in transaction mode for tests: Debian's program, run as an ordinary user."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from .ports import free_port
from .postgres import Postgres, _ordinary_user

CONNECTIONS = 4
"""So many connections to the server, whatever the number of clients."""


class PgBouncer:
    """One running pooler before a Postgres; `url_for` reaches a database through it."""

    def __init__(self, server: Postgres, connections: int = CONNECTIONS) -> None:
        self.server = server
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="memorist-pgbouncer-"))
        settings = {
            "listen_addr": "127.0.0.1", "listen_port": self.port, "unix_socket_dir": "", "auth_type": "any",
            "pool_mode": "transaction", "default_pool_size": connections, "max_client_conn": 500,
            "server_login_retry": 1, "ignore_startup_parameters": "extra_float_digits", "logfile": self.folder / "log",
            "admin_users": "postgres",
        }  # fmt: skip
        lines = [f"{name} = {value}" for name, value in settings.items()]
        # "any" connects as the user named here, whoever asks.
        databases = f"* = host=127.0.0.1 port={server.port} user=postgres"
        (self.folder / "ini").write_text("\n".join(["[databases]", databases, "[pgbouncer]", *lines]))
        if os.getuid() == 0:
            for path in (self.folder, self.folder / "ini"):
                os.chown(path, _ordinary_user()["user"], -1)
        self._process = subprocess.Popen(
            [_program(), str(self.folder / "ini")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            cwd=self.folder,
            **_ordinary_user(),
        )
        atexit.register(self.stop)
        self._wait()

    def url_for(self, database: str, options: str = "") -> str:
        """A database of the server, through the pooler."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}{options}"

    def stop(self) -> None:
        """End the pooler and remove its files."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait(self) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until and self._process.poll() is None:
            try:
                psycopg.connect(self.url_for("postgres"), connect_timeout=5).close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return
        log = self.folder / "log"
        raise RuntimeError(f"PgBouncer did not start:\n{log.read_text()[-2000:] if log.exists() else ''}")


def _program() -> str:
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        raise RuntimeError("no pgbouncer; run scripts/install-system, or install the system's pgbouncer")
    return program


def version() -> tuple[int, ...]:
    """Of the program that is installed."""
    output: Any = subprocess.run([_program(), "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in output.split()[1].split("."))
