"""Random work in many orgs through the public API, beside a model in plain dicts of what each handle may see.

Ids are made of separators, wildcards, braces, quotes and twins, and the orgs' names are as near to each other as names
can be. Every text that is written says whose it is, so that what comes out anywhere can be held against who asked.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recollect import Memory
from recollect.errors import Conflict, InvalidNamespace, NotFound, RecollectError, UsageError
from recollect.testing.samples import ADVERSARIAL

TWINS = (
    "",
    "a",
    "A",
    "ab",
    ":",
    ":a",
    "{",
    "}",
    "{a}",
    "é",
    "e\u0301",
    "%",
    "_",
    "*",
    "?",
    "\\",
    "'",
    '"',
    " ",
    "\u200b",
)
WORDS = ("harbour", "invoice", "Lisbon", "bicycle", "archive", "train", "lantern", "river")
MARK = re.compile(r"\bo(\d+)x n(\d+)x\b")
SHORT = [name for name in ADVERSARIAL if len(name.encode()) < 250]


class Work:
    """Operations of one seed over one memory."""

    def __init__(self, memory: Memory, base: str, seed: int) -> None:
        self.dice = random.Random(seed)
        odd = self.dice.sample(SHORT, 6)
        self.orgs = [*(f"{base}{twin}" for twin in TWINS), *(f"{name}{base}" for name in odd)]
        self.users = ["a", "A", "a:b", *self.dice.sample(SHORT, 3)]
        self.names = ["a", "a:", "{a}", "*", *self.dice.sample(SHORT, 6)]
        self.spaces = ["global", *(f"user:{user}" for user in self.users)]
        self.spaces += [f"{kind}:{name}" for kind in ("workflow", "agent") for name in self.names[:4]]
        self.memory = memory
        self.handles: dict[tuple[str, str | None], Memory] = {}
        self.facts: dict[tuple[str, str, str], str] = {}
        self.state: dict[tuple[str, str, str], str] = {}
        self.documents: dict[tuple[str, str, str], str] = {}
        self.threads: dict[tuple[str, str], tuple[str, list[str]]] = {}
        self.tasks: dict[tuple[str, str], tuple[str, str]] = {}
        self.learned: dict[tuple[str, str], set[str]] = {}
        self.working: dict[tuple[str, str, str], str] = {}
        self.seen: Counter[str] = Counter()

    def run(self, count: int) -> None:
        """So many operations, each answered as the model says."""
        for number in range(count):
            one = Step(self, number)
            one.take()

    def handle(self, org: str, user: str | None) -> Memory:
        """The handle of a user of an org, or of the whole org."""
        if (org, user) not in self.handles:
            self.handles[org, user] = self.memory.scope(org=org, user=user)
        return self.handles[org, user]

    def sweep(self, folder: Path) -> None:
        """All that each org holds, row by row: everything that the model has, and no text of anyone else."""
        for number, org in enumerate(self.orgs):
            file = folder / f"{number}.jsonl"
            counts = self.handle(org, None).export(file).counts
            text = file.read_text("utf-8")
            strangers = {owner for owner, _ in MARK.findall(text)} - {str(number)}
            assert not strangers, f"org {org!r} holds texts of {[self.orgs[int(one)] for one in strangers]}"
            for table, rows in (("facts", self.facts), ("threads", self.threads), ("documents", self.documents)):
                held = sum(key[0] == org for key in rows)
                assert counts.get(table, 0) == held, f"org {org!r} has {counts.get(table)} {table}, not {held}"
            said = sum(len(texts) for (owner, _), (_, texts) in self.threads.items() if owner == org)
            assert counts.get("messages", 0) == said


class Step:
    """One operation: who asks, for what, and what the model says to it."""

    def __init__(self, work: Work, number: int) -> None:
        dice = work.dice
        self.work, self.number = work, number
        self.org = dice.choice(work.orgs)
        self.user = dice.choice([None, None, *work.users])
        self.ns = dice.choice(work.spaces)
        self.name = dice.choice(work.names)
        self.me = work.handle(self.org, self.user)
        self.own = "global" if self.user is None else f"user:{self.user}"
        self.may = self._sees(self.ns)

    def take(self) -> None:
        """Do one of all that can be done."""
        kinds: list[Callable[[], None]] = [
            self.set_fact, self.set_fact, self.read_facts, self.drop_fact, self.make_thread, self.append, self.append,
            self.read_thread, self.list_threads, self.drop_thread, self.set_state, self.read_state, self.add_document,
            self.read_documents, self.learn, self.note, self.save_task, self.read_tasks,
        ]  # fmt: skip
        chosen = self.work.dice.choice(kinds) if self.number % 60 else self.recall
        self.work.seen[chosen.__name__] += 1
        chosen()

    def set_fact(self) -> None:
        value = self._text(self.ns)
        self._expect(
            value if self.may else InvalidNamespace, lambda: self.me.facts.set(self.ns, self.name, value).value
        )
        if self.may:
            self.work.facts[self.org, self.ns, self.name] = value

    def read_facts(self) -> None:
        mine = {key: value for (org, ns, key), value in self.work.facts.items() if (org, ns) == (self.org, self.ns)}
        begun = {key: value for key, value in mine.items() if key.startswith(self.name)}
        facts = self.me.facts
        self._expect_if(mine.get(self.name), lambda: _value(facts.get(self.ns, self.name)))
        self._expect_if(mine, lambda: {fact.key: fact.value for fact in facts.list(self.ns)})
        self._expect_if(begun, lambda: {fact.key: fact.value for fact in facts.list(self.ns, prefix=self.name)})

    def drop_fact(self) -> None:
        there = (self.org, self.ns, self.name) in self.work.facts
        self._expect_if(there, lambda: self.me.facts.delete(self.ns, self.name))
        if self.may:
            self.work.facts.pop((self.org, self.ns, self.name), None)

    def make_thread(self) -> None:
        held = self.work.threads.get((self.org, self.name))
        taken = held is not None and held[0] != self.ns
        told = InvalidNamespace if not self.may else Conflict if taken else self.ns
        self._expect(told, lambda: self.me.threads.create(self.ns, id=self.name).ns)
        if self.may and held is None:
            self.work.threads[self.org, self.name] = (self.ns, [])

    def append(self) -> None:
        held = self._thread()
        text = self._text(held[0] if held else self.ns)
        told = NotFound if held is None else len(held[1]) + 1
        self._expect(told, lambda: self.me.threads.append(self.name, text)[0].message.seq)
        if held is not None:
            held[1].append(text)

    def read_thread(self) -> None:
        held, threads = self._thread(), self.me.threads
        self._expect(None if held is None else held[0], lambda: _space(threads.get(self.name)))
        told = NotFound if held is None else held[1][-3:]
        self._expect(told, lambda: [message.text for message in threads.recent(self.name, 3)])
        self._expect(NotFound if held is None else held[1], lambda: [m.text for m in threads.messages(self.name)])

    def list_threads(self) -> None:
        mine = {id for (org, id), (ns, _) in self.work.threads.items() if (org, ns) == (self.org, self.ns)}
        self._expect_if(mine, lambda: {thread.id for thread in self.me.threads.list(self.ns)})

    def drop_thread(self) -> None:
        held = self._thread()
        self._expect(held is not None, lambda: self.me.threads.delete(self.name))
        if held is not None:
            del self.work.threads[self.org, self.name]

    def set_state(self) -> None:
        value = self._text(self.own)
        self._expect(value, lambda: self.me.state.set(self.name, value).value)
        self.work.state[self.org, self.own, self.name] = value

    def read_state(self) -> None:
        self._expect(self.work.state.get((self.org, self.own, self.name)), lambda: self.me.state.get(self.name))
        if self.number % 3 == 0:
            there = self.work.state.pop((self.org, self.own, self.name), None) is not None
            self._expect(there, lambda: self.me.state.delete(self.name))

    def add_document(self) -> None:
        text = self._text(self.ns)
        self._expect_if(text, lambda: self.me.documents.add(self.ns, text, id=self.name).text)
        if self.may:
            self.work.documents[self.org, self.ns, self.name] = text

    def read_documents(self) -> None:
        mine = {id: text for (org, ns, id), text in self.work.documents.items() if (org, ns) == (self.org, self.ns)}
        self._expect_if(mine, lambda: {one.id: one.text for one in self.me.documents.list(self.ns)})
        if self.number % 2 == 0:
            self._expect_if(self.name in mine, lambda: self.me.documents.delete(self.ns, self.name))
            if self.may:
                self.work.documents.pop((self.org, self.ns, self.name), None)

    def learn(self) -> None:
        user = self.work.dice.choice(self.work.users)
        mine = self.work.learned.setdefault((self.org, user), set())
        allowed = self.user in (None, user)
        content = self._text(f"user:{user}")
        add = self.number % 2 == 0
        if add:
            self._expect(content if allowed else UsageError, lambda: self.me.learnings.add(content, user=user).content)
        if add and allowed:
            mine.add(content)
        told = mine if allowed else UsageError
        listed = self.me.learnings.list
        self._expect(told, lambda: {one.content for one in listed(min_confidence=0, limit=None, user=user)})

    def note(self) -> None:
        user, session = self.work.dice.choice(self.work.users), self.work.dice.choice(self.work.names[:3])
        text, allowed = self._text(f"user:{user}"), self.user in (None, user)
        working, key = self.me.working, (self.org, user, session)
        if self.number % 2 == 0:
            doc = {"scratchpad": text}
            told = text if allowed else UsageError
            self._expect(told, lambda: working.set(doc, user=user, session=session).scratchpad)
            if allowed:
                self.work.working[key] = text
        held = self.work.working.get(key) if allowed else UsageError
        self._expect(held, lambda: getattr(working.get(user, session), "scratchpad", None))

    def save_task(self) -> None:
        held = self.work.tasks.get((self.org, self.name))
        if held is not None and not self._sees(held[0]):
            self._expect(None, lambda: self.me.tasks.resume(self.name))
            return
        space = held[0] if held else self.ns
        text = self._text(space)
        given = {"task_id": self.name, "ns": space, "state": text}
        told = text if self._sees(space) else InvalidNamespace
        self._expect(told, lambda: self.me.tasks.save(given).state)
        if told is text:
            self.work.tasks[self.org, self.name] = (space, text)

    def read_tasks(self) -> None:
        mine = {id: one for (org, id), one in self.work.tasks.items() if org == self.org and self._sees(one[0])}
        held = mine.get(self.name)
        self._expect(held and held[1], lambda: getattr(self.me.tasks.resume(self.name), "state", None))
        self._expect(set(mine), lambda: {task.task_id for task in self.me.tasks.list(limit=None)})
        if self.number % 3 == 0:
            self._expect(held is not None, lambda: self.me.tasks.delete(self.name))
            if held:
                del self.work.tasks[self.org, self.name]

    def recall(self) -> None:
        asked = [None, [self.ns], [self.ns, "global"]][self.number // 60 % 3]
        if asked is not None and not self.may:
            self._expect(InvalidNamespace, lambda: self.me.recall(WORDS[0], namespaces=asked))
            return
        hits = self.me.recall(" ".join(self.work.dice.sample(WORDS, 3)), namespaces=asked, top_k=20)
        for hit in hits:
            [(owner, space)] = MARK.findall(hit.text)
            told = self.work.orgs[int(owner)], self.work.spaces[int(space)]
            assert told == (self.org, hit.namespace), f"{self._who()}: recall gave a text of {told}"
            assert self._sees(hit.namespace) and (asked is None or hit.namespace in asked), self._who()
        self.work.seen["hits"] += len(hits)

    # -- parts

    def _sees(self, ns: str) -> bool:
        return self.user is None or not ns.startswith("user:") or ns == f"user:{self.user}"

    def _thread(self) -> tuple[str, list[str]] | None:
        held = self.work.threads.get((self.org, self.name))
        return held if held is not None and self._sees(held[0]) else None

    def _text(self, ns: str) -> str:
        words = " ".join(self.work.dice.sample(WORDS, 2))
        return f"o{self.work.orgs.index(self.org)}x n{self.work.spaces.index(ns)}x {words} {self.number}"

    def _expect_if(self, told: Any, call: Callable[[], Any]) -> None:
        self._expect(told if self.may else InvalidNamespace, call)

    def _expect(self, told: Any, call: Callable[[], Any]) -> None:
        try:
            answered = call()
        except RecollectError as error:
            assert isinstance(told, type) and isinstance(error, told), f"{self._who()}: {error!r}, not {told!r}"
        else:
            assert answered == told, f"{self._who()}: {answered!r}, not {told!r}"
            self.work.seen["rows"] += bool(answered)

    def _who(self) -> str:
        return f"operation {self.number} of {self.user!r} in {self.org!r} on {self.ns!r}, {self.name!r}"


def _value(fact: Any) -> Any:
    return None if fact is None else fact.value


def _space(thread: Any) -> Any:
    return None if thread is None else thread.ns
