"""Eight processes pop, replace and append to one thread: every message is seen once, and in order."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from memorist import Conflict, Memory
from tests.faults.clients import SOAK, heard, processes

CLIENTS = 8
TURNS = 400 if SOAK else 25


def edit_share(url: str, org: str, me: int, turns: int, speak: Connection) -> None:
    """Append, pop and rewrite by turns; say what was popped and how it all ended."""
    popped_texts: list[str] = []
    with Memory(url, org=org, embedder=None, counter="estimate", extract=None, worker=False) as memory:
        for turn in range(turns):
            memory.threads.append("hot", f"{me}:{turn:04d}a", f"{me}:{turn:04d}b")
            popped = memory.threads.pop("hot")
            popped_texts += [] if popped is None else [popped.text]
            if turn % 3 == me % 3:
                rewrite(memory)
    speak.send(popped_texts)


def rewrite(memory: Memory) -> None:
    """What a compaction does: read all, put it back in another form; whoever came between wins."""
    thread = memory.threads.get("hot")
    assert thread is not None
    messages = memory.threads.messages("hot")
    try:
        memory.threads.replace("hot", [message.text for message in messages], expect=thread.version)
    except Conflict:
        return


def rewrite_blindly(memory: Memory) -> None:
    """The planted bug: read, then replace whatever is there by then."""
    messages = [message.text for message in memory.threads.messages("hot")]
    try:
        memory.threads.replace("hot", messages)
    except Conflict:
        return  # on a busy machine the others may be quicker every time


def edit_share_blindly(url: str, org: str, me: int, turns: int, speak: Connection) -> None:
    """The same with the planted bug."""
    globals()["rewrite"] = rewrite_blindly
    edit_share(url, org, me, turns, speak)


def edited(target: Any, url: str, org: str) -> tuple[list[str], list[Any]]:
    """What all clients popped, and the messages that are left."""
    with Memory(url, org=org, embedder=None, counter="estimate", extract=None, worker=False) as memory:
        memory.threads.create("global", id="hot")
        pipes, started = [], []
        for me in range(CLIENTS):
            hear, speak = processes.Pipe(duplex=False)
            started.append(processes.Process(target=target, args=(url, org, me, TURNS, speak), daemon=True))
            started[-1].start()
            speak.close()
            pipes.append(hear)
        popped = [text for hear in pipes for share in heard(hear) for text in share]
        for process in started:
            process.join()
        assert [process.exitcode for process in started] == [0] * CLIENTS
        return popped, memory.threads.messages("hot")


def check(popped: list[str], remaining: list[Any]) -> None:
    appended = [f"{me}:{turn:04d}{part}" for me in range(CLIENTS) for turn in range(TURNS) for part in "ab"]
    assert sorted(popped + [message.text for message in remaining]) == sorted(appended), "lost or twice"
    numbers = [message.seq for message in remaining]
    assert numbers == sorted(set(numbers))
    for me in range(CLIENTS):
        own_texts = [message.text for message in remaining if message.text.startswith(f"{me}:")]
        assert own_texts == sorted(own_texts), "out of order"


def test_on_one_file(tmp_path: Path) -> None:
    check(*edited(edit_share, str(tmp_path / "memory.db"), "default"))


def test_on_postgres(postgres_server: Any) -> None:
    check(*edited(edit_share, postgres_server.url, "shared-thread"))


def test_on_redis(redis_server: Any) -> None:
    check(*edited(edit_share, redis_server.url, "shared-thread"))


def test_the_harness_sees_a_blind_rewrite(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="lost or twice"):
        check(*edited(edit_share_blindly, str(tmp_path / "memory.db"), "default"))
