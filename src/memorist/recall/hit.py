"""`Hit`, one result of a recall, and `Reason`, why it ranks where it does."""

from __future__ import annotations

import math
from datetime import datetime

import msgspec

from ..records import as_dict

DERIVED = ("fact", "learning")
"""Kinds of things that are taken from messages."""


class Reason(msgspec.Struct, frozen=True):
    """One signal behind a hit: its share of the score, and the hit's rank by that signal alone."""

    to_dict = as_dict

    signal: str
    weight: float
    rank: int
    note: str = ""
    """How long a reranker took, or why its result was not used."""

    def __str__(self) -> str:
        return f"{self.signal} #{self.rank} ({self.weight:+.2f}){', ' + self.note if self.note else ''}"


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One record found for a question; `id` is the record's own id."""

    to_dict = as_dict

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
    """Where it came from: a message's own id, the message a fact was extracted from, the source of a document."""
    superseded_by: str | None = None
    """What replaced it, in words: "location: Porto since 2026-11-16"; None while it is current."""
    reasons: tuple[Reason, ...] = ()
    trust: str = "user"
    """Who or what wrote the text: `user`, `assistant`, `tool`, `web`, `document`, …"""
    speaker: str = ""
    """The speaker of a message; empty for other records."""
    place: int = 0
    """Its number in its thread or document, from 1 on; 0 for records that are not part of one."""
    heading: str | None = None
    """The headings above a chunk of a document: `Refunds > Exceptions`."""
    page: int | None = None
    """The page of the document that a chunk begins on."""


def log_odds(score: float) -> float:
    """Return the log-odds of a score between 0 and 1, on which scores of hits are compared."""
    inside = min(max(score, 1e-12), 1 - 1e-12)
    return math.log(inside / (1 - inside))
