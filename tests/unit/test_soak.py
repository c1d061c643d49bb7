"""The parts of `make soak` exist, and every test that has a larger size for the soak is in one."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOAK = runpy.run_path(str(ROOT / "scripts" / "soak"))
NAMED = [ROOT / word for words in SOAK["PARTS"].values() for word in words if word.startswith("tests/")]


def test_every_part_names_tests_that_exist() -> None:
    assert [path for path in NAMED if not path.exists()] == []
    assert set(SOAK["SETTINGS"]) <= set(SOAK["PARTS"])


def test_every_test_with_a_size_for_the_soak_is_in_a_part() -> None:
    sized = [path for path in ROOT.glob("tests/*/test_*.py") if "SOAK" in path.read_text() and path != Path(__file__)]
    assert len(sized) > 20
    assert [path for path in sized if not {path, path.parent} & set(NAMED)] == []
