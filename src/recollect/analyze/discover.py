"""Find the source files of a checkout: bounded, sorted, and never outside the tree."""

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

# Path segments that put a file aside, and the reason a report gives.
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

# A folder with more packages than this holds adapters; those nobody else in the checkout needs are set aside.
_CROWD = 12
_MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "package.json")


@dataclass(slots=True)
class Source:
    """A source file: where it is, what it is, and which package owns it."""

    path: str
    language: str
    size: int
    package: str


@dataclass(slots=True)
class Checkout:
    """Everything found below a root before any parsing."""

    root: Path
    sources: list[Source] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    manifests: list[Manifest] = field(default_factory=list)
    aside: dict[str, int] = field(default_factory=dict)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    aside_paths: list[str] = field(default_factory=list)


def discover(root: Path) -> Checkout:
    """Walk a checkout in sorted order and sort its files into sources and files set aside."""
    checkout = Checkout(root)
    found: list[tuple[str, str, int]] = []
    manifests: list[str] = []
    _walk(root, "", checkout, found, manifests)
    checkout.packages = sorted(manifests) or [""]
    checkout.manifests = read_manifests(root, checkout.packages)
    checkout.hosts = _hosts(checkout.manifests, [path for path, _, _ in found])
    hosts = tuple(host + "/" for host in checkout.hosts)
    total = 0
    for path, language, size in found:
        total += size
        if len(checkout.sources) >= MAX_FILES or total > MAX_TOTAL_BYTES:
            checkout.skipped.append((path, "over the size bound of one analysis"))
        elif size > MAX_FILE_BYTES:
            checkout.skipped.append((path, f"larger than {MAX_FILE_BYTES} bytes"))
        elif path.startswith(hosts):
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
                continue  # a link inside the tree is read where it points; one outside must not be read
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
    """Why a file is not the framework itself (tests, docs, examples, vendored …), or an empty string."""
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


def _hosts(manifests: list[Manifest], paths: list[str]) -> list[str]:
    """Packages of a crowd that no other package needs and that bring no storage, unless nothing else would be left."""
    crowds: dict[str, int] = {}
    for manifest in manifests:
        parent = manifest.folder.rpartition("/")[0]
        crowds[parent] = crowds.get(parent, 0) + 1
    needed = {n for m in manifests for n in m.needs | m.offers}
    hosts = [
        m.folder
        for m in manifests
        if m.folder
        and crowds[m.folder.rpartition("/")[0]] > _CROWD
        and m.name not in needed
        and not storages_of(m.needs | m.offers)
    ]
    prefixes = tuple(h + "/" for h in hosts)
    left = sum(1 for path in paths if not path.startswith(prefixes)) if hosts else len(paths)
    return hosts if left >= 10 else []
