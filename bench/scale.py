"""A load generator: orgs × users × rate × mix over many processes; finds the knee of a store.

    python -m bench.scale --store postgres [--orgs 200] [--users 5] [--processes 4] [--seconds 5]
        [--mix append=50,recent=30,fact=15,recall=5] [--rates 50,100,200,400,800]

Work arrives at the given rate whether or not the store keeps up, and a latency counts from the moment at which the
operation was due: a store that falls behind shows it. The knee is the last rate that was served (at least 95 %) with a
p99 of at most 100 ms. Servers are started for the run, on loopback, with the settings of their documentation; CPU is
that of clients and servers together, bytes are what the store grew by on its disk (Redis: in memory).
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

RATES = (50, 100, 200, 400, 800, 1600, 3200)
MIX = {"append": 50, "recent": 30, "fact": 15, "recall": 5}
TEXT = (
    "I would like to move my appointment on Thursday to the week after, preferably in the morning, and to know whether "
    "the documents that I sent last month about the house in Utrecht have arrived at your office number {number}."
)
P99_SECONDS = 0.1
SERVED = 0.95
WARM = 40
"""Operations of each process before it is counted: imports, connections, statements to prepare."""


class Target(NamedTuple):
    """A store under load, and how to ask what it cost."""

    url: str
    cpu: Callable[[], float]
    """CPU seconds that servers spent so far."""
    size: Callable[[], int]
    """Bytes that the store has."""
    stop: Callable[[], None]


class Outcome(NamedTuple):
    """What one process saw."""

    latencies: list[float]
    failed: int
    cpu: float


# -- one process


def work(url: str, seed: int, options: argparse.Namespace, rate: float, ready: Any, answers: Any) -> None:
    """Do what is due until the time is over."""
    from recollect import Memory

    chance = random.Random(seed)
    verbs, weights = list(options.mix), list(options.mix.values())
    with Memory(url, worker=False, embedder=None, all_orgs=True) as memory:
        handles: dict[tuple[int, int], Any] = {}
        latencies: list[float] = []
        failed = 0
        for number in range(WARM):
            act(memory.scope(org="warm", user="u"), verbs[number % len(verbs)], "user:u", "t", seed, number)
        ready.wait()
        start = time.time()
        before, number = resource.getrusage(resource.RUSAGE_SELF), 0
        while (due := start + number / rate) < start + options.seconds:
            time.sleep(max(0.0, due - time.time()))
            who = (chance.randrange(options.orgs), chance.randrange(options.users))
            handle = handles.get(who) or handles.setdefault(who, memory.scope(org=f"o{who[0]}", user=f"u{who[1]}"))
            try:
                act(handle, chance.choices(verbs, weights)[0], f"user:u{who[1]}", f"t{who[1]}", seed, number)
            except Exception:
                failed += 1
            latencies.append(time.time() - due)
            number += 1
            if time.time() > start + 2 * options.seconds:
                break  # far behind: the rate is not served, and is counted so
        after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    answers.put(Outcome(latencies, failed, cpu))


def act(memory: Any, verb: str, ns: str, thread: str, seed: int, number: int) -> None:
    """One operation of the mix."""
    if verb == "append":
        memory.threads.append(thread, {"role": "user", "content": TEXT.format(number=number)}, create=ns)
    elif verb == "recent":
        memory.threads.recent(thread, 20) if memory.threads.get(thread) is not None else None
    elif verb == "fact":
        memory.facts.set(ns, f"k{number % 20}", number)
    else:
        memory.recall("When is the appointment in Utrecht?", namespaces=ns, top_k=5)


# -- the stores


def sqlite() -> Target:
    folder = tempfile.mkdtemp(prefix="recollect-scale-")
    path = Path(folder) / "memory.db"

    def size() -> int:
        return sum(one.stat().st_size for one in Path(folder).iterdir())

    return Target(str(path), lambda: 0.0, size, lambda: None)


def postgres() -> Target:
    import psycopg
    from tests.servers.postgres import start_postgres

    server = start_postgres(fsync=True)
    process = server._running()

    def size() -> int:
        with psycopg.connect(server.url, autocommit=True) as connection:
            found = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        return int(found[0]) if found else 0

    return Target(server.url, lambda: tree_cpu(process.pid), size, server.stop)


def redis() -> Target:
    from tests.servers.redis import start_redis

    server = start_redis(aof="always")
    return Target(
        server.url, lambda: redis_info([server], "cpu"), lambda: int(redis_info([server], "memory")), server.stop
    )


def cluster() -> Target:
    from tests.servers.redis import start_redis_cluster

    made = start_redis_cluster(aof="always")
    nodes = made.nodes
    return Target(made.url, lambda: redis_info(nodes, "cpu"), lambda: int(redis_info(nodes, "memory")), made.stop)


STORES = {"sqlite": sqlite, "postgres": postgres, "redis": redis, "cluster": cluster}


def redis_info(nodes: Any, what: str) -> float:
    """CPU seconds or bytes in use, of all nodes."""
    total = 0.0
    for node in nodes:
        with node.client() as client:
            info = client.info(what)
        names = ("used_cpu_user", "used_cpu_sys") if what == "cpu" else ("used_memory",)
        total += sum(float(info[name]) for name in names)
    return total


def tree_cpu(pid: int) -> float:
    """CPU seconds of a process and of its children, those that ended included."""
    total, tick = 0.0, os.sysconf("SC_CLK_TCK")
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended meanwhile
        if int(folder.name) == pid or int(fields[1]) == pid:
            total += sum(int(one) for one in fields[11:13]) / tick
        if int(folder.name) == pid:
            total += sum(int(one) for one in fields[13:15]) / tick
    return total


# -- the run


def step(target: Target, options: argparse.Namespace, rate: float, seed: int) -> dict[str, float]:
    """Offer one rate for some seconds."""
    answers: Any = multiprocessing.Queue()
    ready = multiprocessing.Barrier(options.processes + 1)
    share = rate / options.processes
    args = [(target.url, seed + n, options, share, ready, answers) for n in range(options.processes)]
    workers = [multiprocessing.Process(target=work, args=one) for one in args]
    for one in workers:
        one.start()
    ready.wait()
    cpu, size = target.cpu(), target.size()
    found: list[Outcome] = [answers.get() for _ in workers]
    for one in workers:
        one.join()
    latencies = sorted(latency for outcome in found for latency in outcome.latencies)
    done = len(latencies)
    took = max(options.seconds, options.seconds + latencies[-1]) if latencies else options.seconds
    return {
        "offered": rate,
        "served": done / took,
        "p50": latencies[done // 2],
        "p99": latencies[min(done - 1, int(done * 0.99))],
        "cpu": (sum(one.cpu for one in found) + target.cpu() - cpu) / done,
        "server": (target.cpu() - cpu) / done,
        "bytes": (target.size() - size) / done,
        "failed": sum(one.failed for one in found),
    }


def main() -> None:
    """Raise the rate until the store no longer keeps up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=sorted(STORES), default="postgres")
    parser.add_argument("--orgs", type=int, default=200)
    parser.add_argument("--users", type=int, default=5)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rates", type=lambda text: [float(one) for one in text.split(",")], default=list(RATES))
    parser.add_argument("--mix", type=_mix, default=dict(MIX))
    options = parser.parse_args()
    target = STORES[options.store]()
    from recollect import Memory

    with Memory(target.url, worker=False, embedder=None) as memory:
        memory.state.set("ready", 1)
    print(f"{options.store}: {options.orgs} orgs x {options.users} users, {options.processes} processes, {options.mix}")
    print("offered/s  served/s   p50 ms    p99 ms  CPU ms/op  server ms/op  bytes/op  failed")
    knee = None
    try:
        for place, rate in enumerate(options.rates):
            row = step(target, options, rate, 1000 * place)
            print(
                f"{row['offered']:9.0f} {row['served']:9.0f} {row['p50'] * 1e3:8.2f} {row['p99'] * 1e3:9.2f} "
                f"{row['cpu'] * 1e3:10.3f} {row['server'] * 1e3:13.3f} {row['bytes']:9.0f} {row['failed']:7.0f}",
                flush=True,
            )
            if row["served"] < SERVED * rate or row["p99"] > P99_SECONDS:
                break
            knee = row
        print("the first rate was too much" if knee is None else f"knee: {knee['offered']:.0f} operations a second")
    finally:
        target.stop()


def _mix(text: str) -> dict[str, int]:
    found = {name: int(share) for name, _, share in (part.partition("=") for part in text.split(","))}
    if not found or set(found) - set(MIX):
        raise argparse.ArgumentTypeError(f"verbs are {', '.join(MIX)}")
    return found


if __name__ == "__main__":
    main()
