"""Runs `@modelcontextprotocol/conformance` against `/mcp` of a real server, and drives the tools with the Inspector.

    python -m tests.mcp_server.conform

Every server scenario that the two revisions require is run against our server with the suite's fixtures in it, those
that need none of them against the server as it is shipped as well.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from memorist.mcp.http import mcp_parts
from memorist.mcp.server import Options
from memorist.mcp.tools import SETS
from tests.mcp_server.every_tool import calls, typed
from tests.mcp_server.fixtures import fixture_part, plain_part
from tests.mcp_server.node import environment, installed, node
from tests.server.running import running

PLAIN = {
    "2025-11-25": ("server-initialize", "ping", "tools-list", "resources-list", "prompts-list"),
    "2026-07-28": ("tools-list", "resources-list", "prompts-list", "sep-2164-resource-not-found", "caching"),
}
"""The scenarios that need nothing of the suite's own: they are run against the server as it is shipped, too."""


def required(version: str) -> list[str]:
    """The server scenarios that a revision requires, as the suite lists them."""
    listed = _suite("list", "--server", "--requirements", version).stdout
    lines = listed.partition("Server scenarios")[2].partition("\n\n")[0].splitlines()[1:]
    return [line.strip().removeprefix("- ") for line in lines if line.strip().startswith("- ")]


def conformance(url: str, scenarios: dict[str, Sequence[str]]) -> list[str]:
    """The scenarios that fail, with what the suite says."""
    failed = []
    for version, names in scenarios.items():
        for name in names:
            ended = _suite("server", "--url", url, "--scenario", name, "--spec-version", version)
            print(f"{version} {name}: {'green' if ended.returncode == 0 else 'RED'}", flush=True)
            if ended.returncode:
                failed.append(f"{version} {name}\n{ended.stdout[-3000:]}{ended.stderr[-500:]}")
    return failed


def _suite(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [node(), str(installed() / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"), *arguments]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)


def inspector(own: str, *target: str) -> None:
    """Call every tool as the Inspector's command line does, for a caller whose own namespace this is."""
    home = installed() / "@modelcontextprotocol" / "inspector"
    package = json.loads((home / "package.json").read_text("utf-8"))["bin"]
    program = str(home / (package if isinstance(package, str) else next(iter(package.values()))))
    for tool, arguments in calls(own):
        command = [node(), program, "--cli", *target, "--connect-timeout", "120000", "--method", "tools/call"]
        command += ["--tool-name", tool, *typed(arguments)]
        ended = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
        erred = re.search(r'"isError":\s*true', ended.stdout)
        good = ended.returncode == 0 and "structuredContent" in ended.stdout and not erred
        outcome = "answered" if good else f"FAILED {ended.stdout[-500:]}{ended.stderr[-500:]}"
        print(f"inspector, {target[0][:4]}, {tool}: {outcome}", flush=True)
        if not good:
            raise SystemExit(1)


def main() -> None:
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for part, scenarios in (
            (fixture_part, {version: required(version) for version in PLAIN}),
            (plain_part, PLAIN),
        ):
            with running(str(Path(folder) / f"{part.__name__}.db"), parts=[part]) as server:
                failed += conformance(f"{server.url}/mcp", scenarios)
        own = [sys.executable, "-m", "memorist", "--url", str(Path(folder) / "s.db"), "mcp", "--tools", "all"]
        inspector("user:me", *own)
        with running(str(Path(folder) / "h.db"), parts=mcp_parts(Options(sets=frozenset(SETS)))) as server:
            key = f"Authorization: Bearer {server.key(user='ada')}"
            inspector("user:ada", f"{server.url}/mcp", "--transport", "http", "--header", key)
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
