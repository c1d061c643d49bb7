"""People and animals around the user, by name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..keys import slug
from ..phrases import listed, lowercase_name, person
from .base import GUESS, I_AM, I_HAVE, LIKELY, MY, SURE, Draft, Rule, Seen, rule

_KIN = (
    r"sister|brother|mother|mom|mum|father|dad|wife|husband|partner|spouse|girlfriend|boyfriend|fianc[eé]e?|son"
    r"|daughter|uncle|aunt|auntie|cousin|grandmother|grandma|granny|grandfather|grandpa|niece|nephew|godmother"
    r"|godfather|godson|goddaughter|grandson|granddaughter|stepmother|stepfather|stepsister|stepbrother|stepson"
    r"|stepdaughter|mother-in-law|father-in-law|sister-in-law|brother-in-law|son-in-law|daughter-in-law|twin"
    r"|baby|kid|child|ex"
)
_OTHERS = (
    r"boss|manager|supervisor|colleague|coworker|co-worker|co-founder|cofounder|teammate|friend|roommate"
    r"|flatmate|housemate|neighbou?r|doctor|gp|dentist|therapist|lawyer|accountant|landlord|landlady|teacher"
    r"|mentor|assistant|advisor"
    r"|adviser|professor|coach|trainer|tutor|hairdresser|babysitter|nanny|intern|direct report|team lead"
    r"|tech lead|business partner|physiotherapist|psychologist|vet|mechanic|agent"
)
_SIZE = (
    r"(?:younger|older|little|big|elder|eldest|oldest|youngest|twin|half|late|new|old|best|close|closest|good"
    r"|dear|first|ex|former|current|beloved|middle|baby|direct|line|step|thesis|phd|piano|guitar|music|swimming"
    r"|running|family)"
)
RELATION = rf"(?:{_SIZE}[ -])?(?:{_KIN}|{_OTHERS})"
PET = (
    r"(?:golden retriever|german shepherd|guinea pig|border collie|dog|cat|puppy|kitten|parrot|rabbit|hamster"
    r"|horse|pony|turtle|tortoise|guinea pig|budgie|canary|goldfish|ferret|snake|lizard|gecko|pet|cockatiel"
    r"|labrador|poodle|beagle|corgi|husky|retriever|golden retriever|german shepherd|dachshund|chihuahua"
    r"|terrier|tabby)"
)
_NAMED = (
    r"(?:is called|is named|are called|are named|called|named|goes by|'s name is|'s called|is|whose name is"
    r"|by the name of)"
)
_PLAIN = {"former", "current", "late", "new", "old", "dear", "good", "beloved", "close", "direct", "line"}


def relation_key(words: str) -> str:
    parts = words.lower().replace("-", " ").split()
    if parts and parts[0] in _PLAIN:
        parts = parts[1:]
    return f"relation.{slug(' '.join(parts))}"


def kept_person(words: str, name: str, confidence: float) -> Draft:
    """One has one wife, but many friends: those are kept by name."""
    key = relation_key(words)
    many = re.fullmatch(
        r"relation\.(?:friend|good_friend|cousin|colleague|coworker|teammate|neighbour|uncle|aunt|auntie|niece"
        r"|nephew|kid|child|intern|direct_report|ex)",
        key,
    )
    return Draft(f"{key}.{slug(name)}" if many else key, name, confidence)


def _relation(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    name = person(match["x"])
    if name and not re.match(r"(?:late|former|ex)\b", match["rel"], re.I):
        yield kept_person(match["rel"], name, LIKELY)


def named_relation(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    name = person(match["x"]) or lowercase_name(match["x"])
    if name:
        yield kept_person(match["rel"], name, SURE)


def _spouse(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    name = person(
        re.sub(
            rf"^(?:my |an? |the |some ?)(?:[a-z]+ ){{0,2}}?(?:{_KIN}|man|woman|guy|girl|one|body|person"
            rf"|lady|bloke)?,?\s*(?:of my life,? )?(?:named |called )?",
            "",
            match["x"],
        )
    )
    called = re.search(r"\b(?:named|called) (?P<n>\S.*)", match["x"])
    name = person(called["n"]) if called else name
    key = {"married": "spouse", "engaged": "fiance"}.get(match["state"].lower(), "partner")
    if name:
        yield Draft(f"relation.{key}", name, SURE)


def _reports(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    name = person(match["x"])
    if name:
        yield Draft("relation.manager", name, LIKELY)


def pet_named(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    small = (
        lowercase_name(match["x"]) if match["x"].islower() and not re.search(r"(?!I\b)[A-Z]", seen.sentence) else None
    )
    names = [name for name in (person(item) for item in listed(match["x"], words=3)) if name] or (
        [small] if small else []
    )
    first = person(match["x"], words=2)
    names = names or ([first] if first else [])
    kind = slug(match["rel"])
    if len(names) > 1:
        yield Draft(f"pet.{kind}", names, LIKELY)
    elif names:
        yield Draft(f"pet.{kind}", names[0], LIKELY)


def _several(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    names = [name for name in (person(item) for item in listed(match["x"], words=3)) if name]
    if len(names) > 1:
        yield Draft(f"relation.{slug(match['rel'])}", names, LIKELY)


def _exists(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    kind = match["rel"].lower()
    pet = re.fullmatch(PET, kind)
    yield Draft(f"pet.{slug(kind)}" if pet else relation_key(kind), True, GUESS)


RULES: tuple[Rule, ...] = (
    rule(
        rf"(?:.*\b)?{MY} (?P<rel>{RELATION})(?:'s (?:first |full )?name is| is called| is named| goes by"
        r"|, (?:called|named)| called| named) (?P<x>\S.*)",
        named_relation,
    ),
    rule(rf"{MY} (?P<rel>{RELATION})(?:'s| is) (?:actually |now |still )?(?P<x>(?-i:[^\W\d_a-z]).*)", _relation),
    rule(rf"(?:.*\b)?{MY} (?P<rel>{RELATION})(?:,| -| \()? (?P<x>(?-i:[A-ZÀ-ÞŠŽŁ])\S*.*)", _relation),
    rule(
        rf"(?P<x>(?-i:[A-ZÀ-ÞŠŽŁ])\S*(?: (?-i:[A-ZÀ-ÞŠŽŁ])\S*)?) (?:is|was|has been) my "
        rf"(?P<rel>{RELATION})\b(?! tongue)",
        _relation,
    ),
    rule(
        rf"{I_HAVE}(?:an? |one )?(?P<rel>{RELATION})(?:,)? (?:named|called|whose name is"
        r"|by the name of) (?P<x>\S.*)",
        named_relation,
    ),
    rule(
        rf"(?:{I_AM}|I've been |I got |I was )(?:(?:happily|recently|newly) )*(?P<state>married"
        r"|engaged) to (?P<x>\S.*)",
        _spouse,
    ),
    rule(
        rf"(?:{I_AM}|I've been |I have been )(?P<state>dating|seeing|going out with|in a relationship "
        rf"with) (?P<x>\S.*)",
        _spouse,
    ),
    rule(r"I (?:now |currently |directly )?(?:report|answer) (?:directly )?to (?P<x>\S.*)", _reports),
    rule(
        rf"(?:.*\b)?{MY} (?:two |three |four |\d |new |old |little |dear )*(?P<rel>{PET}s?)(?:'s? name "
        rf"is|'s? names are|(?:,)? {_NAMED}| are"
        r"|,)? (?P<x>(?-i:[A-ZÀ-ÞŠŽŁ])\S*.*)",
        pet_named,
    ),
    rule(rf"(?:.*\b)?and an? (?P<rel>{RELATION})(?:,)? (?:named|called) (?P<x>\S.*)", named_relation),
    rule(rf"{I_HAVE}(?:two|three|four|\d) (?:\w+ )?(?P<rel>{PET}s),? (?P<x>(?-i:[A-ZÀ-ÞŠŽŁ])\S*.*)", pet_named),
    rule(
        rf"{I_HAVE}(?:an? |one |two |three |\d )?(?:\w+ )??(?P<rel>{PET}s?)(?:,)? (?:named|called"
        r"|whose names? (?:is|are)) (?P<x>\S.*)",
        pet_named,
    ),
    rule(
        rf"(?:I|we) (?:just |recently )*(?:got|adopted|rescued|bought) an? (?:\w+ )?(?P<rel>{PET})(?:,)? (?:named"
        r"|called) (?P<x>\S.*)",
        pet_named,
    ),
    rule(rf"(?P<x>(?-i:[A-ZÀ-ÞŠŽŁ])\S*) is my (?P<rel>{PET})\b", pet_named),
    rule(
        rf"{MY} (?P<rel>kids|children|sons|daughters|parents|sisters|brothers|siblings"
        r"|twins)(?:'? names)?(?:,)? (?:are |are called |are named |called |named )?(?P<x>(?-i:[A-ZÀ-ÞŠŽŁ])\S*.*)",
        _several,
    ),
    rule(rf"{I_HAVE}.*\band an? (?P<rel>{PET})$", _exists),
    rule(rf"{I_HAVE}an? (?P<rel>{_SIZE} (?:{_KIN})|{PET}|{_KIN})(?:$|,|\.)", _exists),
    rule(rf"{I_HAVE}an? (?!{_SIZE} )\w+ (?P<rel>{PET}|{_KIN})(?:$|,|\.)", _exists),
)
