"""What was derived goes with its source, whenever it was derived and whatever became of the source."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memorist import Memory
from memorist.engine.core import Core
from memorist.engine.derive.folding import Folding
from memorist.engine.documents.documents import Documents
from memorist.engine.events import Events
from memorist.engine.facts.facts import Facts
from memorist.engine.forgetting.forget import Forgetting
from memorist.engine.learnings import Learnings
from memorist.engine.threads.threads import Threads
from memorist.engine.tidying import Plan, PlanLine, Plans
from memorist.kinds import RECORDS
from memorist.records import Fact, Link, Summary, Tombstone
from memorist.stores.base import Scan

CANARY = "zqxcanary"


async def _tables_with_canary(core: Core) -> list[str]:
    """The tables in which the canary can still be read, expired rows included."""
    rows = {kind.table.name: await core.store.scan(Scan(kind, (core.org,)), now=0) for kind in RECORDS}
    return [name for name, table_rows in rows.items() if CANARY in repr(table_rows)]


def _of(core: Core, user: str) -> Core:
    return core.narrowed(core.scope.narrow(user=user))


async def _talk(core: Core, id: str = f"{CANARY}-talk", **options: Any) -> str:
    await Threads(core).create("user:ada", id=id, **options)
    await Threads(core).append(id, f"I said {CANARY}", "and more")
    return id


async def test_a_fact_out_of_reach_is_found_by_the_org_later(core: Core) -> None:
    thread = await _talk(core)
    await Facts(core).set("user:bob", "d", CANARY, source=f"{thread}#1")
    first = await Forgetting(_of(core, "ada")).forget(user="ada")
    assert not first.complete and await Facts(core).get("user:bob", "d") is not None
    assert (await Forgetting(core).forget(user="ada")).complete
    assert await _tables_with_canary(core) == []


@pytest.mark.parametrize("is_used", [False, True])
async def test_what_others_derived_from_ones_own_data_from_a_shared_source_is_reported(
    core: Core, is_used: bool
) -> None:
    for user in ("ada", "bob"):
        await Facts(core).set(f"user:{user}", "k", 1, source="shared")
    if is_used:
        await Facts(core).set("user:bob", "d", 1, source="user:ada/k")
    assert (await Forgetting(_of(core, "ada")).forget(source="shared")).complete is not is_used


@pytest.mark.parametrize("source", ["{}#1", "{}"], ids=["message", "thread"])
async def test_a_thread_deleted_before_is_still_followed(core: Core, source: str) -> None:
    thread = await _talk(core)
    await Facts(core).set("workflow:w", "d", CANARY, source=source.format(thread))
    await Threads(core).delete(thread)
    await Forgetting(core).forget(user="ada")
    assert await _tables_with_canary(core) == []


async def test_a_thread_that_expired_is_still_followed(core: Core, clock: Any) -> None:
    thread = await _talk(core, ttl=60)
    await Facts(core).set("workflow:w", "d", CANARY, source=f"{thread}#1")
    clock.advance(61)
    await core.store.purge(now=core.now())
    await Forgetting(core).forget(user="ada")
    assert await _tables_with_canary(core) == []


@pytest.mark.parametrize("kind", ["learning", "event"])
async def test_a_memory_deleted_before_is_still_followed(core: Core, kind: str) -> None:
    talk = await _talk(core)
    if kind == "learning":
        learning = await Learnings(core).add(f"Likes {CANARY}", source=f"{talk}#1", user="ada")
        source = f"user:ada/{learning.id}"
    else:
        event = await Events(core).add(f"Sees {CANARY}", ns="user:ada", source=f"{talk}#1")
        source = f"user:ada/{event.id}"
    await Facts(core).set("workflow:w", "k", f"of {CANARY}", source=source)
    if kind == "learning":
        await Learnings(core).delete(learning.id, user="ada")
    else:
        await Events(core).delete(event.id, ns="user:ada")
    await Forgetting(core).forget(message=f"{talk}#1")
    assert await core.get(Fact, "workflow:w", "k") is None


async def test_a_fact_deleted_before_is_still_followed(core: Core) -> None:
    await Facts(core).set("user:ada", "name", CANARY)
    await Facts(core).set("workflow:w", "d", CANARY, source="user:ada/name")
    await Facts(core).delete("user:ada", "name")
    await Forgetting(core).forget(user="ada")
    assert await _tables_with_canary(core) == []


@pytest.mark.parametrize("deleted", [False, True])
@pytest.mark.parametrize("source", ["{0}", "{0}#{1}", "user:ada/{0}"], ids=["id", "chunk", "path"])
async def test_a_document_is_followed(core: Core, source: str, deleted: bool) -> None:
    document = await Documents(core).add("user:ada", f"All about {CANARY}.", id=f"{CANARY}-doc")
    part = (await Documents(core).chunks("user:ada", document.id))[0].part
    await Facts(core).set("workflow:w", "d", CANARY, source=source.format(document.id, part))
    if deleted:
        await Documents(core).delete("user:ada", document.id)
    await Forgetting(core).forget(user="ada")
    assert await _tables_with_canary(core) == []


async def test_a_chain_across_namespaces_goes_to_its_end(core: Core) -> None:
    thread = await _talk(core)
    await Facts(core).set("workflow:w", "a", CANARY, source=f"{thread}#1")
    await Facts(core).set("agent:x", "b", CANARY, source="workflow:w/a")
    learning = await Learnings(core).add(f"likes {CANARY}", source="agent:x/b", user="bob")
    await Forgetting(core).forget(thread=thread)
    assert await _tables_with_canary(core) == []
    assert (await Learnings(core).add(learning.content, source="agent:x/b", user="bob")).status == "rejected"


async def test_nothing_is_written_from_a_forgotten_source(core: Core) -> None:
    thread = await _talk(core)
    await Forgetting(core).forget(user="ada")
    fact = await Facts(core).set("user:bob", "d", CANARY, source=f"{thread}#1")
    assert fact.status == "rejected"
    assert await Facts(core).get("user:bob", "d") is None and await _tables_with_canary(core) == []


async def test_a_source_that_is_there_again_is_a_source_again(core: Core) -> None:
    await Facts(core).set("user:ada", "city", "Oslo")
    await Forgetting(core).forget(fact=("user:ada", "city"))
    await Facts(core).set("user:ada", "city", "Bergen")
    assert (await Facts(core).set("workflow:w", "d", "Bergen", source="user:ada/city")).status == "active"


async def test_a_summary_in_the_making_is_not_written(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user is forgotten while the model summarises."""
    thread = await _talk(core)
    await Threads(core).append(thread, *(f"{CANARY} number {n} and much more to say about it" for n in range(60)))
    _while_summarising(monkeypatch, lambda: Forgetting(core).forget(user="ada"))
    assert await Folding(core).fold(thread, room_tokens=400) is None
    assert await core.scan(Summary) == [] and await _tables_with_canary(core) == []


def _while_summarising(monkeypatch: pytest.MonkeyPatch, happens: Any) -> None:
    digest = Folding._digest

    async def slow(self: Folding, *arguments: Any) -> Any:
        await happens()
        return await digest(self, *arguments)

    monkeypatch.setattr(Folding, "_digest", slow)


async def test_a_summary_over_a_forgotten_summary_is_not_written(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    thread = await _talk(core)
    await Threads(core).append(thread, *(f"number {n} and much more to say about it" for n in range(60)))
    assert await Folding(core).fold(thread, room_tokens=400) is not None
    await Threads(core).append(thread, *(f"later {n} and much more to say about it" for n in range(60)))
    _while_summarising(monkeypatch, lambda: Forgetting(core).forget(message=f"{thread}#1"))
    assert await Folding(core).fold(thread, room_tokens=400) is None
    assert await core.scan(Summary) == []


async def test_one_user_cannot_forget_the_sources_of_another(core: Core) -> None:
    await Threads(core).create("user:bob", id="bobtalk")
    await Threads(core).append("bobtalk", "hello")
    await Facts(core).set("user:bob", "k", 1, source="bobtalk#1")
    before = await core.scan(Link)
    erasure = await Forgetting(_of(core, "ada")).forget(source="bobtalk#1")
    assert erasure == await Forgetting(_of(core, "ada")).forget(source="nobody's#1")
    assert await core.scan(Fact)
    assert await core.scan(Link) == before and await core.scan(Tombstone) == []


async def test_a_source_of_nobody_is_forgotten_for_oneself_alone(core: Core) -> None:
    for user in ("ada", "bob"):
        await Facts(core).set(f"user:{user}", "k", user, source="crm")
    erasure = await Forgetting(_of(core, "ada")).forget(source="crm")
    assert erasure.complete
    assert [fact.ns for fact in await core.scan(Fact)] == ["user:bob"]
    assert (await Facts(core).set("user:bob", "other", 1, source="crm")).status == "active"


async def test_a_preview_counts_what_goes_and_removes_nothing(core: Core) -> None:
    thread = await _talk(core)
    await Facts(core).set("user:ada", "a", CANARY, source=f"{thread}#1")
    await Facts(core).set("workflow:w", "b", CANARY, source="user:ada/a")
    before = [await core.scan(kind) for kind in RECORDS]
    preview = await Forgetting(core).forget(user="ada", preview=True)
    assert [await core.scan(kind) for kind in RECORDS] == before and preview.preview
    erasure = await Forgetting(core).forget(user="ada")
    assert preview.counts["facts"] == 2
    assert {**preview.counts} == erasure.counts
    assert (await Forgetting(core).forget(user="ada")).counts == {}


async def test_a_thread_of_the_same_id_made_by_another_user_is_left_alone(core: Core, clock: Any) -> None:
    thread = await _talk(core)
    await Facts(core).set("workflow:w", "d", CANARY, source=f"{thread}#1")
    await Threads(core).delete(thread)
    clock.advance(timedelta(seconds=1).total_seconds())
    await Threads(core).create("user:bob", id=thread)
    await Threads(core).append(thread, "bob's own")
    await Facts(core).set("workflow:w", "bobs", "own", source=f"{thread}#1")
    await Forgetting(core).forget(user="ada")
    assert await Facts(core).get("workflow:w", "d") is None
    assert await Facts(core).get("workflow:w", "bobs") is not None
    assert (await Threads(core).recent(thread))[0].text == "bob's own"


@pytest.mark.parametrize("by", ["ids", "before"])
async def test_messages_can_be_deleted_in_a_batch(core: Core, by: str) -> None:
    thread = await _talk(core)
    batch = core.batched()
    options: dict[str, Any] = {"ids": [f"{thread}#1", f"{thread}#9"]} if by == "ids" else {"before": 2}
    assert await Threads(batch).delete_messages(thread, **options) == 1
    await core.commit(batch)
    assert [message.seq for message in await Threads(core).messages(thread)] == [2]


def test_forgetting_a_user_touches_no_other_whose_name_resembles_it(tmp_path: Any) -> None:
    """`user:a/a` may be the namespace of user `a/a`, or a fact or document called `a` of user `a`."""
    names = ["a", "a/a", "a#", "a#1", "a/", "a:a", "a%", " a", "A"]
    with Memory(tmp_path / "m.db", worker=False, embedder=None, extract=None) as memory:

        def fill(user: str) -> None:
            memory.facts.set(f"user:{user}", "a", f"of {user}")
            memory.documents.add(f"user:{user}", f"A text of {user}.", id="a")
            memory.records.put(f"user:{user}", ("a",), user)
            memory.threads.create(f"user:{user}", id=f"talk-{user}")
            memory.threads.append(f"talk-{user}", f"hello of {user}")
            memory.learnings.add(f"likes tea of {user}", user=user)

        def belongings(user: str) -> Any:
            ns = f"user:{user}"
            learned = [learning.content for learning in memory.learnings.list(user=user)]
            texts = [message.text for thread in memory.threads.list(ns) for message in memory.threads.recent(thread.id)]
            return memory.facts.list(ns), memory.documents.list(ns), memory.records.scan(ns), texts, learned

        for name in names:
            fill(name)
        for name in names:
            before = {other: belongings(other) for other in names if other != name}
            memory.forget(user=name)
            assert {other: belongings(other) for other in before} == before
            assert not any(belongings(name))
            fill(name)


@pytest.mark.parametrize("op", ["learn", "merge"])
@pytest.mark.parametrize("number", [1, 2, 3])
async def test_a_memory_made_of_others_is_forgotten_with_each_of_them(core: Core, op: str, number: int) -> None:
    await Threads(core).create("user:ada", id="t")
    await Threads(core).append("t", "one", "two", "three")
    learnings = [await Learnings(core).add(f"Likes number {seq}", source=f"t#{seq}", user="ada") for seq in range(1, 4)]
    ids = [f"learning:{learning.id}" for learning in learnings]
    versions = {id: learning.version for id, learning in zip(ids, learnings, strict=True)}
    line = PlanLine(op=op, ids=ids, before=[], text="Likes numbers", sources=["t#1", "t#2", "t#3"])
    await Plans(core).apply(Plan(id="p", ns="user:ada", lines=[line], versions=versions))
    await Forgetting(core).forget(message=f"t#{number}")
    for kind in RECORDS:
        assert "Likes numbers" not in repr(await core.scan(kind)), kind.table.name


async def test_a_plan_that_was_undone_leaves_no_links(core: Core) -> None:
    learnings = [await Learnings(core).add(f"Likes number {number}", user="ada") for number in range(2)]
    ids = [f"learning:{learning.id}" for learning in learnings]
    versions = {id: learning.version for id, learning in zip(ids, learnings, strict=True)}
    line = PlanLine(op="merge", ids=ids, before=[], text="Likes numbers")
    await Plans(core).apply(Plan(id="p", ns="user:ada", lines=[line], versions=versions))
    assert await core.scan(Link) != []
    await Plans(core).undo("p", ns="user:ada")
    assert await core.scan(Link) == []
