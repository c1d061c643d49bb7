"""Turns the facts and retractions that the rules extract from a batch of messages into changes.

The time at which something was said decides, not the order in which it arrives: an older statement becomes an earlier
version, and never replaces what was said since. If a key is mentioned twice, the later mention counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from ...extract.extracted import Extracted
from ...extract.keys import spoken
from ...kinds import message_ref
from ...messages.message import Message
from ...records import Fact, FactVersion
from ...stores.base import Change, Expect
from ..core import Core
from ..facts.facts import Facts
from ..facts.timeline import splice_versions
from .noting import MAX_SOURCES, Source, raise_confidence, said_later, same_value
from .progress import BatchResult
from .retracting import facts_asked_about, stated_time

_WORD = re.compile(r"[^\W_]+")


class FactChanges:
    """Collects the changes to the facts of a namespace, key by key, so that a key needs one guard per commit."""

    def __init__(self, core: Core, ns: str, result: BatchResult) -> None:
        self._core, self._ns, self._result, self._facts = core, ns, result, Facts(core)
        self._stored: dict[str, Fact | None] = {}
        """The facts as they were read first, from whose versions all changes of their keys follow."""
        self._current: dict[str, Fact | None] = {}
        """The facts as they are after the statements so far, or None where a statement has ended one."""
        self._pending: dict[str, list[Change]] = {}
        self._older: dict[str, list[Fact]] = {}
        """Values that were stated before the current ones, for the history."""

    async def add(self, item: Extracted, message: Message) -> None:
        """Add one statement, retraction or request to forget."""
        if item.kind == "forget":
            for fact in await facts_asked_about(self._core, self._ns, item, message, self._current):
                await self._end(fact, item, message)
        elif item.retracted:
            for fact in await self._find_retracted_facts(item):
                await self._end(fact, item, message)
        else:
            await self._state(item, message)

    async def changes(self) -> list[Change]:
        """Return the changes of all statements added so far."""
        changes: list[Change] = []
        for key, drafts in self._older.items():
            if key not in self._pending:
                changes += await self._past_changes(self._stored[key], drafts)
        for key, pending in self._pending.items():
            if pending:
                before = self._stored.get(key)
                # One guard per key, with the version that was read first: all changes of the key follow from it.
                changes += [Expect(Fact, (self._core.org, self._ns, key), before.version if before else 0), *pending]
        return changes

    async def _end(self, fact: Fact, item: Extracted, message: Message) -> None:
        stated_at, is_request = stated_time(message, self._core.at()), item.kind == "forget"
        # A fact from this very batch has no version yet, because it is not stored.
        self._stored.setdefault(fact.key, fact if fact.version else None)
        stored = self._stored[fact.key]
        if stored is not None and said_later(stored, Source(message.id, stated_at)):
            return
        if stored is None and is_request:
            # It was said in this very batch. Its end goes into the history nevertheless, so that it can be undone.
            last = await self._last_version(fact.key)
            stored = msgspec.structs.replace(fact, version=(last.version if last else 0) + 1)
        self._current[fact.key] = None
        self._pending[fact.key] = []
        if stored is not None:
            _, self._pending[fact.key] = self._facts._ending(stored, "retracted", _reason(item), message.id, stated_at)
            ended = self._result.forgotten if is_request else self._result.ended
            ended.setdefault(str(message.seq), []).append(fact.id)

    async def _state(self, item: Extracted, message: Message) -> None:
        ns, key, stated_at = self._ns, item.key, stated_time(message, self._core.at())
        draft = msgspec.structs.replace(
            self._facts._new(ns, key, spoken(key, item.value, item.text), None, item.confidence, message.id),
            trust="user", reason=_reason(item), created_at=stated_at, updated_at=stated_at,
        )  # fmt: skip
        if await self._facts._find_refused(draft) is not None:
            return
        if key not in self._current:
            self._current[key] = self._stored[key] = await self._core.get(Fact, ns, key)
        # What was said since stays current, even if an older message arrives later, as from an import. A version that
        # ended the fact counts too, or older messages would bring it back.
        newest = self._stored.get(key)
        if newest is None and key not in self._pending:
            newest = await self._last_version(key)
            newest = None if newest is None or newest.status == "active" else newest
        if newest is not None and key not in self._pending and said_later(newest, Source(message.id, stated_at)):
            if not same_value(newest.value, draft.value):
                # `changes` splices these into the history of the fact, or of the version that ended it.
                self._older.setdefault(key, []).append(draft)
            return
        if self._current[key] is None:
            self._pending[key] = []  # retracted earlier in this batch, and now stated again
        draft = _merge_facts(self._current[key], draft)
        self._current[key] = draft
        self._pending.setdefault(key, []).extend(self._facts._changes(draft, "derive", sources=[message_ref(message)]))

    async def _last_version(self, key: str) -> FactVersion | None:
        last = await self._core.scan(FactVersion, self._ns, key, reverse=True, limit=1)
        return last[0] if last else None

    async def _past_changes(self, current: Fact | None, drafts: Sequence[Fact]) -> list[Change]:
        """Return changes that insert older values into the history, each at its own time."""
        first = drafts[0]
        changes = await splice_versions(self._core, current, drafts, first.ns, first.key, before=True)
        if not changes:
            return []
        # Without the fact itself and its index job: what was true in the past is not indexed as a fact.
        return [*changes, *(change for fact in drafts for change in self._facts._changes(fact, "derive")[2:])]

    async def _find_retracted_facts(self, item: Extracted) -> list[Fact]:
        """Return the facts that a retraction ends: the one with its key or, failing that, those with the same stem and
        the named value.
        """
        stem, _, part = item.key.rpartition(".")
        if part != "*":
            is_current = item.key in self._current
            fact = self._current[item.key] if is_current else await self._core.get(Fact, self._ns, item.key)
            if fact is not None:
                return [fact] if item.value is None or _names(fact, str(item.value)) else []
        if not stem:
            return []
        wanted = str(item.value) if part == "*" or item.value is not None else part.replace("_", " ")
        stored = {fact.key: fact for fact in await self._core.scan(Fact, self._ns, starts=f"{stem}.")}
        candidates = {**stored, **{key: fact for key, fact in self._current.items() if key.startswith(f"{stem}.")}}
        return [fact for fact in candidates.values() if fact is not None and _names(fact, wanted)]


def _reason(item: Extracted) -> str | None:
    """Return the reason stored with a fact: the kind of statement and the matching rule."""
    statement = "retraction" if item.retracted else "correction" if item.correction else ""
    statement = statement or ("inferred" if item.inferred else "")
    return " ".join(filter(None, (statement, item.rule and f"by {item.rule}"))) or None


def _names(fact: Fact, text: str) -> bool:
    """Return whether the words of a retraction refer to this fact, which means that they occur in its value or key, or
    contain its value.
    """
    words, value = _WORD.findall(text.casefold()), _WORD.findall(str(fact.value).casefold())
    part = _WORD.findall(fact.key.rpartition(".")[2].casefold())
    keyed = "." in fact.key and _all_in(part, words)
    return keyed or _all_in(words, [*value, *part]) or _all_in(value, words)


def _all_in(some: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether each word occurs among the others, in the same or a longer form (nut and nuts, vegan and
    Veganerin).
    """
    return bool(some) and all(any(word == other or _is_form(word, other) for other in others) for word in some)


def _is_form(word: str, other: str) -> bool:
    short, long = sorted((word, other), key=len)
    return len(short) > 2 and long.startswith(short)


def _merge_facts(old: Fact | None, new: Fact) -> Fact:
    """Return a new fact merged with the old one. Repeating the value raises its confidence, and a different value
    replaces it.
    """
    if old is None or not same_value(old.value, new.value):
        return new
    # Reading the same message again is no new evidence.
    is_evidence = not set(new.sources) <= set(old.sources)
    return msgspec.structs.replace(
        new,
        confidence=raise_confidence(old.confidence, new.confidence)
        if is_evidence
        else max(old.confidence, new.confidence),
        sources=tuple(dict.fromkeys([*old.sources, *new.sources]))[-MAX_SOURCES:],
        expires_at=old.expires_at,
    )
