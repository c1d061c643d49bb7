"""For the tests that break things."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def ram_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in RAM where there is one: these tests model the disk themselves, and real syncs would only be slow."""
    shm = Path("/dev/shm")
    if not shm.is_dir():
        yield tmp_path
        return
    place = Path(tempfile.mkdtemp(prefix="recollect-", dir=shm))
    yield place
    shutil.rmtree(place)
