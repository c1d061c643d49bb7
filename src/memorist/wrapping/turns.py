"""Handles one turn with a provider. Memory is added to the request, and the turn is stored when the answer has
arrived."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import OrderedDict
from typing import TYPE_CHECKING

import msgspec

from ..context.budget import TokenBudget
from ..errors import MemoristError
from .dialects import Body, Dialect, dialect_of, last_words, messages_of, new_messages, parse_events, with_text_before

if TYPE_CHECKING:
    from ..memory import AsyncMemory

log = logging.getLogger("memorist.wrap")
DEFAULT_BUDGET_TOKENS = 800
MAX_QUERY_CHARACTERS = 2_000
"""For longer inputs, only the end is used as the query, because the question is usually there."""
QUERY_ROOM_TOKENS = 2_000
MAX_CACHED_BLOCKS = 256


class Turn(msgspec.Struct, frozen=True):
    """Represents a request in progress, with the messages to store once it is answered."""

    dialect: Dialect
    body: Body
    """This is the caller's original request."""
    messages: list[Body]
    thread: str
    user: str


class Turns:
    """Prepares requests and stores their turns in a memory.

    Its methods are coroutines. Over a blocking memory they never suspend, so `run_blocking` can run them.
    """

    def __init__(
        self, memory: AsyncMemory, *, user: str | None, thread: str | None, budget_tokens: int = DEFAULT_BUDGET_TOKENS
    ) -> None:
        self._memory: AsyncMemory = memory
        self._user, self._thread, self._budget_tokens = user, thread, budget_tokens
        # While tools are called, the same words get the same block, so that the provider's prompt cache stays valid.
        self._blocks: OrderedDict[str, str] = OrderedDict()

    def begin(self, path: str, content: bytes, *, user: str | None = None, thread: str | None = None) -> Turn | None:
        """Return the turn of a request, or None if it is not a request for an answer."""
        dialect = dialect_of(path)
        if dialect is None or not content:
            return None
        try:
            body = json.loads(content)
        except ValueError:
            return None
        messages = messages_of(dialect, body) if isinstance(body, dict) else []
        owner = user or self._user
        if not messages or owner is None:
            return None
        return Turn(dialect, body, messages, thread or self._thread or _thread_id(owner, messages), owner)

    async def prepare(self, turn: Turn) -> bytes | None:
        """Return the request with memory in it, or None if no memory is relevant."""
        words = last_words(turn.messages)
        if words is None:
            return None
        index, text = words
        key = f"{turn.user}\0{_digest(turn.messages[: index + 1])}"
        block = self._blocks.get(key)
        if block is None:
            block = await self._build_block(turn, text)
            self._blocks[key] = block
            while len(self._blocks) > MAX_CACHED_BLOCKS:
                self._blocks.popitem(last=False)
        if not block:
            return None
        return json.dumps(with_text_before(turn.dialect, turn.body, index, block), ensure_ascii=False).encode()

    async def _build_block(self, turn: Turn, text: str) -> str:
        """Return the profile and recalled memory for the user's words, within the budget, or an empty text if there is
        none."""
        query = text[-MAX_QUERY_CHARACTERS:]
        memory, tokens = self._user_memory(turn.user), self._budget_tokens
        budget = TokenBudget(tokens + QUERY_ROOM_TOKENS, profile=tokens // 2, memory=tokens - tokens // 2)
        try:
            context = await memory.context(query, budget=budget)
        except MemoristError as error:
            log.warning("the request is sent without memory: %s: %s", type(error).__name__, error)
            return ""
        content = str(context.messages()[-1]["content"])
        return content.removesuffix(query).rstrip() if content.endswith(query) else ""

    async def store(self, turn: Turn, status: int, content_type: str, content: bytes) -> None:
        """Store the messages that the request added and the answer. If the provider returns an error, nothing is
        stored."""
        if status >= 400:
            return
        try:
            answer = _read_answer(turn.dialect, content_type, content)
            new = [message for message in new_messages(turn.messages) if message.get("role") not in _NOT_STORED]
            if not new and not answer:
                return
            earlier = turn.messages[: len(turn.messages) - len(new_messages(turn.messages))]
            keys = _keys([*earlier, *new, *answer])[len(earlier) :]
            await self._user_memory(turn.user).threads.append(
                turn.thread, *new, *answer, key=keys, create=f"user:{turn.user}"
            )
        except MemoristError as error:
            # The caller gets the answer, even if the memory fails.
            log.warning("a turn was not stored: %s: %s", type(error).__name__, error)

    def _user_memory(self, user: str) -> AsyncMemory:
        return self._memory if self._memory.user is not None else self._memory.scope(user=user)


_NOT_STORED = frozenset({"system", "developer"})


def _read_answer(dialect: Dialect, content_type: str, content: bytes) -> list[Body]:
    if content_type.startswith("text/event-stream"):
        return dialect.read_events(parse_events(content))
    try:
        body = json.loads(content)
    except ValueError:
        return []
    return dialect.read_answer(body) if isinstance(body, dict) else []


def _thread_id(user: str, messages: list[Body]) -> str:
    """Return the thread for a conversation without an id. Its first message distinguishes it from others."""
    first = next((index for index, message in enumerate(messages) if message.get("role") == "user"), 0)
    return f"wrapped/{user}/{_digest(messages[: first + 1])[:16]}"


def _keys(messages: list[Body]) -> list[str]:
    """Return an idempotency key per message, which is a digest of the conversation up to it, so that retries store
    nothing twice."""
    running, keys = hashlib.sha256(), []
    for message in messages:
        running.update(json.dumps(_identity_fields(message), sort_keys=True, default=str).encode())
        keys.append(running.hexdigest()[:32])
    return keys


def _digest(messages: list[Body]) -> str:
    return _keys(messages)[-1] if messages else ""


def _identity_fields(message: Body) -> object:
    """Return the relevant fields of a message, because callers often send an answer back with different fields."""
    content = message.get("content")
    if isinstance(content, list):
        content = [part.get("text") or part.get("id") or part.get("tool_use_id") or part for part in content]
        content = content[0] if len(content) == 1 and isinstance(content[0], str) else content
    calls = [call.get("id") for call in message.get("tool_calls") or []]
    return [message.get("role"), content or "", calls, message.get("call_id")]
