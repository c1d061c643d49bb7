"""POSTs JSON to an embedding or reranking service, with retries and back-off. Its errors contain no content."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..backoff import pause
from ..errors import ModelError

MAX_ATTEMPTS = 4
TIMEOUT_SECONDS = 60.0
_RETRY = frozenset({408, 409, 429, 500, 502, 503, 504, 529})


def post(
    url: str, body: Mapping[str, object], headers: Mapping[str, str], *, sleep: Callable[[float], None] = time.sleep
) -> object:
    """Return the decoded answer. Transient errors are retried with exponential back-off."""
    data = json.dumps(body).encode()
    for attempt in range(1, MAX_ATTEMPTS + 1):
        request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers}, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            status, wait = error.code, _wait(error, attempt)
            error.close()
            if status not in _RETRY or attempt == MAX_ATTEMPTS:
                raise ModelError(f"{url} answered {status}; {_advice(status)}", status=status) from None
        except (OSError, ValueError) as error:
            wait = _wait(None, attempt)
            if attempt == MAX_ATTEMPTS:
                raise ModelError(f"{url} could not be read: {type(error).__name__}; is it reachable?") from error
        sleep(wait)
    raise AssertionError("unreachable")


def rows(answer: Any, count: int, url: str) -> list[list[float]]:
    """Return the vectors from a response, in the order of the texts."""
    try:
        items: Sequence[Any] = sorted(answer["data"], key=lambda item: int(item["index"]))
        vectors = [item["embedding"] for item in items]
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{url} returned no embeddings") from error
    if len(vectors) != count:
        raise ModelError(f"{url} returned {len(vectors)} embeddings for {count} texts")
    return vectors


def _wait(error: urllib.error.HTTPError | None, attempt: int) -> float:
    asked = error.headers.get("Retry-After", "") if error is not None else ""
    return min(float(asked), 30.0) if asked.isdigit() else pause(attempt, first=0.5, longest=8.0)


def _advice(status: int) -> str:
    if status in (401, 403):
        return "check the API key"
    if status == 404:
        return "check the model's name and the base URL"
    return "try again later" if status in _RETRY else "the request was refused"
