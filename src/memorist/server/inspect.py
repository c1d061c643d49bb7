"""Serves the inspector's own endpoints under `/v1/inspect/`: views, and a few writes that are not part of the public
API.

A view reads everything needed for one page, so that a page requires few requests. It uses a memory narrowed to the
access rights of the caller's key. Its arguments are sent in the body, never in the URL, so that text typed by users
does not end up in access logs.
"""

from __future__ import annotations

import inspect
import typing
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
    from .app import Server

_encode = msgspec.json.Encoder(enc_hook=str).encode
ReadBody = Callable[[Request], Awaitable[bytes]]


class View(msgspec.Struct, frozen=True):
    """Represents one endpoint: its name, its function and the required role.

    The body of a request contains the keyword arguments of the function, or the fields of its only other argument.
    """

    name: str
    answer: Callable[..., Awaitable[object]]
    role: Role = "reader"
    heavy: bool = False


VIEWS: tuple[View, ...] = (
    View("overview", overview.overview),
    View("pulse", overview.pulse),
    View("users", people.users),
    View("user", people.user),
    View("facts", people.facts),
    View("threads", people.threads),
    View("find", finding.find),
    View("thread", threads.thread),
    View("messages", threads.messages),
    View("fact", facts.fact),
    View("suppose", facts.suppose, heavy=True),
    View("list", lists.listing),
    View("document", lists.document),
    View("audit", lists.audit, role="operator"),
    View("plans", lists.plans),
    View("timeline", lists.timeline),
    View("jobs", tasks.jobs, role="operator"),
    View("task", tasks.task),
    View("search", searching.search, heavy=True),
    View("whynot", searching.why_not, heavy=True),
    View("context", contexts.context, heavy=True),
    View("compare", contexts.compare, heavy=True),
    View("turns", contexts.turns),
    View("restore", acts.restore_version, role="writer"),
    View("pin", acts.pin_message, role="writer"),
    View("retry", acts.retry, role="operator"),
    View("analyses", lists.analyses),
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
    asked_type, is_whole = _arguments_of(view)

    async def answer(request: Request) -> Response:
        key = await server.admit(request, heavy=view.heavy)
        key.check(view.role)
        try:
            asked = msgspec.json.decode(await read_body(request) or b"{}", type=asked_type)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
            raise InvalidValue(f"the body of {view.name} is invalid: {wrong}") from None

        async def work() -> bytes:
            options = {name: getattr(asked, name) for name in asked.__struct_fields__}
            shown = view.answer(server.handle(key), asked) if is_whole else view.answer(server.handle(key), **options)
            return _encode(await shown)

        return Response(await server.beside(work), media_type=JSON)

    return answer


def _arguments_of(view: View) -> tuple[type[msgspec.Struct], bool]:
    """Return the struct that checks the arguments of a view, and whether its function accepts the struct as a whole."""
    _, *parameters = inspect.signature(view.answer).parameters.values()
    types = typing.get_type_hints(view.answer, localns={"AsyncMemory": object})
    if parameters and parameters[0].kind is not inspect.Parameter.KEYWORD_ONLY:
        return types[parameters[0].name], True
    fields: list[Any] = [
        (parameter.name, types[parameter.name], *([] if parameter.default is parameter.empty else [parameter.default]))
        for parameter in parameters
    ]
    return msgspec.defstruct(view.name, fields, forbid_unknown_fields=True, kw_only=True), False
