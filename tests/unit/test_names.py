"""Names say what a thing is: words that only say that something happened to it are no names."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import memorist

SOURCE = Path(memorist.__file__).parent
ROOT = Path(__file__).parents[2]
OTHER_FOLDERS = ("packages/analyze/src", "packages/testing/src", "bench", "examples", "tests")
EMPTY_NAMES = {"found", "made", "given", "said", "told", "kept", "known", "place", "one"}
"""Nouns say more: `rows`, `record`, `options`, `statement`, `retained`, `facts`, `index`, `message`."""
PARTICIPLES = {"looked", "swept", "wanted", "doomed", "mine", "there", "meant", "judged", "revived", "aged", "surer"}
"""Functions say what they do or return: `record_sweep`, `is_wanted`, `judge_note`."""
PUBLIC_NAMES = {
    "context/context.py": {"kept"},
    "context/manifest.py": {"kept"},
    "engine/forgetting/forget.py": {"found"},
    "importing/items.py": {"place"},
    "importing/report.py": {"found", "known"},
    "mcp/shown.py": {"found", "kept"},
    "protocol/nouns/functions.py": {"made", "said"},
    "protocol/server_nouns.py": {"kept", "made", "place"},
    "recall/hit.py": {"place"},
    "stores/base.py": {"found"},
}
"""Fields of records, reports and requests that users already read or send. None is added."""


def test_only_fields_that_users_know_have_names_that_say_nothing() -> None:
    assert _empty_names_below(SOURCE) == PUBLIC_NAMES


@pytest.mark.parametrize("folder", OTHER_FOLDERS)
def test_names_outside_the_library_say_what_a_thing_is(folder: str) -> None:
    assert _empty_names_below(ROOT / folder) == {}


def test_an_empty_name_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    module = tmp_path / "inner" / "module.py"
    module.write_text("def told(one):\n    found = row = one\n    return found, row\n", "utf-8")
    assert _empty_names_below(tmp_path) == {"inner/module.py": {"found", "one", "told"}}


def _empty_names_below(folder: Path) -> dict[str, set[str]]:
    """The words that say nothing in each module of a folder that has some."""
    names = {path.relative_to(folder).as_posix(): set(_empty_names(path)) for path in folder.rglob("*.py")}
    return {path: words for path, words in names.items() if words}


def test_no_function_is_named_by_a_participle_alone() -> None:
    trees = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}
    named = [
        f"{path}: {node.name}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.strip("_") in PARTICIPLES
    ]
    assert named == []


def _empty_names(path: Path) -> Iterator[str]:
    """The functions, parameters and variables of a module that have such a name."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.arg(arg=name):
                pass
            case ast.Name(id=name, ctx=ast.Store()):
                pass
            case _:
                continue
        if name.strip("_") in EMPTY_NAMES:
            yield name
