"""What a recall answers."""

from __future__ import annotations

from datetime import datetime

import msgspec


class Reason(msgspec.Struct, frozen=True):
    """One signal that spoke for a hit: its share of the score, and the hit's place by that signal alone."""

    signal: str
    weight: float
    rank: int
    note: str = ""
    """What a reranker cost, or why it was not waited for."""

    def __str__(self) -> str:
        return f"{self.signal} #{self.rank} ({self.weight:+.2f}){', ' + self.note if self.note else ''}"


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One remembered thing that matters to the question; `id` is the record's own."""

    kind: str
    id: str
    text: str
    score: float
    """Between 0 and 1, best first."""
    cosine: float | None = None
    """The plain cosine of its vector to the question's; None where there are no vectors."""
    namespace: str
    org: str = "default"
    created_at: datetime
    source: str | None = None
    """Where it came from: a message's own id, the message a fact was taken from, the source of a document."""
    superseded_by: str | None = None
    """What replaced it, in words: "location: Porto since 2026-11-16"; None while it holds."""
    reasons: tuple[Reason, ...] = ()
    trust: str = "user"
    """Where the text came from: `user`, `assistant`, `tool`, `web`, `document`, …"""
    speaker: str = ""
    """Who said it, where it was said."""
    place: int = 0
    """Where it stands in its thread or document, from 1 on; 0 for what stands alone."""
