"""Tests random filters. A store must return the same rows as the reference store, whatever types a filter compares."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

from memorist.filters import parse_filter
from memorist.messages.message import Message
from memorist.records import Entry, Fact, Record, Thread
from memorist.stores.base import Append, EntryFilter, Put, Scan, SearchesText, SearchesVectors, Store
from memorist.stores.memory import MemoryStore

from ..samples import NOW, SECOND, WHEN, fact, later, message, thread

FIRST_SEEDS = range(4)
FILTERS_EACH = 80
NAMES = (
    "v",
    "w",
    "a.b",
    "0",
    "value",
    "status",
    "ns",
    "created_at",
    "metadata",
    "sources",
    "confidence",
    "\u00e9",
    "'",
)
LEAVES: tuple[Any, ...] = (
    0, 1, -1, 1.0, -0.0, 0.1, 1e23, 10**17, 2**53 + 1, float(2**53), 2**63 - 1, 5e-324, True, False, None, "", "1",
    "a", "A", "\u00e9", "e\u0301", "\U00010000", "\uffff", "a\u0000b", "\\u0000", "%", "'; --", "null", "active",
)  # fmt: skip
ODD_OPERANDS: tuple[Any, ...] = (
    WHEN, later(5), 10**30, -(10**400), float("inf"), "\ud800", "a\u0000", [10**30], {"a": WHEN}
)  # fmt: skip
ORDERED: tuple[Any, ...] = (0, 1, 0.1, 2**53 + 1, 1e23, "", "a", "\u00e9", "\uffff", *ODD_OPERANDS[:7])
ORDERS = ("$gt", "$gte", "$lt", "$lte")


class FilterDice:
    """Generates random values, rows and filters, using few names so that they match. The seed determines the result."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def value(self, depth: int = 3) -> Any:
        """Return a JSON value."""
        roll = self._random.random()
        if depth == 0 or roll < 0.6:
            return self._random.choice(LEAVES)
        many = range(self._random.randrange(3))
        if roll < 0.8:
            return [self.value(depth - 1) for _ in many]
        return {self._random.choice((*NAMES, "a", "b")): self.value(depth - 1) for _ in many}

    def filter(self, depth: int = 2) -> dict[str, Any]:
        """Return a filter as a user writes it."""
        roll = self._random.random()
        if depth and roll < 0.3:
            parts = [self.filter(depth - 1) for _ in range(self._random.randint(1, 3))]
            return {self._random.choice(("$and", "$or")): parts}
        if depth and roll < 0.45:
            return {"$not": self.filter(depth - 1)}
        return {self._path(): self._test()}

    def page(self) -> dict[str, Any]:
        """Return the limit and direction of a scan."""
        return {"reverse": self._random.random() < 0.3, "limit": self._random.choice((None, 1, 3))}

    def byte(self) -> int:
        """Return a coordinate of a vector, as it is stored."""
        return self._random.randrange(256)

    def word(self) -> str:
        """Return a term of an entry."""
        return self._random.choice(("tea", "cup", "milk", "spoon", "pot"))

    def entry_filter(self) -> tuple[dict[str, Any], EntryFilter, int]:
        """Return a filter for a search, the part of it that a user writes, and a limit."""
        where = self.filter() if self._random.random() < 0.9 else {}
        kinds = self._random.choice((None, None, ("message",), ("fact", "document"), ()))
        after, before = (
            NOW + self._random.randrange(60) * SECOND if self._random.random() < 0.2 else None for _ in range(2)
        )
        return where, EntryFilter(kinds, after, before, parse_filter(where)), self._random.choice((1, 5, 40))

    def _path(self) -> str:
        more = self._random.choice(((), (), ("b",), ("0",), ("1", "v"), ("-1",), ("\u0000",), ("v", "0", "w")))
        return ".".join((self._random.choice((*NAMES, "a", "importance", "pinned", "extra", "length")), *more))

    def _test(self) -> Any:
        op = self._random.choice(("$eq", "$ne", "$in", "$nin", "$exists", "$contains", "$not", *ORDERS))
        if op == "$exists":
            return {op: self._random.random() < 0.5}
        if op == "$not":
            return {op: {"$eq": self._operand()}}
        if op in ("$in", "$nin"):
            return {op: [self._operand() for _ in range(self._random.randrange(4))]}
        if op in ORDERS:
            return {
                op: self._random.choice((0, 1, 0.1, 2**53 + 1, 1e23, "", "a", "\u00e9", "\uffff", *ODD_OPERANDS[:7]))
            }
        return {op: self._operand()}

    def _operand(self) -> Any:
        return self._random.choice(ODD_OPERANDS) if self._random.random() < 0.15 else self.value(2)


def _rows(dice: FilterDice, org: str) -> Iterator[Record]:
    for number in range(40):
        sources = tuple(f"t#{n}" for n in range(number % 3))
        yield fact(org, f"k{number}", dice.value(), sources=sources, confidence=number % 2 / 2 + 0.1)
    for number in range(20):
        metadata = dice.value(3)
        yield thread(org, f"t{number}", metadata=metadata if isinstance(metadata, dict) else {"v": metadata})


class Filtering:
    """Tests scans with a filter."""

    async def test_any_filter_finds_what_the_reference_store_finds(self, store: Store, org: str) -> None:
        for seed in FIRST_SEEDS:
            await compare_filters(store, f"{org}-{seed}", seed, FILTERS_EACH)

    async def test_any_search_returns_what_passes_its_filter_in_the_order_of_the_search(
        self, store: Store, org: str
    ) -> None:
        for seed in FIRST_SEEDS:
            await compare_searches(store, f"{org}-{seed}", seed, FILTERS_EACH)


def _entries(dice: FilterDice, org: str) -> Iterator[Entry]:
    for number in range(60):
        metadata, vector = dice.value(), bytes([0, 0, 128, 63, *(dice.byte() for _ in range(8))])
        yield Entry(
            org=org, ns="global", kind=("message", "fact", "document")[number % 3], parent="t", id=f"t#{number}",
            terms=" ".join(sorted({dice.word() for _ in range(3)})), context_terms=dice.word(),
            role=("user", None)[number % 2], confidence=number % 2 / 2 + 0.1, source=(None, f"t#{number}")[number % 2],
            metadata=metadata if isinstance(metadata, dict) else {"v": metadata}, embedder="e", vector=vector,
            created_at=later(number),
        )  # fmt: skip


async def compare_searches(store: Store, org: str, seed: int, count: int) -> None:
    """Compare searches with a filter and a limit to searches by kind only, whose results are filtered in Python."""
    dice = FilterDice(seed)
    await store.apply([Put(entry) for entry in _entries(dice, org)], now=NOW)
    searches: list[Callable[..., Awaitable[Any]]] = []
    if isinstance(store, SearchesText):
        searches.append(partial(store.search_text, org, "global", ["tea", "cup"], now=NOW))
    if isinstance(store, SearchesVectors):
        searches.append(partial(store.search_vector, org, "global", "e", [1.0, 0.5] * 4, now=NOW))
    for search in searches:
        assert len(await search(limit=1000)) > 20
        for _ in range(count):
            where, only, limit = dice.entry_filter()
            every = [_entry(match) for match in await search(limit=1000, only=EntryFilter(only.kinds))]
            entries = [_entry(match) for match in await search(limit=limit, only=only)]
            expected = [entry.id for entry in every if only.allows(entry)][:limit]
            assert [entry.id for entry in entries] == expected, f"{where!a} {only.kinds} limit {limit}, seed {seed}"


def _entry(match: Any) -> Entry:
    return match if isinstance(match, Entry) else match[0]


async def compare_filters(store: Store, org: str, seed: int, count: int) -> None:
    """Write the same rows to a store and to the reference store, and compare the same scans of both."""
    dice, reference = FilterDice(seed), MemoryStore()
    rows = [Put(row) for row in _rows(dice, org)]
    messages = tuple(
        message(org, dice.value(), thread="t0", extra={"v": dice.value()}, pinned=n % 2 == 0) for n in range(20)
    )
    for target in (reference, store):
        await target.apply([*rows, Append(org, "t0", messages, WHEN)], now=NOW)
    for _ in range(count):
        where, page = dice.filter(), dice.page()
        for kind, prefix in ((Fact, (org, "global")), (Thread, (org,)), (Message, (org, "t0"))):
            scan = Scan(kind, prefix, where=parse_filter(where), **page)
            actual, expected = [
                [row.row_key for row in await target.scan(scan, now=NOW)] for target in (store, reference)
            ]
            assert actual == expected, f"{kind.__name__} {where!a} {page}, seed {seed}"
