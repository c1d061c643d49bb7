"""Carries out accepted notes. Each note adds, changes or ends a fact, an event or a learning.

The writer, the review queue and the tidy-up all use this module. The time at which something was said, not the time at
which it arrived, determines which version is the newest. An older statement therefore becomes an earlier version.
Carrying out the same note twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec

from ...errors import InvalidValue
from ...extract.keys import slug, table_key
from ...extract.writer.answer import Refused
from ...extract.writer.checks import EXCLUSIVE_KEYS, SENSITIVE_KEYS, Note
from ...extract.writer.request import Known
from ...gate.admission import Admission
from ...gate.passing import Tally
from ...ids import digest
from ...kinds import parse_refs
from ...messages.message import split_message_id
from ...records import Candidate, Event, Fact, FactVersion, Learning, Link, Ref, Tombstone
from ...scope import Scope
from ...stores.base import Change, Expect, Put
from ...values import JsonObject, fingerprint_json
from ..audit import audit
from ..core import Core
from ..events import Events, event_key
from ..facts.facts import RESTORED, Facts, key_about
from ..facts.timeline import splice_versions
from ..forgetting.guard import value_fingerprint
from ..gating import counter_changes
from ..learnings import Learnings, learning_id
from ..memories import Remembered, remembered
from ..trust import lowest_trust
from ..versions import tombstone
from .retracting import ended_learning

if TYPE_CHECKING:
    from ...extract.extracted import LearningType
    from ...extract.extraction import Extraction, Verdict

M = TypeVar("M", Fact, Event, Learning)
MAX_SOURCES = 8
"""How many of its most recent sources a memory keeps."""
REJECTED_BEFORE = "was rejected before, from the same message"
CONFIRMED_SHARE = 0.3
"""How much of the remaining doubt is removed when the same statement is made again."""


async def verdict_on(core: Core, extraction: Extraction, note: Note, trust: str) -> Verdict:
    """Return the application's verdict on a note."""
    if callable(extraction.admit):
        # In another thread, because it may ask a service, and the event loop must not wait for that.
        return await core.runtime.offload(extraction.verdict, note, trust)
    return extraction.verdict(note, trust)


class Source(msgspec.Struct, frozen=True):
    """Holds the source of a note: the message, when it was written, and how far it is trusted."""

    message: str
    stated_at: datetime
    trust: str = "user"
    is_approved: bool = False
    """This is True if a person approved the note: a later deletion or restoration is then no newer statement."""


class Outcome(msgspec.Struct, kw_only=True):
    """Holds the results of carrying out notes."""

    stored: list[Remembered] = []
    ended: list[Remembered] = []
    confirmed: list[str] = []
    """These are the ids of restated memories."""
    waiting: list[Candidate] = []
    refused: list[Refused] = []
    is_cut: bool = False
    """This is True if the model's answer was cut off, so that it may lack memories."""


class Noting:
    """Writes notes into a namespace, in one batch whose changes the caller commits."""

    def __init__(self, core: Core, ns: str) -> None:
        user = ns.removeprefix("user:") if ns.startswith("user:") else None
        # A batch shows its own writes, so a note sees what the notes before it did, and expects the versions that they
        # wrote. The store applies the changes in the same order.
        self.core = Core(core.shared, Scope(core.org, user, "processor")).batched()
        self._ns, self._user = ns, user
        self.outcome = Outcome()

    @property
    def ns(self) -> str:
        """This is the namespace to write to."""
        return self._ns

    async def count(self, admission: Admission) -> None:
        """Count the notes that the gate held back or refused."""
        if admission.classes:
            outcome = "held" if admission.verdict == "review" else "refused"
            await self.core.apply(*counter_changes(self.core, Tally((outcome, name) for name in admission.classes)))

    @property
    def changes(self) -> list[Change]:
        """These are the changes from the notes so far."""
        return list(self.core.collected)

    async def note(self, note: Note, source: Source) -> None:
        """Carry out one note. A note that cannot be stored is refused, and affects no other note."""
        try:
            if note.kind == "event":
                await self._note_event(note, source)
            elif note.kind == "learning":
                await self._note_learning(note, source)
            else:
                await self._note_fact(note, source)
        except InvalidValue:
            self._refuse(note, "has a name or a value that cannot be stored")

    async def propose(self, note: Note, source: Source, reason: str) -> None:
        """Put a note into the review queue instead of carrying it out."""
        at = self.core.at()
        proposal: JsonObject = msgspec.to_builtins(note)
        # Two facts of one sentence share its text, so their keys tell them apart.
        named = f"{note.op}\0{note.key or ''}\0{note.text}\0{source.message}"
        candidate = Candidate(
            org=self.core.org, ns=self._ns, id=digest(named.encode(), 8),
            kind=note.kind, operation="end" if note.op == "end" else "update" if note.target else "add",
            target=note.target.id if note.target else None, text=note.text, proposal=proposal, quote=note.quote,
            reason=reason, confidence=note.confidence, sources=(source.message,), trust=source.trust,
            created_at=source.stated_at, updated_at=at,
        )  # fmt: skip
        # A rejection holds for this source only: the user may still say the same again in another message.
        rejected = rejections(self.core, candidate)
        if any(await self.core.get_many(Tombstone, [mark.row_key[1:] for mark in rejected])):
            self._refuse(note, REJECTED_BEFORE)
        elif await self.core.get(Candidate, self._ns, candidate.id) is None:
            target = Ref("candidate", self._ns, candidate.id)
            await self.core.apply(
                Put(candidate), audit(self.core, "propose", "candidate", f"{self._ns}/{candidate.id}", source.message),
                *(Put(Link.of(self.core.org, ref, target, at)) for ref in parse_refs(source.message)),
            )  # fmt: skip
            self.outcome.waiting.append(candidate)

    # -- facts

    async def _note_fact(self, note: Note, source: Source) -> None:
        facts, core = Facts(self.core), self.core
        name, key = table_key(note.key or "", note.value), _fact_key(note)
        current = await core.get(Fact, self._ns, key)
        if note.op == "end":
            await self._end_fact(note, source, current)
            return
        if note.op == "confirm":
            await self._confirm_fact(note, source, current)
            return
        if note.op == "add" and _needs_own_key(name, note, current, source):
            # Two things that can both be true: each has a key of its own, and neither replaces the other.
            key = key_about(f"{name}.{slug(str(note.value)) or digest(str(note.value).encode(), 4)}", note.subject)
            current = await core.get(Fact, self._ns, key)
        if current is not None and same_value(current.value, note.value) and not _says_more(current, note, source):
            await self._confirm_fact(note, source, current)
            return
        fact = msgspec.structs.replace(
            facts._new(self._ns, key, note.value, None, note.confidence, source.message),
            text=note.text, subject=note.subject, valid_from=note.start, valid_until=note.end, scope=note.scope,
            inferred=note.inferred, trust=source.trust, reason=note.reason, created_at=source.stated_at,
            updated_at=source.stated_at, metadata={"quote": note.quote},
        )  # fmt: skip
        if current is not None and (note.op == "update" or same_value(current.value, note.value)):
            fact = _update_fact(fact, current, note, source)
        if await facts._find_refused(fact) is not None:
            self._refuse(note, REJECTED_BEFORE)
            return
        if await self._is_old_news(key, current, source):
            # It goes into the history at its own time. Without its first two changes, because the fact itself and its
            # index entry stay as they are.
            history = await splice_versions(core, current, [fact], self._ns, key, before=True)
            if history:
                await core.apply(*history, *facts._changes(fact, "derive")[2:])
            return
        results = await core.apply(*facts._written(current, fact, "derive"))
        stored = msgspec.structs.replace(fact, version=results.stored(fact).version)
        self.outcome.stored.append(remembered(stored, core.at()))

    async def _is_old_news(self, key: str, current: Fact | None, source: Source) -> bool:
        """Return whether something newer was stated under this key, which makes the note an earlier version."""
        if current is not None:
            return said_later(current, source) and not (source.is_approved and _was_put_back(current))
        # The fact has ended. Its last version then says since when, so that an older message does not revive it.
        last = await self.core.scan(FactVersion, self._ns, key, reverse=True, limit=1)
        if not last or last[0].status == "active" or (source.is_approved and last[0].status == "deleted"):
            return False
        return said_later(last[0], source)

    async def _end_fact(self, note: Note, source: Source, current: Fact | None) -> None:
        if current is None or await self._is_old_news(current.key, current, source):
            self._refuse(note, "something newer was said")
            return
        facts = Facts(self.core)
        ended, changes = facts._ending(
            current, "ended", note.reason, source.message, source.stated_at, until=note.end or source.stated_at,
            quote=note.quote,
        )  # fmt: skip
        await self.core.apply(Expect(Fact, current.row_key, current.version), *changes)
        self.outcome.ended.append(remembered(ended, self.core.at(), status="ended"))

    async def _confirm_fact(self, note: Note, source: Source, current: Fact | None) -> None:
        if current is None:
            self._refuse(note, "names a memory that is gone")
            return
        self.outcome.confirmed.append(f"fact:{current.key}")
        if source.message in current.sources:
            return  # reading a message again is no new evidence
        fact = msgspec.structs.replace(
            current,
            sources=(*current.sources, source.message)[-MAX_SOURCES:],
            confidence=raise_confidence(current.confidence, note.confidence),
            text=current.text or note.text,
        )
        await Facts(self.core)._commit(current, fact, "confirm")

    # -- events

    async def _note_event(self, note: Note, source: Source) -> None:
        events, core = Events(self.core), self.core
        id = note.target.id.removeprefix("event:") if note.target is not None else None
        old = None if id is None else await core.get(Event, self._ns, id)
        if id is not None and old is None:
            self._refuse(note, "names a memory that is gone")
        elif old is not None and note.op == "confirm":
            self.outcome.confirmed.append(f"event:{old.id}")
        elif old is not None and note.op == "end":
            cancelled = msgspec.structs.replace(
                old, status="cancelled", reason=note.reason, metadata={**old.metadata, "quote": note.quote},
                updated_at=source.stated_at,
            )  # fmt: skip
            stored = await events._commit(old, _with_source(cancelled, source), "cancel")
            self.outcome.ended.append(remembered(stored, core.at()))
        elif old is not None:
            starts, ends = _period(note, old.starts_at, old.ends_at)
            changed = msgspec.structs.replace(
                old, text=note.text, starts_at=starts or old.starts_at, ends_at=ends,
                status=note.status or old.status, people=note.people or old.people,
                location=note.location or old.location, reason=note.reason, confidence=note.confidence,
                metadata={**old.metadata, "quote": note.quote}, updated_at=source.stated_at,
            )  # fmt: skip
            stored = await events._commit(old, _with_source(changed, source), "update")
            self.outcome.stored.append(remembered(stored, core.at()))
        else:
            # An event of which only the end is known began when it was mentioned, or before.
            starts = note.start or min(source.stated_at, note.end or source.stated_at)
            event = Event(
                org=core.org, ns=self._ns, id=event_key(note.text, starts, note.subject), text=note.text,
                starts_at=starts, ends_at=note.end, scope=note.scope, subject=note.subject, people=note.people,
                status=note.status or ("planned" if starts > source.stated_at else "done"),
                location=note.location, inferred=note.inferred,
                confidence=note.confidence, sources=(source.message,), actor="processor", trust=source.trust,
                metadata={"quote": note.quote}, created_at=source.stated_at, updated_at=source.stated_at,
            )  # fmt: skip
            before = await core.get(Event, self._ns, event.id)
            stored = await events._write(event)
            (self.outcome.confirmed.append(f"event:{stored.id}") if before is not None
             else self.outcome.stored.append(remembered(stored, core.at())))  # fmt: skip

    # -- learnings

    async def _note_learning(self, note: Note, source: Source) -> None:
        if self._user is None and self._ns != "global":
            self._refuse(note, "preferences are kept for users")
            return
        learnings, core = Learnings(self.core), self.core
        # The id is a hash of the words, so the same wish from another message confirms the learning.
        own_id = learning_id(note.text, note.subject)
        id = note.target.id.removeprefix("learning:") if note.target is not None else own_id
        old = await learnings._stored(self._ns, id)
        if note.op != "add" and old is None:
            self._refuse(note, "names a memory that is gone")
        elif old is not None and note.op == "end":
            await core.apply(
                Expect(Learning, old.row_key, old.version), *ended_learning(core, old, source.message, note),
                audit(core, "end", "learning", f"{self._ns}/{id}", source.message),
            )  # fmt: skip
            ended = msgspec.structs.replace(old, sources=(*old.sources, source.message), reason=note.reason)
            self.outcome.ended.append(remembered(ended, core.at(), status="ended"))
        elif old is not None and (note.op == "confirm" or (note.op == "add" and source.message in old.sources)):
            self.outcome.confirmed.append(f"learning:{id}")
            if source.message not in old.sources:
                await learnings.add(
                    old.content, type=_type(old.type), source=source.message, subject=old.subject, user=self._user
                )
        elif old is not None and note.op == "update":
            starts, ends = _period(note, old.valid_from, old.valid_until)
            changed = msgspec.structs.replace(
                old, content=note.text, confidence=note.confidence, valid_from=starts, valid_until=ends,
                metadata={**old.metadata, "quote": note.quote},
                reason=note.reason, actor="processor", updated_at=source.stated_at,
            )  # fmt: skip
            stored = await learnings._replace(old, _with_source(changed, source), "update")
            self.outcome.stored.append(remembered(stored, core.at()))
        else:
            new = learnings._new(
                note.text, _type(note.type), note.confidence, source.message, learnings._ns(self._user), note.subject
            )
            stored = await learnings._write(
                msgspec.structs.replace(
                    new, metadata={"quote": note.quote}, trust=source.trust, valid_from=note.start,
                    valid_until=note.end, scope=note.scope, inferred=note.inferred, created_at=source.stated_at,
                    updated_at=source.stated_at,
                )
            )  # fmt: skip
            if stored.status == "rejected":
                self._refuse(note, REJECTED_BEFORE)
            else:
                self.outcome.stored.append(remembered(stored, core.at()))

    def _refuse(self, note: Note, reason: str) -> None:
        self.outcome.refused.append(Refused(reason=reason, text=note.text, message=note.turn + 1))


def rejections(core: Core, candidate: Candidate) -> list[Tombstone]:
    """Return the tombstones that say that a candidate was rejected: one for its proposal, and for a fact one for its
    value from each source, so that other words for the same value do not bring it back."""
    marks = [tombstone(core, "candidate", digest(f"{candidate.ns}\0{candidate.id}".encode()))]
    if candidate.kind == "fact" and candidate.operation != "end":
        note, at = msgspec.convert(candidate.proposal, Note), core.at()
        fact = Fact(
            org=candidate.org, ns=candidate.ns, key=_fact_key(note), value=note.value, created_at=at, updated_at=at
        )
        marks += [tombstone(core, "fact", value_fingerprint(fact, source)) for source in candidate.sources]
    return marks


def _fact_key(note: Note) -> str:
    """Return the key under which a note about a fact is stored, unless it needs a key of its own."""
    if note.target is not None:
        return note.target.id.removeprefix("fact:")
    return key_about(table_key(note.key or "", note.value), note.subject)


def _period(note: Note, start: datetime | None, end: datetime | None) -> tuple[datetime | None, datetime | None]:
    """Return the time of a memory after an update. A new beginning ends the old interval, unless a detail is added."""
    if note.start is not None and note.reason != "more":
        return note.start, note.end
    start, end = note.start or start, note.end or end
    return start, None if start is not None and end is not None and end < start else end


def _update_fact(fact: Fact, current: Fact, note: Note, source: Source) -> Fact:
    """Return the new version of a fact, with what the note leaves as it was."""
    fact = msgspec.structs.replace(fact, tags=current.tags, metadata={**current.metadata, **fact.metadata})
    if note.reason != "changed":
        start, end = _period(note, current.valid_from, current.valid_until)
        fact = msgspec.structs.replace(fact, valid_from=start, valid_until=end)
    is_same = same_value(current.value, note.value)
    if is_same or note.reason == "more":
        # Part of what it says comes from the earlier messages.
        fact = _with_source(msgspec.structs.replace(fact, sources=current.sources, trust=current.trust), source)
    return msgspec.structs.replace(fact, confidence=max(current.confidence, fact.confidence)) if is_same else fact


def _needs_own_key(key: str, note: Note, current: Fact | None, source: Source) -> bool:
    """Return whether a new fact must not replace the fact under its key, because a person can have several such facts
    or because it is about the past, such as a former employer.
    """
    differs = current is not None and not same_value(current.value, note.value)
    if note.end is not None and note.end <= source.stated_at:
        return differs or (current is None and key in EXCLUSIVE_KEYS)
    return differs and not _exclusive(key)


def _exclusive(key: str) -> bool:
    """Return whether a person can have only one such fact at a time, or whether the key is a single field of an
    application's schema."""
    return key in EXCLUSIVE_KEYS or "." in key


def as_known(item: Remembered) -> Known:
    """Return a memory as a model is shown it."""
    root = (item.key or "").split(".")[0].split("@")[0]
    return Known(
        id=item.id, kind=item.kind, text=item.text, subject=item.subject, key=item.key, value=item.value,
        since=item.valid_from, stated_at=item.updated_at, status=item.type if item.kind == "event" else None,
        sensitive=root in SENSITIVE_KEYS,
    )  # fmt: skip


def said_later(fact: Fact, source: Source) -> bool:
    """Return whether a fact was stated later than a statement. Within a thread, this compares message numbers;
    otherwise it compares times.
    """
    statement, other = split_message_id(source.message), split_message_id(fact.source or "")
    # Numbers are exact where clocks are not: messages of one batch of an import may all have the same time. They say
    # nothing about a value that a person set by hand, although it may name the message as its source.
    if fact.actor == "processor" and statement is not None and other is not None and statement[0] == other[0]:
        return other[1] > statement[1]
    return fact.updated_at > source.stated_at


def _was_put_back(fact: Fact) -> bool:
    """Return whether the current version of a fact is an earlier one that was restored."""
    return (fact.reason or "").startswith(RESTORED)


def _says_more(current: Fact, note: Note, source: Source) -> bool:
    """Return whether a note with an existing value is more than a repetition because it has a new wording or because
    the rules extracted the old value.
    """
    if note.op == "update":
        return note.text != current.text
    return current.text is None and current.actor == "processor" and source.message in current.sources


def same_value(value: object, other: object) -> bool:
    """Return whether two values are equal, ignoring case and white space in texts."""
    if isinstance(value, str) and isinstance(other, str):
        return " ".join(value.casefold().split()) == " ".join(other.casefold().split())
    return fingerprint_json(value) == fingerprint_json(other)


def raise_confidence(old: float, new: float) -> float:
    """Return how certain a statement is once it has been made again."""
    surest = max(old, new)
    return round(surest + CONFIRMED_SHARE * (1 - surest), 4)


def _with_source(record: M, source: Source) -> M:
    """Return a changed memory with the source of the change, which may lower its trust."""
    sources = tuple(dict.fromkeys((*record.sources, source.message)))[-MAX_SOURCES:]
    return msgspec.structs.replace(record, sources=sources, trust=lowest_trust((record.trust, source.trust)))


def _type(type: str) -> LearningType:
    return cast("LearningType", type) if type in ("preference", "pattern", "correction") else "preference"


async def carry_out(core: Core, ns: str, notes: Sequence[tuple[Note, Source]]) -> tuple[list[Change], Outcome]:
    """Work out the changes that store these notes, and return them with a record of what became of each note."""
    noting = Noting(core, ns)
    for note, source in notes:
        await noting.note(note, source)
    return noting.changes, noting.outcome
