"""Forgetting: nothing of a forgotten thing is left in any table, copies included; new statements are remembered."""

from __future__ import annotations

from typing import Any

from memorist.kinds import RECORDS
from memorist.stores.base import Scan

CANARY = "zqxkayak"
SAID = f"The {CANARY} is under the pier."


class ForgettingTests:
    """What `forget` and `redact` promise, on every store."""

    async def test_a_message_of_a_session_is_forgotten_everywhere(self, memory: Any) -> None:
        async with memory.session("talk", user="ada") as talk:
            await talk.add(SAID, "Noted.")
            assert (await memory.forget(message="talk#1")).complete
            assert await _tables_with(memory, CANARY) == []

    async def test_a_redacted_message_of_a_session_is_gone_everywhere(self, memory: Any) -> None:
        async with memory.session("talk", user="ada") as talk:
            await talk.add(SAID, "Noted.")
            await memory.threads.redact("talk#1")
            assert await _tables_with(memory, CANARY) == []

    async def test_a_thread_of_a_session_is_forgotten_everywhere(self, memory: Any) -> None:
        async with memory.session("talk", user="ada") as talk:
            await talk.add(SAID, "Noted.")
            assert (await memory.forget(thread="talk")).complete
            assert await _tables_with(memory, CANARY) == []

    async def test_a_fork_is_forgotten_with_its_source(self, memory: Any) -> None:
        await _talk(memory)
        fork = await memory.threads.fork("talk", new_id="branch")
        again = await memory.threads.fork("branch", new_id="twig")
        assert (await memory.forget(thread="talk")).complete
        assert await memory.threads.get(fork.id) is None and await memory.threads.get(again.id) is None
        assert await _tables_with(memory, CANARY) == []

    async def test_copies_of_a_message_in_forks_are_forgotten_with_it(self, memory: Any) -> None:
        await _talk(memory)
        await memory.threads.fork("talk", new_id="branch")
        await memory.threads.append("branch", "on its own")
        await memory.threads.fork("branch", new_id="twig")
        await memory.threads.fork("talk", at=1, new_id="early")
        assert (await memory.forget(message="talk#2")).complete
        assert await _tables_with(memory, CANARY) == []
        texts = [message.text for message in await memory.threads.messages("twig")]
        assert texts == ["Hello.", "Noted.", "on its own"]
        assert [message.text for message in await memory.threads.messages("early")] == ["Hello."]

    async def test_copies_of_a_message_in_forks_are_redacted_with_it(self, memory: Any) -> None:
        await _talk(memory)
        await memory.threads.fork("talk", new_id="branch")
        await memory.threads.redact("talk#2")
        assert await _tables_with(memory, CANARY) == []
        assert [message.seq for message in await memory.threads.messages("talk")] == [1, 2, 3]

    async def test_forgetting_a_copy_leaves_its_source(self, memory: Any) -> None:
        await _talk(memory)
        await memory.threads.fork("talk", new_id="branch")
        await memory.forget(thread="branch")
        assert [message.text for message in await memory.threads.messages("talk")] == ["Hello.", SAID, "Noted."]


async def _talk(memory: Any) -> None:
    await memory.threads.create("user:ada", id="talk")
    await memory.threads.append("talk", "Hello.", SAID, {"role": "assistant", "content": "Noted."})


async def _tables_with(memory: Any, text: str) -> list[str]:
    """The tables of this org in which a text can be read, expired rows included."""
    core = memory._core
    return [
        record_type.table.name
        for record_type in RECORDS
        if any(text in repr(row) for row in await core.store.scan(Scan(record_type, (core.org,)), now=0))
    ]
