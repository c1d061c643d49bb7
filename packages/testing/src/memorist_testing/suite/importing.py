"""Tests imports from other tools. They are idempotent and all-or-nothing, keep the source's times, and can be undone by
name."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memorist.errors import CorruptRecord, Forbidden


def _lines(path: Path, count: int, threads: int = 3) -> Path:
    """Return the messages of several threads, one after another, a minute apart."""
    rows = [
        {
            "role": "user" if number % 2 else "assistant",
            "content": f"message {number}",
            "thread_id": f"talk-{number % threads}",
            "timestamp": 1_600_000_000 + 60 * number,
        }
        for number in range(count)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


class ImportTests:
    """Tests what `import_from` promises, on every store."""

    async def test_what_is_imported_twice_is_there_once(self, memory: Any, tmp_path: Path) -> None:
        path = _lines(tmp_path / "log.jsonl", 50)
        first = await memory.import_from(path, namespace="user:ada")
        assert first.added == {"threads": 3, "messages": 50}
        again = await memory.import_from(path, namespace="user:ada")
        assert (again.added, again.known) == ({}, {"threads": 3, "messages": 50})
        texts = [message.text for number in range(3) for message in await memory.threads.messages(f"talk-{number}")]
        assert sorted(texts) == sorted(f"message {number}" for number in range(50))

    async def test_a_source_that_grew_adds_what_is_new(self, memory: Any, tmp_path: Path) -> None:
        await memory.import_from(_lines(tmp_path / "log.jsonl", 10, 1))
        grown = await memory.import_from(_lines(tmp_path / "log.jsonl", 14, 1))
        assert grown.added == {"messages": 4}
        messages = await memory.threads.messages("talk-0")
        assert [message.text for message in messages] == [f"message {number}" for number in range(14)]

    async def test_times_ids_and_authors_are_those_of_the_source(self, memory: Any, tmp_path: Path) -> None:
        await memory.import_from(_lines(tmp_path / "log.jsonl", 4, 1), namespace="user:ada")
        thread = await memory.threads.get("talk-0")
        assert thread.created_at == datetime.fromtimestamp(1_600_000_000, UTC)
        assert thread.updated_at == datetime.fromtimestamp(1_600_000_180, UTC)
        last = (await memory.threads.recent("talk-0", 1))[0]
        assert (last.role, last.created_at) == ("user", datetime.fromtimestamp(1_600_000_180, UTC))

    async def test_forgetting_the_source_undoes_it(self, memory: Any, tmp_path: Path) -> None:
        await memory.facts.set("user:ada", "kept", 1)
        await memory.threads.create("user:ada", id="own")
        await memory.threads.append("own", "mine")
        graph = tmp_path / "memory.jsonl"
        graph.write_text('{"type":"entity","name":"Ada","entityType":"person","observations":["likes tea"]}\n', "utf-8")
        for path in (_lines(tmp_path / "log.jsonl", 20), graph):
            report = await memory.import_from(path, namespace="user:ada")
            await memory.forget(source=report.source)
        assert [thread.id for thread in await memory.threads.list("user:ada")] == ["own"]
        assert [fact.key for fact in await memory.facts.list("user:ada")] == ["kept"]
        assert (await memory.import_from(graph, namespace="user:ada")).added == {"facts": 1}

    async def test_a_thread_that_went_on_here_keeps_what_was_said_since(self, memory: Any, tmp_path: Path) -> None:
        report = await memory.import_from(_lines(tmp_path / "log.jsonl", 6, 1))
        await memory.threads.append("talk-0", "said here")
        await memory.forget(source=report.source)
        assert [message.text for message in await memory.threads.messages("talk-0")] == ["said here"]

    async def test_an_id_that_is_taken_here_is_left_alone(self, memory: Any, tmp_path: Path) -> None:
        await memory.threads.create("user:bob", id="talk-0")
        report = await memory.import_from(_lines(tmp_path / "log.jsonl", 2, 1), namespace="user:ada")
        assert report.added == {"threads": 1, "messages": 2}
        assert (await memory.threads.get("talk-0")).length == 0
        assert (await memory.threads.get("messages:log.jsonl/talk-0")).length == 2
        assert (await memory.import_from(tmp_path / "log.jsonl", namespace="user:ada")).added == {}

    async def test_a_damaged_source_changes_nothing(self, memory: Any, tmp_path: Path) -> None:
        path = tmp_path / "log.json"
        path.write_text('[{"role": "user", "content": "a"}, {"role": "user", "con', "utf-8")
        with pytest.raises(CorruptRecord, match="nothing was imported"):
            await memory.import_from(path)
        assert await memory.namespaces() == []

    async def test_a_dry_run_writes_nothing(self, memory: Any, tmp_path: Path) -> None:
        report = await memory.import_from(_lines(tmp_path / "log.jsonl", 5, 1), dry_run=True)
        assert (report.found, report.added) == ({"threads": 1, "messages": 5}, {})
        assert [sample.what for sample in report.samples] == ["threads", *["messages"] * 3]
        assert await memory.threads.get("talk-0") is None

    async def test_a_user_does_not_import(self, memory: Any, tmp_path: Path) -> None:
        with pytest.raises(Forbidden):
            await memory.scope(user="ada").import_from(_lines(tmp_path / "log.jsonl", 2))
