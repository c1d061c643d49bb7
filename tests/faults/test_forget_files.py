"""Physical forgetting: a byte scan of every file finds nothing of what was forgotten."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from recollect import AsyncMemory, Memory, StoreUnavailable
from recollect.records import CachedEntity, Entry, Job, Mark, Summary
from recollect.runtime import run_blocking
from recollect.stores.base import Put

CANARY = "zanarykanary"


def _fill(memory: Memory, mark: str, user: str) -> None:
    """The mark in every kind of row: text, keys, ids, metadata, history, index, summary, vector, cache, checkpoint."""
    own, ns = memory.scope(user=user), f"user:{user}"
    thread = f"{mark}-thread"
    memory.threads.create(ns, mark, id=thread, metadata={mark: mark})
    memory.threads.append(
        thread, f"{mark} says {mark}", {"role": "assistant", "content": [{"type": "text", "text": mark}]}, key=mark
    )
    for value in (f"{mark} one", {"nested": [f"{mark} two"]}):
        memory.facts.set(ns, f"{mark}.key", value, source=f"{thread}#1")
    memory.facts.set("global", f"about.{mark}", f"derived {mark}", source=f"{thread}#1")
    memory.facts.correct(ns, f"{mark}.key", f"{mark} three", reason=f"because {mark}")
    own.learnings.add(f"likes {mark}", source=f"{thread}#1")
    own.state.set(mark, mark)
    own.working.update(scratchpad=mark)
    own.working.record_action(mark, entity_id=mark)
    memory.documents.add(
        ns, f"# {mark}\n{mark} text. " * 400, title=mark, source=f"file://{mark}", metadata={mark: mark}
    )
    memory.entities.get("customer", user, lambda id: {"name": mark})
    with memory.tasks.run(f"task-{mark}", ns=ns, state={"log": []}) as task:
        for number in range(40):
            task.state["log"].append(f"{mark} {number}")
            task.complete(f"{mark}-{number}")
    core = memory._core
    at = core.at()
    vector = mark.encode() * 8
    rows: list[Any] = [
        Summary(org=core.org, thread=thread, first=1, last=2, text=mark, tokens=1, ns=ns, created_at=at),
        Entry(
            org=core.org,
            ns=ns,
            kind="message",
            parent=thread,
            id=f"{thread}#1",
            terms=f"{mark} term",
            context_terms=mark,
            speaker=mark,
            metadata={mark: mark},
            source=mark,
            embedder=mark,
            vector=vector,
            created_at=at,
        ),
    ]
    run_blocking(core.apply(*(Put(row) for row in rows)))


def _files_with(folder: Path, mark: str) -> list[str]:
    needles = [mark.encode(), mark.upper().encode(), mark.encode("utf-16-le"), mark[::-1].encode()]
    return sorted(
        path.name for path in folder.rglob("*") if path.is_file() and any(n in path.read_bytes() for n in needles)
    )


def _prepared(folder: Path) -> Memory:
    memory = Memory(folder / "memory.db", embedder=None, counter="estimate")
    _fill(memory, "keptkept", "bob")
    _fill(memory, CANARY, f"{CANARY}-user")
    assert _files_with(folder, CANARY)
    return memory


def test_a_forgotten_user_is_in_no_file(tmp_path: Path) -> None:
    with _prepared(tmp_path) as memory:
        erasure = memory.forget(user=f"{CANARY}-user", physical=True)
        assert erasure.verified is True and erasure.found == []
        assert _files_with(tmp_path, CANARY) == []
    assert _files_with(tmp_path, CANARY) == []
    with Memory(tmp_path / "memory.db", embedder=None, counter="estimate") as memory:
        assert len(memory.threads.recent("keptkept-thread")) == 2


def test_deleting_alone_leaves_bytes_that_the_scan_sees(tmp_path: Path) -> None:
    with _prepared(tmp_path) as memory:
        memory.forget(user=f"{CANARY}-user")
        assert _files_with(tmp_path, CANARY), "the harness must see what only `physical` removes"


@pytest.mark.parametrize("what", ["thread", "message", "fact", "source"])
def test_one_forgotten_thing_is_in_no_file(tmp_path: Path, what: str) -> None:
    with Memory(tmp_path / "memory.db", embedder=None, counter="estimate") as memory:
        memory.threads.create("global", id="t")
        memory.threads.append("t", "before", f"{CANARY} in a message" if what != "fact" else "nothing", "after")
        memory.facts.set("global", "k", f"{CANARY} in a fact", source="t#2" if what != "source" else "web")
        if what == "source":
            memory.threads.append("t", {"role": "tool", "content": CANARY, "metadata": {"source": "web"}})
            memory.forget(message="t#2")
        named = {"thread": "t", "message": "t#2", "fact": "global/k", "source": "web"}[what]
        assert memory.forget(**{what: named}, physical=True).verified is True
        assert _files_with(tmp_path, CANARY) == []


def test_the_awaiting_facade_does_the_same(tmp_path: Path) -> None:
    async def forget() -> None:
        async with AsyncMemory(tmp_path / "memory.db", embedder=None, counter="estimate") as memory:
            assert (await memory.forget(user=f"{CANARY}-user", physical=True)).verified is True

    _prepared(tmp_path).close()
    asyncio.run(forget())
    assert _files_with(tmp_path, CANARY) == []


def test_every_cached_entity_of_the_user_goes(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embedder=None, counter="estimate") as memory:
        memory.entities.get("customer", "ada", lambda id: {"name": CANARY})
        memory.forget(user="ada", physical=True)
        assert run_blocking(memory._core.scan(CachedEntity)) == []
        assert _files_with(tmp_path, CANARY) == []


@pytest.mark.parametrize("what", ["thread", "message"])
def test_what_the_index_knows_of_a_shared_namespace_goes_too(tmp_path: Path, what: str) -> None:
    with Memory(tmp_path / "memory.db", embedder=None, counter="estimate") as memory:
        for thread, name in ((f"{CANARY}-talk" if what == "thread" else "talk", CANARY), ("kept", "bob")):
            memory.threads.create("global", id=thread)
            said = {"role": "user", "name": name, "content": f"Always call me {name}, and never be late."}
            memory.threads.append(thread, "Good morning to all.", said, "And a good evening to you.")
        assert memory.recall("what should I always be called", namespaces=["global"])
        assert CANARY in repr(run_blocking(memory._core.scan(Mark, "scope")))
        which = {"thread": f"{CANARY}-talk"} if what == "thread" else {"message": "talk#2"}
        memory.forget(**which, physical=True)
        assert _files_with(tmp_path, CANARY) == []
        [scope] = run_blocking(memory._core.scan(Mark, "scope"))
        assert scope.detail["speakers"] == ["bob"]
        found = memory.recall("what should I always be called", namespaces=["global"])
        assert found and CANARY not in repr(found)
        assert _files_with(tmp_path, CANARY) == []


def test_a_scrub_that_failed_is_done_by_the_next_forgetting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails() -> None:
        raise StoreUnavailable("the disk is full")

    with _prepared(tmp_path) as memory:
        with monkeypatch.context() as patched:
            patched.setattr(memory._core.store, "scrub", fails)
            with pytest.raises(StoreUnavailable):
                memory.forget(user=f"{CANARY}-user", physical=True)
        assert _files_with(tmp_path, CANARY)
        memory.forget(source="anything")
        assert _files_with(tmp_path, CANARY) == []
        assert run_blocking(memory._core.scan(Job, "forget")) == []
