"""What a rule is: a pattern over one clause, and a function from its match to drafts of facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import msgspec

SURE, LIKELY, GUESS = 0.9, 0.8, 0.6

ADVERBS = (
    r"(?:(?:currently|now|still|also|just|actually|really|mostly|mainly|primarily|usually|typically|generally"
    r"|absolutely|totally|definitely|truly|personally|always|only|officially"
    r"|originally|already|basically|recently|finally|strictly|severely|very|quite|pretty|so|both|generally"
    r"|honestly|do|did|kind of|sort of|sometimes|often|normally|simply) ){0,3}"
)
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


def rule(pattern: str, build: Build, *, negative: bool = False) -> Rule:
    """A rule from the text of its pattern; `I` and `my` match in any case."""
    return Rule(re.compile(pattern, re.I), build, negative)


def vocabulary(words: str) -> frozenset[str]:
    """A set of words, written as a text."""
    return frozenset(words.split())
