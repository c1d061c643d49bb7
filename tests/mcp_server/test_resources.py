"""Resources, prompts, completion and notices, through the SDK's client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from memorist import AsyncMemory
from memorist.mcp.answers import tokens_of
from memorist.mcp.callers import Caller
from memorist.mcp.resources import address
from tests.mcp_server.running import PLAIN, call_tool, connected

pytestmark = pytest.mark.filterwarnings("ignore::memorist.stores.opening.NothingLasts")
Check = Callable[[AsyncMemory, Client], Awaitable[None]]


def run(check: Check, *, user: str | None = None, **options: Any) -> None:
    async def main() -> None:
        memory = AsyncMemory("memory://", **PLAIN)
        async with memory:
            await memory.facts.set("user:ada", "city", "Porto")
            await memory.facts.set("user:ada", "a/b %", ["x"])
            await memory.facts.set("user:bob", "city", "Rome")
            await memory.facts.set("global", "house rule", "no shoes")
            await memory.threads.create("user:ada", "Trip", id="t/1")
            await memory.threads.append("t/1", *(f"message {number}" for number in range(1, 121)))
            handle = memory.scope(user=user) if user else memory.scope()
            roles: Any = frozenset({"reader", "writer", "forget"})
            caller = Caller(handle, user or "ada", roles)
            async with connected(memory, caller=caller, keep_open=True, **options) as client:
                await check(memory, client)

    asyncio.run(main())


async def text_at(client: Client, uri: str) -> str:
    content = (await client.read_resource(uri)).contents[0]
    assert isinstance(content, types.TextResourceContents)
    return content.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_what_is_listed_can_be_read(mode: str) -> None:
    async def check(memory: AsyncMemory, client: Client) -> None:
        resources = (await client.list_resources()).resources
        uris = [resource.uri for resource in resources]
        assert address("profile", "ada") in uris and address("thread", "t/1") in uris
        assert address("fact", "user:ada", "a/b %") in uris and "memory://knowledge-graph" in uris
        for uri in uris:
            text = await text_at(client, uri)
            assert text.startswith("<recalled_memory>") or uri == "memory://knowledge-graph"
            assert tokens_of(text) <= 4000
        assert "Porto" in await text_at(client, address("profile", "ada"))
        assert "message 120" in await text_at(client, address("thread", "t/1"))
        assert len((await client.list_resource_templates()).resource_templates) == 4

    run(check, mode=mode)


def test_a_long_list_comes_in_pages() -> None:
    async def check(memory: AsyncMemory, client: Client) -> None:
        await memory.facts.set_many("workflow:w", {f"k{number:03}": number for number in range(230)})
        uris: list[str] = []
        cursor = None
        while True:
            page = await client.list_resources(cursor=cursor)
            assert len(page.resources) <= 101
            uris += [resource.uri for resource in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert len(uris) == len(set(uris)) and len([uri for uri in uris if "/workflow%3Aw/" in uri]) == 230
        with pytest.raises(MCPError, match="cursor"):
            await client.list_resources(cursor="nonsense")

    run(check)


def test_older_messages_have_an_address_of_their_own() -> None:
    async def check(memory: AsyncMemory, client: Client) -> None:
        newest = await text_at(client, address("thread", "t/1"))
        assert "message 71" in newest and 'message 70"' not in newest
        assert f"{address('thread', 't/1')}?before=71" in newest
        older = await text_at(client, f"{address('thread', 't/1')}?before=71")
        assert "message 70" in older and "message 21" in older

    run(check)


def test_a_user_sees_no_one_elses_resources() -> None:
    async def check(memory: AsyncMemory, client: Client) -> None:
        uris = [resource.uri for resource in (await client.list_resources()).resources]
        assert not any("bob" in uri for uri in uris) and any("ada" in uri for uri in uris)
        for uri in (address("profile", "bob"), address("fact", "user:bob", "city"), "memorist://nothing/x",
                    address("fact", "user:ada", "none"), "https://example.com/x"):  # fmt: skip
            with pytest.raises(MCPError, match="Resource not found"):
                await client.read_resource(uri)

    run(check, user="ada")


def test_arguments_are_completed() -> None:
    async def complete(client: Client, name: str, value: str, **arguments: str) -> list[str]:
        ref = types.ResourceTemplateReference(type="ref/resource", uri="memorist://fact/{namespace}/{key}")
        completed = await client.complete(ref, {"name": name, "value": value}, context_arguments=arguments or None)
        return completed.completion.values

    async def check(memory: AsyncMemory, client: Client) -> None:
        assert await complete(client, "user", "a") == ["ada"]
        assert await complete(client, "namespace", "user:") == ["user:ada", "user:bob"]
        assert await complete(client, "key", "c", namespace="user:ada") == ["city"]
        assert await complete(client, "id", "t") == ["t/1"]
        assert await complete(client, "colour", "t") == []

    run(check)


def test_prompts_bring_what_is_stored_as_data() -> None:
    async def check(memory: AsyncMemory, client: Client) -> None:
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert names == ["what_do_you_know", "continue_thread", "review_memory"]
        for name, arguments, expected in (
            ("what_do_you_know", {}, "Porto"), ("continue_thread", {"thread": "t/1"}, "message 120"),
            ("review_memory", {"user": "ada"}, "Porto"),
        ):  # fmt: skip
            data, ask = (await client.get_prompt(name, arguments)).messages
            assert data.role == ask.role == "user"
            assert isinstance(data.content, types.TextContent) and isinstance(ask.content, types.TextContent)
            assert data.content.text.startswith("<recalled_memory>") and expected in data.content.text
            assert "<" not in ask.content.text
        with pytest.raises(MCPError, match="thread"):
            await client.get_prompt("continue_thread", {})
        with pytest.raises(MCPError, match="what_do_you_know"):
            await client.get_prompt("nothing", {})

    run(check)


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
def test_an_older_client_is_told_when_a_fact_changes() -> None:
    heard: list[str] = []

    async def hear(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.append(str(message.params.uri))

    async def check(memory: AsyncMemory, client: Client) -> None:
        uri = address("fact", "user:ada", "city")
        await client.session.subscribe_resource(uri)
        await call_tool(client, "remember", facts={"city": "Braga"}, user="ada")
        await call_tool(client, "remember", facts={"city": "Milan"}, user="bob")
        for _ in range(200):
            if heard:
                break
            await asyncio.sleep(0.01)
        assert heard == [uri]
        await client.session.unsubscribe_resource(uri)
        await call_tool(client, "remember", facts={"city": "Faro"}, user="ada")
        await asyncio.sleep(0.05)
        assert heard == [uri]

    run(check, mode="legacy", message_handler=hear)


def test_a_newer_client_listens_to_what_it_may_read() -> None:
    async def check(memory: AsyncMemory, client: Client) -> None:
        own_uri, other = address("fact", "user:ada", "city"), address("fact", "user:bob", "city")
        async with client.listen(resource_subscriptions=[own_uri, other]) as stream:
            await memory.facts.set("user:bob", "city", "Milan")
            await memory.facts.set("user:ada", "city", "Braga")
            event = await asyncio.wait_for(anext(aiter(stream)), 20)
            assert event.uri == own_uri  # type: ignore[union-attr]

    run(check, user="ada")
