"""Turns ranked candidates into hits by merging the pools of several questions, reranking, and adding texts, marks and
reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ..errors import ModelError
from ..kinds import FINDABLE, fact_phrase, key_in_namespace
from ..messages.message import Message, split_message_id
from ..records import SUPERSEDED, Chunk, Fact, FactVersion
from .hit import Hit, Reason
from .reranking import MAX_RERANKED_TEXTS, Reranking, Verdict

if TYPE_CHECKING:
    from ..embed.opening import WordVectors
    from .candidates import Reader
    from .pool import Pool
    from .query import Query
    from .ranking import Ranking, Row

MAX_PASSAGES = 160
"""How many candidates to examine for document passages, which are then ordered by their best sentences."""
OTHER_SHARE = 0.9
"""The weight of a hit found by another wording or a further question, relative to one found by the question itself."""
QUOTE_CHARACTERS = 120
REPLACED_PENALTY = 2.0
"""The number of standard deviations by which a superseded text's reranker score is lowered, because rerankers do not
know that it was superseded."""


class Wanted(msgspec.Struct, frozen=True):
    """Describes which part of the ranking is requested."""

    top_k: int
    offset: int = 0
    max_tokens: int | None = None
    min_score: float | None = None
    bare: bool = False
    """This is True for a context. Chunks are not merged, because the context joins those that fit, and hits have no
    reasons."""
    floored: bool = False
    """This is True if the relevance floor for contexts applies instead of the one for searches. It has no effect if
    `min_score` is set."""
    filtered: bool = False
    """This is True if the caller passed a filter. The filter already narrows the results, so a search returns all
    matches that have something in common with the question."""


class Hits:
    """Creates hits from the pools of a question. The first pool is the question's own."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def of(self, pools: Sequence[Pool], wanted: Wanted) -> list[Hit]:
        """Return the hits, best first."""
        from .ranking import rank
        from .select import chosen, fill, merge_chunks, without_repeats

        rankings = [await self._reader.runtime.call(rank, pool) for pool in pools]
        last = wanted.offset + wanted.top_k
        most = 4 * last if wanted.max_tokens is not None else last + 4
        documents = any(entry.kind == "document" for pool in pools for entry in pool.entries)
        if not wanted.bare and documents:
            most = max(most, 2 * last)  # adjacent chunks may be merged into one
        reranker = self._reader.shared.reranker
        if reranker is not None:
            most = max(most, MAX_RERANKED_TEXTS)
        ranked = _merge_pools(pools, rankings, wanted)
        words = self._word_vectors(pools[0].query) if documents else None
        if words is None:
            rows = await self._with_texts(chosen(ranked, last, most))
        else:
            wide = chosen(ranked, last, max(most, MAX_PASSAGES))
            further = [row for row in wide[most:] if row.entry.kind == "document"]
            rows = await self._with_texts(wide[:most] + further)
            rows = await self._reader.runtime.call(_by_sentences, pools[0].query.text, rows, words, most)
        rows = without_repeats(rows)
        verdict = None
        if reranker is not None and len(rows) > 1:
            rows, verdict = await self._rerank(reranker, pools[0].query, rows)
        if wanted.max_tokens is None:
            rows = (rows if wanted.bare else merge_chunks(rows))[wanted.offset : last]
        else:
            counter = self._reader.shared.counter.count
            rows = merge_chunks(fill(rows[wanted.offset :], wanted.max_tokens, counter, pools[0].query.terms))
        rows = rows[: wanted.top_k]
        reasons = [
            {} if wanted.bare else ranking.reasons([row.index for row in rows if row.pool == number])
            for number, ranking in enumerate(rankings)
        ]
        return await self._hits(pools, reasons, rows, verdict)

    def _word_vectors(self, query: Query) -> WordVectors | None:
        """Return the embedder's function for word vectors, or None if it has none or the question is not in English."""
        embedder = self._reader.shared.embedder
        return embedder.word_vectors if embedder is not None and query.language == "english" else None

    async def _rerank(self, reranker: Reranking, query: Query, rows: list[Row]) -> tuple[list[Row], Verdict]:
        """Return the best candidates of a ranking in the reranker's order.

        Each rank keeps its score, so that scores stay comparable.
        """
        first = rows[:MAX_RERANKED_TEXTS]
        try:
            verdict = await reranker.judge(query.text, [row.text for row in first])
        except ModelError as problem:
            self._reader.shared.note("reranker", problem)
            verdict = Verdict(reranker.name, None, "it failed: the first ranking stands")
        if verdict.scores is None:
            return rows, verdict
        value = _standard(verdict.scores)
        if not query.past:
            lower = [REPLACED_PENALTY * (SUPERSEDED in row.entry.metadata) for row in first]
            value = [score - less for score, less in zip(value, lower, strict=True)]
        order = sorted(range(len(first)), key=lambda index: (-value[index], index))
        moved = [
            msgspec.structs.replace(first[index], score=there.score) for index, there in zip(order, first, strict=True)
        ]
        return [*moved, *rows[MAX_RERANKED_TEXTS:]], verdict

    async def _hits(
        self,
        pools: Sequence[Pool],
        reasons: Sequence[Mapping[int, tuple[Reason, ...]]],
        rows: Sequence[Row],
        verdict: Verdict | None,
    ) -> list[Hit]:
        replaced = await self._find_replacements(rows)
        hits = [
            _hit(
                self._reader.org, row,
                (*reasons[row.pool].get(row.index, ()), *_notes(pools, row, rank, verdict)),
                pools[row.pool].cosine(row.index), replaced,
            )
            for rank, row in enumerate(rows, 1)
        ]  # fmt: skip
        return sorted(hits, key=lambda hit: (-hit.score, hit.superseded_by is not None))

    async def _find_replacements(self, rows: Sequence[Row]) -> dict[str, str]:
        """Return the replacements of superseded hits, by the fact's id: its current text, or the statement that
        retracted it."""
        # A fact marks only the statements in its own namespace.
        keys = {
            id: (row.entry.ns, key_in_namespace(row.entry.ns, id)) for row in rows
            if (id := row.entry.metadata.get(SUPERSEDED)) is not None
        }  # fmt: skip
        facts = await self._reader.get_many(Fact, list(keys.values())) if keys else []
        out = {}
        for (id, key), fact in zip(keys.items(), facts, strict=True):
            if fact is not None:
                out[id] = present_value(fact)
            elif retraction := await self._retraction(*key):
                out[id] = retraction
        return out

    async def _retraction(self, ns: str, key: str) -> str | None:
        """Return the statement that retracted a fact and its date, or None for a fact that ended in another way."""
        last = await self._reader.scan(FactVersion, ns, key, reverse=True, limit=1)
        if not last or last[0].status != "retracted" or last[0].source is None:
            return None
        parts = split_message_id(last[0].source)
        message = None if parts is None else await self._reader.get(Message, *parts)
        return None if message is None else f"{quote_start(message.text)} ({last[0].updated_at.date().isoformat()})"

    async def _with_texts(self, ranked: Sequence[Row]) -> list[Row]:
        """Return the same rows with their texts, except those whose record was deleted."""
        from ..languages.small_talk import is_small_talk

        texts: dict[int, Row] = {}
        for kind in {row.entry.kind for row in ranked}:
            findable = FINDABLE[kind].findable
            assert findable is not None
            candidates = [(number, row) for number, row in enumerate(ranked) if row.entry.kind == kind]
            keys = [findable.key(row.entry.ns, row.entry.parent, row.entry.seq, row.entry.id) for _, row in candidates]
            records = await self._reader.get_many(FINDABLE[kind].record, keys)
            for (number, row), record in zip(candidates, records, strict=True):
                if record is not None:
                    chunk = record if isinstance(record, Chunk) else None
                    heading, page = (chunk.heading or "", chunk.page) if chunk else ("", None)
                    texts[number] = msgspec.structs.replace(row, text=findable.text(record), heading=heading, page=page)
        # An acknowledgement ("Ok, got it.") tells nothing, whatever it answered.
        rows = [texts[number] for number in range(len(ranked)) if number in texts]
        return [row for row in rows if row.entry.kind != "message" or not is_small_talk(row.text)]


def quote_start(text: str) -> str:
    """Return the start of a statement as one line, to be quoted next to something else."""
    plain = " ".join(text.split())
    return plain if len(plain) <= QUOTE_CHARACTERS else plain[:QUOTE_CHARACTERS].rsplit(" ", 1)[0] + " …"


def _by_sentences(question: str, rows: list[Row], words: WordVectors, most: int) -> list[Row]:
    """Return the first `most` hits, with document passages in the order of their best sentences.

    Each rank keeps its score, and everything that is not a passage keeps its position.
    """
    from .passage import alone
    from .sentences import best_sentences

    indices = [index for index, row in enumerate(rows) if row.entry.kind == "document"]
    passages = [rows[index] for index in indices]
    best = best_sentences(question, passages, words)
    order = sorted(range(len(indices)), key=lambda index: (-best[index].score, index))
    out = rows[:most]
    for index, chosen in zip([index for index in indices if index < most], order, strict=False):
        row, number = passages[chosen], best[chosen].number
        answer = alone(row.text, number) if number >= 0 else ""
        out[index] = msgspec.structs.replace(row, answer=answer, score=rows[index].score)
    return out


def _merge_pools(pools: Sequence[Pool], rankings: Sequence[Ranking], wanted: Wanted) -> Iterator[Row]:
    """Yield the candidates of all pools, best first and without repetitions. Scores of pools other than the first are
    reduced."""
    if len(pools) == 1:
        yield from _rows(pools[0], rankings[0], wanted)
        return
    best: dict[tuple[str, str, str, str], Row] = {}
    for number, (pool, ranking) in enumerate(zip(pools, rankings, strict=True)):
        share = OTHER_SHARE if number else 1.0
        for row in _rows(pool, ranking, wanted):
            score = share * row.score
            key = (row.entry.kind, row.entry.ns, row.entry.parent, row.entry.id)
            if key not in best or best[key].score < score:
                best[key] = msgspec.structs.replace(row, score=score, pool=number)
    yield from sorted(best.values(), key=lambda row: -row.score)


def _rows(pool: Pool, ranking: Ranking, wanted: Wanted) -> Iterator[Row]:
    """Yield the candidates that may become hits, best first, created lazily."""
    from .ranking import Row

    for index in ranking.order:
        score = float(ranking.score[index])
        if wanted.min_score is not None and score < wanted.min_score:
            return
        findable = ranking.connected if wanted.filtered else ranking.findable
        allowed = ranking.above_floor if wanted.floored else findable
        if wanted.min_score is not None or allowed[index]:
            yield Row(pool.entries[index], score, index)


def _standard(scores: Sequence[float]) -> list[float]:
    mean = sum(scores) / len(scores)
    spread = (sum((score - mean) ** 2 for score in scores) / len(scores)) ** 0.5 or 1.0
    return [(score - mean) / spread for score in scores]


def _notes(pools: Sequence[Pool], row: Row, rank: int, verdict: Verdict | None) -> Iterator[Reason]:
    """Yield reasons other than the features: the wording that found a hit, the sentence that answers the
    question, and what the reranker did."""
    if row.pool:
        yield Reason("expansion", 0.0, rank, f"found by {pools[row.pool].query.text!r}")
    if row.answer:
        yield Reason("sentence", 0.0, rank, row.answer)
    if verdict is not None:
        yield Reason("reranker", 0.0, rank, f"{verdict.name}: {verdict.note}")


def present_value(fact: Fact) -> str:
    """Return the text of a mark, which names the fact that replaced a statement: "lives in Porto since 2026-02-01"."""
    return f"{fact_phrase(fact)} since {fact.updated_at.date().isoformat()}"


def _hit(org: str, row: Row, reasons: tuple[Reason, ...], cosine: float | None, replaced: Mapping[str, str]) -> Hit:
    entry = row.entry
    return Hit(
        kind=entry.kind, id=entry.id, text=row.text, score=row.score, cosine=cosine, namespace=entry.ns, org=org,
        created_at=entry.created_at, source=entry.source or (entry.id if entry.kind == "message" else None),
        superseded_by=replaced.get(entry.metadata.get(SUPERSEDED) or ""), reasons=reasons, trust=entry.trust,
        speaker=entry.speaker or "", place=entry.seq + (entry.kind == "document"),
        heading=row.heading or None, page=row.page,
    )  # fmt: skip
