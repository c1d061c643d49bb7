"""Jobs: in the transaction of their evidence, at least once, each result once, and visible when they fail."""

from __future__ import annotations

from time import monotonic
from typing import Any

import pytest

from memorist import Conflict, InvalidValue, ModelError
from memorist.engine.derive.deriving import Deriver, is_permanent
from memorist.engine.derive.outbox import MAX_ATTEMPTS, Outbox
from memorist.engine.derive.reading import Reading
from memorist.engine.index_jobs import index_job
from memorist.engine.threads.threads import Threads
from memorist.extract.extraction import Extraction
from memorist.records import Fact, Job, Thread
from memorist.runtime import Runtime
from memorist.stores.base import Expect, Put
from memorist.testing import FakeClock
from memorist_testing.plugin import Run, Together

from .conftest import OpenMemory, do
from .models import Scripted, down, item, items

LISBON = items(item("location", "Lisbon", "I live in Lisbon"))


async def append_texts(memory: Any, *texts: str, ns: str = "user:ada") -> Any:
    """A thread in which a user said this, and its receipts."""
    thread = await do(memory.threads.create(ns))
    return thread, await do(memory.threads.append(thread.id, *texts))


def outbox(memory: Any, **options: Any) -> Outbox:
    return Outbox(memory._core.shared, memory.org, **options)


async def location(memory: Any) -> Any:
    return await do(memory.facts.get("user:ada", "location"))


async def test_a_job_is_committed_with_its_evidence(memory: Any, run: Run) -> None:
    thread, receipts = await append_texts(memory, "I live in Lisbon.")
    assert [(receipt.durable, receipt.indexed, receipt.derived) for receipt in receipts] == [(True, False, "pending")]
    assert [job.item for job in await memory._core.scan(Job, "index")] == [f"thread:{thread.id}"]


async def test_indexing_lags_since_the_append_that_waits_for_it(memory: Any, run: Run, clock: FakeClock) -> None:
    """A process that appends for days: the row it ensures is of now, not of its first append."""
    thread, _ = await append_texts(memory, "one", "two")
    await do(memory.threads.append(thread.id, "three"))
    for _ in range(2):
        await outbox(memory).drain()
        clock.advance(5 * 3600)
        await do(memory.threads.append(thread.id, "hours later"))
        await do(memory.threads.append(thread.id, "and once more"))
        assert [job.created_at for job in await memory._core.scan(Job, "index")] == [clock()]
        assert [queue.lag_seconds for queue in await do(memory.jobs.backlog())] == [0, 0]
        assert not [problem for problem in (await do(memory.doctor())).problems if "lags" in problem]
        clock.advance(0.25)
    clock.advance(7200)
    assert [problem for problem in (await do(memory.doctor())).problems if "lags 7200 s behind" in problem]


async def test_a_refused_append_leaves_no_job(memory: Any, run: Run) -> None:
    thread, _ = await append_texts(memory, "one")
    await outbox(memory).drain()
    batch = memory._core.batched()
    await Threads(batch).append(thread.id, "two")
    await batch.apply(Expect(Thread, (memory.org, "no such thread"), 7))
    with pytest.raises(Conflict):
        await memory._core.commit(batch)
    assert await memory._core.scan(Job, "index") == []
    assert len(await do(memory.threads.recent(thread.id))) == 1


async def test_wait_works_until_a_message_is_indexed_and_derived(memory: Any, run: Run) -> None:
    _, receipts = await append_texts(memory, "I live in Lisbon.", "Thanks!")
    settled = await do(memory.wait(receipts))
    assert [(receipt.indexed, receipt.derived) for receipt in settled] == [(True, "done"), (True, "done")]
    assert (await location(memory)).value == "Lisbon"
    await outbox(memory).drain()  # the fact itself waits to be indexed
    assert [(queue.waiting, queue.dead) for queue in await do(memory.jobs.backlog())] == [(0, 0), (0, 0)]


async def test_without_extraction_nothing_is_pending(open_memory: OpenMemory, run: Run) -> None:
    memory = open_memory(extract=None)
    _, receipts = await append_texts(memory, "I live in Lisbon.")
    assert [receipt.derived for receipt in await do(memory.wait(receipts))] == ["none"]
    assert await location(memory) is None


async def test_a_failed_job_comes_back_later_and_later(
    open_memory: OpenMemory, runtime: Runtime, clock: FakeClock, run: Run
) -> None:
    memory = open_memory(model=Scripted(runtime.blocking, down(2), down(3), LISBON))
    await append_texts(memory, "I live in Lisbon.")
    work = outbox(memory)
    assert await work.drain() == 3  # with the index job of the fact that the rules read meanwhile
    (queue,) = [queue_state for queue_state in await do(memory.jobs.backlog()) if queue_state.queue == "derive"]
    assert (queue.waiting, queue.failing, queue.dead) == (1, 1, 0)
    assert queue.reasons == ("ModelError: status 500",)
    assert await work.drain() == 0
    clock.advance(1.5)
    assert await work.drain() == 1
    clock.advance(1.5)
    assert await work.drain() == 0
    clock.advance(4)
    assert await work.drain() == 2  # and the fact's own index job
    assert (await location(memory)).value == "Lisbon"
    assert await memory._core.scan(Job, "derive") == []


async def test_messages_wait_for_a_model_that_is_away_however_long_and_the_rules_stand_in(
    open_memory: OpenMemory, runtime: Runtime, clock: FakeClock, run: Run
) -> None:
    model = Scripted(runtime.blocking, *(down(4) for _ in range(2 * MAX_ATTEMPTS)), LISBON)
    memory = open_memory(model=model)
    thread, receipts = await append_texts(memory, "I live in Lisbon.")
    for _ in range(2 * MAX_ATTEMPTS):
        await outbox(memory).drain()
        clock.advance(7_200)  # the longest wait is an hour, and some chance
    assert len(model.asked) == 2 * MAX_ATTEMPTS and await do(memory.jobs.dead()) == []
    states = await do(memory.wait(receipts, timeout=0))
    assert [(state.derived, state.read_by) for state in states] == [("pending", "rules")]
    problems = (await do(memory.doctor())).problems
    assert any(
        "1 jobs in derive failed and will be tried again" in problem and "status 503" in problem for problem in problems
    )
    assert (await location(memory)).value == "Lisbon", "the rules have read it"
    # What is said while the job waits for its next attempt is read by the rules before the next answer.
    await do(memory.threads.append(thread.id, "My name is Ada."))
    await do(memory.recall("who am I?", namespaces="user:ada"))
    assert (await do(memory.facts.get("user:ada", "name"))).value == "Ada"
    assert len(model.asked) == 2 * MAX_ATTEMPTS, "no answer waits for the model"
    await outbox(memory).drain()
    assert [state.derived for state in await do(memory.wait(receipts, timeout=0))] == ["done"]
    assert not [problem for problem in (await do(memory.doctor())).problems if "derive" in problem]


async def test_remember_answers_with_what_the_rules_read_after_one_failed_call(
    open_memory: OpenMemory, runtime: Runtime, run: Run
) -> None:
    model = Scripted(runtime.blocking, down(4))
    memory = open_memory(model=model)
    began = monotonic()
    first = await do(memory.remember("I live in Lisbon.", user="ada"))
    # The job now waits for its next attempt, so the model is not asked about the second statement.
    second = await do(memory.remember("My name is Ada.", user="ada"))
    assert monotonic() - began < 10, "remember must not wait for the attempts that follow"
    assert len(model.asked) == 1
    for understood, value in ((first, "Lisbon"), (second, "Ada")):
        assert [item.value for item in understood.stored] == [value]
        assert [(receipt.derived, receipt.read_by) for receipt in understood.receipts] == [("pending", "rules")]


async def test_remember_does_not_wait_for_the_tokens_of_tomorrow(
    open_memory: OpenMemory, runtime: Runtime, run: Run
) -> None:
    model = Scripted(runtime.blocking, items(), tokens=200)
    memory = open_memory(model=model, extract=Extraction(daily_tokens=100, beyond="wait"))
    began = monotonic()
    await do(memory.remember("I live in Lisbon.", user="ada"))
    understood = await do(memory.remember("My name is Ada.", user="ada"))
    assert monotonic() - began < 10
    assert [(receipt.derived, receipt.read_by) for receipt in understood.receipts] == [("pending", None)]
    assert understood.stored == []


async def test_a_bad_answer_is_a_dead_letter_at_once_and_the_thread_goes_on(
    open_memory: OpenMemory, runtime: Runtime, run: Run
) -> None:
    porto = items(item("location", "Porto", "I moved to Porto"))
    # together, then the first alone, then the second alone
    model = Scripted(runtime.blocking, *["no JSON", "still none"] * 2, porto, LISBON, items())
    memory = open_memory(model=model)
    thread, receipts = await append_texts(memory, "I live in Lisbon.", "I moved to Porto.")
    settled = await do(memory.wait(receipts))
    assert [receipt.derived for receipt in settled] == ["failed", "done"]
    assert (await location(memory)).value == "Porto"
    (dead,) = await do(memory.jobs.dead())
    assert dead.error.startswith("ModelError: invalid: no operations")
    assert [queue.dead for queue in await do(memory.jobs.backlog())] == [0, 1]
    assert await do(memory.jobs.retry_dead()) == 1
    assert [receipt.derived for receipt in await do(memory.wait(receipts))] == ["done", "done"]
    assert await do(memory.jobs.dead()) == []
    assert (await location(memory)).value == "Porto", "what was said later still holds"
    again = await do(memory.threads.append(thread.id, "Bye."))
    assert [receipt.derived for receipt in await do(memory.wait(again))] == ["done"]


async def test_a_job_whose_workers_keep_dying_is_poison(memory: Any, clock: FakeClock, run: Run) -> None:
    await append_texts(memory, "I live in Lisbon.")
    await outbox(memory).drain(("index",))
    for _ in range(MAX_ATTEMPTS):
        claimed = await memory._core.store.claim(
            "derive", owner="killed", now=memory._core.now(), lease=1_000_000, org=memory.org
        )
        assert len(claimed) == 1
        clock.advance(2)
    await outbox(memory).drain()
    (dead,) = await do(memory.jobs.dead())
    assert dead.error.startswith("poison")
    assert await location(memory) is None


async def test_poison_is_skipped_and_the_rest_of_the_thread_goes_on(
    open_memory: OpenMemory, clock: FakeClock, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that its readers die of: they leave their lease behind, and the others do not pay for it."""
    memory = open_memory()
    texts = ["I live in Lisbon.", "deadly", "My name is John.", "No, it's Jon, not John.", "Bye."]
    _, receipts = await append_texts(memory, *texts)
    read = Reading._extract
    deaths: list[int] = []

    async def dies(self: Reading, message: Any, owner: Any, memories: Any) -> Any:
        if message.text == "deadly":
            deaths.append(message.seq)
            raise KeyboardInterrupt
        return await read(self, message, owner, memories)

    monkeypatch.setattr(Reading, "_extract", dies)
    for _ in range(MAX_ATTEMPTS + 4):
        try:
            await outbox(memory).drain()
        except KeyboardInterrupt:
            clock.advance(61)
    states = [receipt.derived for receipt in await do(memory.wait(receipts, timeout=0))]
    assert states == ["done", "failed", "done", "done", "done"]
    assert len(deaths) <= MAX_ATTEMPTS + 1
    assert (await location(memory)).value == "Lisbon"
    assert (await do(memory.facts.get("user:ada", "name"))).value == "Jon", "a correction behind it finds its fact"
    (dead,) = await do(memory.jobs.dead())
    assert (dead.queue, dead.payload) == ("reread", {"seqs": [2]}) and dead.error.startswith("poison")
    assert any("1 dead letters in derive: poison" in problem for problem in (await do(memory.doctor())).problems)
    monkeypatch.setattr(Reading, "_extract", read)
    assert await do(memory.jobs.retry_dead()) == 1
    assert [receipt.derived for receipt in await do(memory.wait(receipts))] == ["done"] * 5


async def test_an_append_revives_what_was_given_up_and_the_reason_stays_visible(
    open_memory: OpenMemory, clock: FakeClock, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, failures = Deriver.run, [InvalidValue("a part is broken")] * (MAX_ATTEMPTS + 1)

    async def fail_first(self: Deriver, job: Job, *, until: float | None = None) -> int:
        if failures:
            raise failures.pop()
        return await read(self, job, until=until)

    monkeypatch.setattr(Deriver, "run", fail_first)
    memory = open_memory()
    thread, first = await append_texts(memory, "I live in Lisbon.")
    for _ in range(MAX_ATTEMPTS + 1):
        await outbox(memory).drain()
        clock.advance(500)
    assert [receipt.derived for receipt in await do(memory.wait(first, timeout=0))] == ["failed"]
    second = await do(memory.threads.append(thread.id, "I moved to Porto."))
    await outbox(memory).drain(("index",))
    assert [receipt.derived for receipt in await do(memory.wait([*first, *second], timeout=0))] == [
        "pending",
        "pending",
    ]
    (queue,) = [queue_state for queue_state in await do(memory.jobs.backlog()) if queue_state.queue == "derive"]
    assert (queue.waiting, queue.failing, queue.dead) == (1, 1, 0)
    assert queue.reasons == ("InvalidValue: a part is broken",)
    assert any(
        "tried again: InvalidValue: a part is broken" in problem for problem in (await do(memory.doctor())).problems
    )
    await outbox(memory).drain()  # once more broken: it has all its attempts again
    clock.advance(2)
    await outbox(memory).drain()
    assert [receipt.derived for receipt in await do(memory.wait([*first, *second], timeout=0))] == ["done", "done"]
    assert (await location(memory)).value == "Porto"
    assert not [problem for problem in (await do(memory.doctor())).problems if "derive" in problem]


async def test_an_append_does_not_revive_what_a_model_answered_badly_for(
    open_memory: OpenMemory, runtime: Runtime, run: Run
) -> None:
    model = Scripted(runtime.blocking, "no JSON", "still none", items())
    memory = open_memory(model=model)
    thread, receipts = await append_texts(memory, "I live in Lisbon.")
    await do(memory.wait(receipts))
    more = await do(memory.threads.append(thread.id, "Thanks!"))
    assert [receipt.derived for receipt in await do(memory.wait([*receipts, *more]))] == ["failed", "done"]
    assert len(await do(memory.jobs.dead())) == 1 and len(model.asked) == 2, "thanks are not worth a call"


async def test_indexing_is_tried_again_for_as_long_as_it_fails(
    memory: Any, clock: FakeClock, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memorist.engine.derive.indexing import Indexer

    finished = Indexer._finish_entries

    async def breaks(self: Any, *arguments: Any) -> Any:
        raise ValueError

    monkeypatch.setattr(Indexer, "_finish_entries", breaks)
    thread, receipts = await append_texts(memory, "I live in Lisbon.")
    for _ in range(3 * MAX_ATTEMPTS):
        await outbox(memory).drain()
        clock.advance(400)
    assert await do(memory.jobs.dead()) == []
    assert any(
        "jobs in index failed" in problem and "ValueError" in problem
        for problem in (await do(memory.doctor())).problems
    )
    monkeypatch.setattr(Indexer, "_finish_entries", finished)
    await do(memory.threads.append(thread.id, "And I work as a nurse."))
    await outbox(memory).drain()
    assert (await location(memory)).value == "Lisbon"
    assert [(receipt.indexed, receipt.derived) for receipt in await do(memory.wait(receipts, timeout=0))] == [
        (True, "done")
    ]


async def test_poison_in_the_index_shows_in_receipts_too(memory: Any, clock: FakeClock, run: Run) -> None:
    _, receipts = await append_texts(memory, "I live in Lisbon.")
    for _ in range(MAX_ATTEMPTS):
        await memory._core.store.claim("index", owner="killed", now=memory._core.now(), lease=1_000_000, org=memory.org)
        clock.advance(2)
    await outbox(memory).drain()
    (dead,) = await do(memory.jobs.dead())
    assert dead.queue == "index" and dead.error.startswith("poison")
    assert [receipt.derived for receipt in await do(memory.wait(receipts, timeout=0))] == ["failed"]
    assert await do(memory.jobs.retry_dead()) == 1
    assert [receipt.derived for receipt in await do(memory.wait(receipts))] == ["done"]


async def test_a_leased_job_is_left_alone_until_its_lease_ends(memory: Any, clock: FakeClock, run: Run) -> None:
    await append_texts(memory, "I live in Lisbon.")
    await memory._core.store.claim("index", owner="other", now=memory._core.now(), lease=60_000_000, org=memory.org)
    assert await outbox(memory).drain() == 0
    clock.advance(61)
    assert await outbox(memory).drain() == 3
    assert (await location(memory)).value == "Lisbon"


async def test_progress_extends_the_lease_and_forgives_failures(
    open_memory: OpenMemory, runtime: Runtime, clock: FakeClock, run: Run
) -> None:
    def slowly(_: str) -> str:
        clock.advance(40)  # two messages take longer than one lease
        return items()

    memory = open_memory(model=Scripted(runtime.blocking, slowly))
    _, receipts = await append_texts(memory, "I live in Lisbon.", "And in Porto.", "And in Faro.")
    await outbox(memory).drain()
    assert [receipt.derived for receipt in await do(memory.wait(receipts, timeout=0))] == ["done", "done", "done"]
    assert await memory._core.scan(Job, "derive") == []


async def test_a_worker_that_lost_its_lease_writes_nothing(memory: Any, clock: FakeClock, run: Run) -> None:
    _, receipts = await append_texts(memory, "I live in Lisbon.")
    await outbox(memory).drain(("index",))
    (job,) = await memory._core.store.claim(
        "derive", owner="stale", now=memory._core.now(), lease=60_000_000, org=memory.org
    )
    clock.advance(100)
    await outbox(memory).drain()
    with pytest.raises(Conflict):
        await Deriver(memory._core).run(job)
    assert (await location(memory)).version == 1
    assert [receipt.derived for receipt in await do(memory.wait(receipts))] == ["done"]


async def test_many_workers_at_once_derive_each_fact_once(memory: Any, together: Together, run: Run) -> None:
    thread = await do(memory.threads.create("user:ada"))
    for number in range(6):
        await do(memory.threads.append(thread.id, f"My favourite number is {number}."))
    others = [await append_texts(memory, "I live in Lisbon.", ns=f"user:u{number}") for number in range(6)]
    await together([lambda: outbox(memory).drain() for _ in range(4)])
    await outbox(memory).drain()
    for number in range(len(others)):
        fact = await do(memory.facts.get(f"user:u{number}", "location"))
        assert (fact.value, fact.version, len(fact.sources)) == ("Lisbon", 1, 1)
    assert [(queue.waiting, queue.dead) for queue in await do(memory.jobs.backlog())] == [(0, 0), (0, 0)]


async def test_a_thread_deleted_meanwhile_ends_its_jobs(memory: Any, run: Run) -> None:
    thread, receipts = await append_texts(memory, "I live in Lisbon.")
    await outbox(memory).drain(("index",))
    await do(memory.threads.delete(thread.id))
    await outbox(memory).drain()
    assert await memory._core.scan(Job, "derive") == []
    assert await location(memory) is None
    assert [receipt.derived for receipt in await do(memory.wait(receipts, timeout=0))] == ["pending"]


async def test_a_handle_of_one_user_sees_only_their_jobs(open_memory: OpenMemory, runtime: Runtime, run: Run) -> None:
    memory = open_memory(model=Scripted(runtime.blocking, "no JSON"))
    await append_texts(memory, "I live in Lisbon.")
    await outbox(memory).drain()
    other, own = memory.scope(user="bob"), memory.scope(user="ada")
    assert await do(other.jobs.dead()) == []
    assert [queue.dead for queue in await do(other.jobs.backlog())] == [0, 0]
    assert await do(other.jobs.retry_dead()) == 0
    assert len(await do(own.jobs.dead())) == 1


async def test_an_unexpected_error_is_kept_by_kind_alone(
    open_memory: OpenMemory, runtime: Runtime, clock: FakeClock, run: Run
) -> None:
    secret = "I live in Lisbon"
    memory = open_memory(model=Scripted(runtime.blocking, KeyError(secret)))
    await append_texts(memory, f"{secret}.")
    for _ in range(MAX_ATTEMPTS + 1):
        await outbox(memory).drain()
        clock.advance(500)
    (dead,) = await do(memory.jobs.dead())
    assert dead.error == "KeyError (unexpected)"
    assert secret not in str(await do(memory.doctor()))


async def test_deriving_twice_changes_nothing(memory: Any, run: Run) -> None:
    thread, receipts = await append_texts(memory, "I live in Lisbon.", "I prefer short answers.")
    await do(memory.wait(receipts))
    before = await memory._core.scan(Fact)
    learned = await do(memory.learnings.list(user="ada", min_confidence=0))
    # A job written again by a replayed or late indexer finds the mark at the end.
    await memory._core.apply(Put(index_job(memory.org, "user:ada", f"thread:{thread.id}", memory._core.at(), "derive")))
    await outbox(memory).drain()
    assert await memory._core.scan(Fact) == before
    assert await do(memory.learnings.list(user="ada", min_confidence=0)) == learned


def test_permanent_errors_are_told_from_passing_ones() -> None:
    assert is_permanent(ModelError("bad", retryable=False))
    assert is_permanent(ModelError("too long", retryable=False, status=400))
    assert not is_permanent(ModelError("down", retryable=True))
    assert not is_permanent(ModelError("the key has expired", retryable=False, status=401))
    assert not is_permanent(ValueError("other"))
