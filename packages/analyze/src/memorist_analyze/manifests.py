"""Reads the names and dependencies of packages from pyproject.toml, setup.cfg, setup.py (which is not run) and
package.json."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9@][A-Za-z0-9._/@-]*")
_QUOTED = re.compile(r"""["']([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*(?:[<>=~!;][^"']*)?["']""")
_FOR_WORK = re.compile(
    r"^(dev|test|tests|testing|docs?|lint|style|build|ci|typing|typecheck|benchmarks?|examples?)", re.I
)
_MAX_FILE_BYTES = 400_000


@dataclass(slots=True)
class Manifest:
    """Describes one package: its folder, name, dependencies (`needs`) and optional or peer dependencies (`offers`)."""

    folder: str
    name: str = ""
    needs: set[str] = field(default_factory=set)
    offers: set[str] = field(default_factory=set)


def read_manifests(root: Path, folders: list[str]) -> list[Manifest]:
    """Return the manifests in these folders. A manifest that cannot be parsed has no name and no dependencies."""
    return [_read(root, folder) for folder in folders]


def _read(root: Path, folder: str) -> Manifest:
    manifest = Manifest(folder)
    for name, reader in (
        ("pyproject.toml", _pyproject),
        ("setup.cfg", _setup),
        ("setup.py", _setup),
        ("package.json", _npm),
    ):
        path = root / folder / name
        if path.is_file() and path.stat().st_size <= _MAX_FILE_BYTES:
            reader(path.read_text(encoding="utf-8", errors="replace"), manifest)
    return manifest


def _pyproject(text: str, manifest: Manifest) -> None:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    project = _table(data.get("project"))
    poetry = _table(_table(data.get("tool")).get("poetry"))
    manifest.name = str(project.get("name") or poetry.get("name") or "")
    manifest.needs |= {_plain(d) for d in _strings(project.get("dependencies"))}
    for extra, needed in _table(project.get("optional-dependencies")).items():
        if not _FOR_WORK.match(extra):
            manifest.offers |= {_plain(d) for d in _strings(needed)}
    for name, how in _table(poetry.get("dependencies")).items():
        (manifest.offers if isinstance(how, dict) and how.get("optional") else manifest.needs).add(_plain(name))


def _setup(text: str, manifest: Manifest) -> None:
    # setup.py is not run, so required and optional dependencies cannot be told apart: all count as optional.
    manifest.offers |= {_plain(d) for d in _QUOTED.findall(text)}
    manifest.offers |= {_plain(d) for d in re.findall(r"^\s+([A-Za-z][\w.-]+)\s*(?:\[[^\]]*\])?\s*[<>=~!]", text, re.M)}


def _npm(text: str, manifest: Manifest) -> None:
    try:
        data = json.loads(text)
    except json.JSONDecodeError:
        return
    data = _table(data)
    manifest.name = str(data.get("name") or manifest.name)
    manifest.needs |= set(_table(data.get("dependencies")))
    for group in ("peerDependencies", "optionalDependencies"):
        manifest.offers |= set(_table(data.get(group)))


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _strings(value: Any) -> list[str]:
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []


def _plain(requirement: str) -> str:
    match = _NAME.match(requirement.strip())
    return match.group(0).split("[")[0] if match else ""
