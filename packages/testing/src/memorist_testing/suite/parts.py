"""Tests the binary parts of messages. They are stored once per thread, returned unchanged, and forgotten with their
messages."""

from __future__ import annotations

import base64
import random
from typing import Any

from memorist.records import MessagePart

CANARY = b"zqxpicture"


def picture(number: int = 0) -> str:
    """Return a picture in base64 that is large enough to be stored separately."""
    return base64.b64encode(CANARY + random.Random(number).randbytes(6_000)).decode()


def picture_message(number: int = 0) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": picture(number)}
    return {"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": "Look."}]}


class PartTests:
    """Tests the promises about images and files, on every store."""

    async def test_a_picture_is_stored_once_and_given_back_as_it_came(self, memory: Any, scan_table: Any) -> None:
        await memory.threads.create("user:ada", id="talk")
        url = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture()}"}}
        pictures = [
            picture_message(),
            {"role": "assistant", "content": "Nice."},
            picture_message(),
            {"role": "user", "content": [url]},
            picture_message(1),
        ]
        receipts = await memory.threads.append("talk", *pictures)
        assert receipts[0].message.content == pictures[0]["content"]
        parts = await scan_table(MessagePart)
        assert sorted(row.data for row in parts) == sorted(base64.b64decode(picture(n)) for n in (0, 1))
        messages = await memory.threads.messages("talk")
        assert [message.content for message in messages] == [message["content"] for message in pictures]
        assert all(not message.metadata for message in messages)
        assert (await memory.threads.message("talk#3")).anthropic() == pictures[2]
        context = await memory.context(None, thread="talk", budget=20_000, recall=False)
        assert str(context.anthropic()).count(picture()) == 3

    async def test_a_picture_goes_with_the_last_message_that_has_it(self, memory: Any, scan_table: Any) -> None:
        await memory.threads.create("user:ada", id="talk")
        await memory.threads.append("talk", picture_message(), "Well?", picture_message(), "And?", picture_message(1))
        assert (await memory.forget(message="talk#1")).complete
        assert len(await scan_table(MessagePart)) == 2
        assert (await memory.threads.message("talk#3")).anthropic() == picture_message()
        assert (await memory.forget(message="talk#3")).complete
        assert len(await scan_table(MessagePart)) == 1
        assert (await memory.threads.pop("talk")).anthropic() == picture_message(1)
        assert await scan_table(MessagePart) == []

    async def test_redacting_replacing_and_deleting_leave_no_picture(self, memory: Any, scan_table: Any) -> None:
        await memory.threads.create("user:ada", id="talk")
        await memory.threads.append("talk", picture_message(), "Well?", picture_message(1), "And?", picture_message(2))
        await memory.threads.redact("talk#1")
        assert len(await scan_table(MessagePart)) == 2
        await memory.threads.delete_messages("talk", before=4)
        assert len(await scan_table(MessagePart)) == 1
        await memory.threads.delete_messages("talk", ids=["talk#5"])
        assert await scan_table(MessagePart) == []
        await memory.threads.replace("talk", [picture_message(3)])
        (row,) = await scan_table(MessagePart)
        assert row.data == base64.b64decode(picture(3))
        await memory.threads.delete("talk")
        assert await scan_table(MessagePart) == []

    async def test_forks_have_their_own_and_lose_them_with_their_source(self, memory: Any, scan_table: Any) -> None:
        await memory.threads.create("user:ada", id="talk")
        await memory.threads.append("talk", picture_message())
        await memory.threads.fork("talk", new_id="branch")
        assert (await memory.threads.message("branch#1")).anthropic() == picture_message()
        assert (await memory.forget(thread="talk")).complete
        assert await scan_table(MessagePart) == []

    async def test_a_batch_reads_its_own_pictures(self, memory: Any) -> None:
        async with memory.batch() as batch:
            await batch.threads.append("talk", picture_message(), create="user:ada")
        assert (await memory.threads.recent("talk"))[0].anthropic() == picture_message()
