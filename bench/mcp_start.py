"""How much CPU `memorist mcp` takes from its start to its first answers on stdio. Linux: reads /proc.

python -m bench.mcp_start [runs]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
STEPS: list[tuple[str, str, dict[str, Any]]] = [
    ("initialize", "initialize", HELLO),
    ("tools/list", "tools/list", {}),
    ("profile", "tools/call", {"name": "profile", "arguments": {}}),
    ("remember", "tools/call", {"name": "remember", "arguments": {"text": "The launch is on the ninth of May."}}),
]
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def once(url: str) -> dict[str, float]:
    """CPU seconds of one process when each answer has come."""
    command = [sys.executable, "-m", "memorist", "--url", url, "mcp", "--quiet"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    seconds: dict[str, float] = {}
    for number, (name, method, params) in enumerate(STEPS):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())
        process.stdin.write(b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert "result" in answer, answer
        seconds[name] = cpu_seconds(process.pid)
    process.stdin.close()
    process.wait(60)
    process.stdout.close()
    return seconds


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    firsts, seconds = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            url = str(Path(folder) / "memory.db")
            firsts.append(once(url))
            seconds.append(once(url))
    for label, runs_seconds in (("new file", firsts), ("second start", seconds)):
        medians = {name: statistics.median(seconds[name] for seconds in runs_seconds) for name, _, _ in STEPS}
        print(f"{label:13}" + "  ".join(f"{name} {value:.2f} s" for name, value in medians.items()))


if __name__ == "__main__":
    main()
