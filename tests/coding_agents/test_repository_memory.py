"""The MCP server that an installation configures: it shares a repository's notes with the hooks, and with no other
repository."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from memorist import AsyncMemory
from memorist.agents.projects import project_of
from memorist.cli.mcp import folder_of
from memorist.mcp.callers import local_caller
from memorist.mcp.repository import divide, is_about_project
from tests.coding_agents.running import Desk
from tests.mcp_server.running import PLAIN, call_tool, connected, refused
from tests.server.running import Running

Steps = list[tuple[str, dict[str, Any]]]


def call_tools(
    desk: Desk, repository: Path, steps: Steps, arguments: list[str] | None = None, **environment: str
) -> list[dict[str, Any]]:
    """The answers of the installed MCP server, or of one with these arguments, to some calls, each as its structured
    content."""
    if arguments is None:
        server = json.loads((repository / ".mcp.json").read_text("utf-8"))["mcpServers"]["memorist"]
        arguments = server["args"]
    environment = {**desk.environment, "PYTHONPATH": os.environ.get("PYTHONPATH", ""), **environment}
    parameters = StdioServerParameters(command=sys.executable, args=arguments, env=environment, cwd=str(repository))

    async def main() -> list[dict[str, Any]]:
        async with Client(parameters) as client:
            return [await call_tool(client, tool, **arguments) for tool, arguments in steps]

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

    questions: Steps = [
        ("recall", {"query": "which port does Redis use in the tests?"}),
        ("recall", {"query": "deploy branch"}),
        ("profile", {}),
    ]
    port, branch, profile = call_tools(desk, bank, questions)
    assert port["items"] == [] and branch["items"] == []
    texts = " ".join(item["text"] for item in profile["items"])
    assert "small commits" in texts and "Oslo" in texts and "6391" not in texts and "release" not in texts


@pytest.mark.parametrize(
    ("text", "personal", "kinds"),
    [
        ("The build needs Go 1.25. <private>We launch in May. Tell nobody.</private> Ship it.", "", ["note", "note"]),
        ("<private>The launch is on May 3.</private>", "", []),
        ("My dog is called Rex. He is five. The tests need Redis.", "My dog is called Rex. He is five.", ["note"]),
        ("The user is a developer. They like tabs.", "The user is a developer. They like tabs.", []),
        ("We decided to use Kafka. It replaces the cron jobs. Is that fine?", "", ["decision"]),
        ("Use a fake clock, e.g. FrozenClock. 1. Run make. 2. Run pytest.", "", ["note", "note", "note"]),
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
    whys = [refusal.why.split()[-1] for refusal in division.refused]
    expected = {".env": "ignores", "<private>": "private", "?": "remembered"}
    assert whys == [why for mark, why in expected.items() if mark in text]
    assert not any(word in str(division) for word in ("May", "launch", "nobody"))


def test_facts_with_a_key_for_users_belong_to_the_user() -> None:
    assert [
        key for key in ("name", "city", "location", "deploy_branch", "decision.queue") if is_about_project(key)
    ] == [
        "deploy_branch",
        "decision.queue",
    ]


def test_what_may_not_be_stored_is_refused_with_its_reason(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (desk.repository / ".memoristignore").write_text("plans/\n", "utf-8")
    project = project_of(desk.repository)

    async def main() -> None:
        memory = AsyncMemory(str(tmp_path / "m.db"), user="ada", write=[project.namespace], actor="assistant", **PLAIN)
        async with connected(memory, caller=local_caller(memory, project)) as client:
            facts = {"todo": "see plans/q3.md", "launch": "<private>May 3</private>", "ci": "runs on push"}
            answer = await call_tool(client, "remember", facts=facts)
            assert [item["text"] for item in answer["understood"]] == ["ci: runs on push"]
            assert [entry["why"].split()[-1] for entry in answer["refused"]] == ["ignores", "private"]
            await call_tool(client, "remember", text="The build needs Go 1.25.")
            for words in ("The build needs plans/go.md.", "The build needs <private>Go 1.26</private>."):
                assert "cannot be stored" in await refused(client, "update", id="Go", to=words)

    asyncio.run(main())


def test_a_note_has_its_words_as_a_source_and_takes_them_along(tmp_path: Path) -> None:
    project = project_of(Desk(tmp_path).repository)

    async def main() -> None:
        memory = AsyncMemory(str(tmp_path / "m.db"), user="ada", write=[project.namespace], actor="assistant", **PLAIN)
        async with connected(memory, caller=local_caller(memory, project)) as client:
            await call_tool(client, "remember", text="The build needs Go 1.25. Deploys happen on Fridays.")
            sources = (await call_tool(client, "why", id="Fridays"))["sources"]
            assert [source["text"] for source in sources] == ["Deploys happen on Fridays."]
            await call_tool(client, "update", id="Go", to="The build needs Go 1.26.")
            for user in ({}, {"user": "ada"}):
                items = (await call_tool(client, "recall", query="Which Go does the build need?", **user))["items"]
                assert [item["text"] for item in items] == ["The build needs Go 1.26."]
            code = (await call_tool(client, "forget", id="Fridays"))["confirm"]
            assert (await call_tool(client, "forget", id="Fridays", confirm=code))["erased"]
            assert (await call_tool(client, "recall", query="When do deploys happen?"))["items"] == []

    asyncio.run(main())


def test_without_a_user_other_repositories_stay_hidden_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    bank = desk.new_repository(tmp_path / "bank", "https://example.com/acme/bank.git")
    desk.fire("claude-code", "prompt", prompt="We decided to keep SQLite for the cart.")
    arguments = ["-m", "memorist", "--url", desk.url, "mcp", "--project", ".", "--quiet"]
    steps: Steps = [("recall", {"query": "what did we decide about the cart?"}), ("profile", {})]
    for answer in call_tools(desk, bank, steps, arguments):
        assert answer["items"] == [], answer


def test_a_repositorys_notes_may_be_on_a_server(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    bank = desk.new_repository(tmp_path / "bank", "https://example.com/acme/bank.git")
    server = Running(str(tmp_path / "server.db"))
    server.start()
    try:
        key = server.key()
        arguments = ["-m", "memorist", "--url", server.url, "mcp", "--project", ".", "--quiet"]
        remember: Steps = [("remember", {"text": "The build needs Go 1.25. The user prefers small commits."})]
        recall: Steps = [("recall", {"query": "Which Go does the build need?"}), ("profile", {})]
        [remembered] = call_tools(desk, desk.repository, remember, arguments, MEMORIST_API_KEY=key)
        [same, _] = call_tools(desk, desk.repository, recall, arguments, MEMORIST_API_KEY=key)
        [other, profile] = call_tools(desk, bank, recall, arguments, MEMORIST_API_KEY=key)
    finally:
        server.stop()
    assert len(remembered["understood"]) == 2
    assert [item["text"] for item in same["items"]] == ["The build needs Go 1.25."]
    assert other["items"] == [] and "Go 1.25" not in str(profile) and "small commits" in str(profile)


def test_hosts_that_start_servers_elsewhere_name_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    monkeypatch.delenv("WORKSPACE_FOLDER_PATHS", raising=False)
    assert folder_of(".") == "." and folder_of("/repo") == "/repo"
    for text in (str(tmp_path), f"/gone,{tmp_path}", json.dumps([str(tmp_path)])):
        monkeypatch.setenv("WORKSPACE_FOLDER_PATHS", text)
        assert folder_of(".") == str(tmp_path) and folder_of("/repo") == "/repo"
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/work")
    assert folder_of(".") == "/work"
