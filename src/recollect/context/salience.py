"""How much a sentence says that cannot be guessed: names, numbers, decisions, preferences, errors; not talk."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"\d")
_IDENTIFIER = re.compile(r"\w[_/@.:]+\w|[A-Z]{2,}-?\d|`")
_NOT_NAMES = {"I", "I'm", "I'll", "I've", "I'd", "OK", "Ok"}
# Whole words and pieces of text, since a set and `in` are ten times faster here than one regular expression.
_DECISIONS = (
    "decide decided decides decision decisions agree agreed agreement chose chosen choose choosing approve approved "
    "approval settled conclude concluded conclusion final finally finalised finalized must mustn't never always "
    "deadline due cancel cancelled canceled cancels switched"
)
_DECISION_WORDS = frozenset(_DECISIONS.split())
_DECISION_PHRASES = (
    "go with", "going with", "let's use", "we'll use", "we will use", "we'll go", "we will go", "we'll keep",
    "we will keep", "we'll ship", "we will ship", "plan is", "from now on", "switch to", "moved to", "move to",
    "changed to", "change to", "instead of", "no longer",
)  # fmt: skip
_PERSONAL = (
    "my our i'm remember important prefer prefers preferred preference allergic allergy favourite favorite birthday "
    "password budget named called"
)
_PERSONAL_WORDS = frozenset(_PERSONAL.split())
_PERSONAL_PHRASES = (
    "i am ", "i live", "i work", "i like", "i love", "i hate", "i need", "i want", "i have", "i use", "i moved",
    "i bought", "i was born", "call me", "name is",
)  # fmt: skip
_ERROR_WORDS = frozenset(("error", "exception", "failed", "failure", "denied", "refused", "timeout"))
_ERROR_PHRASES = ("timed out", "not found")
_WORDS = re.compile(r"[\w']+")
_TALK = re.compile(
    r"^(thanks?|thank you|ok(?:ay)?|sure|great|got it|sounds good|hi|hello|hey|yes|no|right|perfect|cool|nice|"
    r"of course|you're welcome|happy to help|let me know|i see|interesting|hm+|makes sense|i'll look into)\b",
    re.I,
)


def salience(text: str, speaker: str, terms: list[str]) -> float:
    """How much a sentence says that cannot be guessed."""
    low = text.casefold()
    found = set(_WORDS.findall(low))
    score = {"User": 1.0, "Tool": -1.0, "Web": -1.0, "Document": -0.5}.get(speaker, 0.3)
    digits = len(_NUMBER.findall(text))
    if digits:
        score += min(2.0, 1.2 + 0.075 * digits)
    score += min(2.0, 0.8 * _names(text))
    if _IDENTIFIER.search(text):
        score += 1.0
    if _says(low, found, _DECISION_WORDS, _DECISION_PHRASES):
        score += 1.6
    if speaker not in ("Assistant", "Tool") and _says(low, found, _PERSONAL_WORDS, _PERSONAL_PHRASES):
        score += 1.4
    if _says(low, found, _ERROR_WORDS, _ERROR_PHRASES):
        score += 1.0
    if _TALK.match(text):
        score -= 1.5
    return score - (1.0 if len(terms) < 3 else 0.0) - max(0.0, (len(text) - 160) / 160)


def _names(text: str) -> int:
    """Words with a capital inside a sentence."""
    return sum(1 for part in text.split()[1:] if part[0].isupper() and part not in _NOT_NAMES)


def _says(low: str, found: set[str], alone: frozenset[str], phrases: tuple[str, ...]) -> bool:
    return not found.isdisjoint(alone) or any(phrase in low for phrase in phrases)
