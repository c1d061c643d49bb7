"""Tests threads and messages through the public API."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from memorist.context.policies import Fifo
from memorist.engine.processors import TtlGarbageCollector
from memorist.errors import Conflict, InvalidValue, NotFound, UsageError
from memorist.messages.message import Message
from memorist.testing.clock import FakeClock

from ..plugin import Together

NS = "user:ada"
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "sky"}'}}
WIRE: dict[str, list[dict[str, Any]]] = { "openai": [ {"role": "system", "content": "be brief"}, {"role": "developer",
    "content": "be kind"}, {"role": "user", "content": "hi", "name": "ada"}, {"role": "user", "content": [{"type":
    "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}]}, {"role": "assistant",
    "content": None, "tool_calls": [CALL], "refusal": None}, {"role": "assistant", "tool_calls": [CALL]}, {"role":
    "tool", "tool_call_id": "c1", "content": "blue"}, {"role": "assistant", "content": "It is blue.", "audio": {"id":
    "a1"}, "x_unknown": {"deep": [1, None]}}, ], "anthropic": [ {"role": "user", "content": [{"type": "text", "text":
    "hi", "cache_control": {"type": "ephemeral"}}]}, {"role": "assistant", "content": [ {"type": "thinking", "thinking":
    "hm", "signature": "s=="}, {"type": "redacted_thinking", "data": "xx"}, {"type": "text", "text": "Let me look."},
    {"type": "tool_use", "id": "u1", "name": "look", "input": {"at": "sky"}}, ]}, {"role": "user", "content": [ {"type":
    "tool_result", "tool_use_id": "u1", "is_error": True, "content": [{"type": "text", "text": "b"}]}, {"type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}, ]}, {"role": "assistant", "content": [
    {"type": "server_tool_use", "id": "s", "name": "web", "input": {}}, {"type": "new_kind", "x": 1}, ]}, ],
    "responses": [ {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}, {"type":
    "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}, {"type": "function_call", "id":
    "fc_1", "call_id": "c1", "name": "look", "arguments": '{"at": "sky"}'}, {"type": "custom_tool_call", "call_id":
    "c2", "name": "shell", "input": "ls"}, {"type": "function_call_output", "call_id": "c1", "output": "blue"}, {"type":
    "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "a.txt"}]}, {"type":
    "computer_call", "id": "cu", "call_id": "c3", "action": {"type": "screenshot"}, "status": "completed"}, {"type":
    "computer_call_output", "call_id": "c3", "output": { "type": "computer_screenshot", "image_url": "https://x/y.png",
    }}, {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "sky"}},
    {"type": "message", "role": "assistant", "id": "m_1", "status": "completed", "content": [ {"type": "output_text",
    "text": "It is blue.", "annotations": [], "logprobs": None}, ]}, ],
}  # fmt: skip


async def texts(memory: Any, id: str = "t", **bounds: Any) -> list[str]:
    """Return the texts of a thread's messages."""
    return [message.text for message in await memory.threads.messages(id, **bounds)]


def _write_in_shape(message: Message, shape: str) -> list[dict[str, Any]]:
    if shape == "anthropic":
        return [message.anthropic()]
    return message.openai() if shape == "openai" else message.responses()


class ThreadTests:
    """Threads."""

    async def test_a_thread_is_made_found_and_listed(self, memory: Any, clock: FakeClock) -> None:
        thread = await memory.threads.create(NS, "Plans", id="t", metadata={"a": 1})
        assert (thread.id, thread.ns, thread.title, thread.metadata, thread.length) == ("t", NS, "Plans", {"a": 1}, 0)
        assert await memory.threads.get("t") == thread
        assert await memory.threads.get("u") is None
        other = await memory.threads.create(NS)
        assert [thread.id for thread in await memory.threads.list(NS)] == sorted(["t", other.id])
        assert await memory.threads.list("user:eve") == []

    async def test_ids_given_by_us_sort_by_when_they_were_made(self, memory: Any, clock: FakeClock) -> None:
        ids = []
        for _ in range(5):
            ids.append((await memory.threads.create(NS)).id)
            clock.advance(1)
        assert [thread.id for thread in await memory.threads.list(NS)] == ids
        assert [thread.id for thread in await memory.threads.list(NS, limit=2, after=ids[1])] == ids[2:4]

    async def test_making_a_thread_again_gives_it_back(self, memory: Any) -> None:
        await memory.threads.create(NS, "first", id="t")
        await memory.threads.append("t", "hello")
        again = await memory.threads.create(NS, "second", id="t")
        assert (again.title, again.length) == ("first", 1)
        with pytest.raises(Conflict):
            await memory.threads.create("user:eve", id="t")

    async def test_recent_returns_newest_last(self, memory: Any) -> None:
        await memory.threads.create(NS, id="t")
        for n in range(25):
            await memory.threads.append("t", str(n))
        assert [message.text for message in await memory.threads.recent("t", 3)] == ["22", "23", "24"]
        assert len(await memory.threads.recent("t")) == 10
        assert await memory.threads.recent("t", 0) == []

    async def test_messages_are_read_by_place(self, memory: Any) -> None:
        await memory.threads.create(NS, id="t")
        await memory.threads.append("t", *map(str, range(1, 13)))
        assert await texts(memory, limit=2) == ["1", "2"]
        assert await texts(memory, after=10) == ["11", "12"]
        assert await texts(memory, before="t#4") == ["1", "2", "3"]
        assert await texts(memory, before=10, limit=2) == ["8", "9"]
        assert await texts(memory, after="t#9", before=12) == ["10", "11"]
        tenth = await memory.threads.message("t#10")
        assert await texts(memory, after=tenth) == ["11", "12"]
        message = await memory.threads.message("t#7")
        assert (message.text, message.id) == ("7", "t#7")
        with pytest.raises(UsageError):
            await memory.threads.messages("t", before="u#1")

    async def test_messages_can_be_read_by_role(self, memory: Any) -> None:
        await memory.threads.create(NS, id="t")
        for n in range(6):
            await memory.threads.append("t", {"role": "user" if n % 2 else "assistant", "content": str(n)})
        assert await texts(memory, roles=["user"]) == ["1", "3", "5"]
        assert await texts(memory, roles=["assistant"], limit=2) == ["0", "2"]
        with pytest.raises(UsageError):
            await memory.threads.messages("t", roles=["robot"])

    async def test_a_receipt_says_what_became_of_a_message(self, memory: Any, clock: FakeClock) -> None:
        await memory.threads.create(NS, id="t")
        [first, two] = await memory.threads.append("t", "a", {"role": "assistant", "content": "b"})
        assert [(r.message.seq, r.durable, r.replayed) for r in (first, two)] == [(1, True, False), (2, True, False)]
        assert first.message == (await memory.threads.messages("t"))[0]
        assert first.message.created_at == clock()
        assert first.message.tokens is not None and first.message.tokens > 0

    async def test_a_key_used_again_appends_nothing(self, memory: Any) -> None:
        await memory.threads.create(NS, id="t")
        first = await memory.threads.append("t", "a", "b", key="k")
        again = await memory.threads.append("t", "a", "b", key="k")
        assert [receipt.message for receipt in again] == [receipt.message for receipt in first]
        assert all(receipt.replayed for receipt in again)
        assert await texts(memory) == ["a", "b"]

    async def test_what_is_not_there_is_not_found(self, memory: Any) -> None:
        for call in (
            memory.threads.append("none", "x"), memory.threads.recent("none"), memory.threads.messages("none"),
            memory.threads.summaries("none"), memory.threads.delete_messages("none", ids=["none#1"]),
        ):  # fmt: skip
            with pytest.raises(NotFound):
                await call
        assert await memory.threads.delete("none") is False
        await memory.threads.create(NS, id="t")
        assert await memory.threads.message("t#9") is None
        assert await memory.threads.append("t") == []

    async def test_a_deleted_thread_is_gone_with_all_it_held(self, memory: Any) -> None:
        await memory.threads.create(NS, id="t")
        await memory.threads.append("t", "a", key="k")
        assert await memory.threads.delete("t") is True
        assert await memory.threads.get("t") is None
        thread = await memory.threads.create("user:eve", id="t")
        assert (thread.length, thread.start) == (1, 1)
        [receipt] = await memory.threads.append("t", "b", key="k", expect=thread.length)
        assert (receipt.message.id, receipt.replayed) == ("t#2", False)
        assert await texts(memory) == ["b"]

    async def test_no_number_is_given_twice_whatever_became_of_a_thread(self, memory: Any, clock: FakeClock) -> None:
        ids: list[str] = []

        async def say(*words: str) -> None:
            receipts = await memory.threads.append("t", *words)
            ids.extend(receipt.message.id for receipt in receipts)

        for ttl, end in ((None, "delete"), (60, "expire"), (60, "collect"), (None, "forget"), (60, "delete"), (9, "")):
            await memory.threads.create(NS, id="t", ttl=ttl)
            await say("a", "b")
            await memory.threads.pop("t")
            await say("c")
            if end == "delete":
                await memory.threads.delete("t")
            elif end == "forget":
                await memory.forget(thread="t")
            else:
                clock.advance(60)
            if end == "collect":
                await memory.process(TtlGarbageCollector())
        assert len(set(ids)) == len(ids) == 18

    async def test_a_fork_does_not_take_the_numbers_of_an_earlier_thread(self, memory: Any) -> None:
        await memory.threads.append("old", "a", create=NS)
        await memory.threads.delete("old")
        await memory.threads.append("t", "b", create=NS)
        with pytest.raises(Conflict):
            await memory.threads.fork("t", new_id="old")

    async def test_why_never_names_a_message_of_a_thread_made_again(self, memory: Any) -> None:
        await memory.threads.append("t", "I live in Rome.", create=NS)
        await memory.facts.set(NS, "city", "Rome", source="t#1")
        await memory.threads.delete("t")
        await memory.threads.append("t", "The weather is fine.", create=NS)
        answer = await memory.why(f"{NS}/city")
        assert "weather" not in str(answer)

    async def test_each_message_may_have_a_key_of_its_own(self, memory: Any) -> None:
        await memory.threads.create(NS, id="t")
        first = await memory.threads.append("t", "a", "b", "c", key=["k1", None, "k3"])
        assert [(r.message.id, r.replayed) for r in first] == [("t#1", False), ("t#2", False), ("t#3", False)]
        again = await memory.threads.append("t", "a", "new", "c", "d", key=["k1", "k2", "k3", None])
        assert [(r.message.id, r.message.content, r.replayed) for r in again] == [
            ("t#1", "a", True), ("t#4", "new", False), ("t#3", "c", True), ("t#5", "d", False),
        ]  # fmt: skip
        carried = await memory.threads.append("t", {"role": "user", "content": "new", "key": "k2"}, "e")
        assert [(r.message.id, r.replayed) for r in carried] == [("t#4", True), ("t#6", False)]
        assert await texts(memory) == ["a", "b", "c", "new", "d", "e"]
        assert "key" not in (await memory.threads.messages("t"))[3].openai()[0]

    async def test_keys_that_do_not_fit_are_refused(self, memory: Any) -> None:
        await memory.threads.create(NS, id="t")
        own = {"role": "user", "content": "a", "key": "k"}
        for messages, key in ((["a", "b"], ["k"]), (["a", "b"], ["k", "k"]), ([own, own], None), ([own], "k")):
            with pytest.raises(UsageError):
                await memory.threads.append("t", *messages, key=key)
        assert await texts(memory) == []

    async def test_a_message_taken_out_is_not_added_again_under_its_key(self, memory: Any) -> None:
        await memory.threads.append("t", "a", "b", key=["k1", "k2"], create=NS)
        await memory.threads.pop("t")
        [receipt] = await memory.threads.append("t", "b", key="k2")
        assert (receipt.message.id, receipt.replayed) == ("t#2", True)
        assert await texts(memory) == ["a"]

    async def test_a_key_of_a_replaced_message_stands_for_the_new_one(self, memory: Any) -> None:
        await memory.threads.append("t", "a", "b", key=["k1", "k2"], create=NS)
        await memory.threads.replace("t", [{"role": "user", "content": "A", "key": "k1"}, "c"])
        [receipt] = await memory.threads.append("t", "a", key="k1")
        assert (receipt.message.id, receipt.message.content, receipt.replayed) == ("t#3", "A", True)
        assert await texts(memory) == ["A", "c"]

    async def test_pinned_messages_with_known_keys_are_pinned_once(self, memory: Any) -> None:
        pins = [{"role": "user", "content": word, "pinned": True} for word in ("a", "b")]
        await memory.threads.append("t", pins[0], key="k1", create=NS)
        await memory.threads.append("t", "x", *pins, key=[None, "k1", "k2"])
        assert [(m.content, m.pinned) for m in await memory.threads.messages("t")] == [
            ("a", True), ("x", False), ("b", True),
        ]  # fmt: skip
        context = await memory.context("go on", thread="t", recall=False, policy=Fifo(1))
        assert [m["content"] for m in context.messages()] == ["a\n\nb\n\ngo on"]

    async def test_messages_are_deleted_by_id_or_before_a_place(self, memory: Any) -> None:
        await memory.threads.create(NS, id="t")
        await memory.threads.append("t", *"abcdef")
        assert await memory.threads.delete_messages("t", ids=["t#2", "t#5", "t#99"]) == 2
        assert await memory.threads.delete_messages("t", before=4) == 2
        assert await texts(memory) == ["d", "f"]
        [receipt] = await memory.threads.append("t", "g")
        assert receipt.message.seq == 7
        with pytest.raises(UsageError):
            await memory.threads.delete_messages("t")

    async def test_a_thread_with_a_ttl_ends_with_its_messages(self, memory: Any, clock: FakeClock) -> None:
        await memory.threads.create(NS, id="t", ttl=60)
        await memory.threads.append("t", "old", key="k")
        clock.advance(60)
        assert await memory.threads.get("t") is None
        assert await memory.threads.list(NS) == []
        with pytest.raises(NotFound):
            await memory.threads.recent("t")
        with pytest.raises(NotFound):
            await memory.threads.append("t", "late")

    @pytest.mark.parametrize("collected", [False, True])
    async def test_an_id_whose_thread_ended_goes_on_with_new_numbers(
        self, memory: Any, clock: FakeClock, collected: bool
    ) -> None:
        await memory.threads.create(NS, id="t", ttl=60)
        await memory.threads.append("t", "old", "older", key="k")
        clock.advance(60)
        if collected:
            await memory.process(TtlGarbageCollector())
        thread = await memory.threads.create("user:eve", id="t")
        assert (thread.ns, thread.length) == ("user:eve", thread.start) and thread.start >= 2
        [receipt] = await memory.threads.append("t", "new", key="k")
        assert (receipt.message.seq, receipt.replayed) == (thread.start + 1, False)
        assert await texts(memory) == ["new"]

    @pytest.mark.parametrize("shape", list(WIRE))
    async def test_wire_shapes_come_out_as_they_went_in(self, memory: Any, shape: str) -> None:
        await memory.threads.create(NS, id="t")
        await memory.threads.append("t", *WIRE[shape])
        messages = await memory.threads.messages("t")
        assert [item for message in messages for item in _write_in_shape(message, shape)] == WIRE[shape]

    async def test_items_of_the_responses_api_go_into_requests_in_pairs(self, memory: Any) -> None:
        await memory.threads.append("t", *WIRE["responses"], create=NS)
        whole = await memory.context("go on", thread="t", recall=False)
        assert whole.responses()["input"] == [*WIRE["responses"], {"role": "user", "content": "go on"}]
        assert [call["id"] for call in whole.messages()[1]["tool_calls"]] == ["c1", "c2"]
        for budget in range(60, whole.tokens, 7):
            context = await memory.context("go on", thread="t", recall=False, budget=budget)
            items = context.responses()["input"]
            called = [
                item["call_id"] for item in items if str(item.get("type")).endswith("_call") and "call_id" in item
            ]
            answered = [item["call_id"] for item in items if str(item.get("type")).endswith("_output")]
            assert sorted(called) == sorted(answered) and context.tokens <= budget
            assert context.messages() and context.anthropic()

    async def test_an_original_stays_beside_its_message_untouched(self, memory: Any) -> None:
        raw = {"z": [1, None, {"b": "Persimmons", "a": 2.5}], "type": "event"}
        plain, text = {"role": "user", "content": "I like plums."}, "I like plums."
        [first, two] = await memory.threads.append("t", plain, {**plain, "raw": raw}, create=NS)
        assert first.message.tokens == two.message.tokens
        stored = (await memory.threads.messages("t"))[1]
        assert stored.raw == raw and list(stored.raw) == ["z", "type"] and stored.openai() == [plain]
        assert await memory.recall("persimmons", namespaces=[NS], kinds=["message"], min_score=0.5) == []
        with pytest.raises(InvalidValue):
            await memory.threads.append("t", {**plain, "raw": b"bytes"})
        redacted = await memory.threads.redact("t#2")
        assert (redacted.raw, redacted.text) == (None, "[redacted]") and text not in str(redacted)

    async def test_a_message_object_keeps_its_own_fields(self, memory: Any) -> None:
        await memory.threads.create(NS, id="t")
        said_at: Any = "2020-01-02T03:04:05+00:00"
        original = Message(
            role="user", content="x", importance=0.5, pinned=True, trust="web", metadata={"a": 1}, created_at=said_at
        )
        [receipt] = await memory.threads.append("t", original)
        [stored] = await memory.threads.messages("t")
        assert stored == receipt.message
        assert (stored.importance, stored.pinned, stored.trust, stored.metadata) == (0.5, True, "web", {"a": 1})
        assert stored.created_at == datetime.fromisoformat(said_at)

    @pytest.mark.parametrize(
        "bad",
        [{"role": "robot", "content": "x"}, {"content": "x"}, {"role": "user", "content": 5}, 5, None, "\ud800",
         {"role": "user", "content": "x", "extra": float("nan")}, {"role": "user", "content": "x", "name": ""},
         {"role": "user", "content": "x", "importance": float("inf")},
         {"role": "user", "content": "x", "pinned": "yes"}],
        ids=ascii,
    )  # fmt: skip
    async def test_a_bad_message_is_refused_with_the_whole_append(self, memory: Any, bad: Any) -> None:
        await memory.threads.create(NS, id="t")
        with pytest.raises(InvalidValue):
            await memory.threads.append("t", "good", bad)
        assert await memory.threads.messages("t") == []
        assert (await memory.threads.get("t")).length == 0

    async def test_many_callers_on_one_thread_stay_dense(self, memory: Any, together: Together) -> None:
        await memory.threads.create(NS, id="t")

        async def write() -> None:
            for _ in range(10):
                await memory.threads.append("t", "x")

        await together([write] * 8)
        assert [message.seq for message in await memory.threads.messages("t")] == list(range(1, 81))
