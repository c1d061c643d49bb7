"""What recall knows of one remembered thing, and of the scope it is in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from recollect.recall.analyze import token_string
from recollect.recall.signals import signals

ASSISTANT_NAMES = frozenset({"assistant", "ai", "bot", "chatbot", "model", "system", "tool"})
MAX_CONTEXT_TERMS = 60
"""A previous turn longer than this would drown the turn it explains."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One remembered thing as it is indexed: a message, fact, learning, summary or chunk of a document.

    `terms`, `context_terms` and `signals` are derived from the text when it is indexed, so that a recall
    touches no text but that of its hits. Make one with `entry()`.
    """

    kind: str
    id: str
    namespace: str = "global"
    text: str = ""
    thread: str = ""
    seq: int = 0
    role: str = "user"
    speaker: str = ""
    created_at: int = 0
    confidence: float = 1.0
    uses: int = 0
    trust: float = 1.0
    source: str | None = None
    metadata: Mapping[str, Any] | None = None
    terms: str = ""
    context_terms: str = ""
    signals: bytes = b""


class ScopeStats(msgspec.Struct, frozen=True, kw_only=True):
    """Counts over everything indexed in a scope; they make scores the same on every store."""

    entries: int
    mean_terms: float
    """Index terms per entry."""
    assistant_entries: int = 0
    message_entries: int = 0
    """Of them messages; 0 where it was not counted."""
    speakers: tuple[str, ...] = ()
    """Distinct names of people who speak."""

    @property
    def assistant_share(self) -> float:
        """How much of what was said an assistant said, 0 to 1."""
        said = self.message_entries or self.entries
        return self.assistant_entries / said if said else 0.0


def entry(kind: str, id: str, text: str, *, context: str = "", language: str | None = None, **fields: Any) -> Candidate:
    """Analyse a text for the index; `context` is the turn before, which helps to find this one."""
    context_terms = token_string(context, language).split(" ")[:MAX_CONTEXT_TERMS] if context else []
    return Candidate(
        kind=kind,
        id=id,
        text=text,
        terms=token_string(text, language),
        context_terms=" ".join(context_terms),
        signals=signals(text),
        **fields,
    )


@lru_cache(1024)
def is_assistant(role: str, speaker: str) -> bool:
    """Whether a machine said it, by role or, where every role is `user`, by name."""
    return role in ("assistant", "tool", "system") or speaker.lower() in ASSISTANT_NAMES
