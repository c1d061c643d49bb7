"""Creates HTTP responses: JSON for results, `application/problem+json` (RFC 9457) for errors."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
from starlette.responses import Response
from starlette.types import Scope

from ..errors import Forbidden, MemoristError, UsageError
from ..protocol.keys import Limited, Unauthorized
from ..protocol.nouns.transfers import DamagedUpload
from ..protocol.problems import Problem, problem_of
from .replay import AnswerGone
from .strict_json import Malformed

JSON = "application/json"


class Unsuited(UsageError):
    """Raised with status 415 if the content type of the body is not supported."""


class WrongMethod(UsageError):
    """Raised with status 405 if a path does not support the method. `allow` lists the methods it supports."""


_OURS: dict[type[MemoristError], int] = {
    Unauthorized: 401, Forbidden: 403, Limited: 429, Malformed: 400, Unsuited: 415, DamagedUpload: 422,
    WrongMethod: 405, AnswerGone: 409,
}  # fmt: skip


def json_response(value: object) -> Response:
    """Return a response that contains a value as JSON."""
    return Response(msgspec.json.encode(value), media_type=JSON)


def problem_response(error: MemoristError, request_id: str, scope: Scope) -> Response:
    """Return an error as problem+json, with its status and headers such as `Retry-After`."""
    problem = problem_of(error, request_id=request_id)
    status = next((_OURS[kind] for kind in type(error).__mro__ if kind in _OURS), problem.status)
    # A conflict with a version that the request named in a header is a failed precondition (RFC 9110).
    if status == 409 and any(name in (b"if-match", b"if-none-match") for name, _ in scope["headers"]):
        status = 412
    headers: dict[str, str] = {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if isinstance(error, WrongMethod):
        headers["allow"] = ", ".join(error.facts["allow"])
    if status in (429, 503):
        headers["retry-after"] = str(max(1, math.ceil(getattr(error, "retry_after", 1))))
    return send_problem(msgspec.structs.replace(problem, status=status), headers)


def send_problem(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response that contains a problem and has its status."""
    body = msgspec.json.encode(problem)
    return Response(body, problem.status, media_type="application/problem+json", headers=dict(headers or {}))


def forbidden(detail: str) -> Response:
    """Return a 403 for a request that no key may send, such as one from another site."""
    return send_problem(Problem(type="urn:memorist:forbidden", title="Forbidden", status=403, detail=detail))


def not_found(request_id: str = "") -> Response:
    """Return a 404 for an unknown path."""
    detail = "there is nothing at this path"
    return send_problem(
        Problem(type="urn:memorist:not-found", title="NotFound", status=404, detail=detail, request_id=request_id)
    )
