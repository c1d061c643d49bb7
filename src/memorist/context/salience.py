"""Scores the importance of a sentence. Names, numbers, decisions, preferences and errors count more than small talk."""

from __future__ import annotations

import re

from ..languages import rules

_NUMBER = re.compile(r"\d")
_IDENTIFIER = re.compile(r"\w[_/@.:]+\w|[A-Z]{2,}-?\d|`")
_RULES = rules("en", "salience", "talk")
_NOT_NAMES = _RULES.words("not_names")
# Sets of words and plain substrings: ten times faster here than one regular expression.
_DECISION_WORDS = _RULES.words("decision_words")
_DECISION_PHRASES = _RULES.wordings("decision_phrases")
_PERSONAL_WORDS = _RULES.words("personal_words")
_PERSONAL_PHRASES = _RULES.wordings("personal_phrases")
_ERROR_WORDS = _RULES.words("error_words")
_ERROR_PHRASES = _RULES.wordings("error_phrases")
_WORDS = re.compile(r"[\w']+")
_TALK = _RULES.talk


def salience(text: str, speaker: str, terms: list[str]) -> float:
    """Return how important it is to keep a sentence; most scores are between -3 and 6."""
    low = text.casefold()
    word_set = set(_WORDS.findall(low))
    score = {"User": 1.0, "Tool": -1.0, "Web": -1.0, "Document": -0.5}.get(speaker, 0.3)
    digits = len(_NUMBER.findall(text))
    if digits:
        score += min(2.0, 1.2 + 0.075 * digits)
    score += min(2.0, 0.8 * _names(text))
    if _IDENTIFIER.search(text):
        score += 1.0
    if _says(low, word_set, _DECISION_WORDS, _DECISION_PHRASES):
        score += 1.6
    if speaker not in ("Assistant", "Tool") and _says(low, word_set, _PERSONAL_WORDS, _PERSONAL_PHRASES):
        score += 1.4
    if _says(low, word_set, _ERROR_WORDS, _ERROR_PHRASES):
        score += 1.0
    if _TALK.match(text):
        score -= 1.5
    return score - (1.0 if len(terms) < 3 else 0.0) - max(0.0, (len(text) - 160) / 160)


def _names(text: str) -> int:
    """Return how many words after the first one are capitalised like names."""
    return sum(1 for part in text.split()[1:] if part[0].isupper() and part not in _NOT_NAMES)


def _says(low: str, word_set: set[str], alone: frozenset[str], phrases: tuple[str, ...]) -> bool:
    return not word_set.isdisjoint(alone) or any(phrase in low for phrase in phrases)
