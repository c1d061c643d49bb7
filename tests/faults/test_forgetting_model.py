"""Random interleavings of deriving and forgetting leave nothing, on every store; with a fix taken out, they do."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from memorist import Memory
from memorist.engine.derive import folding
from memorist.engine.documents import documents
from memorist.engine.documents.documents import Documents
from memorist.engine.facts import facts
from memorist.engine.facts.facts import Facts
from memorist.engine.forgetting import erase, guard
from memorist.engine.forgetting.forget import Forgetting
from memorist.engine.sessions.inject import Basis
from memorist.engine.sessions.session import AsyncSession
from memorist.engine.shared import Shared
from memorist.engine.threads import edits, threads
from memorist.engine.threads.threads import Threads
from memorist.kinds import thread_ref
from memorist.messages.message import Message
from memorist.records import AuditEvent, Epoch, Link, Ref, RequestLog, Thread
from memorist.stores.base import Delete, Put, Scan
from memorist.stores.memory import MemoryStore
from tests.faults.forgetting_model import CANARY, DOCUMENT, FORKS, NS, THREADS, TTL, USER, Interleaved, World, check

SOAK = 40 if os.environ.get("MEMORIST_SOAK") else 1
RUNS = {"memory": 1000, "sqlite": 150, "postgres": 25, "redis": 25, "redis-cluster": 10}
MOST = 3000
"""Within so many interleavings each planted bug must be found."""
Patch = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.parametrize("name", RUNS)
def test_no_interleaving_leaves_anything(name: str, request: pytest.FixtureRequest, tmp_path: Any) -> None:
    runs = RUNS[name] * SOAK
    if name == "memory":
        assert {seed: remains for seed in range(runs) if (remains := check(MemoryStore(), seed))} == {}
        return
    fixtures = {"postgres": "postgres_server", "redis": "redis_server", "redis-cluster": "redis_cluster"}
    url = tmp_path / "model.db" if name == "sqlite" else request.getfixturevalue(fixtures[name]).url
    with Memory(url, worker=False, durability="normal") as memory:
        store = memory._core.store
        assert {seed: remains for seed in range(runs) if (remains := check(store, seed))} == {}


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

    async def in_between(query: Any, *, now: int) -> Any:
        # The audit trail is read when derivations have been looked for, and before the last links go.
        if again and query.kind is AuditEvent:
            again.clear()
            await Facts(core).set("user:bob", "k", world.text(), source=await make())
            if ends == "deleted":
                await (Documents(core).delete(NS, DOCUMENT) if what == "document" else Threads(core).delete(THREADS[0]))
            elif ends == "expired":
                await world.expire()
        return await scan(query, now=now)

    world.drive([world.bob(), make()])
    core.store.scan = Interleaved._giving_way(in_between)  # type: ignore[method-assign]
    world.drive([Forgetting(world.ada).forget(user=USER)])
    world.drive([Forgetting(core).forget(user=USER)])
    assert not again and world.remains() == []


def test_what_is_derived_again_while_the_graph_is_walked_is_found() -> None:
    store = MemoryStore()
    world = World(Interleaved(store), 0)
    core, apply, commits = world.core, store.apply, [0]

    async def derive() -> None:
        facts = Facts(core)
        await facts.set(NS, "p", world.text())
        for key, source in (("near", f"{NS}/p"), ("between", f"{NS}/p"), ("far", "user:bob/between")):
            await facts.set("user:bob", key, world.text(), source=source)

    async def in_between(changes: Any, *, now: int) -> Any:
        commits[0] += 1
        if commits[0] == 2:  # the graph was walked, and what it reached is about to be deleted
            await Facts(core).set("user:bob", "late", world.text(), source="user:bob/far")
        return await apply(changes, now=now)

    world.drive([world.bob(), derive()])
    core.store.apply = in_between
    world.drive([Forgetting(core).forget(user=USER)])
    assert commits[0] > 3 and world.remains() == []


@pytest.mark.parametrize("write", ["context", "report"])
def test_what_is_noted_of_a_request_is_not_written_for_a_thread_that_was_forgotten_meanwhile(write: str) -> None:
    store = MemoryStore()
    world = World(Interleaved(store), 0)
    core, apply, again = world.core, store.apply, [True]

    async def request() -> None:
        if write == "context":
            await AsyncSession(core, THREADS[0], user=USER).context(world.text())
        else:
            await Threads(core).report(THREADS[0], {"prompt_tokens": 10, "completion_tokens": 1})

    async def in_between(changes: Any, *, now: int) -> Any:
        if again and any(isinstance(change, Put) and isinstance(change.record, RequestLog) for change in changes):
            again.clear()
            await Forgetting(core).forget(user=USER)
        return await apply(changes, now=now)

    world.drive([world.bob(), world.converse(), Threads(core).create(NS, id=THREADS[0])])
    core.store.apply = in_between
    world.drive([world.several([request], 1)])
    assert not again and world.remains() == []


def test_a_fork_that_goes_on_after_it_was_deleted_is_deleted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erase, "THINGS_PER_COMMIT", 1)
    monkeypatch.setattr(edits, "COPIED_MESSAGES_PER_COMMIT", 1)
    store = MemoryStore()
    world = World(Interleaved(store), 0)
    core, apply, fork_id = world.core, store.apply, FORKS[0]
    source = THREADS[0]
    fork = world.several([lambda: Threads(core).fork(source, new_id=fork_id)], 1)
    state = {"fork": "new"}

    async def in_between(changes: Any, *, now: int) -> Any:
        raised = [change.record for change in changes if isinstance(change, Put) and isinstance(change.record, Epoch)]
        # The fork is deleted before its source. In between, the copy goes on.
        if state["fork"] == "begun" and any(row.fingerprint == thread_ref(source).fingerprint for row in raised):
            state["fork"] = "goes on"
            core.store.apply = apply
            world.drive([fork])
        return await apply(changes, now=now)

    async def talk() -> None:
        await Threads(core).create(NS, id=source)
        await Threads(core).append(source, world.text(), world.text(), world.text())

    world.drive([world.bob(), talk()])
    while not any(row.target_key == fork_id for row in _rows(store, world, Link)):
        fork.send(None)
    state["fork"] = "begun"
    core.store.apply = in_between
    world.drive([world.several([lambda: Forgetting(core).forget(thread=source)], 1)])
    assert state["fork"] == "goes on" and CANARY not in repr(_rows(store, world, Message))


@pytest.mark.parametrize("moment", ["link", "thread"])
@pytest.mark.parametrize("make", ["child", "results"])
def test_a_thread_made_for_another_is_not_left_when_that_one_is_forgotten_meanwhile(make: str, moment: str) -> None:
    store = MemoryStore()
    world = World(Interleaved(store), 0)
    core, apply, again = world.core, store.apply, [True]
    parent = THREADS[0]

    async def create() -> None:
        if make == "child":
            await Threads(core).create("user:bob", id="helper", parent=parent)
        else:
            await Threads(core).stash(parent, "passed " * 5000)

    async def in_between(changes: Any, *, now: int) -> Any:
        written = [change.record for change in changes if isinstance(change, Put)]
        awaited = Thread if moment == "thread" else Link
        if again and any(isinstance(record, awaited) for record in written):
            again.clear()
            assert (await Forgetting(core).forget(thread=parent)).complete
        return await apply(changes, now=now)

    world.drive([world.bob(), Threads(core).create(NS, id=parent)])
    core.store.apply = in_between
    world.drive([world.several([create], 1)])
    assert not again and [row.id for row in _rows(store, world, Thread)] == ["bobtalk"]


def test_the_event_of_a_redaction_does_not_name_a_thread_that_was_forgotten_meanwhile() -> None:
    store = MemoryStore()
    world = World(Interleaved(store), 0)
    core, apply, again = world.core, store.apply, [True]

    async def in_between(changes: Any, *, now: int) -> Any:
        events = [change.record for change in changes if isinstance(change, Put)]
        if again and any(isinstance(event, AuditEvent) and event.action == "redact" for event in events):
            again.clear()
            await Forgetting(core).forget(thread=THREADS[0])
        return await apply(changes, now=now)

    world.drive([world.bob(), Threads(core).create(NS, id=THREADS[0])])
    world.drive([Threads(core).append(THREADS[0], world.text())])
    core.store.apply = in_between
    world.drive([Threads(core).redact(f"{THREADS[0]}#1")])
    world.drive([Forgetting(core).forget(user=USER)])
    assert not again and world.remains() == []


def test_forgetting_a_message_leaves_no_jobs_of_a_thread_that_was_forgotten_meanwhile() -> None:
    store = MemoryStore()
    world = World(Interleaved(store), 0)
    core, get_many, again = world.core, store.get_many, [True]

    async def in_between(record_type: Any, keys: Any, *, now: int) -> Any:
        if again and record_type is Epoch:
            again.clear()
            await Forgetting(core).forget(user=USER)
        return await get_many(record_type, keys, now=now)

    world.drive([world.bob(), Threads(core).create(NS, id=THREADS[0])])
    world.drive([Threads(core).append(THREADS[0], world.text())])
    core.store.get_many = Interleaved._giving_way(in_between)  # type: ignore[method-assign]
    world.drive([world.several([lambda: Forgetting(core).forget(message=f"{THREADS[0]}#1")], 1)])
    assert not again and world.remains() == []


def _rows(store: Any, world: World, record_type: type[Any]) -> list[Any]:
    rows: list[Any] = []

    async def scan() -> None:
        rows.extend(await store.scan(Scan(record_type, (world.org,)), now=0))

    world.drive([scan()])
    return rows


def _late_summary(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(folding, "epochs", _no_epochs)
    patch.setattr(folding.Folding, "_all_there", _yes)


def _cut_trail(patch: pytest.MonkeyPatch) -> None:
    """Links are deleted whether or not what they lead to could be."""
    patch.setattr(erase.Eraser, "_hold_paths", lambda self: self._held.clear())


def _forks_are_not_linked(patch: pytest.MonkeyPatch) -> None:
    async def whole(self: erase.Eraser, link: Any) -> Any:
        return [] if link.relation == "copied" else await targets(self, link)

    targets = erase.Eraser._targets
    patch.setattr(erase.Eraser, "_targets", whole)


def _one_twin_keeps_its_cache(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Shared, "drop_cached", lambda self, org: self.indexes.drop(org))


def _deleted_threads_are_nobodys(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(threads, "owned", _nothing)


def _expired_threads_are_nobodys(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(threads.Threads, "_ownership_changes", lambda self, thread: [])


def _documents_are_nobodys(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(documents, "owned", _nothing)


def _whole_threads_are_no_source(patch: pytest.MonkeyPatch) -> None:
    scan = erase.Eraser._scan

    async def blind(self: erase.Eraser, kind: Any, *prefix: Any, **bounds: Any) -> Any:
        rows = await scan(self, kind, *prefix, **bounds)
        return [row for row in rows if kind is not Link or row.source_kind not in ("source", "thread")]

    patch.setattr(erase.Eraser, "_scan", blind)


def _tasks_name_no_source(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Basis, "sources", property(lambda self: ()))


def _facts_are_not_guarded(patch: pytest.MonkeyPatch) -> None:
    async def unguarded(*_: Any, **__: Any) -> guard.Guard:
        return guard.Guard()

    patch.setattr(facts, "guard", unguarded)


def _children_are_linked_first(patch: pytest.MonkeyPatch) -> None:
    """The link of a child is written, and then the child, without looking at the parent again."""

    async def linked(self: threads.Threads, parent: str, child: Any, is_named: bool, new: bool) -> Any:
        await self._to_change(parent)
        await self._core.apply(Put(threads.child_link(self._core, parent, child.id)))
        return await self._create(child, is_named, new)

    patch.setattr(threads.Threads, "_create_child", linked)


PLANTED: tuple[Patch, ...] = (
    _late_summary, _cut_trail, _deleted_threads_are_nobodys, _expired_threads_are_nobodys, _documents_are_nobodys,
    _whole_threads_are_no_source, _tasks_name_no_source, _facts_are_not_guarded, _forks_are_not_linked,
    _one_twin_keeps_its_cache, _children_are_linked_first,
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
    return Delete(Link, Link.of(core.org, Ref("source"), Ref("source"), core.at()).row_key)
