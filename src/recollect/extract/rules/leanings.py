"""Likes and dislikes said in other ways than "I like …"."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..keys import slug
from ..phrases import cut
from .base import ADVERBS, I_AM, LIKELY, MY, Draft, Rule, Seen, rule
from .taste import liked, likes

_OPINION = re.compile(
    r"^(?:i|we|my|our|if|when|it|that|this|these|those|which|he|she|they|you|there|what|everything"
    r"|nothing|one|(?:the|your|his|her) .*)\b"
    r"|\b(?:error|code|bug|test|file|answer|build)$",
    re.I,
)


def _dislikes(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    return liked(match, False)


def _subject(match: re.Match[str], positive: bool) -> Iterable[Draft]:
    """Mushrooms make me sick: what it is said of stands first."""
    what = re.sub(r"^(?:an?|any|all|some|eating|drinking) ", "", match["x"].strip(), flags=re.I)
    what = re.sub(
        r"(?: (?:really|just|always|totally|absolutely|definitely|only|also|still|often|usually))+$", "", what
    )
    if what and not _OPINION.match(what) and len(what.split()) <= 4:
        yield Draft(f"likes.{slug(what)}", positive, LIKELY)


def _over(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """Give me tea over coffee any day."""
    what = re.sub(r"^(?:an?|the|my) ", "", cut(match["x"], words=4))
    if what and not _OPINION.match(what):
        yield Draft(f"likes.{slug(what)}", True, LIKELY)


_BAD = (
    r"(?:unbearable|boring|dull|awful|annoying|disgusting|gross|terrible|overrated|stressful"
    r"|exhausting|tedious|insufferable|horrible|irritating"
    r"|nauseating|repulsive|distracting|draining|hard to stomach|too sweet|too spicy|too loud|bland)"
)
_GOOD = (
    r"(?:relaxing|soothing|fascinating|delicious|amazing|fun|beautiful|calming|therapeutic|inspiring"
    r"|addictive|irresistible|delightful|comforting"
    r"|wonderful|fantastic|interesting|great fun|exciting)"
)
_DOERS = {
    "drinker": "drinking",
    "smoker": "smoking",
    "reader": "reading",
    "gamer": "gaming",
    "runner": "running",
    "cook": "cooking",
    "dancer": "dancing",
    "gambler": "gambling",
    "sleeper": "sleep",
    "swimmer": "swimming",
    "morning person": "mornings",
    "talker": "talking",
}
_THING = r"(?P<x>[\w'&-]+(?: [\w'&-]+){0,4}?)"

RULES: tuple[Rule, ...] = (
    rule(
        r"(?:I|we)(?:'ve got| have) an? (?:strong |slight |clear |definite |personal )?preference for "
        r"(?P<x>\S.*)",
        likes,
    ),
    rule(
        r"(?:I|we) (?:really |always )?(?:appreciate|value|favou?r) (?P<x>(?!having|being|the|your|you|it"
        r"|that|this|any|all|how|what|if|everything|every|a|his|her|their)\S.*)",
        likes,
    ),
    rule(
        rf"{I_AM}an? (?P<x>(?:cat|dog|tea|coffee|beach|mountain|city|country|summer|winter|wine|beer"
        rf"|chocolate|savou?ry|sweet|book|film|board game|(?!news|people|always|sports"
        rf"|numbers)[a-z]{{3,12}}s)) person(?:$|,)",
        likes,
    ),
    rule(
        rf"{_THING} (?:is|are) (?:the one|one|the only|about the only) (?:thing|food|drink|sport|genre"
        rf"|dish)s? (?:that )?I (?:refuse to \w+|can't \w+|won't \w+|will never \w+|hate|never \w+)",
        lambda match, seen: _subject(match, False),
        negative=True,
    ),
    rule(
        rf"{_THING} (?:is|are) (?:the one|one|the only) (?:thing|food|drink|sport|genre|dish)s? (?:that "
        rf")?I (?:refuse to \w+|hate)",
        lambda match, seen: _subject(match, False),
    ),
    rule(
        rf"{I_AM}off (?P<x>(?!work|to|for|on|the|today|sick|duty|school|now|tomorrow|this|until|again"
        rf"|and)[a-z]+)(?:$| since| for| until)",
        lambda match, seen: _subject(match, False),
    ),
    rule(
        rf"{I_AM}not (?:really |exactly )?(?:much of |that much of )?an? (?:big |heavy |great |huge |keen "
        rf")?(?P<x>{'|'.join(_DOERS)})$",
        lambda match, seen: [Draft(f"likes.{_DOERS[match['x'].lower()]}", False, LIKELY)],
        negative=True,
    ),
    rule(
        rf"{I_AM}an? (?:big |avid |keen |voracious |passionate |heavy )(?P<x>{'|'.join(_DOERS)})$",
        lambda match, seen: [Draft(f"likes.{_DOERS[match['x'].lower()]}", True, LIKELY)],
    ),
    rule(
        r"(?:I|we) (?:love|like|enjoy|adore) the (?P<x>(?:smell|taste|feel|sight) of [\w' -]{3,40}?)(?: in"
        r"| when| after|$)",
        lambda match, seen: (
            [Draft(f"likes.{slug(match['x'])}", True, LIKELY)]
            if not re.search(r"\b(?:this|that|it|your|these)\b", match["x"])
            else []
        ),
    ),
    rule(
        rf"(?:I|we) find {_THING} (?:really |very |so |quite |pretty |a bit |incredibly |absolutely "
        rf"|extremely )*{_BAD}$",
        lambda match, seen: _subject(match, False),
    ),
    rule(
        rf"(?:I|we) find {_THING} (?:really |very |so |quite |pretty |incredibly |absolutely |extremely "
        rf")*{_GOOD}$",
        lambda match, seen: _subject(match, True),
    ),
    rule(
        rf"{_THING} tastes? (?:like (?:soap|dirt|cardboard|feet)|{_BAD})(?: to me)?$",
        lambda match, seen: _subject(match, False),
    ),
    rule(
        r"(?:there's |there is )?(?:nothing|not much) (?:I|we) (?:love|like|enjoy) more than (?P<x>\S.*)",
        lambda match, seen: [
            Draft(
                f"likes.{slug(re.sub(r'^(?:an? )?(?:good |nice |great )?', '', cut(match['x'], words=5)))}",
                True,
                LIKELY,
            )
        ],
        negative=True,
    ),
    rule(
        rf"(?:{I_AM}(?:an? )?(?:big |huge |real |total |complete )?(?:sucker for|partial to|mad about"
        rf"|nuts about|hooked on"
        r"|devoted to|big on|heavily into|all about|really about|a fan of)"
        r"|(?:I|we) (?:have|'ve got) an? (?:soft spot|weakness|thing|passion|fondness|love) for|I've "
        r"(?:got )?an? (?:soft spot"
        rf"|weakness|thing|passion) for|(?:I|we) {ADVERBS}(?:live for|can't live without|am fond of|have always loved"
        r"|'ve always (?:loved|liked|enjoyed)|go for|go crazy for|lean towards?|favou?r|binge|geek "
        r"out (?:on|over)|unwind with)"
        r"|(?:I|we)'ve (?:always )?(?:loved|liked|enjoyed|been into|adored)|(?:I|we)'ve always "
        r"(?:loved|liked|enjoyed|been into)) (?P<x>\S.*)",
        likes,
    ),
    rule(
        r"(?:I|we) (?:can't|couldn't) (?:live|function|do|work|code|write|survive|manage|cope|start (?:the"
        r"|my) day) without (?P<x>\S.*)",
        likes,
        negative=True,
    ),
    rule(
        r"(?:I|we) (?:don't (?:do|touch|care (?:much )?for|go for|get along with|enjoy|eat|drink|fancy)"
        r"|won't (?:eat|touch|drink)|can't (?:do|take|deal with|handle|abide)|never (?:eat|drink|touch)"
        r"|have no (?:time|patience) for|have never liked|am not (?:big|keen|sold) on|couldn't care "
        r"less about) (?P<x>\S.*)",
        _dislikes,
        negative=True,
    ),
    rule(
        rf"{I_AM}(?:not (?:a|an|much of a|really a|big on|keen on|one for|crazy about|mad about) ?)"
        rf"(?P<x>[\w ]{{2,25}}?) ?(?:person|guy|girl|drinker|eater|lover|fan)$",
        _dislikes,
        negative=True,
    ),
    rule(
        rf"(?:I|we) {ADVERBS}(?:am sick of|'m sick of|am tired of|gave up|given up|cut out|quit (?:eating"
        rf"|drinking)|steer clear of|stay off|am off|'ve gone off) "
        r"(?P<x>(?!on\b|using\b|trying|my\b|it\b)\S.*)",
        _dislikes,
        negative=True,
    ),
    rule(
        rf"{_THING} (?:(?:stress(?:es)?|freaks?|creeps?|grosses|gross|weirds?) me out|(?:annoys?|bores?"
        rf"|scares?|exhausts?|terrif(?:y|ies)|irritates?|bothers?|disgusts?|drains?|overwhelms?) me"
        r"(?: a lot| to death| to no end)?$|turns? me off|puts? me off|gets? on my nerves|makes? me "
        r"(?:sick|ill|gag|cringe|miserable|anxious|itch|nauseous|queasy)"
        r"|hurts? my (?:eyes|ears|head|stomach)|drives? me (?:crazy|mad|nuts|up the wall|insane)"
        r"|(?:is|are) (?:just |simply |absolutely )?(?:a deal-?breaker|a no-?go|a pet peeve|torture"
        r"|the worst|gross|disgusting)(?: for me)?|(?:is|are) my (?:pet peeve|nemesis)"
        r"|gives? me (?:hives|the creeps|migraines|a headache|headaches|heartburn|anxiety))",
        lambda match, seen: _subject(match, False),
    ),
    rule(
        rf"{_THING} (?:doesn't|don't|do not|does not) (?:agree with me|do it for me|appeal to me"
        rf"|interest me|sit well with me|work for me)",
        lambda match, seen: _subject(match, False),
        negative=True,
    ),
    rule(
        rf"{_THING} (?:is|are) (?:my (?:jam|thing|passion|cup of tea|guilty pleasure|weakness|comfort "
        rf"(?:food|zone)|happy place|kryptonite|obsession)"
        r"|(?:a|the) (?:big |huge |great )?passion of mine|the only way I (?:can )?(?:work|relax"
        r"|travel|write|read|code)|what I live for|right up my (?:alley|street))",
        lambda match, seen: _subject(match, True),
    ),
    rule(
        rf"{_THING} (?:makes? me happy|makes? my day|calms? me down|relax(?:es)? me|cheers? me up"
        rf"|fascinates? me|excites? me|inspires? me|energi[sz]es? me|helps? me (?:relax|unwind))",
        lambda match, seen: _subject(match, True),
    ),
    rule(
        rf"(?:give me|I'll take|I'd (?:always |much |still )?(?:take|pick|choose)|I (?:always )?(?:choose"
        rf"|pick|go for|order|would pick)) {_THING} over \S.*",
        _over,
    ),
    rule(rf"nothing beats {_THING}$", lambda match, seen: _subject(match, True), negative=True),
    rule(rf"{I_AM}(?:firmly |definitely )?(?:team|on team) (?P<x>[\w ]{{2,20}})$", likes),
    rule(
        rf"{MY} (?:comfort food|guilty pleasure|passion|biggest passion|main interest|pet peeve"
        rf"|favou?rite thing|great love|obsession)(?:'s| is| are)"
        r" (?P<x>\S.*)",
        lambda match, seen: liked(match, "peeve" not in match[0].lower()),
    ),
    rule(rf"{MY} (?:main |other |biggest )?(?:hobbies|interests|passions)(?: are| include|:) (?P<x>\S.*)", likes),
    rule(
        r"(?:in my (?:free|spare) time|for fun|at weekends|on weekends|to relax|to unwind|after work|on my days off),? "
        rf"(?:I|we) {ADVERBS}(?:like to |love to |enjoy |do |go |play |practi[sc]e )(?P<x>\S.*)",
        likes,
    ),
)
