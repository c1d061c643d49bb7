"""Redocly's linter over the committed OpenAPI document, with its recommended rules; a warning is an error.

python -m tests.server.lint
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.mcp_server.node import environment, installed, node

DOCUMENT = Path(__file__).parents[2] / "docs" / "openapi.json"


def main() -> int:
    program = installed("redocly", ("@redocly/cli@2.73.0",)) / "@redocly" / "cli" / "bin" / "cli.js"
    command = [node(), program, "lint", DOCUMENT, "--extends", "recommended"]
    process = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    output = process.stdout + process.stderr
    print(output)
    return process.returncode or "warning" in output.lower()


if __name__ == "__main__":
    sys.exit(main())
