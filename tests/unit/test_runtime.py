"""The two runtimes do the same, one by blocking and one by awaiting."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from memorist import SuspendedError, UsageError
from memorist.loop_runtime import AsyncRuntime
from memorist.runtime import BlockingRuntime, Failed, Outcome, Runtime, run_blocking


async def _seven() -> int:
    return 7


async def _fails() -> int:
    raise ZeroDivisionError


class _Later:
    """Something that only a loop could finish."""

    def __await__(self) -> Any:
        yield


async def test_call_runs_a_function_and_passes_its_error_on(runtime: Runtime, run: Any) -> None:
    assert await runtime.call(lambda a, b: a + b, 1, 2) == 3
    with pytest.raises(ZeroDivisionError):
        await runtime.call(lambda: 1 // 0)


async def test_gather_keeps_the_order_and_the_first_error(runtime: Runtime, run: Any) -> None:
    assert await runtime.gather([_seven(), _seven()]) == [7, 7]
    with pytest.raises(ZeroDivisionError):
        await runtime.gather([_fails(), _seven()])


async def test_resolve_takes_values_and_coroutines(runtime: Runtime, run: Any) -> None:
    assert await runtime.resolve(7) == 7
    assert await runtime.resolve(_seven()) == 7


async def test_a_lock_lets_one_in_at_a_time(runtime: Runtime, run: Any, together: Any) -> None:
    lock, inside, most = runtime.lock(), 0, 0

    async def enter() -> None:
        nonlocal inside, most
        async with lock:
            inside += 1
            most = max(most, inside)
            await runtime.sleep(0.001)
            inside -= 1

    await together([enter] * 8)
    assert most == 1


async def test_work_in_the_background_can_be_joined(runtime: Runtime, run: Any) -> None:
    runs: list[int] = []

    async def work() -> None:
        await runtime.sleep(0)
        runs.append(1)

    started = runtime.start(work, "work")
    assert await started.join(10) is True
    assert runs == [1]
    assert not started.alive()


def test_a_coroutine_that_suspends_is_refused_and_closed() -> None:
    closed: list[bool] = []

    async def waits() -> None:
        try:
            await _Later()
        finally:
            closed.append(True)

    with pytest.raises(SuspendedError, match="AsyncMemory"):
        run_blocking(waits())
    assert closed == [True]


def test_a_future_cannot_be_resolved_without_a_loop() -> None:
    with pytest.raises(UsageError):
        run_blocking(BlockingRuntime().resolve(_Later()))


def test_blocking_functions_run_off_the_loop_on_one_thread() -> None:
    async def main() -> set[int]:
        runtime = AsyncRuntime()
        idents = await runtime.gather([runtime.call(threading.get_ident) for _ in range(5)])
        await runtime.close()
        return set(idents)

    idents = asyncio.run(main())
    assert len(idents) == 1
    assert threading.get_ident() not in idents


def test_stepping_works_inside_a_running_loop() -> None:
    async def main() -> int:
        return run_blocking(_seven())

    assert asyncio.run(main()) == 7


@pytest.mark.parametrize("make", [AsyncRuntime, BlockingRuntime])
def test_a_runtime_says_which_it_is(make: Callable[[], Runtime]) -> None:
    assert make().blocking is (make is BlockingRuntime)


async def _swallows(seconds: float) -> str:
    """A driver that turns a cancellation into an answer."""
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        return "swallowed"
    return "slept"


@pytest.mark.parametrize("fails", [False, True])
def test_a_cancellation_that_a_driver_swallows_is_raised(fails: bool) -> None:
    async def work() -> None:
        with AsyncRuntime().cancellable():
            await _swallows(60)
            if fails:
                raise OSError("the driver's own error")

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await work()

    asyncio.run(main())


def test_cleaning_up_in_a_cancelled_task_is_not_cancelled_again() -> None:
    async def work() -> str:
        try:
            await asyncio.sleep(60)
        finally:
            with AsyncRuntime().cancellable():
                outcomes.append(await _swallows(0))
        return "never"

    async def main() -> None:
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    outcomes: list[str] = []
    asyncio.run(main())
    assert outcomes == ["slept"]


# Batches


class _Slow:
    """A function for batches that waits until it is let go, and notes what came together."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.go = threading.Event()

    async def begun(self) -> None:
        while not self.batches:  # noqa: ASYNC110  # a thread, which sets no event of this loop
            await asyncio.sleep(0)

    def __call__(self, items: Sequence[int]) -> list[Outcome[int]]:
        self.batches.append(list(items))
        assert self.go.wait(30)
        return [Failed(ZeroDivisionError()) if item == 0 else item * 10 for item in items]


async def test_an_item_gets_its_own_result_or_error(runtime: Runtime, run: Any) -> None:
    slow = _Slow()
    slow.go.set()
    add = runtime.batched(slow)
    assert await add(7) == 70
    with pytest.raises(ZeroDivisionError):
        await add(0)


def test_what_comes_while_the_worker_is_busy_goes_together() -> None:
    slow, runtime = _Slow(), AsyncRuntime()

    async def main() -> list[Any]:
        add = runtime.batched(slow)
        tasks = [asyncio.create_task(_awaited(add(item))) for item in (1, 2, 0, 3)]
        await slow.begun()
        slow.go.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, second, third, fourth = asyncio.run(main())
    assert (first, second, fourth) == (10, 20, 30) and isinstance(third, ZeroDivisionError)
    assert slow.batches == [[1], [2, 0, 3]]


def test_what_was_cancelled_while_it_waited_is_not_begun() -> None:
    slow, runtime = _Slow(), AsyncRuntime()

    async def main() -> None:
        add = runtime.batched(slow)
        tasks = [asyncio.create_task(_awaited(add(item))) for item in (1, 2, 3)]
        await slow.begun()
        tasks[0].cancel()  # on its way: finished, unheard
        tasks[1].cancel()  # waiting: dropped
        slow.go.set()
        assert await tasks[2] == 30
        assert [task.cancelled() for task in tasks] == [True, True, False]

    asyncio.run(main())
    assert slow.batches == [[1], [3]]


def test_each_loop_has_its_own_queue() -> None:
    slow, runtime = _Slow(), AsyncRuntime()
    slow.go.set()
    add = runtime.batched(slow)
    for item in (1, 2):  # the first loop is closed by the time of the second
        assert asyncio.run(_awaited(add(item))) == item * 10


def test_a_function_that_breaks_fails_every_item_and_the_next_batch_runs() -> None:
    broken = [True]

    def function(items: Sequence[int]) -> list[Outcome[int]]:
        if broken.pop():
            raise RuntimeError("broken")
        return list(items)

    async def main() -> None:
        add = AsyncRuntime().batched(function)
        broken[:] = [False, True]
        with pytest.raises(RuntimeError, match="broken"):
            await add(1)
        assert await add(2) == 2

    asyncio.run(main())


def test_brief_calls_let_other_tasks_run() -> None:
    async def main() -> int:
        runtime, turns = AsyncRuntime(), 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        beside = asyncio.create_task(other())
        for _ in range(160):
            await runtime.brief(int)
        beside.cancel()
        return turns

    assert asyncio.run(main()) >= 9


@pytest.mark.parametrize("how", ["call", "batched"])
def test_a_brief_call_after_a_cancelled_one_comes_after_it(how: str) -> None:
    began, go, written = threading.Event(), threading.Event(), list[int]()

    def write(items: Sequence[int]) -> list[Outcome[None]]:
        began.set()
        assert go.wait(30)
        written.extend(items)
        return [None] * len(items)

    async def main() -> None:
        runtime = AsyncRuntime()
        work = runtime.call(write, [1]) if how == "call" else runtime.batched(write)(1)
        writing = asyncio.create_task(_awaited(work))
        while not began.is_set():  # noqa: ASYNC110  # a thread, which sets no event of this loop
            await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        reading = asyncio.create_task(runtime.brief(lambda: list(written)))
        await asyncio.sleep(0)
        go.set()
        assert await reading == [1]
        assert await runtime.brief(threading.current_thread) is threading.main_thread()

    asyncio.run(main())


async def _awaited(work: Any) -> Any:
    return await work
