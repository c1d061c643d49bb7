"""Standing instructions and habits: what becomes a learning rather than a fact."""

from __future__ import annotations

import re

from .keys import slug

_FOR_GOOD = re.compile(
    r"\b(?:from now on|going forward|from here on(?: out)?|in (?:the )?future|from today(?: on)?|for all future \w+|by default|until further notice|every time (?:you|i|we)|each time (?:you|i|we)|whenever (?:you|i|we))\b",
    re.I,
)
_IMPERATIVE = re.compile(
    r"^(?:please |pls |kindly |just |and |also |but |remember to |make sure (?:to |you |that you )|be sure to |you (?:should|must|can) )*"
    r"(?:(?:always|never) (?!mind\b|again\b|a\b|an\b|the\b|been\b|had\b|i\b|heard\b|happy\b|knew\b|thought\b|seen\b|gonna\b|really\b|in\b)(?P<verb>[a-z]+)"
    r"|(?:don't|do not) (?:ever|you ever) |stop (?!by\b|it\b|here\b|now\b|that\b|at\b|the\b|working\b|there\b)[a-z]+ing\b)",
    re.I,
)
_ANSWERS = re.compile(
    r"^(?:please |pls )?(?:keep|make) (?:your|the|all|all your|all of your|any) (?:answers?|replies|reply|responses?|explanations?|summaries|messages|code|comments|emails)\b (?!working|running)",
    re.I,
)
_PREFER = re.compile(
    r"^(?:(?:i|we) (?:\w+ly )?(?:(?:much |really |always |generally |would |strongly |personally )*prefer(?!red)|always want|never want|want you to always|want you to never|don't (?:ever )?want you to|don't want (?:any|to (?:see|get|receive|hear))"
    r"|expect you to|need you to always|like (?:it when you|it when|when you|(?:my|the|your) (?:answers|replies|responses|code|coffee|tea|eggs|steak|emails|messages|reports)\b))"
    r"|(?:i|we)'d (?:(?:much |really )*prefer|rather (?:you|have|not|get|use|be)|like you to always)|my preference is|as a rule,)",
    re.I,
)
_HABIT = re.compile(
    r"^(?:i|we) (?:usually|typically|normally|generally|always|often|tend to|mostly|regularly|routinely|never) (?!want\b|need\b|liked?\b|loved?\b|hate\b|prefer\b|forget\b|remember\b|wonder|wanted\b|thought\b|knew\b|use\b|work (?:at|for|as)\b"
    r"|live\b|have to\b|get (?:this|an|the|that)\b|be\b|had\b|been\b|said\b|heard\b|saw\b|got\b|tried\b|worked\b|lived\b|went\b|did\b|write (?-i:[A-Z])|code in|speak\b|drive a\b|eat\b|drink\b)[a-z]+"
    r"|^(?:every|each|most) (?:morning|evening|night|day|days|week|weekend|month|monday|tuesday|wednesday|thursday|friday|saturday|sunday|mornings|evenings|weekends)s?,? (?:i|we)\b"
    r"|^on (?:mon|tues|wednes|thurs|fri|satur|sun)days,? (?:i|we)\b"
    r"|^(?:i|we) (?!had|was|were|got|went|used|saw|did|have (?:an?|to)\b)[a-z]+ (?!.*\b(?:yesterday|last|ago)\b).*\b(?:every (?:single )?(?:morning|evening|night|day|week|weekend|month|monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)days|(?:once|twice|three times|\d times) an? (?:day|week|month))$",
    re.I,
)
_ONE_OFF = re.compile(
    r"\b(?:this time|for now|just this once|in this (?:file|case|function|chat|answer|reply)|right now|today|tonight|this once)\b",
    re.I,
)


def standing_instruction(clause: str, sentence: str) -> bool:
    """Said to hold for all that follows, not for the task at hand."""
    if _ONE_OFF.search(sentence):
        return False
    return bool(
        (
            _FOR_GOOD.search(clause)
            and not re.match(r"(?:i|we) (?:will|'ll|am|was|have|had)\b|(?:i|we)'(?:ll|m|re|ve)\b", clause, re.I)
            and _addressed(clause)
        )
        or _IMPERATIVE.match(clause)
        or _ANSWERS.match(clause)
        or _PREFER.match(clause)
    )


def _addressed(clause: str) -> bool:
    """After "from now on" an order must follow; "in the future cars will fly" is none."""
    rest = _FOR_GOOD.sub("", clause, count=1).strip(" ,")
    return not re.match(
        r"(?:i (?!want|need|'?d|prefer|expect|ask)|we|he|she|they|it|there|cars|people|things|everything)\b", rest, re.I
    ) or bool(re.search(r"\b(?:please|you|me|always|never)\b", rest, re.I))


def habit(clause: str) -> bool:
    """What the user does again and again."""
    return bool(_HABIT.match(clause))


def learning_key(kind: str, content: str) -> str:
    """A stable key for a learning: its kind and its first words."""
    return f"{kind}.{slug(content, words=8)}"
