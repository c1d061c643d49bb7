"""Serves the inspector's own endpoints under `/v1/inspect/`: views, and a few writes that are not part of the public
API.

A view reads everything needed for one page, so that a page requires few requests. It uses a memory narrowed to the
access rights of the caller's key. Its arguments are sent in the body, never in the URL, so that text typed by users
does not end up in access logs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ..errors import InvalidValue
from ..protocol.keys import Role, Unauthorized
from .answers import JSON
from .views import acts, contexts, facts, finding, lists, live, overview, people, searching, tasks, threads

if TYPE_CHECKING:
    from ..memory import AsyncMemory
    from .app import Server

_encode = msgspec.json.Encoder(enc_hook=str).encode
ReadBody = Callable[[Request], Awaitable[bytes]]


class View(msgspec.Struct, frozen=True):
    """Represents one endpoint: its name, the type of its arguments, its handler and the required role."""

    name: str
    asked: type[msgspec.Struct]
    answer: Callable[[AsyncMemory, Any], Awaitable[Any]]
    role: Role = "reader"
    heavy: bool = False


VIEWS: tuple[View, ...] = (
    View("overview", overview.Overview, overview.overview),
    View("pulse", overview.Pulse, overview.pulse),
    View("users", people.Users, people.users),
    View("user", people.User, people.user),
    View("facts", people.Facts, people.facts),
    View("threads", people.Threads, people.threads),
    View("find", finding.Find, finding.find),
    View("thread", threads.ThreadAsked, threads.thread),
    View("messages", threads.Messages, threads.messages),
    View("fact", facts.FactAsked, facts.fact),
    View("suppose", facts.Suppose, facts.suppose, heavy=True),
    View("list", lists.Listing, lists.listing),
    View("document", lists.DocumentAsked, lists.document),
    View("audit", lists.AuditAsked, lists.audit, role="operator"),
    View("plans", lists.PlansAsked, lists.plans),
    View("timeline", lists.TimelineAsked, lists.timeline),
    View("jobs", tasks.JobsAsked, tasks.jobs, role="operator"),
    View("task", tasks.TaskAsked, tasks.task),
    View("search", searching.Search, searching.search, heavy=True),
    View("whynot", searching.WhyNot, searching.why_not, heavy=True),
    View("context", contexts.ContextAsked, contexts.context, heavy=True),
    View("compare", contexts.Compare, contexts.compare, heavy=True),
    View("turns", contexts.Turns, contexts.turns),
    View("restore", acts.Restore, acts.restore_version, role="writer"),
    View("pin", acts.Pin, acts.pin_message, role="writer"),
    View("retry", acts.Retry, acts.retry, role="operator"),
    View("analyses", lists.Analyses, lists.analyses),
)


def inspect_routes(server: Server, read_body: ReadBody) -> list[Route]:
    """Return one POST route per view, which accepts its arguments as JSON, and the event stream for open pages."""
    views = [
        Route(f"/v1/inspect/{view.name}", _endpoint(server, view, read_body), methods=["POST"], name=view.name)
        for view in VIEWS
    ]
    return [*views, Route("/v1/inspect/live", _live(server), methods=["GET"], name="live")]


def _live(server: Server) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        key = await server.admit(request)
        key.check("reader")

        async def allowed() -> bool:
            try:
                await server.who(request)
            except Unauthorized:
                return False
            return True

        news = live.live(server, server.handle(key), allowed)
        return StreamingResponse(news, media_type="text/event-stream")

    return answer


def _endpoint(server: Server, view: View, read_body: ReadBody) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        key = await server.admit(request, heavy=view.heavy)
        key.check(view.role)
        try:
            asked = msgspec.json.decode(await read_body(request) or b"{}", type=view.asked)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
            raise InvalidValue(f"the body of {view.name} is invalid: {wrong}") from None

        async def work() -> bytes:
            return _encode(await view.answer(server.handle(key), asked))

        return Response(await server.beside(work), media_type=JSON)

    return answer
