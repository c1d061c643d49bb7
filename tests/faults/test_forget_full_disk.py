"""Forgetting on a full disk: the rows go at once, the bytes as soon as there is room to rewrite the file."""

import contextlib
from pathlib import Path

import pytest

from memorist import Memory, StoreError
from memorist.records import Job, Watermark
from memorist.runtime import run_blocking
from memorist.stores.base import Delete, Put
from tests.faults.test_full_disk import _open
from tests.faults.test_full_disk import small_disk as small_disk

MARK = "canary-on-a-full-disk"


def _fill(memory: Memory) -> None:
    """Write until nothing more fits, down to the smallest row."""
    for size in (20_000, 2_000, 10):
        with pytest.raises(StoreError, match="disk is full"):
            while True:
                memory.threads.append("rest", "x" * size)


@pytest.mark.parametrize("what", ["user", "thread", "fact"])
def test_forgetting_works_on_a_full_disk(small_disk: Path, what: str) -> None:
    path = small_disk / "memory.db"
    with _open(path) as memory:
        for thread in ("talk", "rest"):
            memory.threads.create("user:ada" if thread == "talk" else "global", id=thread)
        memory.threads.append("talk", MARK)
        memory.facts.set("user:ada", "home", MARK, source="talk#1")
        memory.facts.set("global", "heard", MARK, source="talk#1")
        _fill(memory)
        named = {"user": "ada", "thread": "talk", "fact": "user:ada/home"}[what]
        erasure = memory.forget(**{what: named})
        assert erasure.counts["facts"] >= 1
        assert memory.facts.get("user:ada", "home") is None
        if what != "fact":
            assert memory.facts.get("global", "heard") is None
            assert memory.threads.get("talk") is None
        assert run_blocking(memory._core.scan(Job, "forget")) == []


def test_bytes_that_could_not_go_for_lack_of_room_go_when_there_is_some(small_disk: Path) -> None:
    path, other = small_disk / "memory.db", small_disk / "other"
    other.write_bytes(bytes(4 << 20))
    with _open(path) as memory:
        memory.threads.create("user:ada", id="talk")
        memory.threads.create("global", id="rest")
        memory.threads.append("talk", MARK)
        _fill(memory)
        try:
            memory.forget(user="ada", physical=True)
        except StoreError:
            other.unlink()
            memory.forget(source="anything")
        assert memory.threads.get("talk") is None
    marked_files = [file.name for file in small_disk.iterdir() if MARK.encode() in file.read_bytes()]
    assert marked_files == []


def test_the_space_kept_for_deleting_is_not_spent_by_ordinary_work(small_disk: Path) -> None:
    path = small_disk / "memory.db"
    with _open(path) as memory:
        for thread in ("talk", "rest", "empty"):
            memory.threads.create("user:ada" if thread == "talk" else "global", id=thread)
        memory.threads.append("talk", MARK)
        core = memory._core
        _fill(memory)
        at = core.at()
        for number in range(200):
            # What a worker commits when it is done with a job that yielded nothing.
            item = f"thread:{number}"
            mark = Watermark(org=core.org, name="derive", item=item, position=1, updated_at=at)
            job = Job(org=core.org, queue="derive", ns="global", item=item, run_at=at, created_at=at, updated_at=at)
            with contextlib.suppress(StoreError):
                run_blocking(core.apply(Delete(Job, job.row_key), Put(mark)))
        assert path.with_name("memory.db-ballast").exists()
        assert memory.forget(user="ada").counts["messages"] == 1
