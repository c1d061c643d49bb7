"""Defines `Hit`, one result of a recall, and `Reason`, which explains its rank."""

from __future__ import annotations

import math
from datetime import datetime

import msgspec

from ..records import as_dict

DERIVED = ("fact", "learning")
"""Kinds of records extracted from messages."""


class Reason(msgspec.Struct, frozen=True):
    """Describes one signal behind a hit: its share of the score and the hit's rank by that signal alone."""

    to_dict = as_dict

    signal: str
    weight: float
    rank: int
    note: str = ""
    """This says how long a reranker took, or why its result was not used."""

    def __str__(self) -> str:
        return f"{self.signal} #{self.rank} ({self.weight:+.2f}){', ' + self.note if self.note else ''}"


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """Represents one record that recall found for a question. `id` is the record's own id."""

    to_dict = as_dict

    kind: str
    id: str
    text: str
    score: float
    """This is between 0 and 1; higher is better."""
    cosine: float | None = None
    """This is the cosine similarity between its vector and the question's, or None if there are no vectors."""
    namespace: str
    org: str = "default"
    created_at: datetime
    source: str | None = None
    """This is the origin: a message's own id, the message a fact was extracted from, or the source of a document."""
    superseded_by: str | None = None
    """This describes its replacement, such as "location: Porto since 2026-11-16". It is None while the record is
    current."""
    reasons: tuple[Reason, ...] = ()
    trust: str = "user"
    """This says who or what wrote the text: `user`, `assistant`, `tool`, `web`, `document`, …"""
    speaker: str = ""
    """This is the speaker of a message, or empty for other records."""
    place: int = 0
    """This is its number in its thread or document, counted from 1, or 0 for records that are not part of either."""
    heading: str | None = None
    """These are the headings above a chunk of a document, such as `Refunds > Exceptions`."""
    page: int | None = None
    """This is the page of the document on which a chunk begins."""


def log_odds(score: float) -> float:
    """Return the log-odds of a score between 0 and 1, which are used to compare the scores of hits."""
    inside = min(max(score, 1e-12), 1 - 1e-12)
    return math.log(inside / (1 - inside))
