"""Readers of things: what one likes, uses, owns, and what one works as."""

from __future__ import annotations

import re

from ..keys import slug
from ..phrases import Phrases, is_capital
from .around import Around, Reading, one

_VERSION = re.compile(r"\s+(?:machine|box|laptop|desktop|server|pc|computer|v?\d+(?:\.\d+)*|lts)$", re.I)


def read_things(text: str, around: Around) -> list[Reading]:
    """The things of a list, up to where a new sentence begins."""
    ph, out = around.ph, list[Reading]()
    article = re.match(r"(?:all )?the (?=[a-z])", text) if ph.lang == "en" else None
    if article and ph.starts(text[article.end() :], "the_things"):
        text = text[article.end() :]
    if ph.starts(text, "not_things"):
        return []
    if re.search(r"\d| ago\b", text):
        dates = around.dates(text, "past")
        text = text[: dates[0].span[0]] if dates and dates[0].relation == "in" else text
    for item in ph.listed(ph.thing_ends.sub("", f" {text}")):
        if ph.holds(item, "no_noun") or ph.starts(item, "not_things"):
            break
        out += [Reading(True, part) for part in [slug(item)] if len(part) > (1 if ph.joint else 0)]
    return out


def read_of_somebody(text: str, around: Around) -> list[Reading]:
    """Something of a person close to the user: "my son's school"."""
    close = text.split()[0].lower() in around.ph.lists.classes.get("relation", {})
    return one(text) if close or "'s" in text else []


def is_tool(name: str, ph: Phrases) -> bool:
    """A tool is known by name, or written with capitals."""
    parts = name.split()
    if not parts or len(parts) > 3 or is_time(name, ph):
        return False
    spoken = name.lower() in ph.lists.table("languages")
    capital = len(name) > 2 and not spoken and all(is_capital(word) for word in parts) and not parts[0].isdigit()
    return capital or not ph.lists.set("tools").isdisjoint((slug(name), name.lower()))


def is_time(name: str, ph: Phrases) -> bool:
    """Whether a name begins with a day or a month."""
    return name.split()[0].lower().strip("s,.") in ph.lists.set("time_words")


def tools_in(text: str, ph: Phrases) -> list[str]:
    """The tools a phrase lists."""
    if ph.starts(text, "not_things"):
        return []
    found: list[str] = []
    for item in re.split(r"\s*(?:,|\+|&)\s*", ph.tool_joint.sub(", ", ph.separator.sub(", ", text))):
        said = ph.bare(ph.cut(ph.thing_ends.sub("", f" {item}"), most=5)).split()
        found.append(_VERSION.sub("", " ".join(word for word in said if word.lower() not in ph.lists.set("adverbs"))))
    return [name for name in found if is_tool(name, ph)]


def read_tools(text: str, around: Around) -> list[Reading]:
    """Tools by their capitals, or known by name."""
    return [Reading(True, slug(name)) for name in tools_in(text, around.ph)]


def read_product(text: str, around: Around) -> list[Reading]:
    """One product by its name."""
    ph, bare = around.ph, around.ph.articles.sub("", text)
    value = ph.proper(bare) or next(iter(tools_in(bare, ph)), "")
    model = re.match(rf"{re.escape(value)} (?:mini|pro|max|plus|ultra|air|lite|se)\b", bare, re.I)
    return one(model[0] if model else value) if value and not is_time(value, ph) else []


def read_named(text: str, around: Around) -> list[Reading]:
    """A proper name or make that ends the clause."""
    ph = around.ph
    said = re.sub(r"\s+(?:from|of) (?:19|20)\d\d$", "", ph.articles.sub("", text.strip(" .")))
    name = ph.cut(said, most=3) if "," not in said and not ph.separator.search(said) else ph.proper(said)
    if not name or is_time(name, ph) or not is_capital(name.split()[0]) or re.match(r"\d(?!\d{3} \w)", name):
        return []
    return one(name) if not ph.holds(name, "no_noun") else []


def read_compound(text: str, around: Around) -> list[Reading]:
    """Lieblingsfarbe: one word for the favourite of a kind."""
    prefixes = around.ph.lists.list("favourite_prefixes")
    prefix = next((found for found in prefixes if text.lower().startswith(found)), None)
    return [Reading(True, slug(text[len(prefix) :]))] if prefix and len(text.split()) == 1 else []


def read_role(text: str, around: Around) -> list[Reading]:
    """Something that is known to be an occupation: by a list, or by its ending."""
    ph = around.ph
    said = ph.role_ends.sub("", f" {ph.cut(text.split(',')[0], most=99)}").strip()
    role = ph.cut(ph.articles.sub("", said), most=5)
    return one(role) if role and (not ph.joint or _is_role(role, ph)) else []


def _is_role(phrase: str, ph: Phrases) -> bool:
    lists, parts = ph.lists, [word.strip(".,").lower() for word in phrase.split()]
    if parts[0] in lists.set("not_role_start") or lists.set("no_role") & set(parts):
        return False
    word = (ph.lists.standing("role_links").split(phrase)[0].lower().split()[-1:] or [""])[0].strip(".,")
    listed = parts[0] in lists.set("role_start") or not lists.set("roles").isdisjoint((word, word.rstrip("s")))
    named = phrase.istitle() or (phrase.split()[-1][:1].isupper() and not phrase[:1].isupper())
    agent = word.endswith(lists.list("agent_endings")) and len(word) > 4 and word not in lists.set("not_roles")
    return listed or word.endswith(lists.list("role_endings")) or (agent and not named)
