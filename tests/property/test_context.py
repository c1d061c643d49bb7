"""Random threads × budgets × policies × counters: within budget, nothing orphaned, pinned kept, same bytes."""

from __future__ import annotations

import os
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.rendered import measure_anthropic, measure_openai
from memorist.context.assemble import OMITTED, STARTS
from memorist.context.budget import TokenBudget
from memorist.context.compress import compress
from memorist.context.fold import plan_fold, write_fold
from memorist.context.measure import count_message
from memorist.context.policies import Chain, ElideToolResults, Fifo, Importance, SlidingWindow, Summarize, VectorSwap
from memorist.context.reading import Reading
from memorist.context.summaries import summary_tokens
from memorist.context.tokens import open_counter
from memorist.context.units import Grouper, Unit, group, messages_of
from memorist.context.validate import anthropic_problems, openai_problems
from memorist.errors import BudgetError, MemoristError
from memorist.messages.message import Message, as_message

from . import recount

replace = msgspec.structs.replace
EXAMPLES = int(os.environ.get("MEMORIST_CONTEXT_EXAMPLES", "1200"))
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SENTENCE = "The invoice of Ada was 42 euros, so we decided to use Postgres. 数据库连接失败 [1, 2] <b>x</b> naïve 🙂 "
WORDS = SENTENCE.split(" ")
GIANT = " ".join(WORDS * 120)
SCHEMA = {"type": "object", "properties": {"q": {"type": "string", "description": "What to look for, as ünïcode"}}}
ANTHROPIC_TOOLS = [
    {"name": "look", "description": "Looks", "input_schema": SCHEMA},
    {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
    {"name": "bare", "input_schema": {"type": "object"}},
]
TOOLS = [{"type": "function", "function": {"name": "look", "description": "Looks", "parameters": {"type": "object"}}}]


def call(identity: str, name: str = "look", arguments: str = '{"q": "x", "n": 3}') -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*identities: str, content: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": [call(identity) for identity in identities]}


def result(identity: str, content: Any = "found it") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": content}


def use(identity: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": "look", "input": {"q": "ünï", "deep": [1, {"a": None}]}}


def used(identity: str, content: Any = "found it") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": content}


def words(number: int) -> str:
    size = number * 7 % 23 + 1
    return " ".join(WORDS[(number + index) % len(WORDS)] for index in range(size)) + f" #{number}"


def image() -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}


def anthropic_image() -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def text_block(number: int) -> dict[str, Any]:
    return {"type": "text", "text": words(number)}


def document(source: dict[str, Any]) -> dict[str, Any]:
    return {"type": "document", "title": "Lease", "source": source}


BLANK = {"type": "text", "text": " "}
THOUGHT = {"type": "thinking", "thinking": "Let me think about this.", "signature": "c2ln"}
# Each kind is a function from a number to the messages it stands for.
KINDS: dict[str, Any] = {
    "user": lambda n: [user(words(n))],
    "assistant": lambda n: [assistant(words(n))],
    "pair": lambda n: [user(words(n)), assistant(words(n + 1))],
    "named": lambda n: [user(words(n), name="Ada")],
    "parts": lambda n: [user([text_block(n), image()])],
    "picture": lambda n: [user([anthropic_image(), text_block(n)])],
    "only picture": lambda n: [user([image()])],
    "system": lambda n: [{"role": "system", "content": words(n)}],
    "developer": lambda n: [{"role": "developer", "content": words(n)}],
    "empty user": lambda n: [user("")],
    "blank user": lambda n: [user(" \n\t")],
    "empty parts": lambda n: [user([])],
    "blank parts": lambda n: [user([{"type": "text", "text": ""}, text_block(n)])],
    "no content": lambda n: [{"role": "assistant"}],
    "none content": lambda n: [assistant(None)],
    "empty calls": lambda n: [assistant(words(n), tool_calls=[])],
    "refusal": lambda n: [assistant(None, refusal="I cannot do that.")],
    "thinking only": lambda n: [assistant([THOUGHT])],
    "thinking": lambda n: [assistant([THOUGHT, text_block(n)])],
    "giant user": lambda n: [user(f"{GIANT} #{n}")],
    "giant assistant": lambda n: [assistant(f"{GIANT} #{n}")],
    "exchange": lambda n: [calls(f"c{n}"), result(f"c{n}", words(n))],
    "parallel": lambda n: [calls(f"c{n}a", f"c{n}b", content=words(n)), result(f"c{n}a"), result(f"c{n}b", words(n))],
    "reversed": lambda n: [calls(f"c{n}a", f"c{n}b"), result(f"c{n}b"), result(f"c{n}a", None)],
    "missing one": lambda n: [calls(f"c{n}a", f"c{n}b"), result(f"c{n}b")],
    "interleaved": lambda n: [calls(f"c{n}a"), calls(f"c{n}b"), result(f"c{n}a"), result(f"c{n}b")],
    "late result": lambda n: [calls(f"c{n}"), user(words(n)), result(f"c{n}", "late")],
    "early result": lambda n: [result(f"c{n}"), calls(f"c{n}")],
    "same ids": lambda n: [calls("same", "same"), result("same", "one"), result("same", "two")],
    "reused id": lambda n: [calls("call_0"), result("call_0", words(n))],
    "no id": lambda n: [calls(""), result("")],
    "twice": lambda n: [calls(f"c{n}"), result(f"c{n}", "one"), result(f"c{n}", "two")],
    "bad arguments": lambda n: [assistant("", tool_calls=[call(f"c{n}", arguments="{oops")]), result(f"c{n}")],
    "list arguments": lambda n: [assistant(None, tool_calls=[call(f"c{n}", arguments="[1]")]), result(f"c{n}")],
    "custom": lambda n: [
        assistant(None, tool_calls=[{"id": f"c{n}", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}]),
        result(f"c{n}"),
    ],
    "open call": lambda n: [calls(f"c{n}")],
    "orphan": lambda n: [result(f"nowhere{n}", words(n))],
    "giant result": lambda n: [calls(f"c{n}"), result(f"c{n}", f"{GIANT} #{n}")],
    "tool parts": lambda n: [calls(f"c{n}"), result(f"c{n}", [text_block(n), text_block(n + 1)])],
    "use": lambda n: [assistant([THOUGHT, text_block(n), use(f"u{n}")]), user([used(f"u{n}", words(n))])],
    "uses": lambda n: [
        assistant([use(f"u{n}a"), use(f"u{n}b")]),
        user([used(f"u{n}b", [text_block(n)]), used(f"u{n}a"), text_block(n)]),
    ],
    "uses apart": lambda n: [
        assistant([use(f"u{n}a"), use(f"u{n}b")]),
        user([used(f"u{n}b"), text_block(n)]),
        user([used(f"u{n}a")]),
    ],
    "use and picture": lambda n: [assistant([use(f"u{n}")]), user([used(f"u{n}", [anthropic_image()])])],
    "use without result": lambda n: [assistant([THOUGHT, use(f"u{n}")]), user(words(n))],
    "use orphan": lambda n: [user([used(f"nowhere{n}"), text_block(n)])],
    "use odd id": lambda n: [assistant([use(f"u:{n}.")]), user([used(f"u:{n}.")])],
    "server tool": lambda n: [
        assistant([{"type": "server_tool_use", "id": f"s{n}", "name": "web", "input": {"q": 1}}, text_block(n)])
    ],
    "redacted": lambda n: [assistant([{"type": "redacted_thinking", "data": "abcd" * 20}, text_block(n)])],
    "function": lambda n: [
        assistant(None, function_call={"name": "old", "arguments": "{}"}),
        {"role": "function", "name": "old", "content": words(n)},
    ],
    "surrogate": lambda n: [user(f"broken \ud83d text {n}")],
    "control tokens": lambda n: [user(f"<|endoftext|> <|im_start|>system {n}")],
    "pinned": lambda n: [user(f"PINNED-{n}. {words(n)}", pinned=True)],
    "pinned exchange": lambda n: [calls(f"p{n}"), {**result(f"p{n}", f"PINNED-{n}"), "pinned": True}],
    "pinned empty": lambda n: [user("", pinned=True)],
    "important": lambda n: [user(words(n), importance=0.9)],
    "plain text": lambda n: [f"just text {n}"],
    "low detail": lambda n: [
        user([text_block(n), {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}}])
    ],
    "pdf": lambda n: [
        user([document({"type": "base64", "media_type": "application/pdf", "data": PNG}), text_block(n)])
    ],
    "text document": lambda n: [user([document({"type": "text", "media_type": "text/plain", "data": words(n)})])],
    "linked document": lambda n: [user([document({"type": "url", "url": "https://x/y.pdf"}), text_block(n)])],
    "file": lambda n: [
        user([{"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PNG}"}}])
    ],
    "ends in thinking": lambda n: [assistant([text_block(n), THOUGHT]), user(words(n))],
    "blank after result": lambda n: [
        assistant([use(f"u{n}")]),
        user([used(f"u{n}", [text_block(n), BLANK]), BLANK]),
    ],
    "blank result": lambda n: [assistant([use(f"u{n}")]), user([used(f"u{n}", [BLANK])])],
    "object arguments": lambda n: [
        assistant(None, tool_calls=[{"id": f"c{n}", "function": {"name": "f", "arguments": {"q": "ü", "n": [1]}}}]),
        result(f"c{n}", [text_block(n), image()]),
    ],
    "surrogate input": lambda n: [
        assistant([{"type": "tool_use", "id": f"u{n}", "name": "look", "input": {"q": "a\ud83d"}}]),
        user([used(f"u{n}")]),
    ],
}
POLICIES: dict[str, Any] = {
    "default": None,
    "fifo": Fifo(5),
    "sliding": SlidingWindow(),
    "sliding 300": SlidingWindow(300),
    "summarize": Summarize(),
    "summarize half": Summarize(threshold=0.5, fraction=0.5),
    "swap": VectorSwap(keep=3, k=2),
    "importance": Importance(),
    "longest": Importance(lambda unit: float(unit.tokens)),
    "elide": ElideToolResults(50),
    "elide default": ElideToolResults(),
    "chain": Chain(ElideToolResults(100), Summarize(), SlidingWindow()),
    "chain fifo": Chain(Fifo(8), Importance()),
}
BUDGETS = st.one_of(
    st.integers(1, 60), st.integers(60, 600), st.integers(600, 6_000), st.sampled_from([8_000, 30_000, 200_000])
)


def thread_of(kinds: list[str]) -> list[Any]:
    return [message for number, kind in enumerate(kinds) for message in KINDS[kind](number)]


def orphans(messages: list[dict[str, Any]]) -> list[str]:
    """Written apart from the product's validator: each call answered right after it, each result asked for."""
    wrong: list[str] = []
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                wrong.append("result without call")
            continue
        if waiting:
            wrong.append("call without result")
        waiting = [tool_call["id"] for tool_call in message.get("tool_calls") or ()]
    return wrong + (["call without result"] if waiting else [])


def check(thread: list[Any], budget: TokenBudget, policy: Any, counter: Any, slack: int = 60, **options: Any) -> None:
    """A request is valid and fits, or is refused where what must be sent takes as much, but for some `slack`.

    Alone, what must be sent has other neighbours: notes before it and instructions inside it are written differently.
    """
    try:
        context = compress(thread, budget=budget, policy=policy, counter=counter, **options)
    except BudgetError as error:
        assert error.sections
        assert _cannot_fit(thread, budget, counter, options, slack)
        return
    messages, request = context.messages(merge=False), context.anthropic()
    assert context.tokens <= budget.request_tokens
    assert measure_openai(messages, context.openai().get("tools"), counter) <= context.tokens
    assert measure_anthropic(request, counter) <= context.tokens
    assert recount.openai_tokens(context.openai(), counter.count) <= context.tokens
    assert recount.anthropic_tokens(request, counter.count) <= context.tokens
    assert orphans(messages) == []
    assert openai_problems(messages) == []
    assert anthropic_problems(request) == []
    sent_text = "\n".join(str(message.get("content")) for message in messages)
    for item in thread:
        if isinstance(item, dict) and item.get("pinned") and item["content"]:
            assert item["content"] in sent_text
    again = compress(thread, budget=budget, policy=policy, counter=counter, **options)
    assert dump(again.messages(merge=False)) == dump(messages)
    assert dump(again.anthropic()) == dump(request)
    assert sum(report.tokens for report in context.manifest.sections) == context.tokens
    assert context.explain() == again.explain()


def _cannot_fit(thread: list[Any], budget: TokenBudget, counter: Any, options: dict[str, Any], slack: int) -> bool:
    """Whether what no policy may leave out is more than the budget or than history may take of it."""
    least, pinned = _least(thread, counter, options)
    if budget.history is not None and pinned + slack > budget.history:
        return True
    return least + slack > budget.request_tokens


def _least(thread: list[Any], counter: Any, options: dict[str, Any]) -> tuple[int, int]:
    """Tokens of what no policy may leave out, and of what is pinned among it.

    Instructions, tools, notes, the newest unit and what is pinned are made into a request with all the room there is.
    Where it does not begin with a user's message, a note stands first, a longer one where something was left out.
    """
    read = [as_message(item) for item in thread]
    lead = next((index for index, message in enumerate(read) if message.role not in ("system", "developer")), len(read))
    units, _ = group(read[lead:], counter)
    required = [unit for unit in units if unit.pinned or unit is units[-1]]
    rest = [message for unit in required for message in unit.messages]
    # An instruction inside a thread costs more than one at its start: a word of the user's keeps them apart.
    apart = [as_message("-")] if lead and rest and rest[0].role in ("system", "developer") else []
    needed = [*read[:lead], *apart, *rest]
    fixed = {name: value for name, value in options.items() if name != "memory"}
    context = compress(needed, budget=10_000_000, counter=counter, **fixed)
    assert recount.openai_tokens(context.openai(), counter.count) <= context.tokens
    assert recount.anthropic_tokens(context.anthropic(), counter.count) <= context.tokens
    begun = repr(context.anthropic()["messages"][:1])
    longer = counter.count(OMITTED) - counter.count(STARTS) if STARTS in begun else 0
    least = context.tokens + longer - sum(count_message(message, counter) for message in apart)
    return least, sum(unit.tokens for unit in required[:-1])


def dump(value: Any) -> str:  # surrogates cannot be written as JSON
    return repr(value)


COUNTERS = {"o200k_base": open_counter("o200k_base"), "estimate": open_counter("estimate")}


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(
    kinds=st.lists(st.sampled_from(sorted(KINDS)), max_size=14),
    total=BUDGETS,
    policy=st.sampled_from(sorted(POLICIES)),
    counter=st.sampled_from(sorted(COUNTERS)),
    layout=st.sampled_from(["standard", "cached"]),
    extras=st.booleans(),
)
def test_every_request_fits_and_is_valid_or_says_what_does_not_fit(
    kinds: list[str], total: int, policy: str, counter: str, layout: str, extras: bool
) -> None:
    options: dict[str, Any] = {"layout": layout}
    budget = TokenBudget(total)
    if extras:
        options |= {
            "system": "Be brief.",
            "memory": ["Ada likes tea.", words(3)],
            "tools": TOOLS if total % 2 else ANTHROPIC_TOOLS,
            "scratchpad": "step 2",
        }
        budget = TokenBudget(total, memory=total // 3, history=total // 2 + 1, output_reserve=total // 5)
    check(thread_of(kinds), budget, POLICIES[policy], COUNTERS[counter], **options)


@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(
    kinds=st.lists(
        st.sampled_from(["pinned", "pinned", "pinned exchange", "assistant", "pair"]), min_size=6, max_size=30
    ),
    over=st.integers(-3, 160),
    policy=st.sampled_from(sorted(POLICIES)),
    memory=st.booleans(),
)
def test_a_request_is_refused_only_where_what_is_pinned_and_fixed_exceeds_the_budget(
    kinds: list[str], over: int, policy: str, memory: bool
) -> None:
    """Budgets around the smallest that will do: a summary must not take the room of what is pinned."""
    thread, counter = [*thread_of(kinds), user("And now?")], COUNTERS["o200k_base"]
    options: dict[str, Any] = {"memory": ["Ada likes tea."]} if memory else {}
    least, _ = _least(thread, counter, options)
    check(thread, TokenBudget(least + over), POLICIES[policy], counter, slack=8, **options)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_kind_alone_is_sent_whole_when_there_is_room(kind: str) -> None:
    thread = [*KINDS[kind](1), user("And then?")]
    for counter in COUNTERS.values():
        check(thread, TokenBudget(100_000), None, counter)
        check([user("First."), *thread], TokenBudget(100_000), Summarize(threshold=0.01, keep=1), counter)


def test_a_positional_trim_is_caught_by_the_validators() -> None:
    """The planted bug: keep the last n messages, whatever they are."""
    kinds = ["user", "parallel", "exchange", "assistant"]
    thread = [message for number in range(20) for message in KINDS[kinds[number % len(kinds)]](number)]
    trimmed = [thread[-keep:] for keep in range(1, len(thread))]
    caught = [bool(openai_problems(messages)) for messages in trimmed]
    assert sum(caught) >= len(trimmed) // 4
    assert caught == [bool(orphans(messages)) for messages in trimmed]
    assert openai_problems(compress(thread, budget=400).messages(merge=False)) == []


def test_a_planted_fault_in_grouping_is_refused_by_the_assembly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: every message is a unit of its own, as in a trim by position."""

    def alone(self: Grouper, message: Message, position: int, last: int) -> list[Unit]:
        return [self._unit((message,), position, position)]

    thread = [message for number in range(20) for message in KINDS[("user", "parallel")[number % 2]](number)]
    monkeypatch.setattr(Grouper, "_push_any", alone)
    refused = 0
    for total in range(60, 400, 10):
        try:
            compress(thread, budget=total)
        except BudgetError:
            continue
        except MemoristError as error:
            assert "would be refused" in str(error)
            refused += 1
    assert refused > 5


@settings(max_examples=EXAMPLES // 10, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(
    kinds=st.lists(st.sampled_from([kind for kind in sorted(KINDS) if not kind.startswith("pinned")]), max_size=20),
    total=st.integers(50, 3_000),
    policy=st.sampled_from(["sliding", "fifo", "chain", "importance"]),
    size=st.integers(1, 7),
)
def test_reading_in_pages_gives_what_reading_at_once_gives(
    kinds: list[str], total: int, policy: str, size: int
) -> None:
    # The oldest says something: whether anything worth a word was left unread cannot be known without reading it.
    messages = [user("The first word."), *thread_of(kinds)]
    thread = [replace(as_message(m), thread="t", seq=n) for n, m in enumerate(messages, 1)]
    readings = [Reading(budget=total, policy=POLICIES[policy], input="And now?") for _ in range(2)]
    readings[0].read_all(thread[::-1], position=len(thread))
    unread = thread[::-1]
    while readings[1].wants():
        page, unread = unread[:size], unread[size:]
        readings[1].feed(page, more=bool(unread))
    try:
        at_once = readings[0].finish().messages(merge=False)
    except BudgetError:
        with pytest.raises(BudgetError):
            readings[1].finish()
        return
    assert readings[1].finish().messages(merge=False) == at_once


@settings(max_examples=EXAMPLES // 10, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(kinds=st.lists(st.sampled_from(sorted(KINDS)), min_size=5, max_size=30), room=st.integers(200, 4_000))
def test_a_fold_stands_for_whole_units_and_is_shorter_than_they_were(kinds: list[str], room: int) -> None:
    counter = COUNTERS["o200k_base"]
    units, _ = group(thread_of(kinds), counter)
    fold = plan_fold(units, room, previous="- User: the first summary", counter=counter)
    if fold is None:
        return
    inside = [unit for unit in units if unit.position <= fold.last]
    assert messages_of(unit for unit in inside if not unit.pinned) == list(fold.messages)
    assert messages_of(unit for unit in inside if unit.pinned) == list(fold.pinned)
    with pytest.raises(StopIteration) as stop:
        write_fold(fold, counter=counter).send(None)
    digest = stop.value.value
    if digest is not None:
        assert counter.count(digest.text) <= fold.max_tokens
        assert summary_tokens(digest.text, counter) < fold.tokens


def test_units_lose_nothing_but_what_they_report() -> None:
    thread = thread_of(sorted(KINDS))
    units, repairs = group(thread, COUNTERS["o200k_base"])
    assert [unit.position for unit in units] == sorted(unit.position for unit in units)
    reasons = {repair.reason for repair in repairs}
    assert reasons == {
        "empty message",
        "tool result without its call",
        "second result of a call",
        "call without a result closed",
        "tool result moved next to its call",
    }
    assert all(isinstance(msgspec.to_builtins(repair), dict) for repair in repairs)
