"""Adapters import what a framework documents: a private module or name may move in any release."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import memorist
import memorist_testing

PATHS = [
    *sorted((Path(memorist.__file__).parent / "adapters").rglob("*.py")),
    *sorted(Path(memorist_testing.__file__).parent.glob("langgraph_*.py")),
]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_an_adapter_imports_only_public_names_of_its_framework(path: Path) -> None:
    assert list(_private_imports(ast.parse(path.read_text("utf-8")))) == []


@pytest.mark.parametrize(
    "line", ["from a._b import c", "from a.b import _c", "import a._b", "from a import b, _c as d", "import _a"]
)
def test_a_private_import_is_noticed(line: str) -> None:
    assert len(list(_private_imports(ast.parse(line)))) == 1


@pytest.mark.parametrize(
    "line",
    ["from ._handles import x", "from __future__ import annotations", "import a.b", "from a.b import __version__"],
)
def test_our_own_modules_and_dunder_names_are_not_meant(line: str) -> None:
    assert list(_private_imports(ast.parse(line))) == []


def _private_imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            paths = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            paths = [alias.name for alias in node.names]
        else:
            continue
        for path in paths:
            if any(part.startswith("_") and not part.startswith("__") for part in path.split(".")):
                yield path
