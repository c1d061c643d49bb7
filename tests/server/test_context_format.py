"""`POST /v1/context` answers what can be sent to a provider, by `format`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.server.running import Running, running

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder: Path = tmp_path_factory.mktemp("format")
    with running(str(folder / "memory.db")) as server:
        key = {"authorization": f"Bearer {_key(server)}"}
        with httpx.Client(base_url=server.url, headers=key, timeout=60) as opened:
            params = {"ns": "user:ada", "key": "allergy.shellfish"}
            stored = opened.put("/v1/fact", params=params, json={"value": "shellfish"})
            assert stored.status_code == 200, stored.text
            yield opened


def _key(server: Running) -> str:
    return server.key(user="ada")


def test_openai(client: httpx.Client) -> None:
    answer = client.post("/v1/context", json={"input": "What can I eat?", "system": "Be brief.", "format": "openai"})
    assert answer.status_code == 200, answer.text
    request = answer.json()
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert "shellfish" in str(request["messages"]) and request["messages"][-1]["content"].endswith("What can I eat?")
    assert request["tokens"] > 0 and request["manifest"] is None and request["format"] == "openai"


def test_anthropic_with_tools_and_manifest(client: httpx.Client) -> None:
    body = {"input": "What can I eat?", "system": "Be brief.", "tools": [TOOL], "format": "anthropic", "manifest": True}
    request = client.post("/v1/context", json=body).json()
    assert "Be brief." in str(request["system"]) and request["tools"][0]["name"] == "look"
    assert [message["role"] for message in request["messages"]] == ["user"]
    assert {section["name"] for section in request["manifest"]["sections"]} >= {"profile", "input"}


def test_without_a_format_the_whole_context_is_answered(client: httpx.Client) -> None:
    assert "account" in client.post("/v1/context", json={"input": "What can I eat?"}).json()


def test_other_formats_are_refused(client: httpx.Client) -> None:
    refused = client.post("/v1/context", json={"input": "Hi", "format": "gemini"})
    assert refused.status_code == 422
    assert refused.json()["detail"] == (
        "`format` is invalid: Invalid enum value 'gemini'; valid values are context, openai, anthropic"
    )


def test_a_wrong_choice_in_a_list_or_in_the_query_names_the_valid_values(client: httpx.Client) -> None:
    listed = client.get("/v1/memories", params={"kinds": '["thought"]'})
    assert listed.status_code == 422
    assert listed.json()["detail"].endswith("; valid values are fact, event, learning")
    queried = client.get("/v1/threads", params={"by": "size"})
    assert queried.status_code == 422
    assert queried.json()["detail"].endswith("; valid values are id, updated_at, created_at")


def test_memories_are_listed_and_searched(client: httpx.Client) -> None:
    items = client.get("/v1/memories").json()["items"]
    assert [item["id"] for item in items] == ["fact:allergy.shellfish"]
    assert client.post("/v1/memories/search", json={"query": "shellfish"}).status_code == 200
    remembered = client.post("/v1/remember", json={"messages": "We meet at the harbour."}).json()
    assert remembered["receipts"][0]["message"]["thread"] == remembered["thread"]
