"""Tests claims. Each job is leased to one worker at a time, and jobs are leased in the order in which they are due."""

from __future__ import annotations

from typing import cast

import msgspec
import pytest

from memorist.ports import to_datetime
from memorist.records import Job
from memorist.stores.base import Claims, Expect, Put, Store

from ..plugin import Together
from ..samples import ADVERSARIAL, NOW, SECOND, entry, job, later

LEASE_MICROSECONDS = 30 * SECOND


class ClaimTests:
    """Claiming."""

    @pytest.fixture
    def claims(self, store: Store) -> Claims:
        """Return the store as a `Claims`."""
        assert isinstance(store, Claims)
        return store

    @pytest.fixture
    def queue(self, org: str) -> str:
        """Return a queue that only this test uses, because claiming works across orgs."""
        return f"queue-{org}"

    async def test_a_claimed_job_is_leased_counted_and_versioned(self, claims: Claims, org: str, queue: str) -> None:
        await _add(claims, job(org, queue=queue, payload={"a": [1]}))
        [claimed] = await claims.claim(queue, owner="w1", now=NOW + 5, lease=LEASE_MICROSECONDS)
        assert (claimed.item, claimed.status, claimed.owner, claimed.attempts) == ("i", "running", "w1", 1)
        assert (claimed.leased_until, claimed.updated_at) == (
            to_datetime(NOW + 5 + LEASE_MICROSECONDS),
            to_datetime(NOW + 5),
        )
        assert (claimed.version, claimed.payload) == (2, {"a": [1]})
        assert await _store(claims).get(Job, claimed.row_key, now=NOW) == claimed

    async def test_a_leased_job_is_nobody_elses(self, claims: Claims, org: str, queue: str) -> None:
        await _add(claims, job(org, queue=queue))
        assert len(await claims.claim(queue, owner="w1", now=NOW, lease=LEASE_MICROSECONDS)) == 1
        assert await claims.claim(queue, owner="w2", now=NOW + LEASE_MICROSECONDS - 1, lease=LEASE_MICROSECONDS) == []

    async def test_a_lease_that_ran_out_frees_its_job(self, claims: Claims, org: str, queue: str) -> None:
        await _add(claims, job(org, queue=queue))
        await claims.claim(queue, owner="w1", now=NOW, lease=LEASE_MICROSECONDS)
        [again] = await claims.claim(queue, owner="w2", now=NOW + LEASE_MICROSECONDS, lease=LEASE_MICROSECONDS)
        assert (again.owner, again.attempts, again.version) == ("w2", 2, 3)

    async def test_a_job_is_not_handed_out_before_its_time(self, claims: Claims, org: str, queue: str) -> None:
        await _add(claims, job(org, queue=queue, run_at=later(60)))
        assert await claims.claim(queue, owner="w", now=NOW + 60 * SECOND - 1, lease=LEASE_MICROSECONDS) == []
        assert len(await claims.claim(queue, owner="w", now=NOW + 60 * SECOND, lease=LEASE_MICROSECONDS)) == 1

    async def test_the_job_due_first_comes_first(self, claims: Claims, org: str, queue: str) -> None:
        times = {"c": -1, "a": -3, "d": -2, "b": -3, "e": 5}
        await _add(claims, *(job(org, item, queue=queue, run_at=later(t)) for item, t in times.items()))
        claimed = await claims.claim(queue, owner="w", now=NOW, lease=LEASE_MICROSECONDS, limit=3)
        assert [item.item for item in claimed] == ["a", "b", "d"]
        claimed = await claims.claim(queue, owner="w", now=NOW, lease=LEASE_MICROSECONDS, limit=3)
        assert [item.item for item in claimed] == ["c"]

    async def test_other_queues_and_ended_jobs_are_left_alone(self, claims: Claims, org: str, queue: str) -> None:
        await _add(
            claims,
            job(org, "x", queue=f"{queue}2"),
            job(org, "y", queue=queue, status="dead"),
            job(org, "z", queue=queue, status="done"),
        )
        assert await claims.claim(queue, owner="w", now=NOW, lease=LEASE_MICROSECONDS, limit=9) == []

    async def test_claiming_can_be_kept_to_one_org(self, claims: Claims, org: str, queue: str) -> None:
        other = f"{org}:x"
        await _add(claims, job(org, queue=queue))
        await _add(claims, job(other, queue=queue))
        [claimed] = await claims.claim(queue, owner="w", now=NOW, lease=LEASE_MICROSECONDS, limit=9, org=other)
        assert claimed.org == other
        [rest] = await claims.claim(queue, owner="w", now=NOW, lease=LEASE_MICROSECONDS, limit=9)
        assert rest.org == org

    async def test_a_job_put_back_is_handed_out_again(self, claims: Claims, org: str, queue: str) -> None:
        await _add(claims, job(org, queue=queue))
        [claimed] = await claims.claim(queue, owner="w1", now=NOW, lease=LEASE_MICROSECONDS)
        freed = msgspec.structs.replace(claimed, status="ready", owner=None, leased_until=None, run_at=later(10))
        await _store(claims).apply([Expect(Job, claimed.row_key, claimed.version), Put(freed)], now=NOW)
        assert await claims.claim(queue, owner="w2", now=NOW, lease=LEASE_MICROSECONDS) == []
        [again] = await claims.claim(queue, owner="w2", now=NOW + 10 * SECOND, lease=LEASE_MICROSECONDS)
        assert (again.attempts, again.version) == (2, 4)

    async def test_many_workers_share_the_jobs_without_overlap(
        self, claims: Claims, org: str, queue: str, together: Together
    ) -> None:
        await _add(claims, *(job(org, f"{i:03}", queue=queue) for i in range(60)))

        async def worker() -> list[str]:
            items: list[str] = []
            while jobs := await claims.claim(queue, owner="w", now=NOW, lease=LEASE_MICROSECONDS, limit=3):
                items.extend(item.item for item in jobs)
            return items

        shares = await together([worker] * 8)
        assert sorted(item for share in shares for item in share) == [f"{i:03}" for i in range(60)]

    async def test_orgs_with_rows_are_listed(self, claims: Claims, org: str, queue: str) -> None:
        names = [f"{org}{odd}" for odd in ADVERSARIAL[:40]]
        for name in names:
            await _store(claims).apply([Put(entry(name))], now=NOW)
        listed = await claims.orgs()
        assert set(names) <= set(listed)
        assert listed == sorted(set(listed))


def _store(claims: Claims) -> Store:
    return cast(Store, claims)


async def _add(claims: Claims, *jobs: Job) -> None:
    await _store(claims).apply([Put(item) for item in jobs], now=NOW)
