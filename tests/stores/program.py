"""One program over everything that is remembered; what it prints must not depend on the URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from memorist import Memory
from memorist.testing import FakeClock

CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Lisbon"}'}}
TURNS: tuple[Any, ...] = (
    {"role": "user", "content": "I'm Ada. I live in Lisbon and my sister Maria studies marine biology."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "18 degrees, “windy” 🌊", "x-unknown": [1, 1.0, -0.0]},
    {"role": "assistant", "content": [{"type": "text", "text": "18 degrees and windy in Lisbon."}]},
    {"role": "user", "content": "Book a table for Friday at the fish restaurant near the harbour, please."},
    {"role": "assistant", "content": "Booked for Friday at eight.", "metadata": {"z": 1, "a": {"é": None}}},
)
DOCUMENT = """# Handbook

The harbour restaurant opens at noon and closes at eleven.

## Travel

Trains to Porto leave Lisbon every hour; tickets are cheaper a week ahead.

## Storage

Invoices are kept for ten years in the archive of the office.
"""
ODD = {"b": 1, "a": [1.0, 1, -0.0, 1e300, 5e-324, None, True], "ключ": "e\u0301 é \u0000 \u2028 😀", "": {"": []}}
QUESTIONS = ("Where does Ada live?", "fish restaurant", "trains to Porto", "what does Maria study?", "invoices", "zzz")


class Printed:
    """What the program said, line by line."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, what: str, value: Any) -> None:
        """One line: exact JSON for what is stored."""
        self.lines.append(f"{what}: {msgspec.json.encode(value).decode()}")


def run(memory: Memory, clock: FakeClock, file: Path) -> str:
    """Do a bit of everything and say what came of it; the export is part of the output."""
    say = Printed()
    ada = memory.scope(user="ada")
    _facts(memory, clock, say)
    _threads(memory, clock, say)
    _small_things(memory, ada, clock, say)
    _tasks(memory, clock, say)
    _finding(memory, ada, say)
    _endings(memory, ada, clock, say)
    say("transfer", memory.export(file))
    return "\n".join(say.lines) + "\n" + file.read_text("utf-8")


def _facts(memory: Memory, clock: FakeClock, say: Printed) -> None:
    facts = memory.facts
    say("set", facts.set("user:ada", "city", "Porto", confidence=0.5))
    early = clock()
    clock.advance(60)
    say("overwritten", facts.set("user:ada", "city", "Lisbon", source="talk#1", expect=1))
    clock.advance(60)
    say("corrected", facts.correct("user:ada", "city", "Lisboa", reason="spelling"))
    say("odd", facts.set("workflow:a'b\"c%_*{}:é", "k:{}%_\\", ODD))
    say("many", facts.set_many("global", {f"n.{n:02d}": {"n": n, "s": str(n)} for n in (9, 10, 2, 33)}))
    say("brief", facts.set("global", "brief", 1, ttl=30))
    clock.advance(31)
    say("rejected", facts.reject("global", "n.09", reason="no"))
    say("deleted", facts.delete("global", "n.33"))
    say("history", facts.history("user:ada", "city"))
    say("as of", facts.get("user:ada", "city", as_of=early))
    say("expired", [facts.get("global", "brief"), facts.delete_expired()])
    say("list", facts.list("global", prefix="n.", limit=2))
    say("where", facts.list("global", where={"value.n": {"$gt": 9}}))
    say("odd again", facts.get("workflow:a'b\"c%_*{}:é", "k:{}%_\\"))


def _threads(memory: Memory, clock: FakeClock, say: Printed) -> None:
    threads = memory.threads
    say("created", threads.create("user:ada", "A talk", id="talk", metadata={"b": 1, "a": 2}))
    say("created", [threads.create("user:ada", id=f"t{n}") for n in (10, 9, 1)])
    for turn in TURNS:
        clock.advance(5)
        say("appended", threads.append("talk", turn))
    say("keyed", [threads.append("t1", "once", "twice", key="k") for _ in range(2)])
    say("long", [r.message.seq for r in threads.append("t9", *(f"note {n}" for n in range(50)))])
    say("thread", threads.get("talk"))
    say("threads", threads.list("user:ada", limit=3))
    say("recent", threads.recent("talk", 3))
    say("range", threads.messages("t9", 5, after=10, before=40))
    say("roles", threads.messages("talk", roles=["assistant"]))
    say("shapes", [[m.openai(), m.anthropic()] for m in threads.messages("talk")])
    say("cut", [threads.delete_messages("t9", before=20), [m.seq for m in threads.messages("t9", 4)]])
    say("gone", [threads.delete("t10"), threads.get("t10")])


def _small_things(memory: Memory, ada: Memory, clock: FakeClock, say: Printed) -> None:
    say("state", [memory.state.set("cursor", ODD), memory.state.increment("n"), memory.state.increment("n", 41)])
    say("brief state", ada.state.set("lock", "mine", ttl=10))
    clock.advance(11)
    say("state gone", [ada.state.get("lock"), ada.state.set("lock", "new", expect=0), ada.state.entry("lock")])
    learned = [ada.learnings.add(f"prefers {what}", confidence=c) for what, c in (("short answers", 0.9), ("tea", 0.8))]
    learned.append(ada.learnings.add("Prefers  TEA"))
    say("learned", [*learned, ada.learnings.weaken(learned[0].id), ada.learnings.used([learned[1].id])])
    say("learnings", ada.learnings.list(min_confidence=0))
    say("working", [ada.working.update(scratchpad="écrire"), ada.working.record_action("open", "order-7")])
    say("session", ada.working.update(session="s1", current_page={"route": "/orders"}))
    clock.advance(3600)
    say("working later", [ada.working.get(), ada.working.get(session="s1"), ada.working.get(session="s2")])
    say("preference", memory.profile.set_preference("ada", "tone", "brief"))
    say("profile", memory.profile.get("ada"))
    say("entity", [memory.entities.get("customer", "7", lambda id: {"id": id, "é": 1.0}) for _ in range(2)])
    say("document", memory.documents.add("global", DOCUMENT, id="handbook", title="Handbook", metadata={"v": 1}))
    say("documents", [memory.documents.list("global"), memory.documents.chunks("global", "handbook")])


def _tasks(memory: Memory, clock: FakeClock, say: Printed) -> None:
    with memory.tasks.run("import", ns="workflow:x", state={"done": 0, "log": []}) as task:
        for item in task.remaining(["a", "b", "c"]):
            task.state["log"].append(item)
            task.batch().state.increment("imported")
            task.complete(item)
            clock.advance(1)
    say("saved", memory.tasks.save({"task_id": "two", "step": 3, "state": ODD, "completed_subtasks": ["x"]}))
    say("task", [memory.tasks.resume("import"), memory.tasks.history("import")])
    say("tasks", [memory.tasks.list(), memory.tasks.list("workflow:x"), memory.state.get("imported")])


def _finding(memory: Memory, ada: Memory, say: Printed) -> None:
    for question in QUESTIONS:
        for handle in (memory, ada):
            hits = handle.recall(question, top_k=6)
            # The sixth digit differs: Postgres takes the spread of cosines in doubles, the others in floats.
            say(question, [(h.kind, h.id, h.text, round(h.score, 4), h.namespace, h.created_at) for h in hits])
    say("in one", [h.id for h in memory.recall("Lisbon", namespaces="global", kinds=["document"])])
    context = ada.context("Where do I live?", thread="talk", system="Be brief.", budget=400)
    say("context", [context.messages(), context.tokens, context.anthropic()])
    say("trimmed", ada.context("And now?", thread="t9", budget=120).messages())


def _endings(memory: Memory, ada: Memory, clock: FakeClock, say: Printed) -> None:
    with memory.batch() as batch:
        batch.facts.set("agent:r", "one", 1)
        batch.threads.append("t1", "in a batch")
        batch.state.increment("n")
    say("batch", [memory.facts.get("agent:r", "one"), memory.threads.recent("t1", 1), memory.state.get("n")])
    why = memory.why("user:ada/city")
    say("why", repr(why))
    say("stats", msgspec.to_builtins(memory.stats()))
    erasure = memory.forget(thread="t1")  # what was not searched differs by store, and is left out
    say("forgotten", repr((erasure.kind, erasure.counts, erasure.tombstones, erasure.complete)))
    say("audit", memory.audit.list(limit=20))
    say("recall again", [h.text for h in memory.recall("once in a batch")])
