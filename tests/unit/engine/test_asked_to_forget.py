"""Tests requests to forget while the memory's own worker reads the same thread."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from memorist import Memory

with Memory(sys.argv[1], user="ada") as memory:
    memory.threads.append("talk", "I live in Oslo.", create="user:ada")
    (receipt,) = memory.threads.append("talk", "Please forget that I live in Oslo.")
    print(receipt.derived, *receipt.ended)
"""


@pytest.mark.parametrize("number", range(8))
def test_a_request_to_forget_is_carried_out_when_append_returns(number: int, tmp_path: Path) -> None:
    # In a new process the worker still loads the rules, so that it claims the job just when `append` needs it.
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "agent.db")], capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == ["done", "user:ada/location", "user:ada/forgotten.i_live_in_oslo"]
