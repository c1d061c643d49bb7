"""Where the user lives, works and comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from ..phrases import cut, organisation
from ..temporal import parse_dates
from .base import ADVERBS, GUESS, I_AM, LIKELY, MY, SURE, Draft, Rule, Seen, rule, vocabulary
from .taste import LANGUAGES
from .tools import KNOWN

_NOT_PLACES = vocabulary(
    "sales marketing hr it finance engineering legal ops operations product support slack zoom teams excel vim "
    "emacs love trouble charge bed class meetings meeting pain debt shock favor favour need"
    " general fact hell heaven doubt peace person school college university high grad therapy recovery town "
    "house home apartment flat place same way process middle python java javascript java rust"
    " one two three four five six seven eight nine ten several many different various multiple"
    " fear constant pst est cet gmt utc cst bst ist edt pdt terror a an the my our this that"
)
_ANY = datetime(2000, 1, 1, tzinfo=UTC)  # only where a date stands in the text matters
_ENDS = re.compile(
    r"\s+(?:with|near|for|since|on|as|at|after|before|from|by|during|working|and (?:work|raised|grew|live|i|my"
    r"|we|love|have|am|was|study|commute)|to|between|every|my (?:whole|entire)|all my|most of|where"
    r"|about|around|not far|near|next to|\d|"
    r"(?:once|twice|one|two|three|four|five|six|several|a few|most|some)"
    r" (?:times |days |a |an |nights |weeks |per )+)\b.*$"
    r"|\s+in (?:\d{4}|january|february|march|april|may|june|july|august|september|october|november"
    r"|december)\b.*$",
    re.I,
)


def place(phrase: str) -> str | None:
    """The place a phrase names: a proper name, or a short description of one."""
    text = re.sub(r"^(?:the city of |downtown |central |beautiful |sunny )", "", phrase.strip(), flags=re.I)
    inside = re.match(r"(?:an?|the) (?:[a-z-]+ ){1,4}(?:in|near|outside|of|called) (?P<x>(?-i:[A-Z]).*)", text)
    if inside:
        text = inside["x"]
    dates = parse_dates(text, _ANY)
    if dates:
        text = text[: dates[0].span[0]]
    comma = re.match(r"([^,]+),\s*([A-Z][^,]*)", text)
    if comma:
        right = organisation(comma[2])
        left = _ENDS.sub("", comma[1]).strip()
        if right and left == comma[1].strip() and comma[2].strip(" .") == right:
            text = f"{left}, {right}"
    else:
        text = text.split(",")[0]
    value = cut(_ENDS.sub("", text), words=6)
    first = value.split()[0].lower() if value else ""
    if not value or value[0].isdigit() or (first in _NOT_PLACES and not re.match(r"(?:an?|the) ", value, re.I)):
        return None
    if re.match(r"(?:an?|the|my|our|this|that) ", value, re.I) and not re.match(
        r"the (?-i:[A-Z])|the (?:us|uk|usa|netherlands|bronx|philippines)\b", value, re.I
    ):
        return None
    return value


def _at(key: str, match: re.Match[str], seen: Seen, confidence: float) -> Iterable[Draft]:
    value = place(match["x"])
    if value and len(value.split()) <= 5:
        began = [found.start for found in parse_dates(match["x"], seen.at) if found.start <= seen.at]
        yield Draft(key, value, confidence, began[0] if began else None)


def _lives(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    if match["x"].split()[0].strip(",.").lower() in KNOWN:
        return ()  # "I live in Emacs", "we moved to Postgres"
    return _at("location", match, seen, SURE)


def _works(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = (organisation(match["x"]) or "").lower()
    known = not value or value in _NOT_PLACES or value.split()[0] in KNOWN | LANGUAGES
    return () if known else _at("work_location", match, seen, GUESS)


def _comes_from(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    return _at("origin", match, seen, LIKELY)


def _is_in(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """I'm in Melbourne: only a proper name, since people are also in meetings, Excel and Sales."""
    text = re.sub(r"^the (?=[A-Z])", "", match["x"])
    value = organisation(text)
    if value and value.lower().split()[0] not in _NOT_PLACES and len(value) > 3 and not re.match(r"\d|UTC|GMT", value):
        rest = text[len(value) :].strip(" ,.")
        if not re.match(
            r"(?:team|department|group|time\b|time ?zone|meeting|class|channel|mode|for (?:a|the|work|business|holiday)"
            r"|on (?:business|holiday|vacation)|until|this week|today)\b",
            rest,
            re.I,
        ):
            region = re.match(rf"{re.escape(value)}, ((?-i:[A-Z])[\w ]+)$", match["x"])
            yield Draft("location", f"{value}, {region[1]}" if region else value, GUESS)


def _is_from(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    if re.match(
        r"the [\w ]+ (?:team|department)\b|(?:hr|it|sales|support|accounting|finance|procurement)\b", match["x"], re.I
    ):
        return ()
    return _at("origin", match, seen, LIKELY)


def _address(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = match["x"].strip(" .")
    if re.search(r"\d", value) and len(value) <= 120 and "@" not in value:
        yield Draft("address", value, SURE)


def _timezone(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    yield Draft("timezone", re.sub(r" time ?zone$", "", match["x"].rstrip(".")), SURE)


_ZONE = (
    r"(?:[A-Z][a-z]+/[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)?|(?:UTC|GMT)(?:\s?[+-]\s?\d{1,2}(?::\d\d)?)?|(?-i:PST"
    r"|PDT|PT|EST|EDT|ET|CST|CDT|MST|MDT|CET|CEST|EET|EEST|WET|BST|IST|JST|KST|AEST|AEDT|SGT|HKT|MSK|NZST)"
    r"|(?:Pacific|Eastern|Central|Mountain|Atlantic|Central European|Eastern European|India Standard"
    r"|Japan Standard) time(?: ?zone)?)(?!\w)"
)

RULES: tuple[Rule, ...] = (
    rule(
        rf"(?:I|we) {ADVERBS}(?:live|reside|dwell) (?:(?:alone|together|happily|here|just|right|over|out|up|down"
        r"|back) )*(?:in|near|outside|at|on) (?P<x>\S.*)",
        _lives,
    ),
    rule(
        rf"(?:{I_AM}|(?:I|we)(?:'ve| have) been |(?:I|we)(?:'ve| have) )(?:living|lived|residing|based|located"
        r"|settled) (?:(?:here|just|right|out) )*(?:in|near|outside|out of) (?P<x>\S.*)",
        _lives,
    ),
    rule(
        rf"(?:I|we)(?:'ve| have)? {ADVERBS}(?:moved|relocated|emigrated|immigrated)(?: back| house"
        r"| away)?(?: from [^,]{2,40}?)? to (?P<x>(?!Slack|a |an |the new|another|version|this|that|it)\S.*)",
        _lives,
    ),
    rule(r"(?:I|we)(?:'ve| have) been in (?P<x>(?-i:[A-Z])\S*.*\b(?:since|for)\b.*)", _lives),
    rule(rf"{MY} (?:home|house|apartment|flat|place)(?:'s| is) (?:in|near) (?P<x>\S.*)", _lives),
    rule(rf"(?:{MY} )?home is (?:now )?(?:in )?(?P<x>(?-i:[A-Z])\S*.*)", _lives),
    rule(rf"{MY} (?:current )?(?:location|city|city of residence)(?:'s| is|:) (?P<x>\S.*)", _lives),
    rule(r"home for (?:me|us) is (?P<x>\S.*)", _lives),
    rule(r"(?:I|we) call (?P<x>\S.*?) home\b", _lives),
    rule(rf"{I_AM}(?:in|(?:writing|calling|messaging|chatting|typing)(?: to you)? from) (?P<x>\S.*)", _is_in),
    rule(rf"I {ADVERBS}(?:work|commute) (?:in|to|out of) (?P<x>(?-i:[A-Z])\S*.*)", _works),
    rule(rf"{MY} office is (?:in|at) (?P<x>\S.*)", _works),
    rule(rf"{I_AM}from (?P<x>\S.*)", _is_from),
    rule(rf"I {ADVERBS}(?:come|hail) from (?P<x>\S.*)", _is_from),
    rule(
        r"I (?:grew up|was (?:born and )?(?:raised|brought up)|was born) (?:in|near|on) (?P<x>(?!\d|january"
        r"|february|march|april|may\b|june|july|august|september|october|november|december|the (?:\d|early|late"
        r"|[a-z]+ties))\S.*)",
        _comes_from,
    ),
    rule(
        rf"{MY} (?:home ?town|birthplace|home country|native country|country of origin)(?:'s| is|:) (?P<x>\S.*)",
        _comes_from,
    ),
    rule(
        rf"{MY} (?:home |postal |mailing |shipping |delivery |current |new )?address(?:'s| is"
        r"|:)(?: now)? (?P<x>\S.*)",
        _address,
    ),
    rule(
        rf"(?:{MY} (?:time ?zone|local time|clock)(?:'s| is|:)(?: now)?|{I_AM}(?:in|on)(?: the)?|I "
        rf"work (?:in|on)(?: the)?) "
        rf"(?P<x>{_ZONE})",
        _timezone,
    ),
)
