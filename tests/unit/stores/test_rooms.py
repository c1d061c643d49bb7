"""Every store keeps the same jobs in files of the same names."""

from pathlib import Path

import pytest

import memorist.stores

FOLDER = Path(memorist.stores.__file__).parent
JOBS = ("store", "changes", "errors", "health", "rows", "schema", "scrub")


@pytest.mark.parametrize("store", ["sqlite", "postgres", "redis"])
def test_a_store_has_a_file_for_each_job(store: str) -> None:
    assert [job for job in JOBS if not (FOLDER / store / f"{job}.py").is_file()] == []
