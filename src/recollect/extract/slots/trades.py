"""Readers of work: roles, fields, businesses, duties."""

from __future__ import annotations

import re

from ..phrases import Phrases
from .base import Around, Reading, holding, holds, one, starts, without_tail


def is_role(phrase: str, ph: Phrases) -> bool:
    """Whether a phrase says what somebody works as: by a list, or by its ending."""
    parts = [word.strip(".,").lower() for word in phrase.split()]
    lists = ph.lists
    if not parts or parts[0] in lists.set("not_role_start") or lists.set("no_role") & set(parts):
        return False
    linked = holding(ph.lang, "role_links")
    head = (linked.split(phrase)[0] if linked else phrase).lower().split()[-1:] or [""]
    word = head[0].strip(".,")
    if parts[0] in lists.set("role_start") or word in lists.set("roles") or word.rstrip("s") in lists.set("roles"):
        return True
    if word.endswith(lists.list("role_endings")):
        return True
    proper = phrase.split()[-1][:1].isupper() and not phrase[:1].isupper()
    likely = word.endswith(lists.list("agent_endings")) and word not in lists.set("not_roles") and len(word) > 4
    return likely and not proper and not phrase.istitle()


def role_of(text: str, ph: Phrases) -> str:
    """The role at the start of a phrase."""
    said = ph.role_ends.sub("", f" {ph.cut(text.split(',')[0], most=99)}").strip()
    return ph.cut(ph.articles.sub("", said), most=5)


def read_role(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """Something that is known to be an occupation."""
    role = role_of(text, ph)
    return one(role) if role and (not ph.joint or is_role(role, ph)) else []


def read_job(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """Any short phrase: it stands where only an occupation can."""
    role = role_of(text, ph)
    return one(role) if role and not starts(role, ph, "not_jobs") else []


def read_field(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """A field of work or study."""
    said = role_of(text, ph)
    refused = starts(said, ph, "not_fields") or starts(text, ph, "not_fields")
    return one(said) if said and ph.length(said) <= 4 and not refused else []


def read_become(text: str, around: Around, ph: Phrases) -> list[Reading]:
    return [Reading(f"become {reading.value}", reading.part) for reading in read_role(text, around, ph)]


def read_work(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """A project: what is being built or written."""
    said = ph.cut(re.split(r"\s+[-–—]+\s+|,", text)[0], most=7)
    said = without_tail(said, ph)
    return one(said) if said and not holds(said, ph, "not_projects") else []


def read_sector(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """A field of work, which is written small."""
    return read_field(text, around, ph) if text[:1].islower() else []


def read_firm(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """A business that one can run: a bakery, a flower shop."""
    said = ph.cut(ph.place_ends.sub("", f" {text.split(',')[0]}"), most=5)
    while said.split(" ")[0].lower() in ph.lists.set("firm_sizes"):
        said = said.partition(" ")[2]
    return one(said) if said and holds(said.split()[-1], ph, "businesses") and ph.length(said) <= 4 else []


def read_duty(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """What a job consists of: "repairing clocks"."""
    said = role_of(text, ph)
    gerund = re.match(r"[a-z]+ing\b", said) if ph.lang == "en" else said
    return one(said) if gerund and not starts(said, ph, "not_jobs") else []


def read_livelihood(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """I sell insurance: a trade told by what one does."""
    said = ph.cut(text, most=4)
    fits = said == text.strip(" .") and 2 <= ph.length(said) <= 3 and said.islower() and starts(said, ph, "trade_verbs")
    return one(said) if fits and not starts(said.partition(" ")[2], ph, "not_things") else []


def read_living(text: str, around: Around, ph: Phrases) -> list[Reading]:
    said = ph.cut(text, most=6)
    return one(said) if said and not starts(said, ph, "not_a_living") else []


def read_practice(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """I do product management: a field that is also a job."""
    said = role_of(text, ph)
    return one(said) if said and holds(said.split()[-1], ph, "practices") and ph.length(said) <= 3 else []
