"""What a rule is: a pattern over one clause, and a function from its match to drafts of facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import msgspec

SURE, LIKELY, GUESS = 0.9, 0.8, 0.6

ADVERBS = ""  # stripped from a clause before the rules see it: see `subject.plainly`
I_AM = rf"(?:(?:I am|I'm|we're|we are) {ADVERBS})"
I_HAVE = rf"(?:(?:I|we) {ADVERBS}(?:have(?: got)?|own)|(?:I've|we've) got) "
MY = r"(?:my|our)"

CATEGORIES = (
    r"(?:(?:text |code )?editor|ide|shell|terminal|browser|web browser|os|operating system|database|db"
    r"|search engine|password manager|email client|mail client|note-taking app|notes app|calendar app"
    r"|task manager"
    r"|to-?do app|window manager|linux distro|distro|cloud provider|ci|ci system|package manager|web framework"
    r"|framework|programming language|language|phone|camera|keyboard|version control|issue tracker|build system"
    r"|test framework|music player|vpn)"
)


class Seen(msgspec.Struct, frozen=True):
    """What a rule may look at besides its match."""

    clause: str
    sentence: str
    at: datetime
    before: str = ""


class Draft(msgspec.Struct, frozen=True):
    """A fact before its evidence is attached."""

    key: str
    value: Any
    confidence: float = LIKELY
    valid_at: datetime | None = None


Build = Callable[[re.Match[str], Seen], Iterable[Draft]]


class Rule(msgspec.Struct, frozen=True):
    """A pattern, what it yields, and whether it reads negated clauses (as their opposite)."""

    pattern: re.Pattern[str]
    build: Build
    negative: bool = False
    opens: frozenset[str] = frozenset({""})
    """How a match may begin, in small letters; the empty text is any way."""


def rule(pattern: str, build: Build, *, negative: bool = False) -> Rule:
    """A rule from the text of its pattern; `I` and `my` match in any case."""
    return Rule(re.compile(pattern, re.I), build, negative, openings(pattern))


OPENING = 5
"""So many letters of a clause choose the rules that are tried on it."""
_GROUP = re.compile(r"\(\?(?::|P<\w+>)")
_LOOK = re.compile(r"\(\?[=!]")


def openings(pattern: str, room: int = OPENING) -> frozenset[str]:
    """The texts that a match of a pattern can start with, as far as its own text tells."""
    if not pattern or room == 0:
        return frozenset({""})
    head, tail = pattern[0], pattern[1:]
    if (head.isalnum() or head in " '") and tail[:1] not in ("?", "*", "{", "+"):
        return frozenset(head.lower() + rest for rest in openings(tail, room - 1))
    look = _LOOK.match(pattern)
    if look:
        return openings(pattern[_choices(pattern, look.end())[0] :], room)
    group = _GROUP.match(pattern)
    if not group:
        return frozenset({""})
    end, choices = _choices(pattern, group.end())
    repeat, tail = pattern[end : end + 1], pattern[end:]
    if repeat in ("*", "{", "+"):
        return frozenset({""}) if repeat != "*" else _union(choices, room) | openings(tail.lstrip("*?"), room)
    if repeat == "?":
        tail = tail[1:].lstrip("?")
        return _union([choice + tail for choice in choices], room) | openings(tail, room)
    return _union([choice + tail for choice in choices], room)


def _union(patterns: Iterable[str], room: int) -> frozenset[str]:
    return frozenset().union(*(openings(pattern, room) for pattern in patterns))


def _choices(pattern: str, begin: int) -> tuple[int, list[str]]:
    """Where a group ends, and its alternatives."""
    depth, start, at, in_class = 1, begin, begin, False
    choices: list[str] = []
    while depth:
        char = pattern[at]
        if char == "\\":
            at += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        if not in_class and ((char == "|" and depth == 1) or depth == 0):
            choices.append(pattern[start:at])
            start = at + 1
        at += 1
    return at, choices


def vocabulary(words: str) -> frozenset[str]:
    """A set of words, written as a text."""
    return frozenset(words.split())
