"""Worker processes for fault tests of tasks, working memory and entities."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from memorist import LeaseLost, Memory, Working

ITEMS = [f"item-{number:03d}" for number in range(100)]
LEASE = 0.5
"""Seconds a killed worker's lease still lasts; on a busy machine a living one may lose it too, and is run again."""


def _open(url: str, durability: Any = "full") -> Memory:
    return Memory(url, embedder=None, counter="estimate", durability=durability)


def run_task(url: str, lease: float, stop_at: int | None, speak: Connection) -> None:
    """Do what is left of the task, each step with its effects in one commit; say each step, then how it ended.

    It stops itself where asked: stopped from outside it may hold the lock of the file, and then nobody can write.
    """
    try:
        with _open(url).tasks.run("import", lease=lease, wait=30, state={"log": []}) as task:
            for number, item in enumerate(task.remaining(ITEMS)):
                batch = task.batch()
                batch.threads.append("effects", item)
                if number == stop_at:
                    speak.send("stopped")
                    os.kill(os.getpid(), signal.SIGSTOP)
                batch.state.increment("effects")
                task.state["log"].append(item)
                task.complete(item)
                speak.send(item)
    except LeaseLost as error:
        speak.send(error)
    else:
        speak.send("done")


def run_task_naively(url: str, die_after_effect: int, speak: Connection) -> None:
    """The planted bug: the effect first, the checkpoint after it; dies between the two."""
    memory = _open(url)
    with memory.tasks.run("import", lease=2, wait=30) as task:
        for number, item in enumerate(task.remaining(ITEMS)):
            memory.threads.append("effects", item)
            if number == die_after_effect:
                os.kill(os.getpid(), signal.SIGKILL)
            task.complete(item)
    speak.send("done")


def run_task_unfenced(url: str, stop_at: int | None, speak: Connection) -> None:
    """The planted bug: goes on from what it knew, and never asks whether the task is still its own."""
    memory = _open(url)
    checkpoint = memory.tasks.resume("import")
    completed = set(checkpoint.completed_subtasks if checkpoint else ())
    for number, item in enumerate(ITEMS):
        if item not in completed:
            if number == stop_at:
                speak.send("stopped")
                os.kill(os.getpid(), signal.SIGSTOP)
            memory.threads.append("effects", item)
            completed.add(item)
            memory.tasks.save({"task_id": "import", "completed_subtasks": sorted(completed)})
            speak.send(item)
    speak.send("done")


def numbered(writers: int) -> type[Working]:
    """A template with a field per writer."""
    fields = [(f"f{number}", int, 0) for number in range(writers)]
    return msgspec.defstruct("Numbered", fields, bases=(Working,), kw_only=True)


def update_share(url: str, me: int, threads: int, writers: int, writes: int, speak: Connection) -> None:
    """Count a field up per thread, and before each update check that the last one is still there."""
    memory = _open(url, "normal").scope(user="ada")
    working = memory.working.template(numbered(writers))
    lost: list[str] = []

    def count(writer: int) -> None:
        field = f"f{writer}"
        for number in range(1, writes + 1):
            doc = working.get()
            stored_count = 0 if doc is None else getattr(doc, field)
            if stored_count != number - 1:
                lost.append(f"{field} is {stored_count}, was set to {number - 1}")
            working.update(**{field: number})

    _on_threads([lambda writer=me * threads + i: count(writer) for i in range(threads)])
    speak.send(lost)


def update_share_naively(url: str, me: int, threads: int, writers: int, writes: int, speak: Connection) -> None:
    """The planted bug: read the document, change it, write it whole."""
    working = _open(url, "normal").scope(user="ada").working.template(numbered(writers))
    lost: list[str] = []
    for number in range(1, writes + 1):
        doc = working.get() or numbered(writers)()
        if getattr(doc, f"f{me}") != number - 1:
            lost.append(f"f{me}")
        setattr(doc, f"f{me}", number)
        working.set(doc)
    speak.send(lost)


def ask_for_entity(url: str, callers: int, log: str, cached: bool, barrier: Any, speak: Connection) -> None:
    """Ask for one entity on many threads at once; the loader leaves a mark per load."""
    memory = _open(url, "normal")
    answers: list[Any] = []

    def load(id: str) -> dict[str, str]:
        with open(log, "ab", buffering=0) as file:
            file.write(b"x")
        time.sleep(0.2)
        return {"id": id}

    def ask() -> None:
        answers.append(memory.entities.get("customer", "7", load) if cached else load("7"))

    barrier.wait()
    _on_threads([ask] * callers)
    speak.send(answers)


def _on_threads(works: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
