"""Handles browser logins, which exchange a one-time link or an API key for an HttpOnly session cookie.

The cookie consists of 256 random bits, whose SHA-256 is stored for twelve hours. It has the rights that its key has at
the time of a request, so revoking the key ends the session. A session from a one-time link has the rights of the
operator who created the link.

To prevent cross-site request forgery, the cookie is SameSite=Strict, and a write with a cookie must also contain our
own Origin and the header `X-Memorist: 1`. Neither forms nor pages on other sites can send these.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from ..errors import Conflict, Forbidden, UsageError
from ..protocol.keys import KEYS_ORG, ROLES, ApiKey, Unauthorized
from .answers import json_response
from .auth import CACHED_SECONDS, MAX_CACHED_KEYS, Keys

if TYPE_CHECKING:
    from ..memory import AsyncMemory
    from .app import Server

SESSION_SECONDS = 12 * 3600
LINK_SECONDS = 10 * 60
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def local_operator(org: str) -> ApiKey:
    """Return the identity of a one-time link. It has all rights, because anyone who can create it can also start a
    server on the store."""
    return ApiKey(id="local", digest=b"", org=org, roles=ROLES, created_at=datetime.now(UTC))


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """Represents a stored session that was opened with a key (stored as its id) or with an operator's link."""

    key: str | None = None
    operator: ApiKey | None = None


class Sessions:
    """Creates one-time links, and exchanges links and keys for sessions. All workers on a store share them."""

    def __init__(self, memory: AsyncMemory, keys: Keys) -> None:
        self._records = memory.scope(org=KEYS_ORG).records
        self._keys = keys
        self._cache: dict[str, tuple[float, Session]] = {}
        self._ends = 0

    async def link(self, operator: ApiKey) -> str:
        """Return a code that can be exchanged once for a session of this operator within ten minutes."""
        code = secrets.token_urlsafe(32)
        await self._put("code", code, Session(operator=operator), LINK_SECONDS)
        return code

    async def redeem(self, code: str) -> str:
        """Exchange a code for the secret of a new session. Compare-and-delete ensures that only one caller can do
        this."""
        row_key = ("code", _name(code))
        row = await self._records.get("global", row_key)
        try:
            is_redeemed = row is not None and await self._records.delete("global", row_key, expect=row.version)
        except Conflict:
            is_redeemed = False
        if row is None or not is_redeemed:
            raise Unauthorized("this link was used or has expired; ask for a new one where the server runs")
        return await self._begin(msgspec.convert(row.data, Session))

    async def begin(self, key: ApiKey) -> str:
        """Return the secret of a new session for a key."""
        return await self._begin(Session(key=key.id))

    async def check(self, secret: str) -> ApiKey:
        """Return the key of a cookie's session, which must exist and not have expired."""
        session = await self._load(_name(secret))
        key = session.operator if session is not None else None
        if session is not None and session.key is not None:
            key = await self._keys.find(session.key)
        if key is None:
            raise Unauthorized("this login has ended; log in again")
        return key

    async def end(self, secret: str) -> None:
        """Log out."""
        try:
            await self._records.delete("global", ("session", _name(secret)))
        finally:
            # A request may have read the row before it was deleted. The count keeps it from caching what it read.
            self._ends += 1
            self._cache.pop(_name(secret), None)

    async def _begin(self, session: Session) -> str:
        secret = secrets.token_urlsafe(32)
        await self._put("session", secret, session, SESSION_SECONDS)
        return secret

    async def _put(self, kind: str, secret: str, session: Session, ttl: int) -> None:
        await self._records.put("global", (kind, _name(secret)), msgspec.to_builtins(session), ttl=ttl)

    async def _load(self, name: str) -> Session | None:
        cached = self._cache.get(name)
        if cached is not None and cached[0] > time.monotonic():
            return cached[1]
        ends = self._ends
        row = await self._records.get("global", ("session", name))
        if row is None:
            self._cache.pop(name, None)
            return None
        session = msgspec.convert(row.data, Session)
        if ends != self._ends:
            return session
        if len(self._cache) >= MAX_CACHED_KEYS:
            self._cache.clear()
        self._cache[name] = (time.monotonic() + CACHED_SECONDS, session)
        return session


def _name(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


# What a browser sends


def cookie_name(scope: Scope) -> str:
    """Return the cookie's name, which contains the port because browsers do not separate cookies by port."""
    server = scope.get("server") or ("", None)
    return f"memorist_{server[1] or 0}"


def cookie_of(request: Request) -> str | None:
    """Return the session secret from the request's cookie, or None."""
    return request.cookies.get(cookie_name(request.scope))


def check_same_site(request: Request) -> None:
    """Refuse a write that our own page did not send (cross-site request forgery)."""
    if request.method in ("GET", "HEAD"):
        return
    # The gate has already refused every Origin except our own, so it is enough that there is one.
    if request.headers.get("origin") is None or request.headers.get("x-memorist") != "1":
        raise Forbidden("a write with a cookie needs this server's own Origin and the header X-Memorist: 1")


def host_name(headers: Mapping[str, str]) -> str:
    """Return the host a request was sent to, without its port."""
    host = headers.get("host", "")
    name, separator, port = host.rpartition(":")
    return name if separator and port.isdecimal() else host


# Routes


class Login(msgspec.Struct, forbid_unknown_fields=True):
    """Holds the data sent by the login form."""

    key: str


def browser_routes(server: Server) -> list[Route]:
    """Return the routes for logging in and out: /login?code=… from a link, POST /login with a key, and POST /logout."""

    async def by_link(request: Request) -> Response:
        home = f"{request.scope.get('root_path', '')}/"
        code = request.query_params.get("code", "")
        if not code:
            return RedirectResponse(home, 303)
        try:
            secret = await server.sessions.redeem(code)
        except Unauthorized as used:
            # A browser that follows its link a second time already has a session. All others get the login page.
            if cookie_of(request) is not None:
                return RedirectResponse(home, 303)
            server.count_bad(request, used)
            return RedirectResponse(f"{home}?{quote('login')}=expired", 303)
        return _with_cookie(request, RedirectResponse(home, 303), secret)

    async def by_key(request: Request) -> Response:
        if request.headers.get("x-memorist") != "1":
            raise Forbidden("logging in needs the header X-Memorist: 1")
        try:
            login = msgspec.json.decode(await request.body(), type=Login)
        except msgspec.DecodeError as wrong:
            raise UsageError(f'a login is {{"key": "rk_…"}}: {wrong}') from None
        key = await server.key_of(request, f"Bearer {login.key}")
        return _with_cookie(request, json_response({"id": key.id, "org": key.org}), await server.sessions.begin(key))

    async def out(request: Request) -> Response:
        check_same_site(request)
        secret = cookie_of(request)
        if secret is not None:
            await server.sessions.end(secret)
        answer = json_response({"result": True})
        answer.delete_cookie(cookie_name(request.scope), path=_path(request))
        return answer

    return [
        Route("/login", by_link, methods=["GET"], name="login.link"),
        Route("/login", by_key, methods=["POST"], name="login.key"),
        Route("/logout", out, methods=["POST"], name="logout"),
    ]


def _path(request: Request) -> str:
    return request.scope.get("root_path") or "/"


def _with_cookie(request: Request, answer: Response, secret: str) -> Response:
    # Not every browser sends a Secure cookie over plain HTTP, which is what a loopback address uses.
    answer.set_cookie(
        cookie_name(request.scope), secret, max_age=SESSION_SECONDS, path=_path(request), httponly=True,
        samesite="strict", secure=host_name(request.headers) not in LOOPBACK,
    )  # fmt: skip
    return answer
