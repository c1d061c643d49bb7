"""A disk that is full: writes fail and say so, what was there stays, deleting works, and room makes all well again."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import apsw
import pytest

from memorist import Memory, StoreError
from tests.faults.clients import SOAK
from tests.faults.disk import Event, watched

TIMES = 200 if SOAK else 5
MEGABYTES = 6


@pytest.fixture(params=["mounted", "modelled"])
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file system of a few megabytes; where none may be mounted, a disk that refuses to grow past as many."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if request.param == "mounted" and _mount(folder):
        yield folder
        subprocess.run(["umount", str(folder)], check=True)
        return
    with watched() as disk:
        disk.before = partial(_refuse_growth, folder)
        yield folder


def _mount(folder: Path) -> bool:
    options = f"size={MEGABYTES}m,uid={os.getuid()},mode=0700"
    command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    return shutil.which("mount") is not None and subprocess.run(command, capture_output=True).returncode == 0


def _refuse_growth(folder: Path, event: Event) -> None:
    if event.kind != "write":
        return
    sizes = {file.name: file.stat().st_size for file in folder.iterdir() if not file.name.endswith("-shm")}
    growth = event.offset + len(event.data) - sizes.get(event.file or "", 0)
    if growth > 0 and sum(sizes.values()) + growth > MEGABYTES << 20:
        raise apsw.FullError


@contextmanager
def _open(path: Path) -> Iterator[Memory]:
    memory = Memory(path, embedder=None, counter="estimate", worker=False)
    yield memory
    # Closing folds the log into the file, for which there is no room; SQLite alone would not mention it.
    with suppress(StoreError):
        memory.close()


def _fill(memory: Memory) -> int:
    """Append until the disk is full; how many were acknowledged."""
    acknowledged = len(memory.threads.messages("t"))
    while True:
        try:
            memory.threads.append("t", f"{acknowledged + 1} " + "x" * 20_000, key=f"k{acknowledged + 1}")
        except StoreError as error:
            assert "disk is full" in str(error)
            return acknowledged
        acknowledged += 1


def _check(memory: Memory, acknowledged: int) -> None:
    messages = memory.threads.messages("t")
    assert [int(message.text.split()[0]) for message in messages] == list(range(1, acknowledged + 1))
    assert [message.seq for message in messages] == list(range(1, acknowledged + 1))


def test_a_full_disk_loses_nothing_and_forgetting_still_works(small_disk: Path) -> None:
    for number in range(TIMES):
        path = small_disk / f"{number}.db"
        with _open(path) as memory:
            memory.threads.create("global", id="t")
            memory.facts.set("user:ada", "home", "Rome")
            acknowledged = _fill(memory)
            _check(memory, acknowledged)
        with _open(path) as memory:
            _check(memory, acknowledged)
            assert memory.facts.delete("user:ada", "home") is True
            assert memory.threads.delete("t") is True
        with _open(path) as memory:
            assert memory.threads.get("t") is None
            assert memory.facts.get("user:ada", "home") is None
        for file in small_disk.iterdir():
            file.unlink()


def test_room_made_by_others_lets_writing_go_on(small_disk: Path) -> None:
    other = small_disk / "other"
    other.write_bytes(bytes(2 << 20))
    with _open(small_disk / "memory.db") as memory:
        memory.threads.create("global", id="t")
        acknowledged = _fill(memory)
        other.unlink()
        assert _fill(memory) > acknowledged
        _check(memory, len(memory.threads.messages("t")))


def test_recall_and_contexts_answer_from_what_is_indexed(small_disk: Path, caplog: pytest.LogCaptureFixture) -> None:
    other = small_disk / "other"
    other.write_bytes(bytes(2 << 20))
    with _open(small_disk / "memory.db") as memory:
        ada = memory.scope(user="ada")
        memory.threads.create("global", id="t")
        ada.threads.append("talk", "I live in Rome and I prefer short answers.", create="user:ada")
        assert ada.recall("Where do I live?") != []
        _fill(memory)
        for _ in range(2):
            assert "Rome" in ada.recall("Where do I live?")[0].text
            assert "Rome" in memory.recall("Rome")[0].text
            assert "short answers" in str(ada.context("Where do I live?", thread="talk").messages())
            assert any("Rome" in line.text for line in ada.profile.block())
            assert "Rome" in str(ada.session("talk", budget=600).context("Where do I live?").messages())
        index_problems = [problem for problem in memory.doctor().problems if problem.startswith("the index: ")]
        assert len(index_problems) == 1 and "disk is full" in index_problems[0]
        assert sum("without writing the index" in line for line in caplog.messages) == 1
        other.unlink()
        assert memory.recall("1 xxx", namespaces="global", min_score=0) != [] != ada.context("Where do I live?").profile
        assert [problem for problem in memory.doctor().problems if "disk is full" in problem] == []


def test_a_file_that_became_read_only_is_still_read(tmp_path: Path) -> None:
    with watched() as disk, _open(tmp_path / "memory.db") as memory:
        ada = memory.scope(user="ada")
        ada.threads.append("talk", "I live in Rome and I prefer short answers.", create="user:ada")
        assert ada.context("Where do I live?").profile != ()
        for number in range(40):
            ada.threads.append("talk", f"Remark {number} " + "on the weather in the mountains " * 5)
        disk.before = _refuse_all
        with pytest.raises(StoreError, match="ReadOnlyError"):
            ada.facts.set("user:ada", "city", "Oslo")
        talk = ada.session("talk", budget=600)
        assert "Rome" in str(talk.context("Where do I live?").messages())
        assert "Rome" in ada.recall("Where do I live?")[0].text
        parts = {problem.partition(":")[0] for problem in memory.doctor().problems}
        assert parts >= {"the index", "the use of learnings", "summaries of sessions"}
        disk.before = lambda event: None
        talk.context("Where do I live?")
        assert memory.doctor().problems == []


def _refuse_all(event: Event) -> None:
    if event.kind == "write" and not (event.file or "").endswith("-shm"):
        raise apsw.ReadOnlyError


def test_the_harness_sees_a_store_that_keeps_no_room_to_delete(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.stores.sqlite.store._only_deletes", lambda changes: False)
    with _open(small_disk / "memory.db") as memory:
        memory.threads.create("global", id="t")
        _fill(memory)
        with pytest.raises(StoreError, match="disk is full"):
            memory.threads.delete("t")
