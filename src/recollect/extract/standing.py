"""Standing instructions and habits: what becomes a learning rather than a fact."""

from __future__ import annotations

from functools import lru_cache

from ..languages import rules
from .keys import slug
from .reading import normalise, opening

_RULES = rules("en", "standing")
_OF_A_SENTENCE = (_RULES.leading, _RULES.on_every, _RULES.about, _RULES.only)
_OF_A_CLAUSE = (
    *(_RULES.trailing, _RULES.imperative, _RULES.answers, _RULES.manners, _RULES.language, _RULES.tone),
    *(_RULES.prefer, _RULES.only, _RULES.choosy, _RULES.over),
)


@lru_cache(maxsize=8)
def _opened(sentence: str) -> str:
    return _RULES.politely.sub("", opening(normalise(sentence))[0]).rstrip(" .!?")


def standing_instruction(clause: str, sentence: str) -> str | None:
    """What is asked for good, not for the task at hand; None when it is not that."""
    whole = _opened(sentence)
    if _RULES.one_off.search(whole):
        return None
    if any(rule.match(whole) for rule in _OF_A_SENTENCE):
        return whole
    # In mid-sentence "always" may go with any subject before it; only the user's own sentences count.
    if not _RULES.own.match(whole) and not whole.startswith(clause):
        return None
    stop = _RULES.stop.match(clause) and not _RULES.impatient.search(clause)
    return clause if stop or any(rule.match(clause) for rule in _OF_A_CLAUSE) else None


def habit(clause: str) -> bool:
    """What the user does again and again."""
    return bool(_RULES.habit.match(clause)) or bool(_RULES.daily.match(clause) and not _RULES.passing.search(clause))


def learning_key(kind: str, content: str) -> str:
    """A stable key for a learning: its kind and its first words."""
    return f"{kind}.{slug(content, words=8)}"
