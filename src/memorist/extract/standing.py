"""Standing instructions and habits: what becomes a learning rather than a fact."""

from __future__ import annotations

from functools import lru_cache

from ..languages import rules
from .clauses import normalise, opening


@lru_cache(maxsize=8)
def _opened(sentence: str, lang: str) -> str:
    told = rules(lang, "reading")
    bare = opening(normalise(sentence, told), told)[0]
    return rules(lang, "standing").politely.sub("", bare).rstrip(" .!?")


def standing_instruction(clause: str, sentence: str, lang: str) -> str | None:
    """What is asked for good, not for the task at hand; None when it is not that."""
    found, whole = rules(lang, "standing"), _opened(sentence, lang)
    if found.one_off.search(whole):
        return None
    if any(rule.match(whole) for rule in found.expressions("of_a_sentence")):
        return whole
    # In mid-sentence "always" may go with any subject before it; only the user's own sentences count.
    if not found.own.match(whole) and not whole.startswith(clause):
        return None
    stop = found.stop.match(clause) and not found.impatient.search(clause)
    if not stop and not any(rule.match(clause) for rule in found.expressions("of_a_clause")):
        return None
    # Together with when it holds: "always cite sources when I ask about health".
    begin = whole.find(clause)
    condition = found.condition.match(whole, begin + len(clause)) if begin >= 0 else None
    return whole[begin : condition.end()].rstrip(" ,;") if condition else clause


def habit(clause: str, lang: str) -> bool:
    """What the user does again and again, said with or without adverbs."""
    found = rules(lang, "standing")
    plain = rules(lang, "subject").plainly.sub(lambda said: f"{said['who']} ", clause)
    daily = any(found.daily.match(said) and not found.passing.search(said) for said in (clause, plain))
    return daily or bool(found.habit.match(clause) or found.habit.match(plain))
