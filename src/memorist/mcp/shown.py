"""Defines the answers of tools, which are records reduced to the fields an assistant needs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from ..engine.memories import KINDS
from ..engine.memories import Remembered as Memory
from ..recall.hit import Hit
from ..records import Fact
from ..values import JsonObject


class Shown(msgspec.Struct, frozen=True, omit_defaults=True):
    """This is the base class of all answers. Fields with default values are omitted."""


class Item(Shown, frozen=True, kw_only=True):
    """Represents a memory, or a text found by recall."""

    id: str
    text: str
    date: str = ""
    """This is the day on which it was stored or last changed."""
    speaker: str = ""
    """For a message from somebody other than the user, this is the speaker."""
    replaced_by: str = ""
    """This describes the current state in words, if the memory is out of date."""


class Refusal(Shown, frozen=True, kw_only=True):
    """Represents something that was not stored, and the reason."""

    text: str
    why: str


class Remembered(Shown, frozen=True, kw_only=True):
    """Reports what was understood and stored, and what was not."""

    understood: list[Item]
    refused: list[Refusal] = []
    waiting: list[Item] = []
    """These memories must first be approved by a person."""
    ended: list[str] = []
    """These are the ids of memories that the text ended; `undo` with the last one restores them."""


class Recalled(Shown, frozen=True, kw_only=True):
    """Holds the results of a recall, best first."""

    items: list[Item]
    left_out: int = 0
    note: str = ""


class ShownProfile(Shown, frozen=True, kw_only=True):
    """Holds everything remembered about one user."""

    user: str
    items: list[Item]
    left_out: int = 0
    note: str = ""


class Updated(Shown, frozen=True, kw_only=True):
    """Represents a memory before and after a change."""

    id: str
    before: str
    after: str
    note: str = ""


class Version(Shown, frozen=True, kw_only=True):
    """Represents one version of a memory."""

    version: int
    text: str
    status: str
    date: str
    reason: str = ""


class History(Shown, frozen=True, kw_only=True):
    """Holds every version of a memory, oldest first."""

    id: str
    versions: list[Version]
    left_out: int = 0
    note: str = ""


class Candidate(Shown, frozen=True, kw_only=True):
    """Describes a memory awaiting approval."""

    id: str
    operation: str
    """This is `add`, `update` or `end`."""
    text: str
    reason: str
    """This is the reason it is waiting."""
    quote: str = ""


class Waiting(Shown, frozen=True, kw_only=True):
    """Lists the memories awaiting approval, and those just approved or rejected."""

    items: list[Candidate]
    decided: str = ""
    left_out: int = 0
    note: str = ""


class PlannedChange(Shown, frozen=True, kw_only=True):
    """Represents one line of a plan."""

    op: str
    ids: list[str]
    before: list[str]
    after: str = ""
    reason: str = ""


class Tidied(Shown, frozen=True, kw_only=True):
    """Holds a clean-up plan, or its result."""

    lines: list[PlannedChange] = []
    applied: bool = False
    plan: str = ""
    """Pass this id to undo an applied plan."""
    restored: int = 0
    confirm: str | None = None
    """Pass this code to apply the plan."""
    left_out: int = 0
    note: str = ""


class ShownFact(Shown, frozen=True, kw_only=True):
    """Represents a fact, as a resource shows it."""

    id: str
    namespace: str
    key: str
    value: Any
    confidence: float
    trust: str
    status: str = "active"
    source: str | None = None
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0
    reason: str | None = None


class Source(Shown, frozen=True, kw_only=True):
    """Represents one ancestor in a lineage. A direct source has depth 1."""

    kind: str
    id: str
    depth: int
    actor: str | None = None
    trust: str | None = None
    created_at: datetime | None = None
    present: bool = True
    text: str = ""


class Origins(Shown, frozen=True, kw_only=True):
    """Holds the lineage of an item: its sources, nearest first."""

    kind: str
    id: str
    text: str = ""
    actor: str | None = None
    created_at: datetime | None = None
    sources: list[Source] = []
    left_out: int = 0
    note: str = ""


class Section(Shown, frozen=True, kw_only=True):
    """Represents one section of a request: its tokens, and how many of its parts were kept, dropped, folded or
    elided."""

    name: str
    tokens: int
    kept: int = 0
    dropped: int = 0
    folded: int = 0
    elided: int = 0


class Request(Shown, frozen=True, kw_only=True):
    """Represents a request for a model, within its budget."""

    messages: list[JsonObject]
    tokens: int
    manifest: list[Section] = []
    left_out: int = 0
    note: str = ""


class Saved(Shown, frozen=True, kw_only=True):
    """Holds the saved state of a task: step, version and completed steps."""

    task_id: str
    found: bool
    step: int = 0
    version: int = 0
    completed: list[str] = []
    state: Any = None
    updated_at: datetime | None = None
    note: str = ""


class Forgotten(Shown, frozen=True, kw_only=True):
    """Reports what was erased, or what would be erased after a confirmation."""

    id: str
    erased: bool
    what: list[str]
    """These are the texts to be deleted."""
    rows: int
    confirm: str | None = None
    """Pass this code to erase what the preview shows."""
    complete: bool = True
    note: str = ""


def shown_fact(fact: Fact) -> ShownFact:
    """Return a fact in the format of the tools' answers."""
    return ShownFact(
        id=fact.id, namespace=fact.ns, key=fact.key, value=fact.value, confidence=fact.confidence, trust=fact.trust,
        status=fact.status, source=fact.source, updated_at=fact.updated_at, expires_at=fact.expires_at,
        version=fact.version, reason=fact.reason,
    )  # fmt: skip


def shown_memory(memory: Memory, own: str) -> Item:
    """Return a memory in the format of the tools' answers, for a caller whose own namespace this is."""
    key = memory.id.removeprefix("fact:")
    id = memory.id if memory.namespace == own else f"{memory.namespace}/{key}"
    return Item(id=id, text=memory.text, date=_day(memory.valid_from or memory.updated_at))


def shown_version(memory: Memory) -> Version:
    """Return a version of a memory in the format of the tools' answers."""
    return Version(
        version=memory.version, text=memory.text, status=memory.status, date=_day(memory.updated_at),
        reason=memory.reason or "",
    )  # fmt: skip


def shown_hit(hit: Hit, own: str) -> Item:
    """Return a hit in the format of the tools' answers, for a caller whose own namespace this is."""
    return Item(
        id=_hit_id(hit, own), text=hit.text, date=_day(hit.created_at),
        speaker=hit.speaker if hit.speaker not in ("user", None) else "", replaced_by=hit.superseded_by or "",
    )  # fmt: skip


def _hit_id(hit: Hit, own: str) -> str:
    if hit.kind == "fact":
        return f"fact:{hit.id.removeprefix(own + '/')}" if hit.namespace == own else hit.id
    return f"{hit.kind}:{hit.id}" if hit.kind in KINDS else hit.id


def _day(at: datetime) -> str:
    return at.date().isoformat()
