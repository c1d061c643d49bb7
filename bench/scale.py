"""A load generator: orgs × users × rate × mix over many processes; finds the knee of a store.

    python -m bench.scale --store postgres [--orgs 200] [--users 5] [--processes 4] [--seconds 5]
        [--mix append=50,recent=30,fact=15,recall=5] [--rates 50,100,200,400,800]

First every process does one operation after the other (once uncounted): the most that the store serves now, and what an
operation costs in CPU seconds of clients and servers. What the machine holds by that cost (cores / CPU per operation)
does not depend on what else runs on it; how much others took meanwhile is printed beside each line, in cores.

Then work arrives at given rates (without --rates: at shares of that most) whether or not the store keeps up, and a
latency counts from the moment at which the operation was due: a store that falls behind shows it. The knee is the last
rate that was served (at least 95 %) with a p99 of at most 100 ms. A rate that is not is offered once more, since
another job may have held the cores.

Servers are started for the run, on loopback, with the settings of their documentation. Bytes are what the store grew by
on its disk (Redis: in its memory; RAM: in the clients' memory).
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from memorist.errors import MemoristError

SHARES = (0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Rates that are offered, of the most that was served."""
CORES = len(os.sched_getaffinity(0))
MIX = {"append": 50, "recent": 30, "fact": 15, "recall": 5}
TEXT = (
    "I would like to move my appointment on Thursday to the week after, preferably in the morning, and to know whether "
    "the documents that I sent last month about the house in Utrecht have arrived at your office number {number}."
)
P99_SECONDS = 0.1
MIN_SERVED_SHARE = 0.95
WARM_UP_OPERATIONS = 40
"""Operations of each process before it is counted: imports, connections, statements to prepare."""


class Target(NamedTuple):
    """A store under load, and how to ask what it cost."""

    url: str | None
    cpu: Callable[[], float]
    """CPU seconds that servers spent so far."""
    size: Callable[[], int]
    """Bytes that the store has outside of the clients."""
    stop: Callable[[], None]
    served: bool = True
    """Whether there is a server besides the clients."""


class Outcome(NamedTuple):
    """What one process saw."""

    latencies: list[float]
    failed: int
    cpu: float
    grown: int
    """Bytes by which the process grew."""


class Row(NamedTuple):
    """What all processes of one step saw; costs are per operation."""

    offered: float
    served: float
    p50: float
    p99: float
    cpu: float
    server: float
    size: float
    failed: int
    others: float
    """Cores that other work on the machine took."""

    def kept_up(self) -> bool:
        return self.served >= MIN_SERVED_SHARE * self.offered and self.p99 <= P99_SECONDS

    def __str__(self) -> str:
        offered = f"{self.offered:9.0f}" if self.offered else "     most"
        return (
            f"{offered} {self.served:9.0f} {self.p50 * 1e3:8.2f} {self.p99 * 1e3:9.2f} {self.cpu * 1e3:10.3f} "
            f"{self.server * 1e3:13.3f} {self.size:9.0f} {self.failed:7d} {self.others:7.2f}"
        )


HEAD = "offered/s  served/s   p50 ms    p99 ms  CPU ms/op  server ms/op  bytes/op  failed  others"


# -- one process


def work(url: str | None, seed: int, options: argparse.Namespace, rate: float, ready: Any, answers: Any) -> None:
    """Do what is due until the time is over; at a rate of 0 the next operation is due when the last one is done."""
    from memorist import Memory

    chance = random.Random(seed)
    verbs, weights = list(options.mix), list(options.mix.values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a store in RAM says that nothing will last
        memory = Memory(url, worker=False, embedder=None, all_orgs=True)
    with memory:
        handles: dict[tuple[int, int], Any] = {}
        latencies: list[float] = []
        failed = number = 0
        for index in range(WARM_UP_OPERATIONS):
            act(memory.scope(org="warm", user="u"), verbs[index % len(verbs)], "user:u", "t", seed, index)
        ready.wait()
        start, cpu, size = time.time(), time.process_time(), resident()
        while (due := start + number / rate if rate else time.time()) < start + options.seconds:
            time.sleep(max(0.0, due - time.time()))
            who = (chance.randrange(options.orgs), chance.randrange(options.users))
            handle = handles.get(who) or handles.setdefault(who, memory.scope(org=f"o{who[0]}", user=f"u{who[1]}"))
            try:
                act(handle, chance.choices(verbs, weights)[0], f"user:u{who[1]}", f"t{who[1]}", seed, number)
            except MemoristError:
                failed += 1
            latencies.append(time.time() - due)
            number += 1
            if time.time() > start + 2 * options.seconds:
                break  # far behind: the rate is not served, and is counted so
        answers.put(Outcome(latencies, failed, time.process_time() - cpu, resident() - size))


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


def ram() -> Target:
    """In each process a store of its own."""
    return Target(None, lambda: 0.0, lambda: 0, lambda: None, served=False)


def sqlite() -> Target:
    folder = tempfile.mkdtemp(prefix="memorist-scale-")
    path = Path(folder) / "memory.db"

    def size() -> int:
        return sum(file.stat().st_size for file in Path(folder).iterdir())

    return Target(str(path), lambda: 0.0, size, lambda: shutil.rmtree(folder), served=False)


def postgres() -> Target:
    import psycopg
    from tests.servers.postgres import start_postgres

    server = start_postgres(fsync=True)
    process = server._running()

    def size() -> int:
        with psycopg.connect(server.url, autocommit=True) as connection:
            row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        return int(row[0]) if row else 0

    return Target(server.url, lambda: tree_cpu(process.pid), size, server.stop)


def redis() -> Target:
    from tests.servers.redis import start_redis

    server = start_redis(aof="always")
    return Target(
        server.url, lambda: redis_info([server], "cpu"), lambda: int(redis_info([server], "memory")), server.stop
    )


def cluster() -> Target:
    from tests.servers.redis import start_redis_cluster

    started = start_redis_cluster(aof="always")
    nodes = started.nodes
    return Target(started.url, lambda: redis_info(nodes, "cpu"), lambda: int(redis_info(nodes, "memory")), started.stop)


STORES = {"ram": ram, "sqlite": sqlite, "postgres": postgres, "redis": redis, "cluster": cluster}


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
            total += sum(int(field) for field in fields[11:13]) / tick
        if int(folder.name) == pid:
            total += sum(int(field) for field in fields[13:15]) / tick
    return total


def machine_cpu() -> float:
    """CPU seconds that all processes of the machine spent so far."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _, _, interrupts, soft, stolen = fields[:8]
    return (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")


def resident() -> int:
    """Bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# -- the run


def step(target: Target, options: argparse.Namespace, rate: float, seed: int) -> Row:
    """Offer one rate for some seconds; 0: as much as is served."""
    answers: Any = multiprocessing.Queue()
    ready = multiprocessing.Barrier(options.processes + 1)
    share, size = rate / options.processes, target.size()
    args = [(target.url, seed + n, options, share, ready, answers) for n in range(options.processes)]
    workers = [multiprocessing.Process(target=work, args=worker_args) for worker_args in args]
    for worker in workers:
        worker.start()
    ready.wait()
    start, cpu, machine = time.time(), target.cpu(), machine_cpu()
    outcomes: list[Outcome] = [answers.get() for _ in workers]
    took, server, machine = time.time() - start, target.cpu() - cpu, machine_cpu() - machine
    for worker in workers:
        worker.join()
    latencies = sorted(latency for outcome in outcomes for latency in outcome.latencies)
    operations, clients = len(latencies), sum(outcome.cpu for outcome in outcomes)
    grown = sum(outcome.grown for outcome in outcomes) if target.url is None else target.size() - size
    written = operations if target.url is None else operations + WARM_UP_OPERATIONS * options.processes
    return Row(
        offered=rate,
        served=operations / max(options.seconds, took),
        p50=latencies[operations // 2],
        p99=latencies[min(operations - 1, int(operations * 0.99))],
        cpu=(clients + server) / operations,
        server=server / operations,
        size=grown / written,
        failed=sum(outcome.failed for outcome in outcomes),
        others=max(0.0, machine - clients - server) / took,
    )


def knee(target: Target, options: argparse.Namespace, most: Row) -> Row | None:
    """The last rate that the store kept up with."""
    last = None
    for step_number, rate in enumerate(options.rates or [share * most.served for share in SHARES]):
        for again in range(2):
            row = step(target, options, rate, 10_000 * (step_number + 1) + 1000 * again)
            print(row, flush=True)
            if row.kept_up():
                break
        else:
            break
        last = row
    return last


def main() -> None:
    """Print the most, then each rate, then the knee and what the cost of an operation says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", choices=list(STORES), default="postgres")
    parser.add_argument("--orgs", type=int, default=200)
    parser.add_argument("--users", type=int, default=5)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rates", type=lambda text: [float(rate) for rate in text.split(",")], default=None)
    parser.add_argument("--mix", type=_mix, default=dict(MIX))
    options = parser.parse_args()
    target = STORES[options.store]()
    print(f"{options.store}: {options.orgs} orgs x {options.users} users, {options.processes} processes, {options.mix}")
    print(HEAD)
    try:
        step(target, options, 0, 0)  # the schema, and a thread of each user
        most = step(target, options, 0, 1000)
        print(most, flush=True)
        last_kept = knee(target, options, most)
    finally:
        target.stop()
    print("knee: below the first rate" if last_kept is None else f"knee: {last_kept.offered:.0f} operations a second")
    print(f"by CPU: {CORES / most.cpu:.0f} a second on {CORES} cores, clients and servers together")
    if target.served:
        print(f"by CPU: {1 / most.server:.0f} a second for each core of a server whose clients run elsewhere")


def _mix(text: str) -> dict[str, int]:
    mix = {name: int(share) for name, _, share in (part.partition("=") for part in text.split(","))}
    if not mix or set(mix) - set(MIX):
        raise argparse.ArgumentTypeError(f"verbs are {', '.join(MIX)}")
    return mix


if __name__ == "__main__":
    main()
