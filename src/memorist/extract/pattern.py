"""The language of patterns: from `I (just|recently)? moved to {place}` to the states of an automaton.

`(a|b)` is one of several, `(a)?` may be missing, `(a)*` may repeat, `<name>` is a phrase of `words.toml`, `{slot}` is
something to be read, `...` is any words, `$` is the end of the clause, and `=> x` at the end gives what no slot says.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Literal, TypeAlias

import msgspec

from ..errors import UsageError
from ..languages import Topic, words
from .slots import opening_words
from .tokens import tokens

Sense = Literal["say", "deny", "retract"]
Unit: TypeAlias = "str | tuple[str, Unit] | list[list[Unit]]"
"""A part of a pattern: a word or slot, something with the `?` or `*` behind it, or the alternatives of a group."""
_PART = re.compile(r"\{\w+\}|<[^<>]+>|\.\.\.|[()|?*$]|[^\s(){}<>|?*$]+(?:\.[^\s(){}<>|?*$.]+)*")
MAX_STATES = 4000
"""Of one pattern, with its phrases and closed lists written out."""


class State(msgspec.Struct):
    """One step: one of some words, any word, a fork, where a slot begins or ends, the end of a clause or of all."""

    kind: Literal["words", "any", "fork", "open", "close", "end", "accept"]
    slot: str = ""
    out: tuple[int, ...] = ()
    table: dict[str, tuple[int, ...]] = {}
    """Where each word leads."""
    last: bool = False
    """A slot that takes all that is left of the clause; its reader finds where the value ends."""


class Pattern(msgspec.Struct, frozen=True):
    """A compiled pattern: what it was made from, and the states with which it begins and is met in full."""

    id: str
    """Which file, topic and line it is."""
    source: str
    topic: Topic
    sense: Sense
    begin: int
    accept: int
    gives: str | None
    words: frozenset[str]


class Compiler:
    """Builds the states of all patterns of a language, each from its end to its beginning."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.states: list[State] = []
        self._macros = words(lang).table("macros")
        self.classes = {
            name: {self._spelled(said): gives for said, gives in found.items()}
            for name, found in words(lang).classes.items()
        }
        """Closed lists for slots: each wording as words, and what it gives."""
        self._words: set[str] = set()

    def pattern(self, topic: Topic, sense: Sense, number: int, source: str) -> Pattern:
        """A pattern from its text; `number` is its line in the list of its topic."""
        self._words = set()
        text, _, gives = source.partition("=>")
        accept = self._state(State("accept"))
        begin = self._group(parsed(text), accept)
        if len(self.states) - accept > MAX_STATES:
            raise UsageError("a pattern with too many alternatives")
        id, said = f"{self.lang}/{topic.file}#{topic.name}.{sense}.{number}", frozenset(self._words)
        return Pattern(id, source, topic, sense, begin, accept, gives.strip() or None, said)

    def _state(self, state: State) -> int:
        self.states.append(state)
        return len(self.states) - 1

    def _group(self, choices: list[list[Unit]], then: int) -> int:
        ways = []
        for units in choices:
            way = then
            for unit in reversed(units):
                way = self._unit(unit, way)
            ways.append(way)
        return self._fork(ways)

    def _fork(self, choices: list[int]) -> int:
        """One of several ways on; those that begin with a word become one table."""
        if len(choices) == 1:
            return choices[0]
        table: dict[str, tuple[int, ...]] = {}
        others: list[int] = []
        for choice in choices:
            if self.states[choice].kind == "words":
                for word, out in self.states[choice].table.items():
                    table[word] = table.get(word, ()) + out
            else:
                others.append(choice)
        for word, ways in table.items():  # "are called" is tried before "are"
            table[word] = tuple(sorted(ways, key=lambda way: self.states[way].kind != "words"))
        if table:
            others.insert(0, self._state(State("words", table=table)))
        return others[0] if len(others) == 1 else self._state(State("fork", out=tuple(others)))

    def _unit(self, unit: Unit, then: int) -> int:
        if isinstance(unit, list):
            return self._group(unit, then)
        if isinstance(unit, tuple):
            return self._repeated(*unit, then)
        if unit == "...":
            return self._gap(then)
        if unit == "$":
            return self._state(State("end", out=(then,)))
        if unit[0] == "<":
            if unit[1:-1] not in self._macros:
                raise UsageError(f"no phrase {unit} in the words of {self.lang}")
            return self._group(parsed(self._macros[unit[1:-1]]), then)
        if unit[0] == "{":
            return self._slot(unit[1:-1], then)
        spelled = self._spelled(unit)
        self._words.update(spelled)
        return self._chain(spelled, then)

    def _repeated(self, repeat: str, unit: Unit, then: int) -> int:
        if repeat == "?":
            return self._fork([self._unit(unit, then), then])
        loop = self._state(State("fork"))
        self.states[loop].out = (self._unit(unit, loop), then)
        return loop

    def _gap(self, then: int) -> int:
        """Any number of words."""
        gap = self._state(State("fork"))
        self.states[gap].out = (then, self._state(State("any", out=(gap,))))
        return gap

    def _slot(self, name: str, then: int) -> int:
        close = self._state(State("close", name, (then,)))
        listed = self.classes.get(name.rstrip("0123456789"))
        if listed is not None:
            longest = sorted(listed, key=lambda wording: (-len(wording), wording))
            begin = self._fork([self._chain(wording, close) for wording in longest])
            return self._state(State("open", name, (begin,)))
        more: tuple[int, ...] = (self._gap(close),)
        first = dict.fromkeys(opening_words(name, self.lang), more)
        begin = self._state(State("words", table=first) if first else State("any", out=more))
        return self._state(State("open", name, (begin,), last=self.states[then].kind == "accept"))

    def _spelled(self, text: str) -> tuple[str, ...]:
        return tuple(token.word for token in tokens(text, self.lang))

    def _chain(self, parts: tuple[str, ...], then: int) -> int:
        for part in reversed(parts):
            then = self._state(State("words", table={part: (then,)}))
        return then


def parsed(source: str) -> list[list[Unit]]:
    """The alternatives of a pattern's text, each a row of units."""
    parts = deque(_PART.findall(source))
    if parts.count("(") != parts.count(")"):
        raise UsageError("a pattern with an open bracket")
    return _choices(parts)


def _choices(parts: deque[str]) -> list[list[Unit]]:
    out: list[list[Unit]] = [[]]
    while parts and (part := parts.popleft()) != ")":
        if part == "|":
            out.append([])
        elif part in "?*":
            out[-1].append((part, out[-1].pop()))
        else:
            out[-1].append(_choices(parts) if part == "(" else part)
    return out
