"""Extracts plain statements that a user's message makes about the user, with rules and without a model.

A rule must match from the start of a clause to the end of its value, in a sentence that expresses no doubt. If anything
is unclear, nothing is extracted, because recall can still find the message itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from ..dates import parse_dates
from ..errors import UsageError
from ..languages import UNSPACED, language_of, languages, stop_words
from ..messages.message import Message
from .extracted import EVERYTHING, Extracted
from .keys import slug
from .readable import read_message
from .rules import FORGET, MAX_OPENINGS, Rule, RuleBook, confidence_of, rule_book
from .sentences import Sentence, sentences

MIN_UNKNOWN_WORDS = 3
"""A text with fewer words than this is not evidence of an unknown language."""
MAX_CLAUSES = 8
MAX_WISH_CHARACTERS = 200
_QUESTION = re.compile(r"[?？]\W*$")
_JOINT = re.compile(
    r"\s*(?:,|;|、|，|\band\b|\bor\b|\bund\b|\boder\b|\bet\b|\bou\b|\by\b|\bo\b|\be\b|\ben\b|\bof\b|和|跟|と|や)\s*"
)
_EDGES = " \t,;:.!?…。！？、，"
_FROM_MEMORY = re.compile(r"\s+from (?:your )?memory$", re.I)
_CONTRAST = re.compile(
    r"^(?:it's|it is|i meant|i said|its) (?P<new>[^,;]{1,40}?),? not (?P<old>[^,;.]{1,40})\W*$", re.I
)


class Refused(NamedTuple):
    """Holds a sentence from which nothing was extracted, and the reason."""

    text: str
    lang: str | None
    reason: str


class Clause(NamedTuple):
    """Holds a part of a sentence that may state something, and its position in the sentence."""

    text: str
    start: int


def extract(
    message: Message | str, *, at: datetime, owner: Collection[str] = (), previous: Sequence[Extracted] = ()
) -> list[Extracted]:
    """Return the facts, learnings and requests to forget that a message states about its user.

    Args:
        message: The message. Plain text counts as a user's message.
        at: When it was written, which relative dates refer to.
        owner: The names of the person the thread belongs to. If a message has a `name`, it must be one of these.
        previous: The statements extracted from earlier messages, so that "it's Jon, not John" finds the one it
            corrects.
    """
    return [item for item in trace(message, at=at, owner=owner, previous=previous) if isinstance(item, Extracted)]


def trace(
    message: Message | str, *, at: datetime, owner: Collection[str] = (), previous: Sequence[Extracted] = ()
) -> list[Extracted | Refused]:
    """Return the result of `extract`, and the reason for each sentence that produced nothing."""
    if at.tzinfo is None:
        raise UsageError("the datetime is naive; pass an aware one, such as datetime.now(timezone.utc)")
    message = Message(role="user", content=message) if isinstance(message, str) else message
    own = read_message(message, owner)
    if own.reason:
        return [Refused(" ".join(message.text[:200].split()), None, own.reason)]
    out: list[Extracted | Refused] = []
    spoken = ""
    for sentence in sentences(own.text):
        spoken = language_of(sentence.text) or spoken or language_of(own.text) or "en"
        if spoken not in languages():
            out.append(Refused(sentence.text, spoken, "no rules for this language"))
            continue
        earlier = [*previous, *(item for item in out if isinstance(item, Extracted))]
        items = _read(sentence, rule_book(spoken), at, own.text, earlier)
        out += [replace(item, speaker=message.name) if isinstance(item, Extracted) else item for item in items]
    return _settled(out)


def unread(text: str) -> bool:
    """Return whether a message contains sentences only in languages that have no rules."""
    lengths = [(language_of(sentence.text), len(sentence.text.split())) for sentence in sentences(text)]
    is_readable = any(lang in languages() for lang, _ in lengths)
    return (
        bool(lengths)
        and not is_readable
        and any(lang is not None or size >= MIN_UNKNOWN_WORDS for lang, size in lengths)
    )


def _read(
    sentence: Sentence, book: RuleBook, at: datetime, text: str, previous: Sequence[Extracted]
) -> list[Extracted | Refused]:
    """Return the statements in a sentence, or a refusal if there are none."""
    bare, correction, greeted, remember = _opened(sentence.text, book)
    greeted = greeted or bool(book.greeting.search(text, 0, sentence.start))
    frame = Extracted(
        kind="fact", key="", value=None, confidence=confidence_of("note"), correction=correction, text=sentence.text,
        span=(sentence.start, sentence.end), lang=book.lang,
    )  # fmt: skip
    asks = book.asks.search(bare) if _is_own(bare, book) else None
    if asks and _QUESTION.search(bare):  # "I'm Christina, a nurse - can you help me?"
        bare = bare[: asks.start()]
    reason = ""
    items: list[Extracted] = []
    for position, clause in enumerate(_clauses(bare, book)):
        wishes = (
            not position or bool(items) or _is_own(bare, book)
        )  # "you chase it, but always end up …" asks for nothing
        doubt = _doubt(bare, clause, book)
        reason = reason or doubt
        stated = _stated(clause.text, book, frame, at, plain=not doubt, greeted=greeted)
        items += [item for item in stated if item.kind != "learning" or (wishes and not _is_part(item, items))]
    items += _anywhere(sentence.text, book, frame, at)  # "my sister Maria" is said whatever else is in doubt
    if not items and not reason:
        items += _contrast(bare, frame, previous)
    remember = remember and (_is_own(bare, book) or bool(book.remembers_any.match(sentence.text)))
    is_cut = sentence.text.endswith((",", ":", ";"))  # a quotation followed: "Remember: when I ask, '…'"
    if not items and not reason and remember and not is_cut:
        note = bare.strip(_EDGES)
        items = [replace(frame, key=f"note.{slug(note, words=8)}", value=note[:1].upper() + note[1:], rule="note")]
    return [*items] or [Refused(sentence.text, book.lang, reason or "no rule fits")]


def _opened(text: str, book: RuleBook) -> tuple[str, bool, bool, bool]:
    """Return a sentence without the words before its statement, and whether these words are a correction, a greeting or
    a request to remember."""
    correction = greeted = remember = False
    for _ in range(MAX_OPENINGS):
        match = book.remembers.match(text)
        opening = match or book.opening.match(text)
        if opening is None or opening.end() >= len(text):
            break
        remember = remember or match is not None
        correction = correction or bool(book.correction.match(text))
        greeted = greeted or bool(book.greeting.match(text))
        text = text[opening.end() :]
    return text, correction, greeted, remember


def _clauses(text: str, book: RuleBook) -> list[Clause]:
    """Return the sentence itself, and its parts that begin at a later "I", "my" or imperative."""
    starts, elided = _starts(text, book)
    return [
        Clause(text, 0),
        *(Clause(_opened(text[start:], book)[0], start) for start in starts[: MAX_CLAUSES - 1]),
        *(Clause(f"{book.subject}{text[start:]}", start) for start in elided[:2]),
    ]


def _doubt(sentence: str, clause: Clause, book: RuleBook) -> str:
    """Return why a clause of a sentence is not a plain statement, or an empty string if it is one.

    Later clauses, as in "I'm a nurse, and I would love some tips", do not cast doubt on it.
    """
    is_ground = bool(book.grounds.search(sentence, 0, clause.start))
    if _QUESTION.search(sentence) and not is_ground:
        return "a question"
    start, end = 0, len(sentence)
    is_doubted = False
    if book.jokes is not None:
        later = book.boundary.search(sentence, clause.start + 1)
        start, end = clause.start, later.start() if later else end
        is_doubted = bool(book.jokes.search(sentence)) or (
            not is_ground and bool(book.governs.search(sentence, 0, start))
        )
    is_doubted = is_doubted or bool(book.doubts.search(sentence, start, end))
    return "a condition, a guess, a joke or something past" if is_doubted else ""


def _starts(text: str, book: RuleBook) -> tuple[list[int], list[int]]:
    """Return the positions where later clauses begin, with or without their own subject ("… and work at Acme")."""
    return [own.end() for own in book.boundary.finditer(text)], [own.end() for own in book.ellipsis.finditer(text)]


def _stated(
    clause: str, book: RuleBook, frame: Extracted, at: datetime, *, plain: bool, greeted: bool
) -> Iterator[Extracted]:
    """Yield the statements that the rules find at the start of a clause. If the sentence is not `plain`, yield only
    requests."""
    for rule in book.rules:
        if rule.anywhere or (rule.greeted and not greeted) or not (plain or rule.topic in (FORGET, "preference")):
            continue
        match = rule.pattern.match(clause)
        if match:
            yield from _items(rule, match, book, frame, at)


def _anywhere(text: str, book: RuleBook, frame: Extracted, at: datetime) -> Iterator[Extracted]:
    """Yield the statements that the rules find anywhere in a sentence, such as "gifts for my cousin Rachel?"."""
    for rule in book.rules:
        for match in rule.pattern.finditer(text) if rule.anywhere else ():
            yield from _items(rule, match, book, replace(frame, correction=False), at)


def _items(rule: Rule, match: re.Match[str], book: RuleBook, frame: Extracted, at: datetime) -> Iterator[Extracted]:
    """Yield the facts, the learning or the request that a match represents, or nothing if a value is invalid."""
    groups = {name: value.strip(_EDGES) for name, value in match.groupdict().items() if value is not None}
    if "things" in groups:  # "allergic to peanuts, and I live in Lisbon": the list ends where the next clause begins
        first, last = match.span("things")
        elided = (own.end() for own in book.ellipsis.finditer(match.string))
        starts = [*(own.start() for own in book.boundary.finditer(match.string)), *elided]
        ends = [start for start in starts if first < start < last]
        groups["things"] = match.string[first : min([*ends, last])].strip(_EDGES)
        groups["rest"] = "" if ends else match.string[match.end() :].lstrip()
    for name in ("name", "named"):
        if name in groups:
            groups[name] = groups[name].removesuffix("'s")
    item = replace(frame, rule=rule.id, retracted=rule.ends, confidence=rule.confidence)
    if rule.topic == FORGET:
        subject = EVERYTHING if "all" in groups else _FROM_MEMORY.sub("", groups.get("text", ""))
        yield replace(item, kind="forget", key=FORGET, value=subject)
    elif rule.topic == "preference":
        wish = _cut_wish(rule, match, book).strip(_EDGES)
        if len(wish) <= MAX_WISH_CHARACTERS and not book.vague.search(wish):
            key = f"preference.{slug(wish, words=8)}"
            yield replace(item, kind="learning", type="preference", key=key, value=wish, correction=False)
    else:
        for key, value in _values(rule, groups, book, at):
            yield replace(item, key=key, value=value)


def _cut_wish(rule: Rule, match: re.Match[str], book: RuleBook) -> str:
    """Return a wish without a statement that follows it, as in "… short answers, and I'm allergic to nuts"."""
    for boundary in book.boundary.finditer(match.string, match.start("text")):
        shorter = rule.pattern.match(match.string[: boundary.start()])
        if shorter and _is_own(match.string[boundary.end() :], book):
            return shorter["text"]
    return match["text"]


def _values(rule: Rule, groups: dict[str, str], book: RuleBook, at: datetime) -> Iterator[tuple[str, object]]:
    """Yield the keys and values of a match. Words listed as not being names, places or things are left out."""
    topic = rule.topic
    if rule.value:
        yield topic, rule.value.format_map(groups)
    elif topic in ("relation", "pet") and "names" in groups:
        names = [re.sub(r" \(\d+\)$", "", name) for name in re.split(r",? (?:and|&) |, ", groups["names"]) if name]
        if all(_is_name(name, book, called=True) for name in names):
            kind = slug(book.canonical(f"{topic}s", groups[f"{topic}s"]))
            yield from ((f"{topic}.{kind}.{slug(name)}", name) for name in names)
    elif topic in ("relation", "pet"):
        kind = book.canonical(topic, groups.get(topic, ""))
        name = groups.get("named") or groups["name"]
        if not kind:
            yield f"{topic}.*", name  # "Hannah and I split up" ends what she was
        elif _is_name(name, book, called="named" in groups):
            only = kind in book.words("unique")
            yield f"{topic}.{slug(kind)}" + ("" if only else f".{slug(name)}"), name
    elif topic == "birthday":
        dates = parse_dates(groups["date"], at, prefer="past", lang=book.lang)
        if dates and dates[0].span[0] <= 3 and dates[0].grain == "day":
            day = dates[0]
            has_year = not day.yearless and str(day.start.year) in groups["date"]  # not "my birthday is tomorrow"
            yield topic, day.start.date().isoformat() if has_year else day.start.strftime("--%m-%d")
    elif topic in ("allergy", "condition", "medication", "avoids"):
        for value in _things(topic, groups, book):
            yield f"{topic}.{slug(value)}", value
    else:
        yield from _single(topic, groups, book)


def _things(topic: str, groups: dict[str, str], book: RuleBook) -> Iterator[str]:
    if topic == "allergy":
        yield from _allergens(groups.get("things") or groups.get("things_2", ""), groups.get("rest", ""), book)
        return
    listed = {"condition": "condition", "medication": "drug", "avoids": "food"}[topic]
    for name in (listed, f"{listed}_2"):
        if name in groups:
            yield book.canonical(listed, groups[name])


def _allergens(text: str, rest: str, book: RuleBook) -> Iterator[str]:
    """Yield the things in a list such as "cats, pollen and tree nuts", which the rest of the sentence follows.

    Words after the first thing often begin a remark ("peanuts, so please", "latex and hate gloves"). They belong to the
    list only if a conjunction closes it, and the last one only if the sentence ends there or it is a listed allergen.
    """
    first, *others = re.split(rf"({_JOINT.pattern})", text)
    vague = book.words("not_things")
    refused = vague | book.words("degrees") | stop_words(book.lang)
    states = book.words("diet") | book.words("condition") | book.words("job")
    rows = list(zip(others[::2], others[1::2], strict=True))
    closed = max((number for number, (joint, _) in enumerate(rows, 1) if joint.strip(" ,;，")), default=0)
    out = [first]
    for number, (_, thing) in enumerate(rows, 1):
        words = thing.casefold().split()
        if not words or thing.casefold() in book.words("degrees"):  # "peanuts, badly, and …"
            continue
        if vague & {*words}:  # "nuts or something"
            return
        is_listed = thing.casefold() in book.words("allergen")
        is_open = number > closed or (number == closed and rest[:1].isalnum())
        if not is_listed and (is_open or len(words) > 1 or words[0] in refused | states):
            break
        out.append(thing)
    if not refused & {*first.casefold().split()}:
        yield from (book.canonical("allergen", thing) for thing in out)


def _single(topic: str, groups: dict[str, str], book: RuleBook) -> Iterator[tuple[str, object]]:
    if topic in ("name", "surname", "nickname"):
        name = groups.get("named") or groups["name"]
        if _is_name(name, book, called="named" in groups):
            yield topic, name
    elif topic == "age":
        yield topic, int(groups["age"])
    elif topic == "location":
        if "place" in groups and _first(groups["place"]) not in book.words("not_places"):
            yield topic, groups["place"]
    elif topic in ("role", "employer"):
        org = groups.get("org")
        if org is not None:
            yield "employer", org
        if "role" in groups or "state" in groups:
            yield "role", groups.get("role") or groups["state"]
        elif topic == "employer" and org is None:
            yield topic, None
    elif topic == "diet":
        yield topic, book.canonical("diet", groups["diet"]) if "diet" in groups else None
    else:
        yield topic, book.canonical("field", groups["field"])


def _is_name(name: str, book: RuleBook, *, called: bool = False) -> bool:
    """Return whether the words form a name. `called` means that the text says somebody has this name."""
    refused = book.words("not_names") | book.words("job") | book.words("diet")
    refused -= book.words("also_names") if called else frozenset()
    if book.lang in UNSPACED:
        return name.casefold() not in refused
    words = name.casefold().split()
    return not any(word in refused or word.startswith("i'") for word in words) and not name.isupper()


def _is_part(item: Extracted, items: Sequence[Extracted]) -> bool:
    """Return whether a wish is the tail of one that was already extracted."""
    return item.kind == "learning" and any(item.value in other.value for other in items if other.kind == "learning")


def _first(text: str) -> str:
    return text.split()[0].casefold() if text.split() else ""


def _is_own(text: str, book: RuleBook) -> bool:
    """Return whether a sentence is about its writer, such as "my car is on level 3"."""
    return bool(book.own.match(text))


def _contrast(text: str, frame: Extracted, previous: Sequence[Extracted]) -> list[Extracted]:
    """Handle "It's Jon, not John", which replaces only the value that it names."""
    match = _CONTRAST.match(text)
    if match is None:
        return []
    old, new = match["old"].strip(_EDGES), match["new"].strip(_EDGES)
    for item in reversed(previous):
        if item.kind == "fact" and isinstance(item.value, str) and item.value.casefold() == old.casefold():
            return [replace(frame, key=item.key, value=new, rejected=old, rule=item.rule, correction=True)]
    return []


def _settled(candidates: Sequence[Extracted | Refused]) -> list[Extracted | Refused]:
    """Return the last statement for each key. A message that asks to forget something produces nothing else."""
    requests = [item for item in candidates if isinstance(item, Extracted) and item.kind == "forget"]
    if requests:
        return list({item.value.casefold(): item for item in requests}.values())
    chosen: dict[object, Extracted | Refused] = {}
    for position, item in enumerate(candidates):
        name = (item.key, item.retracted) if isinstance(item, Extracted) else position
        chosen.pop(name, None)
        chosen[name] = item
    return list(chosen.values())
