"""Readers of names: people, places, companies, addresses, languages, zones."""

from __future__ import annotations

import re
from zoneinfo import available_timezones

from ...dates import parse_dates
from ..keys import slug
from ..phrases import Phrases
from .base import Around, Reading, holding, holds, one, starts, without_tail

_PLACE_TAIL = re.compile(r"([^,]+),\s*([A-ZÀ-Þ][^,]*)")


_INSIDE = re.compile(r"(?:an?|the) (?:[a-z-]+ ){1,4}(?:in|near|outside|of|called) (?P<x>[A-Z].*)")


EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")


PHONE = re.compile(r"\+?\(?\d[\d ()/.-]{5,20}\d")


HANDLE = re.compile(r"@?[\w.@-]{2,40}")


def read_person(text: str, around: Around, ph: Phrases) -> list[Reading]:
    return one(ph.person(text))


def read_just_person(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """A name and nothing else."""
    name = ph.person(text)
    return one(name) if name and name == text.strip(" ,.!") and name.lower() not in ph.lists.set("not_here") else []


def read_introduced(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """I'm Tomasz: a capital alone makes it a name, so what follows must look like an introduction."""
    name = ph.person(text)
    if not name or any(word.lower().rstrip(".") in ph.not_names for word in name.split() if word != "Dr."):
        return []
    rest = text[len(name) :].strip()
    if (name.isupper() and len(name) <= 4) or not (not rest or rest[0] in ",.(" or starts(rest, ph, "after_name")):
        return []
    return one(name)


def read_name(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """A name in any letters."""
    return one(ph.person(text) or ph.small_name(text)) if not starts(text, ph, "not_nicknames") else []


def read_self(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """A bare name after a greeting: 「はじめまして、佐藤です」."""
    return read_name(text, around, ph) if starts(around.sentence, ph, "greetings") else []


def read_people(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """One name, or a list of names."""
    names = [name for name in (ph.person(item, most=2) for item in ph.listed(text, most=3)) if name]
    if not names:
        return one(ph.person(text, most=2))
    return [Reading(names if len(names) > 1 else names[0], "")]


def read_several(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """Two names or more."""
    found = read_people(text, around, ph)
    return found if found and isinstance(found[0].value, list) else []


def place_of(text: str, ph: Phrases) -> str | None:
    """The place a phrase names: a proper name, or a short description of one."""
    text = ph.before_place.sub("", text.strip())
    inside = _INSIDE.match(text) if ph.lang == "en" else None
    if inside:
        text = inside["x"]
    comma = _PLACE_TAIL.match(text)
    if comma:
        right, left = ph.proper(comma[2]), ph.place_ends.sub("", f" {comma[1]}").strip()
        whole = right and left == comma[1].strip() and comma[2].strip(" .") == right
        text = f"{left}, {right}" if whole else comma[1]
    elif ph.joint:
        text = text.split(",")[0]
    value = ph.cut(ph.place_ends.sub("", f" {text}"), most=6)
    first = value.split()[0].lower() if value else ""
    article = ph.articles.match(value)
    if not value or value[0].isdigit() or (first in ph.lists.set("not_places") and not article):
        return None
    if article and not value[article.end() : article.end() + 1].isupper():
        return None
    return value if ph.length(value) <= 5 else None


def read_place(text: str, around: Around, ph: Phrases) -> list[Reading]:
    dates = parse_dates(text, around.at, lang=around.lang)
    value = place_of(without_tail(text[: dates[0].span[0]], ph) if dates else text, ph)
    known = value and value.split()[0].lower().strip(",") in ph.lists.set("tools")
    return [] if known else one(value)


def read_city(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """A place by its proper name alone."""
    text = ph.before_place.sub("", text)
    value = ph.proper(re.sub(r"^the (?=[A-Z])", "", text))
    if value and (value.lower() in ph.lists.table("languages") or _ZONE.match(value)):
        return []
    if (
        not value
        or value[0].isdigit()
        or value.split()[0].lower() in ph.lists.set("not_places") | ph.lists.set("tools")
    ):
        return []
    rest = text[text.find(value) + len(value) :].strip(" ,.")
    region = re.match(rf"{re.escape(value)}, ([A-Z][\w ]+)$", text)
    if starts(rest, ph, "not_after_city") or (len(value) <= 3 and not region):
        return []
    return one(f"{value}, {region[1]}" if region else value)


def read_address(text: str, around: Around, ph: Phrases) -> list[Reading]:
    value = text.strip(" .。")
    return one(value) if re.search(r"\d", value) and len(value) <= 120 and "@" not in value else []


def read_org(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """A company or institution by its proper name."""
    value = ph.proper(re.sub(r"^the ", "", text, flags=re.I) if ph.lang == "en" else ph.articles.sub("", text))
    return one(value) if value and not value[0].isdigit() and value.lower() not in ph.lists.set("not_orgs") else []


def read_company(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """An employer: a proper name, or a short description of what it is."""
    named = holding(ph.lang, "named")
    called = named.search(text) if named else None
    found = read_org(text[called.end() :] if called else text, around, ph)
    if found:
        return found
    described = ph.articles.match(text)
    said = ph.cut(ph.place_ends.sub("", f" {text[described.end() :] if described else text}"), most=4)
    small = not described and not re.search(r"(?!I\b)[A-ZÀ-Þ]", around.sentence)
    if not said or starts(said, ph, "not_orgs") or not (described or small) or not ph.joint:
        return []
    return one(said) if described or ph.length(said) <= 2 else []


def read_school(text: str, around: Around, ph: Phrases) -> list[Reading]:
    found = read_org(text, around, ph)
    return found if found and holds(found[0].value, ph, "schools") else []


def read_languages(text: str, around: Around, ph: Phrases) -> list[Reading]:
    listed = ph.lists.table("languages") or dict(zip(*[ph.lists.list("language_names")] * 2, strict=True))
    out = []
    for item in ph.listed(text, most=4):
        word = next((part for part in item.lower().split() if part in listed), None) if ph.joint else item
        name = listed.get(word or "")
        if name:
            out.append(Reading(True, slug(name)))
        elif "sign language" in item.lower():
            out.append(Reading(True, slug(item)))
    return out


def read_pets(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """The names of animals, which people write small where they write all small."""
    found = read_people(text, around, ph)
    if found or re.search(r"(?!I\b)[A-ZÀ-Þ]", around.sentence):
        return found
    return one(ph.small_name(text))


_ZONE = re.compile(
    r"[A-Z][a-z]+/[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)?|(?:UTC|GMT)(?:\s?[+-]\s?\d{1,2}(?::\d\d)?)?"
    r"|(?:P[SD]?T|E[SD]?T|C[SD]T|M[SD]T|CEST|CET|EEST|EET|WET|BST|IST|JST|KST|AEST|AEDT|SGT|HKT|MSK|NZST)\b"
    r"|(?:[A-Z][a-z]+ ){1,2}"
    r"(?=(?:standard |daylight )?(?:time|Time)\b)|(?:Pacific|Eastern|Central|Mountain)(?=$|,|\.| time)"
)


def read_zone(text: str, around: Around, ph: Phrases) -> list[Reading]:
    found = _ZONE.match(text)
    if found and "/" in found[0] and found[0] not in available_timezones():
        return []
    return one(found[0].strip()) if found else []


def read_behind(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """Two hours ahead of UTC."""
    return one(text) if re.match(r"\S+ hours? (?:ahead of|behind) (?:you|UTC|GMT|[A-Z])", text) else []


def read_based(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """Berlin-based."""
    found = re.match(r"([A-ZÀ-Þ][\w'-]*(?: [A-ZÀ-Þ][\w'-]*)?)-based\b", text)
    return one(found[1]) if found else []


def read_small(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """hi im jonas: a small name after a greeting, or before an age or a place."""
    name = text.split(",")[0].split()[0] if text.split() else ""
    rest = text[len(name) :].strip()
    small = name.isalpha() and name.islower() and len(name) >= 3 and name not in ph.not_names
    if (
        not small
        or name.endswith(("ing", "ed", "ly"))
        or (rest and not re.match(r",|from |and i\b|here|again", rest, re.I))
    ):
        return []
    after = rf"\b{re.escape(name)}\b\s*,? (?:\d\d\b|from [^\W\d_])"
    told = re.search(after, around.sentence, re.I) or re.match(r"and i\b", rest, re.I)
    greeted = starts(around.sentence, ph, "greetings") or starts(around.before, ph, "greetings")
    return one(name) if told or (greeted and (not rest or rest.startswith("from "))) else []


def read_meant(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """It's Catriona: a name where the talk is of names, or after a greeting."""
    name = ph.person(text)
    spoken = f"{around.before} {around.sentence}"
    greeted = starts(around.sentence, ph, "greetings") or holds(spoken, ph, "pleasantries")
    told = greeted and (name or "").lower().split()[:1] != ["me"]
    late = name and name.split()[0].lower() in ph.lists.set("time_words")
    return one(name) if name and not late and (told or holds(spoken, ph, "of_names")) else []


def read_citizen(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """A Londoner, a New Yorker."""
    found = re.match(r"([A-Z][a-z]+(?: [A-Z][a-z]+)?(?:er|ian|ite))(?=$|,| and\b| by birth| at heart| through)", text)
    word = found[1].split()[-1].lower() if found else ""
    trade = word.endswith(ph.lists.list("role_endings")) or word in ph.lists.set("roles")
    return one(found[1]) if found and word not in ph.not_names and not trade else []


def read_workplace(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """I'm at AMD: an employer where the talk is of work."""
    return read_org(text, around, ph) if holds(around.sentence, ph, "of_work") else []
