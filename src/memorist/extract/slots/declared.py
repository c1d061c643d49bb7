"""Slots that `languages/slots.toml` declares: a phrase or what another slot reads, and what must be true of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from zoneinfo import available_timezones

from ...dates import DateRange
from ..keys import slug
from .around import Around, Reading

Read = Callable[[str, str, Around], list[Reading]]
Slot = dict[str, Any]
"""One table of the file, which says what each of its names means."""
CAPITAL = re.compile(r"(?!I\b)[A-ZÀ-Þ]")


class _Found(NamedTuple):
    """The words of a phrase, what they give, all words of the slot, and the date behind the phrase."""

    said: str
    value: Any
    text: str
    verbal: bool = False
    """Whether it begins with a verb."""
    date: DateRange | None = None

    @property
    def noun(self) -> str:
        """The words behind the verb."""
        return self.said.partition(" ")[2] if self.verbal else self.said


READS = (
    "like not_like match without stop behind ends open each bare verb dated undated split until put true add".split()
)
"""What says how a slot is read; the rest says what must be true of it."""
BEFORE: dict[str, Callable[[str, Around, Any], bool]] = {
    "begins": lambda text, around, name: around.ph.starts(text, name),
    "not_opened": lambda text, around, name: not around.ph.starts(text, name),
    "near": lambda text, around, name: around.ph.holds(around.sentence, name),
    "greeted": lambda text, around, name: around.ph.starts(around.sentence, name),
    "article": lambda text, around, _: bool(around.ph.articles.match(text)),
    "spoken": lambda text, around, name: around.ph.holds(f"{around.before} {around.sentence}", name),
    "never": lambda text, around, name: not around.ph.holds(text, name),
    "all_small": lambda text, around, _: not CAPITAL.search(around.sentence),
}
"""What can be told before anything is read: most slots that any word may fill are refused here."""
AFTER: dict[str, Callable[[_Found, Around, Any], bool]] = {
    "least": lambda found, around, size: around.ph.length(found.said) >= size,
    "most": lambda found, around, size: around.ph.length(found.said) <= size,
    "between": lambda found, around, ends: ends[0] <= found.value <= ends[1],
    "units": lambda found, around, units: found.value["unit"] in units,
    "list": lambda found, around, _: isinstance(found.value, list),
    "not_begins": lambda found, around, name: not around.ph.starts(found.noun, name),
    "holds": lambda found, around, name: around.ph.holds(found.said, name),
    "not_holds": lambda found, around, name: not around.ph.holds(found.said, name),
    "known": lambda found, around, name: around.ph.knows(found.said, name),
    "last": lambda found, around, name: around.ph.holds(found.said.split()[-1], name),
    "form": lambda found, around, form: bool(re.search(form, found.said)),
    "whole": lambda found, around, _: found.said == found.text.strip(" ,.!"),
    "written": lambda found, around, size: found.said[0].isupper() == (size == "capital"),
    "zone": lambda found, around, _: "/" not in found.said or found.said in available_timezones(),
    "ahead": lambda found, around, _: found.date is not None and found.date.end > around.at,
    "not_dates": lambda found, around, name: found.date is not None and not around.ph.starts(found.date.text, name),
    "followed": lambda found, around, name: _is_followed(found.text[len(found.said) :].strip(), around, name),
}
"""What must be true of what was read."""


def read_declared(slot: Slot, text: str, around: Around, read: Read) -> list[Reading]:
    """What a declared slot makes of its words; `read` reads those it refers to."""
    while "without" in slot and text.partition(" ")[0].lower() in around.ph.lists.set(slot["without"]):
        text = text.partition(" ")[2]
    if not all(BEFORE[name](text, around, asked) for name, asked in slot.items() if name in BEFORE):
        return []
    out = []
    for found in _found(slot, text, around, read):
        fits = found.said and all(AFTER[name](found, around, asked) for name, asked in slot.items() if name in AFTER)
        if fits and not ("not_like" in slot and read(slot["not_like"], found.said, around)):
            said = slot["put"].format(found.said) if "put" in slot else found.said
            value = said if found.value == found.said else found.value + slot["add"] if "add" in slot else found.value
            out.append(Reading(True if "true" in slot else value, slug(said)))
    return out


def _found(slot: Slot, text: str, around: Around, read: Read) -> Iterator[_Found]:
    said = re.split(slot["stop"], text)[0] if "stop" in slot else text
    said = around.undated(said) if "undated" in slot else said
    behind = around.ph.lists.standing(slot["behind"]).search(said) if "behind" in slot else None
    said = said[behind.end() :].strip() if behind else said
    parts = re.split(slot["split"], said) if "split" in slot else [said]
    if len(parts) > 1:
        for part in parts:
            yield from _found(slot, part, around, read)
    elif "match" in slot:
        match = re.search(slot["match"], said)
        if match and len(said[: match.start()].split()) <= 3:
            value = match[match.lastindex or 0].strip().rstrip(".")
            yield _Found(value, value, text)
    elif "like" in slot:
        like = [slot["like"]] if isinstance(slot["like"], str) else slot["like"]
        for value, part in next(filter(None, (read(name, said, around) for name in like)), ()):
            yield _Found(value if isinstance(value, str) else part.replace("_", " ") or str(value), value, text)
    elif "dated" in slot:
        cut = around.before_date(said)
        if cut:
            phrase = re.split(slot["until"], cut[0])[0] if "until" in slot else cut[0]
            yield _Found(_bare(slot, phrase, around), cut[1].iso, text, "verb" in slot, cut[1])
    else:
        for phrase in _phrases(slot, said, around):
            yield _Found(phrase, phrase, text, "verb" in slot)


def _phrases(slot: Slot, said: str, around: Around) -> Iterator[str]:
    ph = around.ph
    for name in slot.get("ends", ()):
        said = getattr(ph, name).sub("", f" {said}").strip()
    for item in ph.separator.split(said) if "each" in slot else [said]:
        yield ph.without_tail(_bare(slot, item.strip(" .。") if "open" in slot else ph.cut(item, most=99), around))


def _is_followed(rest: str, around: Around, name: str) -> bool:
    return not rest or rest[0] in ",.(" or around.ph.starts(rest, name)


def _bare(slot: Slot, said: str, around: Around) -> str:
    verb, _, rest = said.partition(" ") if "verb" in slot else ("", "", said)
    article = around.ph.articles.match(rest) if slot.get("bare") == "small" else None
    if article:
        rest = rest[article.end() :] if rest[article.end() : article.end() + 1].islower() else rest
    return f"{verb} {around.ph.bare(rest) if slot.get('bare') is True else rest}".strip()
