"""The peers' own environment, `.venv-peers`: made once, and what does not install is told and not hidden."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
VENV = ROOT / ".venv-peers"
PYTHON = VENV / "bin" / "python"
PACKAGES = (
    "openai-agents",
    "langgraph langgraph-checkpoint-sqlite",
    "llama-index-core aiosqlite",
    "agno sqlalchemy",
    "google-adk",
    "strands-agents",
    "mem0ai",
    "pydantic-ai-slim",
)


def prepare() -> dict[str, str]:
    """Make the environment where it is missing; the first package of each line, with why it did not install."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    requirements = " ".join(PACKAGES).split()
    if set(requirements) <= set(versions()) or _install(requirements) is None:
        return {}
    # Not all together: then one by one, to know which.
    failed = {line.split()[0]: _install(line.split()) for line in PACKAGES}
    return {name: why for name, why in failed.items() if why is not None}


def versions() -> dict[str, str]:
    """What is installed there."""
    code = "import importlib.metadata as m; print('\\n'.join(f'{d.name} {d.version}' for d in m.distributions()))"
    out = subprocess.run([str(PYTHON), "-c", code], check=True, capture_output=True, text=True).stdout
    return {name.lower().replace("_", "-"): version for name, version in (line.split() for line in out.splitlines())}


def _install(packages: list[str]) -> str | None:
    command = [str(PYTHON), "-m", "pip", "-qq", "--disable-pip-version-check", "install", *packages]
    process = subprocess.run(command, capture_output=True, text=True)
    return None if process.returncode == 0 else (process.stderr.strip().splitlines() or ["pip failed"])[-1][:200]
