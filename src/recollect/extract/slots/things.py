"""Readers of things: what one likes, uses, owns."""

from __future__ import annotations

import re
from functools import cache

from ...dates import parse_dates
from ..keys import slug
from ..phrases import Phrases, any_of, is_capital, phrases
from .base import Around, Reading, holds, one, starts


def read_thing(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """One thing: a short noun phrase without its article."""
    said = ph.bare(ph.thing_ends.sub("", f" {ph.cut(text, most=8)}"))
    fits = said and ph.length(said) <= 4 and not starts(said, ph, "not_things") and not holds(said, ph, "no_noun")
    return one(said) if fits else []


def read_things(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """The things of a list, up to where a new sentence begins."""
    out: list[Reading] = []
    article = re.match(r"(?:all )?the (?=[a-z])", text) if ph.lang == "en" else None
    if article and starts(text[article.end() :], ph, "the_things"):
        text = text[article.end() :]
    if starts(text, ph, "not_things"):
        return []
    if re.search(r"\d| ago\b", text):
        dates = parse_dates(text, around.at, lang=around.lang)
        text = text[: dates[0].span[0]] if dates and dates[0].relation == "in" else text
    for item in ph.listed(ph.thing_ends.sub("", f" {text}")):
        if holds(item, ph, "no_noun") or starts(item, ph, "not_things"):
            break
        out += [Reading(True, part) for part in [slug(item)] if len(part) > (0 if not ph.joint else 1)]
    return out


def is_tool(name: str, ph: Phrases) -> bool:
    """A tool is known by name, or written with capitals."""
    parts = name.split()
    if not parts or len(parts) > 3 or parts[0].lower().strip("s,.") in ph.lists.set("time_words"):
        return False
    known = ph.lists.set("tools")
    spoken = name.lower() in ph.lists.table("languages")
    capital = len(name) > 2 and not spoken and all(is_capital(word) for word in parts) and not parts[0].isdigit()
    return slug(name) in known or name.lower() in known or capital


_VERSION = re.compile(r"\s+(?:machine|box|laptop|desktop|server|pc|computer|v?\d+(?:\.\d+)*|lts)$", re.I)


def tools_in(text: str, ph: Phrases) -> list[str]:
    """The tools a phrase lists; after an aside only names that are known go on with the list."""
    text = re.sub(r"^(?:an?|the) (?=[A-Z])", "", text.strip())
    if starts(text, ph, "not_things"):
        return []
    found: list[str] = []
    aside = False
    joined = _joins(ph.lang).sub(", ", ph.separator.sub(", ", text))
    for item in re.split(r"\s*(?:,|\+|&)\s*", joined):
        said = ph.bare(ph.cut(ph.thing_ends.sub("", f" {item}"), most=5)).split()
        name = _VERSION.sub("", " ".join(word for word in said if word.lower() not in ph.lists.set("adverbs")))
        known = _VERSION.sub("", name).lower() in ph.lists.set("tools")
        if known or (not aside and is_tool(name, ph)):
            found.append(name)
        aside = aside or bool(ph.thing_ends.search(f" {item}"))
    return found


@cache
def _joins(lang: str) -> re.Pattern[str]:
    """Words that stand between two tools: "Kubernetes on GCP"."""
    listed = phrases(lang).lists.list("tool_joins")
    return re.compile(rf"\s+(?:{any_of(listed)})\s+(?:an? |the |my |our )?", re.I) if listed else re.compile(r"(?!)")


def read_tools(text: str, around: Around, ph: Phrases) -> list[Reading]:
    return [Reading(True, slug(name)) for name in tools_in(text, ph)]


def read_known_tools(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """Tools known by name: people are also "on" holiday and "in" Berlin."""
    known = ph.lists.set("tools")
    return [
        Reading(True, slug(name)) for name in tools_in(text, ph) if {name.lower(), slug(name).split("_")[0]} & known
    ]


def read_counted(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """What is counted, where the number stands apart."""
    return read_thing(text, around, ph) if not starts(text, ph, "not_counted") else []


def read_gear(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """Tools in a language without capitals: whatever short names stand where only a tool can."""
    if starts(text, ph, "not_things"):
        return []
    items = (ph.cut(item, most=4) for item in ph.separator.split(text))
    return [Reading(True, slug(item)) for item in items if item]


def read_product(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """One product by its name."""
    bare = ph.articles.sub("", text)
    names = tools_in(bare, ph)
    value = ph.proper(bare) or (names[0] if names else None)
    model = re.match(rf"{re.escape(value)} (?:mini|pro|max|plus|ultra|air|lite|se)\b", bare, re.I) if value else None
    value = model[0] if model else value
    late = value and value.split()[0].lower().strip("s,.") in ph.lists.set("time_words")
    return [] if late else one(value)


def read_owned(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """The name of something of the user's, in "my … is"."""
    said = ph.bare(text)
    return one(said) if said and ph.length(said) <= 3 and not holds(said, ph, "not_owned") and "'s" not in said else []


def read_named(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """A proper name or make that ends the clause."""
    said = re.sub(r"\s+(?:from|of) (?:19|20)\d\d$", "", ph.articles.sub("", text.strip(" .")))
    plain = ph.cut(said, most=3) if "," not in said and not ph.separator.search(said) else ph.proper(said)
    late = plain and plain.split()[0].lower().strip("s,.") in ph.lists.set("time_words")
    if (
        not plain
        or late
        or not is_capital(plain.split()[0])
        or re.match(r"\d(?!\d{3} \w)", plain)
        or holds(plain, ph, "no_noun")
    ):
        return []
    return one(plain)


def read_goods(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """Something with a name that one can own."""
    name = ph.cut(text, most=4)
    if name != text.strip(" .") or not is_capital(name.split()[0] if name else "") or starts(name, ph, "not_goods"):
        return []
    return [Reading(True, slug(name))] if not holds(name, ph, "no_noun") else []


def read_belonging(text: str, around: Around, ph: Phrases) -> list[Reading]:
    return [Reading(True, reading.part) for reading in read_thing(text, around, ph)]


def read_favourite(text: str, around: Around, ph: Phrases) -> list[Reading]:
    said = ph.cut(re.sub(r"^(?:an?) ", "", text) if ph.lang == "en" else text, most=7)
    article = ph.articles.match(said) if ph.lang != "en" else None
    if article and said[article.end() : article.end() + 1].islower():
        said = said[article.end() :]
    return one(said) if said and not starts(said, ph, "not_favourites") else []


def read_compound(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """Lieblingsfarbe: one word for the favourite of a kind."""
    low = text.lower()
    prefix = next((found for found in ph.lists.list("favourite_prefixes") if low.startswith(found)), None)
    return [Reading(True, slug(text[len(prefix) :]))] if prefix and len(text.split()) == 1 else []


def read_pastime(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """What one plays or practises: an instrument, a sport."""
    items = ph.listed(ph.role_ends.sub("", ph.thing_ends.sub("", f" {text}")), most=3)
    return [Reading(True, slug(item)) for item in items if not starts(item, ph, "not_pastimes")]


def read_activity(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """What one likes to do: a verb and what belongs to it."""
    said = ph.cut(text, most=4)
    return [Reading(True, slug(said))] if said and not starts(said, ph, "not_activities") else []
