"""Events of the user's life with a date, resolved against the time of the message."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..keys import slug
from ..temporal import DateRange, Prefer, parse_dates
from .base import I_AM, I_HAVE, LIKELY, MY, Draft, Rule, Seen, rule
from .people import RELATION

_RECURRING = re.compile(r"\b(?:anniversary|birthday|name day)$", re.I)
_LIFE = {
    "graduated": "graduation",
    "graduate": "graduation",
    "graduating": "graduation",
    "got married": "wedding",
    "get married": "wedding",
    "getting married": "wedding",
    "married": "wedding",
    "got engaged": "engagement",
    "retired": "retirement",
    "retire": "retirement",
    "retiring": "retirement",
    "got divorced": "divorce",
    "gave birth": "birth",
    "due": "due_date",
}
_EVENT_STOP = re.compile(
    r"^(?:code|test|tests|build|server|question|problem|computer|internet|meeting notes|it|that|this|day|week"
    r"|weekend|time|(?:last|next|first|only|best|worst)$|favou?rite|birthday|date of birth|plan|guess)\b",
    re.I,
)
_DOING_STOP = re.compile(
    r"^(?:turning|staying|looking|trying|thinking|wondering|asking|having(?! (?:surgery|an operation"
    r"|a baby|an? \w+ removed))|getting(?! (?:surgery|braces|an? (?:tattoo|mri|ct scan|root canal)|my "
    r"\w+ (?:removed|out|done)))|being|seeing|feeling|hoping"
    r"|planning|considering|going on (?:holiday|vacation|leave)|free|available|busy|going to (?!"
    r"(?:the )?(?-i:[A-Z]))|doing|using|working|not)\b",
    re.I,
)


def only_date(text: str, seen: Seen, prefer: Prefer) -> DateRange | None:
    """The only date of a phrase, when the phrase ends with it."""
    found = parse_dates(text, seen.at, prefer=prefer)
    if len(found) != 1 or not re.fullmatch(
        r"[\s,.!]*(?:at .{1,30}|for .{1,40}|in [A-Z].{1,30}|with .{1,30}|and .*|to .{1,40})?", text[found[0].span[1] :]
    ):
        return None
    return found[0]


def date_value(found: DateRange, *, recurring: bool = False) -> str:
    if recurring and found.yearless:
        return f"--{found.start.month:02d}-{found.start.day:02d}"
    return found.iso


def before_date(text: str, found: DateRange) -> str:
    return re.sub(
        r"\s*\b(?:on|at|in|by|for|this|the|until|from|is|about|around|back|end of|beginning of|start of"
        r"|middle of|,)*\s*$",
        "",
        text[: found.span[0]].strip(" ,"),
        flags=re.I,
    )


def _mine(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    past = match["verb"].strip().lower() in ("was", "were", "started", "ended", "left", "happened", "took place")
    found = only_date(match["x"], seen, "past" if past else "future")
    what = match["what"].strip()
    if not found or before_date(match["x"], found) or _EVENT_STOP.match(what) or len(what.split()) > 5:
        return
    yield Draft(f"date.{slug(what)}", date_value(found, recurring=bool(_RECURRING.search(what))), LIKELY)


def _of_mine(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    found = only_date(match["x"], seen, "future")
    if found and not before_date(match["x"], found) and len(match["of"].split()) <= 3:
        yield Draft(
            f"date.{slug(match['of'] + ' ' + match['what'])}",
            date_value(found, recurring=bool(_RECURRING.search(match["what"]))),
            LIKELY,
        )


def _have(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    for part in re.split(r"\s+and (?:an? |my |another )", match["x"]):
        yield from _appointment(part, seen)


def _appointment(text: str, seen: Seen) -> Iterable[Draft]:
    found = only_date(text, seen, "future")
    if not found:
        return
    said = before_date(text, found)
    what = re.sub(r"\s+(?:with|at|in) .*$", "", said)
    if len(said.split()) > 7 or re.search(r"\b(?:who|which|that|i|we|from)\b", said, re.I):
        return
    if (
        what
        and len(what.split()) <= 4
        and not _EVENT_STOP.match(what)
        and not re.search(r"\b(?:question|problem|issue|bug|error|to(?! (?-i:[A-Z])))\b", what)
    ):
        yield Draft(f"date.{slug(what)}", date_value(found), LIKELY)


def _life(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    said = " ".join(match["verb"].lower().split())
    found = parse_dates(
        match["x"], seen.at, prefer="future" if said.endswith(("ing", "e", "due")) or said.startswith("get") else "past"
    )
    if found:
        yield Draft(f"date.{_LIFE[said]}", date_value(found[0]), LIKELY)


def _doing(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """I'm flying to Lisbon next month."""
    found = only_date(match["x"], seen, "future")
    if not found or (
        found.start < seen.at.replace(hour=0, minute=0, second=0, microsecond=0) and found.grain in ("day", "minute")
    ):
        return
    what = before_date(match["x"], found)
    if found.text.lower().startswith(("this", "today", "currently")) or re.search(
        r"\b(?:that|because|i|we)\b", what, re.I
    ):
        return  # how things go, not an event
    if 2 <= len(what.split()) <= 6 and not _DOING_STOP.match(what):
        yield Draft(f"date.{slug(what)}", date_value(found), LIKELY)


def _did(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    found = only_date(match["x"], seen, "past")
    if not found:
        return
    what = before_date(match["x"], found)
    if 1 <= len(what.split()) <= 4 and not re.match(
        r"(?:the|this|that|it|them|a test|looking|taking|getting|\w+ times|working|using|learning|a new (?:job"
        r"|role))\b",
        what,
        re.I,
    ):
        yield Draft(f"date.{slug(match['verb'] + ' ' + re.sub(r'^(?:an?|my) ', '', what))}", date_value(found), LIKELY)


def _moved(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    found = only_date(match["x"], seen, "past")
    if found and not before_date(match["x"], found):
        yield Draft(f"date.{slug(match['verb'])}", date_value(found), LIKELY)


def _born(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    found = only_date(match["x"], seen, "past")
    if found and not before_date(match["x"], found):
        yield Draft(f"date.{slug(match['rel'])}_born", date_value(found), LIKELY)


_IS = (
    r"(?P<verb> is up| is over| is| are| was| were| leaves| departs| starts| begins| ends| started| "
    r"ended| falls| takes place"
    r"| took place| happens| expires| runs out| is up| closes| opens| finishes| arrives| lands| is due"
    r"| is scheduled| is set| has been moved| got moved"
    r"| moved| will be)"
)
_ON = r"(?: due| scheduled| set| booked| planned| moved)?(?: for| to)?"

RULES: tuple[Rule, ...] = (
    rule(rf"{MY} (?P<what>[\w' -]{{2,50}}?){_IS}{_ON} (?P<x>\S.*)", _mine),
    rule(
        r"the (?P<what>deadline|due date|date|launch|release|start|end|kick-?off|closing|hearing|appointment"
        r"|interview|funeral|ceremony|party) (?:for|of) (?:my|our) (?P<of>[\w' -]{2,40}?)(?:'s| is| was) (?:on "
        r"|by |in )?(?P<x>\S.*)",
        _of_mine,
    ),
    rule(
        r"the (?P<what>(?:[\w-]+ ){0,3}(?:deadline|due date|launch|release|kick-?off|exam|appointment|interview"
        rf"|conference|wedding|ceremony|hearing|go-live)){_IS}{_ON} (?P<x>\S.*)",
        _mine,
    ),
    rule(rf"(?:{I_HAVE}|I've )(?:an? |my |another |to be at an? )(?P<x>\S.*)", _have),
    rule(
        r"(?:I|we)(?:'m|'re| am| are|'ll| will|'ve| have)? (?:just |both |finally |going to "
        r"|gonna )*(?P<verb>graduated|graduating|graduate|got married|getting married|get married|got engaged"
        r"|retired|retiring|retire|got divorced|gave birth|due)\b(?P<x>.*)",
        _life,
    ),
    rule(rf"{I_AM}(?P<x>[a-z]+ing \S.*)", _doing),
    rule(
        r"(?:I|we)(?:'ve| have)? (?:just |finally |first )*(?P<verb>quit|bought|sold|adopted|visited|broke|passed"
        r"|failed|lost|defended|got(?= my (?:[\w'-]+ ){0,2}(?:licen[sc]e|degree|diploma|visa|citizenship|green card"
        r"|certification|certificate|phd|braces|dog|puppy|kitten)\b)|had(?= (?:surgery|an? (?:baby|operation|stroke"
        r"|heart attack|accident)))|launched|published|founded|started|stopped(?! by)|ran|climbed"
        r"|finished) (?P<x>\S.*)",
        _did,
    ),
    rule(
        r"(?:I|we)(?:'ve| have)? (?P<verb>moved (?:here|in|out|abroad|in together)|arrived here|came here"
        r"|settled here) (?P<x>\S.*)",
        _moved,
    ),
    rule(rf"{MY} (?P<rel>{RELATION}) was born (?:on )?(?P<x>\S.*)", _born),
)
