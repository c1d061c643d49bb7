"""Tests changes to threads other than appends, through the public API."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.errors import Conflict, NotFound, UsageError
from memorist.read_back import AsyncReadBack
from memorist.testing.clock import FakeClock

from ..plugin import Together


async def texts(memory: Any, id: str = "t") -> list[str]:
    return [message.text for message in await memory.threads.messages(id)]


class ThreadEditTests:
    """Tests creating, popping, replacing, redacting and forking."""

    async def test_a_new_thread_must_be_new(self, memory: Any) -> None:
        await memory.threads.create("global", id="t", new=True)
        assert (await memory.threads.create("global", id="t")).id == "t"
        with pytest.raises(Conflict):
            await memory.threads.create("global", id="t", new=True)
        with pytest.raises(Conflict):
            async with memory.batch() as batch:
                await batch.threads.create("global", id="t", new=True)

    async def test_an_append_makes_its_thread(self, memory: Any, open_memory: Any) -> None:
        await memory.threads.append("t", "one", create="global")
        await memory.threads.append("t", "two", create="global")
        with pytest.raises(Conflict):
            await memory.threads.append("t", "three", create="user:ada")
        await open_memory().threads.delete("t")
        await memory.threads.append("t", "four", create="global")
        assert await texts(memory) == ["four"]
        async with memory.batch() as batch:
            await batch.threads.append("u", "five", create="user:ada")
        assert (await memory.threads.get("u")).ns == "user:ada"
        assert await memory.threads.append("empty", create="global") == []
        assert (await memory.threads.get("empty")).length == 0

    async def test_an_append_expects_a_length(self, memory: Any) -> None:
        await memory.threads.append("t", "one", "two", create="global", expect=0)
        with pytest.raises(Conflict) as refused:
            await memory.threads.append("t", "three", expect=1)
        assert (refused.value.expected, refused.value.actual) == (1, 2)
        await memory.threads.append("t", "three", expect=2, key="k")
        (again,) = await memory.threads.append("t", "three", expect=2, key="k")
        assert again.replayed and again.message.seq == 3
        assert await texts(memory) == ["one", "two", "three"]

    async def test_a_thread_is_updated(self, memory: Any, clock: FakeClock) -> None:
        thread = await memory.threads.create("global", "old", id="t", metadata={"a": 1})
        clock.advance(5)
        first = await memory.threads.update("t", title="new")
        assert (first.title, first.metadata, first.created_at) == ("new", {"a": 1}, thread.created_at)
        assert first.updated_at > thread.updated_at
        second = await memory.threads.update("t", title=None, metadata={"b": 2}, expect=first.version)
        assert await memory.threads.get("t") == second
        assert (second.title, second.metadata) == (None, {"b": 2})
        with pytest.raises(Conflict):
            await memory.threads.update("t", title="x", expect=first.version)
        with pytest.raises(NotFound):
            await memory.threads.update("none", title="x")

    async def test_messages_are_popped_from_the_end(self, memory: Any) -> None:
        await memory.threads.append("t", "one", "two", "three", create="global")
        assert (await memory.threads.pop("t")).text == "three"
        assert (await memory.threads.pop("t")).text == "two"
        (receipt,) = await memory.threads.append("t", "four")
        assert receipt.message.seq == 4  # numbers are not given twice
        assert await texts(memory) == ["one", "four"]
        assert [(await memory.threads.pop("t")).text for _ in range(2)] == ["four", "one"]
        assert await memory.threads.pop("t") is None
        assert (await memory.threads.get("t")).tokens == 0
        with pytest.raises(NotFound):
            await memory.threads.pop("none")

    async def test_messages_are_replaced_in_one_step(self, memory: Any) -> None:
        await memory.threads.append("t", "one", "two", create="global")
        read = await memory.threads.get("t")
        replacement = ["short", {"role": "assistant", "content": "er"}]
        receipts = await memory.threads.replace("t", replacement, expect=read.version)
        assert [receipt.message.seq for receipt in receipts] == [3, 4]
        assert await texts(memory) == ["short", "er"]
        read = await memory.threads.get("t")
        await memory.threads.pop("t")
        with pytest.raises(Conflict):
            await memory.threads.replace("t", ["x"], expect=read.version)
        assert await memory.threads.replace("t", []) == []
        assert await memory.threads.messages("t") == []
        assert (await memory.threads.get("t")).tokens == 0

    async def test_a_replaced_message_is_not_recalled(self, memory: Any) -> None:
        await memory.threads.append("t", "the zebra crossed the road", create="global")
        assert len(await memory.recall("zebra road")) == 1
        await memory.threads.replace("t", ["the giraffe stayed at home"])
        assert [hit.text for hit in await memory.recall("zebra road giraffe home")] == ["the giraffe stayed at home"]

    async def test_a_message_is_redacted(self, memory: Any) -> None:
        call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"who": "marta"}'}}
        await memory.threads.append(
            "t",
            "the zebra lives at Elm Street 5",
            {"role": "assistant", "content": "Looking for marta.", "tool_calls": [call], "metadata": {"m": "marta"}},
            {"role": "tool", "tool_call_id": "c1", "content": "marta is here"},
            create="global",
        )
        assert len(await memory.recall("zebra street")) > 0
        for seq in (1, 2, 3):
            await memory.threads.redact(f"t#{seq}")
        messages = await memory.threads.messages("t")
        assert [message.role for message in messages] == ["user", "assistant", "tool"]
        assert "marta" not in repr(messages) and "Elm" not in repr(messages)
        assert (
            [call.id for call in messages[1].tool_calls] == [result.id for result in messages[2].tool_results] == ["c1"]
        )
        assert await memory.recall("zebra street") == []
        with pytest.raises(NotFound):
            await memory.threads.redact("t#9")

    async def test_a_pinned_message_is_in_every_context(self, memory: Any) -> None:
        await memory.threads.append(
            "t", "The code word is heron.", *[f"message {n}" for n in range(60)], create="global"
        )
        messages = (await memory.context("now", thread="t", budget=200, recall=False)).messages()
        assert "heron" not in str(messages)
        assert (await memory.threads.pin("t#1")).pinned
        for _ in range(2):
            messages = (await memory.context("now", thread="t", budget=200, recall=False)).messages()
            assert "heron" in str(messages)
        assert (await memory.threads.message("t#1")).pinned
        await memory.threads.pin("t#1", pinned=False)
        messages = (await memory.context("now", thread="t", budget=200, recall=False)).messages()
        assert "heron" not in str(messages)
        with pytest.raises(NotFound):
            await memory.threads.pin("t#99")

    async def test_a_thread_is_forked(self, memory: Any) -> None:
        await memory.threads.create("user:ada", "plans", id="t", metadata={"a": 1})
        await memory.threads.append("t", *[f"message {n}" for n in range(1, 8)])
        fork = await memory.threads.fork("t", "t#3", new_id="branch")
        assert (fork.ns, fork.title, fork.metadata) == ("user:ada", "plans", {"a": 1, "forked_from": "t#3"})
        assert await texts(memory, "branch") == ["message 1", "message 2", "message 3"]
        (receipt,) = await memory.threads.append("branch", "another way")
        assert receipt.message.id == "branch#4"
        assert len(await memory.threads.messages("t")) == 7
        whole = await memory.threads.fork("t")
        assert len(await memory.threads.messages(whole.id)) == 7
        assert whole.tokens == (await memory.threads.get("t")).tokens
        with pytest.raises(Conflict):
            await memory.threads.fork("t", new_id="branch")
        with pytest.raises(NotFound):
            await memory.threads.fork("none")

    async def test_threads_are_listed_by_time_and_filtered(self, memory: Any, clock: FakeClock) -> None:
        for id, tag in (("a", "x"), ("b", "y"), ("c", "x")):
            await memory.threads.create("global", id=id, metadata={"tag": tag})
            clock.advance(1)
        await memory.threads.append("a", "newest")

        async def list_ids(**options: Any) -> list[str]:
            return [thread.id for thread in await memory.threads.list("global", **options)]

        assert await list_ids() == ["a", "b", "c"]
        assert await list_ids(where={"tag": "x"}) == ["a", "c"]
        assert await list_ids(by="updated_at") == ["b", "c", "a"]
        assert await list_ids(by="updated_at", reverse=True, limit=2) == ["a", "c"]
        assert await list_ids(by="updated_at", reverse=True, after="c") == ["b"]
        assert await list_ids(by="created_at", where={"tag": "x"}) == ["a", "c"]
        assert await list_ids(reverse=True, after="c") == ["b", "a"]
        with pytest.raises(UsageError):
            await list_ids(by="size")

    async def test_messages_are_deleted_in_a_batch(self, memory: Any) -> None:
        await memory.threads.append("t", "one", "two", "three", create="global")
        async with memory.batch() as batch:
            assert await batch.threads.delete_messages("t", before=2) == 1
            assert await batch.threads.delete_messages("t", ids=["t#3", "t#9"]) == 1
        assert await texts(memory) == ["two"]

    async def test_many_callers_pop_each_message_once(self, memory: Any, together: Together) -> None:
        contents = [f"message {n}" for n in range(24)]
        await memory.threads.append("t", *contents[:8], create="global")
        popped: list[str] = []

        async def pop() -> None:
            for _ in range(4):
                message = await memory.threads.pop("t")
                popped.extend([] if message is None else [message.text])

        async def append() -> None:
            for text in contents[8:]:
                await memory.threads.append("t", text)

        await together([pop, append, pop, pop])
        assert sorted(popped + await texts(memory)) == sorted(contents)

    async def test_a_receipt_of_a_batch_has_no_id_before_the_commit(self, memory: Any) -> None:
        async with memory.batch() as batch:
            receipts = await batch.threads.append("t", "one", "two", create="global")
            assert [(receipt.message.id, receipt.durable) for receipt in receipts] == [("", False), ("", False)]
        assert [message.id for message in await memory.threads.messages("t")] == ["t#1", "t#2"]

    async def test_a_long_result_is_stashed_beside_its_thread(self, memory: Any) -> None:
        log = "\n".join(f"test_{number} passed" for number in range(500))
        await memory.threads.create("user:ada", id="t")
        short = await memory.threads.stash("t", log, over_tokens=300, key="call-1")
        again = await memory.threads.stash("t", log, over_tokens=300, key="call-1")
        assert short == again and short.id == "t.results#1" and len(short.text) < len(log)
        assert (await memory.threads.message(short.id)).text == log
        assert (await memory.threads.get("t.results")).ns == "user:ada"
        await memory.forget(thread="t")
        assert await memory.threads.get("t.results") is None and await memory.threads.message(short.id) is None
        with pytest.raises(NotFound):
            await memory.threads.stash("nowhere", log, over_tokens=300)
        loose = await memory.threads.stash("nowhere", log, over_tokens=300, create="user:ada")
        assert loose.id == "nowhere.results#1"

    async def test_a_long_result_in_a_thread_is_sent_as_a_preview(self, memory: Any) -> None:
        log = "\n".join(f"test_{number} {'FAILED' if number == 250 else 'passed'}" for number in range(500))
        call = {"id": "c1", "type": "function", "function": {"name": "run_tests", "arguments": "{}"}}
        turn = [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": log},
        ]
        await memory.threads.append("t", "Run them.", *turn, create="global")
        request = await memory.context(None, thread="t", stash=300, recall=False)
        (result,) = [message for message in request.messages() if message["role"] == "tool"]
        assert 'read_more(id="t#3")' in result["content"] and "test_250 FAILED" in result["content"]
        assert request.tokens < 900 and [tool["function"]["name"] for tool in request.tools] == [
            "read_more",
            "search_history",
        ]

    async def test_a_search_of_the_history_finds_only_its_own_thread(self, memory: Any) -> None:
        for number in range(6):
            others = [f"Job {job} FAILED with code 92" for job in range(number * 10, number * 10 + 10)]
            await memory.threads.append(f"other{number}", *others, create="global")
        await memory.threads.append("t", "Run the jobs.", "Job 7 FAILED with code 93", create="global")
        stashed = await memory.threads.stash("t", "line\n" * 500 + "Job 8 FAILED with code 94\n")
        back = AsyncReadBack(memory, "t")
        answer = await back.call("search_history", {"query": "Which job FAILED, and with which code?"})
        assert "Job 7 FAILED with code 93" in answer and f"{stashed.id} (" in answer
        assert "code 92" not in answer

    async def test_requests_of_a_thread_are_reported(self, memory: Any) -> None:
        await memory.threads.append("t", "one", {"role": "assistant", "content": "two"}, create="global")
        usage = {"prompt_tokens": 90, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 60}}
        first = await memory.context("three", thread="t", system="Be brief.", recall=False)
        await memory.threads.report("t", usage, pieces=first.pieces, model="gpt-5")
        second = await memory.context("three", thread="t", system="Be kind.", recall=False)
        report = await memory.threads.report("t", usage, pieces=second.pieces, model="gpt-5")
        assert (report.broken.section, report.broken.change, report.cached_tokens) == ("system", "changed", 60)
        assert [request.broken is None for request in await memory.threads.requests("t")] == [True, False]
        await memory.threads.delete("t")
        await memory.threads.create("global", id="t")
        assert await memory.threads.requests("t") == []
