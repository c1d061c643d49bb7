"""What every peer is asked to do; run as a script of its own environment, it prints one line of JSON.

    python bench/peers/openai_agents.py append FOLDER COUNT

A peer is a class opened on a folder, with `append`, `fill`, `last` and `close`; one for facts has `put`, `get`, `list`.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

SPACES = 100
WORDS = "the launch budget was agreed because our customer asked for an invoice that lists each delivery".split()


class Peer(Protocol):
    """Keeps the messages of one thread."""

    async def append(self, text: str) -> None: ...
    async def fill(self, texts: Sequence[str]) -> None: ...
    async def last(self, count: int) -> int: ...
    async def close(self) -> None: ...


class Facts(Protocol):
    """Keeps values under a namespace and a key."""

    async def put(self, space: str, key: str, value: Any) -> None: ...
    async def get(self, space: str, key: str) -> Any: ...
    async def list(self, space: str) -> int: ...
    async def close(self) -> None: ...


def texts(count: int, size: int = 300) -> list[str]:
    """English-like texts, none twice."""
    dice = random.Random(7)
    return [f"{n} {' '.join(dice.choices(WORDS, k=70))}"[:size] for n in range(count)]


async def median_of(work: Callable[[int], Awaitable[Any]], count: int) -> float:
    """Median microseconds."""
    times = []
    for number in range(count):
        begun = time.perf_counter()
        await work(number)
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e6


async def append(peer: Peer, count: int) -> dict[str, Any]:
    contents = texts(count)
    return {"us": await median_of(lambda i: peer.append(contents[i]), count)}


async def last(peer: Peer, count: int) -> dict[str, Any]:
    await peer.fill(texts(count))
    received = await peer.last(20)
    if received != 20:
        raise RuntimeError(f"asked for the last 20 messages and got {received}")
    begun = time.perf_counter()
    await peer.last(20)
    # A peer that reads everything is not asked for it a hundred times.
    rounds = max(5, min(200, int(2 / (time.perf_counter() - begun))))
    return {"us": await median_of(lambda _: peer.last(20), rounds)}


async def facts(peer: Facts, count: int) -> dict[str, Any]:
    value = {"text": "some value", "number": 7}
    put_us = await median_of(lambda i: peer.put(f"space{i % SPACES}", f"key{i}", value), count)
    if not await peer.get("space1", "key1"):
        raise RuntimeError("a fact that was put is not there")
    get = await median_of(lambda i: peer.get(f"space{i % SPACES}", f"key{i}"), min(count, 2000))
    if await peer.list("space1") != count // SPACES:
        raise RuntimeError("facts that were put are not listed")
    return {"put": put_us, "get": get, "list": await median_of(lambda i: peer.list(f"space{i % SPACES}"), 200)}


async def write(peer: Peer, each: int, me: str) -> dict[str, Any]:
    """One writer of several, who begin when all have opened; what was refused is counted, and not tried again."""
    await asyncio.to_thread(_line_up, Path(sys.argv[2]), me)
    refused: list[str] = []
    for number in range(each):
        try:
            await peer.append(f"writer {me} message {number}")
        except Exception as error:
            refused.append(type(error).__name__)
    return {"acknowledged": each - len(refused), "refused": len(refused), "errors": sorted(set(refused))}


def _line_up(folder: Path, me: str) -> None:
    """Until the one who started all writers says go."""
    (folder / f"ready{me}").touch()
    while not (folder / "go").exists():
        time.sleep(0.005)


async def count_stored(peer: Peer, most: int) -> dict[str, Any]:
    return {"kept": await peer.last(most)}


def main(peer: Callable[[str], Any], keeper: Callable[[str], Any] | None = None) -> None:
    """Do the job the command line names."""
    job, folder, count, *rest = sys.argv[1:]
    jobs: dict[str, Any] = {"append": append, "last": last, "facts": facts, "write": write, "kept": count_stored}

    async def run() -> dict[str, Any]:
        opened = (keeper or peer)(folder) if job == "facts" else peer(folder)
        try:
            figures: dict[str, Any] = await jobs[job](opened, int(count), *rest)
            return figures
        finally:
            await opened.close()

    print(json.dumps(asyncio.run(run())))
