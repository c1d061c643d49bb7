"""Homes, origins and clocks said in other ways than "I live in …"."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .base import ADVERBS, GUESS, I_AM, LIKELY, MY, SURE, Draft, Rule, Seen, rule
from .places import place
from .tools import KNOWN

_HOME = (
    r"(?:flat|house|apartment|place|home|room|studio|condo|cottage|townhouse|bungalow|loft|flatshare"
    r"|houseboat|cabin)"
)
_MINE = r"(?:an?|our|my)(?: (?!of\b)[\w-]+){0,3}? "


def _home(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = place(match["x"])
    if value and len(value.split()) <= 5 and value.lower() not in KNOWN:
        yield Draft("location", value, LIKELY)


def _two_homes(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    first, second = place(match["x"]), place(match["y"])
    if first and second:
        yield Draft("location", f"{first} and {second}", LIKELY)


def _origin(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = place(match["x"])
    if value and len(value.split()) <= 4:
        yield Draft("origin", value, LIKELY)


def _left(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    if re.search(
        r"\bwhen (?:I|we) (?:was|were)\b|\bas (?:a|an) (?:kid|child|baby|teenager|refugee|student)\b"
        r"|\bage\b|\bfled\b|emigrated",
        seen.sentence,
    ):
        yield from _origin(match, seen)


def _works_at(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = place(match["x"])
    if value and len(value.split()) <= 4:
        yield Draft("work_location", value, LIKELY)


def _zone(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    yield Draft("timezone", match["x"].strip(), SURE)


_NAME = r"(?P<x>(?-i:[A-ZÀ-ÞŠŽŁ])[\w'.-]*(?:,? (?-i:[A-ZÀ-ÞŠŽŁ])[\w'.-]*){0,2})"

RULES: tuple[Rule, ...] = (
    rule(
        rf".*\b(?:my|our) (?:home|house|flat|apartment|place) in {_NAME}",
        lambda match, seen: [Draft("location", match["x"], GUESS)],
    ),
    rule(
        r"(?:I|we) (?:live|reside|stay) at (?P<x>\d.*)",
        lambda match, seen: [Draft("address", match["x"].strip(" ."), SURE)],
    ),
    rule(
        rf"(?:I|we) live (?:like |about |around |just |only )*(?:\d+|an?|a few|five|ten|twenty|two"
        rf"|three|half an) ?(?:min|mins|minutes|km|miles|hours?|kilometres|kilometers)"
        rf"(?:'s?)? (?:drive |walk |train ride )?(?:north|south|east|west|outside|away|from|north-?\w+"
        rf"|south-?\w+)(?: of| from)? {_NAME}",
        _home,
    ),
    rule(
        rf"(?:greetings|hello|hi|hey|hiya|good (?:morning|evening|afternoon))(?: there| all| everyone)?,? "
        rf"from (?:[a-z]+ )?{_NAME}$",
        _home,
    ),
    rule(
        rf"(?:I'll|we'll|I will|we will) be (?:living|based|staying|working) in {_NAME}",
        lambda match, seen: [Draft("location", match["x"], GUESS)],
    ),
    rule(rf".*\b(?:but|and|though) {_NAME} is (?:now )?(?:home|my home|our home)\b", _home),
    rule(
        r"(?:I|we) live (?:like |about |around |just |only )*(?:\d+|a few|five|ten|twenty|two|three|half "
        r"an) ?(?:min|mins|minutes|km|miles|hours?|blocks|kilometres|kilometers|minutes' walk)\b.*\bin "
        r"(?P<x>[^,]{2,30})$",
        _home,
    ),
    rule(
        r"(?:I|we) spent (?:my|our|most of my|much of my) (?:childhood|youth|early years|formative years"
        r"|teens|teenage years) in (?P<x>\S.*)",
        _origin,
    ),
    rule(
        rf"{I_AM}an? (?:dual )?(?:citizen|national|native) of (?P<x>\S.*)",
        lambda match, seen: [Draft("nationality", value, LIKELY)] if (value := place(match["x"])) else [],
    ),
    rule(
        r"(?:I|we) (?:hold|have|carry|travel on) an? (?P<x>(?-i:[A-Z])[a-z]+) passport\b",
        lambda match, seen: [Draft("nationality", match["x"], LIKELY)],
    ),
    rule(
        rf"{MY} (?:[\w-]+ )?(?:office|headquarters|hq|company|team|lab)(?: has| have|'s)?(?: just| "
        rf"recently)? (?:moved|relocated) to (?P<x>(?-i:[A-Z])\S*.*)",
        lambda match, seen: _works_at(match, seen) if match["x"].split()[0].strip(",.").lower() not in KNOWN else (),
    ),
    rule(
        rf"(?:I have|I've got|we have|we've got|I own) (?:an? |my own |our own )(?:[a-z]+ )?(?:place|flat"
        rf"|apartment|studio|condo) in {_NAME}$",
        lambda match, seen: [Draft("location", match["x"], GUESS)],
    ),
    rule(rf"(?:you'll|you will|you can)(?: usually| mostly| always)? find me in {_NAME}$", _home),
    rule(
        r"(?:I|we) (?:grew up|was raised|were raised) between (?P<x>\S.*)",
        lambda match, seen: [Draft("origin", " ".join(match["x"].split()[:3]), LIKELY)],
    ),
    rule(
        rf"(?:I|we) (?:live|reside|stay) (?:on|in|at|above|over|next to|across from) (?:an?|the|my) "
        rf"(?:[\w-]+ ){{1,7}}in {_NAME}$",
        _home,
    ),
    rule(rf"{I_AM}(?:living|staying|back)(?: back)? (?:with|at) (?:my|our) [\w' ]{{2,25}}? in {_NAME}", _home),
    rule(
        rf"{I_AM}(?:writing|calling|messaging|chatting|typing|coming|joining|dialling in|dialing in"
        rf"|logging in)(?: to you| in| at you)* from (?:[a-z]+ ){{0,2}}{_NAME}",
        _home,
    ),
    rule(
        rf"(?:I|we) work(?:ing)? (?:remotely|from home|remote)(?: full-time)? (?:from|in|out of) (?:[a-z]+ "
        rf"){{0,2}}{_NAME}",
        _home,
    ),
    rule(
        rf"(?:I|we) (?:left|fled|emigrated from|came (?:here )?from) {_NAME}(?: as a| at (?:the )?age| in "
        rf"(?:19|20)\d\d| at \d|$)",
        _left,
    ),
    rule(
        rf"(?:I|we)(?:'ve|'re|'m)? {ADVERBS}(?:moved|moving|move|settled|live|living|rent|renting|share"
        rf"|sharing|found|got"
        rf"|bought)(?: back| in| into| down)*(?: in| into| to)? {_MINE}{_HOME}(?: of (?:my|our) own)?"
        r"(?: with [\w ]{2,20}?)? (?:in|near|outside|by|on) (?P<x>\S.*)",
        _home,
    ),
    rule(
        r"(?:I|we)(?:'ve| have)? (?:just |recently |finally |now )*(?:settled|resettled|put down roots|set up home)"
        r"(?: down)? (?:in|near) (?P<x>\S.*)",
        _home,
    ),
    rule(r"(?:I|we)(?:'ve| have)? (?:just |recently )*made (?P<x>\S.*?) (?:my|our) home\b", _home),
    rule(
        rf"{_NAME} (?:is|has been) (?:now )?(?:home(?: now| for (?:me|us)| to (?:me|us))?|(?:my|our) "
        rf"(?:home|base|home base)"
        r"|where (?:I|we) (?:live|reside|call home)|where (?:I'm|we're) (?:based|living))\b(?! to\b)(?! town)",
        _home,
    ),
    rule(rf"{I_AM}(?:an? (?:[\w-]+ )?)?{_NAME}-based\b", _home),
    rule(r"(?:I|we) (?:split|divide|spend) (?:my|our) time between (?P<x>\S.*?) and (?P<y>\S.*)", _two_homes),
    rule(rf"{I_AM}(?:now |back )+in {_NAME}(?:$|,| (?:now|again|after|since|these days)\b)", _home),
    rule(
        rf"{I_AM}an? (?:native of {_NAME}|(?P<y>(?-i:[A-Z])\w+(?: (?-i:[A-Z])\w+)?) native\b)",
        lambda match, seen: [Draft("origin", match["x"] or match["y"], LIKELY)],
    ),
    rule(rf"{MY} (?:family|folks|parents|people) (?:is|are|come|comes)(?: originally)? from (?P<x>\S.*)", _origin),
    rule(
        r"(?:I|we) (?:left|emigrated from|fled|moved away from) (?P<x>(?-i:[A-Z])\S*.*?) (?:for (?:good"
        r"|the)|as a (?:kid|child))",
        _origin,
    ),
    rule(
        rf"(?:I {ADVERBS}work|{I_AM}(?:working )?) ?(?:out of|from|in|at) (?:my|our|the|their|the "
        rf"company's) {_NAME} office\b",
        _works_at,
    ),
    rule(
        rf"(?:{MY}|the) (?:office|headquarters|hq|lab|workplace|shop|studio)(?:'s| is| are) (?:based "
        rf"|located )?(?:in|at|near) (?P<x>\S.*)",
        _works_at,
    ),
    rule(
        rf"(?:{I_AM}(?:currently |working )?(?:in|on)|I work(?: on)?|I keep|{MY} clock is(?: on)?)(?: the)? "
        r"(?P<x>(?-i:[A-Z])[a-z]+(?: (?-i:[A-Z])[a-z]+)?)(?= (?:standard |daylight )?(?:time|time ?zone|hours)\b)",
        _zone,
    ),
    rule(rf"{I_AM}on (?P<x>Pacific|Eastern|Central|Mountain)(?:$|,|\.)", _zone),
    rule(
        rf"{I_AM}(?P<x>(?:\d{{1,2}}|one|two|three|four|five|six|seven|eight|nine|ten) hours? (?:ahead of|behind) "
        r"(?:you|UTC|GMT|(?-i:[A-Z])\w+(?: (?-i:[A-Z])\w+)?))",
        lambda match, seen: [Draft("timezone", match["x"], GUESS)],
    ),
)
