"""Runs a suite with a limit per test and for the whole, and names the test that hangs.

The plugin `counted` writes the test that runs to a file. A run that takes too long is killed with its children, since a
test that hangs in a driver's thread ignores a timeout inside its own process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

TEST_SECONDS = 180
SUITE_SECONDS = 2_400
POLL_SECONDS = 0.2


class Run(NamedTuple):
    """How a suite ended: its output, and what hung, if something did."""

    output: str
    hung: str = ""


def run_watched(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    *,
    test_seconds: float = TEST_SECONDS,
    suite_seconds: float = SUITE_SECONDS,
) -> Run:
    """Run a suite, and stop it at the first test that takes too long."""
    running = folder / f".memorist-running-{os.getpid()}"
    log = folder / f".memorist-output-{os.getpid()}"
    settings = {**environment, "MEMORIST_UPSTREAM_RUNNING": str(running)}
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, cwd=folder, env=settings, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
            hung = _watch(process, running, test_seconds, suite_seconds)
        return Run(log.read_text("utf-8", "replace"), hung)
    finally:
        running.unlink(missing_ok=True)
        log.unlink(missing_ok=True)


def _watch(process: subprocess.Popen[bytes], running: Path, test_seconds: float, suite_seconds: float) -> str:
    started = since = time.monotonic()
    current = ""
    while process.poll() is None:
        time.sleep(POLL_SECONDS)
        now = time.monotonic()
        test = running.read_text("utf-8") if running.exists() else ""
        if test != current:
            current, since = test, now
        if now - since > test_seconds:
            _kill(process)
            return f"{current or 'the start of the suite'} has not ended after {test_seconds:.0f} seconds"
        if now - started > suite_seconds:
            _kill(process)
            return f"the suite has not ended after {suite_seconds:.0f} seconds; it was at {current or 'its start'}"
    return ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the run and what it started; it has a process group of its own."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
