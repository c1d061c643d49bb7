"""Family, colleagues and animals said in other ways than "my sister is …"."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..keys import slug
from ..phrases import count, listed, person
from .base import GUESS, I_AM, I_HAVE, LIKELY, MY, SURE, Draft, Rule, Seen, rule
from .people import PET, RELATION, kept_person, named_relation, pet_named, relation_key

_NAME = r"(?P<x>(?-i:[A-ZÀ-ÞŠŽŁ])[\w'-]*(?: (?-i:[A-ZÀ-ÞŠŽŁ])[\w'-]*)?)"
_N = r"(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen)"


def _shares(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """I live with my partner Jo: the relation rule names Jo; here the bare name."""
    name = person(match["x"])
    if name:
        key = {"flat": "flatmate", "apartment": "roommate", "house": "housemate", "room": "roommate"}.get(
            match["what"], "coworker"
        )
        yield Draft(f"relation.{key}", name, LIKELY)


def _aged(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """I have a five-year-old daughter called Ada."""
    rel = (match["rel"] or "kid").lower()
    pet = re.fullmatch(PET, rel, re.I)
    name = person(match["name"] or "")
    yield Draft(f"number.{slug(rel)}_age", count(match["n"]), LIKELY)
    if name or match["rel"]:
        yield Draft(f"pet.{slug(rel)}" if pet else relation_key(rel), name or True, LIKELY if name else GUESS)


def _parent_of(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """I'm Leo's mum."""
    name = person(match["x"])
    said = match["rel"].lower()
    other = {
        "mum": "kid",
        "mom": "kid",
        "mother": "kid",
        "dad": "kid",
        "father": "kid",
        "wife": "husband",
        "husband": "wife",
    }
    if name:
        yield kept_person(other.get(said, said), name, LIKELY)


def _manages(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    name = person(match["x"])
    if name:
        yield Draft("relation.manager", name, LIKELY)


def _young(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    yield Draft(f"relation.{slug(match['x'])}", True, GUESS)


def _couple(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    name = person(match["x"])
    key = {"married": "spouse", "engaged": "fiance", "siblings": "sibling"}.get(match["state"].lower(), "partner")
    if name:
        yield Draft(f"relation.{key}", name, LIKELY)


def _many(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    names = [name for name in (person(item) for item in listed(match["x"], words=3)) if name]
    if names:
        yield Draft(f"relation.{slug(match['rel'])}", names if len(names) > 1 else names[0], LIKELY)


RULES: tuple[Rule, ...] = (
    rule(
        rf"(?:.*\b)?and an? (?:teenage |adult |grown-up |young )?(?P<rel>{RELATION}),? (?P<x>"
        rf"(?-i:[A-ZÀ-ÞŠŽŁ])[\w'-]+)(?:$|,)",
        named_relation,
    ),
    rule(rf"{MY} (?P<rel>{RELATION}),? (?:who(?:'s| is) (?:called|named)|whose name is) (?P<x>\S.*)", named_relation),
    rule(
        rf"{I_HAVE}an? (?P<rel>{RELATION}),? (?P<x>(?-i:[A-ZÀ-ÞŠŽŁ])[\w'-]+(?: (?-i:[A-ZÀ-ÞŠŽŁ])[\w'-]+)?)"
        rf"(?:$|,| and\b| who\b)",
        named_relation,
    ),
    rule(
        rf"(?:I|we|{I_AM.rstrip()}) (?:live|living|share a (?:flat|house)|stay|staying) with (?:my|our) "
        rf"(?P<rel>{RELATION})(?:$|,| and\b| in\b| at\b)",
        lambda match, seen: [Draft(relation_key(match["rel"]), True, GUESS)],
    ),
    rule(
        rf"{MY} (?P<rel>{RELATION})(?:'s| is) (?:an? [\w -]{{2,30}}? )?(?:called|named|by the name of) (?P<x>\S.*)",
        named_relation,
    ),
    rule(
        rf"(?:I|we) (?:share|rent) (?:an?|my|our) (?:\w+ )?(?P<what>flat|apartment|house|room|office"
        rf"|desk|place)(?: in [\w ]+?)? with {_NAME}",
        _shares,
    ),
    rule(
        rf"{I_HAVE}(?:an? )(?P<n>{_N})[- ](?:year|yr|month|week)s?[- ]old(?: (?P<rel>{RELATION}|{PET}"
        rf"|boy|girl|toddler))?"
        r"(?:,? (?:called|named) (?P<name>\S.*))?",
        _aged,
    ),
    rule(
        rf"{I_AM}{_NAME}'s (?P<rel>mum|mom|mother|dad|father|wife|husband|sister|brother|partner|girlfriend"
        rf"|boyfriend|manager|assistant|boss)\b",
        _parent_of,
    ),
    rule(rf"I (?:work|am) (?:closely |directly )?under {_NAME}", _manages),
    rule(
        rf"{_NAME} (?:manages me|leads (?:my|our) team|runs (?:my|our) team|is who I report to|heads (?:my"
        rf"|our) (?:team|department))",
        _manages,
    ),
    rule(
        rf"{I_HAVE}(?:an? |two |identical )*(?P<x>twins|twin (?:boys|girls|sons|daughters|brothers"
        rf"|sisters)|triplets|toddler|newborn|baby boy|baby girl|"
        r"teenage (?:son|daughter)|stepkids|teenagers|foster child)\b",
        _young,
    ),
    rule(rf"{_NAME} and I (?:are|got|have been) (?P<state>married|engaged|siblings|dating|together)\b", _couple),
    rule(
        rf"{I_HAVE}{_N} (?:\w+ )?(?P<rel>kids|children|sons|daughters|sisters|brothers|siblings|boys"
        rf"|girls|grandchildren|grandkids|nieces|nephews)"
        r"(?: called| named|:|,| -|,? whose names are)? (?P<x>(?-i:[A-ZÀ-ÞŠŽŁ])\S*.*)",
        _many,
    ),
    rule(
        rf"(?:(?:I|we)(?:'ve)? (?:just |recently |also )*(?:got|have|had|adopted|rescued|bought|keep"
        rf"|look after|picked up)|{I_HAVE.rstrip()}) (?:an? |our |my )(?:[\w-]+ ){{0,3}}?(?P<rel>{PET})"
        r"(?:,| whose name is| who(?:'s| is) (?:called|named)| called| named|, name of| by the name "
        r"of) (?P<x>(?-i:[A-ZÀ-ÞŠŽŁ]).*)",
        pet_named,
    ),
    rule(rf"(?P<x>(?-i:[A-ZÀ-ÞŠŽŁ])\S*),? (?:is )?(?:my|our) (?:[\w-]+ ){{0,2}}?(?P<rel>{PET})\b", pet_named),
    rule(
        rf"(?P<x>(?-i:[A-ZÀ-ÞŠŽŁ])\S*(?: (?-i:[A-ZÀ-ÞŠŽŁ])\S*)?), (?:my|our) (?P<rel>{RELATION})\b",
        lambda match, seen: [kept_person(match["rel"], match["x"], LIKELY)] if person(match["x"]) == match["x"] else [],
    ),
    rule(
        rf"{MY} emergency contact is (?:my )?(?:{RELATION},? )?{_NAME}",
        lambda match, seen: [Draft("relation.emergency_contact", match["x"], SURE)],
    ),
)
