"""Forgetting: the thing, all that was derived from it, and nothing else."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from memorist.engine.audit import Audit
from memorist.engine.core import Core
from memorist.engine.documents.documents import Documents
from memorist.engine.entities import Entities
from memorist.engine.facts.facts import Facts
from memorist.engine.forgetting import erase
from memorist.engine.forgetting.forget import Forgetting
from memorist.engine.forgetting.guard import forgotten, resolve
from memorist.engine.learnings import Learnings
from memorist.engine.state import State
from memorist.engine.threads.threads import Threads
from memorist.errors import Forbidden, NotFound, UsageError
from memorist.kinds import RECORDS as KINDS
from memorist.records import (
    Chunk,
    Entry,
    Fact,
    IndexProgress,
    Job,
    Learning,
    Link,
    RequestKey,
    StoreIdentity,
    Summary,
    Tombstone,
    Watermark,
)
from memorist.stores.base import Put
from memorist.testing import FakeClock

CANARY = "xq-canary"
NS = "user:ada"
Fill = Callable[..., Coroutine[Any, Any, None]]
MakeEntry = Callable[..., Entry]


UNUSED = (Tombstone, Watermark, RequestKey, StoreIdentity)
"""Kinds of which a user in use has no rows, and which name nobody."""


async def _rows(core: Core) -> str:
    return repr([await core.scan(kind) for kind in KINDS])


async def test_a_forgotten_user_is_found_in_no_table(core: Core, fill: Fill) -> None:
    await fill(core, f"{CANARY}-user", CANARY)
    await fill(core, "bob", "kept")
    before = [len(await core.scan(kind)) for kind in KINDS if kind not in UNUSED]
    erasure = await Forgetting(core).forget(user=f"{CANARY}-user")
    assert CANARY not in await _rows(core)
    assert all(before)
    assert {"threads", "messages", "facts", "fact_versions", "learnings", "summaries", "entries"} <= set(erasure.counts)
    assert {"working", "documents", "chunks", "tasks", "checkpoint_steps", "state", "jobs"} <= set(erasure.counts)
    assert {"receipts", "links", "audit", "entities"} <= set(erasure.counts)
    assert {"index_progress", "derivations", "pins", "imported_digests", "namespace_stats"} <= set(erasure.counts)
    assert erasure.total == sum(erasure.counts.values())


async def test_another_user_loses_nothing(core: Core, fill: Fill) -> None:
    await fill(core, "bob", "kept")
    await _remove_traces(core)
    before = await _rows(core)
    await fill(core, f"{CANARY}-user", CANARY)
    await Forgetting(core).forget(user=f"{CANARY}-user")
    await _remove_traces(core)
    assert await _rows(core) == before


async def _remove_traces(core: Core) -> None:
    """What a forgetting leaves on purpose: tombstones, epochs, numbers that are not given again, and the event
    that says so."""
    from memorist.records import AuditEvent, Epoch
    from memorist.stores.base import Delete

    for event in await Audit(core).list(limit=None):
        if event.action == "forget":
            await core.apply(Delete(AuditEvent, event.row_key))
    for stone in await core.scan(Tombstone):
        await core.apply(Delete(Tombstone, stone.row_key))
    for mark in await core.scan(Epoch):
        await core.apply(Delete(Epoch, mark.row_key))
    for mark in await core.scan(Watermark, "numbers"):
        await core.apply(Delete(Watermark, mark.row_key))


async def test_a_user_whose_name_begins_like_another_ones_is_left_alone(core: Core) -> None:
    for user in ("ada", "ada/b", "ada#1", "ada.x"):
        await Facts(core).set(f"user:{user}", "k/1", user, source=f"{user}#1")
        await Threads(core).create(f"user:{user}", id=f"{user}")
        await Threads(core).append(user, "hello")
    await Facts(core).set("global", "of ada#1", "x", source="ada#1#1")
    await Forgetting(core).forget(user="ada")
    remaining = [fact.id for fact in await core.scan(Fact)]
    assert remaining == ["global/of ada#1", "user:ada#1/k/1", "user:ada.x/k/1", "user:ada/b/k/1"]
    assert {link.target.id for link in await core.scan(Link)} == set(remaining)
    subjects = {event.subject for event in await Audit(core).list(kind="fact")}
    assert subjects == set(remaining)


async def test_a_message_takes_along_what_was_derived_and_the_summaries_over_it(core: Core, entry: MakeEntry) -> None:
    threads, facts, at = Threads(core), Facts(core), core.at()
    await threads.create("global", id="t")
    for number in range(1, 21):
        await threads.append("t", f"message {number}")
    await facts.set("global", "from 10", 1, source="t#10")
    await facts.set("global", "from 11", 1, source="t#11")
    for first, last in ((1, 9), (10, 15)):
        row = Summary(org=core.org, thread="t", first=first, last=last, text="s", tokens=1, ns="global", created_at=at)
        await core.apply(Put(row))
    for number in range(1, 21):
        await core.apply(Put(entry(core, "global", "message", "t", f"t#{number}", "x")))
    await core.apply(Put(IndexProgress(org=core.org, thread="t", position=20, updated_at=at)))
    erasure = await Forgetting(core).forget(message="t#10")
    assert [fact.key for fact in await core.scan(Fact)] == ["from 11"]
    assert [row.last for row in await core.scan(Summary, "t")] == [9]
    assert [message.seq for message in await threads.messages("t")] == [n for n in range(1, 21) if n != 10]
    entries = {entry.id for entry in await core.scan(Entry, "global", "message", "t")}
    assert not entries & {"t#9", "t#10", "t#11"} and "t#5" in entries
    rewound = await core.get(IndexProgress, "t")
    assert rewound is not None and rewound.position < 9
    assert erasure.counts["messages"] == 1


async def test_a_forgotten_fact_does_not_come_back_from_its_sources(core: Core) -> None:
    await Facts(core).set("user:ada", "city", "Rome", source="t#1")
    await Facts(core).set("user:ada", "city", "Oslo", source="t#2")
    erasure = await Forgetting(core).forget(fact=("user:ada", "city"))
    assert await Facts(core).history("user:ada", "city") == []
    assert erasure.counts["fact_versions"] == 1
    processor = Facts(core.narrowed(core.scope.narrow(actor="processor")))
    for value in ("Rome", "Oslo"):
        for source in ("t#1", "t#2"):
            await processor.set("user:ada", "city", value, source=source)
    assert await Facts(core).get("user:ada", "city") is None
    assert (await processor.set("user:ada", "city", "Rome", source="t#3")).status == "active"


@pytest.mark.parametrize("named", ["text", "tuple", "fact"])
async def test_a_fact_may_be_named_in_three_ways(core: Core, named: str) -> None:
    fact = await Facts(core).set("global", "a/b", 1)
    which: Any = {"text": "global/a/b", "tuple": ("global", "a/b"), "fact": fact}[named]
    await Forgetting(core).forget(fact=which)
    assert await Facts(core).get("global", "a/b") is None


async def test_a_source_takes_along_all_that_came_from_it(core: Core, ada: Core) -> None:
    threads = Threads(core)
    url = "https://bad.example/page"
    await threads.create("global", id="t")
    await threads.append("t", {"role": "tool", "content": "poison", "trust": "web", "metadata": {"source": url}})
    await threads.append("t", "fine")
    await Documents(core).add("global", "Poisoned page.", source=url)
    await Facts(core).set("global", "poisoned", 1, source=url)
    await Facts(core).set("global", "kept", 1, source="t#2")
    await Learnings(ada).add("was told by the page", source=url)
    await Forgetting(core).forget(source=url)
    assert [message.seq for message in await threads.messages("t")] == [2]
    assert [fact.key for fact in await core.scan(Fact)] == ["kept"]
    assert [await core.scan(kind) for kind in (Learning, Chunk)] == [[], []]
    assert await forgotten(core, await resolve(core, [url]))
    processor = ada.narrowed(ada.scope.narrow(actor="processor"))
    assert (await Learnings(processor).add("told again", source=url)).status == "rejected"


async def test_messages_of_a_forgotten_thread_count_as_forgotten(core: Core) -> None:
    await Threads(core).create("global", id="t")
    await Threads(core).append("t", "hello")
    await Forgetting(core).forget(thread="t")
    assert await forgotten(core, await resolve(core, ["t#1"]))
    assert not await forgotten(core, await resolve(core, ["other#1"]))


@pytest.mark.parametrize("target", [{"user": "ada"}, {"thread": "t"}, {"message": "t#1"}, {"fact": (NS, "city")}])
async def test_a_forgetting_asked_for_again_reports_what_the_interrupted_one_left(
    core: Core, target: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    await Threads(core).append("t", "We met in Porto.", "And in Faro.", create=NS)
    await Facts(core).set(NS, "city", "Lisbon")
    expected = (await Forgetting(core).forget(**target, preview=True)).counts
    with monkeypatch.context() as patched:
        patched.setattr(core.store, "apply", _dies_after(core.store.apply, 1))  # after the write-ahead job
        with pytest.raises(KeyboardInterrupt):
            await Forgetting(core).forget(**target)
    assert (await Forgetting(core).forget(**target)).counts == expected
    assert await core.scan(Job, "forget") == []


async def test_a_forgetting_broken_off_is_finished_by_the_next(
    core: Core, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = f"{CANARY}-user"
    monkeypatch.setattr(erase, "THINGS_PER_COMMIT", 2)  # so that it can be broken off between any two of them
    for broken in range(1, 1000):
        await fill(core, user, CANARY)
        with monkeypatch.context() as patched:
            patched.setattr(core.store, "apply", _dies_after(core.store.apply, broken))
            try:
                await Forgetting(core).forget(user=user)
            except KeyboardInterrupt:
                whole = False
            else:
                whole = True
        assert len(await Forgetting(core).resume()) == (0 if whole else 1)
        assert CANARY not in await _rows(core)
        assert await core.scan(Job) == []
        if whole:
            break
    assert broken > 5


def _dies_after(apply: Any, calls: int) -> Any:
    calls_left = [calls]

    async def dying(changes: Any, *, now: int) -> Any:
        calls_left[0] -= 1
        if calls_left[0] < 0:
            raise KeyboardInterrupt
        return await apply(changes, now=now)

    return dying


async def test_that_something_was_forgotten_stays_known_and_what_it_was_does_not(core: Core, ada: Core) -> None:
    await Facts(core).set("user:ada", "name", "Ada")
    await Forgetting(ada).forget(user="ada")
    event = (await Audit(core).list())[-1]
    assert (event.action, event.kind, event.user) == ("forget", "user", None)
    assert event.detail["counts"]["facts"] == 1
    assert "ada" not in event.subject


async def test_a_users_handle_forgets_its_own_alone(core: Core, ada: Core) -> None:
    await Threads(core).create("user:bob", id="bobs")
    await Facts(core).set("user:bob", "k", 1, source="shared")
    await Facts(core).set("user:ada", "k", 1, source="shared")
    with pytest.raises(UsageError, match="another user"):
        await Forgetting(ada).forget(user="bob")
    with pytest.raises(NotFound):
        await Forgetting(ada).forget(thread="bobs")
    with pytest.raises(Forbidden):
        await Forgetting(ada).forget(fact="user:bob/k")
    await Forgetting(ada).forget(source="shared")
    assert [fact.id for fact in await core.scan(Fact)] == ["user:bob/k"]


async def test_one_thing_at_a_time(core: Core) -> None:
    for wrong in ({}, {"user": "a", "thread": "t"}):
        with pytest.raises(UsageError, match="pass exactly one"):
            await Forgetting(core).forget(**wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="batch"):
        await Forgetting(core.batched()).forget(user="a")
    with pytest.raises(NotFound):
        await Forgetting(core).forget(message="no#1")
    with pytest.raises(UsageError):
        await Forgetting(core).forget(fact="no namespace")


async def test_what_has_expired_but_still_lies_there_goes_too(core: Core, clock: FakeClock) -> None:
    own = core.narrowed(core.scope.narrow(user="ada"))
    await Threads(core).create("user:ada", id=f"{CANARY}-thread", ttl=60)
    await Threads(core).append(f"{CANARY}-thread", CANARY, key=CANARY)
    await Facts(core).set("user:ada", "k", CANARY, ttl=60, source=f"{CANARY}-thread#1")
    await Facts(core).set("global", "k", CANARY, ttl=60, source=f"{CANARY}-thread#1")
    await State(own).set(CANARY, CANARY, ttl=60)
    await Entities(core).get("customer", "ada", lambda id: CANARY)
    clock.advance(100_000)
    await Forgetting(core).forget(user="ada")
    clock.advance(-100_000)
    assert CANARY not in await _rows(core)


async def test_the_trail_of_a_forgotten_thread_goes_with_it(core: Core) -> None:
    for thread in (CANARY, f"{CANARY}#1"):
        await Threads(core).create("global", id=thread)
        await Threads(core).append(thread, "one", "two")
        await Threads(core).delete_messages(thread, ids=[f"{thread}#1"])
    await Forgetting(core).forget(thread=CANARY)
    assert [event.subject for event in await Audit(core).list(kind="thread")][:1] == [f"{CANARY}#1"]
    assert await Audit(core).list(subject=CANARY) == []
