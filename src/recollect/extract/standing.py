"""Standing instructions and habits: what becomes a learning rather than a fact."""

from __future__ import annotations

from functools import lru_cache

from ..languages import rules
from .keys import slug
from .reading import normalise, opening

_RULES = rules("en", "standing")


@lru_cache(maxsize=8)
def _opened(sentence: str) -> str:
    return _RULES.politely.sub("", opening(normalise(sentence))[0]).rstrip(" .!?")


def standing_instruction(clause: str, sentence: str) -> str | None:
    """What is asked for good, not for the task at hand; None when it is not that."""
    whole = _opened(sentence)
    if _RULES.one_off.search(whole):
        return None
    if any(rule.match(whole) for rule in (_RULES.leading, _RULES.on_every, _RULES.about, _RULES.only)):
        return whole
    # In mid-sentence "always" may go with any subject before it; only the user's own sentences count.
    if not _RULES.own.match(whole) and not whole.startswith(clause):
        return None
    if (
        _RULES.trailing.match(clause)
        or _RULES.imperative.match(clause)
        or _RULES.answers.match(clause)
        or _RULES.manners.match(clause)
        or _RULES.language.match(clause)
        or _RULES.tone.match(clause)
        or _RULES.prefer.match(clause)
        or _RULES.only.match(clause)
        or _RULES.choosy.match(clause)
        or _RULES.over.match(clause)
    ):
        return clause
    return clause if _RULES.stop.match(clause) and not _RULES.impatient.search(clause) else None


def habit(clause: str) -> bool:
    """What the user does again and again."""
    return bool(_RULES.habit.match(clause)) or bool(_RULES.daily.match(clause) and not _RULES.passing.search(clause))


def learning_key(kind: str, content: str) -> str:
    """A stable key for a learning: its kind and its first words."""
    return f"{kind}.{slug(content, words=8)}"
