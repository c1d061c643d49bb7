"""The recall pipeline as a retriever of the benchmark: index turns of a conversation, rank them for a question.

python score.py dev/locomo.json --retriever adapter:default    (also: lexical, minilm)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from recollect.ports import to_micros
from recollect.recall.entry import Entry, entry
from recollect.recall.index import ScopeIndex
from recollect.recall.query import Query, analyse
from recollect.recall.rank import Weights
from recollect.recall.select import distinct
from recollect.recall.weights import TABLE

DAY = 86_400_000_000
DEDUPE = 50


class Turn(Protocol):
    """What a benchmark hands over."""

    id: str
    session: str
    speaker: str
    text: str
    timestamp: datetime | None


def micros(when: datetime | None) -> int:
    """Benchmark times carry no zone; they are taken as UTC."""
    return 0 if when is None else to_micros(when if when.tzinfo else when.replace(tzinfo=UTC))


def entries_of(turns: Sequence[Turn], *, one_thread: bool = False) -> list[Entry]:
    """Turns as messages, each indexed together with the turn before it in its session."""
    out: list[Entry] = []
    seq: dict[str, int] = {}
    for i, turn in enumerate(turns):
        thread = "all" if one_thread else turn.session
        seq[thread] = seq.get(thread, 0) + 1
        before = turns[i - 1].text if i and (one_thread or turns[i - 1].session == turn.session) else ""
        role = "assistant" if turn.speaker.lower() in ("assistant", "ai", "bot") else "user"
        out.append(
            entry(
                "message", turn.id, turn.text, context=before, thread=thread, seq=seq[thread], role=role,
                speaker=turn.speaker, created_at=micros(turn.timestamp),
            )
        )  # fmt: skip
    return out


class Pipeline:
    """The pure pipeline over one scope."""

    def __init__(self, embedder: Any = None, *, weights: Weights = TABLE, one_thread: bool = False) -> None:
        self.embedder = embedder
        self.weights = weights
        self.one_thread = one_thread
        static = getattr(embedder, "static", False)
        self.scope = ScopeIndex(embedder.dimensions if embedder else None, contextual=not static)

    def index(self, turns: Sequence[Turn]) -> None:
        entries = entries_of(turns, one_thread=self.one_thread)
        vectors = self.embedder.embed([e.text for e in entries]) if self.embedder else None
        self.scope.add(entries, vectors)

    def read(self, query: str, now: datetime | None) -> tuple[Query, Any, Callable[[Entry], bool] | None]:
        """The analysed question, its vector, and what existed when it was asked."""
        at = micros(now)
        asked = analyse(query, speakers=self.scope.stats.speakers, now=at)
        text = asked.content_text if getattr(self.embedder, "static", False) else asked.embed_text
        vector = self.embedder.embed([text])[0] if self.embedder else None
        # A question dated by its day alone was asked at any time of it.
        until = at + DAY if at % DAY == 0 else at
        return asked, vector, (lambda e: e.created_at <= until) if at else None

    def search(self, query: str, k: int, now: datetime | None = None) -> list[str]:
        asked, vector, allow = self.read(query, now)
        ranked = self.scope.search(asked, vector, limit=k, allow=allow, weights=self.weights)
        kept, repeats = distinct(ranked[:DEDUPE])
        return [scored.entry.id for scored in kept + repeats + ranked[DEDUPE:]][:k]


_made: dict[str, Any] = {}


def default() -> Pipeline:
    """With the embedder that is always there."""
    from recollect.embed.wordllama import WordLlamaEmbedder

    return Pipeline(_made.setdefault("wordllama", WordLlamaEmbedder()))


def one_thread() -> Pipeline:
    """The same, every session in one thread."""
    return Pipeline(default().embedder, one_thread=True)


def lexical() -> Pipeline:
    """No vectors at all."""
    return Pipeline()


def minilm() -> Pipeline:
    """With the better local embedder."""
    from recollect.embed.minilm import MiniLMEmbedder

    return Pipeline(_made.setdefault("minilm", MiniLMEmbedder()))
