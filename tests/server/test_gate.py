"""What stands around every operation: methods, rates, logs and traces."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import httpx
import pytest
from opentelemetry import trace

from memorist import Memory
from memorist.server.app import Options
from memorist.server.limits import Rate
from memorist.server.logs import JsonLines

from ..telemetry import exported
from .running import FAST, Running, running

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
SECRET = "the bicycle is blue"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    file = tmp_path_factory.mktemp("gate") / "memory.db"
    with running(file, Options(usual=Rate(0.001, 3), heavy=FAST, bad_keys=FAST, trace=True)) as started:
        yield started


def ask(server: Running, **headers: str) -> httpx.Client:
    headers["authorization"] = f"Bearer {server.key(org='gate')}"
    return httpx.Client(base_url=server.url, headers=headers, timeout=60)


T = TypeVar("T")


def soon(look: Callable[[], T | None]) -> T:
    """What a look finds; the server's line and span of a request end after its answer was sent."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        result = look()
        if result is not None:
            return result
        time.sleep(0.01)
    raise AssertionError("it did not come within a minute")


def line_of(answer: httpx.Response, caplog: pytest.LogCaptureFixture) -> logging.LogRecord:
    """The log's line about the request of an answer."""
    request_id = answer.headers["x-request-id"]

    def look() -> logging.LogRecord | None:
        return next(
            (record for record in list(caplog.records) if vars(record).get("fields", {}).get("request") == request_id),
            None,
        )

    return soon(look)


def test_another_method_is_told_which_there_are(server: Running) -> None:
    with ask(server) as client:
        answer = client.request("OPTIONS", "/v1/fact")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, PUT, DELETE, PATCH")
    assert answer.headers["content-type"] == "application/problem+json"


def test_answers_say_how_much_is_left_of_the_rate(server: Running) -> None:
    with ask(server) as client:
        answers = [client.get("/v1/me") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert answers[0].headers["ratelimit-policy"] == '"usual";q=3;w=3000'
    assert answers[0].headers["ratelimit"] == '"usual";r=2;t=1000'
    assert answers[3].headers["ratelimit"].startswith('"usual";r=0;t=')
    assert int(answers[3].headers["retry-after"]) >= 1


def test_a_log_line_has_ids_and_no_content(server: Running, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "memorist.server"), ask(server, traceparent=PARENT) as client:
        answer = client.put("/v1/fact", params={"ns": "user:ada", "key": "bike"}, json={"value": SECRET})
        missing = client.get("/v1/inspect/nothing", params={"q": SECRET})
        line_of(missing, caplog)
        own_line = json.loads(JsonLines().format(line_of(answer, caplog)))
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    assert (own_line["operation"], own_line["status"], own_line["method"]) == ("facts.set", 200, "PUT")
    assert (own_line["trace"], own_line["level"], own_line["logger"]) == (TRACE, "info", "memorist.server")
    assert own_line["key"] and own_line["time"] and own_line["ms"] >= 0
    assert SECRET not in json.dumps(lines) + caplog.text
    assert "bike" not in json.dumps(lines) + caplog.text


@pytest.mark.parametrize("traceparent", ["", "garbage", f"00-{'0' * 32}-00f067aa0ba902b7-01", PARENT.upper()])
def test_an_invalid_traceparent_is_no_trace(
    server: Running, traceparent: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "memorist.server"), ask(server, traceparent=traceparent) as client:
        line = line_of(client.get("/v1/me"), caplog)
    assert "trace=" not in line.getMessage()
    assert "trace" not in json.loads(JsonLines().format(line))


def test_a_request_is_a_span_below_the_callers(server: Running) -> None:
    spans, _ = exported()
    spans.clear()
    with Memory(server.url, api_key=server.key(org="gate")) as memory:
        memory.trace()
        with trace.get_tracer("test").start_as_current_span("asking") as asking:
            memory.facts.set("user:ada", "bike", SECRET)
    span = soon(
        lambda: next(
            (candidate for candidate in spans.get_finished_spans() if candidate.name == "memorist.facts.set"), None
        )
    )
    assert span.parent is not None
    assert span.parent.span_id == asking.get_span_context().span_id
    assert dict(span.attributes or {}) == {"http.response.status_code": 200}
