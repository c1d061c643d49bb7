"""Recall's view of one indexed record, and statistics of the scope it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from memorist.recall.analyze import token_string
from memorist.recall.signals import signals

ASSISTANT_NAMES = frozenset({"assistant", "ai", "bot", "chatbot", "model", "system", "tool"})
MAX_CONTEXT_TERMS = 60
"""Terms of the previous turn that are indexed with a turn; more would outweigh the turn's own."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One indexed record: a message, fact, learning, summary or chunk of a document. Make one with `entry()`.

    `terms`, `context_terms` and `signals` are computed when the text is indexed, so that a recall reads only the text
    of its hits.
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
    """Statistics over all indexed records of a scope; with them scores are the same on every store."""

    entries: int
    mean_terms: float
    """Index terms per entry."""
    assistant_entries: int = 0
    message_entries: int = 0
    """How many entries are messages; 0 where not counted."""
    speakers: tuple[str, ...] = ()
    """Distinct names of people who speak."""

    @property
    def assistant_share(self) -> float:
        """The share of messages that an assistant wrote, 0 to 1."""
        said = self.message_entries or self.entries
        return self.assistant_entries / said if said else 0.0


def entry(kind: str, id: str, text: str, *, context: str = "", language: str | None = None, **fields: Any) -> Candidate:
    """Analyse a text for the index; `context` is the turn before it, whose words help to find this one."""
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
    """Whether a machine wrote it, by its role or by a speaker's name such as `assistant`."""
    return role in ("assistant", "tool", "system") or speaker.lower() in ASSISTANT_NAMES
