"""Readers of dates, plans, counts and amounts."""

from __future__ import annotations

import re

from ...dates import DateRange, number, parse_dates
from ..amounts import amount, measure
from ..keys import slug
from ..phrases import Phrases, phrases
from .base import Around, Reading, holds, is_of_person, one, starts, without_tail


def read_number(text: str, around: Around, ph: Phrases) -> list[Reading]:
    return one(number(text, around.lang))


def read_age(text: str, around: Around, ph: Phrases) -> list[Reading]:
    years = number(text, around.lang)
    return one(years) if years is not None and 3 <= years <= 120 else []


def read_amount(text: str, around: Around, ph: Phrases) -> list[Reading]:
    said = amount(text, around.lang)
    return [Reading(said, "")] if said is not None else []


def read_measure(text: str, around: Around, ph: Phrases) -> list[Reading]:
    said = measure(text, around.lang)
    return [Reading(said, "")] if said is not None else []


def only_date(text: str, around: Around) -> DateRange | None:
    """The only date of a phrase, when the phrase is little more than that."""
    found = parse_dates(text, around.at, prefer=around.prefer, lang=around.lang)
    if len(found) != 1 or without_tail(text[: found[0].span[0]], phrases(around.lang)):
        return None
    return found[0]


def read_date(text: str, around: Around, ph: Phrases) -> list[Reading]:
    found = only_date(text, around)
    return one(found.iso) if found else []


def read_when(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """The only date of a phrase, whatever stands beside it."""
    found = parse_dates(text, around.at, prefer=around.prefer, lang=around.lang)
    return one(found[0].iso) if len(found) == 1 else []


def read_birthday(text: str, around: Around, ph: Phrases) -> list[Reading]:
    if re.match(r"(?:the )?(?:feb(?:ruary)? (?:the )?29|29(?:th|\.)?(?: of)? feb)", text, re.I):
        return one("--02-29")
    found = parse_dates(text, around.at, prefer="past", lang=around.lang)
    if not found or len(text[: found[0].span[0]].split()) > 3:
        return []
    first = found[0]
    if first.grain == "day" and first.yearless:
        return one(f"--{first.start.month:02d}-{first.start.day:02d}")
    if first.grain == "month" and not re.search(r"\d{4}", first.text):
        return one(f"--{first.start.month:02d}")
    return one(first.iso) if first.grain in ("day", "month", "year") else []


def read_recurring(text: str, around: Around, ph: Phrases) -> list[Reading]:
    found = only_date(text, around)
    if not found:
        return []
    return one(f"--{found.start.month:02d}-{found.start.day:02d}" if found.yearless else found.iso)


def read_event(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """What a date is of: a short noun phrase that is an event."""
    said = ph.bare(text)
    fits = said and ph.length(said) <= 5 and not starts(said, ph, "not_events") and not holds(said, ph, "no_noun")
    return one(said) if fits else []


def _before_date(text: str, around: Around) -> tuple[str, DateRange] | None:
    """What stands before the only date of a phrase, where the phrase ends with that date."""
    found = parse_dates(text, around.at, prefer=around.prefer, lang=around.lang)
    ph = phrases(around.lang)
    rest = text[found[0].span[1] :] if found else ""
    if len(found) != 1 or (rest.strip(" .,!") and not starts(rest.strip(" ,"), ph, "after_date")):
        return None
    return without_tail(text[: found[0].span[0]].strip(" ,"), ph), found[0]


def read_plan(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """Something the user is going to do, and when: "flying to Lisbon next month"."""
    cut = _before_date(text, around)
    if cut is None:
        return []
    what, found = cut
    today = around.at.replace(hour=0, minute=0, second=0, microsecond=0)
    over = found.start < today and found.grain in ("day", "minute")
    vague = found.text.lower().startswith(tuple(ph.lists.list("vague_dates")) or ("\0",))
    if over or vague or not 2 <= ph.length(what) <= 6 or starts(what, ph, "not_plans") or holds(what, ph, "no_noun"):
        return []
    return [Reading(found.iso, slug(what))]


def read_appointment(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """Something the user has, and when: "dentist appointment on Friday"."""
    more = re.split(r"\s+and (?:an? |my |another )", text) if ph.lang == "en" else [text]
    if len(more) > 1:
        return [reading for part in more for reading in read_appointment(part, around, ph)]
    cut = _before_date(text, around)
    if cut is None or holds(text, ph, "recurrent"):
        return []
    said = re.sub(r"\s+(?:with|at|in) .*$", "", cut[0]) if ph.lang == "en" else cut[0]
    what = ph.bare(said)
    fits = 1 <= ph.length(what) <= 4 and not starts(what, ph, "not_events") and not holds(cut[0], ph, "no_noun")
    fits = fits and cut[1].end > around.at
    return [Reading(cut[1].iso, slug(what))] if fits else []


def read_did(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """Something the user did, and when: "bought our house in 2019"."""
    if not starts(text, ph, "life_verbs"):
        return []
    cut = _before_date(text, around)
    if cut is None:
        return []
    verb, _, what = cut[0].partition(" ")
    said = f"{verb} {ph.bare(what)}".strip()
    fits = 1 <= ph.length(said) <= 5 and not holds(said, ph, "no_noun") and not starts(what, ph, "not_done")
    return [Reading(cut[1].iso, slug(said))] if fits else []


def read_calendar(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """An event by its last word: a deadline, an exam, a launch."""
    said = ph.bare(text)
    last = said.split()[-1].lower() if said else ""
    return read_event(text, around, ph) if last in ph.lists.set("events") else []


def read_counting(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """So many of something: "two small dogs"."""
    parts = text.split()
    for size in (3, 2, 1):
        value = number(" ".join(parts[:size]), around.lang) if len(parts) > size else None
        if value is not None:
            break
    else:
        return []
    said = ph.cut(ph.role_ends.sub("", ph.thing_ends.sub("", f" {' '.join(parts[size:]).split(',')[0]}")), most=4)
    said = ph.separator.split(said)[0] if said else ""
    ours = not starts(around.sentence, ph, "we") or holds(said, ph, "ours")
    if (
        not said
        or not ours
        or (said[0].isupper() and ph.lang == "en")
        or starts(said, ph, "not_counted")
        or parts[0].lower() in ph.lists.set("articles")
    ):
        return []
    return [Reading(value, slug(said))]


def read_owned_number(text: str, around: Around, ph: Phrases) -> list[Reading]:
    said = ph.thing_ends.sub("", f" {ph.bare(text)}").strip()
    fits = said and ph.length(said) <= 3 and not holds(said, ph, "not_numbers") and "'s" not in said
    fits = fits and not is_of_person(said, ph)
    return one(said) if fits else []


def read_aim(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """What somebody aims for, without the date by which."""
    dates = parse_dates(text, around.at, lang=around.lang)
    said = without_tail(text[: dates[0].span[0]].strip(" ,.") if dates else text.strip(" ."), ph)
    return one(said) if 0 < ph.length(said) <= 12 else []


def read_serious(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """An aim, not the task at hand."""
    return read_aim(text, around, ph) if starts(text, ph, "aims") else []


def read_ambition(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """An aim in life, not a task."""
    text = re.sub(r"^finally ", "", text)
    return read_aim(text, around, ph) if starts(text, ph, "ambitions") else []


def read_exam(text: str, around: Around, ph: Phrases) -> list[Reading]:
    return read_aim(text, around, ph) if holds(text, ph, "exams") else []


def read_turning(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """I'll be 50 in May: so I am 49."""
    years = number(text.split()[0] if text.split() else "", around.lang)
    return one(years - 1) if years is not None and 4 <= years <= 120 else []


def read_begin(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """Something that begins or ends on a day: "launching on 1 February"."""
    cut = _before_date(text, around)
    if cut is None or not starts(text, ph, "begin_verbs"):
        return []
    verb, _, what = cut[0].partition(" ")
    said = f"{verb} {ph.bare(what)}".strip()
    return [Reading(cut[1].iso, slug(said))] if ph.length(said) <= 6 and not holds(said, ph, "no_noun") else []


def read_deadline(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """File my taxes before 15 April: a deadline of the user's own."""
    cut = _before_date(text, around)
    what = ph.bare(cut[0]) if cut else ""
    return [Reading(cut[1].iso, slug(f"{what} deadline"))] if cut and 1 <= ph.length(what) <= 6 else []


def read_clock(text: str, around: Around, ph: Phrases) -> list[Reading]:
    found = re.match(r"(?:\d{1,2}(?::\d\d)?(?: ?[ap]\.?m\b\.?)?|noon|midnight)(?=$|,| every| on| each)", text, re.I)
    return one(found[0]) if found else []


def read_codeword(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """A number or code: "SW4 7AB", "12b"."""
    found = re.match(r"[\w-]{1,12}(?: \d\w\w)?$", text.strip(" ."))
    return one(found[0]) if found and re.search(r"\d", text) else []


def read_rank(text: str, around: Around, ph: Phrases) -> list[Reading]:
    """The youngest of five."""
    found = re.match(r"(?:youngest|oldest|eldest|middle|second|third) (?:child )?(?:out )?of \w+", text)
    return one(found[0]) if found else []


def read_length(text: str, around: Around, ph: Phrases) -> list[Reading]:
    said = measure(text, around.lang)
    return [Reading(said, "")] if said is not None and said["unit"] in ("cm", "m", "ft", "in") else []


def read_weight(text: str, around: Around, ph: Phrases) -> list[Reading]:
    said = measure(text, around.lang)
    return [Reading(said, "")] if said is not None and said["unit"] in ("kg", "lb", "stone") else []
