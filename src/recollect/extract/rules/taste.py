"""Likes, dislikes, favourites, diet, allergies, hobbies, languages."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..keys import slug
from ..phrases import cut, listed
from .base import ADVERBS, CATEGORIES, I_AM, LIKELY, MY, SURE, Draft, Rule, Seen, rule, vocabulary

_NOT_LIKED = re.compile(
    r"^(?:it|its|that|this|these|those|them|him|his|her|their|having you|you|your|yours|how|what|where"
    r"|when|why|which|who|if"
    r"|to (?:think|know|see|say|be|help|hear|set|keep|give|take|make|thank|ask|have|get|make sure|be able|point|add"
    r"|use this|order|buy|book|return)|the (?:idea|way|fact|first"
    r"|second|third|last|new|other|one|sound|look|result|answer|suggestion|approach|option|design|version|plan"
    r"|proposal|concept)|one|ones|both|either|neither|all of|some of|any of|most of|my (?=[a-z]+ (?:to|when"
    r"|with|without))|my\b|our\b"
    r"|being (?:told|asked|able)|a (?:new|different|second|bit|challenge|lot|copy|refund|quote)|another|more"
    r"|less|something|anything|everything|nothing|seeing|hearing from|working with you|talking to you|the$)\b",
    re.I,
)
_THE = re.compile(
    r"^(?:all )?the (?!(?-i:[A-Z])\w+$|(?-i:[A-Z])\w+ (?-i:[A-Z])\w+$|sea|ocean|mountains|outdoors|rain|snow"
    r"|sun|cold|heat|beach|theatre|theater|opera|forest|countryside|piano|guitar|violin|winter|summer|gym|news)",
    re.I,
)
_CLAUSE = re.compile(
    r"^(?:with|in|on|at|for|from|by|of|about|as|'?cause|while|just|so|it|they|he|she|you|i|we|to|let|share|can)\b"
    r"|\b(?:is|are|was|were|has|have|had|am|will|would|can|brings?|makes?|me|them|it|they|he|she|us|myself|your)\b",
    re.I,
)
LANGUAGES = vocabulary(
    "afrikaans albanian amharic arabic armenian azerbaijani basque bengali bosnian bulgarian burmese cantonese "
    "catalan chinese croatian czech danish dutch english esperanto estonian farsi finnish flemish french"
    " galician luxembourgish frisian gaelic creole aramaic tigrinya shona xhosa sesotho twi lingala "
    "georgian german greek gujarati hausa hebrew hindi hungarian icelandic igbo indonesian irish "
    "italian japanese kannada kazakh khmer korean kurdish latin latvian lithuanian macedonian malay malayalam"
    " maltese mandarin marathi mongolian nepali norwegian pashto persian polish portuguese punjabi quechua "
    "romanian russian sanskrit serbian sinhala slovak slovenian somali spanish swahili swedish tagalog tamil"
    " telugu thai tibetan turkish ukrainian urdu uzbek vietnamese welsh wolof yiddish yoruba zulu"
)
_DIETS = (
    "vegan|vegetarian|pescatarian|flexitarian|keto|paleo|halal|kosher|gluten-free|dairy-free|lactose-free"
    "|low-carb|raw vegan|carnivore|plant-based|mediterranean"
)


def liked(match: re.Match[str], positive: bool) -> Iterable[Draft]:
    phrase = re.sub(r"^(?:to |(?:eating|drinking) (?=\w))", "", match["x"]) if not _NOT_LIKED.match(match["x"]) else ""
    if not phrase or _THE.match(phrase):
        return
    for item in listed(
        re.split(
            r"\s+(?:-+|–|—|more than|better than|over|like|such as|including|that|which|who|where|because)\s+", phrase
        )[0]
    ):
        if _CLAUSE.search(item):
            break  # the list is over, a new sentence has begun
        key = slug(re.sub(r"\b(?:so|too) much$", "", item))
        if len(key) > 2 and not _NOT_LIKED.match(item):
            yield Draft(f"likes.{key}", positive, LIKELY)


def likes(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    return liked(match, True)


def _dislikes(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    return liked(match, False)


def _favourite(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    what = re.sub(r"^(?:all[- ]time|absolute|personal) ", "", match["what"].strip(), flags=re.I)
    value = cut(re.sub(r"^(?:probably|definitely|still|now|easily|currently|a|an) ", "", match["x"].strip()), words=7)
    if (
        value
        and len(what.split()) <= 3
        and not re.match(
            r"(?:when|that|the (?:one|fact|first|second|part|way)|how|what|where|to|it|this|not)\b", value, re.I
        )
    ):
        yield Draft(f"favorite.{slug(what)}", value, SURE)


def _go_to(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    if not re.fullmatch(CATEGORIES, match["what"], re.I):
        yield from _favourite(match, seen)


def _avoids(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    return liked(match, False)


def _diet(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    yield Draft("diet", match["x"].lower(), SURE)


def _allergies(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    for item in listed(match["x"].replace(" or ", " and "), words=3):
        if not re.match(r"(?:it|that|this|you|vague|mornings|work|bad|bullshit|nonsense|monday)", item, re.I):
            yield Draft(f"allergy.{slug(item)}", True, SURE)


def _hobby(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    for item in listed(re.split(r"\s+(?:in|at|with|for|on|every|since|around)\b", match["x"])[0], words=3):
        if not re.match(
            r"(?:it|this|that|with|role|a role|part|games? (?:with|like)|around|along|by|music from)\b", item, re.I
        ):
            yield Draft(f"hobby.{slug(item)}", True, LIKELY)


def _languages(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    for item in listed(re.sub(r"^.*languages[:,-]* ", "", match["x"]), words=3):
        word = item.split()[0].lower()
        if word in LANGUAGES:
            yield Draft(f"language.{word}", True, SURE)
        elif re.match(r"(?:\w+ )?sign language\b", item, re.I):
            yield Draft(f"language.{slug(item)}", True, SURE)


def _native(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    word = match["x"]
    if word.lower() in LANGUAGES:
        yield Draft("native_language", word, SURE)


def _learning(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    phrase = re.sub(
        r"\s+(?:\d+|\w+) (?:years?|months?|weeks?|days?) ago.*$|\s+(?:in|since|on|with|from|at|for) .*$", "", match["x"]
    )
    for item in listed(re.sub(r"^(?:how to|to) ", "", phrase), words=4):
        if not re.match(
            r"(?:a lot|ton|tons|lots|more|about|that|this|it|new|what|from|the hard|things|so much)\b", item, re.I
        ):
            yield Draft(f"learning.{slug(item)}", True, LIKELY)


RULES: tuple[Rule, ...] = (
    rule(
        rf"(?:I|we) {ADVERBS}(?:love|like|enjoy|adore|dig|collect|listen to (?:a lot of|lots of|mostly|mainly)"
        r"|prefer to (?=drink|eat))s? (?P<x>\S.*)",
        likes,
    ),
    rule(
        rf"{I_AM}(?:an? )?(?:big |huge |massive |real |great |total |lifelong )*(?:fan of|into|fond of|keen on"
        r"|crazy about|obsessed with|passionate about|addicted to) (?P<x>\S.*)",
        likes,
    ),
    rule(r"(?:I|we) can't get enough of (?P<x>\S.*)", likes, negative=True),
    rule(
        rf"{I_AM}more of an? (?P<x>(?!morning|night|people|evening|numbers)[\w ]{{2,20}}?) (?:person|guy|girl"
        r"|drinker|lover)\b",
        likes,
    ),
    rule(r"(?:I|we) (?:support|root for|cheer for) (?P<x>(?-i:[A-Z])[\w ]{2,30})$", likes),
    rule(
        rf"{I_AM}an? (?:big |huge |real |total |massive |lifelong |die-hard )*(?P<x>[\w]+(?: [\w]+)?) (?:fan(?! of)"
        r"|supporter(?! of)|lover|enthusiast|fanatic|aficionado|nerd|buff|addict)\b",
        likes,
    ),
    rule(rf"{MY} (?:go-to|preferred|usual) (?P<what>[\w' -]{{2,30}}?)(?:'s| is| are) (?P<x>\S.*)", _go_to),
    rule(
        r"I (?:can't|can not|am not allowed to|shouldn't|must not) (?:eat|have|drink|tolerate|digest) (?P<x>\S.*)",
        _allergies,
        negative=True,
    ),
    rule(
        rf"(?:I|we) {ADVERBS}(?:avoid|stay away from|steer clear of) (?P<x>(?!it|that|this|the\b|doing|going|using"
        r"|getting|being|\w+ing\b)\S.*)",
        _avoids,
    ),
    rule(
        r"(?P<x>[\w' -]{3,40}?) (?:is|are)(?:n't| not)(?: really)? (?:my (?:thing|cup of tea|favou?rite)|for me)$",
        _dislikes,
        negative=True,
    ),
    rule(rf"{I_AM}taking (?P<x>[\w ]{{3,25}}?) (?:lessons|classes)\b", _learning),
    rule(rf"{MY} hobbies (?:are|include) (?P<x>\S.*)", likes),
    rule(rf"{MY} (?:main |biggest |favou?rite )?hobby is (?P<x>\S.*)", likes),
    rule(
        rf"(?:I|we) {ADVERBS}(?:hate|dislike|detest|loathe|despise|can't stand|can't bear|cannot stand"
        r"|don't (?:really |particularly |actually |even )*(?:like|enjoy|love|care for|drink|eat)|do not (?:like"
        r"|enjoy|drink|eat)|never (?:drink|eat|liked)) (?P<x>\S.*)",
        _dislikes,
        negative=True,
    ),
    rule(
        r"(?:I am|I'm) not (?:really |actually |particularly |much |very |that )*(?:an? )?(?:big |huge )*(?:fan of"
        r"|into|fond of|keen on|much of an? (?=\w+ fan)) (?P<x>\S.*)",
        _dislikes,
        negative=True,
    ),
    rule(
        rf"{MY} (?:all[- ]time |absolute )?favou?rite (?P<what>[\w' -]{{2,40}}?)(?:'s| is| are|:"
        r"| has (?:always )?been) (?P<x>\S.*)",
        _favourite,
    ),
    rule(
        r"(?P<x>\S.{0,60}?) (?:is|are) (?:probably |definitely |still |easily )?my (?:all[- ]time "
        r"|absolute )?favou?rite (?P<what>[\w' -]{2,40})$",
        _favourite,
    ),
    rule(
        rf"{I_AM}(?:an? )?(?:mostly |strict |lifelong |committed )*(?P<x>{_DIETS})\b(?! (?:food|restaurant|recipe"
        r"|dish|options?|leather))",
        _diet,
    ),
    rule(
        rf"(?:I|we) {ADVERBS}(?:follow|eat|keep|went|stick to|have been|'ve been)(?: an?| on an?)? (?:strict "
        rf"|mostly )?(?P<x>{_DIETS})\b(?! (?:food|restaurant|recipe|dish|burger|pizza|options?))",
        _diet,
    ),
    rule(rf"{I_AM}on an? (?:strict )?(?P<x>{_DIETS}) diet\b", _diet),
    rule(rf"as an? (?:strict |lifelong )?(?P<x>{_DIETS})(?:$|,| I\b)", _diet),
    rule(
        r"(?:I|we) (?:have to|need to|must|should) (?:avoid|stay away from|skip|steer clear of) "
        r"(?P<x>[a-z]+(?: [a-z]+)?(?:(?:,| and| or) [a-z]+)*)$",
        _allergies,
    ),
    rule(rf"(?:I've|I have|we've|we have) been (?:an? )?(?:strict |mostly )?(?P<x>{_DIETS})\b", _diet),
    rule(rf"{I_AM}(?:deathly |mildly |badly |slightly |terribly )?allergic to (?P<x>\S.*)", _allergies),
    rule(r"I(?:'ve got| have) (?:an? |severe |bad |mild )*(?P<x>[a-z]+(?: [a-z]+)?) allerg(?:y|ies)\b", _allergies),
    rule(r"I(?:'ve got| have) (?:an? |severe |bad |mild )*allerg(?:y|ies) to (?P<x>\S.*)", _allergies),
    rule(rf"{I_AM}(?P<x>lactose|gluten|fructose|histamine|dairy|egg|wheat|nut|soy)[- ]intolerant\b", _allergies),
    rule(
        rf"(?:{I_AM}(?:intolerant (?:to|of)|sensitive to|hypersensitive to|anaphylactic to)|I (?:react "
        rf"badly to|come out in hives from|get hives from"
        r"|break out (?:from|when I eat)|carry an epipen for)) (?P<x>\S.*)",
        _allergies,
    ),
    rule(
        r"I(?:'ve got| have|'ve) (?:an? |severe |bad |mild |slight )*(?P<x>[a-z]+(?: [a-z]+)?) "
        r"(?:intolerance|sensitivity)\b",
        _allergies,
    ),
    rule(rf"{MY} allerg(?:y|ies)(?: is| are| include|:)(?: to)? (?P<x>\S.*)", _allergies),
    rule(r"(?P<x>[a-z]+(?: [a-z]+)?) (?:can|could|will|would|might) kill me$", _allergies),
    rule(r"(?P<x>[a-z]+(?: [a-z]+)?) (?:gives?|brings?) me (?:hives|out in hives|a rash)\b", _allergies),
    rule(rf"(?:I|we) {ADVERBS}(?:play|practi[sc]e) (?P<x>(?!and\b)\S.*)", _hobby),
    rule(rf"(?:I|we) {ADVERBS}(?:can |fluently )?speak (?P<x>\S.*)", _languages),
    rule(rf"{I_AM}(?:fluent|conversational|proficient) in (?P<x>\S.*)", _languages),
    rule(rf"{MY} (?:native|first|mother) (?:language|tongue)(?:'s| is|:) (?P<x>\w+)", _native),
    rule(rf"{I_AM}an? native (?P<x>\w+) speaker\b", _native),
    rule(r"(?:I|we) (?:grew up (?:speaking|with|on)|was raised speaking|were raised speaking) (?P<x>\w+)", _native),
    rule(r"(?P<x>\w+) is my (?:native|first|mother) (?:language|tongue)\b", _native),
    rule(
        rf"(?:(?:I|we) (?:know|understand|can (?:speak|read|write|get by in|hold a conversation in"
        rf"|understand)|get by in|read and write|also speak)|{I_AM}(?:bilingual in|trilingual in"
        rf"|semi-fluent in|rusty in)) (?P<x>\S.*)",
        _languages,
    ),
    rule(r"(?P<x>\w+) is my (?:second|third|strongest|weakest|other|work) language\b", _languages),
    rule(
        r"my (?P<x>(?-i:[A-Z])\w+) is (?:fluent|rusty|decent|basic|conversational|pretty good|good|okay|ok"
        r"|terrible|limited|native-level)\b",
        _languages,
    ),
    rule(
        rf"(?:{I_AM}(?:learning|teaching myself)|I(?:'ve| have)? (?:just |recently )?(?:started|begun|began"
        r"|been)(?: to)? (?:learning|learn)|I(?:'ve| have) been (?:learning|teaching myself)) (?P<x>\S.*)",
        _learning,
    ),
)
