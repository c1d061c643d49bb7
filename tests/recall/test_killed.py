"""A process that dies between an append and its index leaves nothing unfound."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memorist import Memory

from .conftest import WordHashes

_ROOT = Path(__file__).parents[2]
_CHILD = """
import os, sys
from memorist import Memory
from tests.recall.conftest import WordHashes

class Deadly(WordHashes):
    def embed(self, texts):
        if self.calls == int(sys.argv[2]):
            os._exit(9)
        return super().embed(texts)

memory = Memory(sys.argv[1], embedder=Deadly(), worker=False, extract=None)
thread = memory.threads.create("user:ada", id="long")
for start in range(0, 1200, 100):
    said = [{"role": "user", "content": f"Pebble unique{i}"} for i in range(start, start + 100)]
    memory.threads.append("long", *said)
memory.facts.set("user:ada", "stone", "pebble of granite")
if sys.argv[2] == "0":
    os._exit(9)
memory.recall("pebble", namespaces="user:ada")
"""


@pytest.mark.parametrize("batches", [0, 1, 2])
def test_nothing_stays_unindexed_after_a_kill(tmp_path: Path, batches: int) -> None:
    path = tmp_path / "memory.db"
    process = subprocess.run([sys.executable, "-c", _CHILD, str(path), str(batches)], check=False, cwd=_ROOT)
    assert process.returncode == 9
    with Memory(path, embedder=WordHashes(), worker=False, extract=None) as memory:
        for number in (0, 1, 498, 499, 500, 501, 999, 1000, 1199):
            hits = memory.recall(f"unique{number}", namespaces="user:ada", top_k=3)
            assert f"Pebble unique{number}" in [hit.text for hit in hits]
        assert memory.recall("granite", namespaces="user:ada")[0].kind == "fact"
        assert memory.stats().indexed == 1201
