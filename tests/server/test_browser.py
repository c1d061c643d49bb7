"""A person in a browser: one-time links, cookies, what other sites cannot do, and the inspector's files."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from memorist.protocol.parts import Part
from memorist.server.app import Options
from memorist.server.browser import local_operator

from .running import FAST, Running, running

NS = "user:ada"


async def _echo(scope: Any, receive: Any, send: Any) -> None:
    """A part that says who is asking."""
    reply = f"{scope['memorist.caller'].org} {scope['memorist.memory'].org} {scope['path']}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": reply})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("browser")
    (folder / "web").mkdir()
    (folder / "web" / "index.html").write_text("<title>Inspector</title>")
    (folder / "web" / "app.js").write_text("export default 1")
    (folder / "web" / "code.py").write_text("secret = 1")
    (folder / "outside.js").write_text("outside")
    options = Options(usual=FAST, heavy=FAST, bad_keys=FAST, inspector=folder / "web")
    with running(folder / "memory.db", options, parts=[lambda server: Part("/mcp", _echo)]) as started:
        yield started


def link(server: Running, org: str) -> str:
    created = server.app.state.server.sessions.link(local_operator(org))
    assert server.loop is not None
    return asyncio.run_coroutine_threadsafe(created, server.loop).result(30)


@pytest.fixture
def browser(server: Running, org: str) -> Iterator[httpx.Client]:
    """A browser that followed a one-time link."""
    with httpx.Client(base_url=server.url) as client:
        answer = client.get("/login", params={"code": link(server, org)})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        yield client


def ours(server: Running) -> dict[str, str]:
    return {"origin": server.url, "x-memorist": "1"}


def test_a_one_time_link_gives_a_cookie_that_scripts_cannot_read(server: Running, org: str) -> None:
    with httpx.Client(base_url=server.url) as client:
        set_cookie = client.get("/login", params={"code": link(server, org)}).headers["set-cookie"].lower()
        assert all(word in set_cookie for word in ("httponly", "samesite=strict", "max-age=43200", "path=/"))
        assert client.get("/v1/me").json()["org"] == org


def test_a_link_is_good_once(server: Running, org: str) -> None:
    code = link(server, org)
    with httpx.Client(base_url=server.url) as first, httpx.Client(base_url=server.url) as second:
        assert "set-cookie" in first.get("/login", params={"code": code}).headers
        refused = second.get("/login", params={"code": code})
        assert "set-cookie" not in refused.headers
        assert refused.headers["location"] == "/?login=expired"
        assert second.get("/v1/me").status_code == 401


def test_a_write_by_cookie_needs_our_origin_and_our_header(server: Running, browser: httpx.Client) -> None:
    def put(**headers: str) -> int:
        params = {"ns": NS, "key": "k"}
        return browser.put("/v1/fact", params=params, json={"value": 1}, headers=headers).status_code

    assert put() == 403
    assert put(origin=server.url) == 403
    assert put(**{"x-memorist": "1"}) == 403
    assert put(**{"origin": "http://127.0.0.1:1", "x-memorist": "1"}) == 403
    assert put(**ours(server)) == 200
    assert browser.get("/v1/fact", params={"ns": NS, "key": "k"}).json()["value"] == 1


def test_a_key_is_swapped_for_a_cookie_that_ends_with_it(server: Running, org: str) -> None:
    key = server.key(org=org, roles=["reader", "admin"])
    with httpx.Client(base_url=server.url) as client:
        assert client.post("/login", json={"key": key}).status_code == 403
        assert client.post("/login", json={"key": "rk_no_no"}, headers=ours(server)).status_code == 401
        assert client.post("/login", json={"key": key}, headers=ours(server)).status_code == 200
        assert client.get("/v1/me").json()["roles"] == ["reader", "admin"]
        client.delete("/v1/keys", params={"id": key.split("_")[1]}, headers=ours(server))
        assert client.get("/v1/me").status_code == 401


def test_logging_out_ends_the_session(server: Running, browser: httpx.Client) -> None:
    cookies = dict(browser.cookies)
    assert browser.post("/logout", headers=ours(server)).status_code == 200
    with httpx.Client(base_url=server.url, cookies=cookies) as thief:
        assert thief.get("/v1/me").status_code == 401


def test_the_secret_of_a_cookie_is_not_stored(server: Running, browser: httpx.Client, tmp_path: Path) -> None:
    (secret,) = browser.cookies.values()
    store = server.app.state.server.memory._core.store
    assert secret.encode() not in b"".join(path.read_bytes() for path in Path(store.path).parent.glob("memory.db*"))


def test_the_inspector_is_at_the_root_and_its_pages_are_urls(server: Running) -> None:
    with httpx.Client(base_url=server.url) as client:
        for page in ("/", "/users/ada", "/facts/user:a.b"):
            answer = client.get(page)
            assert (answer.status_code, answer.text) == (200, "<title>Inspector</title>")
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert client.get("/app.js").headers["content-type"].startswith("text/javascript")
        assert client.get("/missing.js").status_code == 404
        assert "secret" not in client.get("/code.py").text
        assert client.get("/v1/nothing").status_code == 404
        with_dots = httpx.Request("GET", httpx.URL(server.url).copy_with(raw_path=b"/%2e%2e/outside.js"))
        assert client.send(with_dots).status_code == 404


def test_a_part_beside_the_api_gets_the_caller_not_the_key(server: Running, org: str) -> None:
    with httpx.Client(base_url=server.url) as client:
        assert client.post("/mcp").status_code == 401
        client.headers["authorization"] = f"Bearer {server.key(org=org)}"
        assert client.post("/mcp").text == f"{org} {org} /mcp"
        assert client.get("/mcp/x/y").text == f"{org} {org} /mcp/x/y"
