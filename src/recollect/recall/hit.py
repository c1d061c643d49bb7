"""What a recall answers."""

from __future__ import annotations

from datetime import datetime

import msgspec


class Reason(msgspec.Struct, frozen=True):
    """One signal that spoke for a hit: its share of the score, and the hit's place by that signal alone."""

    signal: str
    weight: float
    rank: int

    def __str__(self) -> str:
        return f"{self.signal} #{self.rank} ({self.weight:+.2f})"


class Hit(msgspec.Struct, frozen=True):
    """One remembered thing that matters to the question; `id` is the record's own."""

    kind: str
    id: str
    text: str
    score: float
    namespace: str
    created_at: datetime
    source: str | None = None
    reasons: tuple[Reason, ...] = ()
    trust: str = "user"
    """Where the text came from: `user`, `assistant`, `tool`, `web`, `document`, …"""
