"""schemathesis against a real server: every operation of the document, all phases, all checks.

    python -m tests.server.fuzz [cases per operation] [more options of schemathesis]

The caller has a key of every role, so what it asks for is done and not refused at the door.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from memorist.errors import NotFound
from memorist.protocol.keys import NewKey
from memorist.server.auth import Keys
from memorist.server.openapi import document
from tests.server.running import Running, running

SETTINGS = Path(__file__).with_name("schemathesis.toml")
CASES = 120
"""Cases per operation and phase: more than 10,000 in all."""


def main() -> int:
    cases, *more = sys.argv[1:] or [str(CASES)]
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "memory.db") as server:
        return subprocess.run(command(server, folder, cases, *more), check=False).returncode


def _shield(keys: Keys, own: str) -> None:
    """The key that schemathesis asks with cannot be ended by it: nothing would be tested after that."""
    rotate, revoke = keys.rotate, keys.revoke

    async def rotate_others(id: str) -> NewKey:
        if id == own:
            raise NotFound("no such key")
        return await rotate(id)

    async def revoke_others(id: str) -> bool:
        return id != own and await revoke(id)

    keys.rotate, keys.revoke = rotate_others, revoke_others  # type: ignore[method-assign]  # for this run


def command(server: Running, folder: str, cases: str, *more: str) -> list[str]:
    """The command line; reports go to the folder."""
    document()  # made once, and schemathesis waits for it only ten seconds
    # Streams of events end at once on a server that is stopping: nothing else changes by it.
    server.app.state.server.draining = True
    key = server.key(org="fuzzed", roles=("admin",))
    _shield(server.app.state.server.keys, key.split("_")[1])
    return [
        sys.executable, "-m", "schemathesis.cli", "--config-file", str(SETTINGS), "run", f"{server.url}/openapi.json",
        "--header", f"Authorization: Bearer {key}", "--max-examples", cases, "--report-dir", folder,
        "--generation-database", "none", "--request-timeout", "60", "--no-color", *more,
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
