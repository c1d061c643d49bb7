"""What became of each message given to `compress`, and contexts as JSON."""

import pytest

from memorist import Context, ElideToolResults, Fifo, InvalidValue, Memory, Message, Summarize, compress

RESULT = "long " * 300


def exchange(n: int) -> list[dict[str, object]]:
    call = {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{n}", "content": RESULT},
    ]


TALK = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "start"},
    *exchange(1),
    {"role": "user", "content": "word " * 40},
    *exchange(2),
    {"role": "assistant", "content": "ok"},
    {"role": "user", "content": "now"},
]


@pytest.mark.parametrize("budget", [90, 200, 450, 800, 2000])
@pytest.mark.parametrize("policy", [None, ElideToolResults(50), Summarize(), Fifo(3)])
def test_what_is_kept_is_in_the_request_and_nothing_else_is(policy: object, budget: int) -> None:
    context = compress(TALK, budget=budget, policy=policy)  # type: ignore[arg-type]
    assert [entry.position for entry in context.inputs] == list(range(len(TALK)))
    sent_messages = context.messages(merge=False)
    for entry in context.inputs:
        assert (TALK[entry.position] in sent_messages) == (entry.fate == "kept")
        if entry.fate == "elided":
            assert entry.message is not None and entry.message.openai()[0] in sent_messages
            assert entry.reason and RESULT not in str(entry.message)
        if entry.fate in ("dropped", "folded"):
            assert entry.reason and entry.message is None
    assert context.kept == [index for index, message in enumerate(TALK) if message in sent_messages]
    assert all("memorist" not in str(message.metadata) for message in context.view)


def test_the_items_of_one_turn_stay_together_and_are_told_apart() -> None:
    items = [
        {"role": "user", "content": "word " * 60},
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        {"type": "function_call_output", "call_id": "b", "output": "2"},
        {"role": "user", "content": "and now?"},
    ]
    assert compress(items, budget=2000).kept == list(range(7))
    cut = compress(items, budget=180)
    assert cut.kept == [1, 2, 3, 4, 5, 6] and cut.inputs[0].fate == "dropped"


def test_a_context_goes_to_json_and_back() -> None:
    for policy in (None, ElideToolResults(50), Summarize()):
        context = compress(TALK, budget=450, policy=policy)
        back = Context.from_json(context.to_json())
        assert (back.messages(merge=False), back.anthropic(), back.responses()) == (
            context.messages(merge=False), context.anthropic(), context.responses(),
        )  # fmt: skip
        assert (back.manifest, back.inputs, back.explain()) == (context.manifest, context.inputs, context.explain())


def test_json_holds_each_recalled_item_with_its_tokens_its_fate_and_the_reason() -> None:
    with pytest.warns(UserWarning), Memory("memory://", user="ada", worker=False) as memory:
        memory.facts.set("user:ada", "fruit", "plums")
        memory.threads.append("talk", Message(role="user", content="I planted plums."), create="user:ada")
        context = memory.context("what of the plums?", thread="talk")
    back = Context.from_json(context.to_json())
    assert back.recalled == context.recalled and {item.fate for item in back.recalled}
    assert all(item.reason for item in back.recalled if item.fate == "dropped")
    assert (back.profile, back.memory_items, back.tokens) == (context.profile, context.memory_items, context.tokens)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"memorist": "export", "format": 1}', b"\xff"])
def test_what_is_no_context_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        Context.from_json(text)
