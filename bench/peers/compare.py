"""Runs the same small jobs in both environments, ours just before each peer, and sets the answers side by side."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..figures import Figure
from .environment import PYTHON, prepare, versions

HERE = Path(__file__).parent
RAM = "/dev/shm"
PROCESSES, MESSAGES_PER_PROCESS = 4, 40
FACTS = 5_000
DURABLE_APPENDS, ROUNDS = 200, 3
TIMEOUT_SECONDS = 120
Sections = list[tuple[str, list[Figure]]]


@dataclass(frozen=True)
class Peer:
    """One peer: its script, how many messages it can bear, and what it is in the table."""

    script: str
    package: str
    title: str
    imports: str
    appends: int = 0
    history_messages: int = 0
    facts: str = ""
    durable: bool = True
    unfit: str = ""

    def name(self, installed: dict[str, str]) -> str:
        return f"{self.title} ({self.package} {installed.get(self.package, 'not installed')})"


PEERS = (
    Peer("openai_agents", "openai-agents", "OpenAI Agents SQLiteSession", "agents", 20_000, 20_000),
    Peer(
        "langgraph_sqlite", "langgraph-checkpoint-sqlite", "LangGraph SqliteSaver", "langgraph.checkpoint.sqlite",
        500, 2_000, "LangGraph SqliteStore",
    ),
    Peer(
        "llama_index_sql", "llama-index-core", "LlamaIndex SQL chat store", "llama_index.core.memory", 2_000, 20_000
    ),
    Peer("agno_sqlite", "agno", "agno SqliteDb", "agno.agent", 300, 500, "agno user memories"),
    Peer("google_adk", "google-adk", "Google ADK DatabaseSessionService", "google.adk.sessions", 1_000, 1_000),
    Peer("strands_files", "strands-agents", "Strands FileSessionManager", "strands", 2_000, 2_000, durable=False),
    Peer(
        "", "mem0ai", "mem0", "mem0",
        unfit="adding needs an embedding model, and none comes with it; offline only its import is measured",
    ),
    Peer(
        "", "pydantic-ai-slim", "pydantic-ai", "pydantic_ai",
        unfit="has no store of messages of its own; only its import is measured",
    ),
)  # fmt: skip


class Failed(Exception):
    """A job of a peer that did not end well; the reason is its last line."""


def run() -> Sections:
    """All of it; about five minutes."""
    failed, installed = prepare(), versions()
    ready = [peer for peer in PEERS if peer.package not in failed and peer.script]
    ram = RAM if os.path.isdir(RAM) else None
    where = "RAM disk" if ram else "disk"
    out: Sections = [
        (f"Append one message, {where}", [_append(p, p.name(installed), p.appends, ram) for p in ready]),
        ("Append one message, disk", [_durably(p, p.name(installed)) for p in ready if p.durable]),
        (f"Last 20 messages, {where}", [_last(p, p.name(installed), ram) for p in ready]),
    ]
    facts = [figure for p in ready if p.facts for figure in _facts(p, f"{p.package} {installed[p.package]}", ram)]
    out.append((f"Facts: {FACTS:,} in 100 namespaces, {where}", facts))
    together = f"{PROCESSES} processes, one thread, {PROCESSES * MESSAGES_PER_PROCESS} messages, {where}"
    out.append((together, [_together(p, p.name(installed), ram) for p in ready]))
    imports = [_import(p, p.name(installed)) for p in PEERS if p.package not in failed]
    out.append(("Import, over bare Python", imports))
    return [*out, *_not_run(failed, installed)]


def _append(peer: Peer, name: str, count: int, where: str | None) -> Figure:
    return _compare(peer, f"{name}, {count:,} one by one", "append", count, where)


def _durably(peer: Peer, name: str) -> Figure:
    """On a disk a sync takes what it takes at that moment: rounds in turns, the median of each, all rounds told."""
    what = f"{name}, {DURABLE_APPENDS} one by one, median of {ROUNDS} rounds in turns"
    try:
        rounds = [_both(peer, "append", DURABLE_APPENDS, None) for _ in range(ROUNDS)]
    except Failed as why:
        return Figure(what, "", f"did not run: {why}")
    sides = [[answer[side]["us"] for answer in rounds] for side in (0, 1)]
    ours, theirs = (statistics.median(side) for side in sides)
    cells = [f"{_micros(statistics.median(side))} ({', '.join(f'{us:,.0f}' for us in side)})" for side in sides]
    return Figure(what, cells[0], cells[1], ours / theirs, 1.0)


def _last(peer: Peer, name: str, where: str | None) -> Figure:
    return _compare(peer, f"{name}, of {peer.history_messages:,}", "last", peer.history_messages, where)


def _compare(peer: Peer, what: str, job: str, count: int, where: str | None) -> Figure:
    try:
        ours, theirs = _both(peer, job, count, where)
    except Failed as why:
        return Figure(what, "", f"did not run: {why}")
    return Figure(what, _micros(ours["us"]), _micros(theirs["us"]), ours["us"] / theirs["us"], 1.0)


def _facts(peer: Peer, version: str, where: str | None) -> list[Figure]:
    try:
        ours, theirs = _both(peer, "facts", FACTS, where)
    except Failed as why:
        return [Figure(peer.facts, "", f"did not run: {why}")]
    return [
        Figure(
            f"{peer.facts} ({version}): {job}", _micros(ours[job]), _micros(theirs[job]), ours[job] / theirs[job], 1.0
        )
        for job in ("put", "get", "list")
    ]


def _both(peer: Peer, job: str, count: int, where: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    answers = []
    for script in ("ours", peer.script):
        with _folder(where) as folder:
            answers.append(_ask(script, job, folder, count))
    return answers[0], answers[1]


def _together(peer: Peer, name: str, where: str | None) -> Figure:
    outcomes = [_crowd(script, where) for script in ("ours", peer.script)]
    return Figure(name, outcomes[0], outcomes[1])


def _crowd(script: str, where: str | None) -> str:
    """What became of the messages of several writers who begin at the same moment."""
    with _folder(where) as folder:
        writers = [_start(script, "write", folder, MESSAGES_PER_PROCESS, str(me)) for me in range(PROCESSES)]
        until = time.monotonic() + TIMEOUT_SECONDS
        while len(list(Path(folder).glob("ready*"))) < sum(w.poll() is None for w in writers):
            if time.monotonic() > until:
                break
            time.sleep(0.01)
        (Path(folder) / "go").touch()
        acknowledged, refused, errors = 0, 0, set()
        for writer in writers:
            try:
                report = _answer(writer)
            except Failed as why:
                report = {"acknowledged": 0, "refused": MESSAGES_PER_PROCESS, "errors": [str(why)[:80]]}
            acknowledged, refused = acknowledged + report["acknowledged"], refused + report["refused"]
            errors |= set(report["errors"])
        try:
            stored = _ask(script, "kept", folder, 10 * PROCESSES * MESSAGES_PER_PROCESS)["kept"]
        except Failed as why:
            return f"cannot be read afterwards: {why}"
    refusals = f"{refused} refused ({', '.join(sorted(errors))})" if refused else "none refused"
    return f"{acknowledged - stored} lost, {refusals}"


def _import(peer: Peer, name: str) -> Figure:
    ours = _took(sys.executable, "from memorist import Memory") - _took(sys.executable, "pass")
    theirs = _took(str(PYTHON), f"import {peer.imports}") - _took(str(PYTHON), "pass")
    return Figure(f"{name}: `import {peer.imports}`", f"{ours:.0f} ms", f"{theirs:.0f} ms", ours / theirs, 1.0)


def _not_run(failed: dict[str, str], installed: dict[str, str]) -> Sections:
    rows = [Figure(peer.name(installed), "", peer.unfit) for peer in PEERS if peer.unfit]
    rows += [Figure(package, "", f"did not install: {why}") for package, why in failed.items()]
    servers = "need a server; beside them stand bench/postgres.py and bench/redis.py, against the bare drivers"
    rows.append(Figure("the peers' Redis and Postgres stores", "", servers))
    return [("What was not run", rows)]


# -- processes


@contextmanager
def _folder(where: str | None) -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="memorist-peers-", dir=where)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start(script: str, job: str, folder: str, count: int, *rest: str) -> subprocess.Popen[str]:
    python = sys.executable if script == "ours" else str(PYTHON)
    command = [python, "-W", "ignore", str(HERE / f"{script}.py"), job, folder, str(count), *rest]
    # Nothing may wait for a network that is not there, or report to one that is.
    quiet = {"OTEL_SDK_DISABLED": "true", "AGNO_TELEMETRY": "false", "MEM0_TELEMETRY": "false"}
    env = {**os.environ, **quiet, "OPENAI_AGENTS_DISABLE_TRACING": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def _answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    try:
        output, complaint = process.communicate(timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Failed(f"not done in {TIMEOUT_SECONDS} s") from None
    if process.returncode:
        raise Failed((complaint.strip().splitlines() or ["no reason given"])[-1][:160])
    answer: dict[str, Any] = json.loads(output.splitlines()[-1])
    return answer


def _ask(script: str, job: str, folder: str, count: int) -> dict[str, Any]:
    return _answer(_start(script, job, folder, count))


def _took(python: str, code: str) -> float:
    """Median milliseconds of a few runs."""
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        subprocess.run([python, "-W", "ignore", "-c", code], check=True, capture_output=True)
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1000


def _micros(value: float) -> str:
    return f"{value:,.0f} µs" if value >= 10 else f"{value:.1f} µs"
