"""LangChain's tests of chat histories: its in-memory history becomes ours, made and compared in the way of theirs."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import langchain_core.chat_history
from counted import open_memory
from langchain_core.messages import BaseMessage

from memorist.adapters.langchain import MemoristChatMessageHistory


class InMemoryChatMessageHistory(MemoristChatMessageHistory):
    """Ours, made with messages; two are equal where their messages are."""

    def __init__(self, messages: Sequence[BaseMessage] = ()) -> None:
        # In RAM: these tests make histories on an event loop, where they allow no file to be opened.
        super().__init__(f"s-{secrets.token_hex(6)}", open_memory("memory://"))
        if messages:
            self.add_messages(messages)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InMemoryChatMessageHistory) and self.messages == other.messages

    def __hash__(self) -> int:
        return id(self)


langchain_core.chat_history.InMemoryChatMessageHistory = InMemoryChatMessageHistory  # type: ignore[misc, assignment]
