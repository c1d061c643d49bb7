"""The language of patterns: from `I (just|recently)? moved to {place}` to the states of an automaton.

`(a|b)` is one of several, `(a)?` may be missing, `(a)*` may repeat, `<name>` is a phrase of `words.toml`, `{slot}` is
something to be read, `...` is any words, `$` is the end of the clause, and `=> x` at the end gives what no slot says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from ..errors import UsageError
from .slots import opening_words
from .tokens import tokens

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
    """A compiled pattern: its states (the first is where it begins), and what it was made from."""

    id: str
    source: str
    states: tuple[State, ...]
    slots: tuple[str, ...]
    gives: str | None
    words: frozenset[str]


class _Compiler:
    """Builds the states of one pattern from its end to its beginning."""

    def __init__(self, lang: str, macros: dict[str, str], classes: dict[str, dict[str, str]]) -> None:
        self.lang, self.macros, self.classes = lang, macros, classes
        self.states: list[State] = []
        self.slots: list[str] = []
        self.words: set[str] = set()

    def state(self, state: State) -> int:
        if len(self.states) >= MAX_STATES:
            raise UsageError("a pattern with too many alternatives")
        self.states.append(state)
        return len(self.states) - 1

    def build(self, parts: list[str], then: int) -> int:
        """States for a sequence of parts; the first state."""
        for kind, body, repeat in reversed(list(_units(parts))):
            then = self._repeated(kind, body, repeat, then)
        return then

    def _repeated(self, kind: str, body: list[list[str]], repeat: str, then: int) -> int:
        if repeat == "*":
            loop = self.state(State("fork"))
            self.states[loop].out = (self._unit(kind, body, loop), then)
            return loop
        first = self._unit(kind, body, then)
        return self._fork([first, then]) if repeat == "?" else first

    def _fork(self, choices: list[int]) -> int:
        """One of several ways on; those that begin with a word become one table."""
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
            others.insert(0, self.state(State("words", table=table)))
        return others[0] if len(others) == 1 else self.state(State("fork", out=tuple(others)))

    def _unit(self, kind: str, body: list[list[str]], then: int) -> int:
        if kind == "group":
            return self._fork([self.build(choice, then) for choice in body])
        text = body[0][0]
        if text == "...":
            gap = self.state(State("fork"))
            self.states[gap].out = (then, self.state(State("any", out=(gap,))))
            return gap
        if text == "$":
            return self.state(State("end", out=(then,)))
        if text[0] == "<":
            return self.build(split(self._macro(text[1:-1])), then)
        if text[0] == "{":
            return self._slot(text[1:-1], then)
        spelled = tuple(token.word for token in tokens(text, self.lang))
        self.words.update(spelled)
        return self._chain(spelled, then)

    def _macro(self, name: str) -> str:
        if name not in self.macros:
            raise UsageError(f"no phrase <{name}> in the words of {self.lang}")
        return f"({self.macros[name]})"

    def _slot(self, name: str, then: int) -> int:
        self.slots.append(name)
        listed = self.classes.get(name.rstrip("0123456789"))
        if listed is not None:
            close = self.state(State("close", name, (then,)))
            chains = [self._chain(wording, close) for wording in self._wordings(listed)]
            return self.state(State("open", name, (self._fork(chains),)))
        last = self.states[then].kind == "accept"
        close = self.state(State("close", name, (then,)))
        loop = self.state(State("fork"))
        self.states[loop].out = (close, self.state(State("any", out=(loop,))))
        ways: tuple[int, ...] = (loop,)
        first = dict.fromkeys(opening_words(name, self.lang), ways)
        begin = self.state(State("words", table=first) if first else State("any", out=(loop,)))
        return self.state(State("open", name, (begin,), last=last))

    def _wordings(self, listed: dict[str, str]) -> list[tuple[str, ...]]:
        """The wordings of a closed list as words, longest first."""
        cut = {tuple(token.word for token in tokens(text, self.lang)) for text in listed}
        return sorted(cut, key=lambda parts: (-len(parts), parts))

    def _chain(self, parts: tuple[str, ...], then: int) -> int:
        for part in reversed(parts):
            then = self.state(State("words", table={part: (then,)}))
        return then


def split(source: str) -> list[str]:
    """The parts of a pattern's text."""
    return _PART.findall(source)


def _units(parts: list[str]) -> Iterator[tuple[str, list[list[str]], str]]:
    at = 0
    while at < len(parts):
        if parts[at] == "(":
            choices, at = _choices(parts, at + 1)
            kind = "group"
        else:
            choices, at, kind = [[parts[at]]], at + 1, "part"
        repeat = parts[at] if at < len(parts) and parts[at] in "?*" else ""
        at += bool(repeat)
        yield kind, choices, repeat


def _choices(parts: list[str], at: int) -> tuple[list[list[str]], int]:
    depth = 1
    out: list[list[str]] = [[]]
    while at < len(parts):
        part = parts[at]
        depth += {"(": 1, ")": -1}.get(part, 0)
        at += 1
        if depth == 0:
            return out, at
        if part == "|" and depth == 1:
            out.append([])
        else:
            out[-1].append(part)
    raise UsageError("a pattern with an open bracket")


def compiled(id: str, source: str, lang: str, macros: dict[str, str], classes: dict[str, dict[str, str]]) -> Pattern:
    """A pattern from its text; the id says which file, topic and line it is."""
    text, _, gives = source.partition("=>")
    maker = _Compiler(lang, macros, classes)
    first = maker.build(split(text), maker.state(State("accept")))
    maker.states.append(State("fork", out=(first,)))
    return Pattern(id, source, tuple(maker.states), tuple(maker.slots), gives.strip() or None, frozenset(maker.words))
