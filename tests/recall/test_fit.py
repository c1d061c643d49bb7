"""The shipped weights: what they hold, and that the same data gives the same bytes."""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from memorist.recall.features import FEATURES
from memorist.recall.ranking import weights_file

BENCH = Path(__file__).parents[2] / "bench" / "recall"
THINGS = ("violin", "canoe", "telescope", "orchard", "bicycle", "sourdough")
PLACES = ("Lisbon", "Oslo", "Porto", "Bergen", "Faro", "Turin")


def conversation(number: int) -> dict[str, Any]:
    """A small chat in the neutral format of the benchmarks, with a question for each thing told."""
    turns, questions = [], []
    for day, thing in enumerate(THINGS):
        at = f"2024-03-{day + 1:02}T10:00:00"
        town = PLACES[(day + number) % len(PLACES)]
        for step, (speaker, text) in enumerate(
            [("user", f"I bought a {thing} in {town} today."), ("assistant", "That sounds lovely, enjoy it.")]
        ):
            turns.append({"id": f"{day}-{step}", "session": str(day), "speaker": speaker, "text": text, "at": at})
        questions.append(
            {"id": f"{number}-{day}", "text": f"Where did I buy the {thing}?", "category": "one",
             "gold": [f"{day}-0"], "asked_at": "2024-04-01T10:00:00", "visible_turns": None}
        )  # fmt: skip
    return {"id": str(number), "turns": turns, "questions": questions}


@pytest.fixture
def fit(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    import fit as module  # type: ignore[import-not-found]

    yield module
    for name in ("fit", "pools", "stored"):
        sys.modules.pop(name, None)


def test_a_fit_of_the_same_data_gives_the_same_weights(
    fit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "proactive.json"
    body = {"name": "small", "evidence": "turns", "conversations": [conversation(number) for number in range(3)]}
    (tmp_path / name).write_text(json.dumps(body), encoding="utf-8")
    texts = []
    for run in ("first", "second"):
        monkeypatch.setattr("tempfile.gettempdir", lambda run=run: str(tmp_path / run))  # nothing is kept between them
        rows = fit.rows_of(tmp_path, name, vectors=True)
        table = fit.fit_calibration(rows, fit.fit_weights(rows))
        texts.append(json.dumps([table.features, table.evidence, table.hit]))
    assert texts[0] == texts[1]
    assert any(value > 0 for value in json.loads(texts[0])[0].values())


def test_the_shipped_weights_are_written_as_the_fit_writes_them() -> None:
    text = (files("memorist.recall") / "weights.json").read_text("utf-8")
    assert text == json.dumps(json.loads(text), indent=1) + "\n"
    shipped = weights_file()
    assert len(FEATURES) <= 15
    assert all(set(table.features) <= set(FEATURES) for table in shipped.tables.values())


def test_the_weights_name_only_data_that_may_be_fitted_on(fit: Any) -> None:
    data = weights_file().origin["data"]
    assert set(data) == {name.replace(".named", ".json") for name in fit.FITTED_SETS}
    assert not set(data) & set(fit.MEASURE_ONLY)
