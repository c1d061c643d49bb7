"""The TypeScript client: made from the committed document, and run against a real server by Node without its types.

The compiler is not in a package of the Python index: `make api-check` fetches it and runs `typescript/check_types.py`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.mcp_server.node import environment, node
from tests.models.wire_server import Reply, anthropic_answer, openai_answer, serving

from .running import running

ROOT = Path(__file__).parents[2]
USE = Path(__file__).parent / "typescript" / "use.ts"


def test_the_client_is_that_of_the_document() -> None:
    process = subprocess.run(
        [sys.executable, ROOT / "scripts" / "make-typescript", "--check"], capture_output=True, text=True, check=False
    )
    assert (process.returncode, process.stdout.strip()) == (0, "up to date")


def test_it_does_what_it_says_against_a_server(tmp_path: Path) -> None:
    with running(tmp_path / "memory.db") as server:
        keys = [server.key(org="typescript"), server.key(org="typescript", roles=("reader",))]
        process = subprocess.run(
            [node(), "--no-warnings", USE, server.url, *keys], env=environment(), capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
    assert (process.returncode, process.stdout.strip()) == (0, "all is well"), process.stderr


@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_the_example_chats_with_memory(tmp_path: Path, format: str) -> None:
    example = ROOT / "clients" / "typescript" / "examples" / "chat.ts"
    answer = openai_answer("Try Prado.") if format == "openai" else anthropic_answer("Try Prado.")
    with running(tmp_path / "memory.db", extract="rules") as server, serving() as provider:
        provider.script.append(Reply(answer))
        arguments = [server.url, server.key(org="typescript"), format, provider.url]
        process = subprocess.run(
            [node(), "--no-warnings", example, *arguments], env=environment(), capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
        assert process.returncode == 0, process.stderr
        request = provider.requests[0]
    assert "memory is in it: true" in process.stdout and "answer: Try Prado." in process.stdout
    assert process.stdout.count("remembered: ") >= 2 and "shellfish" in process.stdout.partition("answer:")[2]
    assert request["messages"][-1]["role"] == "user" and "shellfish" in str(request)
    assert (request["messages"][0]["role"] == "system") == (format == "openai")
    assert ("system" in request) == (format == "anthropic") and "tools" not in request
