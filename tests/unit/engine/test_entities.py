"""The entity cache: one load for all who ask, and nothing cached that should not be."""

import asyncio
import threading
import time
from typing import Any

import pytest

from memorist.engine.core import Core
from memorist.engine.entities import Entities
from memorist.errors import InvalidValue, UsageError
from memorist.records import CachedEntity
from memorist.stores.base import Put
from memorist.testing import FakeClock
from memorist_testing.plugin import Together


class Shelf:
    """Someone else's records, and how often they were read."""

    def __init__(self, **rows: Any) -> None:
        self.rows = rows
        self.loads = 0

    def __call__(self, id: str) -> Any:
        self.loads += 1
        return self.rows.get(id)


async def test_an_entity_is_loaded_once_and_then_served(core: Core) -> None:
    shelf, entities = Shelf(a={"name": "Ada"}), Entities(core)
    assert [await entities.get("customer", "a", shelf) for _ in range(3)] == [{"name": "Ada"}] * 3
    stats = entities.stats()
    assert (shelf.loads, stats.hits, stats.misses, stats.loads) == (1, 2, 1, 1)


async def test_it_is_loaded_again_after_its_time(core: Core, clock: FakeClock) -> None:
    shelf, entities = Shelf(a=1), Entities(core)
    await entities.get("customer", "a", shelf)
    clock.advance(3599)
    await entities.get("customer", "a", shelf)
    assert shelf.loads == 1
    clock.advance(1)
    await entities.get("customer", "a", shelf)
    assert shelf.loads == 2


async def test_not_found_is_kept_for_half_a_minute(core: Core, clock: FakeClock) -> None:
    shelf, entities = Shelf(), Entities(core)
    assert await entities.get("customer", "a", shelf) is None
    clock.advance(29)
    assert await entities.get("customer", "a", shelf) is None
    assert shelf.loads == 1
    shelf.rows["a"] = "now there"
    clock.advance(1)
    assert await entities.get("customer", "a", shelf) == "now there"


async def test_a_failing_loader_propagates_and_caches_nothing(core: Core) -> None:
    entities = Entities(core)

    def broken(id: str) -> Any:
        raise ConnectionError("the other side is down")

    with pytest.raises(ConnectionError, match="other side"):
        await entities.get("customer", "a", broken)
    assert await core.get(CachedEntity, "customer", "a") is None
    assert await entities.get("customer", "a", Shelf(a=1)) == 1
    assert entities.stats().failures == 1


async def test_a_value_that_is_not_json_is_refused_and_not_cached(core: Core) -> None:
    with pytest.raises(InvalidValue, match="entity"):
        await Entities(core).get("customer", "a", lambda id: object())
    assert await core.get(CachedEntity, "customer", "a") is None


async def test_registered_loaders_serve_their_type_in_their_org(core: Core) -> None:
    entities = Entities(core)
    entities.register("customer", Shelf(a=1), ttl=60)
    assert await entities.get("customer", "a") == 1
    other = core.narrowed(core.scope.narrow(org="other"))
    with pytest.raises(UsageError, match="no loader"):
        await Entities(other).get("customer", "a")


async def test_invalidating_by_id_and_by_type(core: Core) -> None:
    shelf, entities = Shelf(a=1, b=2), Entities(core)
    for id in ("a", "b"):
        await entities.get("customer", id, shelf)
        await entities.get("order", id, shelf)
    assert await entities.invalidate("customer", "a") == 1
    assert await entities.invalidate("customer", "a") == 0
    assert await entities.invalidate("order") == 2
    await entities.get("customer", "b", shelf)
    assert shelf.loads == 4
    await entities.get("customer", "a", shelf)
    assert shelf.loads == 5


async def test_what_was_invalidated_while_loading_is_not_cached(core: Core) -> None:
    entities = Entities(core)

    async def slow(id: str) -> Any:
        await entities.invalidate("customer", id)
        return "read before the change"

    assert await entities.get("customer", "a", slow) == "read before the change"
    assert await core.get(CachedEntity, "customer", "a") is None


async def test_two_hundred_concurrent_callers_share_one_load(core: Core, together: Together) -> None:
    loads = []

    async def slow_async(id: str) -> Any:
        loads.append(id)
        await core.runtime.sleep(0.01)
        return {"id": id}

    entities = Entities(core)
    answers = await together([lambda: entities.get("customer", "a", slow_async)] * 200)
    assert answers == [{"id": "a"}] * 200
    assert loads == ["a"]


async def test_concurrent_callers_share_one_failure(core: Core) -> None:
    loads = []
    gate = threading.Event()

    def broken(id: str) -> Any:
        loads.append(id)
        gate.wait(5)
        raise ConnectionError("down")

    entities = Entities(core)
    results = await _at_once(core, entities, broken, gate, 8)
    assert [type(result) for result in results] == [ConnectionError] * 8
    assert loads == ["a"]


async def _at_once(core: Core, entities: Entities, load: Any, gate: threading.Event, callers: int) -> list[Any]:
    """All callers ask before the load ends."""
    from memorist.runtime import run_blocking

    async def ask() -> Any:
        try:
            return await entities.get("customer", "a", load)
        except ConnectionError as error:
            return error

    def waiting() -> int:
        return sum(users for _, users in core.shared.entity_locks._held.values())

    if core.runtime.blocking:
        results: list[Any] = []
        threads = [threading.Thread(target=lambda: results.append(run_blocking(ask()))) for _ in range(callers)]
        for thread in threads:
            thread.start()
        while waiting() < callers:
            time.sleep(0.001)  # noqa: ASYNC251  # stepped: there is no loop here
        gate.set()
        for thread in threads:
            thread.join()
        return results
    tasks = [asyncio.ensure_future(ask()) for _ in range(callers)]
    while waiting() < callers:  # noqa: ASYNC110  # what is awaited has no event to wait for
        await asyncio.sleep(0.001)
    gate.set()
    return list(await asyncio.gather(*tasks))


async def test_a_slow_loader_does_not_stall_the_store(core: Core) -> None:
    if core.runtime.blocking:
        return
    gate = threading.Event()

    def slow(id: str) -> Any:
        gate.wait(5)
        return "late"

    waiting = asyncio.ensure_future(Entities(core).get("customer", "a", slow))
    await asyncio.sleep(0)
    assert await Entities(core).get("customer", "b", lambda id: "at once") == "at once"
    gate.set()
    assert await waiting == "late"


async def test_another_process_that_loads_is_waited_for(core: Core, clock: FakeClock) -> None:
    await core.apply(Put(_leased(core, clock, seconds=30)))
    shelf = Shelf(a="ours")
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            theirs = _leased(core, clock, seconds=30)
            await core.apply(Put(_loaded(theirs, "theirs", clock)))

    core.runtime.sleep = sleep  # type: ignore[method-assign]  # what the other process does meanwhile
    assert await Entities(core).get("customer", "a", shelf) == "theirs"
    assert shelf.loads == 0


async def test_a_load_whose_process_died_is_taken_over_when_its_lease_ends(core: Core, clock: FakeClock) -> None:
    await core.apply(Put(_leased(core, clock, seconds=30)))
    clock.advance(29.9)

    async def sleep(seconds: float) -> None:
        clock.advance(seconds)

    core.runtime.sleep = sleep  # type: ignore[method-assign]  # time passes only here
    shelf = Shelf(a="ours")
    assert await Entities(core).get("customer", "a", shelf) == "ours"
    assert shelf.loads == 1


async def test_a_stale_value_is_served_while_it_is_loaded_again(core: Core, clock: FakeClock) -> None:
    shelf, entities = Shelf(a="old"), Entities(core)
    await entities.get("customer", "a", shelf, ttl=60, stale=600)
    shelf.rows["a"] = "new"
    clock.advance(61)
    started: list[Any] = []
    core.runtime.start = lambda work, name: started.append(work)  # type: ignore[method-assign, assignment]
    assert await entities.get("customer", "a", shelf, ttl=60, stale=600) == "old"
    assert shelf.loads == 1
    for work in started:
        await work()
    assert await entities.get("customer", "a", shelf) == "new"
    assert entities.stats().stale == 1


async def test_too_old_is_never_served(core: Core, clock: FakeClock) -> None:
    shelf, entities = Shelf(a="old"), Entities(core)
    await entities.get("customer", "a", shelf, ttl=60, stale=600)
    shelf.rows["a"] = "new"
    clock.advance(661)
    assert await entities.get("customer", "a", shelf, ttl=60, stale=600) == "new"


async def test_stale_is_served_only_if_asked(core: Core, clock: FakeClock) -> None:
    shelf, entities = Shelf(a="old"), Entities(core)
    await entities.get("customer", "a", shelf, ttl=60, stale=600)
    shelf.rows["a"] = "new"
    clock.advance(61)
    assert await entities.get("customer", "a", shelf) == "new"


def _leased(core: Core, clock: FakeClock, seconds: float) -> CachedEntity:
    from datetime import timedelta

    until = clock() + timedelta(seconds=seconds)
    return CachedEntity(
        org=core.org,
        type="customer",
        id="a",
        status="loading",
        fresh_until=clock(),
        owner="another process",
        leased_until=until,
        created_at=clock(),
        updated_at=clock(),
        expires_at=until + timedelta(seconds=60),
    )


def _loaded(row: CachedEntity, value: Any, clock: FakeClock) -> CachedEntity:
    import msgspec

    return msgspec.structs.replace(
        row, status="found", value=value, owner=None, leased_until=None, fresh_until=row.expires_at
    )
