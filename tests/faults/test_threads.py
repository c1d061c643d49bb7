"""Many threads share one memory over a file: SQLite's own mutex is off, so the pool must keep them apart."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from memorist import Memory
from memorist.errors import MemoristError

THREADS, ROUNDS = 8, 60


def test_threads_that_read_and_write_one_file_get_whole_answers(tmp_path: Path) -> None:
    wrong: list[object] = []
    with Memory(tmp_path / "memory.db", worker=False, durability="normal", embedder=None) as memory:
        for number in range(THREADS):
            memory.threads.create("global", id=f"t{number}")
            memory.facts.set_many("global", {f"{number}.{key}": key for key in range(20)})

        def work(number: int) -> None:
            try:
                for n in range(ROUNDS):
                    memory.threads.append(f"t{number}", f"{number} {n}")
                    texts = [message.text for message in memory.threads.recent(f"t{number}", 5)]
                    assert texts == [f"{number} {k}" for k in range(max(0, n - 4), n + 1)], texts
                    # A filter with a limit stops in the middle of a statement.
                    listed = memory.facts.list("global", prefix=f"{number}.", where={"value": {"$gte": 0}}, limit=3)
                    assert len(listed) == 3, listed
                    fact = memory.facts.get("global", f"{number}.{n % 20}")
                    assert fact is not None and fact.value == n % 20, fact
            except BaseException as problem:
                wrong.append(problem)

        _together(work)
    assert wrong == []


def test_closing_while_threads_read_gives_each_an_answer_or_a_clear_error(tmp_path: Path) -> None:
    wrong: list[object] = []
    memory = Memory(tmp_path / "memory.db", worker=False, durability="normal", embedder=None)
    memory.facts.set("global", "k", list(range(1000)))
    begun = threading.Barrier(THREADS)

    def work(number: int) -> None:
        begun.wait()
        try:
            for n in range(ROUNDS):
                if number == 0 and n == ROUNDS // 2:
                    memory.close()
                fact = memory.facts.get("global", "k")
                assert fact is not None and len(fact.value) == 1000
        except MemoristError:
            pass
        except BaseException as problem:
            wrong.append(problem)

    _together(work)
    assert wrong == []
    memory.close()


def _together(work: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
