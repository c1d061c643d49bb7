"""Random interleavings of deriving and forgetting leave nothing, on every store; with a fix taken out, they do."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from memorist import Memory
from memorist.engine.derive.deriving import folding
from memorist.engine.documents.documents import Documents, documents
from memorist.engine.facts.facts import Facts, facts
from memorist.engine.forgetting import erase, guard
from memorist.engine.forgetting.forget import Forgetting
from memorist.engine.sessions.inject import Made
from memorist.engine.threads.threads import Threads, threads
from memorist.records import AuditEvent, Link
from memorist.stores.base import Delete
from memorist.stores.memory import MemoryStore
from tests.faults.forgetting_model import DOCUMENT, NS, THREADS, TTL, USER, Interleaved, World, check

SOAK = 40 if os.environ.get("MEMORIST_SOAK") else 1
RUNS = {"memory": 1000, "sqlite": 150, "postgres": 25, "redis": 25, "redis-cluster": 10}
MOST = 3000
"""Within so many interleavings each planted bug must be found."""
Patch = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.parametrize("name", RUNS)
def test_no_interleaving_leaves_anything(name: str, request: pytest.FixtureRequest, tmp_path: Any) -> None:
    runs = RUNS[name] * SOAK
    if name == "memory":
        assert {seed: left for seed in range(runs) if (left := check(MemoryStore(), seed))} == {}
        return
    fixtures = {"postgres": "postgres_server", "redis": "redis_server", "redis-cluster": "redis_cluster"}
    url = tmp_path / "model.db" if name == "sqlite" else request.getfixturevalue(fixtures[name]).url
    with Memory(url, worker=False, durability="normal") as memory:
        store = memory._core.store
        assert {seed: left for seed in range(runs) if (left := check(store, seed))} == {}


@pytest.mark.parametrize("ends", ["stays", "deleted", "expired"])
@pytest.mark.parametrize("what", ["document", "thread"])
def test_what_is_made_again_and_derived_from_while_it_is_forgotten_can_be_forgotten_later(what: str, ends: str) -> None:
    store = MemoryStore()
    world = World(Interleaved(store), 0)
    core, scan, again = world.core, store.scan, [True]
    ttl = TTL if ends == "expired" else None

    async def make() -> str:
        if what == "document":
            await Documents(core).add(NS, world.text(), id=DOCUMENT, ttl=ttl)
            return DOCUMENT
        await Threads(core).create(NS, id=THREADS[0], ttl=ttl)
        await Threads(core).append(THREADS[0], world.text())
        return THREADS[0]

    async def in_between(asked: Any, *, now: int) -> Any:
        # The audit trail is read when derivations have been looked for, and before the last links go.
        if again and asked.kind is AuditEvent:
            again.clear()
            await Facts(core).set("user:bob", "k", world.text(), source=await make())
            if ends == "deleted":
                await (Documents(core).delete(NS, DOCUMENT) if what == "document" else Threads(core).delete(THREADS[0]))
            elif ends == "expired":
                await world.expire()
        return await scan(asked, now=now)

    world.drive([world.bob(), make()])
    core.store.scan = Interleaved._giving_way(in_between)  # type: ignore[method-assign]
    world.drive([Forgetting(world.ada).forget(user=USER)])
    world.drive([Forgetting(core).forget(user=USER)])
    assert not again and world.left() == []


def _late_summary(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(folding, "epochs", _no_epochs)
    patch.setattr(folding.Folding, "_all_there", _yes)


def _cut_trail(patch: pytest.MonkeyPatch) -> None:
    """Links are deleted whether or not what they lead to could be."""

    async def follow(self: erase.Eraser, links: Any) -> bool:
        for link in links:
            await self._target(link)
            await self._apply(Delete(Link, link.row_key))
        return True

    patch.setattr(erase.Eraser, "_follow", follow)


def _deleted_threads_are_nobodys(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(threads, "owned", _nothing)


def _expired_threads_are_nobodys(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(threads.Threads, "_outliving", lambda self, thread: [])


def _documents_are_nobodys(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(documents, "owned", _nothing)


def _whole_threads_are_no_source(patch: pytest.MonkeyPatch) -> None:
    scan = erase.Eraser._scan

    async def blind(self: erase.Eraser, kind: Any, *prefix: Any, **bounds: Any) -> Any:
        whole = kind is Link and len(prefix) == 1 and not bounds and not {"#", "/", ":"} & set(str(prefix[0]))
        return [] if whole else await scan(self, kind, *prefix, **bounds)

    patch.setattr(erase.Eraser, "_scan", blind)


def _tasks_name_no_source(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Made, "sources", property(lambda self: ()))


def _facts_are_not_guarded(patch: pytest.MonkeyPatch) -> None:
    async def unguarded(*_: Any, **__: Any) -> guard.Guard:
        return guard.Guard()

    patch.setattr(facts, "guard", unguarded)


PLANTED: tuple[Patch, ...] = (
    _late_summary, _cut_trail, _deleted_threads_are_nobodys, _expired_threads_are_nobodys, _documents_are_nobodys,
    _whole_threads_are_no_source, _tasks_name_no_source, _facts_are_not_guarded,
)  # fmt: skip


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__.strip("_"))
def test_a_planted_bug_is_found(plant: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert any(check(MemoryStore(), seed) for seed in range(MOST))


async def _no_epochs(*_: Any) -> list[Any]:
    return []


async def _yes(*_: Any) -> bool:
    return True


def _nothing(core: Any, *_: Any) -> Delete:
    return Delete(Link, (core.org, "", "", ""))
