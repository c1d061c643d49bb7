"""A quiet memory to import into, and the samples that real packages wrote (see samples/make)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory

DATA = Path(__file__).parent / "data"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A memory in a file, without embedder and worker."""
    with Memory(tmp_path / "memory.db", embedder=None, counter="estimate", worker=False) as opened:
        yield opened


def expected(name: str) -> Any:
    """What the package that wrote a sample gave back itself."""
    return json.loads((DATA / f"{name}.expected.json").read_text("utf-8"))
