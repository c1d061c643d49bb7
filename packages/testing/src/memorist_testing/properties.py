"""Provides property tests that compare a store with the reference store. Random operations must produce the same
results and errors.

    class TestMine(StoreProperties):
        @pytest.fixture
        def make_store(self, tmp_path): ...

With `MEMORIST_SOAK=1`, many times as many programs are run.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from memorist.errors import Conflict, MemoristError
from memorist.runtime import Runtime, run_blocking
from memorist.stores.base import DeleteRange, Scan, Store
from memorist.stores.codec import kinds
from memorist.stores.memory import MemoryStore
from memorist.values import encode_json

from .dice import KINDS, Dice, Operation
from .plugin import Run
from .samples import NOW, SECOND

PROGRAMS = 4000 if os.environ.get("MEMORIST_SOAK") else 150
PROGRAM_LENGTH = 40
FAR_FUTURE = NOW + 10**6 * SECOND
ORG = f"p{uuid.uuid4().hex[:10]}"
"""An org for this process only, because several processes may test one server."""


class StoreProperties:
    """Runs random programs against a store and the reference; a subclass provides `make_store`."""

    def test_random_operations_answer_as_the_reference_store_does(
        self, make_store: Callable[[Runtime], Store], runtime: Runtime, run: Run
    ) -> None:
        store, reference = make_store(runtime), MemoryStore()
        run(store.open())
        try:
            for seed in range(PROGRAMS):
                failing = difference(store, reference, run, seed, range(PROGRAM_LENGTH))
                if failing is not None:
                    raise AssertionError(_smallest(store, reference, run, seed, failing))
        finally:
            run(store.close())


def difference(store: Store, reference: Store, run: Run, seed: int, positions: Any) -> str | None:
    """Return the first difference between two stores as text, or None if there is none. Run only the operations to
    keep.
    """
    # Each program begins with an empty org and nothing of other tests left to purge, so that all are equally fast.
    for each, way in ((store, run), (reference, run_blocking)):
        way(each.apply([DeleteRange(kind, (ORG,)) for kind in kinds()], now=NOW))
        while any(way(each.purge(now=FAR_FUTURE)).values()):
            pass
    return _parting(store, reference, run, seed, ORG, positions)


def _parting(store: Store, reference: Store, run: Run, seed: int, org: str, positions: Any) -> str | None:
    program = Dice(seed, org).program(PROGRAM_LENGTH)
    for operation in (program[n] for n in positions):
        expected, answered = run_blocking(outcome(reference, operation)), run(outcome(store, operation))
        if expected != answered:
            return f"{operation}\n  reference: {expected}\n  this store: {answered}"
    for kind in KINDS:
        look = Operation("scan", (Scan(kind, (org,)),), {"now": NOW})
        if run_blocking(outcome(reference, look)) != run(outcome(store, look)):
            return f"rows of {kind.table.name} after all operations"
    return None


def _smallest(store: Store, reference: Store, run: Run, seed: int, failing: str) -> str:
    """Return the shortest failing program, by leaving out operations one by one as long as it still fails."""
    positions = list(range(PROGRAM_LENGTH))
    for n in range(PROGRAM_LENGTH):
        fewer = [i for i in positions if i != n]
        mismatch = difference(store, reference, run, seed, fewer)
        if mismatch is not None:
            positions, failing = fewer, mismatch
    program = Dice(seed, "org").program(PROGRAM_LENGTH)
    return f"seed {seed}:\n" + "\n".join(f"  {program[n]}" for n in positions) + f"\nparts at {failing}"


async def outcome(store: Store, operation: Operation) -> Any:
    """Return the result of an operation in a form that is equal only for equal results, or the error it raised."""
    try:
        answer = await getattr(store, operation.method)(*operation.args, **operation.options)
        if operation.method == "purge":
            return {name: count for name, count in answer.items() if count}
        return _plain(answer)
    except Conflict as error:
        return "Conflict", error.expected, error.actual
    except MemoristError as error:
        return type(error).__name__


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, msgspec.Struct):
        return type(value).__name__, {name: _plain(field) for name, field in msgspec.structs.asdict(value).items()}
    # As JSON text, -0.0 differs from 0 and 1 from 1.0.
    return encode_json(value) if isinstance(value, dict | float | int) else value
