"""Which files of a checkout are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist.errors import UsageError
from memorist_analyze import discover as module
from memorist_analyze.analysis import analyze
from memorist_analyze.discover import discover, set_aside

from .reading import write


def paths(root: Path) -> list[str]:
    return [s.path for s in discover(root).sources]


def test_sources_are_found_in_sorted_order(tmp_path: Path) -> None:
    write(tmp_path, {"b.py": "", "a/z.ts": "", "a/b.tsx": "", "a/notes.txt": "", "c.mjs": ""})
    assert paths(tmp_path) == ["b.py", "c.mjs", "a/b.tsx", "a/z.ts"]


def test_hidden_folders_are_not_read(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "", ".tool/skills/b.py": "", "src/.cache/c.py": "", "src/d.py": ""})
    assert paths(tmp_path) == ["a.py", "src/d.py"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("src/agent.py", ""),
        ("tests/agent.py", "tests"),
        ("src/test_agent.py", "tests"),
        ("src/agent.test.ts", "tests"),
        ("docs/conf.py", "docs"),
        ("examples/chat.py", "examples"),
        ("vendor/lib.js", "vendored"),
        ("src/types.d.ts", "tests"),
        ("src/latest.py", ""),
        ("src/contest/agent.py", ""),
    ],
)
def test_tests_docs_examples_and_vendored_code_are_set_aside(path: str, reason: str) -> None:
    assert set_aside(path) == reason


def test_files_set_aside_are_counted_by_reason(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "", "tests/b.py": "", "tests/c.py": "", "docs/d.py": "", "node_modules/x/e.js": ""})
    assert discover(tmp_path).aside == {"tests": 2, "docs": 1}


def test_symlinks_are_not_followed_out_of_the_tree(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret.py": "x = 1"})
    inside = write(tmp_path / "inside", {"a.py": ""})
    (inside / "link").symlink_to(outside)
    (inside / "link.py").symlink_to(outside / "secret.py")
    assert paths(inside) == ["a.py"]


def test_a_symlink_that_loops_does_not_hang(tmp_path: Path) -> None:
    write(tmp_path, {"a/b.py": ""})
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    assert paths(tmp_path) == ["a/b.py"]


def test_a_file_over_the_bound_is_reported_and_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILE_BYTES", 10)
    write(tmp_path, {"big.py": "x = 1\n" * 10, "small.py": "x = 1"})
    checkout = discover(tmp_path)
    assert [s.path for s in checkout.sources] == ["small.py"]
    assert checkout.skipped == [("big.py", "larger than 10 bytes")]


def test_files_past_the_number_bound_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILES", 1)
    write(tmp_path, {"a.py": "", "b.py": ""})
    assert discover(tmp_path).skipped == [("b.py", "over the size bound of one analysis")]


def test_packages_of_a_monorepo_are_found_and_own_their_files(tmp_path: Path) -> None:
    write(tmp_path, {"core/pyproject.toml": "", "core/a.py": "", "web/package.json": "", "web/b.ts": "", "c.py": ""})
    checkout = discover(tmp_path)
    assert checkout.packages == ["core", "web"]
    assert {s.path: s.package for s in checkout.sources} == {"c.py": "", "core/a.py": "core", "web/b.ts": "web"}


def _crowd(count: int) -> dict[str, str]:
    """A folder of packages that each need the core, and which nobody needs."""
    files: dict[str, str] = {}
    for at in range(count):
        files[f"more/p{at}/pyproject.toml"] = f'[project]\nname = "p{at}"\ndependencies = ["core"]\n'
        files[f"more/p{at}/a.py"] = ""
    return files


def test_packages_of_a_crowd_that_nobody_needs_are_set_aside(tmp_path: Path) -> None:
    files = {f"core/m{i}.py": "" for i in range(12)} | _crowd(14)
    files["core/pyproject.toml"] = '[project]\nname = "core"\n[project.optional-dependencies]\nmore = ["p3>=1"]\n'
    files["more/p5/pyproject.toml"] = '[project]\nname = "p5"\ndependencies = ["redis"]\n'
    checkout = discover(write(tmp_path, files))
    assert "more/p3" not in checkout.unneeded_adapters, "the core needs it"
    assert "more/p5" not in checkout.unneeded_adapters, "it brings a storage"
    assert len(checkout.unneeded_adapters) == 12
    assert checkout.aside == {"other packages": 12}


@pytest.mark.parametrize("folder", ["apps/cli", "plugins/agent", "server", "integrations/x", "packages/observer"])
def test_no_word_in_a_folders_name_sets_a_package_aside(folder: str, tmp_path: Path) -> None:
    files = {f"{folder}/package.json": '{"name": "x"}', f"{folder}/a.ts": "", "core/package.json": "{}"}
    files |= {f"core/m{i}.ts": "" for i in range(12)}
    assert f"{folder}/a.ts" in paths(write(tmp_path, files))


@pytest.mark.parametrize(
    ("reader", "line", "path"),
    [
        ("core/run.py", "from core.playground.memory import fit", "core/playground/memory.py"),
        ("core/run.py", "from .playground import memory", "core/playground/memory.py"),
        ("core/src/run.ts", "import { fit } from './playground/memory'", "core/src/playground/memory.ts"),
    ],
)
def test_a_folder_that_the_product_imports_is_read_whatever_it_is_called(
    reader: str, line: str, path: str, tmp_path: Path
) -> None:
    files = {reader: line + "\n", path: "", "examples/playground/memory.py": ""}
    assert sorted(paths(write(tmp_path, files))) == sorted([reader, path])


def test_a_large_package_of_a_crowd_is_a_product_and_no_adapter(tmp_path: Path) -> None:
    files = {f"core/m{i}.py": "x = 1\n" for i in range(120)} | _crowd(14)
    files["more/p7/b.py"] = "x = 1\n" * 200
    sources = paths(write(tmp_path, files))
    assert "more/p7/b.py" in sources
    assert "more/p8/a.py" not in sources


def test_packages_are_kept_when_nothing_else_would_be_left(tmp_path: Path) -> None:
    assert len(paths(write(tmp_path, _crowd(14)))) == 14


def test_a_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a folder"):
        analyze(tmp_path / "missing")
