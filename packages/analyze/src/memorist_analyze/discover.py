"""Finds the source files of a checkout in sorted order, within size limits, without following symbolic links."""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from memorist_analyze.catalog import storages_of
from memorist_analyze.manifests import Manifest, read_manifests

LANGUAGES = {
    ".py": "python", ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "tsx",
    ".js": "javascript", ".jsx": "javascript", ".mjs": "javascript", ".cjs": "javascript",
}  # fmt: skip

MAX_FILE_BYTES = 1_500_000
MAX_FILES = 60_000
MAX_TOTAL_BYTES = 600_000_000

# Hidden folders are skipped too: they belong to tools.
_SKIPPED_FOLDERS = {
    "node_modules",
    "__pycache__",
    "venv",
    "site-packages",
    "dist",
    "build",
    "out",
    "coverage",
    "egg-info",
}

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
    r"(^test_.*\.py$)|(_test\.py$)|(^conftest\.py$)|(^tests?\.py$)|(^test[-_](utils?|helpers?)\.)|(\.(test|spec|stories|bench|mock|e2e)\.[cm]?[jt]sx?$)"
    r"|(\.d\.[cm]?ts$)|(\.min\.js$)|(\.config\.[cm]?[jt]s$)|(^setup\.py$)|(_pb2(_grpc)?\.py$)"
)

# A folder with more packages than this is considered a folder of adapters (see `_unneeded_adapters`).
_CROWD_PACKAGES = 12
# A checkout with more packages than this is a catalogue of integrations: what one of them stores to is no offer of the
# framework.
_CATALOGUE_MANIFESTS = 400
_CORE_USERS = 5  # a package that this many others need is part of the core
_ADAPTER_SHARE = 0.05  # a larger part of the checkout is a product, not an adapter
_FEW_FILES = 100  # in smaller checkouts, shares are meaningless
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import|import[ \t]+([.\w]+))"
    rb"|(?:from|import|require)[ \t]*\(?[ \t]*[\"'](\.[^\"'\n]+)[\"']",
    re.M,
)
_MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "package.json")


@dataclass(slots=True)
class Source:
    """Describes a source file: its path, language, size in bytes and the folder of its package."""

    path: str
    language: str
    size: int
    package: str


@dataclass(slots=True)
class Checkout:
    """Holds the files and packages of a checkout before parsing. `aside` counts the files that are not analysed, by
    reason (tests, docs, ...), `aside_paths` lists them, and `skipped` contains the path of each file that could not be
    analysed, with the reason. `unneeded_adapters` are package folders left out of the analysis.
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
    sources: list[tuple[str, str, int]] = []
    aside: list[tuple[str, str, int]] = []
    manifests: list[str] = []
    _walk(root, "", checkout, sources, aside, manifests)
    imported = _find_imported_folders(
        root, [path for path, _, _ in sources], {_aside_root(path) for path, _, _ in aside} - {""}
    )
    for path, language, size in aside:
        if _aside_root(path) in imported and not _ASIDE_NAME.search(path.rpartition("/")[2]):
            sources.append((path, language, size))
        else:
            _put_aside(checkout, path, set_aside(path))
    checkout.packages = sorted(manifests) or [""]
    checkout.manifests = read_manifests(root, checkout.packages)
    checkout.unneeded_adapters = _find_unneeded_adapters(checkout.manifests, {path: size for path, _, size in sources})
    adapters = tuple(folder + "/" for folder in checkout.unneeded_adapters)
    total = 0
    for path, language, size in sources:
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
    root: Path,
    relative: str,
    checkout: Checkout,
    sources: list[tuple[str, str, int]],
    aside: list[tuple[str, str, int]],
    manifests: list[str],
) -> None:
    stack = [relative]
    while stack:
        folder = stack.pop()
        below: list[str] = []
        for entry in sorted(os.scandir(root / folder), key=lambda e: e.name):
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_symlink():
                continue  # targets inside the tree are found anyway; targets outside must not be read
            if entry.is_dir():
                if (
                    entry.name not in _SKIPPED_FOLDERS
                    and not entry.name.startswith(".")
                    and not entry.name.endswith(".egg-info")
                ):
                    below.append(path)
            elif entry.name in _MANIFESTS:
                if folder not in manifests and set_aside(path) in ("", "scripts"):
                    manifests.append(folder)
                _consider(path, entry, sources, aside)
            else:
                _consider(path, entry, sources, aside)
        stack.extend(reversed(below))


def _consider(
    path: str, entry: os.DirEntry[str], sources: list[tuple[str, str, int]], aside: list[tuple[str, str, int]]
) -> None:
    language = LANGUAGES.get(os.path.splitext(entry.name)[1])
    if language is not None:
        into = aside if set_aside(path) else sources
        into.append((path, language, entry.stat(follow_symlinks=False).st_size))


def _aside_root(path: str) -> str:
    """Return the folder whose name excludes a file from the analysis, or an empty string."""
    folders = path.split("/")[:-1]
    for at, folder in enumerate(folders):
        if folder.lower() in _ASIDE_SEGMENTS:
            return "/".join(folders[: at + 1])
    return ""


def _find_imported_folders(root: Path, paths: list[str], roots: set[str]) -> set[str]:
    """Return the folders that files outside them import, which means that the product needs them."""
    tails: dict[str, str] = {}
    for folder in sorted(roots):
        parts = folder.split("/")
        tails.update(("/".join(parts[at:]), folder) for at in range(max(1, len(parts) - 1)))
    words = {folder.rpartition("/")[2].encode() for folder in roots}
    imported: set[str] = set()
    for path in paths:
        try:
            data = (root / path).read_bytes() if words else b""
        except OSError:
            continue  # `gather` reports unreadable files when it parses them
        if any(word in data for word in words):
            imported.update(tails[tail] for tail in _prefixes(data, path) if tail in tails)
    return imported


def _prefixes(data: bytes, path: str) -> Iterator[str]:
    """Yield the folders that the imports of a file go through, starting at the root of the checkout or of a package."""
    here = posixpath.dirname(path)
    for match in _IMPORT.finditer(data):
        name = next(group for group in match.groups() if group is not None).decode(errors="replace")
        if match[3] is not None:
            target = posixpath.normpath(posixpath.join(here, name))
        else:
            dots = len(name) - len(name.lstrip("."))
            above = posixpath.normpath(posixpath.join(here, *([".."] * (dots - 1)))) if dots else ""
            target = posixpath.join(above, name.lstrip(".").replace(".", "/"))
        parts = target.split("/")
        yield from ("/".join(parts[: at + 1]) for at in range(len(parts)))


def _put_aside(checkout: Checkout, path: str, reason: str) -> None:
    checkout.aside[reason] = checkout.aside.get(reason, 0) + 1
    checkout.aside_paths.append(path)


def set_aside(path: str) -> str:
    """Return the reason to leave a file out of the analysis (tests, docs, vendored, ...), or an empty string."""
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


def _find_unneeded_adapters(manifests: list[Manifest], sizes: dict[str, int]) -> list[str]:
    """Return the folders of adapter packages to leave out. These are small, come in large numbers, provide no storage,
    and no other package needs them. In a catalogue of integrations, every package that few others need is left out.
    Returns nothing if fewer than ten files would be left to analyse.
    """
    crowds: dict[str, int] = {}
    for manifest in manifests:
        parent = manifest.folder.rpartition("/")[0]
        crowds[parent] = crowds.get(parent, 0) + 1
    is_catalogue = len(manifests) > _CATALOGUE_MANIFESTS
    users = Counter(n for m in manifests for n in m.needs | m.offers)
    needed = {name for name, count in users.items() if count >= (_CORE_USERS if is_catalogue else 1)}
    adapters = [
        m.folder
        for m in manifests
        if m.folder
        and (is_catalogue or crowds[m.folder.rpartition("/")[0]] > _CROWD_PACKAGES)
        and m.name not in needed
        and (is_catalogue or not storages_of(m.needs | m.offers))
    ]
    weights = dict.fromkeys(adapters, 0)
    for path, size in sizes.items():
        owner = _owner(path, adapters)
        if owner:
            weights[owner] += size
    most = _ADAPTER_SHARE * sum(sizes.values())
    adapters = [folder for folder in adapters if weights[folder] <= most or len(sizes) < _FEW_FILES]
    prefixes = tuple(folder + "/" for folder in adapters)
    remaining_files = sum(1 for path in sizes if not path.startswith(prefixes)) if adapters else len(sizes)
    return adapters if remaining_files >= 10 else []
