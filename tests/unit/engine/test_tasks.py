"""Tasks: where they stand, who may write, and what a save costs."""

from datetime import timedelta
from typing import Any

import pytest

from memorist.engine.audit import Audit
from memorist.engine.core import Core
from memorist.engine.facts.facts import Facts
from memorist.engine.tasks.tasks import Checkpoint, Tasks
from memorist.engine.threads.threads import Threads
from memorist.errors import (
    Conflict,
    CorruptRecord,
    InvalidValue,
    LeaseLost,
    NotFound,
    StoreTimeout,
    TooLarge,
    UsageError,
)
from memorist.memory import AsyncMemory
from memorist.records import CheckpointStep, Task
from memorist.stores.base import Delete
from memorist.testing import FakeClock
from memorist.values import MAX_VALUE_BYTES


def engine(batch: Any) -> AsyncMemory:
    """The nouns of a task's batch as coroutines, in both ways to run a test."""
    return AsyncMemory._over(batch._core)


@pytest.fixture
def tasks(core: Core) -> Tasks:
    return Tasks(core)


async def test_a_checkpoint_comes_back(tasks: Tasks, clock: FakeClock) -> None:
    saved = await tasks.save(
        {
            "task_id": "import",
            "step": 3,
            "state": {"cursor": "x", "n": [1, 2.5, None]},
            "completed_subtasks": ["a", "b"],
        }
    )
    assert (saved.version, saved.updated_at) == (1, clock())
    assert await tasks.resume("import") == saved
    assert saved.state == {"cursor": "x", "n": [1, 2.5, None]}
    assert saved.completed_subtasks == ("a", "b")


async def test_there_is_nothing_to_resume_before_the_first_save(tasks: Tasks) -> None:
    assert await tasks.resume("nothing") is None
    assert await tasks.delete("nothing") is False
    with pytest.raises(NotFound):
        await tasks.history("nothing")


async def test_saving_again_replaces_and_keeps_history(tasks: Tasks) -> None:
    for step in range(1, 6):
        completed = [f"item {i}" for i in range(step)]
        await tasks.save(Checkpoint(task_id="t", step=step, state={"n": step}, completed_subtasks=tuple(completed)))
    now = await tasks.resume("t")
    assert now is not None and (now.step, now.state, now.version) == (5, {"n": 5}, 5)
    past = await tasks.history("t", 3)
    assert [(point.step, point.state["n"], len(point.completed_subtasks)) for point in past] == [
        (3, 3, 3),
        (4, 4, 4),
        (5, 5, 5),
    ]


async def test_a_subtask_can_become_incomplete_again(tasks: Tasks) -> None:
    await tasks.save(Checkpoint(task_id="t", completed_subtasks=("a", "b")))
    await tasks.save(Checkpoint(task_id="t", completed_subtasks=("b",)))
    checkpoint = await tasks.resume("t")
    assert checkpoint is not None and checkpoint.completed_subtasks == ("b",)


async def test_expect_refuses_a_task_that_moved_on(core: Core, tasks: Tasks) -> None:
    first = await tasks.save(Checkpoint(task_id="t", state=1))
    await Tasks(core).save(Checkpoint(task_id="t", state=2))
    with pytest.raises(Conflict):
        await tasks.save(Checkpoint(task_id="t", state=3), expect=first.version)
    with pytest.raises(Conflict):
        await tasks.save(Checkpoint(task_id="new", state=3), expect=1)
    checkpoint = await tasks.resume("t")
    assert checkpoint is not None and checkpoint.state == 2


async def test_two_handles_saving_in_turn_both_win(core: Core, tasks: Tasks) -> None:
    other = Tasks(core)
    for number in range(6):
        await (tasks, other)[number % 2].save(Checkpoint(task_id="t", step=number, state={"log": list(range(number))}))
    checkpoint = await tasks.resume("t")
    assert checkpoint is not None and (checkpoint.step, checkpoint.state) == (5, {"log": [0, 1, 2, 3, 4]})


async def test_tasks_are_listed_by_namespace_without_their_states(tasks: Tasks) -> None:
    await tasks.save({"task_id": "b", "ns": "workflow:x"})
    await tasks.save({"task_id": "a", "ns": "workflow:x"})
    await tasks.save({"task_id": "c"})
    assert [task.task_id for task in await tasks.list("workflow:x")] == ["a", "b"]
    assert [task.task_id for task in await tasks.list("workflow:x", after="a")] == ["b"]
    assert [task.task_id for task in await tasks.list()] == ["a", "b", "c"]


async def test_tasks_of_another_user_are_out_of_reach(core: Core, ada: Core, tasks: Tasks) -> None:
    await tasks.save({"task_id": "bobs", "ns": "user:bob"})
    assert await Tasks(ada).resume("bobs") is None
    assert await Tasks(ada).delete("bobs") is False
    assert await Tasks(ada).list() == []


async def test_deleting_removes_the_steps_too(core: Core, tasks: Tasks) -> None:
    await tasks.save(Checkpoint(task_id="t", state=1))
    assert await tasks.delete("t") is True
    assert await core.scan(CheckpointStep, "t") == []
    assert (await tasks.save(Checkpoint(task_id="t", state=2))).version == 1


async def test_a_run_skips_what_is_complete(tasks: Tasks) -> None:
    handled: list[str] = []
    with pytest.raises(ZeroDivisionError):
        async with tasks.run("t", state={"sum": 0}) as task:
            for item in task.remaining(["a", "b", "c"]):
                if item == "c":
                    task.state["sum"] = 99
                    raise ZeroDivisionError
                task.state["sum"] += 1
                await task.complete(item)
    async with tasks.run("t") as task:
        assert (task.step, task.state) == (2, {"sum": 2})
        for item in task.remaining(["a", "b", "c"]):
            handled.append(item)
            await task.complete(item, state={"sum": 3})
        assert list(task.remaining(["a", "b", "c"])) == []
    assert handled == ["c"]
    checkpoint = await tasks.resume("t")
    assert checkpoint is not None and (checkpoint.status, checkpoint.step, checkpoint.state) == ("done", 3, {"sum": 3})


async def test_items_may_be_anything_with_a_name(tasks: Tasks) -> None:
    rows = [{"id": 1}, {"id": 2}]
    async with tasks.run("t") as task:
        await task.complete(1)
        assert [row["id"] for row in task.remaining(rows, key=lambda row: str(row["id"]))] == [2]
        assert task.is_complete(1) and not task.is_complete(2)
        assert task.completed == ("1",)


async def test_a_step_and_its_effects_are_one_commit(core: Core, tasks: Tasks) -> None:
    await Threads(core).create("global", id="log")
    async with tasks.run("t") as task:
        batch = task.batch()
        await engine(batch).facts.set("global", "a", 1)
        await engine(batch).threads.append("log", "did a")
        assert await Facts(core).get("global", "a") is None
        await task.complete("a")
    effect = await Facts(core).get("global", "a")
    assert effect is not None and effect.value == 1
    assert [message.content for message in await Threads(core).recent("log")] == ["did a"]


async def test_effects_of_a_failed_step_are_never_written(core: Core, tasks: Tasks) -> None:
    with pytest.raises(ZeroDivisionError):
        async with tasks.run("t") as task:
            await engine(task.batch()).facts.set("global", "a", 1)
            raise ZeroDivisionError
    async with tasks.run("t") as task:
        await engine(task.batch()).facts.set("global", "dropped", 1)
        await engine(task.batch()).facts.set("global", "kept", 1)
        await task.complete("x")
    assert [fact.key for fact in await Facts(core).list("global")] == ["kept"]


async def test_an_append_already_done_under_its_key_does_not_stop_the_step(core: Core, tasks: Tasks) -> None:
    await Threads(core).create("global", id="log")
    await Threads(core).append("log", "did a", key="a")
    async with tasks.run("t") as task:
        batch = task.batch()
        await engine(batch).threads.append("log", "did a", key="a")
        await engine(batch).facts.set("global", "a", 1)
        await task.complete("a")
    checkpoint = await tasks.resume("t")
    assert checkpoint is not None and checkpoint.completed_subtasks == ("a",)
    assert len(await Threads(core).recent("log")) == 1
    assert await Facts(core).get("global", "a") is not None


async def test_a_second_worker_is_refused_until_the_lease_ends(core: Core, tasks: Tasks, clock: FakeClock) -> None:
    first = tasks.run("t", lease=60)
    await first.__aenter__()
    with pytest.raises(LeaseLost, match="another worker"):
        await Tasks(core).run("t").__aenter__()
    with pytest.raises(LeaseLost, match="holds the lease"):
        await Tasks(core).save(Checkpoint(task_id="t"))
    clock.advance(60)
    async with Tasks(core).run("t") as second:
        assert second.fence == 2


async def test_a_worker_that_lost_its_lease_writes_nothing(core: Core, tasks: Tasks, clock: FakeClock) -> None:
    stale = tasks.run("t", lease=60, state=["start"])
    await stale.__aenter__()
    await stale.complete("a", ["stale was here"])
    clock.advance(61)
    async with Tasks(core).run("t") as task:
        await task.complete("b", ["new"])
        await stale_writes(core, stale)
        clock.advance(-30)  # its own clock may even say that the lease is still running
        await stale_writes(core, stale)
        clock.advance(30)
    checkpoint = await tasks.resume("t")
    assert checkpoint is not None and (checkpoint.state, checkpoint.completed_subtasks) == (["new"], ("a", "b"))
    assert await Facts(core).get("global", "stale") is None


async def stale_writes(core: Core, stale: Any) -> None:
    batch = stale.batch()
    await engine(batch).facts.set("global", "stale", 1)
    for write in (stale.complete("c", ["no"]), stale.checkpoint(["no"]), stale.heartbeat()):
        with pytest.raises(LeaseLost, match="nothing was written"):
            await write


async def test_a_worker_past_its_lease_writes_nothing_even_if_no_one_took_over(tasks: Tasks, clock: FakeClock) -> None:
    with pytest.raises(LeaseLost, match="lease has ended"):
        async with tasks.run("t", lease=60) as task:
            clock.advance(61)
            await task.complete("a")
    assert (await tasks.history("t")) == []


async def test_a_heartbeat_and_every_save_renew_the_lease(tasks: Tasks, clock: FakeClock) -> None:
    async with tasks.run("t", lease=60) as task:
        for _ in range(5):
            clock.advance(50)
            await task.heartbeat()
            clock.advance(50)
            await task.complete(str(clock()))


async def test_a_waiting_worker_takes_over_when_the_lease_ends(core: Core, tasks: Tasks, clock: FakeClock) -> None:
    await tasks.run("t", lease=10).__aenter__()

    async def sleep(seconds: float) -> None:
        clock.advance(seconds)

    core.runtime.sleep = sleep  # type: ignore[method-assign]  # time passes only here
    with pytest.raises(LeaseLost):
        await Tasks(core).run("t", wait=5).__aenter__()
    async with Tasks(core).run("t", wait=20) as task:
        assert task.fence == 2


async def test_an_error_lets_go_of_the_lease_at_once(core: Core, tasks: Tasks) -> None:
    with pytest.raises(ZeroDivisionError):
        async with tasks.run("t"):
            raise ZeroDivisionError
    checkpoint = await tasks.resume("t")
    assert checkpoint is not None and checkpoint.status == "failed"
    async with Tasks(core).run("t"):
        pass


async def test_deltas_give_every_step_back(tasks: Tasks) -> None:
    states = []
    async with tasks.run("t", state={"log": [], "n": 0}) as task:
        for number in range(120):
            task.state["log"].append({"i": number, "text": "x" * (number % 13)})
            task.state["n"] = number
            states.append({"log": list(task.state["log"]), "n": number})
            await task.complete(number)
    past = await tasks.history("t", 200)
    assert [point.state for point in past[:120]] == states
    assert [len(point.completed_subtasks) for point in past[:120]] == list(range(1, 121))


async def test_update_and_extend_save_the_same_as_a_whole_state(tasks: Tasks) -> None:
    async with tasks.run("t", state={"log": [], "n": 0, "inner": {"a": 1}}) as task:
        await task.checkpoint()
        await task.complete("a", extend={"log": [{"x": 1}]}, update={"n": 1})
        await task.complete("b", extend={"log": [2, 3]})
        await task.complete("c", update={"inner": {"a": 2}})
        assert task.state == {"log": [{"x": 1}, 2, 3], "n": 1, "inner": {"a": 2}}
        with pytest.raises(UsageError):
            await task.complete("d", extend={"n": [1]})
        with pytest.raises(UsageError, match="either"):
            await task.complete("d", {"n": 5}, update={"n": 6})
    checkpoint = await tasks.resume("t")
    assert checkpoint is not None and checkpoint.state == {"log": [{"x": 1}, 2, 3], "n": 1, "inner": {"a": 2}}


@pytest.mark.parametrize(("keep", "readable"), [("latest", 1), (5, 5)])
async def test_only_the_kept_steps_stay(core: Core, tasks: Tasks, keep: Any, readable: int) -> None:
    async with tasks.run("t", state={"log": []}, keep=keep) as task:
        for number in range(300):
            await task.complete(number, extend={"log": ["x" * 50]})
    rows = await core.scan(CheckpointStep, "t")
    assert len(rows) < 300
    past = await tasks.history("t", readable)
    assert len(past) == readable and len(past[-1].state["log"]) == 300


@pytest.mark.parametrize(("keep", "times"), [("all", 8), ("latest", 3)])
async def test_steps_take_a_few_times_the_final_state(core: Core, tasks: Tasks, keep: str, times: int) -> None:
    async with tasks.run("t", state={"log": []}, keep=keep) as task:
        for number in range(1000):
            task.state["log"].append({"i": number, "text": "x" * 80})
            await task.complete(number)
    size = (await tasks.list())[0].size
    rows = await core.scan(CheckpointStep, "t")
    assert size > 99_000
    assert sum(len(row.body) + sum(map(len, row.completed)) + 60 for row in rows) < times * size


async def test_a_step_does_not_rewrite_thousands_of_completed_subtasks(core: Core, tasks: Tasks) -> None:
    async with tasks.run("t", keep="latest") as task:
        for number in range(1200):
            await task.complete(f"subtask number {number}")
        sizes = [len(row.completed) for row in await core.scan(CheckpointStep, "t") if not row.snapshot]
    assert set(sizes) == {1}


async def test_a_state_over_the_limit_is_refused_and_the_task_goes_on(tasks: Tasks) -> None:
    async with tasks.run("t", state="small") as task:
        with pytest.raises(TooLarge):
            await task.complete("a", "x" * (5 * 1024 * 1024))
        with pytest.raises(InvalidValue):
            await task.complete("a", {"when": timedelta(1)})
        assert not task.is_complete("a")
        await task.complete("b", "still fine")
    checkpoint = await tasks.resume("t")
    assert checkpoint is not None and (checkpoint.state, checkpoint.completed_subtasks) == ("still fine", ("b",))


async def test_a_change_that_takes_the_state_over_the_limit_is_refused(tasks: Tasks) -> None:
    half = "é" * (MAX_VALUE_BYTES // 4 + 10)
    async with tasks.run("t", state={"a": half}) as task:
        await task.checkpoint()
        with pytest.raises(TooLarge):
            await task.complete("a", update={"b": half})
        assert task.state == {"a": half}
        await task.complete("b", update={"a": "short"})
    checkpoint = await tasks.resume("t")
    assert checkpoint is not None and (checkpoint.state, checkpoint.completed_subtasks) == ({"a": "short"}, ("b",))


async def test_history_reaches_back_over_several_snapshots(core: Core, tasks: Tasks) -> None:
    async with tasks.run("t", state={"log": []}) as task:
        for number in range(300):
            await task.complete(number, extend={"log": ["x" * 50]})
    assert sum(row.snapshot for row in await core.scan(CheckpointStep, "t")) > 2
    past = await tasks.history("t", 290)
    assert [len(point.state["log"]) for point in past] == [*range(12, 301), 300]
    assert [len(point.completed_subtasks) for point in past] == [*range(12, 301), 300]


async def test_missing_steps_are_an_error_and_not_another_state(core: Core, tasks: Tasks) -> None:
    for number in range(3):
        await tasks.save(Checkpoint(task_id="t", state={"n": number}))
    await core.apply(Delete(CheckpointStep, (core.org, "t", 2)))
    with pytest.raises(CorruptRecord):
        await Tasks(core).resume("t")


async def test_history_is_read_again_if_a_save_prunes_it_meanwhile(
    core: Core, tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        await tasks.save(Checkpoint(task_id="t", step=number, state={"n": number}), keep="latest")
    scan, saves = core.store.scan, ["a text needs a snapshot"]

    async def scan_after_a_save(bounds: Any, *, now: int) -> list[Any]:
        if bounds.kind is CheckpointStep and bounds.before and saves:
            await Tasks(core).save(Checkpoint(task_id="t", step=9, state=saves.pop()))
        return await scan(bounds, now=now)

    monkeypatch.setattr(core.store, "scan", scan_after_a_save)
    assert [point.step for point in await tasks.history("t", 1)] == [9] and saves == []


async def test_history_without_the_snapshot_it_needs_is_an_error(core: Core, tasks: Tasks) -> None:
    for number in range(3):
        await tasks.save(Checkpoint(task_id="t", state={"n": number}))
    await core.apply(Delete(CheckpointStep, (core.org, "t", 1)))
    with pytest.raises(CorruptRecord):
        await Tasks(core).history("t", 2)


async def test_a_step_that_was_not_saved_can_be_tried_again(
    core: Core, tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = core.store.apply
    failures = [StoreTimeout("the store did not answer")]

    async def failing_once(changes: Any, *, now: int) -> Any:
        if failures:
            raise failures.pop()
        return await apply(changes, now=now)

    async with tasks.run("t", state={"log": [], "at": 1}) as task:
        await task.checkpoint()
        monkeypatch.setattr(core.store, "apply", failing_once)
        step: dict[str, Any] = {"update": {"at": 2, "new": 3}, "extend": {"log": ["a"]}}
        with pytest.raises(StoreTimeout):
            await task.complete("a", **step)
        assert task.state == {"log": [], "at": 1} and task.completed == ()
        await task.complete("a", **step)
        assert task.state == {"log": ["a"], "at": 2, "new": 3}
    saved = await tasks.resume("t")
    assert saved is not None and saved.state == {"log": ["a"], "at": 2, "new": 3}
    assert saved.completed_subtasks == ("a",)


async def test_the_trail_tells_who_ran_it(core: Core, tasks: Tasks) -> None:
    async with tasks.run("t"):
        pass
    await tasks.delete("t")
    assert [event.action for event in await Audit(core).list(subject="t")] == ["create", "finish", "delete"]


async def test_bad_checkpoints_are_refused(core: Core, tasks: Tasks) -> None:
    for bad in ({}, {"task_id": ""}, {"task_id": "t", "stepp": 1}, {"task_id": "t", "step": "1"}, "t"):
        with pytest.raises(InvalidValue):
            await tasks.save(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="keep"):
        await tasks.save({"task_id": "t"}, keep=0)
    with pytest.raises(UsageError, match="not running"):
        await tasks.run("t").complete("a")
    assert await core.scan(Task) == []


async def test_a_step_whose_effects_fail_is_not_complete(core: Core, tasks: Tasks) -> None:
    await Threads(core).create("global", id="log")
    async with tasks.run("t") as task:
        batch = task.batch()
        await engine(batch).threads.append("log", "did a")
        await Threads(core).delete("log")
        with pytest.raises(NotFound):
            await task.complete("a")
        assert not task.is_complete("a") and list(task.remaining(["a"])) == ["a"]
        task.batch()
        await task.complete("b")
    checkpoint = await tasks.resume("t")
    assert checkpoint is not None and checkpoint.completed_subtasks == ("b",)


async def test_an_id_that_another_user_holds_is_refused_without_trying_again(
    core: Core, ada: Core, tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_sleep(seconds: float) -> None:
        raise AssertionError("tried again")

    await tasks.save({"task_id": "t", "ns": "user:bob", "state": 1})
    monkeypatch.setattr(type(core.runtime), "sleep", lambda self, seconds: no_sleep(seconds))
    with pytest.raises(Conflict, match="choose another id"):
        await Tasks(ada).save({"task_id": "t", "ns": "user:ada"})
    with pytest.raises(Conflict, match="choose another id"):
        async with Tasks(ada).run("t", ns="user:ada"):
            pass
    checkpoint = await tasks.resume("t")
    assert checkpoint is not None and (checkpoint.state, checkpoint.version) == (1, 1)


async def test_a_heartbeat_does_not_depend_on_what_the_batch_has_collected(core: Core, tasks: Tasks) -> None:
    beats = 0
    with pytest.raises(Conflict, match="another namespace"):
        async with tasks.run("import", lease=60) as task:
            await engine(task.batch()).threads.create("user:ada", id="talk")
            await Threads(core).create("user:eve", id="talk")
            await task.heartbeat()
            beats += 1
            await task.checkpoint({"n": 1})
    assert beats == 1
