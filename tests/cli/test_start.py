"""What starting the command line loads: `--help` must not pay for what only commands need."""

from __future__ import annotations

import subprocess
import sys

_HELP = """
import sys
from memorist.cli.main import main
try:
    main(["--help"])
finally:
    heavy = {"importlib.metadata", "asyncio", "sqlite3", "memorist.memory", "memorist_analyze"}
    print("loaded:", sorted(heavy & set(sys.modules)), file=sys.stderr)
"""


def test_help_lists_every_command_and_loads_none() -> None:
    process = subprocess.run([sys.executable, "-c", _HELP], capture_output=True, text=True, check=False)
    assert process.returncode == 0
    assert "  analyze" in process.stdout
    assert process.stderr.strip() == "loaded: []"
