"""Fixtures of the analyser's tests: a cache of their own, and weights that show what every rule proposes."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist_analyze.rules import LOOSE_IDS


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def sure_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every rule is certain and every loose rule improbable, so that a test does not depend on the fitted weights."""
    features = {f"rule:{name}": -4.0 for name in LOOSE_IDS}
    monkeypatch.setattr("memorist_analyze.calibration._weights", lambda: {"bias": 3.0, "features": features})
