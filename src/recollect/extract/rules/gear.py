"""Tools said in other ways than "I use …"."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..keys import slug
from .base import ADVERBS, CATEGORIES, GUESS, I_AM, LIKELY, MY, SURE, Draft, Rule, Seen, rule
from .tools import KNOWN, SYSTEMS, is_tool, tools_in, uses

_RECENTLY = r"(?:(?:just|recently|finally|completely|now|also|have|'ve|had|all) )*"


def _known(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    for name in tools_in(match["x"]):
        if slug(name).split("_")[0] in KNOWN or name.lower() in KNOWN:
            yield Draft(f"uses.tool.{slug(name)}", True, LIKELY)


def _instead(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """I ditched Chrome for Firefox."""
    old, new = tools_in(match["old"]), tools_in(match["x"])
    if old and new:
        yield from (Draft(f"uses.tool.{slug(name)}", False, LIKELY) for name in old)
        yield from (Draft(f"uses.tool.{slug(name)}", True, LIKELY) for name in new)


def _moved(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """We moved from MySQL to Postgres: both must be known, since people move between towns and firms too."""
    old, new = tools_in(match["old"]), tools_in(match["x"])
    if old and new and all(slug(name).split("_")[0] in KNOWN for name in [*old, *new]):
        yield from _instead(match, seen)


def _named(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """Figma is what we use; Emacs is my editor."""
    names = tools_in(match["x"])
    category = match["c"]
    if not names:
        return
    if category and re.fullmatch(CATEGORIES, category, re.I):
        yield Draft(f"uses.{slug(category)}", names[0], SURE)
        return
    yield from (Draft(f"uses.tool.{slug(name)}", True, LIKELY) for name in names)


def _driver(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    names = tools_in(re.sub(r"^(?:an?|my|the) (?:old |new |trusty )*", "", match["x"]))
    yield from (Draft(f"uses.tool.{slug(name)}", True, LIKELY) for name in names[:1])


def _ours(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    if re.match(
        r"(?:birthday|wedding|flight|meeting|name|problem|team|office|kids?|house|home|family)\b", match["what"], re.I
    ):
        return
    for name in tools_in(match["x"]):
        if slug(name).split("_")[0] in KNOWN or name.lower() in KNOWN:
            yield Draft(f"uses.tool.{slug(name)}", True, LIKELY)


def _device(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    name = match["x"].strip()
    if is_tool(name) and name.lower() not in SYSTEMS:
        yield Draft(f"uses.tool.{slug(name)}", True, GUESS)


def _bought(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    if not re.match(
        r"(?:PhD|MBA|BA|MA|BSc|MSc|ADHD|COVID|Covid|Monday|UTI|CT|MRI|HTTP|SSL|API|URL|ERROR"
        r"|[A-Z0-9]{1,2}$)",
        match["x"],
    ):
        yield Draft(f"owns.{slug(match['x'])}", True, LIKELY)


_WORK = (
    r"(?:do|write|draw|edit|plan|track|log|manage|organi[sz]e|keep|take|make|build|design|record|mix|store|schedule"
    r"|budget|read|draft|chat|talk|communicate|collaborate|coordinate|publish|host|monitor|train|compose|sketch|produce"
    r"|handle|process|visuali[sz]e|present|prepare|create|animate|render|teach|type|game|analy[sz]e"
    r"|cut|shoot|develop|document|run|ship|deploy|test|prototype|bank|invest|shop|stream"
    r"|listen|watch|journal|sync|save|back up|put|note|jot|capture|meditate)"
)

_DIGITAL = (
    r"(?:notes?|tasks|to-?dos?|taxes|docs|documents|documentation|designs?|wireframes|mockups|code"
    r"|coding|photos?|pictures|videos?|music|budget|budgeting|finances|expenses"
    r"|invoices|invoicing|spreadsheets|calendar|e-?mails?|passwords|recipes|bookmarks|references"
    r"|sprints|tickets|bugs|projects|planning|writing|drafts|slides"
    r"|presentations|research|reading|journal|journaling|accounting|accounts|bookkeeping|backups|life"
    r"|scheduling|calls|meetings|workouts|runs|rides|data|reports"
    r"|dashboards|diagrams|illustrations|drawings|models|tracks|beats|podcasts?|modelling|modeling"
    r"|editing|analysis|stats|statistics|plots|logs|screencasts|thesis"
    r"|manuscript|scripts|everything|stuff|banking|shopping|habits|meals|calories|sleep)"
)

RULES: tuple[Rule, ...] = (
    rule(
        r"(?:I|we) own an? (?P<x>(?:[a-z-]+ ){0,3}[a-z-]+(?: (?:in|on|near) (?-i:[A-Z])[\w ]{1,25})?)$",
        lambda match, seen: [Draft(f"owns.{slug(match['x'])}", True, LIKELY)],
    ),
    rule(
        r"(?:I|we)(?:'ve| have)? (?:just |recently |finally )*(?:moved|went|gone)(?: over)? from "
        r"(?P<old>\S.*?) to (?P<x>\S.*)",
        _moved,
    ),
    rule(
        r"(?:I|we)(?:'ve)? (?:just |recently |finally )*(?:got|bought|picked up|ordered|upgraded to"
        r"|treated myself to)(?: myself)? (?:an? |the |my )(?:new |used |second-hand |shiny )*"
        r"(?P<x>(?-i:[A-Z]|[a-z][A-Z])[\w+-]*(?: (?-i:[A-Z0-9])[\w+-]*){0,3})(?:$|,| last| this| "
        r"yesterday| in| on| for| from| and)",
        _bought,
    ),
    rule(
        r"(?:I|we) (?:write|draw|read|game|work|type|record|shoot|listen|watch|train|play|bake|cook|brew"
        r"|print|edit|take notes|run)\b(?: \w+){0,2}? (?:on|with) (?:an?|my) (?:old |new |trusty )?(?P<x>"
        r"(?-i:[A-Z]|[a-z]+[A-Z])[\w+-]*(?: [\w+-]+){0,2})$",
        _device,
    ),
    rule(
        rf"(?:I|we)(?:'ve got|'ve| have)? {_WORK[:-1]}|have|got|keep)?\b ?(?:all |most |basically "
        rf"|pretty much )*(?:of )?(?:my|our|the)? ?(?:whole |entire |own |daily |weekly |\w+ "
        rf")?{_DIGITAL} (?:in|on|with|through|via|into)"
        r" (?P<x>(?-i:[A-Z]).*)",
        uses,
    ),
    rule(
        rf"(?:my|our) (?:whole |entire )?{_DIGITAL} (?:in|on|with) (?P<x>(?-i:[A-Z]).*)",
        lambda match, seen: (
            uses(match, seen) if re.search(r"\b(?:keep|store|do|have|track|manage|write|put)\b", seen.sentence) else ()
        ),
    ),
    rule(r"(?:I|we|my|our)\b.* running (?P<x>(?-i:[A-Z]).*)", _known),
    rule(
        r"(?:everything|anything|all|whatever|most of what|the (?:code|stuff|apps?|services?)) (?:that )?"
        r"(?:I|we) \w+ (?:is |are |gets? )?(?:written|built|coded|runs?|lives?|deployed|hosted|done|goes) "
        r"(?:in|on|with|through|into) (?P<x>\S.*)",
        _known,
    ),
    rule(
        r"for (?:my |our )?[\w -]{3,25}?,? (?:it's|I go with|we have|we go with|I turn to|I've got|I have"
        r"|I rely on|I reach for) (?P<x>(?-i:[A-Z]).*)",
        uses,
    ),
    rule(
        r"(?:I|we) (?:cycle|ride|commute|get around|travel|bike|go to work)\b(?: to [\w ]{2,15}?)? (?:on"
        r"|by|with) (?:an?|my) (?P<x>(?-i:[A-Z])[\w -]*)$",
        lambda match, seen: [Draft("my.bike", match["x"], LIKELY)],
    ),
    rule(
        rf"(?:I|we) {ADVERBS}{_WORK}\b(?: (?!in\b|with\b|using\b|via\b|on\b)[\w'&-]+){{0,6}}? (?:in|on"
        rf"|with|to|through|via|into|inside|over)"
        r" (?P<x>\S.*)",
        _known,
    ),
    rule(
        rf"(?:I|we) {ADVERBS}{_WORK}\b(?: [\w'&-]+){{0,6}}? using (?P<x>\S.*)",
        uses,
    ),
    rule(
        rf"(?:I|we)(?:'ve)? {_RECENTLY}(?:ditched|swapped(?: out)?|traded(?: in)?|left|dropped"
        rf"|abandoned|exchanged|dumped|replaced"
        r"|gave up|given up|abandoned|deleted) (?P<old>\S.*?) (?:for|in favou?r of|and (?:moved"
        r"|switched|went) (?:over )?to) (?P<x>\S.*)",
        _instead,
    ),
    rule(
        rf"(?:I|we)(?:'ve)? {_RECENTLY}(?:standardi[sz]ed on|settled on|went with|gone with|chose"
        rf"|picked up|picked|adopted"
        r"|moved everything (?:to|into|over to)|went all[- ]in on|started using|set up|installed|signed up for"
        r"|subscribe to|subscribed to|swear by|depend on|stick (?:to|with)|stuck with|upgraded to"
        r"|work in|work with|code in|live in"
        r"|ended up (?:going with|using|with|on)|opted for|landed on|went for|decided on|are going "
        r"with|'re going with|moved (?:over )?to|switched over to|am learning|pay for)"
        r" (?P<x>\S.*)",
        _known,
    ),
    rule(
        rf"(?P<x>(?-i:[A-Z])[\w.+#]*(?: (?-i:[A-Z])[\w.+#]*){{0,2}}(?:(?:,| and) "
        rf"(?-i:[A-Z])[\w.+#]*)*) (?:is|are) (?:what (?:I|we) (?:use|run|work with|code in)"
        rf"|(?:my|our) (?:main |default |primary |daily |go-to |preferred )*(?:tool|tools|"
        rf"(?P<c>{CATEGORIES}))(?: of choice)?"
        r"|(?:my|our) (?:daily driver|weapon of choice|tool of choice)|how (?:I|we) (?:keep|stay|track|manage)\b.*)",
        _named,
    ),
    rule(
        rf"{MY} (?:daily driver|weapon of choice|tool of choice|main tool|tools?)(?: at work| at home)?"
        rf"(?:'s| is| are) (?P<x>\S.*)",
        _driver,
    ),
    rule(
        rf"{MY} (?P<what>(?:[\w-]+ ){{0,2}}[\w-]+) (?:is|are|lives?|sits?|runs?)(?: all| currently| now"
        rf"| mostly| still)?"
        r"(?: spent| kept| managed| tracked| stored| hosted| built| backed up| synced| deployed| done"
        r"| made| written)? (?:on|in|with|through|by|via) (?P<x>\S.*)",
        _ours,
    ),
    rule(
        r"(?:everything|the (?:backend|back end|frontend|front end|app|site|website|api|server|servers"
        r"|codebase|pipeline|database)"
        r"(?: (?:I|we) (?:built|maintain|work on|run))?) (?:runs|is (?:written|built|hosted|running"
        r"|deployed)) (?:on|in|with) (?P<x>\S.*)",
        lambda match, seen: _known(match, seen) if re.search(r"\b(?:we|our|my|I)\b", seen.sentence) else (),
    ),
    rule(
        rf"{I_AM}(?:still |now )*(?:writing|typing|working|browsing|running|recording)(?: this)? (?:on|in"
        rf"|from|with) (?:an? |my )(?P<x>(?-i:[A-Z]|[a-z][A-Z])[\w ]*?)(?:$|,)",
        _device,
    ),
    rule(
        rf"{I_AM}(?:an? )?(?:heavy |big |daily |avid |proud |regular |frequent )*(?P<x>(?-i:[A-Z])[\w.+#]*"
        rf"(?: (?-i:[A-Z])\w*)?) (?:user|subscriber|convert|power user)\b",
        _device,
    ),
    rule(
        r"I(?:'ve| have) been (?:an? )?(?:happy |heavy |daily |loyal )?(?P<x>(?-i:[A-Z])[\w.+#]*) (?:user"
        r"|subscriber|person|guy)\b",
        _device,
    ),
)
