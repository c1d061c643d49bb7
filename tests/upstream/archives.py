"""Source archives from the package index: fetched once, checked by a pinned digest, unpacked outside the project."""

from __future__ import annotations

import hashlib
import html
import os
import re
import tarfile
import urllib.parse
import urllib.request
from pathlib import Path


def cache() -> Path:
    """Where archives and what is unpacked from them are kept between runs."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "memorist" / "upstream"


def unpacked(project: str, version: str, sha256: str) -> Path:
    """The folder of a project's source; nothing is unpacked from an archive whose digest is another."""
    target = cache() / f"{project}-{version}-{sha256[:12]}"
    if target.exists():
        return next(target.iterdir())
    data = _archive(project, version)
    digest = hashlib.sha256(data).hexdigest()
    if digest != sha256:
        raise SystemExit(f"{project} {version}: the archive has sha256 {digest}, and {sha256} is pinned")
    partial = target.with_name(target.name + f".{os.getpid()}")
    partial.mkdir(parents=True)
    archive = partial / "archive.tar.gz"
    archive.write_bytes(data)
    with tarfile.open(archive) as packed:
        packed.extractall(partial, filter="data")
    archive.unlink()
    partial.rename(target)
    return next(target.iterdir())


def _archive(project: str, version: str) -> bytes:
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
    page = f"{index}/{project}/"
    names = {f"{project}-{version}.tar.gz", f"{project.replace('-', '_')}-{version}.tar.gz"}
    for link in re.findall(r'href="([^"]+)"', _read(page).decode()):
        url = urllib.parse.urljoin(page, html.unescape(link).partition("#")[0])
        if url.rpartition("/")[2] in names:
            return _read(url)
    raise SystemExit(f"{project} {version}: the index has no source archive of it")


def _read(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=120) as answer:
        data: bytes = answer.read()
    return data
