"""Hooks and OpenTelemetry hear of everything that happens: ids and sizes, never content."""

from __future__ import annotations

from typing import Any

import pytest

from memorist import UsageError
from memorist.engine.derive.outbox import Outbox
from memorist.engine.hooks import EVENTS
from memorist_testing.plugin import Run

from ..telemetry import exported
from .conftest import do
from .test_session import sentence

CANARY = "Zanzibar"


async def everything(memory: Any) -> None:
    """Make each event happen once or more."""
    own = memory.scope(user="ada")
    talk = memory.session(user="ada", budget=400)
    await do(talk.add(f"I live in {CANARY} and I prefer short answers about {CANARY}.", f"{CANARY} it is."))
    for number in range(14):
        await do(talk.context(f"{CANARY}: {sentence(number)}"))
        await do(talk.add(f"{CANARY}: {sentence(number)}", "Noted."))
    await Outbox(memory._core.shared, memory.org).drain()
    await do(own.facts.set("user:ada", "note", CANARY))
    await do(memory.recall(CANARY))
    await do(memory.forget(thread=talk.thread))


async def test_each_event_is_told_with_ids_and_sizes_only(memory: Any, run: Run) -> None:
    events: list[Any] = []
    for name in EVENTS:
        memory.on(name, events.append)
    await everything(memory)
    assert {event.name for event in events} == set(EVENTS)
    assert {event.org for event in events} == {memory.org}
    for event in events:
        assert CANARY not in str(event.data)
        assert all(isinstance(value, str | int | float | bool | None) for value in event.data.values())
    first = next(event for event in events if event.name == "message")
    assert first.data["first"] == 1 and first.data["count"] == 2 and first.data["characters"] > 0
    assert {event.data["action"] for event in events if event.name == "fact"} >= {"derive", "set"}


async def test_what_was_not_committed_is_not_told(memory: Any, run: Run) -> None:
    events: list[Any] = []
    thread = await do(memory.threads.create("user:ada"))
    await do(memory.threads.append(thread.id, "one", key="k"))
    memory.on("message", events.append)
    await do(memory.threads.append(thread.id, "one", key="k"))
    with pytest.raises(UsageError):
        await do(memory.threads.append(thread.id, {"role": "nobody", "content": "x"}))
    assert events == []


async def test_a_hook_comes_off_and_a_failing_one_stops_nothing(memory: Any, run: Run, caplog: Any) -> None:
    events: list[Any] = []

    def broken(event: Any) -> None:
        raise ValueError(CANARY)

    off, off_broken = memory.on("fact", events.append), memory.on("fact", broken)
    await do(memory.facts.set("user:ada", "a", 1))
    assert len(events) == 1 and "a hook on fact failed: ValueError" in caplog.text and CANARY not in caplog.text
    off()
    off()
    off_broken()
    assert memory._core.shared.events.listening is False
    await do(memory.facts.set("user:ada", "a", 2))
    assert len(events) == 1


def test_wrong_hooks_are_refused(tmp_path: Any) -> None:
    from memorist import Memory

    async def awaits(event: Any) -> None: ...

    with Memory(tmp_path / "m.db", embedder=None) as memory:
        for name, hook in (("nothing", print), ("fact", awaits), ("fact", None)):
            with pytest.raises(UsageError):
                memory.on(name, hook)  # type: ignore[arg-type]


async def test_opentelemetry_counts_events_and_times_work(memory: Any, run: Run) -> None:
    spans, reader = exported()
    spans.clear()
    memory.trace()
    await everything(memory)
    await do(memory.process("gc"))
    names = {span.name for span in spans.get_finished_spans()}
    assert names >= {f"memorist.{name}" for name in ("job", "recall", "context", "fold", "process")}
    metrics = reader.get_metrics_data().to_json()
    for name in ("message", "fact", "fold", "forget", "recall", "context"):
        assert f'"event": "{name}"' in metrics
    assert CANARY not in metrics and CANARY not in str([span.to_json() for span in spans.get_finished_spans()])
