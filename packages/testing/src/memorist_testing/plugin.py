"""Implements a pytest plugin that runs `async def` tests twice, awaited on an event loop and stepped without one. A
test that uses the fixture `runtime` or `run`, directly or indirectly, runs both ways. Any other `async def` test is
awaited.
"""

from __future__ import annotations

import asyncio
import inspect
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from memorist.loop_runtime import AsyncRuntime
from memorist.runtime import BlockingRuntime, Runtime, run_blocking
from memorist.testing.clock import FakeClock

pytest.register_assert_rewrite(
    "memorist_testing.stores",
    "memorist_testing.memories",
    "memorist_testing.suite",
    "memorist_testing.properties",
)

Run = Callable[[Coroutine[Any, Any, Any]], Any]
Work = Callable[[], Coroutine[Any, Any, Any]]
Together = Callable[[Sequence[Work]], Awaitable[list[Any]]]
WORKERS = 8


@pytest.fixture(params=["awaited", "stepped"])
def runtime(request: pytest.FixtureRequest) -> Runtime:
    """Return the runtime of the store or memory under test."""
    return AsyncRuntime() if request.param == "awaited" else BlockingRuntime()


@pytest.fixture
def run(runtime: Runtime) -> Iterator[Run]:
    """Return a function that runs a coroutine to completion, awaited or stepped."""
    if runtime.blocking:
        yield run_blocking
        run_blocking(runtime.close())
        return
    with asyncio.Runner() as runner:
        yield runner.run
        runner.run(runtime.close())


@pytest.fixture
def together(runtime: Runtime) -> Together:
    """Return a function that runs several coroutines at once, as tasks when awaited and on threads when stepped."""

    async def awaited(works: Sequence[Work]) -> list[Any]:
        return list(await asyncio.gather(*(work() for work in works)))

    async def stepped(works: Sequence[Work]) -> list[Any]:
        with ThreadPoolExecutor(WORKERS) as pool:
            return list(pool.map(lambda work: run_blocking(work()), works))

    return stepped if runtime.blocking else awaited


@pytest.fixture
def clock() -> FakeClock:
    """Return a clock that moves only when the test moves it."""
    return FakeClock()


@pytest.fixture
def org() -> str:
    """Return a tenant that only this test uses, so that suites can share one server."""
    return f"org-{uuid.uuid4().hex[:12]}"


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an `async def` test with the `run` fixture, or with asyncio.run if it has none."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    parameters = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in parameters if name in pyfuncitem.funcargs}
    run = cast(Run, pyfuncitem.funcargs.get("run", asyncio.run))
    run(pyfuncitem.obj(**arguments))
    return True
