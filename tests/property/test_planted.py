"""The harness must catch stores that are wrong: each of these has one planted bug."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Append, Change, Expect, Put
from memorist.stores.memory import MemoryStore
from memorist_testing.properties import StoreProperties


class HalfDone(MemoryStore):
    """A batch that fails leaves what came before the failure."""

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[Any]:
        return [(await MemoryStore.apply(self, [change], now=now))[0] for change in changes]


class Immortal(MemoryStore):
    """Expired rows are still served."""

    async def get(self, kind: Any, key: Any, *, now: int) -> Any:
        return await super().get(kind, key, now=0)


class Greedy(MemoryStore):
    """A limit is applied before the filter."""

    async def scan(self, scan: Any, *, now: int) -> list[Any]:
        first = {id(row) for row in await super().scan(replace(scan, where=None), now=now)}
        rows = await super().scan(replace(scan, limit=None), now=now)
        return rows[: len(first)] if scan.where is None else rows[: max(0, len(first) - 1)]


class Forgetful(MemoryStore):
    """Idempotency keys are not looked at."""

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[Any]:
        keyless = [Append(c.org, c.thread, c.messages, c.at) if isinstance(c, Append) else c for c in changes]
        return await super().apply(keyless, now=now)


class Trusting(MemoryStore):
    """A compare-and-set that does not compare."""

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[Any]:
        unconditional = [change for change in changes if not isinstance(change, Expect)]
        results = iter(await super().apply(unconditional, now=now))
        return [None if isinstance(change, Expect) else next(results) for change in changes]


class Inclusive(MemoryStore):
    """A page starts with the last row of the page before."""

    async def scan(self, scan: Any, *, now: int) -> list[Any]:
        if scan.after is not None and isinstance(scan.after[-1], int):
            scan = replace(scan, after=(*scan.after[:-1], scan.after[-1] - 1))
        return await super().scan(scan, now=now)


class Overwriting(MemoryStore):
    """Put-if-absent puts anyway."""

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[Any]:
        return await super().apply([Put(c.record) if isinstance(c, Put) else c for c in changes], now=now)


BUGS = [HalfDone, Immortal, Greedy, Forgetful, Trusting, Inclusive, Overwriting]


@pytest.mark.parametrize("broken", BUGS, ids=lambda kind: kind.__name__)
def test_a_planted_bug_is_found(broken: Callable[[], MemoryStore], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist_testing.properties.PROGRAMS", 1500)  # a rare bug takes more programs than a run has
    check = StoreProperties().test_random_operations_answer_as_the_reference_store_does
    with pytest.raises(AssertionError):
        check(lambda runtime: broken(), BlockingRuntime(), run_blocking)


def test_the_reference_store_agrees_with_itself() -> None:
    check = StoreProperties().test_random_operations_answer_as_the_reference_store_does
    check(lambda runtime: MemoryStore(), BlockingRuntime(), run_blocking)
