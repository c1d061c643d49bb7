"""Logs one line per request, as text or JSON, with ids, status and duration but never content."""

from __future__ import annotations

import logging
import re
import sys
from datetime import UTC, datetime
from typing import Literal

import msgspec
from starlette.types import Scope

from ..values import JsonObject

LogFormat = Literal["none", "text", "json"]
log = logging.getLogger("memorist.server")
_TRACEPARENT = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?")


def operation_name(scope: Scope) -> str:
    """Return the name of the operation, never the path, because a path may contain text that a user wrote."""
    name: str | None = scope.get("memorist.operation")
    return name or getattr(scope.get("route"), "name", None) or "unknown"


def trace_of(scope: Scope) -> str:
    """Return the trace id in the caller's `traceparent` (W3C Trace Context), or an empty string if there is no valid
    one."""
    header = next((value for name, value in scope["headers"] if name == b"traceparent"), b"")
    match = _TRACEPARENT.fullmatch(header)
    return match[1].decode() if match and match[1].strip(b"0") else ""


def log_request(scope: Scope, status: int, seconds: float) -> None:
    """Log one finished request."""
    if not log.isEnabledFor(logging.INFO):
        return
    fields = {
        "method": scope["method"], "operation": operation_name(scope), "status": status, "ms": round(seconds * 1000, 1),
        "key": scope.get("memorist.key", "-"), "request": scope.get("memorist.request", ""),
    }  # fmt: skip
    trace = trace_of(scope)
    if trace:
        fields["trace"] = trace
    log.info(
        "%s %s %d %.1f ms key=%s request=%s%s",
        *list(fields.values())[:6], f" trace={trace}" if trace else "", extra={"fields": fields},
    )  # fmt: skip


class JsonLines(logging.Formatter):
    """Formats a log record as one JSON object, which contains only the type of an exception."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        line: JsonObject = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(), "logger": record.name,
        }  # fmt: skip
        fields = getattr(record, "fields", None)
        line |= fields if fields is not None else {"message": record.getMessage()}
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
        return msgspec.json.encode(line, enc_hook=str).decode()


def log_to_stderr(form: LogFormat) -> None:
    """Send the log of `memorist` to standard error. `none` changes nothing, so Python shows only warnings and
    errors."""
    if form == "none":
        return
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if form == "json" else text)
    ours = logging.getLogger("memorist")
    ours.addHandler(handler)
    ours.setLevel(logging.INFO)
    ours.propagate = False
