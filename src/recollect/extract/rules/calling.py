"""Names and handles said in other ways than "my name is …"."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..keys import slug
from ..phrases import lowercase_name, person
from .base import GUESS, LIKELY, MY, SURE, Draft, Rule, Seen, rule, vocabulary

_NOT_NAMED = vocabulary(
    "able about abroad ace afraid alive all alone alright also annoyed asleep at available away "
    "awake aware back bad beat behind"
    " better big blind bored born broke busy calm certain clear clueless cold confident confused "
    "content cool crazy curious dead"
    " deaf deep desperate different dizzy done down dumb early exhausted excited familiar fat fed "
    "female fine first free full"
    " furious game gay glad gone good grateful great guilty half happy hard here hesitant high home "
    "hopeful horrible hot hungry"
    " ill impressed in interested intrigued into jealous keen kind lame late lazy left like lonely "
    "lost low lucky mad male mean"
    " miserable moving nearly nervous new newbie next nice noob off ok okay old on open out over "
    "overwhelmed own pleased poor"
    " positive pregnant proud puzzled quite ready really right sad safe same scared serious short "
    "shy sick silly single sleepy"
    " slow small so soaked sober some sorry starving stuck stupid super sure surprised tall terrible "
    "thankful there thin thirsty"
    " tired too torn traveling trying two unable under unsure up upset used using useless very vegan "
    "warm weak weird well whatever"
    " willing worried wrong young your studying working living looking having going doing getting "
    "making a an the not from just"
    " still only my our more most writing calling reaching thinking wondering planning hoping building running learning"
)


def _shown(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """It's Henrik with a k: only the spelling tells that it is a name."""
    name = person(match["x"])
    if name and name == match["x"].strip(" ,"):
        yield Draft("name", name, LIKELY)


def _small(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """hi im jonas: a small name after a greeting, or before an age or a place."""
    name = match["x"]
    hello = r"(?:hi|hey|hello|hiya|yo|good (?:morning|evening|afternoon)|greetings|sup)\b"
    greeted = re.match(hello, seen.sentence, re.I) or re.match(hello, seen.before, re.I)
    told = re.match(
        r"\s*,? (?:\d\d\b|from [a-zà-ÿ]|and i(?:'m| am| work| live)?\b)", seen.clause[match.end() :] or "", re.I
    )
    follows = re.search(rf"\b{re.escape(name)}\b\s*,? (?:\d\d\b|from [a-zà-ÿ])", seen.sentence, re.I)
    if name.lower() in _NOT_NAMED or name.lower().endswith(("ing", "ed", "ly")) or not name.isalpha() or len(name) < 3:
        return
    if name[0].islower() and (
        (greeted and (seen.clause.strip() == match[0].strip() or " from " in seen.clause)) or told or follows
    ):
        yield Draft("name", name, GUESS)


def _small_again(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """hey its marco from support."""
    met = re.match(
        r"(?:hi|hey|hello|hiya|yo)[,! ]+(?:there|all|team|again)?[,! ]*(?:it's|its|this is) \w+ (?:from"
        r"|here|again)",
        seen.sentence,
        re.I,
    )
    if met and match["x"] not in _NOT_NAMED:
        yield Draft("name", match["x"], GUESS)


def _greeting(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """Hey, it's Oksana: a greeting makes it a name."""
    met = re.match(
        r"(?:hi|hey|hello|hiya|yo|good (?:morning|evening|afternoon)|greetings)\b", seen.sentence, re.I
    ) or re.search(r"\b(?:nice|pleased|great|good|lovely) to meet you\b", seen.sentence, re.I)
    name = person(match["x"])
    if (
        met
        and name
        and not re.match(r"(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|Christmas|Me)\b", name)
    ):
        yield Draft("name", name, LIKELY)


def _called(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    name = person(match["x"]) or lowercase_name(match["x"])
    if name and name.lower() not in ("it", "that", "this", "names", "my", "his", "her"):
        yield Draft("nickname", name, SURE)


def _short(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    nick, full = person(match["nick"] or ""), person(match["x"])
    if full:
        yield Draft("name", full, LIKELY)
    if nick:
        yield Draft("nickname", nick, LIKELY)


def _is_my_name(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    name = person(match["x"])
    if name and name == match["x"].strip():
        yield Draft("name", name, SURE)


def _handle(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    where = (match["where"] or match["on"] or "").strip().lower()
    yield Draft(f"my.{slug(where + ' handle')}", match["x"].rstrip(".,"), LIKELY)


_SITES = (
    r"(?:github|gitlab|twitter|x|instagram|discord|telegram|slack|linkedin|mastodon|bluesky|reddit"
    r"|skype|signal|whatsapp|steam|tiktok|insta|youtube)"
)

RULES: tuple[Rule, ...] = (
    rule(
        r"(?:it's |it is |that's |I'm |my name is |the name's )(?:spelled |spelt |written )?(?P<x>"
        r"(?-i:[A-ZÀ-Þ])[\w'-]+(?: (?-i:[A-ZÀ-Þ])[\w'-]+)?),? "
        r"(?:with (?:an?|one|two|double|no|the|just one) |spelled |spelt |without |no )(?:[\w]{1,6}\b|\S)",
        _shown,
    ),
    rule(
        r"(?:it's|it is|this is) (?P<x>(?-i:[A-ZÀ-Þ])[\w'-]+(?: (?-i:[A-ZÀ-Þ])[\w'-]+)?)(?=$|[,.!]| "
        r"again| speaking| here)",
        _greeting,
    ),
    rule(r"(?:it's|its|this is) (?P<x>(?-i:[^\W\d_A-Z]{3,15}))(?=$|,| from | here| again)", _small_again),
    rule(
        r"(?:folks|people|friends|colleagues|everyone|everybody|mates|my \w+)(?: (?:at|in|on|from"
        r"|back) (?:the |my |our )?\w+)?(?: all| just| usually| mostly)? (?:calls?|knows?) me(?: as)? "
        r"(?P<x>\S.*)",
        _called,
    ),
    rule(r"I(?:'m| am) (?P<x>[^\W\d_]{3,15})(?=$|,| and i\b| from\b)", _small),
    rule(
        r"(?:please |just |you (?:can|may|could) (?:also )?|feel free to )*(?:address me as|refer to "
        r"me as|call me) (?:just )?(?P<x>(?-i:[A-ZÀ-Þ]).*)",
        _called,
    ),
    rule(
        r"(?:I(?:'m| am) (?:known|better known|usually known|mostly known) (?:as|by)|I (?:usually "
        r"|mostly |also |generally )?(?:answer to|sign(?: everything| my emails)? as)"
        r"|I(?:'d| would)? (?:prefer|like|rather) (?:to be called|being called|to go by|be called)|"
        r"(?:everyone|everybody|my \w+|(?:most |some )?people|they|folks|friends|mates|colleagues)"
        r"(?: at work| here)?(?: usually| just| always| all| mostly)? (?:calls? me|knows? me as|says?"
        r"(?= (?-i:[A-Z])\w+$))|you (?:may|might) know me as|I've always been called"
        r"|I get called|I was named|I go by|mates call me|friends call me) (?P<x>\S.*)",
        _called,
    ),
    rule(
        r"(?:it's |it is )?(?:pronounced \S+,? (?:but|and) )?(?:it's )?(?:spelled|spelt|written) (?P<x>"
        r"(?-i:[A-Z])[\w'-]+)$",
        _shown,
    ),
    rule(r"(?P<nick>(?-i:[A-Z])\w+)(?:'s| is) short for (?P<x>(?-i:[A-Z])\w+)", _short),
    rule(r"(?:it's|that's|which is) (?P<nick>)short for (?P<x>(?-i:[A-Z])\w+)", _short),
    rule(
        r"(?P<x>(?-i:[A-ZÀ-Þ])[\w'-]+(?: (?-i:[A-ZÀ-Þ])[\w'-]+){0,2}) is (?:my (?:full |real |actual "
        r")?name|the name|what (?:people|they|everyone) calls? me)\b",
        _is_my_name,
    ),
    rule(
        rf"(?:{MY} (?P<where>{_SITES}? ?)(?:handle|username|user name|nick|login|id|account|tag)(?: on "
        rf"(?P<on>{_SITES}))?(?:'s| is|:) )@?(?P<x>[\w.@-]{{2,40}})",
        _handle,
    ),
    rule(rf"I(?:'m| am) (?P<where>)(?P<x>@?[\w.-]{{2,40}}) on (?P<on>{_SITES})\b", _handle),
    rule(
        rf"(?:you can )?(?:find|follow|add|message|dm|ping) me (?:on|at) (?P<where>)(?P<on>{_SITES}) (?:as"
        rf"|at|under|with|via|is|,)? ?(?P<x>@?[\w.-]{{2,40}})$",
        _handle,
    ),
)
