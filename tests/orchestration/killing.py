"""Workers that are killed while they work, and a count of what they left: each derived row exactly once."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from memorist import Memory
from memorist.engine.derive.outbox import MAX_ATTEMPTS, QUEUES
from memorist.records import AuditEvent, Entry, Fact, FactVersion, Job, Learning, Link
from memorist.runtime import run_blocking

SAID = "I live in Lisbon and I prefer short answers about topic {}."


def prepare(memory: Memory, threads: int) -> None:
    """So many threads, each with a message that yields one fact and one learning."""
    for number in range(threads):
        thread = memory.threads.create(f"user:u{number}")
        memory.threads.append(thread.id, SAID.format(number))


def start_worker(url: str, hot: str | None, org: str, lease: float) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "memorist.cli.main", "--url", url, "--org", org]
    command += ["--hot", hot] if hot else []
    command += ["worker", "--lease", str(lease), "--every", "3600"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def work_and_kill(
    memory: Memory,
    start: Callable[[], subprocess.Popen[bytes]],
    *,
    every: float,
    kills: int,
    seconds: float,
    workers: int = 2,
) -> int:
    """Keep workers up until nothing is left, killing one of them every so often; how many were killed.

    With `every` 0 the moment is not one of time: a worker goes whenever a job is seen in someone's hands. None goes
    while a job is on its last attempts: on a slow machine the same one may be in the hands of every worker that is
    killed, and a job on which workers died `ATTEMPTS` times rightly becomes a dead letter.
    """
    dice, killed = random.Random(7), 0
    running = [start() for _ in range(workers)]
    end, next_kill = time.monotonic() + seconds, time.monotonic() + every
    try:
        while remaining := run_blocking(_remaining_jobs(memory)):
            if time.monotonic() > end:
                raise TimeoutError("the workers did not finish")
            at_work = every > 0 or any(job.status == "running" for job in remaining)
            at_work = at_work and all(job.attempts < MAX_ATTEMPTS - 1 for job in remaining)
            if killed < kills and at_work and time.monotonic() >= next_kill:
                victim = dice.randrange(len(running))
                running[victim].send_signal(signal.SIGKILL)
                running[victim].wait()
                running[victim] = start()
                killed, next_kill = killed + 1, time.monotonic() + every
            time.sleep(0.05 if every > 0 else 0.001)
    finally:
        for worker in running:
            worker.kill()
            worker.wait()
    return killed


async def _remaining_jobs(memory: Memory) -> list[Job]:
    """The jobs that are left, dead letters aside.

    Every queue is looked at twice: a derivation that ends between two looks leaves jobs in a queue that was seen empty.
    """
    jobs = [job for queue in (*QUEUES, *QUEUES) for job in await memory._core.scan(Job, queue)]
    return [job for job in jobs if job.status != "dead"]


def count(memory: Memory, threads: int) -> dict[str, int]:
    """What there is, and how much of it is not exactly once."""
    return run_blocking(_count(memory, threads))


async def _count(memory: Memory, threads: int) -> dict[str, int]:
    core = memory._core
    facts: list[Any] = await core.scan(Fact)
    learnings: list[Any] = await core.scan(Learning)
    entries = await core.scan(Entry)
    events = [event for event in await core.scan(AuditEvent) if event.action in ("derive", "add", "reinforce")]
    links = await core.scan(Link)
    wrong = sum(fact.version != 1 or len(fact.sources) != 1 for fact in facts)
    wrong += sum(learning.version != 1 or len(learning.sources) != 1 for learning in learnings)
    return {
        "facts": len(facts),
        "learnings": len(learnings),
        "entries": len(entries),
        "twice": wrong + len(await core.scan(FactVersion)) + len(events) - 2 * threads + len(links) - 2 * threads,
        "missing": (threads - len(facts)) + (threads - len(learnings)) + (3 * threads - len(entries)),
    }
