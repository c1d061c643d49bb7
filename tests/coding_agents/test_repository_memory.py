"""The MCP server that an installation configures: it shares a repository's notes with the hooks, and with no other
repository."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from memorist.agents.projects import project_of
from memorist.mcp.repository import divide, is_about_project
from tests.coding_agents.running import Desk
from tests.mcp_server.running import said

Steps = list[tuple[str, dict[str, Any]]]


def call_tools(desk: Desk, repository: Path, steps: Steps) -> list[dict[str, Any]]:
    """The answers of the installed MCP server to some calls, each as its structured content."""
    server = json.loads((repository / ".mcp.json").read_text("utf-8"))["mcpServers"]["memorist"]
    environment = {**desk.environment, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    parameters = StdioServerParameters(
        command=server["command"], args=server["args"], env=environment, cwd=str(repository)
    )

    async def main() -> list[dict[str, Any]]:
        async with Client(parameters) as client:
            return [await said(client, tool, **arguments) for tool, arguments in steps]

    return asyncio.run(main())


def test_what_an_agent_remembers_about_a_repository_stays_in_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    shop, bank = desk.repository, desk.new_repository(tmp_path / "bank", "https://example.com/acme/bank.git")
    for repository in (shop, bank):
        desk.repository = repository
        desk.command("--user", "ada", "install", "claude-code", "--yes")
    desk.repository = shop
    desk.fire("claude-code", "prompt", prompt="We decided to keep SQLite for the cart.")
    steps: Steps = [
        ("remember", {"text": "The API tests need Redis on port 6390. The user prefers small commits."}),
        ("remember", {"facts": {"deploy_branch": "release", "city": "Oslo"}}),
        ("recall", {"query": "what did we decide about the cart?"}),
        ("update", {"id": "redis", "to": "The API tests need Redis on port 6391."}),
    ]
    remembered, facts, recalled, updated = call_tools(desk, shop, steps)
    assert len(remembered["understood"]) == 2 and len(facts["understood"]) == 2
    assert [item["text"] for item in recalled["items"]] == ["We decided to keep SQLite for the cart."]
    assert updated["after"] == "The API tests need Redis on port 6391."

    brief = desk.fire("claude-code", "start", session="s2")
    for words in ("port 6391", "deploy branch: release", "SQLite for the cart", "small commits"):
        assert words in brief, brief

    asked: Steps = [
        ("recall", {"query": "which port does Redis use in the tests?"}),
        ("recall", {"query": "deploy branch"}),
        ("profile", {}),
    ]
    port, branch, profile = call_tools(desk, bank, asked)
    assert port["items"] == [] and branch["items"] == []
    texts = " ".join(item["text"] for item in profile["items"])
    assert "small commits" in texts and "Oslo" in texts and "6391" not in texts and "release" not in texts


@pytest.mark.parametrize(
    ("text", "personal", "kinds"),
    [
        ("The user lives in Oslo.", "The user lives in Oslo.", []),
        ("My name is Ada; the build needs Go 1.25.", "My name is Ada;", ["note"]),
        ("We decided to use Kafka.", "", ["decision"]),
        ("I decided to keep SQLite here.", "", ["decision"]),
        ("Never edit the generated client.", "", ["convention"]),
        ("I always write tests first.", "I always write tests first.", []),
        ("Read the .env file.", "", []),
    ],
)
def test_only_statements_about_the_user_belong_to_the_user(
    tmp_path: Path, text: str, personal: str, kinds: list[str]
) -> None:
    division = divide(text, "ada", project_of(tmp_path))
    assert (division.personal, [note.kind for note in division.notes]) == (personal, kinds)
    assert bool(division.refused) == (".env" in text)


def test_facts_with_a_key_for_users_belong_to_the_user() -> None:
    assert [
        key for key in ("name", "city", "location", "deploy_branch", "decision.queue") if is_about_project(key)
    ] == [
        "deploy_branch",
        "decision.queue",
    ]
