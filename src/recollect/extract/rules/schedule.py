"""Dates said in other ways than "my exam is on …": meetings with somebody, deadlines, starts, absences."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..keys import slug
from ..temporal import parse_dates
from .base import I_AM, LIKELY, MY, Draft, Rule, Seen, rule
from .events import before_date, date_value, only_date

_EVENT = (
    r"(?:deadline|due date|launch|release|kick-?off|exam|appointment|interview|conference|wedding"
    r"|ceremony|hearing|go-live|meeting|call"
    r"|demo|presentation|review|workshop|retro|standup|stand-up|flight|trip|party|funeral|concert|gig"
    r"|race|marathon|surgery|operation"
    r"|checkup|check-up|move|closing|graduation|reunion|visit|delivery|hand-?in|submission|defen[cs]e"
    r"|viva|audit|offsite|holiday"
    r"|vacation|renewal|inspection|session|class|course|training|onboarding|recital|match|tournament|sprint)"
)
_IS = (
    r"(?:'s| is| are| was| will be| falls| starts| begins| has been moved| got moved| is due| is "
    r"scheduled| is set| is booked| takes place)"
)


def _event(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """The kickoff with my client is next Thursday."""
    past = bool(re.search(r" was$", match["verb"], re.I))
    found = only_date(match["x"], seen, "past" if past else "future")
    if re.search(r"\b(?:i|we|you|that|thought|think|was|is|if|when)\b", match["what"], re.I):
        return
    if found and not before_date(match["x"], found):
        yield Draft(f"date.{slug(match['what'])}", date_value(found), LIKELY)


def _start(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """I start my new job on Monday."""
    found = only_date(match["x"], seen, "future")
    if not found:
        return
    what = re.sub(r"^(?:my|the|an?|our) ", "", before_date(match["x"], found), flags=re.I)
    verb = match["verb"].lower()
    if len(what.split()) <= 5 and not re.search(
        r"^(?:to|fresh|over|with|by|from)\b|\b(?:this|that|it|again|them)\b|^\w+ing\b", what
    ):
        yield Draft(f"date.{slug(f'{verb} {what}'.strip())}", date_value(found), LIKELY)


def _by(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """I need to hand in my thesis by Friday: a deadline of the user's own."""
    found = only_date(match["x"], seen, "future")
    if found:
        what = re.sub(r"^(?:an?|my|our|the) ", "", match["what"].strip(), flags=re.I)
        if 1 <= len(what.split()) <= 6:
            yield Draft(f"date.{slug(what + ' deadline')}", date_value(found), LIKELY)


def _away(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    found = parse_dates(match["x"], seen.at, prefer="future")
    if found and found[0].start >= seen.at.replace(hour=0, minute=0, second=0, microsecond=0):
        yield Draft(f"date.{slug(match['what'])}", found[0].iso, LIKELY)


def _expecting(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    found = parse_dates(match["x"], seen.at, prefer="future")
    if found:
        yield Draft("date.due_date", found[0].iso, LIKELY)


def _since(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """We've been together since 2014."""
    found = parse_dates(match["x"], seen.at, prefer="past")
    if found:
        yield Draft(f"date.{slug(match['what'])}_since", found[0].iso, LIKELY)


def _of_mine(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """The lease on our flat ends on 31 January."""
    found = only_date(match["x"], seen, "future")
    if found and not before_date(match["x"], found):
        yield Draft(f"date.{slug(match['of'] + ' ' + match['what'])}", date_value(found), LIKELY)


def _signed(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    found = only_date(match["x"], seen, "past")
    if found and not before_date(match["x"], found):
        yield Draft(f"date.{slug(match['verb'] + ' ' + match['what'])}", date_value(found), LIKELY)


def _until(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """My contract runs until the end of 2027."""
    found = parse_dates(match["x"], seen.at, prefer="future")
    if found:
        yield Draft(f"date.{slug(match['what'] + ' end')}", found[0].iso, LIKELY)


def _born_soon(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    found = parse_dates(match["x"], seen.at, prefer="future")
    if found:
        yield Draft("date.due_date", found[0].iso, LIKELY)


RULES: tuple[Rule, ...] = (
    rule(
        r"the (?P<what>[\w-]+(?: [\w-]+)?) (?:on|for|of) (?:my|our) (?P<of>[\w' -]{2,30}?) (?:is due"
        r"|is|ends|expires|runs out|starts|is up|begins|renews)(?: on| in| by)? (?P<x>\S.*)",
        _of_mine,
    ),
    rule(
        r"(?:I|we)(?:'ve| have)? (?:just |finally )*(?P<verb>handed in|submitted|turned in|signed"
        r"|filed|renewed|received|completed|gave|put in) (?:my|our) "
        r"(?P<what>(?:\w+ )?(?:notice|resignation|thesis|dissertation|lease|contract|will|papers"
        r"|application|diploma|passport|licen[sc]e|visa|manuscript|mortgage)) (?P<x>\S.*)",
        _signed,
    ),
    rule(
        rf"{MY} (?P<what>(?:[\w-]+ ){{0,2}}[\w-]+) (?:runs|lasts|is valid|is good|goes|is open|is paid|is "
        rf"booked|continues) (?:until|till|through|to|up to) (?P<x>\S.*)",
        _until,
    ),
    rule(
        rf"{MY} (?:first |second |next )?(?:baby|son|daughter|child|twins|little one) (?:is|are) due "
        rf"(?P<x>\S.*)",
        _born_soon,
    ),
    rule(
        rf"(?:the|{MY}) (?P<what>(?:[\w'-]+ ){{0,3}}?{_EVENT}) (?:with|at|on|to|about|for (?!my|our)"
        rf"|of (?!my|our))(?: ?[\w'&-]+){{1,4}}?(?P<verb>{_IS})"
        r"(?: due| scheduled| set| booked| planned| moved)?(?: for| to| on| by| at)? (?P<x>\S.*)",
        _event,
    ),
    rule(
        rf"(?:the |next )?(?P<what>(?!my|our)(?:[\w'-]+ ){{0,3}}?{_EVENT})(?P<verb>{_IS}|:)(?: due| "
        rf"scheduled| set| booked| planned| moved)?(?: for| to| on| by| at)? (?P<x>\S.*)",
        lambda match, seen: _event(match, seen) if re.search(r"\b(?:we|our|my|I)\b", seen.sentence) else (),
    ),
    rule(
        r"(?:I|we)(?:'m|'re| am| are|'ll| will| 'll be| will be|'ll be)? (?:officially |finally "
        r"|supposed to )?(?P<verb>start|starting|begin|beginning|finish|finishing|leave|leaving|fly"
        r"|flying|travel|traveling|travelling"
        r"|move|moving|launch|launching|graduate|graduating|retire|retiring|close on|closing on|depart"
        r"|departing|return|returning|defend|defending|present|presenting|compete|competing|host"
        r"|hosting"
        r"|run|running) (?P<x>\S.*)",
        _start,
    ),
    rule(
        rf"(?:(?:I|we)(?:'ve| have)? (?:need to|must|got to|have to|gotta)|{I_AM}(?:supposed|expected"
        rf"|required) to) (?:hand in|submit|turn in|deliver|finish|send in|file|renew|complete|pay|ship"
        rf"|release|publish)"
        r" (?P<what>(?:my|our|the) [\w' -]{2,40}?) (?:by|before|on) (?P<x>\S.*)",
        _by,
    ),
    rule(
        rf"(?:{I_AM}|(?:I|we)(?:'ll| will) be )(?:going )?(?:(?P<what>away|off work|on (?:holiday"
        rf"|vacation|leave|parental leave|maternity leave|paternity leave|annual leave|sabbatical)|out "
        rf"of (?:the )?office|out|off)) (?P<x>\S.*)",
        _away,
    ),
    rule(rf"{I_AM}(?:expecting|pregnant and due|due)\b(?P<x>.*)", _expecting),
    rule(
        r"(?:I|we)(?:'ve| have) been (?P<what>together|married|engaged|sober|smoke-free|friends|clean)"
        r"(?:,)? (?P<x>since .*)",
        _since,
    ),
)
