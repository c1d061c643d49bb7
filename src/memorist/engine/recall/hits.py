"""Turns ranked candidates into hits: merges the pools of several questions, reranks, adds texts, marks and reasons."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ...errors import ModelError
from ...kinds import FINDABLE, fact_text
from ...messages.message import Message
from ...recall.hit import Hit, Reason
from ...records import Fact, FactVersion
from ..core import Core
from .pools import Pool, in_order
from .reranking import RERANKED, Verdict

PASSAGES = 160
"""How many candidates are looked at for passages of documents, whose order their sentences then decide."""
OTHER_SHARE = 0.9
"""The weight of a hit found by another wording or a further question, relative to one found by the question itself."""
QUOTE_CHARACTERS = 120
REPLACED_PENALTY = 2.0
"""By how many standard deviations the reranker's score of a superseded text is lowered, as rerankers do not know it."""


class Wanted(msgspec.Struct, frozen=True):
    """How much of the ranking is asked for."""

    top_k: int
    offset: int = 0
    max_tokens: int | None = None
    min_score: float | None = None
    bare: bool = False
    """For a context: chunks are not merged, because the context joins those that fit, and no reasons are given."""


class Hits:
    """Makes hits from the pools of a question; the first pool is the question's own."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def of(self, pools: Sequence[Pool], wanted: Wanted) -> list[Hit]:
        """The hits, best first."""
        from ...recall.select import chosen, fill, merge_chunks

        rankings = [await self._core.runtime.call(pool.ranking) for pool in pools]
        last = wanted.offset + wanted.top_k
        most = 4 * last if wanted.max_tokens is not None else last + 4
        documents = any(entry.kind == "document" for pool in pools for entry in pool.entries)
        if not wanted.bare and documents:
            most = max(most, 2 * last)  # adjacent chunks may be merged into one
        reranker = self._core.shared.reranker
        if reranker is not None:
            most = max(most, RERANKED)
        ranked = _merged(pools, rankings, wanted.min_score)
        words = self._word_vectors(pools[0].query) if documents else None
        if words is None:
            picked = await self._with_texts(chosen(ranked, last, most))
        else:
            wide = chosen(ranked, last, max(most, PASSAGES))
            further = [scored for scored in wide[most:] if scored.entry.kind == "chunk"]
            picked = await self._with_texts(wide[:most] + further)
            picked = await self._core.runtime.call(_by_sentences, pools[0].query.text, picked, words, most)
        verdict = None
        if reranker is not None and len(picked) > 1:
            picked, verdict = await self._reranked(reranker, pools[0].query, picked)
        terms = pools[0].query.terms
        if wanted.max_tokens is None:
            picked = (picked if wanted.bare else merge_chunks(picked))[wanted.offset : last]
        else:
            picked = fill(picked[wanted.offset :], wanted.max_tokens, self._core.shared.counter.count, terms)
            picked = merge_chunks(picked)
        picked = picked[: wanted.top_k]
        why = [
            {} if wanted.bare else ranking.reasons([scored.place for scored in picked if scored.pool == number])
            for number, ranking in enumerate(rankings)
        ]
        return await self._hits(pools, why, picked, verdict)

    def _word_vectors(self, query: Any) -> Any:
        """The embedder's function for word vectors; None if it has none or the question is not in English."""
        embedder = self._core.shared.embedder
        return embedder.word_vectors if embedder is not None and query.language == "english" else None

    async def _reranked(self, reranker: Any, query: Any, picked: list[Any]) -> tuple[list[Any], Verdict]:
        """The best of a ranking in the reranker's order; each rank keeps its score, so that scores stay comparable."""
        first = picked[:RERANKED]
        try:
            verdict = await reranker.judge(query.text, [scored.entry.text for scored in first])
        except ModelError as problem:
            self._core.shared.note("reranker", problem)
            verdict = Verdict(reranker.name, None, "it failed: the first ranking stands")
        if verdict.scores is None:
            return picked, verdict
        value = _standard(verdict.scores)
        if not query.past:
            lower = [REPLACED_PENALTY * bool(scored.entry.metadata["superseded"]) for scored in first]
            value = [one - less for one, less in zip(value, lower, strict=True)]
        order = sorted(range(len(first)), key=lambda place: (-value[place], place))
        moved = [
            msgspec.structs.replace(first[place], score=there.score) for place, there in zip(order, first, strict=True)
        ]
        return [*moved, *picked[RERANKED:]], verdict

    async def _hits(
        self,
        pools: Sequence[Pool],
        why: Sequence[Mapping[int, tuple[Reason, ...]]],
        picked: Sequence[Any],
        verdict: Verdict | None,
    ) -> list[Hit]:
        replaced = await self._replaced(picked)
        hits = [
            _hit(
                self._core.org, scored,
                (*why[scored.pool].get(scored.place, ()), *_notes(pools, scored, place, verdict)),
                pools[scored.pool].cosine(scored.place), replaced,
            )
            for place, scored in enumerate(picked, 1)
        ]  # fmt: skip
        return sorted(hits, key=lambda hit: (-hit.score, hit.superseded_by is not None))

    async def _replaced(self, picked: Sequence[Any]) -> dict[str, str]:
        """What replaced superseded hits, by the fact's id: its present text, or the statement that retracted it."""
        ids = dict.fromkeys(s.entry.metadata["superseded"] for s in picked if s.entry.metadata["superseded"])
        keys = [id.partition("/")[::2] for id in ids]
        facts = await self._core.get_many(Fact, keys) if keys else []
        out = {}
        for id, key, fact in zip(ids, keys, facts, strict=True):
            if fact is not None:
                out[id] = f"{fact_text(fact)} since {fact.updated_at.date().isoformat()}"
            elif said := await self._retraction(*key):
                out[id] = said
        return out

    async def _retraction(self, ns: str, key: str) -> str | None:
        """The statement that retracted a fact, with its date; None for a fact that ended in another way."""
        last = await self._core.scan(FactVersion, ns, key, reverse=True, limit=1)
        if not last or last[0].status != "retracted" or last[0].source is None:
            return None
        thread, _, place = last[0].source.rpartition("#")
        message = await self._core.get(Message, thread, int(place))
        return None if message is None else f"{quote_start(message.text)} ({last[0].updated_at.date().isoformat()})"

    async def _with_texts(self, ranked: Sequence[Any]) -> list[Any]:
        """The same candidates with their texts; those whose record was deleted are left out."""
        texts: dict[tuple[str, str, str], tuple[str, str]] = {}
        for kind in {scored.entry.kind for scored in ranked}:
            mine = [scored.entry for scored in ranked if scored.entry.kind == kind]
            texts.update(await self._texts(kind, mine))
        return [
            msgspec.structs.replace(
                scored,
                entry=msgspec.structs.replace(
                    scored.entry, text=text[0], metadata={**scored.entry.metadata, "heading": text[1]}
                ),
            )
            for scored in ranked
            if (text := texts.get((scored.entry.kind, scored.entry.namespace, scored.entry.id))) is not None
        ]

    async def _texts(self, kind: str, entries: Sequence[Any]) -> dict[tuple[str, str, str], tuple[str, str]]:
        """The text and heading of each entry; those whose record was deleted are left out."""
        # Ranking calls the entries of documents `chunk`.
        found = FINDABLE["document" if kind == "chunk" else kind]
        assert found.found is not None
        place, text = found.found.key, found.found.text
        keys = [place(entry.namespace, entry.thread, entry.seq, entry.id) for entry in entries]
        got = await self._core.get_many(found.record, keys)
        return {
            (entry.kind, entry.namespace, entry.id): (text(record), getattr(record, "heading", None) or "")
            for entry, record in zip(entries, got, strict=True)
            if record is not None
        }


def quote_start(text: str) -> str:
    """The start of a statement in one line, to quote it beside something else."""
    plain = " ".join(text.split())
    return plain if len(plain) <= QUOTE_CHARACTERS else plain[:QUOTE_CHARACTERS].rsplit(" ", 1)[0] + " …"


def _by_sentences(question: str, picked: list[Any], words: Any, most: int) -> list[Any]:
    """The first `most` hits, with passages of documents in the order of their best sentences.

    Each rank keeps its score, and all that is not a passage its place.
    """
    from ...recall.sentences import Passage, best_sentences

    places = [place for place, scored in enumerate(picked) if scored.entry.kind == "chunk"]
    passages = [picked[place] for place in places]
    read = [Passage(one.entry.text, one.entry.metadata["heading"], log_odds(one.score)) for one in passages]
    found = best_sentences(question, read, words)
    order = sorted(range(len(places)), key=lambda place: (-found[place].score, place))
    out = picked[:most]
    for place, best in zip([place for place in places if place < most], order, strict=False):
        out[place] = _answering(passages[best], found[best].number, picked[place].score)
    return out


def _answering(scored: Any, number: int, score: float) -> Any:
    """A passage with another score, and the sentence of it that answers."""
    from ...recall.passage import alone

    entry = scored.entry
    said = alone(entry.text, number) if number >= 0 else ""
    marked = msgspec.structs.replace(entry, metadata={**entry.metadata, "answer": said})
    return msgspec.structs.replace(scored, entry=marked, score=score)


def log_odds(score: float) -> float:
    """The log-odds of a score between 0 and 1, on which scores of hits are compared."""
    inside = min(max(score, 1e-12), 1 - 1e-12)
    return math.log(inside / (1 - inside))


def _merged(pools: Sequence[Pool], rankings: Sequence[Any], min_score: float | None) -> Iterator[Any]:
    """Candidates of all pools, best first, each once; scores of other pools than the first are reduced."""
    if len(pools) == 1:
        yield from in_order(pools[0], rankings[0], min_score)
        return
    best: dict[Any, Any] = {}
    for number, (pool, ranking) in enumerate(zip(pools, rankings, strict=True)):
        share = OTHER_SHARE if number else 1.0
        for scored in in_order(pool, ranking, min_score):
            score = share * scored.score
            key = (scored.entry.kind, scored.entry.namespace, scored.entry.thread, scored.entry.id)
            if key not in best or best[key].score < score:
                best[key] = msgspec.structs.replace(scored, score=score, pool=number)
    yield from sorted(best.values(), key=lambda scored: -scored.score)


def _standard(scores: Sequence[float]) -> list[float]:
    mean = sum(scores) / len(scores)
    spread = (sum((one - mean) ** 2 for one in scores) / len(scores)) ** 0.5 or 1.0
    return [(one - mean) / spread for one in scores]


def _notes(pools: Sequence[Pool], scored: Any, place: int, verdict: Verdict | None) -> Iterator[Reason]:
    """Reasons besides the features: which wording found a hit, which sentence answers, what the reranker did."""
    if scored.pool:
        yield Reason("expansion", 0.0, place, f"found by {pools[scored.pool].query.text!r}")
    if said := scored.entry.metadata.get("answer"):
        yield Reason("sentence", 0.0, place, said)
    if verdict is not None:
        yield Reason("reranker", 0.0, place, f"{verdict.name}: {verdict.note}")


def _hit(org: str, scored: Any, reasons: Any, cosine: float | None, replaced: Mapping[str, str]) -> Any:
    from ...ports import to_datetime

    entry = scored.entry
    kind = "document" if entry.kind == "chunk" else entry.kind
    return Hit(
        kind=kind, id=entry.id, text=entry.text, score=scored.score, cosine=cosine, namespace=entry.namespace, org=org,
        created_at=to_datetime(entry.created_at), source=entry.source or (entry.id if kind == "message" else None),
        superseded_by=replaced.get(entry.metadata["superseded"] or ""), reasons=reasons, trust=entry.metadata["trust"],
        speaker=entry.speaker, place=entry.seq + (kind == "document"),
    )  # fmt: skip
