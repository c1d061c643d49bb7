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
    opens: frozenset[str] | None = None
    """The letters a match may begin with; None for any."""


def rule(pattern: str, build: Build, *, negative: bool = False) -> Rule:
    """A rule from the text of its pattern; `I` and `my` match in any case."""
    return Rule(re.compile(pattern, re.I), build, negative, openings(pattern))


_EMPTY_GROUP = re.compile(r"\(\?P<\w+>\)")
_GROUP = re.compile(r"\(\?(?::|P<\w+>)")


def openings(pattern: str) -> frozenset[str] | None:
    """The letters a pattern can start with, where its text tells; a rule is only tried on clauses that start so."""
    pattern = _EMPTY_GROUP.sub("", pattern)
    if pattern[:1].isalpha():
        return None if pattern[1:2] in ("?", "*") else frozenset(pattern[0].lower())
    group = _GROUP.match(pattern)
    if not group:
        return None
    end, choices = _choices(pattern, group.end())
    letters = [openings(choice) for choice in choices]
    if pattern[end : end + 1] in ("?", "*", "{"):
        letters.append(openings(pattern[end + 1 :].lstrip("?")) if pattern[end] != "{" else None)
    known = [found for found in letters if found]
    return frozenset().union(*known) if known and len(known) == len(letters) else None


def _choices(pattern: str, begin: int) -> tuple[int, list[str]]:
    """Where a group ends, and its alternatives."""
    depth, start, choices, in_class, at = 1, begin, [], False, begin
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
        if not in_class and char != "\\" and ((char == "|" and depth == 1) or depth == 0):
            choices.append(pattern[start:at])
            start = at + 1
        at += 1
    return at, choices


def vocabulary(words: str) -> frozenset[str]:
    """A set of words, written as a text."""
    return frozenset(words.split())
