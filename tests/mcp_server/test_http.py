"""MCP over HTTP: at `/mcp` of the server, behind its keys; with tokens of an issuer; and in front of another server."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from memorist.mcp.http import mcp_parts
from memorist.mcp.server import Options
from memorist.mcp.tokens import SCOPES, Resource
from memorist.mcp.tools import SETS
from memorist.server.app import Options as ServerOptions
from memorist.server.limits import Rate
from tests.mcp_server.fixtures import fixture_part, plain_part
from tests.mcp_server.running import call_tool, command, refused
from tests.server.running import FAST, Running, running

ALL = Options(sets=frozenset(SETS))


@asynccontextmanager
async def client(server: Running, key: str, mode: Any = "auto") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}) as http_client,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http_client), mode=mode) as mcp_client,
    ):
        yield mcp_client


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(str(tmp_path_factory.mktemp("mcp") / "m.db"), parts=mcp_parts(ALL)) as started:
        yield started


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_key_decides_whose_memory_it_is(server: Running, mode: str) -> None:
    ada, bob = (server.key(user=f"{user}-{mode}", roles=("reader", "writer")) for user in ("ada", "bob"))

    async def main() -> None:
        async with client(server, ada, mode) as own, client(server, bob, mode) as other:
            await call_tool(own, "remember", facts={"city": "Porto"})
            await call_tool(own, "remember", text="The code word is quince.")
            assert (await call_tool(other, "profile"))["items"] == []
            assert (await call_tool(other, "recall", query="What is the code word?"))["items"] == []
            assert "may not" in await refused(other, "profile", user=f"ada-{mode}")
            assert (await call_tool(own, "profile"))["items"][-1]["text"] == "city: Porto"
            assert "forget" not in [tool.name for tool in (await own.list_tools()).tools]
            with pytest.raises(MCPError, match="Resource not found"):
                await other.read_resource(f"memorist://profile/ada-{mode}")

    asyncio.run(main())


def test_the_conformance_suite_which_knows_no_key_is_let_in(tmp_path: Path) -> None:
    """`make mcp-check` runs the suite; what it stands on is tried here."""

    async def main(server: Running) -> None:
        async with Client(streamable_http_client(f"{server.url}/mcp")) as mcp_client:
            assert "recall" in [tool.name for tool in (await mcp_client.list_tools()).tools]

    for part in (plain_part, fixture_part):
        with running(str(tmp_path / f"{part.__name__}.db"), parts=[part]) as server:
            asyncio.run(main(server))


def test_a_reader_is_shown_what_it_may_call(server: Running) -> None:
    key = server.key(user="carl", roles=("reader",))

    async def main() -> None:
        async with client(server, key) as mcp_client:
            tools = (await mcp_client.list_tools()).tools
            assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
            assert {"recall", "read_graph"} <= {tool.name for tool in tools}

    asyncio.run(main())


def test_no_key_a_wrong_key_and_a_foreign_origin_are_refused(server: Running) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    key = server.key(user="dora")
    for headers, status in (
        ({}, 401), ({"authorization": "Bearer rk_a_b"}, 401),
        ({"authorization": f"Bearer {key}", "origin": "https://evil.example"}, 403),
        ({"authorization": f"Bearer {key}", "host": "evil.example"}, 403),
    ):  # fmt: skip
        answer = httpx2.post(f"{server.url}/mcp", json=body, headers=headers)
        assert answer.status_code == status, headers


def test_graph_tools_work_over_http(server: Running) -> None:
    key = server.key(user="eve")

    async def main() -> None:
        async with client(server, key) as mcp_client:
            entity = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
            await call_tool(mcp_client, "create_entities", entities=[entity])
            assert await call_tool(mcp_client, "read_graph") == {"entities": [entity], "relations": []}

    asyncio.run(main())


def test_stdio_in_front_of_a_server_has_what_its_key_may_do(server: Running) -> None:
    key = server.key(user="finn", roles=("reader", "writer"))

    async def main() -> None:
        parameters = command("--quiet", "--tools", "all", before=("--url", server.url), MEMORIST_API_KEY=key)
        async with Client(parameters) as mcp_client:
            names = {tool.name for tool in (await mcp_client.list_tools()).tools}
            assert "remember" in names and "forget" not in names
            await call_tool(mcp_client, "remember", facts={"city": "Turku"})
            await call_tool(mcp_client, "remember", text="I sail on Sundays.")
            profile = await call_tool(mcp_client, "profile")
            assert profile["user"] == "finn" and "city: Turku" in [item["text"] for item in profile["items"]]
            assert (await call_tool(mcp_client, "recall", query="sailing on Sundays"))["items"]
            entity = {"name": "boat", "entityType": "thing", "observations": []}
            await call_tool(mcp_client, "create_entities", entities=[entity, {**entity, "name": "sea"}])
            await call_tool(mcp_client, "delete_entities", entityNames=["sea"])
            assert (await call_tool(mcp_client, "read_graph"))["entities"] == [entity]
            context = await call_tool(mcp_client, "build_context", input="What do I do on Sundays?")
            assert "sail" in json.dumps(context["messages"])

    asyncio.run(main())


# Tokens


class Issuer:
    """An authorization server that publishes its keys, and signs what a test wants signed."""

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(65537, 2048)
        self._other = rsa.generate_private_key(65537, 2048)
        issuer = self

        class Pages(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                pages = {
                    "/.well-known/oauth-authorization-server": {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/keys"},
                    "/keys": {"keys": [issuer._public()]},
                }
                body = json.dumps(pages.get(self.path, {})).encode()
                self.send_response(200 if self.path in pages else 404)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing: a test says what went wrong."""

        self.server = HTTPServer(("127.0.0.1", 0), Pages)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def _public(self) -> dict[str, Any]:
        public_key: dict[str, Any] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key()))
        return {**public_key, "kid": "k1", "use": "sig", "alg": "RS256"}

    def token(self, audience: str, *, forged: bool = False, **claims: Any) -> str:
        usual = {"iss": self.url, "sub": "gina", "aud": audience, "exp": int(time.time()) + 600,
                 "scope": " ".join(SCOPES)}  # fmt: skip
        key = self._other if forged else self._key
        return jwt.encode({**usual, **claims}, key, algorithm="RS256", headers={"kid": "k1"})


@contextmanager
def issuing() -> Iterator[Issuer]:
    issuer = Issuer()
    thread = threading.Thread(target=issuer.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        issuer.server.shutdown()
        issuer.server.server_close()
        thread.join(10)


def test_tokens_of_the_issuer_for_us_are_taken_and_no_others(tmp_path: Path) -> None:
    resource = "https://memory.example/mcp"
    with (
        issuing() as issuer,
        running(str(tmp_path / "m.db"), parts=mcp_parts(ALL, Resource(issuer.url, resource))) as server,
    ):
        metadata = httpx2.get(f"{server.url}/.well-known/oauth-protected-resource/mcp")
        assert metadata.json()["resource"] == resource and metadata.json()["authorization_servers"] == [issuer.url]
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        refusal = httpx2.post(f"{server.url}/mcp", json=body)
        assert refusal.status_code == 401
        metadata_url = "https://memory.example/.well-known/oauth-protected-resource/mcp"
        assert f'resource_metadata="{metadata_url}"' in refusal.headers["www-authenticate"]

        async def main() -> None:
            async with client(server, issuer.token(resource)) as mcp_client:
                await call_tool(mcp_client, "remember", facts={"city": "Bergen"})
                assert (await call_tool(mcp_client, "profile"))["user"] == "gina"
            async with client(server, issuer.token(resource, scope="memory:read")) as mcp_client:
                assert "remember" not in [tool.name for tool in (await mcp_client.list_tools()).tools]
            async with client(server, server.key(user="hans")) as mcp_client:
                assert (await call_tool(mcp_client, "profile"))["items"] == []

        asyncio.run(main())
        for wrong in (
            issuer.token("https://other.example/mcp"), issuer.token(resource, exp=1), issuer.token(resource, iss="x"),
            issuer.token(resource, forged=True), issuer.token(resource, scope="email"), issuer.token(resource, sub=""),
            jwt.encode({"sub": "gina"}, "", algorithm="none"), "nonsense",
        ):  # fmt: skip
            answer = httpx2.post(f"{server.url}/mcp", json=body, headers={"authorization": f"Bearer {wrong}"})
            assert answer.status_code == 401


def test_subjects_with_a_common_beginning_have_rates_of_their_own(tmp_path: Path) -> None:
    resource, beginning = "https://memory.example/mcp", "auth0|acme-support-team-member-"
    options = ServerOptions(usual=FAST, heavy=Rate(0.001, 2), bad_keys=FAST)
    call = {"name": "recall", "arguments": {"query": "city"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    with (
        issuing() as issuer,
        running(str(tmp_path / "m.db"), options, mcp_parts(ALL, Resource(issuer.url, resource))) as server,
    ):

        def is_refused(user: str) -> bool:
            headers = {"authorization": f"Bearer {issuer.token(resource, sub=user)}", "accept": "application/json"}
            result = httpx2.post(f"{server.url}/mcp", json=body, headers=headers).json()["result"]
            return bool(result.get("isError"))

        assert [is_refused(f"{beginning}1") for _ in range(3)] == [False, False, True]
        assert [is_refused(f"{beginning}2") for _ in range(3)] == [False, False, True]
