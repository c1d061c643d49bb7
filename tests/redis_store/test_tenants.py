"""Random work in orgs whose names lie as close as names can: nobody reads, writes or learns of another."""

import os
import random
from typing import Any

import pytest

from memorist.errors import MemoristError
from memorist.messages.message import Message
from memorist.records import Fact, StateEntry, Thread
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Append, Delete, DeleteRange, Increment, Put, Scan, Store
from memorist.stores.memory import MemoryStore
from memorist.stores.redis import RedisStore
from memorist.stores.redis.keys import base_of
from memorist_testing.samples import ADVERSARIAL, NOW, WHEN, entry, fact, message, thread
from tests.servers.redis import RedisCluster, RedisServer

OPERATIONS = int(os.environ.get("MEMORIST_TENANT_OPERATIONS", "4000"))


def work(store: Store, orgs: list[str], seed: int, count: int) -> int:
    """Do random work beside one reference store per org; the number of rows that were looked at."""
    rng = random.Random(seed)
    own = {org: MemoryStore() for org in orgs}
    row_count = 0
    for number in range(count):
        org, name, other = rng.choice(orgs), rng.choice(ADVERSARIAL), rng.choice(ADVERSARIAL)
        operation = _operation(rng, org, name, other, f"{number} of {org}")
        expected, answered = _outcome(own[org], operation), _outcome(store, operation)
        assert answered == expected, f"operation {number}"
        for row in answered if isinstance(answered, list) else [answered]:
            if isinstance(row, Fact | StateEntry | Thread | Message):
                assert row.org == org
                row_count += 1
    for org in orgs:
        for kind in (Fact, StateEntry, Thread, Message):
            rows: Any = run_blocking(store.scan(Scan(kind, (org,)), now=NOW))  # type: ignore[type-var]
            assert rows == run_blocking(own[org].scan(Scan(kind, (org,)), now=NOW))  # type: ignore[type-var]
    return row_count


def _operation(rng: random.Random, org: str, name: str, other: str, value: str) -> Any:
    talk = Append(org, name, (message(org, value, thread=name),), WHEN, rng.choice([None, other]))
    choices: list[Any] = [
        lambda s: s.apply([Put(fact(org, name, value, ns=other)), Put(entry(org, name, value, ns=other))], now=NOW),
        lambda s: s.apply([Put(thread(org, name, ns=other), absent=True), talk], now=NOW),
        lambda s: s.apply([Increment(entry(org, name, ns="count"))], now=NOW),
        lambda s: s.get(Fact, (org, other, name), now=NOW),
        lambda s: s.get_many(StateEntry, [(org, other, name), (org, name, other)], now=NOW),
        lambda s: s.scan(Scan(Fact, (org, other)), now=NOW),
        lambda s: s.scan(Scan(StateEntry, (org,), limit=5), now=NOW),
        lambda s: s.scan(Scan(StateEntry, (org, other), starts=name), now=NOW),
        lambda s: s.scan(Scan(Thread, (org, other), index="by_ns"), now=NOW),
        lambda s: s.scan(Scan(Message, (org, name), reverse=True, limit=3), now=NOW),
        lambda s: s.apply([Delete(Fact, (org, other, name))], now=NOW),
        lambda s: s.apply([DeleteRange(StateEntry, (org, other))], now=NOW),
    ]
    return rng.choice(choices)


def _outcome(store: Store, operation: Any) -> Any:
    try:
        return run_blocking(operation(store))
    except MemoristError as error:
        return type(error).__name__


@pytest.mark.parametrize("cluster", [False, True], ids=["standalone", "cluster"])
def test_no_row_of_one_org_is_ever_seen_in_another(
    cluster: bool, redis_server: RedisServer, redis_cluster: RedisCluster, org: str
) -> None:
    url = redis_cluster.url if cluster else redis_server.url
    store = RedisStore(url, runtime=BlockingRuntime(), on_risk="ignore")
    orgs = [org, *(f"{org}{odd}" for odd in ADVERSARIAL[:60]), *(f"{odd}{org}" for odd in ADVERSARIAL[:20])]
    assert work(store, orgs, 11, OPERATIONS) > OPERATIONS // 20
    run_blocking(store.close())


def test_the_harness_sees_a_store_that_mixes_orgs(
    redis_server: RedisServer, org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.stores.redis.store.base_of", lambda org: base_of(org.casefold()))
    store = RedisStore(redis_server.url, runtime=BlockingRuntime(), on_risk="ignore")
    with pytest.raises(AssertionError):
        work(store, [f"{org}a", f"{org}A"], 11, OPERATIONS)
    run_blocking(store.close())
