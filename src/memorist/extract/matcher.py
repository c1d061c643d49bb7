"""All patterns of a language as one automaton, whose cost is linear in the text.

A clause is walked once, word by word, through sets of states that are made when they are first met and kept (a lazy
DFA). That tells which patterns can match; only for those is it then worked out which words fill which slot.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import msgspec

from ..languages import topics, words
from .pattern import Compiler, Pattern, Sense
from .tokens import BREAK, Token

MAX_KEPT = 20_000
"""So many sets of states are kept; beyond that they are made anew, which costs time but bounds the room."""
_SENSES: tuple[Sense, ...] = ("say", "deny", "retract")

Filled = tuple[tuple[str, int, int], ...]
"""Slots in order, each with its first token and the one after its last."""


class Match(msgspec.Struct, frozen=True):
    """A pattern that fits: the slots with the tokens that fill them, and where it ends."""

    pattern: Pattern
    slots: Filled
    end: int


class _Set(NamedTuple):
    """A set of states of the automaton: which patterns have been met in full, and where each word leads."""

    key: tuple[int, ...]
    accepts: frozenset[int]
    next: dict[str, _Set]


class Matcher:
    """The patterns of a language compiled together."""

    def __init__(self, lang: str) -> None:
        compiler, lists = Compiler(lang), words(lang)
        self.patterns = [
            compiler.pattern(topic, sense, number, source)
            for topic in topics(lang)
            for sense in _SENSES
            for number, source in enumerate(getattr(topic, sense), start=1)
        ]
        self._after = lists.set("after")
        """Words that may follow a pattern that ends in the midst of a clause."""
        self.skip = lists.set("adverbs") | {BREAK}
        """Words that may stand before any word of a pattern: adverbs, and the sign for a comma."""
        self.states, self.classes = compiler.states, compiler.classes
        self._accept = {pattern.accept: number for number, pattern in enumerate(self.patterns)}
        self._known = self.skip.union(*(state.table for state in self.states))
        self._sets: dict[tuple[int, ...], _Set] = {}
        self._start = self._set([pattern.begin for pattern in self.patterns])

    def _set(self, states: Sequence[int]) -> _Set:
        seen: set[int] = set()
        stack = list(states)
        while stack:
            state = stack.pop()
            if state not in seen:
                seen.add(state)
                if self.states[state].kind not in ("words", "any"):
                    stack.extend(self.states[state].out)
        key = tuple(sorted(state for state in seen if self.states[state].kind in ("words", "any", "accept")))
        found = self._sets.get(key)
        if found is None:
            if len(self._sets) >= MAX_KEPT:
                self._sets.clear()
            accepts = frozenset(self._accept[state] for state in key if state in self._accept)
            found = self._sets[key] = _Set(key, accepts, {})
        return found

    def _step(self, here: _Set, word: str) -> _Set:
        states: list[int] = []
        for at in here.key:
            state = self.states[at]
            if state.kind == "any":
                states.extend(state.out)
            elif word in state.table:
                states.extend(state.table[word])
            elif word in self.skip and state.kind == "words":
                states.append(at)
        return self._set(states)

    def _walk(self, tokens: Sequence[Token]) -> Iterator[_Set]:
        """The sets of states after each token, as long as some pattern goes on."""
        here = self._start
        for token in tokens:
            word = token.word if token.word in self._known else ""
            after = here.next.get(word)
            if after is None:
                after = here.next[word] = self._step(here, word)
            here = after
            if not here.key:
                return
            yield here

    def first_words(self) -> set[str]:
        """The words that some pattern begins with."""
        return {word for at in self._start.key for word in self.states[at].table}

    def nearest(self, tokens: Sequence[Token]) -> tuple[list[Pattern], int]:
        """The patterns that go furthest into a clause word by word, and how many tokens that is."""
        *passed, here = self._start, *self._walk(tokens)
        begins = list(self._accept)
        waiting = [state for state in here.key if self.states[state].kind == "words"]
        return [self.patterns[bisect_right(begins, state) - 1] for state in waiting], len(passed)

    def matches(self, tokens: Sequence[Token]) -> list[Match]:
        """The patterns that fit a clause, in the order of their files."""
        candidates = set[int]().union(*(here.accepts for here in self._walk(tokens)))
        found = (self._fit(self.patterns[number], tokens) for number in sorted(candidates))
        return [match for match in found if match is not None]

    def _fit(self, pattern: Pattern, tokens: Sequence[Token]) -> Match | None:
        """Which tokens fill the slots: the first way that fits, each state tried once at each token."""
        states, size = self.states, len(tokens)
        stack: list[tuple[int, int, Filled]] = [(pattern.begin, 0, ())]
        tried: set[tuple[int, int]] = set()
        while stack:
            at, token, slots = stack.pop()
            if (at, token) in tried:
                continue
            tried.add((at, token))
            state = states[at]
            kind, ways, then = state.kind, state.out, token
            if kind == "words":
                word = tokens[token].word if token < size else ""
                ways, then = state.table.get(word, (at,) if word in self.skip else ()), token + 1
            elif kind == "accept":
                if token == size or tokens[token].word in self._after:
                    return Match(pattern, slots, token)
            elif kind == "any" or state.last:
                if token == size:
                    continue
                if state.last:
                    return Match(pattern, (*slots, (state.slot, token, size)), size)
                then = token + 1
            elif kind == "end" and token < size:
                continue
            elif kind == "open":
                slots = (*slots, (state.slot, token, token))
            elif kind == "close":
                slots = (*slots[:-1], (*slots[-1][:2], token))
            for way in ways[::-1]:
                stack.append((way, then, slots))
        return None


@cache
def matcher(lang: str) -> Matcher:
    """The compiled patterns of a language; made when the first sentence in it comes."""
    return Matcher(lang)
