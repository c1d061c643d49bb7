"""Recognises corrections among the versions of a fact, and finds those that a derivation replaced."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from ...kinds import parse_refs
from ...ports import to_datetime
from ...records import AuditEvent, Fact
from ...values import fingerprint_json
from ..audit import event_id
from ..core import Core
from .facts import Facts

WEEK = timedelta(days=7)
MAX_EVENTS = 5_000
MAX_SEARCHED_EVENTS = 100
"""How many recent audit events to search for derivations that replaced a correction."""


class Replaced(msgspec.Struct, frozen=True):
    """Holds the current fact and the correction that a derivation replaced."""

    fact: Fact
    correction: Fact


def is_correction(version: Fact, before: Fact | None) -> bool:
    """Return whether a version corrected a value. It did so if it was derived from a correction in a message, or if a
    person overwrote another value with it.
    """
    if (version.reason or "").startswith("correction"):
        return True
    by_hand = version.actor == "user" and not version.sources and version.status == "active"
    return by_hand and before is not None and not same_value(version, before)


def replaced_correction(versions: Sequence[Fact]) -> Fact | None:
    """Return the correction that the newest (last) version replaced, or None if that version is itself a correction."""
    if len(versions) < 2 or versions[-1].actor != "processor" or is_correction(versions[-1], versions[-2]):
        return None
    before = versions[-3] if len(versions) > 2 else None
    earlier = versions[-2]
    return earlier if is_correction(earlier, before) and not same_value(earlier, versions[-1]) else None


def same_value(fact: Fact, other: Fact) -> bool:
    """Return whether two facts or versions have the same value."""
    return fingerprint_json(fact.value) == fingerprint_json(other.value)


async def replaced_corrections(core: Core) -> list[Replaced]:
    """Return the facts whose correction was replaced by a derivation in the last week, newest first."""
    start = to_datetime(core.now()) - WEEK
    first = event_id(int(start.timestamp() * 1e6))
    events = await core.scan(AuditEvent, after=(first,), reverse=True, limit=MAX_EVENTS)
    derived = dict.fromkeys(event.subject for event in events if event.kind == "fact" and event.action == "derive")
    replaceds: list[Replaced] = []
    for ref in [ref for id in derived for ref in parse_refs(id)]:
        if not ref.ns or not ref.key or not core.scope.may_read(ref.ns):
            continue
        # The audit trail has no content, so what the derivation replaced is read from the history.
        versions = await Facts(core).history(ref.ns, ref.key)
        correction = replaced_correction([version for version in versions if version.status == "active"])
        if correction is not None and type(versions[-1]) is Fact:
            replaceds.append(Replaced(versions[-1], correction))
        if len(replaceds) >= MAX_SEARCHED_EVENTS:
            break
    return replaceds
