"""Corrections of facts: recognises them among versions, finds those that a derivation replaced, restores a version."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from ...errors import NotFound
from ...ports import to_datetime
from ...records import AuditEvent, Fact, Tombstone
from ...scope import Ns
from ...stores.base import Change, Delete, Expect
from ...values import check_name, fingerprint_json
from ..audit import event_id
from ..core import Core
from ..forgetting.fingerprints import value_fingerprint
from .facts import Facts, _as_stored

WEEK = timedelta(days=7)
MOST_EVENTS = 5_000
"""How many recent audit events are searched for derivations that replaced a correction."""


class Replaced(msgspec.Struct, frozen=True):
    """A correction that a derivation replaced: the fact as it is now, and the correction."""

    fact: Fact
    correction: Fact


def is_correction(version: Fact, before: Fact | None) -> bool:
    """Whether a version corrected a value: derived from words of correction, or written by hand over another value."""
    if (version.reason or "").startswith("correction"):
        return True
    by_hand = version.actor == "user" and not version.sources and version.status == "active"
    return by_hand and before is not None and not _same(version, before)


def replaced_correction(versions: Sequence[Fact]) -> Fact | None:
    """The correction that the newest version (the last) replaced without being one itself; None if there is none."""
    if len(versions) < 2 or versions[-1].actor != "processor" or is_correction(versions[-1], versions[-2]):
        return None
    before = versions[-3] if len(versions) > 2 else None
    held = versions[-2]
    return held if is_correction(held, before) and not _same(held, versions[-1]) else None


def _same(one: Fact, other: Fact) -> bool:
    return fingerprint_json(one.value) == fingerprint_json(other.value)


async def replaced_corrections(core: Core, *, since: datetime | None = None, limit: int = 100) -> list[Replaced]:
    """Facts whose correction a derivation replaced since a time (by default in the last week), newest first."""
    start = to_datetime(core.now()) - WEEK if since is None else since
    first = event_id(int(start.timestamp() * 1e6))
    events = await core.scan(AuditEvent, after=(first,), reverse=True, limit=MOST_EVENTS)
    derived = dict.fromkeys(event.subject for event in events if event.kind == "fact" and event.action == "derive")
    found: list[Replaced] = []
    for id in derived:
        ns, _, key = id.partition("/")
        if not core.scope.may_read(ns):
            continue
        versions = await Facts(core).history(ns, key)
        correction = replaced_correction([one for one in versions if one.status == "active"])
        if correction is not None and type(versions[-1]) is Fact:
            found.append(Replaced(versions[-1], correction))
        if len(found) >= limit:
            break
    return found


async def restore(core: Core, ns: Ns, key: str, version: int, *, expect: int | None = None) -> Fact:
    """Write an earlier version of a fact again, as a new version with its old confidence, sources and expiry.

    Deletes the tombstones that kept this value from being derived, because it is now said to be true.
    """
    facts, space = Facts(core), core.scope.writable(ns)
    check_name(key, "fact key")

    async def attempt() -> Fact:
        versions = await facts.history(space, key)
        old = next((one for one in versions if one.version == version), None)
        if old is None or (old.status != "active" and old.value is None):
            raise NotFound(f"fact {key!r} has no version {version} to go back to", namespace=space, key=key)
        now = await core.get(Fact, space, key)
        held = now.version if now is not None else 0
        at = core.at()
        fact = Fact(
            org=core.org, ns=space, key=key, value=old.value, confidence=old.confidence, sources=old.sources,
            actor=core.scope.actor, trust=old.trust, reason=f"restored from version {version}", created_at=at,
            updated_at=at, expires_at=old.expires_at,
        )  # fmt: skip
        changes: list[Change] = [Expect(Fact, fact.row_key, held if expect is None else expect)]
        changes += facts._changes(fact, "restore")
        for source in (None, *old.sources):
            changes.append(Delete(Tombstone, (core.org, "fact", value_fingerprint(fact, source))))
        results = await core.apply(*changes)
        return _as_stored(fact, results[1])

    done: Fact = await core.retry(attempt) if expect is None else await attempt()
    return done
