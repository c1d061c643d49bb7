"""Runs `@modelcontextprotocol/conformance` against `/mcp` of a real server, and drives the tools with the Inspector.

    python -m tests.mcp_server.conform

The scenarios are those that need no tools, resources or prompts of the suite's own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from recollect.mcp.http import mcp_parts
from recollect.mcp.server import Options
from recollect.mcp.tools import SETS
from tests.mcp_server.node import environment, installed, node
from tests.server.running import Running, running

SCENARIOS = {
    "2025-11-25": ("server-initialize", "ping", "tools-list", "resources-list", "prompts-list"),
    "2026-07-28": ("tools-list", "resources-list", "prompts-list", "sep-2164-resource-not-found", "caching"),
}


@contextmanager
def with_key(server: Running) -> Iterator[str]:
    """An address that adds a key to each request: the suite knows no keys."""
    key, target = server.key(user="conformance"), urlsplit(server.url)

    class Forward(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            own = {"host", "authorization", "connection"}
            headers = {name: value for name, value in self.headers.items() if name.lower() not in own}
            headers |= {"authorization": f"Bearer {key}", "host": self.headers["host"]}
            connection = HTTPConnection(target.hostname or "", target.port or 80, timeout=30)
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                    self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            connection.close()

        do_GET = do_POST = do_DELETE = do_OPTIONS = _forward

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: the suite reports."""

    forward = ThreadingHTTPServer(("127.0.0.1", 0), Forward)
    threading.Thread(target=forward.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{forward.server_address[1]}/mcp"
    finally:
        forward.shutdown()
        forward.server_close()


def conformance(url: str) -> list[str]:
    """The scenarios that fail, with what the suite says."""
    program = installed() / "conformance" / "dist" / "index.js"
    failed = []
    for version, scenarios in SCENARIOS.items():
        for scenario in scenarios:
            command = [node(), str(program), "server", "--url", url, "--scenario", scenario, "--spec-version", version]
            ended = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120)
            print(f"{version} {scenario}: {'green' if ended.returncode == 0 else 'RED'}", flush=True)
            if ended.returncode:
                failed.append(f"{version} {scenario}\n{ended.stdout[-3000:]}{ended.stderr[-500:]}")
    return failed


def inspector(*target: str) -> None:
    """List the tools and call one, as the Inspector's command line does."""
    package = json.loads((installed() / "inspector" / "package.json").read_text("utf-8"))["bin"]
    program = str(installed() / "inspector" / (package if isinstance(package, str) else next(iter(package.values()))))
    calls = {
        "remember": ["text=The launch is in May."], "recall": ["query=launch"], "get_profile": [], "list_facts": [],
        "set_fact": ["key=city", "value=Porto"], "correct_fact": ["key=city", "value=Lisbon"],
        "why": ["id=user:me/city"], "build_context": ["input=Hello"], "reject_fact": ["key=city"],
        "save_checkpoint": ["task_id=t", "step=1"], "resume_task": ["task_id=t"], "read_graph": [],
        "forget": ["kind=thread", "id=notes/user:me"],
    }  # fmt: skip
    for tool, given in calls.items():
        arguments = [part for one in given for part in ("--tool-arg", one)]
        command = [node(), program, "--cli", *target, "--method", "tools/call", "--tool-name", tool, *arguments]
        ended = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120)
        good = ended.returncode == 0 and "structuredContent" in ended.stdout
        print(
            f"inspector {tool}: {'answered' if good else 'FAILED ' + ended.stdout[-500:] + ended.stderr[-500:]}",
            flush=True,
        )
        if not good:
            raise SystemExit(1)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        parts = mcp_parts(Options(sets=frozenset(SETS)))
        with running(str(Path(folder) / "h.db"), parts=parts) as server, with_key(server) as url:
            failed = conformance(url)
        own = [sys.executable, "-m", "recollect", "--url", str(Path(folder) / "s.db"), "mcp", "--tools", "all"]
        inspector(*own)
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
