"""Every tool, driven by the SDK's client: on stdio and HTTP, over a file, Postgres and Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from memorist.mcp.http import mcp_parts
from memorist.mcp.resources import address
from memorist.mcp.server import Options
from memorist.mcp.tools import SETS
from tests.mcp_server.every_tool import ADA, calls
from tests.mcp_server.running import call_tool, command
from tests.server.running import Running, running

ALL = Options(sets=frozenset(SETS))
STORES = ["sqlite", "postgres", "redis"]


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "memory.db")
    return str(request.getfixturevalue(f"{request.param}_server").url)


async def every_tool(client: Client, own: str) -> None:
    """Call them all; what they keep is there in the end."""
    tool_calls = calls(own)
    assert {tool.name for tool in (await client.list_tools()).tools} == {name for name, _ in tool_calls}
    answers = {name: await call_tool(client, name, **arguments) for name, arguments in tool_calls}
    assert "The launch is in May." in [item["text"] for item in answers["recall"]["items"]]
    assert "city: Porto" in [item["text"] for item in answers["profile"]["items"]]
    assert (answers["update"]["before"], answers["update"]["after"]) == ("city: Porto", "city: Lisbon")
    assert not answers["forget"]["erased"]
    assert await call_tool(client, "read_graph") == {"entities": [ADA], "relations": []}


@asynccontextmanager
async def over_http(server: Running, key: str, mode: Any = "auto") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=60) as http_client,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http_client), mode=mode) as mcp_client,
    ):
        yield mcp_client


def test_every_tool_on_stdio(url: str) -> None:
    org = f"org-{uuid4().hex[:12]}"

    async def main() -> None:
        async with Client(command("--quiet", "--tools", "all", before=("--url", url, "--org", org))) as client:
            await every_tool(client, "user:me")

    asyncio.run(main())


def test_every_tool_over_http(url: str) -> None:
    async def main(server: Running) -> None:
        for mode in ("auto", "legacy"):
            user = f"ada-{uuid4().hex[:12]}"
            async with over_http(server, server.key(user=user), mode) as client:
                await every_tool(client, f"user:{user}")

    with running(url, parts=mcp_parts(ALL)) as server:
        asyncio.run(main(server))


def test_a_command_in_front_of_a_server_serves_the_user_that_it_names(tmp_path: Path) -> None:
    async def main(server: Running) -> None:
        own_key = server.key(user="ada")
        for options, key in ((("--user", "ada"), server.key()), ((), own_key)):
            before = ("--url", server.url, *options)
            async with Client(command("--quiet", before=before, MEMORIST_API_KEY=key)) as client:
                await call_tool(client, "remember", facts={"city": "Porto"})
                assert (await call_tool(client, "profile"))["user"] == "ada"
        assert (await server.memory.scope(org="default").facts.get("user:ada", "city")) is not None

    with running(str(tmp_path / "memory.db")) as server:
        asyncio.run(main(server))


def test_changes_are_told_over_http(tmp_path: Path) -> None:
    """A client that listens hears of what others write, and only of what it may read."""
    own_uri, other = address("fact", "user:ada", "city"), address("fact", "user:bob", "city")

    async def main(server: Running) -> None:
        ada, bob = (server.key(user=user) for user in ("ada", "bob"))
        async with (
            over_http(server, ada) as listening,
            over_http(server, ada) as writing,
            over_http(server, bob) as bobs,
        ):
            for client in (writing, bobs):
                await call_tool(client, "remember", facts={"city": "Porto"})
            async with listening.listen(resource_subscriptions=[own_uri, other]) as stream:
                await call_tool(bobs, "remember", facts={"city": "Milan"})
                await call_tool(writing, "remember", facts={"city": "Braga"})
                event = await asyncio.wait_for(anext(aiter(stream)), 60)
                assert event.uri == own_uri  # type: ignore[union-attr]

    with running(str(tmp_path / "memory.db"), parts=mcp_parts(ALL)) as server:
        asyncio.run(main(server))
