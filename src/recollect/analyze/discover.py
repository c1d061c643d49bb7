"""Find the source files of a checkout in sorted order, within size limits, without following symbolic links."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from recollect.analyze.catalog import storages_of
from recollect.analyze.manifests import Manifest, read_manifests

LANGUAGES = {
    ".py": "python", ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "tsx",
    ".js": "javascript", ".jsx": "javascript", ".mjs": "javascript", ".cjs": "javascript",
}  # fmt: skip

MAX_FILE_BYTES = 1_500_000
MAX_FILES = 60_000
MAX_TOTAL_BYTES = 600_000_000

_NEVER = {
    ".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".next", ".turbo",
    "site-packages", "dist", "build", "out", "coverage", ".cache", ".idea", ".yarn", ".pnpm-store", "egg-info",
}  # fmt: skip

# Folder names whose files are not analysed, and the reason given in the report.
_ASIDE_SEGMENTS = {
    "tests": "tests", "test": "tests", "__tests__": "tests", "__mocks__": "tests", "testing": "tests", "spec": "tests",
    "specs": "tests", "e2e": "tests", "fixtures": "tests", "mocks": "tests", "test_utils": "tests",
    "test-utils": "tests", "testdata": "tests", "integration-tests": "tests", "integration_tests": "tests",
    "tests_integ": "tests", "unit_tests": "tests", "standard-tests": "tests", "evals": "tests", "evaluation": "tests",
    "benchmark": "tests", "benchmarks": "tests", "stories": "tests", "_test_config": "tests",
    "docs": "docs", "doc": "docs", "website": "docs", "documentation": "docs",
    "example": "examples", "examples": "examples", "samples": "examples", "sample": "examples", "demo": "examples",
    "demos": "examples", "cookbook": "examples", "cookbooks": "examples", "playground": "examples",
    "tutorials": "examples", "notebooks": "examples", "quickstart": "examples", "create-app": "examples",
    "vendor": "vendored", "vendored": "vendored", "third_party": "vendored", "third-party": "vendored",
    "_vendor": "vendored", "generated": "generated", "__generated__": "generated",
    "scripts": "scripts", "migrations": "scripts", "alembic": "scripts", "tools_dev": "scripts",
}  # fmt: skip
_ASIDE_NAME = re.compile(
    r"(^test_.*\.py$)|(_test\.py$)|(^conftest\.py$)|(^tests?\.py$)|(\.(test|spec|stories|bench|mock|e2e)\.[cm]?[jt]sx?$)"
    r"|(\.d\.[cm]?ts$)|(\.min\.js$)|(\.config\.[cm]?[jt]s$)|(^setup\.py$)|(_pb2(_grpc)?\.py$)"
)

# A folder with more packages than this is taken for a folder of adapters (see `_unneeded_adapters`).
_CROWD = 12
_MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "package.json")


@dataclass(slots=True)
class Source:
    """A source file: its path, language, size in bytes and the folder of its package."""

    path: str
    language: str
    size: int
    package: str


@dataclass(slots=True)
class Checkout:
    """The files and packages of a checkout, before any parsing.

    `aside` counts the files that are not analysed by reason (tests, docs, ...), `aside_paths` lists them, and `skipped`
    pairs the path of each file that could not be analysed with the reason. `unneeded_adapters` are package folders left
    out of the analysis.
    """

    root: Path
    sources: list[Source] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    unneeded_adapters: list[str] = field(default_factory=list)
    manifests: list[Manifest] = field(default_factory=list)
    aside: dict[str, int] = field(default_factory=dict)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    aside_paths: list[str] = field(default_factory=list)


def discover(root: Path) -> Checkout:
    """Walk a checkout in sorted order and divide its files into sources and files that are not analysed."""
    checkout = Checkout(root)
    found: list[tuple[str, str, int]] = []
    manifests: list[str] = []
    _walk(root, "", checkout, found, manifests)
    checkout.packages = sorted(manifests) or [""]
    checkout.manifests = read_manifests(root, checkout.packages)
    checkout.unneeded_adapters = _unneeded_adapters(checkout.manifests, [path for path, _, _ in found])
    adapters = tuple(folder + "/" for folder in checkout.unneeded_adapters)
    total = 0
    for path, language, size in found:
        total += size
        if len(checkout.sources) >= MAX_FILES or total > MAX_TOTAL_BYTES:
            checkout.skipped.append((path, "over the size bound of one analysis"))
        elif size > MAX_FILE_BYTES:
            checkout.skipped.append((path, f"larger than {MAX_FILE_BYTES} bytes"))
        elif path.startswith(adapters):
            _put_aside(checkout, path, "other packages")
        else:
            checkout.sources.append(Source(path, language, size, _owner(path, checkout.packages)))
    return checkout


def _walk(
    root: Path, relative: str, checkout: Checkout, found: list[tuple[str, str, int]], manifests: list[str]
) -> None:
    stack = [relative]
    while stack:
        folder = stack.pop()
        below: list[str] = []
        for entry in sorted(os.scandir(root / folder), key=lambda e: e.name):
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_symlink():
                continue  # a target inside the tree is found by itself; one outside must not be read
            if entry.is_dir():
                if entry.name not in _NEVER and not entry.name.endswith(".egg-info"):
                    below.append(path)
            elif entry.name in _MANIFESTS:
                if folder not in manifests and set_aside(path) in ("", "scripts"):
                    manifests.append(folder)
                _consider(path, entry, checkout, found)
            else:
                _consider(path, entry, checkout, found)
        stack.extend(reversed(below))


def _consider(path: str, entry: os.DirEntry[str], checkout: Checkout, found: list[tuple[str, str, int]]) -> None:
    language = LANGUAGES.get(os.path.splitext(entry.name)[1])
    if language is None:
        return
    reason = set_aside(path)
    if reason:
        _put_aside(checkout, path, reason)
    else:
        found.append((path, language, entry.stat(follow_symlinks=False).st_size))


def _put_aside(checkout: Checkout, path: str, reason: str) -> None:
    checkout.aside[reason] = checkout.aside.get(reason, 0) + 1
    checkout.aside_paths.append(path)


def set_aside(path: str) -> str:
    """The reason to leave a file out of the analysis (tests, docs, examples, vendored, ...), or an empty string."""
    *folders, name = path.split("/")
    for folder in folders:
        reason = _ASIDE_SEGMENTS.get(folder.lower())
        if reason:
            return reason
    return "tests" if _ASIDE_NAME.search(name) else ""


def _owner(path: str, packages: list[str]) -> str:
    best = ""
    for package in packages:
        if (not package or path.startswith(package + "/")) and len(package) >= len(best):
            best = package
    return best


def _unneeded_adapters(manifests: list[Manifest], paths: list[str]) -> list[str]:
    """Folders of adapter packages to leave out: many side by side, needed by no other package, without a storage.

    Returns none if fewer than ten files would be left to analyse.
    """
    crowds: dict[str, int] = {}
    for manifest in manifests:
        parent = manifest.folder.rpartition("/")[0]
        crowds[parent] = crowds.get(parent, 0) + 1
    needed = {n for m in manifests for n in m.needs | m.offers}
    adapters = [
        m.folder
        for m in manifests
        if m.folder
        and crowds[m.folder.rpartition("/")[0]] > _CROWD
        and m.name not in needed
        and not storages_of(m.needs | m.offers)
    ]
    prefixes = tuple(folder + "/" for folder in adapters)
    left = sum(1 for path in paths if not path.startswith(prefixes)) if adapters else len(paths)
    return adapters if left >= 10 else []
