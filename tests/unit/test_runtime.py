"""The two runtimes do the same, one by blocking and one by awaiting."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from recollect import SuspendedError, UsageError
from recollect.loop_runtime import AsyncRuntime
from recollect.runtime import BlockingRuntime, Runtime, run_blocking


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
    done: list[int] = []

    async def work() -> None:
        await runtime.sleep(0)
        done.append(1)

    started = runtime.start(work, "work")
    assert await started.join(10) is True
    assert done == [1]
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
                done.append(await _swallows(0))
        return "never"

    async def main() -> None:
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    done: list[str] = []
    asyncio.run(main())
    assert done == ["slept"]
