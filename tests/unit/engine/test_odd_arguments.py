"""Whatever is passed to a method, it is taken or refused with an error of ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

from memorist import (
    Chain,
    Checkpoint,
    ElideToolResults,
    Fifo,
    Importance,
    MemoristError,
    Memory,
    PromptBuilder,
    Recall,
    SlidingWindow,
    Summarize,
    TokenBudget,
    UsageError,
    VectorSwap,
    compress,
)
from memorist.testing.clock import FakeClock

CYCLE: dict[str, Any] = {}
CYCLE["self"] = CYCLE
ODD: dict[str, Any] = {
    "NaN": math.nan, "infinity": math.inf, "minus one": -1, "a float": 2.5, "2**70": 2**70, "5,000 digits": 10**5000,
    "true": True, "an object": object(), "a type": int, "a function": lambda: 1, "bytes": b"\xff", "a set": {1},
    "a generator": iter([]), "a cycle": CYCLE, "a list": [], "a list of a number": [5], "a dict": {},
    "a dict of an object": {"a": object()}, "a dict of numbers": {1: 2}, "empty text": "", "NUL": "\0",
    "a surrogate": "\ud800", "text": "text", "a naive time": datetime(2026, 1, 1), "none": None,
}  # fmt: skip
USER = "user:ada"
Call = Callable[[Memory, Any], Any]
CALLS: dict[str, Call] = {
    "facts.set ns": lambda m, x: m.facts.set(x, "k", 1),
    "facts.set key": lambda m, x: m.facts.set(USER, x, 1),
    "facts.set value": lambda m, x: m.facts.set(USER, "k", x),
    "facts.set ttl": lambda m, x: m.facts.set(USER, "k", 1, ttl=x),
    "facts.set confidence": lambda m, x: m.facts.set(USER, "k", 1, confidence=x),
    "facts.set source": lambda m, x: m.facts.set(USER, "k", 1, source=x),
    "facts.set expect": lambda m, x: m.facts.set(USER, "k", 1, expect=x),
    "facts.set_many": lambda m, x: m.facts.set_many(USER, x),
    "facts.get key": lambda m, x: m.facts.get(USER, x),
    "facts.get as_of": lambda m, x: m.facts.get(USER, "k", as_of=x),
    "facts.get_many": lambda m, x: m.facts.get_many(USER, x),
    "facts.list prefix": lambda m, x: m.facts.list(USER, prefix=x),
    "facts.list where": lambda m, x: m.facts.list(USER, where=x),
    "facts.list where value": lambda m, x: m.facts.list(USER, where={"a": {"$eq": x}}),
    "facts.list limit": lambda m, x: m.facts.list(USER, limit=x),
    "facts.list after": lambda m, x: m.facts.list(USER, after=x),
    "facts.correct value": lambda m, x: m.facts.correct(USER, "known", x),
    "facts.correct reason": lambda m, x: m.facts.correct(USER, "known", 2, reason=x),
    "facts.reject reason": lambda m, x: m.facts.reject(USER, "known", reason=x),
    "facts.delete": lambda m, x: m.facts.delete(USER, x),
    "threads.create title": lambda m, x: m.threads.create(USER, x),
    "threads.create id": lambda m, x: m.threads.create(USER, id=x),
    "threads.create metadata": lambda m, x: m.threads.create(USER, metadata=x),
    "threads.create ttl": lambda m, x: m.threads.create(USER, ttl=x),
    "threads.append id": lambda m, x: m.threads.append(x, "hello"),
    "threads.append message": lambda m, x: m.threads.append("t", x),
    "threads.append content": lambda m, x: m.threads.append("t", {"role": "user", "content": x}),
    "threads.append role": lambda m, x: m.threads.append("t", {"role": x, "content": "hello"}),
    "threads.append name": lambda m, x: m.threads.append("t", {"role": "user", "content": "hello", "name": x}),
    "threads.append time": lambda m, x: m.threads.append("t", {"role": "user", "content": "a", "created_at": x}),
    "threads.append importance": lambda m, x: m.threads.append("t", {"role": "user", "content": "a", "importance": x}),
    "threads.append tool_calls": lambda m, x: m.threads.append("t", {"role": "assistant", "tool_calls": x}),
    "threads.append key": lambda m, x: m.threads.append("t", "hello", key=x),
    "threads.append expect": lambda m, x: m.threads.append("t", "hello", expect=x),
    "threads.append create": lambda m, x: m.threads.append("t2", "hello", create=x),
    "threads.messages limit": lambda m, x: m.threads.messages("t", x),
    "threads.messages after": lambda m, x: m.threads.messages("t", after=x),
    "threads.messages roles": lambda m, x: m.threads.messages("t", roles=x),
    "threads.recent": lambda m, x: m.threads.recent("t", x),
    "threads.list where": lambda m, x: m.threads.list(USER, where=x),
    "threads.update title": lambda m, x: m.threads.update("t", title=x),
    "threads.update expect": lambda m, x: m.threads.update("t", title="a", expect=x),
    "threads.replace": lambda m, x: m.threads.replace("t", x),
    "threads.redact": lambda m, x: m.threads.redact(x),
    "threads.fork": lambda m, x: m.threads.fork("t", x),
    "threads.delete_messages ids": lambda m, x: m.threads.delete_messages("t", ids=x),
    "learnings.add": lambda m, x: m.learnings.add(x, user="ada"),
    "learnings.add type": lambda m, x: m.learnings.add("a", type=x, user="ada"),
    "learnings.add confidence": lambda m, x: m.learnings.add("a", confidence=x, user="ada"),
    "learnings.list min_confidence": lambda m, x: m.learnings.list(min_confidence=x, user="ada"),
    "learnings.reinforce": lambda m, x: m.learnings.reinforce(x),
    "profile.get": lambda m, x: m.profile.get(x),
    "profile.set_preference": lambda m, x: m.profile.set_preference("ada", "k", x),
    "profile.block": lambda m, x: m.profile.block("ada", max_tokens=x),
    "working.set": lambda m, x: m.working.set(x, user="ada"),
    "working.update": lambda m, x: m.working.update(user="ada", scratchpad=x),
    "working.update plan": lambda m, x: m.working.update(user="ada", plan=x),
    "working.record_action": lambda m, x: m.working.record_action(x, user="ada"),
    "working.add_turn": lambda m, x: m.working.add_turn(x, user="ada"),
    "working.get session": lambda m, x: m.working.get("ada", x),
    "entities.get": lambda m, x: m.entities.get("order", "1", lambda *_: x),
    "entities.get id": lambda m, x: m.entities.get("order", x, lambda *_: {}),
    "entities.get load": lambda m, x: m.entities.get("order", "2", x),
    "entities.invalidate": lambda m, x: m.entities.invalidate(x),
    "state.set key": lambda m, x: m.state.set(x, 1),
    "state.set value": lambda m, x: m.state.set("k", x),
    "state.set expect": lambda m, x: m.state.set("k", 1, expect=x),
    "state.increment by": lambda m, x: m.state.increment("n", x),
    "documents.add text": lambda m, x: m.documents.add(USER, x),
    "documents.add title": lambda m, x: m.documents.add(USER, "text", title=x),
    "documents.add source": lambda m, x: m.documents.add(USER, "text", source=x),
    "documents.add metadata": lambda m, x: m.documents.add(USER, "text", metadata=x),
    "documents.delete": lambda m, x: m.documents.delete(USER, x),
    "records.put key": lambda m, x: m.records.put(USER, x, 1),
    "records.put part": lambda m, x: m.records.put(USER, (x,), 1),
    "records.put data": lambda m, x: m.records.put(USER, ("k",), x),
    "records.put meta": lambda m, x: m.records.put(USER, ("k",), 1, meta=x),
    "records.put_many": lambda m, x: m.records.put_many(USER, x),
    "records.get_many": lambda m, x: m.records.get_many(USER, x),
    "records.scan prefix": lambda m, x: m.records.scan(USER, x),
    "records.scan limit": lambda m, x: m.records.scan(USER, limit=x),
    "tasks.save": lambda m, x: m.tasks.save(x),
    "tasks.save state": lambda m, x: m.tasks.save(Checkpoint(task_id="a", state=x)),
    "tasks.resume": lambda m, x: m.tasks.resume(x),
    "tasks.run lease": lambda m, x: _run(m, lease=x),
    "tasks.run state": lambda m, x: _run(m, state=x),
    "tasks.complete": lambda m, x: _run(m, x),
    "recall": lambda m, x: m.recall(x),
    "recall namespaces": lambda m, x: m.recall("a", namespaces=x),
    "recall kinds": lambda m, x: m.recall("a", kinds=x),
    "recall top_k": lambda m, x: m.recall("a", top_k=x),
    "recall offset": lambda m, x: m.recall("a", offset=x),
    "recall max_tokens": lambda m, x: m.recall("a", max_tokens=x),
    "recall after": lambda m, x: m.recall("a", after=x),
    "recall where": lambda m, x: m.recall("a", where=x),
    "recall min_score": lambda m, x: m.recall("a", min_score=x),
    "recall vector": lambda m, x: m.recall("a", vector=x),
    "context": lambda m, x: m.context(x, thread="t"),
    "context thread": lambda m, x: m.context("a", thread=x),
    "context system": lambda m, x: m.context("a", system=x),
    "context tools": lambda m, x: m.context("a", tools=x),
    "context budget": lambda m, x: m.context("a", budget=x),
    "context policy": lambda m, x: m.context("a", policy=x),
    "context recall": lambda m, x: m.context("a", recall=x),
    "context profile": lambda m, x: m.scope(user="ada").context("a", profile=x),
    "context scratchpad": lambda m, x: m.context("a", scratchpad=x),
    "context layout": lambda m, x: m.context("a", layout=x),
    "session thread": lambda m, x: m.session(x).start(),
    "session user": lambda m, x: m.session(user=x).start(),
    "session budget": lambda m, x: m.session(budget=x).start(),
    "session.add": lambda m, x: _say(m, x),
    "forget user": lambda m, x: m.forget(user=x),
    "forget thread": lambda m, x: m.forget(thread=x),
    "forget message": lambda m, x: m.forget(message=x),
    "forget fact": lambda m, x: m.forget(fact=x),
    "forget source": lambda m, x: m.forget(source=x),
    "why": lambda m, x: m.why(x),
    "scope org": lambda m, x: m.scope(org=x),
    "scope user": lambda m, x: m.scope(user=x),
    "scope read": lambda m, x: m.scope(user="ada", read=x),
    "namespaces kind": lambda m, x: m.namespaces(x),
    "namespaces prefix": lambda m, x: m.namespaces(prefix=x),
    "process": lambda m, x: m.process(x),
    "compress": lambda m, x: compress(x, budget=100),
    "compress message": lambda m, x: compress([x], budget=100),
    "compress system": lambda m, x: compress(["a"], budget=100, system=x),
    "compress tools": lambda m, x: compress(["a"], budget=100, tools=x),
    "compress memory": lambda m, x: compress(["a"], budget=100, memory=x),
    "compress policy": lambda m, x: compress(["a"], budget=100, policy=x),
    "builder.add_system": lambda m, x: PromptBuilder(budget=100).add_system(x).build(),
    "builder.add_context": lambda m, x: PromptBuilder(budget=100).add_context(x).build(),
    "builder.add_tools": lambda m, x: PromptBuilder(budget=100).add_tools(x).build(),
    "builder.add_history": lambda m, x: PromptBuilder(budget=100).add_history(x).build(),
    "builder.add_history max_tokens": lambda m, x: PromptBuilder(budget=100).add_history([], max_tokens=x).build(),
    "builder.add_user": lambda m, x: PromptBuilder(budget=100).add_user(x).build(),
    "TokenBudget": lambda m, x: TokenBudget(x),
    "TokenBudget history": lambda m, x: TokenBudget(100, history=x),
    "Fifo": lambda m, x: Fifo(x),
    "SlidingWindow": lambda m, x: SlidingWindow(x),
    "Summarize threshold": lambda m, x: Summarize(threshold=x),
    "Summarize keep": lambda m, x: Summarize(keep=x),
    "VectorSwap": lambda m, x: VectorSwap(keep=x),
    "Importance": lambda m, x: Importance(x),
    "ElideToolResults": lambda m, x: ElideToolResults(x),
    "Chain": lambda m, x: compress(["a", "b"], budget=100, policy=Chain(x)),
    "Recall": lambda m, x: m.context("a", recall=Recall(x)),
    "Memory org": lambda m, x: Memory("memory://", org=x).close(),
    "Memory user": lambda m, x: Memory("memory://", user=x).close(),
    "Memory embedder": lambda m, x: Memory("memory://", embedder=x).close(),
    "Memory model": lambda m, x: Memory("memory://", model=x).close(),
    "Memory clock": lambda m, x: Memory("memory://", clock=x).close(),
    "Memory extract": lambda m, x: Memory("memory://", extract=x).close(),
    "Memory durability": lambda m, x: Memory("memory://", durability=x).close(),
}  # fmt: skip


def _run(memory: Memory, item: Any = "item", **options: Any) -> None:
    with memory.tasks.run("task", **options) as task:
        task.complete(item)


def _say(memory: Memory, content: Any) -> None:
    with memory.session() as talk:
        talk.add(content, "answer")


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory("memory://", embedder=None, counter="estimate", worker=False, clock=FakeClock()) as opened:
        opened.threads.create(USER, id="t")
        opened.threads.append("t", "I live in Lisbon.")
        opened.facts.set(USER, "known", 1)
        yield opened


@pytest.mark.filterwarnings("ignore::memorist.types.NothingLasts")
@pytest.mark.parametrize("name", CALLS)
def test_an_odd_argument_is_taken_or_refused_with_our_error(name: str, memory: Memory) -> None:
    wrong = {}
    for odd, value in ODD.items():
        try:
            CALLS[name](memory, value)
        except MemoristError:
            pass
        except Exception as error:
            wrong[odd] = f"{type(error).__name__}: {error}"
    assert wrong == {}


@pytest.mark.filterwarnings("ignore::memorist.types.NothingLasts")
@pytest.mark.parametrize(
    "recall", [{"kinds": ["fact"]}, 3, "x y", Recall(kinds=("x",)), Recall(top_k=-1), Recall(where={"a": {"$no": 1}})]
)
def test_a_context_refuses_a_wrong_recall_even_for_a_message_that_needs_none(memory: Memory, recall: Any) -> None:
    with pytest.raises(UsageError):
        memory.context("hi", recall=recall)
