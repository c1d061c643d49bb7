"""Numbers said in other ways than "my budget is …": distances, times, rents, sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..calendar import number
from ..keys import slug
from ..phrases import amount
from .base import ADVERBS, GUESS, I_AM, LIKELY, MY, Draft, Rule, Seen, rule

_WORDS = (
    r"(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ](?:one|two|three|four|five|six"
    r"|seven|eight|nine))?|one|two|three"
    r"|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    r"|eighteen|nineteen|a hundred"
)
_N = (
    rf"(?:about |around |roughly |approximately |nearly |almost |over |under |up to |at least |~)*"
    rf"(?P<n>[$€£¥]?\s?\d[\d,.]*\s?[km]?\b|{_WORDS})"
)
_FEET = {"four": 4, "five": 5, "six": 6, "seven": 7}


def _value(text: str, unit: str | None) -> Any:
    """A number with its unit: "$1,450" or "six" and "hours"."""
    said = amount(text.replace(" ", ""))
    value = number(text) if said is None else said
    if isinstance(value, int | float) and unit:
        return {"amount": value, "unit": unit.lower()}
    return value


def _doing(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """I run about 40 km a week."""
    value = _value(match["n"], match["unit"])
    if value is not None:
        yield Draft(f"number.{slug(match['verb'] + ' per ' + match['per'])}", value, LIKELY)


def _pays(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = _value(match["n"], match["unit"])
    if value is not None:
        yield Draft(f"number.{slug(match['what'])}", value, LIKELY)


def _takes(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = _value(match["n"], match["unit"])
    if value is not None:
        yield Draft(f"number.{slug(match['what'])}", value, LIKELY)


def _trip(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = _value(match["n"], match["unit"])
    if value is not None:
        yield Draft("number.commute", value, LIKELY)


def _tall(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    feet = _FEET.get(match["ft"].lower()) or int(match["ft"])
    inches = number(match["inch"] or "zero") or 0
    if inches < 12:
        yield Draft("height", {"amount": feet * 12 + inches, "unit": "in"}, LIKELY)


def _stone(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    yield Draft("weight", {"amount": number(match["n"]), "unit": "stone"}, LIKELY)


def _years(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = number(match["n"])
    what = re.split(r"\s+(?:for|at|with|in)\b", match["what"])[0]
    if re.match(r"(?:dating|seeing|living|working|trying|waiting|looking|going out)\b", what):
        return
    if value is not None and 1 < len(what) <= 40:
        yield Draft(f"number.years_{slug(what)}", value, GUESS)


def _people(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = number(match["n"])
    if value is not None:
        where = (match["where"] or match.groupdict().get("at") or "").lower()
        yield Draft(
            "number.family_size" if where in ("family", "house", "household", "home") else "number.team_size",
            value,
            LIKELY,
        )


def _regular(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """My shift starts at 6 am; our sprint ends on Thursdays."""
    what, verb, when = (match[name] or match[f"{name}2"] for name in ("what", "verb", "x"))
    if match["x"] or when.endswith("s") or "every" in match[0]:
        yield Draft(f"my.{slug(what if verb in ('is', 'are') else f'{what} {verb}')}", when, LIKELY)


def _blood(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    yield Draft("my.blood_type", match["x"], LIKELY)


_PER = r"(?: (?:an?|per|each|every) |/)(?P<per>day|night|week|month|year|weekend|hour)"
_UNIT = r"(?P<unit>[a-z]{1,12}|€|%)"


def _done(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """I've run eleven marathons."""
    value = number(match["n"])
    noun = match["what"].strip()
    if (
        value is not None
        and noun.endswith("s")
        and not re.match(
            r"(?:tests?|times|errors|bugs|things|hours|minutes|days|ways|options|files|commands|years|months"
            r"|weeks)\b",
            noun,
        )
    ):
        yield Draft(f"number.{slug(noun + ' ' + match['verb'])}", value, LIKELY)


def _status(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    yield Draft("marital_status", match["x"].lower(), LIKELY)
    if match["n"]:
        yield Draft(f"number.years_{match['x'].lower()}", number(match["n"]), LIKELY)


def _weight(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    unit = {"kilos": "kg", "kilo": "kg", "lbs": "lb", "pounds": "lb"}.get(match["unit"].lower(), match["unit"].lower())
    yield Draft("weight", {"amount": int(match["n"]), "unit": unit}, LIKELY)


RULES: tuple[Rule, ...] = (
    rule(
        rf"(?:I've|I have|we've|we have) (?:now |already |also |so far )?(?P<verb>run|written|published"
        rf"|visited|read|completed|finished|taught|raised|fostered|climbed|lived in|worked at"
        rf"|founded|sold|bought|released|won|delivered|coached|designed|built) (?:about |over |around "
        rf"|nearly |almost )?(?P<n>\d{{1,5}}|{_WORDS}) (?P<what>[a-z]+(?: [a-z]+)?)(?:$|,| so far)",
        _done,
    ),
    rule(
        rf"{I_AM}(?:about |around |roughly )?(?P<n>1\d\d|2[0-3]\d) ?cm$",
        lambda match, seen: [Draft("height", {"amount": int(match["n"]), "unit": "cm"}, LIKELY)],
    ),
    rule(
        rf"{I_AM}(?:raising|bringing up|looking after|caring for|fostering|a (?:single )?(?:mum|mom|dad"
        rf"|parent) (?:of|to)) (?P<n>\d{{1,2}}|{_WORDS}) (?P<what>(?:[a-z]+ )?(?:kids|children|boys"
        rf"|girls|sons|daughters|teenagers|dogs|cats|toddlers))\b",
        lambda match, seen: [Draft(f"number.{slug(match['what'])}", number(match["n"]), LIKELY)],
    ),
    rule(
        rf"(?:I've|we've|I have|we have) been (?P<x>married|single|divorced|widowed|engaged|separated)"
        rf"(?: for (?:about |over |almost |nearly )?(?P<n>\d{{1,2}}|{_WORDS}) years)?",
        _status,
    ),
    rule(rf"{I_AM}(?:about |around |roughly )?(?P<n>\d{{2,3}}) ?(?P<unit>kg|kilos|lbs?|pounds)$", _weight),
    rule(
        rf"{I_AM}(?:the )?(?P<x>(?:youngest|oldest|eldest|middle|second|third) (?:child )?(?:of|out "
        rf"of) (?:\d{{1,2}}|{_WORDS}))\b",
        lambda match, seen: [Draft("my.birth_order", match["x"], LIKELY)],
    ),
    rule(
        rf"(?:I|we) {ADVERBS}(?:try to )?(?P<verb>save|spend|bill|charge|invoice|need|consume|burn)(?: "
        rf"for)? {_N} ?{_UNIT}(?: of [\w ]{{2,20}}?)?{_PER}",
        _doing,
    ),
    rule(
        rf"(?:I|we) {ADVERBS}(?:pay|spend) {_N} ?{_UNIT}?(?:{_PER})? (?:in|on|for) (?:my |our |the )?"
        rf"(?P<what>[a-z]+(?: [a-z]+)?)",
        _pays,
    ),
    rule(
        rf"{MY} (?P<what>(?:[\w-]+ ){{0,2}}[\w-]+) (?:takes(?: me)?|costs(?: me| us)?|lasts|weighs"
        rf"|measures|is worth|seats|holds|covers|averages|runs|pays(?: me)?|is) "
        rf"{_N}(?: ?(?P<unit>minutes?|mins?|hours?|days|km|kilomet(?:re|er)s|miles|kg|euros?|pounds"
        rf"|dollars|people|square \w+|sqm|sq ?ft|acres|hectares|gb|tb|percent)\b| (?:a|per) (?:month"
        rf"|week|year|night|day)\b)",
        _takes,
    ),
    rule(
        rf"it takes me {_N} ?(?P<unit>minutes?|mins?|hours?) to (?:get|drive|walk|cycle|commute|bike) (?:to"
        rf"|into) (?:work|the office|town|campus|school)",
        _trip,
    ),
    rule(rf"(?:I have|I've got|I've) an? (?P<n>\d+|{_WORDS})[- ](?P<unit>minute|hour|mile|km)[- ]commute\b", _trip),
    rule(
        rf"(?:{I_AM}|{MY} height is |I stand )(?P<ft>four|five|six|seven|[4-7])(?:[- ]?(?:foot|feet|ft"
        rf"|')(?:[ -]|$))(?:and )?(?P<inch>\d{{1,2}}|zero|one|two|three|four|five|six|seven|eight|nine"
        rf"|ten|eleven)?\b",
        _tall,
    ),
    rule(rf"(?:I {ADVERBS}weigh|{MY} weight is|{I_AM}) ?(?:about |around )?(?P<n>\d{{1,2}}|{_WORDS}) stone\b", _stone),
    rule(
        r"(?:I|we)(?:'ve| have) been (?P<what>[a-z]+ing(?: [\w+#]+){0,3}?) (?:professionally )?for "
        r"(?:about |over |around |nearly |almost |more than |the (?:last|past) )*"
        rf"(?P<n>\d{{1,2}}|{_WORDS})\+? years\b",
        _years,
    ),
    rule(
        rf"(?:there(?:'s| is| are) (?P<n>\d{{1,5}}|{_WORDS}) of us(?: (?:on|in|at) (?:my|our|the) "
        rf"(?P<where>team|company|family|house|household|group|lab|startup|department|squad|office|firm"
        rf"|home)| at (?P<at>home|work))?$)",
        _people,
    ),
    rule(
        rf"{MY} (?P<what>(?:[\w-]+ )?(?:house|flat|apartment|room|unit|account|customer|employee"
        rf"|membership|member|student|staff|locker|licen[cs]e|badge)) (?P<kind>number|id|no|plate)(?:'s"
        rf"| is) (?P<x>[\w-]{{1,12}})$",
        lambda match, seen: [Draft(f"my.{slug(match['what'] + ' ' + match['kind'])}", match["x"], LIKELY)],
    ),
    rule(
        rf"{MY} (?P<what>(?:[\w-]+ )?[\w-]+) (?P<verb>starts|begins|ends|finishes|opens|closes) at "
        rf"(?P<x>\d{{1,2}}(?::\d\d)?(?: ?[ap]\.?m\b\.?)?|noon|midnight)(?:$|,| every| on| each)|{MY} "
        rf"(?P<what2>(?:[\w-]+ )?[\w-]+) (?P<verb2>starts|begins|ends|finishes|opens|closes|is|are)(?: "
        rf"always)? (?:on|every) (?P<x2>(?:mon|tues|wednes|thurs|fri|satur|sun)days?)$",
        _regular,
    ),
    rule(
        rf"(?:{I_AM})(?:expecting|inviting|hosting|having) (?:about |around |over )?(?P<n>\d{{1,5}}"
        rf"|{_WORDS}) (?P<what>guests|people|visitors|attendees)\b",
        lambda match, seen: [Draft(f"number.{slug(match['what'])}", number(match["n"]), LIKELY)],
    ),
    rule(
        rf"{MY} (?:team|company|group|startup)(?:'s| has| have)?(?: just| recently)? (?:grown|grew|shrunk"
        rf"|shrank|expanded|gone up|gone down) to (?:about |around |over )?(?P<n>\d{{1,5}}|{_WORDS})"
        rf"(?P<where>)\b",
        _people,
    ),
    rule(
        rf"(?:we're|we are|{I_AM}(?:on|in|part of)) an? (?:team|company|startup|family|crew|household"
        rf"|group) of (?P<n>\d{{1,5}}|{_WORDS})(?P<where>)\b",
        _people,
    ),
    rule(
        rf"{I_AM}(?:in|on|part of) an? (?P<n>\d{{1,5}}|{_WORDS})[- ]person (?P<where>team|company|startup"
        rf"|household|family|firm)\b",
        _people,
    ),
    rule(
        rf"(?:{MY} blood (?:type|group) is|{I_AM}blood (?:type|group)) (?P<x>(?:A|B|AB|O)[ -]?"
        rf"(?:positive|negative|pos|neg|\+|-)?)",
        _blood,
    ),
)
