"""Two worker processes, one of them killed again and again: each derived row is there once, none is missing."""

from __future__ import annotations

import os
from typing import Any

import pytest

from memorist import Memory
from memorist.engine.index_jobs import index_job
from memorist.records import Derivation, Thread
from memorist.runtime import run_blocking
from memorist.stores.base import Delete, Put

from .killing import count, prepare, start_worker, work_and_kill

SOAK = os.environ.get("MEMORIST_SOAK") == "1"
THREADS, KILLS = (500, 60) if SOAK else (30, 3)
"""Each thread comes to four jobs: to index it, to derive from it, and to index the fact and the learning."""


@pytest.mark.parametrize("name", ["sqlite", "postgres", "redis", "cluster", "tiered"])
def test_each_derived_row_is_there_exactly_once(
    name: str, request: pytest.FixtureRequest, tmp_path: Any, org: str
) -> None:
    servers = {"postgres": "postgres_server", "redis": "redis_server", "cluster": "redis_cluster"}
    file = str(tmp_path / "memory.db")
    url = request.getfixturevalue(servers[name]).url if name in servers else file
    hot = request.getfixturevalue("redis_server").url if name == "tiered" else None
    with Memory(url, hot=hot, org=org, embedder=None, worker=False) as memory:
        prepare(memory, THREADS)
        killed = work_and_kill(
            memory,
            lambda: start_worker(url, hot, org, lease=2),
            every=1.0 if SOAK else 0.0,
            kills=KILLS,
            seconds=3600 if SOAK else 240,
        )
        assert memory.jobs.dead() == []
        counts = count(memory, THREADS)
        assert (counts["twice"], counts["missing"]) == (0, 0), counts
        assert killed >= 1


def test_the_count_sees_what_was_derived_twice(tmp_path: Any) -> None:
    """The planted bug: a worker that does not move the mark."""
    with Memory(tmp_path / "memory.db", embedder=None, worker=False) as memory:
        prepare(memory, 3)
        memory.process("facts", "reindex")
        assert count(memory, 3)["twice"] == 0
        core = memory._core
        for mark in run_blocking(core.scan(Derivation)):
            at = mark.updated_at
            ns = run_blocking(core.get(Thread, mark.thread)).ns  # type: ignore[union-attr]
            job = index_job(core.org, ns, f"thread:{mark.thread}", at, "derive")
            run_blocking(core.apply(Delete(Derivation, mark.row_key), Put(job)))
        memory.process("facts", "reindex")
        assert count(memory, 3)["twice"] > 0
