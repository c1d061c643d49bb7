"""Readers of names: people, places, companies, languages."""

from __future__ import annotations

import re

from ..keys import slug
from .around import Around, Reading, one

_PLACE_TAIL = re.compile(r"([^,]+),\s*([A-ZÀ-Þ][^,]*)")
_INSIDE = re.compile(r"(?:an?|the) (?:[a-z-]+ ){1,4}(?:in|near|outside|of|called) (?P<x>[A-Z].*)")
_GIVEN_WITH = re.compile(r",|from |and i\b|here|again|\d\d\b", re.I)


def read_person(text: str, around: Around) -> list[Reading]:
    """A name, by its capitals."""
    return one(around.ph.person(text))


def read_small_name(text: str, around: Around) -> list[Reading]:
    """A name written small, where there is nothing else."""
    return one(around.ph.small_name(text))


def read_small(text: str, around: Around) -> list[Reading]:
    """hi im jonas: a small name after a greeting, or before an age or a place."""
    ph, found = around.ph, re.match(r"[a-z]{3,}", text)
    name = found[0] if found else ""
    rest = text[len(name) :].strip()
    if not name or name in ph.not_names or name.endswith(("ing", "ed", "ly")):
        return []
    if rest and not _GIVEN_WITH.match(rest):
        return []
    after = rf"\b{name}\b\s*,? (?:\d\d\b|from [^\W\d_])"
    told = re.search(after, around.sentence, re.I) or re.match(r"and i\b", rest, re.I)
    greeted = ph.starts(around.sentence, "greetings") or ph.starts(around.before, "greetings")
    return one(name) if told or (greeted and (not rest or rest.startswith("from "))) else []


def read_people(text: str, around: Around) -> list[Reading]:
    """One name, or a list of names."""
    ph = around.ph
    names = [name for name in (ph.person(item, most=2) for item in ph.listed(text, most=3)) if name]
    return [Reading(names, "")] if len(names) > 1 else one(names[0] if names else ph.person(text, most=2))


def read_place(text: str, around: Around) -> list[Reading]:
    """A place, up to a date behind it: a proper name, or a short description of one."""
    ph = around.ph
    text = ph.before_place.sub("", around.undated(text).strip())
    inside = _INSIDE.match(text) if ph.lang == "en" else None
    text = inside["x"] if inside else text
    comma = _PLACE_TAIL.match(text)
    if comma:
        right, left = ph.proper(comma[2]), ph.place_ends.sub("", f" {comma[1]}").strip()
        whole = right and left == comma[1].strip() and comma[2].strip(" .") == right
        text = f"{left}, {right}" if whole else comma[1]
    elif ph.joint:
        text = text.split(",")[0]
    value = ph.cut(ph.place_ends.sub("", f" {text}"), most=5)
    article = ph.articles.match(value)
    if not value or value[0].isdigit() or (article and not value[article.end() : article.end() + 1].isupper()):
        return []
    first = value.split()[0].lower()
    other = first.strip(",") in ph.lists.set("tools") or (not article and first in ph.lists.set("not_places"))
    return one(value) if not other else []


def read_town(text: str, around: Around) -> list[Reading]:
    """A place by its proper name alone."""
    ph = around.ph
    text = ph.before_place.sub("", text)
    value = ph.proper(re.sub(r"^the (?=[A-Z])", "", text))
    if not value or value[0].isdigit() or value.lower() in ph.lists.table("languages"):
        return []
    region = re.match(rf"{re.escape(value)}, ([A-Z][\w ]+)$", text)
    rest = text[text.find(value) + len(value) :].strip(" ,.")
    other = value.split()[0].lower() in ph.lists.set("not_places") | ph.lists.set("tools")
    if other or ph.starts(rest, "not_after_city") or (len(value) <= 3 and not region):
        return []
    return one(f"{value}, {region[1]}" if region else value)


def read_org(text: str, around: Around) -> list[Reading]:
    """A company or institution by its proper name."""
    ph = around.ph
    value = ph.proper(re.sub(r"^the ", "", text, flags=re.I) if ph.lang == "en" else ph.articles.sub("", text))
    return one(value) if value and not value[0].isdigit() and value.lower() not in ph.lists.set("not_orgs") else []


def read_languages(text: str, around: Around) -> list[Reading]:
    """The languages of a list, each by the name it has in the key."""
    ph = around.ph
    known = ph.lists.table("languages") or {name: name for name in ph.lists.list("language_names")}
    out = []
    for item in ph.listed(text, most=4):
        word = next((part for part in item.lower().split() if part in known), "") if ph.joint else item
        if word in known or "sign language" in item.lower():
            out.append(Reading(True, slug(known.get(word, item))))
    return out
