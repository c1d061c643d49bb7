"""Does what facts, events and learnings have in common: the changes that write a memory or end it, its history, and the
checks of its fields.

A new kind of memory derives its noun from `MemoryNoun`, whose abstract methods name what each noun defines on its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from ..errors import Conflict, NotFound
from ..kinds import MemoryRecord, entry_key, kind_of, parse_refs
from ..ports import Ttl, as_datetime, to_micros
from ..records import Entry, Link, Record, Ref, Tombstone
from ..stores.base import Change, Delete, Expect, Load, Put
from ..values import check_confidence, check_metadata, check_name, check_tags, check_text
from .audit import audit
from .core import Core
from .forgetting.guard import raised
from .index_jobs import index_job
from .options import check_period, check_reason, check_scope, version_of

M = TypeVar("M", bound=MemoryRecord)
V = TypeVar("V", bound=Record)
MAX_TEXT_CHARACTERS = 10_000
DELETED = "deleted"
"""The status of a deleted memory in its history."""


def _check_sentence(text: object) -> str:
    return check_text(text, "text", limit=MAX_TEXT_CHARACTERS)


def _time_called(name: str) -> Callable[[Any], datetime]:
    return lambda when: as_datetime(when, name)


_CHECKS: Mapping[str, Callable[[Any], object]] = {
    "text": _check_sentence,
    "location": lambda location: check_text(location, "location", limit=MAX_TEXT_CHARACTERS),
    "subject": lambda subject: check_name(subject, "subject"),
    **{name: _time_called(name) for name in ("valid_from", "valid_until", "starts_at", "ends_at")},
    "scope": check_scope,
    "tags": check_tags,
    "metadata": check_metadata,
    "confidence": check_confidence,
}
"""The check of each field that callers write, which returns the field as it is stored."""


class MemoryNoun(ABC, Generic[M]):
    """Defines how memories of one kind are read, changed, ended and brought back, for code that treats all alike.

    These methods expect a namespace that the caller may use; the public ones of each noun check that first.
    """

    _record_type: type[M]
    _version_type: type[M]
    """The record of an earlier version, for kinds whose history has a table."""
    _checks: ClassVar[Mapping[str, Callable[[Any], object]]] = {}
    """The checks of the fields that only this kind has."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def _check_fields(self, **fields: object) -> dict[str, Any]:
        """Return the fields that a caller has passed, as they are stored. Those that are None were left out."""
        return {
            name: check(value) if (check := self._checks.get(name) or _CHECKS.get(name)) else value
            for name, value in fields.items()
            if value is not None
        }

    async def _stored(self, ns: str, id: str) -> M | None:
        """Return a memory by its key, or None if it does not exist or was deleted."""
        return await self._core.get(self._record_type, ns, id)

    async def _versions(self, ns: str, id: str) -> list[M]:
        """Return every version of a memory, oldest first."""
        # In this order, a change in between can only hide a version. In the other, it would be returned twice.
        past = await self._core.scan(self._version_type, ns, id)
        current = await self._core.get(self._record_type, ns, id)
        return past if current is None else [*past, current]

    def _stamp(self, ns: str, source: str | None, ttl: Ttl | None = None) -> dict[str, Any]:
        """Return the fields that new memories of all kinds have."""
        core, at = self._core, self._core.at()
        return {
            "org": core.org, "ns": ns, "sources": () if source is None else (check_name(source, "source"),),
            "actor": core.scope.actor, "trust": core.scope.trust, "created_at": at, "updated_at": at,
            "expires_at": None if ttl is None else core.expiry(ttl, to_micros(at)),
        }  # fmt: skip

    def _written(self, old: M | None, new: M, action: str, sources: Sequence[Ref] | None = None) -> list[Change]:
        """Return a memory and all that must be committed with it, if `old` is still the stored version."""
        expected = Expect(self._record_type, new.row_key, 0 if old is None else old.version)
        return [expected, *written_changes(self._core, new, action, sources)]

    async def _commit(self, old: M | None, new: M, action: str, *more: Change) -> M:
        """Write a memory in place of `old`, which is None if there is none yet."""
        return (await self._core.apply(*self._written(old, new, action), *more)).written(new)

    async def _rewrite(self, ns: str, id: str, action: str, rule: Callable[[M], M], expect: int | None = None) -> M:
        """Replace a memory by what a rule makes of it."""

        async def attempt() -> M:
            old = await self._stored(ns, id)
            if old is None:
                raise self._missing(ns, id, action)
            check_version(old, id, expect)
            new = rule(old)
            self._check(new)
            return await self._commit(old, new, action)

        return await self._core.retry(attempt)

    async def _update(
        self,
        ns: str,
        id: str,
        fields: Mapping[str, object],
        reason: str | None = None,
        *,
        action: str = "update",
        expect: int | None = None,
    ) -> M:
        """Change some fields of a memory."""
        core, kind = self._core, self._record_type.__name__.lower()
        check_name(id, "fact key" if kind == "fact" else f"{kind} id")
        check_reason(reason)

        def changed(old: M) -> M:
            fresh = {"reason": reason, "actor": core.scope.actor, "updated_at": core.at()}
            return self._next(old, msgspec.structs.replace(old, **fields, **fresh))

        return await self._rewrite(ns, id, action, changed, expect)

    def _check(self, record: M) -> None:
        """Raise InvalidValue if the fields of a changed memory do not fit together."""
        period: Any = record
        check_period(period.valid_from, period.valid_until)

    def _next(self, old: M, new: M) -> M:
        """Return a changed memory as its next version. Kinds whose history has no table keep `old` in it."""
        return new

    @abstractmethod
    def _missing(self, ns: str, id: str, action: str) -> NotFound:
        """Return the error for a memory that does not exist."""

    @staticmethod
    @abstractmethod
    def _shown_fields(record: M, now: datetime) -> dict[str, Any]:
        """Return the fields of a `Remembered` that this kind names or fills differently from its record."""

    @abstractmethod
    async def _change(self, ns: str, id: str, *, reason: str | None = None, **fields: Any) -> M:
        """Change fields of a memory, which have the names that they have in a `Remembered`."""

    @abstractmethod
    async def _delete(self, ns: str, id: str, *, history: bool = True) -> bool:
        """Delete a memory, and return whether it existed."""

    @abstractmethod
    async def _undo(self, versions: Sequence[M], *, approved: bool) -> M | None:
        """Undo the last change to a memory, and return the memory, or None if it no longer exists.

        `versions` is the history of the memory. `approved` says that a person approved the change in the review queue.
        """

    @abstractmethod
    async def _remove(self, record: M, reason: str) -> None:
        """Take a memory out of use, as an applied plan does."""

    @abstractmethod
    async def _put_back(self, record: M) -> None:
        """Restore a memory as it was before a plan was applied."""

    async def _end_named(self, ns: str, is_named: Callable[[str, Sequence[str]], bool], request: str) -> list[str]:
        """End the memories that a request to forget names, and return their ids.

        `is_named` decides by a memory's text and its sources, and `request` is the id of the message. The rules end
        facts and learnings themselves, because they need to see them earlier.
        """
        return []

    @abstractmethod
    async def _unforget(self, ns: str, id: str) -> M | None:
        """Bring back a memory that a request to forget has ended, or return None if this kind has none."""


def check_version(memory: MemoryRecord | None, id: str, expect: int | None) -> None:
    """Raise Conflict if a caller expects another version than the current one; 0 stands for no memory."""
    version = 0 if memory is None else memory.version
    if expect is not None and version != version_of(expect):
        kind = "fact" if memory is None else type(memory).__name__.lower()
        text = f"{kind} {id!r} has version {version}, expected {expect}; read it again"
        raise Conflict(text, expected=expect, actual=version, final=True)


def written_changes(
    core: Core, record: MemoryRecord, action: str, sources: Sequence[Ref] | None = None
) -> list[Change]:
    """Return a memory, its index job, its audit event and its lineage links, which must be committed together.

    `sources` are the references to its sources. By default, they are parsed from the memory's sources.
    """
    at = core.at()  # not the memory's own time, which is when it was said
    if sources is None:
        sources = [ref for source in record.sources for ref in parse_refs(source)]
    kind = kind_of(record)
    assert kind.ref is not None
    assert kind.findable is not None
    ref = kind.ref(record)
    return [
        Put(record),
        # A memory that recall must not find leaves the index at once, without waiting for a worker.
        Put(index_job(record.org, record.ns, f"{ref.kind}:{ref.key}", at))
        if kind.findable.live(record)
        else Delete(Entry, entry_key(record.org, ref)),
        audit(core, action, ref.kind, ref.id, record.source, at=at),
        *(Put(Link.of(record.org, source, ref, at)) for source in sources),
    ]


def ending_changes(core: Core, record: MemoryRecord, last: MemoryRecord) -> list[Change]:
    """Return the changes that move a memory into its history, with the version that says how it ended.

    The caller adds the audit event, and an Expect for the version it read.
    """
    kind = kind_of(record)
    assert kind.ref is not None
    ref = kind.ref(record)
    return [
        # A Delete does not copy the row into its history, so its last version is written here.
        Load(version_as(type(last), record)),
        Load(last),
        Delete(type(record), record.row_key),
        Delete(Entry, entry_key(record.org, ref)),
        # Its links stay: what is derived from it, even at this moment, may have to be forgotten with its sources.
        *(raised(core, ref) if record.sources else ()),
    ]


def tombstone(core: Core, kind: str, fingerprint: str) -> Tombstone:
    """Return the row that says that a memory was rejected, so that it is not derived again. `fingerprint` identifies
    the memory and one of its sources.
    """
    return Tombstone(
        org=core.org, kind=kind, fingerprint=fingerprint, actor=core.scope.actor, created_at=core.at()
    )  # fmt: skip


def version_as(record_type: type[V], record: Record, **fields: object) -> V:
    """Return a memory as a record of its history, or the other way round, with some fields replaced."""
    return record_type(**{**msgspec.structs.asdict(record), **fields})
