"""A process of one version of the package: it takes commands as lines of JSON and answers each with one.

Run as a script, with the version to run on PYTHONPATH; it imports nothing of the tests.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec

from memorist import Memory, records
from memorist.messages.message import Message
from memorist.runtime import run_blocking
from memorist.stores.base import Append, Increment, Put

AT = datetime(2026, 11, 16, tzinfo=UTC)
ORG = sys.argv[1]


class Program:
    """What a process can be asked to do."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.memory = Memory(**options, org=ORG, worker=False, counter="estimate", embedder=None)
        self.core = self.memory._core

    def set(self, key: str, value: Any, more: dict[str, Any]) -> int:
        fact = records.Fact(org=ORG, ns="global", key=key, value=value, created_at=AT, updated_at=AT, **more)
        version: int = self.apply(Put(fact)).stored(fact).version
        return version

    def fact(self, key: str) -> Any:
        return run_blocking(self.core.get(records.Fact, "global", key))

    def history(self, key: str) -> Any:
        return run_blocking(self.core.scan(records.FactVersion, "global", key))

    def by_actor(self, actor: str) -> Any:
        return [fact.key for fact in run_blocking(self.core.scan(records.Fact, "global", actor, index="by_actor"))]

    def by_made(self) -> Any:
        return [thread.id for thread in run_blocking(self.core.scan(records.Thread, index="by_made"))]

    def put_state(self, key: str, value: Any, more: dict[str, Any]) -> None:
        entry = records.StateEntry(org=ORG, ns="global", key=key, value=value, created_at=AT, updated_at=AT, **more)
        self.apply(Put(entry))

    def count(self, key: str) -> int:
        entry = records.StateEntry(org=ORG, ns="global", key=key, value=1, created_at=AT, updated_at=AT)
        change = Increment(entry)
        total: int = self.apply(change).total(change)
        return total

    def state(self, key: str) -> Any:
        return run_blocking(self.core.get(records.StateEntry, "global", key))

    def thread(self, id: str) -> None:
        self.memory.threads.create("global", id=id)

    def say(self, thread: str, text: str, more: dict[str, Any]) -> int:
        message = Message(role="user", content=text, created_at=AT, **more)
        change = Append(ORG, thread, (message,), AT)
        first: int = self.apply(change).appended(change).first
        return first

    def messages(self, thread: str) -> Any:
        return self.memory.threads.messages(thread)

    def recent(self, thread: str) -> Any:
        return self.memory.threads.recent(thread, 50)

    def note(self, id: str, color: str) -> None:
        self.apply(Put(records.Note(org=ORG, id=id, color=color, text="x")))  # type: ignore[attr-defined]

    def notes(self, color: str) -> Any:
        kind = records.Note  # type: ignore[attr-defined]
        return [note.id for note in run_blocking(self.core.scan(kind, color, index="by_color"))]

    def storm(self, me: str, rounds: int) -> int:
        """Write to rows that the other version writes to as well."""
        for number in range(rounds):
            self.count("counter")
            self.set(f"hot{number % 3}", f"{me}{number}", {"mood": me} if me == "new" else {})
            self.say("t", f"{me}{number}", {"lang": me} if me == "new" else {})
            self.fact(f"hot{number % 3}")
            self.recent("t")
        return rounds

    def problems(self) -> Any:
        report = run_blocking(self.core.store.diagnose(deep=True))
        return [problem for problem in report["problems"] if "damaged rows" in problem or "checksum" in problem]

    def apply(self, *changes: Any) -> Any:
        return run_blocking(self.core.apply(*changes))


def main() -> None:
    """Answer until the input ends."""
    program = Program(json.loads(sys.argv[2]))
    program.memory.facts.get("global", "none")
    print("ready", flush=True)
    for line in sys.stdin:
        name, *args = json.loads(line)
        try:
            answer = {"ok": msgspec.to_builtins(getattr(program, name)(*args))}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
    program.memory.close()


main()
