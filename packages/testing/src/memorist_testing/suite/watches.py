"""Tests change notices between handles that share only the store."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.errors import Conflict

TIMEOUT_SECONDS = 20.0


class WatchTests:
    """Watching."""

    async def test_a_watch_hears_of_what_others_commit(self, memory: Any, open_memory: Any) -> None:
        other = open_memory()
        await memory.threads.append("t", "before", create="user:ada")
        async with memory.watch() as changes:
            await other.facts.set("user:ada", "city", "Rome")
            assert await _heard(changes) == {("fact", "user:ada")}
            await other.threads.append("t", "more")
            assert await _heard(changes) == {("message", "user:ada")}
            await other.records.put("workflow:graph", ("a", 1), b"x")
            await other.state.set("k", 1)
            assert await _heard(changes, 2) == {("record", "workflow:graph"), ("state", "global")}
            await other.threads.delete("t")
            assert {("thread", "user:ada"), ("message", "user:ada")} <= await _heard(changes)
            assert await changes.next(timeout=0.05) == []

    async def test_what_was_not_committed_is_not_told(self, memory: Any, open_memory: Any) -> None:
        other = open_memory()
        await memory.facts.set("global", "k", 1)
        async with memory.watch(["global"], kinds=["fact", "state"]) as changes:
            with pytest.raises(Conflict):
                await other.facts.set("global", "k", 2, expect=9)
            await other.facts.set("user:ada", "k", 2)
            await other.records.put("global", ("a",), b"x")
            await other.state.set("k", 1)
            assert await _heard(changes) == {("state", "global")}

    async def test_a_users_handle_hears_of_what_it_may_read(self, memory: Any) -> None:
        async with memory.scope(user="ada").watch() as changes:
            await memory.facts.set("user:bob", "k", 1)
            await memory.facts.set("user:ada", "k", 1)
            assert await _heard(changes) == {("fact", "user:ada")}

    async def test_a_closed_watch_ends(self, memory: Any) -> None:
        async with memory.watch() as changes:
            await changes.close()
            assert await changes.next() == []

    async def test_an_export_comes_in_lines(self, memory: Any, tmp_path: Any) -> None:
        await memory.facts.set("global", "k", "v")
        await memory.export(tmp_path / "file")
        stream = memory.export_lines()
        written = b""
        while page := await _next(stream):
            written += page
        assert written == (tmp_path / "file").read_bytes()


async def _heard(changes: Any, count: int = 1) -> set[tuple[str, str]]:
    """Collect notices until there are enough."""
    notices: set[tuple[str, str]] = set()
    while len(notices) < count:
        new = await changes.next(timeout=TIMEOUT_SECONDS)
        assert new, "no notice came"
        notices |= {(notice.kind, notice.namespace) for notice in new}
    return notices


async def _next(stream: Any) -> bytes:
    chunk: bytes = next(stream, b"") if hasattr(stream, "__next__") else await anext(stream, b"")
    return chunk
