"""Scores units by the rare words they share with a query, and by importance (role, recency, decisions, errors)."""

from __future__ import annotations

import math
import re
from collections import Counter as Tally
from collections.abc import Sequence

from ..languages import rules
from .units import Unit

_WORD = re.compile(r"\w{2,}")
_RULES = rules("en", "similar", "talk")
COMMON = _RULES.words("common")
"""Stop words, which are too common to indicate what a turn is about."""
_DECISION = _RULES.decision
_ERROR = _RULES.error


def words(text: str) -> list[str]:
    """Return the words of a text without stop words."""
    return [word for word in _WORD.findall(text.casefold()) if word not in COMMON]


def most_similar(query: str, units: Sequence[Unit], k: int) -> list[int]:
    """Return the indices of units that share the rarest words with the query, best first; newer units win ties."""
    wanted = set(words(query))
    if not wanted or not units:
        return []
    tallies = [Tally(words(unit.text)) for unit in units]
    spread = Tally(word for tally in tallies for word in tally.keys() & wanted)
    scores: list[tuple[float, int]] = []
    for index, tally in enumerate(tallies):
        # A word that half of the turns have does not tell them apart.
        shared = {word for word in tally.keys() & wanted if spread[word] <= max(2, len(units) // 2)}
        if shared:
            weight = sum(math.log(1 + len(units) / spread[word]) for word in sorted(shared))
            scores.append((weight / math.sqrt(8 + sum(tally.values())), index))
    scores.sort(key=lambda pair: (-pair[0], -pair[1]))
    return [index for _, index in scores[:k]]


def default_scores(units: Sequence[Unit]) -> list[float]:
    """Return one score per unit, based on role, recency, later references, questions, decisions and tool errors."""
    texts = [unit.text for unit in units]
    references = _references(texts)
    count = len(units)
    return [
        round(_kind_score(unit, text) + 2.0 * (index + 1) / count + references[index], 6)
        for index, (unit, text) in enumerate(zip(units, texts, strict=True))
    ]


def _kind_score(unit: Unit, text: str) -> float:
    score = {"system": 2.0, "developer": 2.0, "user": 1.0}.get(unit.role, 0.5)
    stated = [message.importance for message in unit.messages if message.importance is not None]
    if stated:
        score += 3.0 * max(stated)
    if "?" in text and unit.role == "user":
        score += 0.4
    if _DECISION.search(text):
        score += 1.0
    if unit.exchange:
        score += 0.6 if _ERROR.search(text) else -0.3
    return score


def _references(texts: Sequence[str]) -> list[float]:
    """Return a score of at most 1 for how often later turns repeat the rare words of a turn."""
    sets = [set(words(text)) for text in texts]
    spread = Tally(word for word_set in sets for word in word_set)
    rare = [{word for word in word_set if 1 < spread[word] <= max(3, len(texts) // 20)} for word_set in sets]
    later: Tally[str] = Tally()
    out = [0.0] * len(texts)
    for index in range(len(texts) - 1, -1, -1):
        hits = sum(1 for word in rare[index] if later[word])
        out[index] = min(1.0, hits / 4)
        later.update(rare[index])
    return out
