from __future__ import annotations

import logging
import threading

import pytest

from memorist.errors import ModelError
from memorist.models import answer_seconds, remote
from memorist.models.anthropic import open_anthropic
from memorist.models.openai import open_openai
from memorist.runtime import run_blocking

from .conftest import Bench
from .wire_server import Reply, anthropic_answer, anthropic_stream, openai_answer

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def failing(bench: Bench, **options: object) -> ModelError:
    with pytest.raises(ModelError) as caught:
        bench.ask(**options)
    return caught.value


def test_an_answer_comes_with_text_model_and_usage(bench: Bench) -> None:
    bench.server.say(bench.text("Hello there"))
    answer = bench.ask(system="Be brief.")
    assert answer.text == "Hello there"
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (16, 7)
    assert answer.stop == "end"
    assert answer.model.startswith(("claude-haiku-4-5", "llama3"))


def test_the_request_has_each_provider_s_shape(bench: Bench) -> None:
    bench.server.say(bench.text("ok"))
    bench.ask("hi", system="Be brief.", max_tokens=33)
    request, path, headers = bench.server.requests[0], bench.server.paths[0], bench.server.headers[0]
    if bench.provider == "anthropic":
        assert path == "/v1/messages"
        # Older SDKs send x-api-key, newer ones a bearer token.
        assert "key-1" in (headers.get("x-api-key"), headers.get("authorization", "").removeprefix("Bearer "))
        assert request["system"] == "Be brief."
        assert request["messages"] == [{"role": "user", "content": "hi"}]
    else:
        assert path == "/v1/chat/completions" and headers["authorization"] == "Bearer key-1"
        assert request["messages"][0] == {"role": "system", "content": "Be brief."}
        assert request["messages"][1] == {"role": "user", "content": "hi"}
    assert request["max_tokens"] == 33
    assert headers["connection"] == "close"


def test_structured_output_is_forced_and_parsed(bench: Bench) -> None:
    bench.server.say(bench.json({"city": "Porto"}))
    answer = bench.ask(schema=SCHEMA)
    assert answer.data == {"city": "Porto"}
    request = bench.server.requests[0]
    if bench.provider == "anthropic":
        assert request["tool_choice"] == {"type": "tool", "name": "answer"}
        assert request["tools"][0]["input_schema"] == SCHEMA
    else:
        assert request["response_format"]["json_schema"]["strict"] is True
        assert request["response_format"]["json_schema"]["schema"] == SCHEMA


def test_an_answer_that_is_not_json_has_no_data_for_a_schema(bench: Bench) -> None:
    bench.server.say(bench.text("the city is Porto"))
    answer = bench.ask(schema=SCHEMA)
    assert answer.data is None
    assert answer.text == "the city is Porto"


def test_text_cut_at_max_tokens_says_so(bench: Bench) -> None:
    bench.server.say(bench.text("a long sto", cut=True))
    assert bench.ask().stop == "length"


def test_json_cut_at_max_tokens_is_an_error(bench: Bench) -> None:
    bench.server.say(bench.text('{"city": "Po', cut=True))
    error = failing(bench, schema=SCHEMA)
    assert error.facts["reason"] == "length"
    assert not error.retryable


def test_a_stream_gives_the_pieces_in_order(bench: Bench) -> None:
    bench.server.say(bench.events("Hel", "lo ", "wörld"))
    assert bench.pieces() == ["Hel", "lo ", "wörld"]
    assert bench.server.requests[0]["stream"] is True


def test_a_stream_split_inside_a_character_comes_whole(bench: Bench) -> None:
    reply = bench.events("żółć", "!")
    raw = b"".join(reply.pieces)
    reply.pieces = [raw[index : index + 3] for index in range(0, len(raw), 3)]
    bench.server.say(reply)
    assert bench.pieces() == ["żółć", "!"]


def test_a_stream_that_breaks_off_raises(server: object, bench: Bench) -> None:
    if bench.provider == "anthropic":
        bench.server.say(Reply(pieces=anthropic_stream("Hel", error="overloaded_error"), kind="text/event-stream"))
    else:
        bench.server.say(Reply(pieces=[b'data: {"error": {"message": "no"}}\n\n'], kind="text/event-stream"))
    with pytest.raises(ModelError) as caught:
        bench.pieces()
    assert caught.value.retryable


def test_a_stream_refused_with_a_status_raises(bench: Bench) -> None:
    bench.server.say(Reply({"error": {"type": "x", "message": "no"}}, status=401))
    with pytest.raises(ModelError) as caught:
        bench.pieces()
    assert caught.value.facts["status"] == 401


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_client_errors_are_final(bench: Bench, status: int) -> None:
    bench.server.say(Reply({"error": {"type": "x", "message": "no"}}, status=status))
    error = failing(bench)
    assert error.facts["status"] == status
    assert not error.retryable
    assert len(bench.server.requests) == 1


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_passing_errors_are_tried_again(bench: Bench, status: int) -> None:
    bench.server.say(Reply({"error": {"message": "later"}}, status=status), bench.text("ok"))
    assert bench.ask().text == "ok"
    assert len(bench.server.requests) == 2
    assert len(bench.slept) == 1 and 0.25 <= bench.slept[0] <= 0.5


def test_retry_after_is_respected(bench: Bench) -> None:
    bench.server.say(Reply({}, status=429, headers={"retry-after": "7"}), bench.text("ok"))
    assert bench.ask().text == "ok"
    assert bench.slept == [7.0]


def test_a_very_long_retry_after_is_handed_to_the_caller(bench: Bench) -> None:
    bench.server.say(Reply({}, status=429, headers={"retry-after": "3600"}))
    error = failing(bench)
    assert error.retryable
    assert error.facts["retry_after"] == 3600
    assert bench.slept == []


def test_it_gives_up_after_three_tries_with_growing_waits(bench: Bench) -> None:
    bench.server.say(*[Reply({}, status=500)] * 3)
    error = failing(bench)
    assert error.facts["attempts"] == 3
    assert error.retryable and error.facts["status"] == 500
    assert len(bench.slept) == 2 and bench.slept[0] <= 0.5 <= bench.slept[1] <= 1.0


def test_a_body_that_is_not_json_is_tried_again(bench: Bench) -> None:
    bench.server.say(Reply(b"<html>gateway</html>"), bench.text("ok"))
    assert bench.ask().text == "ok"


def test_a_body_of_another_shape_is_malformed(bench: Bench) -> None:
    bench.server.say(*[Reply({"content": "text", "choices": 3})] * 3)
    assert failing(bench).facts["reason"] == "malformed"


def test_an_empty_answer_is_an_error(bench: Bench) -> None:
    bench.server.say(*[bench.text("")] * 3)
    assert failing(bench).facts["reason"] == "empty"


def test_a_dropped_connection_is_tried_again(bench: Bench) -> None:
    bench.server.say(Reply(drop=True), bench.text("ok"))
    assert bench.ask().text == "ok"


def test_a_server_that_is_not_there_is_a_retryable_error(provider: str) -> None:
    from .wire_server import serving

    with serving() as closed_server:
        bench = Bench(provider, True, closed_server)
    error = failing(bench)
    assert error.retryable and error.facts["reason"] == "connection"


def test_a_silent_server_times_out(bench: Bench) -> None:
    release = threading.Event()
    bench.server.say(Reply({}, wait=release))
    try:
        error = failing(bench, timeout=0.2)
    finally:
        release.set()
    assert error.retryable and error.facts["reason"] == "timeout"


def test_a_dripping_server_times_out(bench: Bench) -> None:
    bench.server.say(Reply(pieces=[], endless=b" "))
    error = failing(bench, timeout=0.3)
    assert error.retryable and error.facts["reason"] == "timeout"


def test_an_endless_answer_is_cut_off(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "MAX_ANSWER_BYTES", 100_000)
    bench.server.say(Reply(pieces=[], endless=b"x" * 10_000))
    error = failing(bench)
    assert error.facts["reason"] == "too_long"
    assert not error.retryable


def test_a_refusal_is_final(bench: Bench) -> None:
    if bench.provider == "anthropic":
        bench.server.say(Reply(anthropic_answer("no", stop="refusal")))
    else:
        bench.server.say(Reply(openai_answer(None, refusal="I cannot")))
    error = failing(bench)
    assert error.facts["reason"] == "refusal" and not error.retryable


def test_no_content_reaches_errors_or_logs(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    canary, echo = "canary-5519", "echo-7731"
    caplog.set_level(logging.DEBUG)
    bench.server.say(Reply({"error": {"type": "x", "message": f"bad: {echo}"}}, status=400))
    error = failing(bench, text=canary, system=canary)
    bench.server.say(bench.text(echo))
    bench.ask(canary)
    everything = f"{error} {error.facts} {error.__cause__!r} {caplog.text} {[record.args for record in caplog.records]}"
    assert canary not in everything
    assert echo not in everything


def test_the_sdk_s_own_log_is_silent_only_during_our_calls(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.server.say(bench.text("ok"))
    bench.ask()
    with caplog.at_level(logging.DEBUG):
        logging.getLogger(f"{bench.provider}._base_client").debug("someone else's call")
    assert "someone else's call" in caplog.text


def test_a_credential_is_in_no_error(bench: Bench) -> None:
    bench.server.say(Reply({}, status=401))
    assert "key-1" not in f"{failing(bench)!r}"


@pytest.mark.parametrize(
    ("own", "asked_seconds", "expected"), [(None, None, 60), (5, None, 5), (None, 120, 120), (5, 20, 5), (5, 2, 2)]
)
def test_a_model_has_a_time_limit_of_its_own_and_a_caller_may_ask_for_less(
    own: float | None, asked_seconds: float | None, expected: float
) -> None:
    for model in (
        open_openai("m", blocking=True, api_key="k", timeout=own),
        open_anthropic("m", blocking=True, api_key="k", timeout=own),
    ):
        assert model._seconds(asked_seconds) == expected
        run_blocking(model.close())


def test_a_server_of_ones_own_may_take_longer() -> None:
    assert open_openai("m", blocking=True, base_url="http://localhost:1")._seconds(None) == 900
    assert answer_seconds("openai:m@http://localhost:1") == 900 and answer_seconds("openai:m") == 60


def test_temperature_0_is_sent_until_a_model_refuses_it(bench: Bench) -> None:
    message = "Unsupported value: 'temperature' does not support 0 with this model."
    bench.server.say(Reply({"error": {"type": "invalid_request_error", "message": message}}, status=400))
    bench.server.say(bench.text("yes"), bench.text("yes"))
    assert [bench.ask().text for _ in range(2)] == ["yes", "yes"]
    assert [request.get("temperature") for request in bench.server.requests] == [0, None, None]


def test_a_long_system_prompt_is_cached_by_the_provider(bench: Bench) -> None:
    bench.server.say(bench.text("yes"))
    usage = bench.ask(system="x" * 5_000).usage
    assert usage.cached_tokens == 5
    system = bench.server.requests[0].get("system")
    if system is not None:  # OpenAI caches by itself
        assert [block["cache_control"] for block in system] == [{"type": "ephemeral"}]
