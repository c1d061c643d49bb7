"""What a memory is opened with, and which store that gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Memory, NothingLasts


@pytest.mark.parametrize("url", ["memory://", ":memory:"])
def test_ram_has_two_names_and_says_that_nothing_lasts(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.warns(NothingLasts), Memory(url, embedder=None, worker=False) as memory:
        memory.facts.set("global", "city", "Porto")
        assert memory._core.store.name == "memory"
    assert list(tmp_path.iterdir()) == []
