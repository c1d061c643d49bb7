"""Physical removal: a byte scan of every file finds nothing of what was forgotten, on SQLite at once, on servers after
an operator's scrub."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from memorist import AsyncMemory, Forbidden, Memory, StoreUnavailable, Unsupported
from memorist.records import CachedEntity, Entry, Job, NamespaceStats, Summary
from memorist.runtime import run_blocking
from memorist.stores.base import Put
from memorist.types import Scrubbed
from tests.faults.places import SERVERS, Place, PlaceOn, files_with

CANARY = "zanarykanary"


@pytest.fixture
def canary() -> str:
    """A mark that no other test has left in the files of a shared server."""
    return f"zanary{uuid4().hex[:12]}"


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


async def _nothing() -> Scrubbed:
    return Scrubbed()


def _prepared(location: Place, canary: str) -> Memory:
    memory = location.open()
    _fill(memory, f"kept{canary[-8:]}", "bob")
    _fill(memory, canary, f"{canary}-user")
    assert location.holding(canary)
    return memory


def test_a_forgotten_user_is_in_no_file(place_on: PlaceOn, canary: str) -> None:
    location = place_on("sqlite")
    with _prepared(location, canary) as memory:
        erasure = memory.forget(user=f"{canary}-user", physical=True)
        assert (erasure.verified, erasure.found, erasure.unchecked) == (True, [], [])
        assert location.holding(canary) == []
    assert location.holding(canary) == []
    with location.open() as memory:
        assert len(memory.threads.recent(f"kept{canary[-8:]}-thread")) == 2


def test_without_a_scrub_the_bytes_are_left_and_the_report_says_so(
    place_on: PlaceOn, canary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = place_on("sqlite")
    with _prepared(location, canary) as memory:
        monkeypatch.setattr(memory._core.store, "scrub", _nothing)
        erasure = memory.forget(user=f"{canary}-user", physical=True)
        assert location.holding(canary), "the harness must see what only `physical` removes"
        assert erasure.verified is False and erasure.found


def test_the_awaiting_facade_does_the_same(place_on: PlaceOn, canary: str) -> None:
    location = place_on("sqlite")

    async def forget() -> None:
        async with AsyncMemory(**location.options) as memory:
            assert (await memory.forget(user=f"{canary}-user", physical=True)).verified is True

    _prepared(location, canary).close()
    asyncio.run(forget())
    assert location.holding(canary) == []


@pytest.mark.parametrize("what", ["thread", "message", "fact", "source"])
def test_one_forgotten_thing_is_in_no_file(place_on: PlaceOn, what: str, canary: str) -> None:
    location = place_on("sqlite")
    with location.open() as memory:
        memory.threads.create("global", id="t")
        memory.threads.append("t", "before", f"{canary} in a message" if what != "fact" else "nothing", "after")
        memory.facts.set("global", "k", f"{canary} in a fact", source="t#2" if what != "source" else "web")
        if what == "source":
            memory.threads.append("t", {"role": "tool", "content": canary, "metadata": {"source": "web"}})
            memory.forget(message="t#2")
        named = {"thread": "t", "message": "t#2", "fact": "global/k", "source": "web"}[what]
        assert memory.forget(**{what: named}, physical=True).verified is True
        assert location.holding(canary) == []


def test_plain_forgetting_says_that_files_were_not_searched(place_on: PlaceOn, canary: str) -> None:
    with _prepared(place_on("sqlite"), canary) as memory:
        erasure = memory.forget(user=f"{canary}-user")
        assert erasure.verified is None and "physical=True" in erasure.unchecked[0]


# -- the files of servers, which only an operator rewrites


@pytest.mark.parametrize("name", SERVERS)
def test_one_who_shares_a_server_cannot_have_its_files_rewritten(name: str, place_on: PlaceOn, canary: str) -> None:
    location = place_on(name)
    with location.open() as memory:
        memory.facts.set("user:ada", "home", canary)
        with pytest.raises(Unsupported, match="memorist scrub"):
            memory.forget(user="ada", physical=True)
        assert memory.facts.get("user:ada", "home") is not None, "what is refused does nothing"
        with pytest.raises(Forbidden, match="all_orgs"):
            memory.scrub()
        with pytest.raises(Forbidden):
            memory.scope(user="ada").scrub()
        assert "memorist scrub" in memory.forget(user="ada").unchecked[0]


@pytest.mark.parametrize("awaited", [False, True], ids=["blocking", "awaited"])
@pytest.mark.parametrize("name", SERVERS)
def test_after_a_scrub_a_forgotten_user_is_in_no_file_of_the_servers(
    name: str, awaited: bool, place_on: PlaceOn, canary: str
) -> None:
    location = place_on(name)
    with _prepared(location, canary) as memory:
        assert memory.forget(user=f"{canary}-user").verified is None
        assert location.holding(canary), "the harness must see what only a scrub removes"
    operator = {**location.options, "all_orgs": True}

    async def scrub() -> Scrubbed:
        async with AsyncMemory(**operator) as memory:
            return await memory.scrub()

    if awaited:
        report = asyncio.run(scrub())
    else:
        with Memory(**operator) as memory:
            report = memory.scrub()
    assert report.done and report.left == []
    assert location.holding(canary) == []
    with location.open() as memory:
        assert len(memory.threads.recent(f"kept{canary[-8:]}-thread")) == 2


# -- SQLite again: what is searched, and what fails


def test_a_text_with_quotes_and_line_ends_is_looked_for_as_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory(tmp_path / "memory.db", embedder=None, counter="estimate") as memory:
        memory.threads.create("global", id="t")
        memory.threads.append("t", f'"So",\nshe said, "\t{CANARY}"')
        monkeypatch.setattr(memory._core.store, "scrub", _nothing)
        assert memory.forget(thread="t", physical=True).verified is False


def test_nothing_is_called_verified_that_is_too_short_to_look_for(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embedder=None, counter="estimate") as memory:
        memory.facts.set("user:ada", "city", "Oslo")
        erasure = memory.forget(user="ada", physical=True)
        assert erasure.counts["facts"] == 1
        assert erasure.verified is None and erasure.checked == [] and "long enough" in erasure.unchecked[0]


def test_every_cached_entity_of_the_user_goes(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embedder=None, counter="estimate") as memory:
        memory.entities.get("customer", "ada", lambda id: {"name": CANARY})
        memory.forget(user="ada", physical=True)
        assert run_blocking(memory._core.scan(CachedEntity)) == []
        assert files_with([tmp_path], CANARY) == []


@pytest.mark.parametrize("what", ["thread", "message"])
def test_what_the_index_knows_of_a_shared_namespace_goes_too(tmp_path: Path, what: str) -> None:
    with Memory(tmp_path / "memory.db", embedder=None, counter="estimate") as memory:
        for thread, name in ((f"{CANARY}-talk" if what == "thread" else "talk", CANARY), ("kept", "bob")):
            memory.threads.create("global", id=thread)
            message = {"role": "user", "name": name, "content": f"Always call me {name}, and never be late."}
            memory.threads.append(thread, "Good morning to all.", message, "And a good evening to you.")
        assert memory.recall("what should I always be called", namespaces=["global"])
        assert CANARY in repr(run_blocking(memory._core.scan(NamespaceStats)))
        which = {"thread": f"{CANARY}-talk"} if what == "thread" else {"message": "talk#2"}
        memory.forget(**which, physical=True)
        assert files_with([tmp_path], CANARY) == []
        [scope] = run_blocking(memory._core.scan(NamespaceStats))
        assert scope.speakers == ("bob",)
        hits = memory.recall("what should I always be called", namespaces=["global"])
        assert hits and CANARY not in repr(hits)
        assert files_with([tmp_path], CANARY) == []


def test_a_scrub_that_failed_is_done_by_the_next_forgetting(
    tmp_path: Path, place_on: PlaceOn, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails() -> Scrubbed:
        raise StoreUnavailable("the disk is full")

    location = place_on("sqlite")
    with _prepared(location, CANARY) as memory:
        with monkeypatch.context() as patched:
            patched.setattr(memory._core.store, "scrub", fails)
            with pytest.raises(StoreUnavailable):
                memory.forget(user=f"{CANARY}-user", physical=True)
            assert memory.forget(user="bob").counts["facts"] == 2, "what waits for room holds up no other forgetting"
            assert "deleted bytes are still in the files" in caplog.text and CANARY not in caplog.text
        assert location.holding(CANARY)
        memory.forget(source="anything")
        assert location.holding(CANARY) == []
        assert run_blocking(memory._core.scan(Job, "forget")) == []
