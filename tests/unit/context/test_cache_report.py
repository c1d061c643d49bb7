"""The report of a request names what broke the prompt cache, and what it cost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memorist import Context, Memory, compress
from memorist.context.report import find_break, report_request
from memorist.context.usage import price_of, read_usage
from memorist.errors import UsageError
from memorist.messages.reports import Break
from memorist.stores.memory import MemoryStore
from memorist.types import Usage

Request = dict[str, Any]
TOOLS = [
    {"type": "function", "function": {"name": name, "description": f"Does {name}.", "parameters": {"type": "object"}}}
    for name in ("alpha", "beta", "gamma")
]


def first_request() -> Request:
    talk = [
        {"role": ("user", "assistant")[n % 2], "content": f"Turn {n}: " + "words and words " * 60} for n in range(30)
    ]
    return {"system": "Be brief.", "tools": TOOLS, "messages": [*talk, {"role": "user", "content": "And now?"}]}


def next_request() -> Request:
    request = first_request()
    more = [{"role": "assistant", "content": "This is now."}, {"role": "user", "content": "Go on."}]
    return {**request, "messages": [*request["messages"], *more]}


def assemble(request: Request) -> Context:
    return compress(request["messages"], budget=50_000, system=request["system"], tools=request["tools"])


def edited(request: Request, index: int, text: str) -> Request:
    messages = list(request["messages"])
    messages[index] = {**messages[index], "content": text}
    return {**request, "messages": messages}


def without(request: Request, index: int) -> Request:
    return {**request, "messages": [m for n, m in enumerate(request["messages"]) if n != index]}


def inserted(request: Request, index: int) -> Request:
    note = {"role": "user", "content": "(a note in the middle)"}
    return {**request, "messages": [*request["messages"][:index], note, *request["messages"][index:]]}


def described(request: Request) -> Request:
    function = {**TOOLS[1]["function"], "description": "Does beta, today."}  # type: ignore[dict-item]
    return {**request, "tools": [TOOLS[0], {"type": "function", "function": function}, TOOLS[2]]}


BREAKERS: list[tuple[Callable[[Request], Request], tuple[str, str]]] = [
    (lambda request: {**request, "system": "Be brief. It is 10:42."}, ("system", "changed")),
    (lambda request: {**request, "system": ["Be brief.", "It is Tuesday."]}, ("system", "added")),
    (lambda request: {**request, "tools": [TOOLS[1], TOOLS[0], TOOLS[2]]}, ("tools", "moved")),
    (lambda request: {**request, "tools": [*TOOLS[:1], *TOOLS[2:]]}, ("tools", "removed")),
    (lambda request: {**request, "tools": [TOOLS[0], {**TOOLS[0], "strict": True}, *TOOLS[1:]]}, ("tools", "added")),
    (described, ("tools", "changed")),
    (lambda request: edited(request, 12, "Turn 12, redacted."), ("history", "changed")),
    (lambda request: without(request, 7), ("history", "removed")),
    (lambda request: inserted(request, 9), ("history", "added")),
    (lambda request: {**request, "messages": request["messages"][10:]}, ("history", "removed")),
]


@pytest.mark.parametrize(("plant", "expected"), BREAKERS)
def test_each_planted_breaker_is_found(plant: Callable[[Request], Request], expected: tuple[str, str]) -> None:
    before, after = assemble(first_request()), assemble(plant(next_request()))
    broken = find_break(before.pieces, after.pieces)
    assert broken is not None and (broken.section, broken.change) == expected
    assert broken.tokens > 1_000


def test_a_changed_part_is_charged_too_and_small_costs_are_readable() -> None:
    long = "Always answer in the form of a table. " * 40
    before = compress([{"role": "user", "content": "Hi"}], budget=4_000, system=long + "It is 10:41.")
    after = compress([{"role": "user", "content": "Hello"}], budget=4_000, system=long + "It is 10:42.")
    usage = {"input_tokens": 8, "cache_read_input_tokens": 0, "cache_creation_input_tokens": after.tokens - 8}
    broken = after.report(usage, before=before, model="claude-sonnet-4-5").broken
    assert broken is not None and broken.section == "system" and broken.tokens > 300
    assert broken.cost == pytest.approx(broken.tokens * (3.75 - 0.3) / 1e6)
    assert str(Break("system", "#1", "changed", 26, 0.0000293)).endswith("$0.000029")


def test_another_model_and_a_cache_that_expired_are_found_too() -> None:
    before, after = assemble(first_request()).pieces, assemble(next_request()).pieces
    usage = {"prompt_tokens": 5_000, "prompt_tokens_details": {"cached_tokens": 0}}
    changed = report_request(usage, before=before, after=after, model="gpt-5-mini", model_before="gpt-5").broken
    expired = report_request(usage, before=before, after=after, model="gpt-5", model_before="gpt-5").broken
    assert changed is not None and (changed.section, changed.name) == ("model", "gpt-5-mini")
    assert expired is not None and (expired.section, expired.change) == ("provider", "expired")
    assert expired.cost == pytest.approx(expired.tokens * (1.25 - 0.125) / 1e6)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_compaction_of_the_provider_is_named_not_an_expired_cache(provider: str) -> None:
    item: Any = {"type": "compaction", "encrypted_content": "opaque"}
    if provider == "anthropic":
        item = {"role": "assistant", "content": [{**item, "content": "They talked."}]}
    talk = [{"role": "user", "content": f"Note {number}: " + "words " * 60} for number in range(20)]
    before = compress(talk, budget=8_000).pieces
    compacted = compress([*talk, item, {"role": "user", "content": "And now?"}], budget=8_000).pieces
    later = compress([*talk, item, *talk[:1] * 2], budget=8_000).pieces
    usage = {"prompt_tokens": 60, "prompt_tokens_details": {"cached_tokens": 0}}
    report = report_request(usage, before=before, after=compacted, model="gpt-5")
    assert report.broken is not None and (report.broken.section, report.broken.change) == ("compaction", "added")
    assert report.broken.tokens > 1_000 and report.broken.cost is not None
    expired = report_request(usage, before=compacted[:-1], after=later, model="gpt-5").broken
    assert expired is not None and expired.section == "provider"


def test_a_request_that_only_grows_is_not_broken() -> None:
    before, after = assemble(first_request()), assemble(next_request())
    report = after.report(Usage(6_000, 10, 5_500), before=before, model="gpt-5")
    assert report.broken is None and report.cached_share > 0.9 and report.uncached_tokens == 500
    assert report.shared_tokens > 0.9 * before.tokens


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}, Usage(9, 2, 4)),
        (
            {"usage": {"input_tokens": 9, "output_tokens": 2,
                       "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3}}},
            Usage(9, 2, 4, 3),
        ),
        (
            {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 7},
            Usage(52, 2, 40, 7),
        ),
        (
            {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 7,
             "iterations": [
                 {"type": "compaction", "input_tokens": 600, "output_tokens": 90, "cache_read_input_tokens": 300},
                 {"type": "message", "input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 40},
             ]},
            Usage(952, 92, 340, 7),
        ),
        (
            {"usage_metadata": {"prompt_token_count": 9, "candidates_token_count": 2, "cached_content_token_count": 4}},
            Usage(9, 2, 4),
        ),
    ],
)  # fmt: skip
def test_usage_is_read_as_each_provider_reports_it(reported: Any, expected: Usage) -> None:
    assert read_usage(reported) == expected


def test_usage_that_says_nothing_is_refused() -> None:
    for wrong in ({}, {"input_tokens": -1}, {"prompt_tokens": "9"}, None):
        with pytest.raises(UsageError):
            read_usage(wrong)


def test_prices_can_be_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert price_of("claude-sonnet-4-5-20250929").input == 3.0  # type: ignore[union-attr]
    assert price_of("a-model-of-mine") is None
    own_prices = {"a-model": {"input": 1.0, "cached": 0.1, "output": 2.0}}
    price = price_of("a-model-of-mine", own_prices)
    assert price is not None and price.cost(Usage(1_000_000, 500_000, 400_000)) == pytest.approx(0.6 + 0.04 + 1.0)
    (tmp_path / "prices.toml").write_text("[gpt-5]\ninput = 7.0\ncached = 1.0\noutput = 9.0\n")
    monkeypatch.setenv("MEMORIST_PRICES", str(tmp_path / "prices.toml"))
    assert price_of("gpt-5.6").input == 7.0  # type: ignore[union-attr]


def test_a_session_records_its_requests_and_explains_what_broke() -> None:
    with Memory(MemoryStore(), user="ada", worker=False, embedder=None) as memory:
        talk = memory.session("talk", system="Be brief.")
        for n in range(3):
            context = talk.context(f"Question {n}?")
            talk.add(f"Question {n}?", f"Answer {n}.")
            talk.usage({"prompt_tokens": context.tokens, "completion_tokens": 4}, model="gpt-5")
        assert [report.broken for report in memory.threads.requests("talk")] == [None] * 3
        broken = talk.context("And?", system="Be brief. Today is Tuesday.")
        assert "cache: system #1 changed" in broken.explain() and ", $0.0" in broken.explain()
        report = talk.usage({"prompt_tokens": broken.tokens, "completion_tokens": 4}, model="gpt-5")
        assert report.broken is not None and report.broken.cost is not None and report.cost is not None
        assert memory.threads.requests("talk")[-1] == report
        memory.forget(thread="talk")
        memory.threads.create("user:ada", id="talk")
        assert memory.threads.requests("talk") == []
