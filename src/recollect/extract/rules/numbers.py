"""Counts, amounts and measures."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..keys import slug
from ..phrases import amount, count, cut
from .base import ADVERBS, I_AM, I_HAVE, LIKELY, MY, SURE, Draft, Rule, Seen, rule
from .people import RELATION

_COUNTED_STOP = re.compile(
    r"^(?:questions?|problems?|minutes?|seconds?|hours?|days?|weeks?|months?|options?|ideas?|issues?|errors?"
    r"|things?|suggestions?|tests?|choices?|meetings?|tasks?|more|other|left|files?|tabs?|windows?|bugs?"
    r"|points?|reasons?|concerns?|words?"
    r"|examples?|of|different|failing|open|new|lines?|rows?|columns?|tickets?|emails?|messages?|requests?"
    r"|items?|pages?|versions?|copies|percent|%|quick|follow|small|possible|to|am|pm|interviews?|appointments?"
    r"|exams?|free|simple|in|on|for|from|with|outcomes?|steps?|parts?|coupons?|episodes?|orders?|deadlines?)\b",
    re.I,
)
_OURS = re.compile(
    r"\b(?:employees|engineers|developers|people|kids|children|sons|daughters|dogs|cats|pets|offices|bedrooms"
    r"|cars|chickens|customers|users|members|locations|stores)$",
    re.I,
)
_NUMBER = (
    r"(?:\d[\d,]{0,12}|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    r"|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|a couple of|a dozen|one)"
)
_MEASURE = (
    r"(?P<n>\d{1,4}(?:\.\d{1,2})?)\s?(?P<unit>cm|centimet(?:er|re)s?|m|met(?:er|re)s?|feet|foot|ft|inch(?:es)?"
    r"|kg|kilos?|kilograms?|lbs?|pounds?|stone)\b"
)
_UNITS = {
    "centimeters": "cm",
    "centimetres": "cm",
    "meters": "m",
    "metres": "m",
    "meter": "m",
    "metre": "m",
    "feet": "ft",
    "foot": "ft",
    "inches": "in",
    "kilos": "kg",
    "kilo": "kg",
    "kilograms": "kg",
    "lbs": "lb",
    "pounds": "lb",
    "pound": "lb",
}
_MY_NUMBER_STOP = re.compile(
    r"\b(?:age|phone|number|code|test|guess|answer|question|birthday|address|flight|gate|order|port|id|pin"
    r"|password|problem|error|line|version|score so far|name|favou?rite|first|next|last)\b",
    re.I,
)


def _counted(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = count(match["n"])
    noun = cut(
        re.split(
            r"\s+(?:in|at|on|with|from|to|for|who|that|named|called|working|living|under|between|left|and|together|here"
            r"|per|each|as|aged|each)\b|[,(]",
            match["x"],
        )[0],
        words=4,
    )
    if value is None or not noun or _COUNTED_STOP.match(noun) or re.search(r"\bleft\b", seen.clause):
        return
    if seen.clause.lower().startswith("we") and not _OURS.search(noun):
        return
    yield Draft(f"number.{slug(noun)}", value, LIKELY)


def _experience(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = count(match["n"])
    if value is not None:
        yield Draft("number.years_of_experience", value, LIKELY)


def _mine(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    what = re.sub(r"\s+(?:for|on|in|of|at|per) .*$", "", match["what"].strip())
    value = amount(match["x"])
    if re.fullmatch(RELATION, what, re.I):
        return  # an age
    if re.match(r"[$€£¥]?\s?[\d,.]+\s?(?:[-–:/]|to\b|(?:am|pm)\b|(?:st|nd|rd|th)\b)", match["x"], re.I):
        return  # a range, a time or a date
    if re.fullmatch(r"(?:lucky|favou?rite) number", what, re.I) and value is not None:
        yield Draft(f"number.{slug(what)}", value, LIKELY)
        return
    if value is None or _MY_NUMBER_STOP.search(what) or len(what.split()) > 3 or "'s" in what:
        return
    if isinstance(value, dict) and str(value["unit"]).lower() in (
        "years",
        "year",
        "minutes",
        "hours",
        "days",
        "am",
        "pm",
        "st",
        "nd",
        "rd",
        "th",
    ):
        return
    yield Draft(f"number.{slug(what)}", value, LIKELY)


def _team_size(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = count(match["n"])
    if value is not None:
        yield Draft("number.team_size", value, LIKELY)


def _children(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    said = match["n"].lower()
    yield Draft("number.kids", {"twins": 2, "triplets": 3}.get(said, count(said)), LIKELY)


def _their_age(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    yield Draft(f"number.{slug(match['rel'])}_age", count(match["n"]), LIKELY)


def _family(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    yield Draft("number.family_size", count(match["n"]), LIKELY)


def _wears(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    what = {"shoes": "shoe", "shoe": "shoe", "dresses": "dress", "shirts": "shirt"}.get(
        (match["x"] or "").strip().lower(), "clothes"
    )
    yield Draft(f"number.{what}_size", float(match["n"]) if "." in match["n"] else int(match["n"]), LIKELY)


def _post_code(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    yield Draft(f"my.{slug(match['x'])}", match["n"].strip(), SURE)


def _salary(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = amount(match["x"])
    if value is not None and re.search(
        r"\b(?:a|per|each) (?:year|month|week|hour)|annually|before tax|after tax|gross|net|take home"
        r"|salary|\dk\b|/(?:yr|mo|year|month)",
        seen.clause,
        re.I,
    ):
        yield Draft("number.salary", value, LIKELY)


def _measured(key: str, match: re.Match[str]) -> Iterable[Draft]:
    digits = match["n"]
    unit = match["unit"].lower()
    yield Draft(key, {"amount": float(digits) if "." in digits else int(digits), "unit": _UNITS.get(unit, unit)}, SURE)


def _height(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    return _measured("height", match)


def _feet(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    yield Draft("height", {"amount": int(match["ft"]) * 12 + int(match["inch"] or 0), "unit": "in"}, SURE)


def _parts(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = count(match["n"])
    noun = cut(re.split(r"\s+(?:in|at|on|with|from|to|for|and|that|left)\b|,", match["x"])[0], words=2)
    if value is not None and noun and not _COUNTED_STOP.match(noun) and not _MY_NUMBER_STOP.search(match["what"]):
        yield Draft(f"number.{slug(match['what'] + ' ' + noun)}", value, LIKELY)


def _weight(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    return _measured("weight", match)


RULES: tuple[Rule, ...] = (
    rule(rf"{I_HAVE}(?P<n>{_NUMBER}) (?P<x>[a-z].*)", _counted),
    rule(
        r".*\band (?P<n>one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}) (?P<x>(?:younger "
        r"|older |little |big )?(?:kids"
        r"|children|sons|daughters|brothers?|sisters?|siblings|dogs?|cats?|cars|bikes|sons?|daughters?)\b.*)",
        _counted,
    ),
    rule(
        rf"(?:I|we).*\bwith (?:my |our )?(?P<n>{_NUMBER}) (?P<x>(?:small |young |grown |adult )?(?:kids"
        rf"|children|sons|daughters"
        r"|dogs|cats)\b.*)",
        _counted,
    ),
    rule(
        rf"{I_AM}(?:an?|the) (?:\w+ ){{0,2}}(?:father|mother|mom|mum|dad|parent) (?:of|to) "
        rf"(?P<n>{_NUMBER}|twins|triplets)\b(?P<x>)",
        _children,
    ),
    rule(rf"{MY} (?P<rel>{RELATION}) is (?P<n>\d{{1,3}}|{_NUMBER})(?: years? old| now)?$", _their_age),
    rule(rf"there (?:are|'re) (?P<n>{_NUMBER}) (?:people|of us) in (?:my|our) family", _family),
    rule(r"I wear (?:an? )?size (?P<n>\d{1,2}(?:\.5)?)(?P<x> \w+)?", _wears),
    rule(
        rf"{MY} (?P<x>zip code|postal code|postcode|area code)(?:'s| is) (?P<n>[\w-]{{3,10}}(?: \d\w\w)?)", _post_code
    ),
    rule(rf"(?:{I_HAVE}|with )(?P<n>{_NUMBER})\+? years(?:'|s)? (?:of )?(?:\w+ ){{0,2}}experience", _experience),
    rule(
        rf"{MY} (?P<what>[a-z][\w' -]{{1,40}}?)(?: (?:for|on) (?:this|that|it|the \w+|\w+))?(?:'s| is| are"
        r"|:)(?: now| currently| only| around| about| roughly)* (?P<x>[$€£¥]?\s?\d.*)",
        _mine,
    ),
    rule(
        rf"there (?:are|'re) (?P<n>{_NUMBER}) (?:people|of us|members|engineers|developers|designers|colleagues"
        r"|employees) (?:on|in|at) (?:my|our) (?:team|company|group|department|startup|squad)",
        _team_size,
    ),
    rule(
        r"(?:my|our) (?:team|group|squad|company|department|startup|firm|office|school) (?:has|is|consists of|employs"
        rf"|counts) (?:about |around |over |roughly |nearly |almost |some )?(?P<n>{_NUMBER}|\d{{1,6}}) "
        rf"(?:people|members|engineers|developers|persons|strong|employees|colleagues)\b",
        _team_size,
    ),
    rule(
        rf"(?:I (?:lead|manage|run|head)|we(?:'re| are| have)|{I_AM}(?:leading|managing"
        rf"|in)) an? (?:small )?team of (?P<n>{_NUMBER})\b",
        _team_size,
    ),
    rule(rf"(?:I|we) {ADVERBS}(?:earn|make|get paid) (?:about |around |roughly )?(?P<x>[$€£]?\s?\d.*)", _salary),
    rule(rf"(?:{I_AM}|I stand |I measure ){_MEASURE} (?:tall|high)", _height),
    rule(rf"{MY} height is {_MEASURE}", _height),
    rule(rf"(?:{I_AM}|{MY} height is )(?P<ft>[4-7])(?:'|′| ?ft| ?feet| ?foot)\s?(?P<inch>\d{{1,2}})?\b", _feet),
    rule(
        rf"{MY} (?P<what>house|apartment|flat|home|company|office|garden|farm|car|school|class|restaurant"
        rf"|family) has (?P<n>{_NUMBER}) (?P<x>[a-z].*)",
        _parts,
    ),
    rule(rf"(?:I {ADVERBS}weigh|{MY} weight is) (?:about |around )?{_MEASURE}", _weight),
)
