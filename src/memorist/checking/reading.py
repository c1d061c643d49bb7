"""Reads cases from YAML and JSON files, and from Python files that define `cases`."""

from __future__ import annotations

import os
import runpy
import traceback
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from ..errors import InvalidValue, UsageError
from ..extras import install_command
from ..values import JsonObject
from .cases import FILE_ENDINGS, Case
from .expectations import check_forms

SKIPPED_FOLDERS = ("node_modules", "venv", "build", "dist", "site-packages")


class CaseFile(msgspec.Struct, frozen=True):
    """Holds the cases of a file and its fixtures."""

    path: Path
    cases: tuple[Case, ...]
    fixtures: JsonObject = {}


def find_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the named files, and the case files in the named folders."""
    for path in paths:
        if path.is_dir():
            for folder, folders, names in os.walk(path):
                folders[:] = sorted(
                    name for name in folders if not name.startswith(".") and name not in SKIPPED_FOLDERS
                )
                yield from (Path(folder) / name for name in sorted(names) if name.endswith(FILE_ENDINGS))
        elif path.exists():
            yield path
        else:
            raise UsageError(f"{str(path)!r} does not exist")


def read_cases(path: Path) -> CaseFile:
    """Read a file of cases.

    Raises `InvalidValue` if the file is invalid, and names the case and the field.
    """
    if path.suffix == ".py":
        return _checked(path, [_convert(path, case) for case in _run_file(path)], {})
    content = _read_data(path)
    if not isinstance(content, Mapping) or not isinstance(content.get("cases"), list):
        raise InvalidValue(f"{path.name}: a case file needs a list `cases`")
    unknown = set(content) - {"cases", "defaults", "fixtures"}
    if unknown:
        raise InvalidValue(f"{path.name}: unknown fields {sorted(unknown)}; use `cases`, `defaults` and `fixtures`")
    defaults = content.get("defaults") or {}
    cases = [
        _convert(path, {**defaults, **fields} if isinstance(fields, Mapping) else fields) for fields in content["cases"]
    ]
    return _checked(path, cases, dict(content.get("fixtures") or {}))


def _run_file(path: Path) -> list[object]:
    """Run a Python file, and return its `cases`."""
    try:
        cases = runpy.run_path(str(path)).get("cases")
    except Exception as problem:
        own = [frame.lineno for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == str(path)]
        line = problem.lineno if isinstance(problem, SyntaxError) else next(reversed(own), None)
        raise InvalidValue(f"{path.name}, line {line}: {type(problem).__name__}: {problem}") from problem
    if not isinstance(cases, list | tuple):
        raise InvalidValue(f"{path.name}: a case file needs a list `cases`")
    return list(cases)


def _read_data(path: Path) -> object:
    if path.suffix == ".json":
        try:
            return msgspec.json.decode(path.read_bytes())
        except msgspec.DecodeError as problem:
            raise InvalidValue(f"{path.name} is not JSON: {problem}") from problem
    try:
        import yaml
    except ModuleNotFoundError as problem:
        raise UsageError(f"cases in YAML need PyYAML; install it with: {install_command('testing')}") from problem
    try:
        return yaml.safe_load(path.read_text("utf-8"))
    except yaml.YAMLError as problem:
        raise InvalidValue(f"{path.name} is not YAML: {problem}") from problem


def _convert(path: Path, fields: object) -> Case:
    if isinstance(fields, Case):
        return msgspec.structs.replace(fields, file=str(path))
    if not isinstance(fields, Mapping):
        raise InvalidValue(f"{path.name}: a case is a `Case` or a mapping of its fields, not {fields!r}")
    name = fields.get("name", "?")
    valid = set(Case.__struct_encode_fields__) - {"file"}
    unknown = sorted(set(fields) - valid)
    if unknown:
        raise InvalidValue(f"{path.name}, case {name!r} has unknown fields {unknown}; use {', '.join(sorted(valid))}")
    try:
        return msgspec.convert({**fields, "file": str(path)}, Case)
    except (msgspec.ValidationError, TypeError) as problem:
        raise InvalidValue(f"{path.name}, case {name!r}: {problem}") from problem


def _checked(path: Path, cases: list[Case], fixtures: JsonObject) -> CaseFile:
    seen: set[str] = set()
    for case in cases:
        if case.slug in seen:
            raise InvalidValue(f"{path.name}: two cases have the name {case.name!r}")
        seen.add(case.slug)
        if not any(case.expectations()) and not case.snapshot:
            raise InvalidValue(f"{path.name}, case {case.name!r}: it has no expectation, so it can never fail")
        try:
            check_forms(case)
            case.pieces(fixtures)
        except InvalidValue as problem:
            raise InvalidValue(f"{path.name}, {problem}") from problem
    return CaseFile(path, tuple(cases), fixtures)
