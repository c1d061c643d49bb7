"""Redis beside bare redis-py that runs the same scripts, in the same run; round trips are counted.

    python bench/redis.py [--messages 20000] [--url redis://…] [--write]

Starts a server of its own (append-only file off, then always) unless --url is given. The floor is redis-py with hiredis
sending arguments that were encoded beforehand and looking at nothing that comes back. The background worker is off.
`--write` writes bench/redis.md.
"""

# The script's own folder would hide the driver, whose name it has.
# ruff: noqa: E402
from __future__ import annotations

import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:] = [str(_HERE.parent), *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE)]

import argparse
import asyncio
import platform
import statistics
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tests.servers.redis import start_redis

import redis
from memorist import AsyncMemory, Memory
from memorist.messages.message import Message
from memorist.ports import to_datetime
from memorist.records import Fact, Thread
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Append, Put
from memorist.stores.redis import DurabilityWarning, RedisStore
from memorist.stores.redis.changes import arguments
from memorist.stores.redis.keys import base_of, bounds, stamp
from memorist.stores.redis.rows import layout
from memorist.stores.redis.scripts import APPLY, SCAN

TEXT = "The invoice of the second shipment is late again, and the customer in Porto asked for a refund. " * 4
ORG = "bench"


def now() -> int:
    return time.time_ns() // 1000


def p50(work: Callable[[int], Any], times: int, chunk: int = 200) -> tuple[list[float], int]:
    """Microseconds per call, as the median call of each chunk."""
    out = []
    for start in range(0, times, chunk):
        each = []
        for number in range(start, min(start + chunk, times)):
            begun = time.perf_counter_ns()
            work(number)
            each.append((time.perf_counter_ns() - begun) / 1000)
        out.append(statistics.median(each))
    return out, times


class Floor:
    """redis-py alone: the same scripts, arguments made beforehand, replies as they come."""

    def __init__(self, url: str) -> None:
        self.driver = redis.Redis.from_url(url)
        self.base = base_of(ORG)
        for script in (APPLY, SCAN):
            self.driver.execute_command("SCRIPT", "LOAD", script.text)
        self.prepared: list[list[Any]] = []
        self.put(
            Put(Thread(org=ORG, id="bare", ns="global", created_at=to_datetime(now()), updated_at=to_datetime(now())))
        )

    def put(self, change: Any) -> None:
        self.driver.evalsha(APPLY.digest.decode(), 1, self.base, *arguments([change], now(), 1000, {}))

    def prepare(self, count: int) -> None:
        at = to_datetime(now())
        messages = (
            Message(org=ORG, thread="bare", role="user", content=f"{n} {TEXT[:295]}", created_at=at, tokens=60)
            for n in range(count)
        )
        self.prepared = [arguments([Append(ORG, "bare", (message,), at)], now(), 1000, {}) for message in messages]

    def prepare_like(self, args: list[Any], count: int) -> None:
        """The very arguments that Memory sent, each with a text of its own."""
        text = TEXT[:8].encode()
        number = next(n for n, part in enumerate(args) if isinstance(part, bytes) and text in part)
        head, body, tail = args[:number], args[number], args[number + 1 :]
        self.prepared = [[*head, body.replace(text, b"%08d" % n), *tail] for n in range(count)]

    def append(self, number: int) -> None:
        self.evaluate(self.prepared[number])

    def evaluate(self, args: list[Any]) -> None:
        self.driver.evalsha(APPLY.digest.decode(), 1, self.base, *args)

    def recent(self, number: int) -> None:
        low, high = bounds(("ours",), None, None, None)
        args = [*layout(Message).spec, 0, low, high, 1, 20, stamp(now()), 8 << 20]
        self.driver.evalsha(SCAN.digest.decode(), 1, self.base, *args)

    def get(self, number: int) -> None:
        self.driver.get(self.base + b"facts:" + layout(Fact).member((ORG, "global", f"k{number % 1000}")))


def alternately(
    ours: Callable[[int], Any], bare: Callable[[int], Any], count: int, rounds: int = 10
) -> tuple[float, float]:
    """Medians of both, measured in turns so that a noisy minute hits both."""
    ours_us: list[float] = []
    floor: list[float] = []
    step = count // rounds
    for turn in range(rounds):
        first = turn * step
        floor += p50(lambda n, first=first: bare(first + n), step)[0]
        ours_us += p50(lambda n, first=first: ours(first + n), step)[0]
    return statistics.median(ours_us), statistics.median(floor)


def sent_by(store: RedisStore, work: Callable[[], Any]) -> list[Any]:
    """The arguments of the script that some work runs."""
    calls: list[Any] = []
    commit = store._commit

    async def spy(base: bytes, args: list[Any], *, again: bool) -> Any:
        calls.append(args)
        return await commit(base, args, again=again)

    store._commit = spy  # type: ignore[method-assign]
    work()
    store._commit = commit  # type: ignore[method-assign]
    return list(calls[-1])


def measure(url: str, count: int) -> list[tuple[str, float, float, float]]:
    """Rows of: what, ours, floor (microseconds), round trips per call."""
    out = []
    floor = Floor(url)
    floor.prepare(count)
    store = RedisStore(url, runtime=BlockingRuntime(), on_risk="ignore")
    run_blocking(store.open())
    memory = Memory(store, org=ORG, embedder=None, worker=False)
    memory.threads.create("global", id="ours")
    memory.threads.create("global", id="store")

    def append_store(number: int) -> None:
        at = to_datetime(now())
        message = Message(
            org=ORG, thread="store", role="user", content=f"{number} {TEXT[:295]}", created_at=at, tokens=60
        )
        run_blocking(store.apply([Append(ORG, "store", (message,), at)], now=now()))

    def counted(name: str, ours: Callable[[int], Any], bare: Callable[[int], Any], times: int) -> None:
        ours(0)
        before = store.round_trips
        ours_us, bottom = alternately(ours, bare, times)
        out.append((name, ours_us, bottom, (store.round_trips - before) / times))

    counted("append, store", append_store, floor.append, count)
    floor.driver.flushdb()
    floor = Floor(url)
    memory.threads.create("global", id="ours")
    memory.threads.create("global", id="like")
    floor.prepare_like(sent_by(store, lambda: memory.threads.append("like", TEXT[:300])), count)
    counted(
        "append with its jobs, Memory",
        lambda n: memory.threads.append("ours", f"{n} {TEXT[:295]}"),
        floor.append,
        count,
    )
    counted(f"last 20 of {count:,}, Memory", lambda n: memory.threads.recent("ours", 20), floor.recent, 2000)
    for number in range(1000):
        memory.facts.set("global", f"k{number}", {"n": number, "text": TEXT[:100]})
    put_args = sent_by(store, lambda: memory.facts.set("global", "bare", {"n": 1, "text": TEXT[:100]}))
    counted(
        "set a fact, Memory",
        lambda n: memory.facts.set("global", f"k{n % 1000}", {"n": n, "text": TEXT[:100]}),
        lambda n: floor.evaluate(put_args),
        2000,
    )
    counted("get a fact, Memory", lambda n: memory.facts.get("global", f"k{n % 1000}"), floor.get, 5000)
    memory.close()
    return out


async def measure_async(url: str, count: int) -> tuple[float, float]:
    """Appends one by one: AsyncMemory, and redis.asyncio with the same script."""
    import redis.asyncio as driver

    bare = Floor(url)
    store = RedisStore(url, runtime=BlockingRuntime(), on_risk="ignore")
    with Memory(store, org=ORG, embedder=None, worker=False) as memory:
        memory.threads.create("global", id="like")
        bare.prepare_like(sent_by(store, lambda: memory.threads.append("like", TEXT[:300])), count)
    client = driver.Redis.from_url(url)
    ours_us, floor = [], []
    async with AsyncMemory(url, org=ORG, embedder=None, worker=False) as ours:
        await ours.threads.create("global", id="async")
        for number in range(count):
            begun = time.perf_counter_ns()
            await client.evalsha(APPLY.digest.decode(), 1, bare.base, *bare.prepared[number])
            middle = time.perf_counter_ns()
            await ours.threads.append("async", f"{number} {TEXT[:295]}")
            floor.append((middle - begun) / 1000)
            ours_us.append((time.perf_counter_ns() - middle) / 1000)
    await client.aclose()
    return statistics.median(ours_us), statistics.median(floor)


def table(title: str, rows: list[tuple[str, float, float, float]]) -> str:
    lines = [f"### {title}", "", "| | ours, µs | bare redis-py, µs | × | round trips |", "|---|---|---|---|---|"]
    lines += [
        f"| {name} | {ours:.0f} | {bare:.0f} | {ours / bare:.2f} | {trips:.2f} |" for name, ours, bare, trips in rows
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--messages", type=int, default=20_000)
    options.add_argument("--url")
    options.add_argument("--write", action="store_true")
    args = options.parse_args()
    warnings.simplefilter("ignore", DurabilityWarning)
    texts = []
    for title, aof, count in (
        ("Append-only file off", "no", args.messages),
        ("appendfsync always", "always", args.messages // 40),
    ):
        server = None if args.url else start_redis(aof=aof)
        url = args.url or server.url  # type: ignore[union-attr]
        rows = measure(url, count)
        ours_us, bare = asyncio.run(measure_async(url, count // 10))
        rows.append(("append, AsyncMemory (floor: redis.asyncio)", ours_us, bare, 1.0))
        version = redis.Redis.from_url(url).info("server")["redis_version"]
        texts.append(table(f"{title}, server {version}", rows))
        print(texts[-1])
        if server is None:
            break
        server.stop()
    if args.write:
        head = "# Redis beside bare redis-py\n\n"
        head += f"`python bench/redis.py --write`, {datetime.now(UTC):%d %b %Y}, Python {platform.python_version()}, "
        head += f"redis-py {redis.__version__}. "
        head += "Medians; both sides measured in turns. The floor sends prepared arguments and decodes nothing.\n\n"
        (_HERE / "redis.md").write_text(head + "\n".join(texts))


if __name__ == "__main__":
    main()
