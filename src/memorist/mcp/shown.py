"""The answers of tools: records reduced to the fields an assistant needs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from ..recall.hit import Hit
from ..records import Fact


class Shown(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base of all answers; fields with default values are omitted."""


class Remembered(Shown, frozen=True, kw_only=True):
    """A message that was kept."""

    thread: str
    message: str
    """Its id, for `why` and `forget`."""
    derived: str
    duplicate: bool = False
    """Whether it was there already, under the same key."""


class ShownHit(Shown, frozen=True, kw_only=True):
    """Something that was found."""

    kind: str
    id: str
    text: str
    score: float
    namespace: str
    created_at: datetime
    trust: str
    source: str | None = None
    superseded_by: str | None = None
    reasons: list[str] = []


class Hits(Shown, frozen=True, kw_only=True):
    """What was found, best first."""

    hits: list[ShownHit]
    left_out: int = 0
    """Hits that did not fit into the answer."""
    note: str = ""


class ShownFact(Shown, frozen=True, kw_only=True):
    """A fact."""

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


class Facts(Shown, frozen=True, kw_only=True):
    """Facts in the order of their keys."""

    facts: list[ShownFact]
    next: str | None = None
    """The `cursor` of the next page."""
    note: str = ""


class Written(Shown, frozen=True, kw_only=True):
    """A fact that was written, without its value."""

    id: str
    namespace: str
    key: str
    version: int
    status: str
    hint: str = ""


class ShownLearning(Shown, frozen=True, kw_only=True):
    """A learning: a statement about a user with a confidence."""

    id: str
    type: str
    content: str
    confidence: float


class ShownProfile(Shown, frozen=True, kw_only=True):
    """The profile of one user: preferences, learnings and facts."""

    user: str
    preferences: dict[str, Any] = {}
    learnings: list[ShownLearning] = []
    facts: list[ShownFact] = []
    left_out: int = 0
    note: str = ""


class Source(Shown, frozen=True, kw_only=True):
    """One ancestor in a lineage; depth 1 is a direct source."""

    kind: str
    id: str
    depth: int
    actor: str | None = None
    trust: str | None = None
    created_at: datetime | None = None
    present: bool = True
    text: str = ""


class Origins(Shown, frozen=True, kw_only=True):
    """The lineage of an item: its sources, nearest first."""

    kind: str
    id: str
    actor: str | None = None
    created_at: datetime | None = None
    sources: list[Source] = []
    left_out: int = 0
    note: str = ""


class Section(Shown, frozen=True, kw_only=True):
    """One section of a request: its tokens, and how many of its parts were kept, dropped, folded or elided."""

    name: str
    tokens: int
    kept: int = 0
    dropped: int = 0
    folded: int = 0
    elided: int = 0


class Request(Shown, frozen=True, kw_only=True):
    """A request for a model, within its budget."""

    messages: list[dict[str, Any]]
    tokens: int
    manifest: list[Section] = []
    left_out: int = 0
    note: str = ""


class Saved(Shown, frozen=True, kw_only=True):
    """The saved state of a task: step, version and completed steps."""

    task_id: str
    found: bool
    step: int = 0
    version: int = 0
    completed: list[str] = []
    state: Any = None
    updated_at: datetime | None = None
    note: str = ""


class Forgotten(Shown, frozen=True, kw_only=True):
    """How many rows were erased, by table, or would be after a confirmation."""

    kind: str
    id: str
    erased: bool
    rows: int
    counts: dict[str, int] = {}
    confirm: str | None = None
    """Pass this to erase what the preview counted."""
    complete: bool = True


def shown_fact(fact: Fact) -> ShownFact:
    """A fact as tools answer it."""
    return ShownFact(
        id=fact.id, namespace=fact.ns, key=fact.key, value=fact.value, confidence=fact.confidence, trust=fact.trust,
        status=fact.status, source=fact.source, updated_at=fact.updated_at, expires_at=fact.expires_at,
        version=fact.version, reason=fact.reason,
    )  # fmt: skip


def shown_hit(hit: Hit) -> ShownHit:
    """A hit as tools answer it."""
    return ShownHit(
        kind=hit.kind, id=hit.id, text=hit.text, score=round(hit.score, 4), namespace=hit.namespace,
        created_at=hit.created_at, trust=hit.trust, source=hit.source, superseded_by=hit.superseded_by,
        reasons=[str(reason) for reason in hit.reasons],
    )  # fmt: skip
