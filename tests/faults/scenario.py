"""A few steps of every kind of write, for tests that break the disk under them."""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from memorist import Memory, StoreError
from tests.faults.disk import Event, watched

STEPS = ("create", "append", "batch", "fact", "delete")


def _step(memory: Memory, name: str) -> None:
    if name == "create":
        memory.threads.create("global", id="t")
    elif name == "append":
        memory.threads.append("t", "one", "two", key="k1")
    elif name == "batch":
        with memory.batch() as batch:
            batch.threads.append("t", "three", key="k2")
            batch.facts.set("global", "batched", {"n": 1})
    elif name == "fact":
        memory.facts.set("global", "fact", "x" * 5000)
    else:
        memory.threads.delete_messages("t", ids=["t#2"])


def state_of(memory: Memory) -> dict[str, Any]:
    """Which steps are seen to be done, and whether a batch is half done."""
    thread = memory.threads.get("t")
    texts = [message.text for message in memory.threads.messages("t")] if thread else []
    return {
        "create": thread is not None,
        "append": "one" in texts,
        "batch": "three" in texts,
        "fact": memory.facts.get("global", "fact") is not None,
        "delete": "one" in texts and "two" not in texts,
        "half": ("three" in texts) != (memory.facts.get("global", "batched") is not None),
    }


def open_memory(path: Path) -> Memory:
    """A memory that loads nothing slow."""
    return Memory(path, embedder=None, counter="estimate")


def run_steps(path: Path, acked: Callable[[str], None]) -> dict[str, str]:
    """Do the steps, each at most once; the errors by step."""
    errors: dict[str, str] = {}
    try:
        memory = open_memory(path)
    except StoreError as error:
        return {"open": type(error).__name__}
    for name in STEPS:
        try:
            _step(memory, name)
        except StoreError as error:
            errors[name] = type(error).__name__
        except LookupError:
            errors[name] = "NotFound"  # an earlier step failed, and said so
        else:
            acked(name)
    try:
        memory.close()
    except StoreError as error:
        errors["close"] = type(error).__name__
    return errors


def end_at(folder: str, at: int, speak: Connection) -> None:
    """Do the steps, and end without a word at the given write."""
    with watched() as disk:
        writes = 0

        def before(event: Event) -> None:
            nonlocal writes
            writes += event.kind != "delete"
            if writes == at:
                os._exit(9)

        disk.before = before
        run_steps(Path(folder) / f"{at}.db", speak.send)
