"""Learnings are sentences about a user. Repetition strengthens them, corrections weaken them, and duplicates are
merged.

Confidence changes by these rules:

- added again, or `reinforce`: a fifth of the way to 1 (`c + 0.2 · (1 - c)`), from the higher of the two confidences;
- `weaken`: down by three tenths (`0.7 · c`);
- a correction halves every learning it contradicts: the one it names (`corrects=`), and those about the same thing,
  which means that they share at least half of the content words of the shorter one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, ClassVar, Literal

import msgspec

from ..errors import InvalidValue, NotFound
from ..gate.passing import mask_text
from ..ids import digest
from ..kinds import has_lapsed, present_status
from ..ports import When
from ..records import Learning, Ref, Tombstone
from ..stores.base import Change, Delete, Expect, Put
from ..values import JsonMapping, JsonObject, as_list, check_metadata, check_name, check_text
from .audit import audit
from .forgetting.guard import guard, links_to, raised, value_fingerprint
from .gating import policy_of
from .options import MemoryScope, check_period, checked_limit
from .removal import part_deletions
from .versions import DELETED, MemoryNoun, tombstone

TYPES = ("preference", "pattern", "correction")
LearningType = Literal["preference", "pattern", "correction"]
MAX_CONTENT_CHARACTERS = 10_000
REINFORCED_DOUBT = 0.2
WEAKENED_CONFIDENCE = 0.7
CORRECTED_CONFIDENCE = 0.5
MIN_SAME_SIMILARITY = 0.5
PREVIOUS_KEY = "_before"
"""The metadata key that contains the earlier versions of a learning, oldest first, for its history and `as_of`."""
MAX_PREVIOUS_VERSIONS = 20


def _check_content(content: str) -> str:
    check_text(content, "content", limit=MAX_CONTENT_CHARACTERS)
    if not fold(content):
        raise InvalidValue("a learning needs content")
    return content


def _check_type(type: str) -> str:
    if type not in TYPES:
        raise InvalidValue(f"type must be one of {', '.join(TYPES)}")
    return type


def _own_metadata(metadata: JsonMapping) -> JsonObject:
    """Return a caller's metadata without the earlier versions, which only this module writes."""
    return _without_previous(check_metadata(metadata))


class Learnings(MemoryNoun[Learning]):
    """Reads and writes the learnings of the handle's user, or of a user that you name."""

    _record_type = Learning
    _checks: ClassVar = {"content": _check_content, "type": _check_type, "metadata": _own_metadata}

    async def add(
        self,
        content: str,
        *,
        type: LearningType = "preference",
        confidence: float = 0.5,
        source: str | None = None,
        corrects: str | None = None,
        subject: str | None = None,
        valid_from: When | None = None,
        valid_until: When | None = None,
        scope: MemoryScope = "standing",
        tags: Iterable[str] = (),
        metadata: JsonMapping | None = None,
        user: str | None = None,
    ) -> Learning:
        """Add a learning. If the same content about the same subject already exists (apart from case, width and
        spacing), it is reinforced instead.

        A deleted learning is not derived again from the same source, and one whose source was forgotten is not stored
        at all; both are returned with the status `rejected`.

        Args:
            content: The learning, in words.
            type: `preference`, `pattern` or `correction`.
            confidence: How certain it is, from 0 to 1.
            source: The id of the message it was taken from.
            corrects: The id of a learning that this one contradicts.
            subject: The person or thing it is about, if not the user.
            valid_from: When it became true.
            valid_until: When it stops being true; recall and contexts leave it out afterwards.
            scope: How long it matters: `standing`, or only for a `conversation` or a `task`.
            tags: Your own labels.
            metadata: Anything else, as JSON.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            The learning, new or reinforced.

        Examples:
            >>> ada = memory.scope(user="ada")
            >>> ada.learnings.add("Prefers tea", type="preference").content
            'Prefers tea'
        """
        fields = self._check_fields(
            valid_from=valid_from, valid_until=valid_until, scope=scope, tags=tags, metadata=metadata
        )
        new = self._new(content, type, confidence, source, self._ns(user), subject, **fields)
        check_period(new.valid_from, new.valid_until)
        return await self._write(new, corrects)

    async def _write(self, new: Learning, corrects: str | None = None) -> Learning:
        """Store a learning, or reinforce the one with the same content."""

        async def attempt() -> Learning:
            # Read first: if a source is forgotten after this line, the commit fails and the next attempt sees it.
            source_guard = await guard(self._core, new.sources)
            if source_guard.forgotten or (self._core.scope.actor != "user" and await self._is_refused(new)):
                return msgspec.structs.replace(new, status="rejected")
            fresh = new
            old = await self._core.get(Learning, fresh.ns, fresh.id)
            if old is not None and not await self._says(old, new.content):
                # The learning with this id was reworded since, so the content needs an id of its own.
                fresh = msgspec.structs.replace(new, id=learning_id(f"{new.id} {new.content}", new.subject))
                old = await self._core.get(Learning, fresh.ns, fresh.id)
            learning = fresh if old is None else _confirm(old, fresh)
            if old is not None and old.status == DELETED:
                learning = _with_previous(fresh, old)
            changes = self._written(old, learning, "add" if old is None else "reinforce", source_guard.sources)
            if new.type == "correction":
                changes += await self._contradiction_changes(learning, corrects)
            results = await self._core.apply(*changes, *source_guard.changes)
            return results.written(learning)

        return await self._core.retry(attempt)

    async def _says(self, learning: Learning, content: str) -> bool:
        """Return whether a stored learning has this content, apart from secrets that the gate has masked in it."""
        if fold(learning.content) == fold(content):
            return True
        return fold(learning.content) == fold(mask_text(await policy_of(self._core), content))

    async def get(self, id: str, *, user: str | None = None) -> Learning | None:
        """Return a learning by its id, or None if it does not exist.

        Args:
            id: The id of the learning.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            The learning, or None.

        Examples:
            >>> learning = memory.learnings.add("Prefers tea", user="ada")
            >>> memory.learnings.get(learning.id, user="ada").content
            'Prefers tea'
        """
        return await self._stored(self._ns(user), check_name(id, "learning id"))

    async def get_many(self, ids: Iterable[str], *, user: str | None = None) -> list[Learning | None]:
        """Return several learnings at once, in the order of the ids, and None for each one that does not exist.

        Args:
            ids: The ids of the learnings.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            One learning or None per id.

        Examples:
            >>> learning = memory.learnings.add("Prefers tea", user="ada")
            >>> [one and one.content for one in memory.learnings.get_many([learning.id, "nothing"], user="ada")]
            ['Prefers tea', None]
        """
        ns = self._ns(user)
        keys = [(ns, check_name(id, "learning id")) for id in as_list(ids, "ids")]
        return [_unless_deleted(row) for row in await self._core.get_many(Learning, keys)]

    async def update(
        self,
        id: str,
        *,
        content: str | None = None,
        type: LearningType | None = None,
        confidence: float | None = None,
        valid_from: When | None = None,
        valid_until: When | None = None,
        tags: Iterable[str] | None = None,
        metadata: JsonMapping | None = None,
        reason: str | None = None,
        user: str | None = None,
    ) -> Learning:
        """Change some fields of a learning and return it. Its id stays the same.

        Args:
            id: The id of the learning.
            content: The learning, in words.
            type: `preference`, `pattern` or `correction`.
            confidence: How certain it is, from 0 to 1.
            valid_from: When it became true.
            valid_until: When it stops being true.
            tags: Your own labels, which replace the current ones.
            metadata: JSON values, which replace the current metadata.
            reason: The reason, stored with the learning.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            The changed learning.

        Raises:
            NotFound: There is no such learning.

        Examples:
            >>> learning = memory.learnings.add("Prefers tea", user="ada")
            >>> memory.learnings.update(learning.id, content="Prefers green tea", user="ada").content
            'Prefers green tea'
        """
        changed = self._check_fields(
            content=content, type=type, confidence=confidence, valid_from=valid_from, valid_until=valid_until,
            tags=tags, metadata=metadata,
        )  # fmt: skip
        return await self._update(self._ns(user), id, changed, reason)

    async def reinforce(self, id: str, *, user: str | None = None) -> Learning:
        """Raise the confidence of a learning that proved right, and return the learning.

        Args:
            id: The id of the learning.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            The learning with its new confidence.

        Raises:
            NotFound: There is no such learning.

        Examples:
            >>> learning = memory.learnings.add("Prefers tea", confidence=0.5, user="ada")
            >>> memory.learnings.reinforce(learning.id, user="ada").confidence
            0.6
        """
        return await self._move(id, user, "reinforce", _raise_confidence)

    async def weaken(self, id: str, *, user: str | None = None) -> Learning:
        """Lower the confidence of a learning that proved wrong, and return the learning.

        Args:
            id: The id of the learning.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            The learning with its new confidence.

        Raises:
            NotFound: There is no such learning.

        Examples:
            >>> learning = memory.learnings.add("Prefers tea", confidence=0.5, user="ada")
            >>> memory.learnings.weaken(learning.id, user="ada").confidence
            0.35
        """
        return await self._move(id, user, "weaken", lambda c: WEAKENED_CONFIDENCE * c)

    async def used(self, ids: Iterable[str], *, user: str | None = None) -> int:
        """Count a use of each learning, as a context does, and return how many of them exist.

        Args:
            ids: The ids of the learnings.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            How many of the learnings exist.

        Examples:
            >>> learning = memory.learnings.add("Prefers tea", user="ada")
            >>> memory.learnings.used([learning.id], user="ada")
            1
        """
        ns = self._ns(user)
        names = [check_name(id, "learning id") for id in dict.fromkeys(ids)]

        async def attempt() -> int:
            stored = await self._core.get_many(Learning, [(ns, id) for id in names])
            rows = [row for row in map(_unless_deleted, stored) if row]
            at = self._core.at()
            changes: list[Change] = [Expect(Learning, row.row_key, row.version) for row in rows]
            changes += [
                Put(msgspec.structs.replace(row, usage_count=row.usage_count + 1, last_used=at)) for row in rows
            ]
            if changes:
                await self._core.apply(*changes)
            return len(rows)

        return await self._core.retry(attempt)

    async def delete(self, id: str, *, history: bool = True, user: str | None = None) -> bool:
        """Delete a learning so that it is not derived again from the same sources, and return whether it existed.

        Args:
            id: The id of the learning.
            history: Whether to keep it in the history, for `memories.history`, `memories.undo` and `as_of`.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            Whether the learning existed.

        Examples:
            >>> learning = memory.learnings.add("Prefers tea", user="ada")
            >>> memory.learnings.delete(learning.id, user="ada")
            True
        """
        return await self._delete(self._ns(user), check_name(id, "learning id"), history=history)

    # -- parts

    def _ns(self, user: str | None) -> str:
        """Return a user's namespace. A handle without a user stores learnings about everyone in `global`."""
        if user is None and self._core.scope.user is None:
            return "global"
        return f"user:{self._core.scope.subject(user)}"

    def _new(
        self,
        content: str,
        type: str,
        confidence: float,
        source: str | None,
        ns: str,
        subject: str | None = None,
        **fields: Any,
    ) -> Learning:
        fields |= self._check_fields(type=type, confidence=confidence, subject=subject)
        return Learning(
            id=learning_id(_check_content(content), subject), content=content, **self._stamp(ns, source), **fields
        )

    async def _is_refused(self, new: Learning) -> bool:
        marks = [self._tombstone(new, source).row_key[1:] for source in new.sources or ("",)]
        return any(await self._core.get_many(Tombstone, marks))

    def _tombstone(self, learning: Learning, source: str) -> Tombstone:
        return tombstone(self._core, "learning", value_fingerprint(learning, source))

    async def _write_again(self, learning: Learning) -> None:
        """Write a deleted learning again, unless one of its sources was forgotten in the meantime."""
        core = self._core
        source_guard = await guard(core, learning.sources)
        if source_guard.forgotten:
            return
        old = await core.get(Learning, learning.ns, learning.id)
        back = msgspec.structs.replace(
            learning, status="active", version=0 if old is None else old.version, updated_at=core.at()
        )
        if old is not None:
            back = _with_previous(back, old)
        await core.apply(
            *self._written(old, back, "undo", source_guard.sources),
            *source_guard.changes,
            *(Delete(Tombstone, self._tombstone(back, source).row_key) for source in ("", *learning.sources)),
        )

    async def _replace(self, old: Learning, new: Learning, action: str) -> Learning:
        """Replace a learning by a new version, which keeps the earlier ones."""
        self._check(new)
        return await self._commit(old, self._next(old, new), action)

    async def _contradiction_changes(self, correction: Learning, named: str | None) -> list[Change]:
        terms = content_terms(correction.content)
        changes: list[Change] = []
        for row in await self._core.scan(Learning, correction.ns):
            related = row.subject == correction.subject and _same_thing(terms, content_terms(row.content))
            if row.status == DELETED or row.id == correction.id or not (row.id == named or related):
                continue
            lowered = msgspec.structs.replace(
                row, confidence=CORRECTED_CONFIDENCE * row.confidence, updated_at=correction.updated_at
            )
            changes += self._written(row, lowered, "correct")
        return changes

    async def _move(self, id: str, user: str | None, action: str, rule: Callable[[float], float]) -> Learning:
        """Change the confidence of a learning by a rule. A change of the confidence alone is no new version."""
        return await self._rewrite(
            self._ns(user), check_name(id, "learning id"), action,
            lambda old: msgspec.structs.replace(old, confidence=rule(old.confidence), updated_at=self._core.at()),
        )  # fmt: skip

    # -- as one of several kinds of memories

    def _missing(self, ns: str, id: str, action: str) -> NotFound:
        return NotFound("no such learning of this user", learning=id)

    def _next(self, old: Learning, new: Learning) -> Learning:
        return _with_previous(new, old)

    async def _stored(self, ns: str, id: str) -> Learning | None:
        return _unless_deleted(await self._core.get(Learning, ns, id))

    async def _versions(self, ns: str, id: str) -> list[Learning]:
        learning = await self._core.get(Learning, ns, id)
        return [] if learning is None else _versions_of(learning)

    @staticmethod
    def _shown_fields(record: Learning, now: datetime) -> dict[str, Any]:
        return {
            "text": record.content, "type": record.type, "valid_from": record.valid_from,
            "valid_until": record.valid_until, "status": present_status(record, now),
            "metadata": _without_previous(record.metadata),
        }  # fmt: skip

    async def _change(self, ns: str, id: str, *, reason: str | None = None, **fields: object) -> Learning:
        changed = self._check_fields(content=fields.pop("text", None), **fields)
        return await self._update(ns, id, changed, reason)

    async def _delete(self, ns: str, id: str, *, history: bool = True) -> bool:
        core, ref = self._core, Ref("learning", ns, id)
        stored = await core.get(Learning, ns, id)
        # Without a history, one that was deleted before is deleted for good.
        old = _unless_deleted(stored) if history else stored
        if old is None:
            return False
        links = await links_to(core, ref)
        sources = dict.fromkeys(("", *old.sources, *(link.source.id for link in links)))
        deleted = msgspec.structs.replace(
            old, status=DELETED, reason=None, actor=core.scope.actor, updated_at=core.at()
        )
        # Its links stay: what was derived from it is forgotten with its sources, whether or not it still exists.
        await core.apply(
            Expect(Learning, old.row_key, old.version),
            Put(_with_previous(deleted, old)) if history else Delete(Learning, old.row_key),
            *part_deletions(core.org, ns, ref),
            *(raised(core, ref) if old.sources else ()),
            *(Put(self._tombstone(deleted, source)) for source in sources),
            audit(core, "delete", "learning", ref.id),
        )
        return True

    async def _undo(self, versions: Sequence[Learning], *, approved: bool) -> Learning | None:
        learning = versions[-1]
        if learning.status == DELETED:
            await self._write_again(versions[-2])
            return await self._stored(learning.ns, learning.id)
        if learning.status == "retracted":
            return await self._reactivate(learning, "undo")
        earlier = previous_of(learning)
        if not earlier:
            await self._delete(learning.ns, learning.id)
            return None
        restored = msgspec.structs.replace(
            earlier[-1].put_into(learning), reason="undone", actor=self._core.scope.actor, updated_at=self._core.at()
        )
        return await self._replace(learning, restored, "undo")

    async def _remove(self, record: Learning, reason: str) -> None:
        # The plan holds the learning, and is forgotten with its sources.
        await self._delete(record.ns, record.id, history=False)

    async def _put_back(self, record: Learning) -> None:
        if await self._stored(record.ns, record.id) is None:
            await self._write_again(record)
        else:
            fields = {"content": record.content, "confidence": record.confidence}
            await self._update(record.ns, record.id, fields, None)

    async def _unforget(self, ns: str, id: str) -> Learning | None:
        learning = await self._core.get(Learning, ns, id)
        if learning is None or learning.status != "retracted":
            return None
        return await self._reactivate(learning, "restore")

    async def _reactivate(self, learning: Learning, action: str) -> Learning:
        """Make a retracted learning active again."""
        active = msgspec.structs.replace(learning, status="active", updated_at=self._core.at())
        return await self._commit(learning, active, action)

    # Last: the name hides the builtin for annotations below it.
    async def list(
        self,
        *,
        min_confidence: float = 0.0,
        type: LearningType | None = None,
        limit: int | None = None,
        after: str | None = None,
        reverse: bool = False,
        user: str | None = None,
    ) -> list[Learning]:
        """List learnings that have not ended by use (most used first), then by confidence, then by age.

        Args:
            min_confidence: Leave out learnings with a lower confidence.
            type: Return only learnings of type `preference`, `pattern` or `correction`.
            limit: The maximum number to return.
            after: The id of the last learning of the previous page. If it was deleted in the meantime, there is no next
                page.
            reverse: Whether to list in reverse order.
            user: The user it is about. Defaults to the user of this handle.

        Returns:
            The learnings.

        Examples:
            >>> learning = memory.learnings.add("Prefers tea", user="ada")
            >>> [one.content for one in memory.learnings.list(user="ada", min_confidence=0.3)]
            ['Prefers tea']
        """
        if type is not None and type not in TYPES:
            raise InvalidValue(f"type must be one of {', '.join(TYPES)}")
        rows = await self._core.listed(Learning, self._ns(user))
        rows = [row for row in rows if row.status == "active" and not has_lapsed(row, self._core.at())]
        matching = [row for row in rows if row.confidence >= min_confidence and type in (None, row.type)]
        matching.sort(key=lambda row: (-row.usage_count, -row.confidence, -row.updated_at.timestamp(), row.id))
        if reverse:
            matching.reverse()
        if after is not None:
            matching = matching[next((i for i, row in enumerate(matching, 1) if row.id == after), len(matching)) :]
        return matching[: checked_limit(limit)]


class PreviousLearning(msgspec.Struct, frozen=True):
    """Holds a learning before one of its changes, and the time until which this version applied."""

    content: str
    confidence: float
    reason: str | None
    updated_at: datetime
    until: datetime
    version: int
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    type: str | None = None
    """This and the fields below are None in versions that were stored before these fields were kept."""
    tags: tuple[str, ...] | None = None
    metadata: JsonObject | None = None

    def put_into(self, learning: Learning) -> Learning:
        """Return a learning with the fields that it had in this version."""
        fields = {name: value for name in ("type", "tags") if (value := getattr(self, name)) is not None}
        if self.metadata is not None:
            versions = {name: value for name, value in learning.metadata.items() if name == PREVIOUS_KEY}
            fields["metadata"] = {**self.metadata, **versions}
        return msgspec.structs.replace(
            learning, content=self.content, confidence=self.confidence, valid_from=self.valid_from,
            valid_until=self.valid_until, **fields,
        )  # fmt: skip


def previous_of(learning: Learning) -> list[PreviousLearning]:
    """Return the earlier versions of a learning, oldest first."""
    return msgspec.convert(learning.metadata.get(PREVIOUS_KEY, []), list[PreviousLearning])


def learning_at(learning: Learning, moment: datetime) -> Learning:
    """Return a learning as it was at a given time."""
    for before in previous_of(learning):
        if before.until > moment:
            return before.put_into(learning)
    return learning


def _versions_of(learning: Learning) -> list[Learning]:
    """Return a learning as it was before each of its changes, and as it is now."""
    earlier = [
        msgspec.structs.replace(
            before.put_into(learning), reason=before.reason, updated_at=before.updated_at, version=before.version
        )
        for before in previous_of(learning)
    ]  # fmt: skip
    return [*earlier, learning]


def _without_previous(metadata: JsonMapping) -> JsonObject:
    return {name: value for name, value in metadata.items() if name != PREVIOUS_KEY}


def _with_previous(learning: Learning, old: Learning) -> Learning:
    """Return a changed learning with its earlier versions, which a caller's own metadata does not replace."""
    earlier = list(old.metadata.get(PREVIOUS_KEY, []))
    before = PreviousLearning(
        old.content, old.confidence, old.reason, old.updated_at, learning.updated_at, old.version, old.valid_from,
        old.valid_until, old.type, old.tags, _without_previous(old.metadata),
    )  # fmt: skip
    if before.put_into(learning) != learning or DELETED in (old.status, learning.status):
        earlier.append(msgspec.to_builtins(before))
    if not earlier:
        return learning
    return msgspec.structs.replace(
        learning, metadata={**learning.metadata, PREVIOUS_KEY: earlier[-MAX_PREVIOUS_VERSIONS:]}
    )


def _unless_deleted(learning: Learning | None) -> Learning | None:
    return None if learning is None or learning.status == DELETED else learning


def fold(content: str) -> str:
    """Normalise the case, width, composition and spacing of content in any script (NFKC, casefold)."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", content).casefold()).split())


def learning_id(content: str, subject: str | None = None) -> str:
    """Return the id of a learning with this content about a subject, or about the owner of the namespace."""
    about = "" if subject is None else f"\n{fold(subject)}"
    return digest(f"{fold(content)}{about}".encode(), 12)


def content_terms(content: str) -> frozenset[str]:
    """Return the stemmed content words of a learning, except overly common ones."""
    from ..recall.analyze import tokens

    return frozenset(term for term in tokens(content) if term not in _generic_words())


@cache
def _generic_words() -> frozenset[str]:
    """Return words that are too common to show that two learnings are about the same subject."""
    from ..languages import rules

    return rules("en", "learnings", "talk").words("generic")


def _same_thing(terms: frozenset[str], other: frozenset[str]) -> bool:
    shorter = min(len(terms), len(other))
    return shorter > 0 and len(terms & other) >= MIN_SAME_SIMILARITY * shorter


def _raise_confidence(confidence: float) -> float:
    return confidence + REINFORCED_DOUBT * (1 - confidence)


def _confirm(old: Learning, new: Learning) -> Learning:
    confidence = max(old.confidence, new.confidence)
    # A learning whose time is over holds again without an end, unless the new statement says until when.
    is_over = has_lapsed(old, new.updated_at)
    return msgspec.structs.replace(
        old,
        valid_from=new.valid_from or old.valid_from,
        valid_until=new.valid_until if is_over else new.valid_until or old.valid_until,
        scope=new.scope if new.scope == "standing" else old.scope,
        confidence=_raise_confidence(confidence),
        sources=tuple(dict.fromkeys((*old.sources, *new.sources))),
        status="active",
        updated_at=max(old.updated_at, new.updated_at),
    )
