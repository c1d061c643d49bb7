"""The analyser is a package of its own: the library works without it, and shows it only where it is installed."""

from __future__ import annotations

import ast
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import memorist
from memorist.server.dispatch import served_operations


def test_nothing_in_the_library_imports_the_analyser() -> None:
    for path in Path(memorist.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
        names += [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
        assert not [name for name in names if name.startswith("memorist_analyze")], path


def test_the_package_brings_its_command_and_its_report() -> None:
    assert [p.name for p in entry_points(group="memorist.commands") if "analyze" in p.value] == ["analyze"]
    assert [p.value for p in entry_points(group="memorist.analyzers")] == ["memorist_analyze.report:report_on"]


def test_the_server_answers_for_the_analyser_only_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "analyses" in {operation.noun for operation in served_operations()}
    monkeypatch.setattr("memorist.server.dispatch.installed_analyzer", lambda: None)
    assert "analyses" not in {operation.noun for operation in served_operations()}
