"""Random work in many orgs through the public API, beside a model in plain dicts of what each handle may see.

Ids are made of separators, wildcards, braces, quotes and twins, and the orgs' names are as near to each other as names
can be. Every text that is written says whose it is, so that what comes out anywhere can be held against who asked.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memorist import Memory
from memorist.errors import Conflict, Forbidden, MemoristError, NotFound, UsageError
from memorist.testing import FakeClock
from memorist_testing.samples import ADVERSARIAL
from tests.stores import finding

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
MARK = re.compile(r"\bo(\d+)x n(\d+)x [a-zA-Z]+ [a-zA-Z]+ (\d+)\b")
RECALL_EVERY, REMOVE_EVERY, BRIEF_EVERY, END_EVERY, FORGET_USER_EVERY = 12, 15, 20, 60, 75
AIMED = 0.8
SHORT = [name for name in ADVERSARIAL if len(name.encode()) < 250]


class Held:
    """A thread as it should be: where, and its messages by their numbers."""

    def __init__(self, ns: str) -> None:
        self.ns = ns
        self.texts: dict[int, str] = {}
        self.last = 0


class Work:
    """Operations of one seed over one memory."""

    def __init__(self, memory: Memory, clock: FakeClock, base: str, seed: int) -> None:
        self.clock = clock
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
        self.threads: dict[tuple[str, str], Held] = {}
        self.brief_facts: set[tuple[str, str, str]] = set()
        self.brief_threads: set[tuple[str, str]] = set()
        self.numbers: dict[tuple[str, str], int] = {}
        """The highest number that was ever given in a thread of this name."""
        self.ended: set[tuple[str, str]] = set()
        self.tasks: dict[tuple[str, str], tuple[str, str]] = {}
        self.learned: dict[tuple[str, str], dict[str, str]] = {}
        self.working: dict[tuple[str, str, str], str] = {}
        self.seen: Counter[str] = Counter()

    def run(self, count: int) -> None:
        """So many operations, each answered as the model says."""
        for number in range(count):
            step = Step(self, number)
            step.take()

    def handle(self, org: str, user: str | None) -> Memory:
        """The handle of a user of an org, or of the whole org."""
        if (org, user) not in self.handles:
            granted = None if user is None else ["global", "workflow:*", "agent:*"]
            self.handles[org, user] = self.memory.scope(org=org, user=user, write=granted)
        return self.handles[org, user]

    def texts(self, org: str) -> Iterator[tuple[str, list[str]]]:
        """All that recall may find in an org now, by namespace."""
        yield from ((ns, [text]) for (owner, ns, _), text in self.facts.items() if owner == org)
        yield from ((ns, [text]) for (owner, ns, _), text in self.documents.items() if owner == org)
        yield from (
            (thread.ns, [*thread.texts.values()]) for (owner, _), thread in self.threads.items() if owner == org
        )
        yield from ((f"user:{user}", [*learned]) for (owner, user), learned in self.learned.items() if owner == org)

    def findable(self, org: str) -> dict[str, set[int]]:
        """The numbers of those texts."""
        numbers: dict[str, set[int]] = {}
        for ns, texts in self.texts(org):
            numbers.setdefault(ns, set()).update(number for text in texts for _, _, number in self.marks(text))
        return numbers

    @staticmethod
    def marks(text: str) -> list[tuple[int, int, int]]:
        """Whose texts are in a text: org, namespace and number of each."""
        return [(int(org), int(ns), int(number)) for org, ns, number in MARK.findall(text)]

    def drop_fact(self, key: tuple[str, str, str]) -> None:
        """Gone from the model."""
        self.facts.pop(key, None)
        self.brief_facts.discard(key)

    def drop_thread(self, key: tuple[str, str]) -> None:
        """Gone from the model."""
        self.threads.pop(key, None)
        self.brief_threads.discard(key)

    def drop_user(self, org: str, user: str) -> None:
        """All of a user, gone from the model."""
        ns = f"user:{user}"
        for fact in [key for key in self.facts if key[:2] == (org, ns)]:
            self.drop_fact(fact)
        for thread in [key for key, record in self.threads.items() if (key[0], record.ns) == (org, ns)]:
            self.drop_thread(thread)
        rows: tuple[dict[Any, Any], ...] = (self.state, self.documents)
        for table in rows:
            for key in [key for key in table if key[:2] == (org, ns)]:
                del table[key]
        for task in [key for key, (space, _) in self.tasks.items() if (key[0], space) == (org, ns)]:
            del self.tasks[task]
        for note in [key for key in self.working if key[:2] == (org, user)]:
            del self.working[note]
        self.learned.pop((org, user), None)

    def sweep(self, folder: Path) -> None:
        """All that each org holds, row by row: everything that the model has, and no text of anyone else."""
        for number, org in enumerate(self.orgs):
            file = folder / f"{number}.jsonl"
            counts = self.handle(org, None).export(file).counts
            text = file.read_text("utf-8")
            strangers = {owner for owner, _, _ in self.marks(text)} - {number}
            assert not strangers, f"org {org!r} holds texts of {[self.orgs[stranger] for stranger in strangers]}"
            for table, rows in (("facts", self.facts), ("threads", self.threads), ("documents", self.documents)):
                row_count = sum(key[0] == org for key in rows)
                assert counts.get(table, 0) == row_count, (
                    f"org {org!r} has {counts.get(table)} {table}, not {row_count}"
                )
            message_count = sum(len(thread.texts) for (owner, _), thread in self.threads.items() if owner == org)
            assert counts.get("messages", 0) == message_count


class Step:
    """One operation: who asks, for what, and what the model says to it."""

    def __init__(self, work: Work, number: int) -> None:
        dice = work.dice
        self.work, self.number = work, number
        self.user = dice.choice([None, None, *work.users])
        self.aim(dice.choice(work.orgs), dice.choice(work.spaces), dice.choice(work.names))

    def aim(self, org: str, ns: str, name: str) -> None:
        """At this thing, as this user."""
        self.org, self.ns, self.name = org, ns, name
        self.me = self.work.handle(org, self.user)
        self.own = "global" if self.user is None else f"user:{self.user}"
        self.may = self.sees(ns)

    def aim_at_fact(self) -> None:
        """At one that is there, most times: chance alone would seldom hit any."""
        facts = list(self.work.facts)
        if facts and self.work.dice.random() < AIMED:
            self.aim(*self.work.dice.choice(facts))

    def aim_at_thread(self) -> None:
        """At one that is there, most times, whoever may see it."""
        threads = list(self.work.threads.items())
        if threads and self.work.dice.random() < AIMED:
            (org, name), thread = self.work.dice.choice(threads)
            self.aim(org, thread.ns, name)

    def aim_at_user(self) -> str:
        """A user, most times one of whom something is known here."""
        known_users = [(org, ns[5:]) for org, ns, _ in self.work.facts if ns.startswith("user:")]
        known_users += [(org, user) for (org, user), learned in self.work.learned.items() if learned]
        if known_users and self.work.dice.random() < AIMED:
            org, user = self.work.dice.choice(known_users)
            self.aim(org, f"user:{user}", self.name)
            return user
        return self.work.dice.choice(self.work.users)

    def take(self) -> None:
        """Do one of all that can be done."""
        kinds: list[Callable[[], None]] = [
            self.set_fact, self.set_fact, self.read_facts, self.remove_fact, self.make_thread, self.append, self.append,
            self.read_thread, self.list_threads, self.remove_thread, self.set_state, self.read_state, self.add_document,
            self.read_documents, self.learn, self.note, self.save_task, self.read_tasks,
        ]  # fmt: skip
        number = self.number
        if number % RECALL_EVERY == 0:
            self._do(finding.recall_anything)
        elif number % FORGET_USER_EVERY == 1:
            self._do(finding.forget_user)
        elif number % REMOVE_EVERY == 2:
            self._do(self.work.dice.choice(finding.REMOVALS))
        elif number % END_EVERY == 3:
            self._do(finding.let_time_pass)
        elif number % BRIEF_EVERY == 4:
            self._do(self.work.dice.choice(finding.ENDING))
        else:
            chosen = self.work.dice.choice(kinds)
            self.work.seen[chosen.__name__] += 1
            chosen()

    def _do(self, operation: Callable[[Step], None]) -> None:
        self.work.seen[operation.__name__] += 1
        operation(self)

    def set_fact(self, ttl: int | None = None) -> None:
        value, key = self._text(self.ns), (self.org, self.ns, self.name)
        self.expect_if(value, lambda: self.me.facts.set(self.ns, self.name, value, ttl=ttl).value)
        if self.may:
            self.work.drop_fact(key)
            self.work.facts[key] = value
            self.work.brief_facts |= {key} if ttl else set()

    def read_facts(self) -> None:
        own_facts = {
            key: value for (org, ns, key), value in self.work.facts.items() if (org, ns) == (self.org, self.ns)
        }
        begun = {key: value for key, value in own_facts.items() if key.startswith(self.name)}
        facts = self.me.facts
        self.expect_if(own_facts.get(self.name), lambda: _value(facts.get(self.ns, self.name)))
        self.expect_if(own_facts, lambda: {fact.key: fact.value for fact in facts.list(self.ns)})
        self.expect_if(begun, lambda: {fact.key: fact.value for fact in facts.list(self.ns, prefix=self.name)})

    def remove_fact(self) -> None:
        self.aim_at_fact()
        value = self.work.facts.get((self.org, self.ns, self.name))
        self.expect_if(value is not None, lambda: self.me.facts.delete(self.ns, self.name))
        if self.may and value is not None:
            self.work.drop_fact((self.org, self.ns, self.name))
            finding.recall_gone(self, self.ns, [value])

    def make_thread(self, ttl: int | None = None) -> None:
        thread = self.work.threads.get((self.org, self.name))
        is_taken = thread is not None and thread.ns != self.ns
        expected = Forbidden if not self.may else Conflict if is_taken else self.ns
        self.expect(expected, lambda: self.me.threads.create(self.ns, id=self.name, ttl=ttl).ns)
        if self.may and thread is None:
            self.work.threads[self.org, self.name] = Held(self.ns)
            self.work.brief_threads |= {(self.org, self.name)} if ttl else set()

    def append(self) -> None:
        self.aim_at_thread()
        self.say()

    def say(self) -> None:
        """One more message in the thread of this name."""
        thread = self.thread()
        text = self._text(thread.ns if thread else self.ns)
        seqs: list[int] = []

        def append() -> int:
            seqs.append(self.me.threads.append(self.name, text)[0].message.seq)
            before = self.work.numbers.get((self.org, self.name), 0)
            # A thread made again goes on behind the numbers that were given before, however far.
            return seqs[0] if thread is not None and thread.last else int(seqs[0] > before)

        self.expect(NotFound if thread is None else thread.last + 1 if thread.last else 1, append)
        if thread is not None:
            thread.last = self.work.numbers[self.org, self.name] = seqs[0]
            thread.texts[thread.last] = text

    def read_thread(self) -> None:
        thread, threads = self.thread(), self.me.threads
        texts = None if thread is None else list(thread.texts.values())
        self.expect(None if thread is None else thread.ns, lambda: _space(threads.get(self.name)))
        expected = NotFound if texts is None else texts[-3:]
        self.expect(expected, lambda: [message.text for message in threads.recent(self.name, 3)])
        self.expect(NotFound if texts is None else texts, lambda: [m.text for m in threads.messages(self.name)])

    def list_threads(self) -> None:
        own_threads = {id for (org, id), thread in self.work.threads.items() if (org, thread.ns) == (self.org, self.ns)}
        self.expect_if(own_threads, lambda: {thread.id for thread in self.me.threads.list(self.ns)})

    def remove_thread(self) -> None:
        self.aim_at_thread()
        thread = self.thread()
        self.expect(thread is not None, lambda: self.me.threads.delete(self.name))
        if thread is not None:
            self.work.drop_thread((self.org, self.name))
            finding.recall_gone(self, thread.ns, list(thread.texts.values()))

    def set_state(self) -> None:
        value = self._text(self.own)
        self.expect(value, lambda: self.me.state.set(self.name, value).value)
        self.work.state[self.org, self.own, self.name] = value

    def read_state(self) -> None:
        self.expect(self.work.state.get((self.org, self.own, self.name)), lambda: self.me.state.get(self.name))
        if self.number % 3 == 0:
            existed = self.work.state.pop((self.org, self.own, self.name), None) is not None
            self.expect(existed, lambda: self.me.state.delete(self.name))

    def add_document(self) -> None:
        text = self._text(self.ns)
        self.expect_if(text, lambda: self.me.documents.add(self.ns, text, id=self.name).text)
        if self.may:
            self.work.documents[self.org, self.ns, self.name] = text

    def read_documents(self) -> None:
        own_documents = {
            id: text for (org, ns, id), text in self.work.documents.items() if (org, ns) == (self.org, self.ns)
        }
        self.expect_if(
            own_documents, lambda: {document.id: document.text for document in self.me.documents.list(self.ns)}
        )
        if self.number % 2 == 0:
            self.expect_if(self.name in own_documents, lambda: self.me.documents.delete(self.ns, self.name))
            if self.may and self.name in own_documents:
                finding.recall_gone(self, self.ns, [self.work.documents.pop((self.org, self.ns, self.name))])

    def learn(self) -> None:
        user = self.work.dice.choice(self.work.users)
        learned = self.work.learned.setdefault((self.org, user), {})
        allowed = self.user in (None, user)
        content = self._text(f"user:{user}")
        add = self.number % 2 == 0
        if add and allowed:
            learned[content] = self.me.learnings.add(content, user=user).id
        elif add:
            self.expect(UsageError, lambda: self.me.learnings.add(content, user=user))
        expected = set(learned) if allowed else UsageError
        listed = self.me.learnings.list
        self.expect(
            expected, lambda: {learning.content for learning in listed(min_confidence=0, limit=None, user=user)}
        )

    def note(self) -> None:
        user, session = self.work.dice.choice(self.work.users), self.work.dice.choice(self.work.names[:3])
        text, allowed = self._text(f"user:{user}"), self.user in (None, user)
        working, key = self.me.working, (self.org, user, session)
        if self.number % 2 == 0:
            doc = {"scratchpad": text}
            expected = text if allowed else UsageError
            self.expect(expected, lambda: working.set(doc, user=user, session=session).scratchpad)
            if allowed:
                self.work.working[key] = text
        document = self.work.working.get(key) if allowed else UsageError
        self.expect(document, lambda: getattr(working.get(user, session), "scratchpad", None))

    def save_task(self) -> None:
        saved = self.work.tasks.get((self.org, self.name))
        if saved is not None and not self.sees(saved[0]):
            self.expect(None, lambda: self.me.tasks.resume(self.name))
            return
        space = saved[0] if saved else self.ns
        text = self._text(space)
        checkpoint = {"task_id": self.name, "ns": space, "state": text}
        expected = text if self.sees(space) else Forbidden
        self.expect(expected, lambda: self.me.tasks.save(checkpoint).state)
        if expected is text:
            self.work.tasks[self.org, self.name] = (space, text)

    def read_tasks(self) -> None:
        own_tasks = {
            id: saved for (org, id), saved in self.work.tasks.items() if org == self.org and self.sees(saved[0])
        }
        saved_task = own_tasks.get(self.name)
        self.expect(saved_task and saved_task[1], lambda: getattr(self.me.tasks.resume(self.name), "state", None))
        self.expect(set(own_tasks), lambda: {task.task_id for task in self.me.tasks.list(limit=None)})
        if self.number % 3 == 0:
            self.expect(saved_task is not None, lambda: self.me.tasks.delete(self.name))
            if saved_task:
                del self.work.tasks[self.org, self.name]

    # -- parts

    def sees(self, ns: str) -> bool:
        return self.user is None or not ns.startswith("user:") or ns == f"user:{self.user}"

    def thread(self) -> Held | None:
        thread = self.work.threads.get((self.org, self.name))
        return thread if thread is not None and self.sees(thread.ns) else None

    def ended(self) -> bool:
        """Whether there was a thread of this name that has ended: its rows may be there to be forgotten."""
        return (self.org, self.name) in self.work.ended

    def _text(self, ns: str) -> str:
        words = " ".join(self.work.dice.sample(finding.WORDS, 2))
        return f"o{self.work.orgs.index(self.org)}x n{self.work.spaces.index(ns)}x {words} {self.number}"

    def expect_if(self, expected: Any, call: Callable[[], Any]) -> None:
        self.expect(expected if self.may else Forbidden, call)

    def expect(self, expected: Any, call: Callable[[], Any]) -> None:
        try:
            answered = call()
        except MemoristError as error:
            assert isinstance(expected, type) and isinstance(error, expected), (
                f"{self.who()}: {error!r}, not {expected!r}"
            )
        else:
            assert answered == expected, f"{self.who()}: {answered!r}, not {expected!r}"
            self.work.seen["rows"] += bool(answered)

    def who(self) -> str:
        return f"operation {self.number} of {self.user!r} in {self.org!r} on {self.ns!r}, {self.name!r}"


def _value(fact: Any) -> Any:
    return None if fact is None else fact.value


def _space(thread: Any) -> Any:
    return None if thread is None else thread.ns
