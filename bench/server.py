"""The server beside the direct call: CPU a request, appends a second, overload, memory, idle size. Linux: reads /proc.

    python -m bench.server cpu [requests]            CPU of the server a request, beside the same call without it
    python -m bench.server load [seconds] [conns]    appends a second over 32 connections, with p50 and p99
    python -m bench.server overload                  how soon what is too much is refused, and whether health answers
    python -m bench.server soak [requests]           resident memory over a million requests
    python -m bench.server idle                      resident memory of a server that nobody asked
    python -m bench.server silence                   how long the largest requests keep /healthz waiting

One worker, SQLite on disk, full durability. The load comes from this process, by bare sockets.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memorist import Memory
from memorist.server.app import MAX_BUDGET_TOKENS

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
SERVE_CODE = """
import sys
from memorist import AsyncMemory
from memorist.server.app import Options, make_app
from memorist.server.limits import Rate
from memorist.server.process import serve
path, port = sys.argv[1], int(sys.argv[2])
fast = Rate(1e9, 1e9)
memory = lambda: AsyncMemory(path, all_orgs=True, worker=False)
serve(lambda: make_app(memory(), Options(usual=fast, heavy=fast)), host="127.0.0.1", port=port, proxy_headers=False)
"""
"""`memorist serve --no-worker` without limits of rate."""


def cpu_seconds(pid: int | str) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def resident_mb(pid: int) -> float:
    """Resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextmanager
def serving(folder: str, command: list[str] | None = None) -> Iterator[tuple[int, int, str]]:
    """A server of its own process: its id, its port and a key."""
    path = str(Path(folder) / "memory.db")
    created = subprocess.run(
        [sys.executable, "-m", "memorist", "--url", path, "keys", "create"], capture_output=True, text=True, check=True
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    if command is None:
        started = [sys.executable, "-c", SERVE_CODE, path, str(port)]
    else:
        started = [sys.executable, "-m", "memorist", "--url", path, "serve", "--port", str(port)]
    process = subprocess.Popen(started, stderr=subprocess.DEVNULL)
    try:
        _until_up(port)
        yield process.pid, port, created.stdout.strip()
    finally:
        process.terminate()
        process.wait(60)


def _until_up(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("the server did not come up")


def request(method: str, path: str, key: str, body: object = None) -> bytes:
    """A request as it goes over the wire."""
    content = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {key}\r\n"
    return f"{head}content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content


async def read_answer(reader: asyncio.StreamReader) -> int:
    """Read one answer; its status."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    await reader.readexactly(length)
    return int(head[9:12])


async def ask(port: int, requests: list[bytes]) -> list[float]:
    """Send requests over one connection, one after the other: the seconds of each."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    seconds = []
    for payload in requests:
        start = time.perf_counter()
        writer.write(payload)
        status = await read_answer(reader)
        assert status == 200, status
        seconds.append(time.perf_counter() - start)
    writer.close()
    return seconds


def fact_reads(key: str, count: int) -> list[bytes]:
    return [request("GET", "/v1/fact?ns=user:ada&key=home", key)] * count


def appends(key: str, count: int, thread: str = "t") -> list[bytes]:
    return [
        request("POST", f"/v1/thread/messages?id={thread}", key, {"messages": ["hello there"], "create": "user:ada"})
    ] * count


def cpu(count: int = 3000) -> None:
    """CPU a request over the direct call, in one run."""
    with tempfile.TemporaryDirectory() as folder, serving(folder) as (pid, port, key):
        asyncio.run(
            ask(port, [request("PUT", "/v1/fact?ns=user:ada&key=home", key, {"value": "Rome"}), *appends(key, 200)])
        )
        over: dict[str, float] = {}
        for name, requests in (("fact", fact_reads(key, count)), ("append", appends(key, count))):
            before = cpu_seconds(pid)
            asyncio.run(ask(port, requests))
            over[name] = (cpu_seconds(pid) - before) / count * 1e6
        direct = _direct(Path(folder) / "direct.db", count)
    for name in over:
        more = over[name] - direct[name]
        print(f"{name}: server {over[name]:.0f} µs CPU, direct {direct[name]:.0f}, over it {more:.0f} (limit 150)")


def _direct(path: Path, count: int) -> dict[str, float]:
    microseconds: dict[str, float] = {}
    with Memory(path, worker=False) as memory:
        memory.facts.set("user:ada", "home", "Rome")
        for number in range(200):
            memory.threads.append("t", f"warm {number}", create="user:ada")
        for name in ("fact", "append"):
            before = time.process_time()
            for _ in range(count):
                if name == "fact":
                    memory.facts.get("user:ada", "home")
                else:
                    memory.threads.append("t", "hello there", create="user:ada")
            microseconds[name] = (time.process_time() - before) / count * 1e6
    return microseconds


def load(seconds: float = 60, connections: int = 32) -> None:
    """Appends a second over many connections, each with a thread of its own."""
    with tempfile.TemporaryDirectory() as folder, serving(folder) as (pid, port, key):
        began, start = cpu_seconds(pid), time.perf_counter()
        latencies = asyncio.run(_load(port, key, seconds, connections))
        lasted, spent = time.perf_counter() - start, cpu_seconds(pid) - began
    ordered = sorted(latencies)
    p50, p99 = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
    print(f"{len(latencies)} appends in {lasted:.0f} s over {connections} connections: {len(latencies) / lasted:.0f}/s")
    print(f"p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms (limits 1,500/s and 25 ms)")
    each = spent / len(latencies) * 1e6
    print(f"{each:.0f} µs CPU each, {spent / lasted:.2f} of a core; load average {os.getloadavg()[0]:.1f}")


async def _load(port: int, key: str, seconds: float, connections: int) -> list[float]:
    ends, latencies = time.perf_counter() + seconds, list[float]()

    async def append_until_end(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        (payload,) = appends(key, 1, f"t{number}")
        while (start := time.perf_counter()) < ends:
            writer.write(payload)
            assert await read_answer(reader) == 200
            latencies.append(time.perf_counter() - start)
        writer.close()

    await asyncio.gather(*(append_until_end(number) for number in range(connections)))
    return latencies


def overload() -> None:
    """Far more requests at once than there is room for: the rest is refused at once, and health answers."""
    with tempfile.TemporaryDirectory() as folder, serving(folder) as (_pid, port, key):
        asyncio.run(ask(port, appends(key, 50)))
        refused, accepted, health = asyncio.run(_overload(port, key))
    late, slow = statistics.median(refused) * 1000, statistics.median(health) * 1000
    print(f"{len(refused) + accepted} requests: {accepted} done, {len(refused)} answered 503")
    print(f"503 after {late:.0f} ms, the slowest {max(refused) * 1000:.0f} ms (limit 50)")
    print(f"/healthz meanwhile {slow:.0f} ms, the slowest {max(health) * 1000:.0f} ms")


async def _overload(port: int, key: str, many: int = 900) -> tuple[list[float], int, list[float]]:
    pairs = [await asyncio.open_connection("127.0.0.1", port) for _ in range(many)]
    slow = request("POST", "/v1/messages/wait", key, {"ids": ["t#1"], "timeout": 5})
    refused, health, accepted = list[float](), list[float](), 0

    async def wait_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        start = time.perf_counter()
        writer.write(slow)
        status = await read_answer(reader)
        if status == 503:
            refused.append(time.perf_counter() - start)
        else:
            accepted += 1
        writer.close()

    async def ask_health() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(20):
            start = time.perf_counter()
            writer.write(request("GET", "/healthz", key))
            assert await read_answer(reader) == 200
            health.append(time.perf_counter() - start)
            await asyncio.sleep(0.05)
        writer.close()

    first, rest = pairs[:320], pairs[320:]
    waiting = [asyncio.ensure_future(wait_once(*pair)) for pair in first]
    await asyncio.sleep(1)
    checking = asyncio.ensure_future(ask_health())
    for pair in rest:  # as they would come: one after the other, while the room is full
        await wait_once(*pair)
    await checking
    await asyncio.gather(*waiting)
    return refused, accepted, health


def soak(count: int = 1_000_000) -> None:
    """Resident memory while a million requests are served."""
    with tempfile.TemporaryDirectory() as folder, serving(folder) as (pid, port, key):
        asyncio.run(ask(port, [request("PUT", "/v1/fact?ns=user:ada&key=home", key, {"value": "Rome"})]))
        mixed = [*fact_reads(key, 9), *appends(key, 1)]
        sizes: list[float] = []
        for number in range(20):
            asyncio.run(_many(port, mixed, count // 20))
            sizes.append(resident_mb(pid))
            print(f"{(number + 1) * count // 20:>9,} requests: {sizes[-1]:.1f} MB", flush=True)
    first, last = sizes[1], sizes[-1]
    print(f"from the second twentieth to the last: {last / first - 1:+.1%} (limit 5 %)")


async def _many(port: int, mixed: list[bytes], count: int, connections: int = 8) -> None:
    await asyncio.gather(*(ask(port, mixed * (count // connections // len(mixed))) for _ in range(connections)))


def idle() -> None:
    """The resident memory of a server as `memorist serve` starts it, and what a plain import brings in."""
    with tempfile.TemporaryDirectory() as folder, serving(folder, ["serve"]) as (pid, _port, _key):
        time.sleep(3)
        print(f"idle server: {resident_mb(pid):.0f} MB resident (limit 120)")
    ours = "{'starlette', 'uvicorn', 'httpx', 'mcp'}"
    code = f"import sys, memorist; print(sorted({ours} & {{name.partition('.')[0] for name in sys.modules}}))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    print(f"packages of the server that `import memorist` brings in: {process.stdout.strip()}")


LARGE_TEXTS = {
    "words": "The pump in hall seven ran for nine hours, then it stopped. ",
    "facts": "I like pear number 7. I live in Porto. My dog is called Rex. ",
    "marks": "......!!!???,,,,;;;;::::----",
    "one word": "pneumonoultramicroscopic",
    "headings": "# h\n",
    "other script": "昨日は雨が降りました。",
}
"""Texts that are repeated up to the largest size that is accepted."""
LARGE_BYTES = 4_000_000
LIMIT_SECONDS = 0.25


def silence() -> None:
    """The longest time that /healthz takes while the largest requests are served, and how much of it the server itself
    used: on a machine with other work the rest is waiting for a processor."""
    with tempfile.TemporaryDirectory() as folder, serving(folder) as (pid, port, key):
        asyncio.run(ask(port, appends(key, 5)))
        for kind, piece in LARGE_TEXTS.items():
            text = piece * (LARGE_BYTES // len(piece.encode()))
            for name, payload in _largest(kind, text, key):
                status, took, silent, busy = asyncio.run(_silence(pid, port, key, payload))
                flag = "" if silent <= LIMIT_SECONDS else "  OVER" if busy > LIMIT_SECONDS else "  over, waiting"
                print(
                    f"{kind:13} {name:9} {status} in {took:6.2f} s, /healthz at most {silent * 1000:5.0f} ms, "
                    f"of the server's own time {busy * 1000:4.0f} ms{flag}",
                    flush=True,
                )


def _largest(kind: str, text: str, key: str) -> list[tuple[str, bytes]]:
    thread = kind.replace(" ", "-")
    body = {"messages": [{"role": "user", "content": text}], "create": "user:ada"}
    context_body = {"input": "Which pump? Where do I live?", "thread": thread, "budget": MAX_BUDGET_TOKENS}
    return [
        ("append", request("POST", f"/v1/thread/messages?id={thread}", key, body)),
        ("recall", request("POST", "/v1/recall", key, {"query": "pump", "namespaces": ["user:ada"], "top_k": 50})),
        ("context", request("POST", "/v1/context", key, context_body)),
        ("query", request("POST", "/v1/recall", key, {"query": text})),
        ("document", request("POST", "/v1/documents", key, {"ns": "user:ada", "text": text, "id": f"doc-{thread}"})),
        ("found", request("POST", "/v1/recall", key, {"query": "pump pear rain", "namespaces": ["user:ada"]})),
    ]


def used_seconds(pid: int) -> float:
    """The processor time that all threads of a process have used."""
    times = [path.read_text("ascii").split()[0] for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(map(int, times)) / 1e9


async def _silence(pid: int, port: int, key: str, payload: bytes) -> tuple[int, float, float, float]:
    """Send a request: its status, its seconds, the longest that /healthz took meanwhile, and the most processor time
    that the server used during one of these."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    health_reader, health_writer = await asyncio.open_connection("127.0.0.1", port)
    longest, busiest, start = 0.0, 0.0, time.perf_counter()
    writer.write(payload)
    answer = asyncio.ensure_future(read_answer(reader))
    while not answer.done() or longest == 0.0:
        asked_at, used = time.perf_counter(), used_seconds(pid)
        health_writer.write(request("GET", "/healthz", key))
        assert await read_answer(health_reader) == 200
        longest, busiest = max(longest, time.perf_counter() - asked_at), max(busiest, used_seconds(pid) - used)
        await asyncio.sleep(0.005)
    writer.close()
    health_writer.close()
    return answer.result(), time.perf_counter() - start, longest, busiest


if __name__ == "__main__":
    what, *more = sys.argv[1:] or ["cpu"]
    {"cpu": cpu, "load": load, "overload": overload, "soak": soak, "idle": idle, "silence": silence}[what](
        *map(int, more)
    )
