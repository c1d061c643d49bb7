"""Checks assembled requests against the rules of the providers, as the last step of every assembly.

`check_view` checks assembled messages without rendering them, which is cheap enough for every request;
`openai_problems` and `anthropic_problems` check a rendered request against the rules that the providers publish and
enforce.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..errors import MemoristError
from ..messages.message import Message
from ..values import JsonMapping
from .units import carries_results, has_substance

MAX_CACHE_MARKERS = 4


def check_view(messages: Iterable[Message]) -> None:
    """Raise unless tool calls and results pair up and no message is empty."""
    problems = view_problems(messages)
    if problems:
        raise MemoristError(f"the assembled request would be refused: {problems[0]}; this is a bug, please report it")


def view_problems(messages: Iterable[Message]) -> list[str]:
    """Return the reasons why a provider would reject messages that have not been rendered yet."""
    problems: list[str] = []
    open_ids: set[str] = set()
    for index, message in enumerate(messages):
        content = message.content
        if type(content) is str and not message.extra:
            if not open_ids and content and not content.isspace():
                continue  # plain text, which is most of a conversation
            if open_ids:
                problems.append(f"message {index} comes before the results of a call")
                open_ids = set()
            if not content or content.isspace():
                problems.append(f"message {index} is empty")
            continue
        open_ids = _check_parts(message, index, open_ids, problems)
    if open_ids:
        problems.append("the last call has no result")
    return problems


def _check_parts(message: Message, index: int, open_ids: set[str], problems: list[str]) -> set[str]:
    if carries_results(message):
        for result in message.tool_results:
            if result.id not in open_ids:
                problems.append(f"message {index} has a result without its call")
            open_ids.discard(result.id)
        return open_ids
    if open_ids:
        problems.append(f"message {index} comes before the results of a call")
    if not has_substance(message):
        problems.append(f"message {index} is empty")
    return {call.id for call in message.tool_calls} if message.role == "assistant" else set()


def openai_problems(messages: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the reasons why the OpenAI chat API would reject a rendered message list."""
    problems: list[str] = []
    open_ids: set[str] = set()
    for index, message in enumerate(messages):
        role = message.get("role")
        if not open_ids and len(message) == 2 and (role == "user" or role == "assistant") and message.get("content"):
            continue  # plain text, which is most of a conversation
        if role == "tool":
            call_id = message.get("tool_call_id")
            if call_id not in open_ids:
                problems.append(f"message {index}: a tool message must follow the call it answers")
            open_ids.discard(str(call_id))
            if not isinstance(message.get("content"), str | list):
                problems.append(f"message {index}: a tool message needs content")
            continue
        if open_ids:
            problems.append(f"message {index}: calls before it have no result")
        open_ids = set()
        if role not in ("system", "developer", "user", "assistant"):
            problems.append(f"message {index}: unknown role")
        elif role == "assistant":
            open_ids = _openai_calls(message, index, problems)
        elif not message.get("content"):
            problems.append(f"message {index}: empty content")
        if role != "assistant" and "tool_calls" in message:
            problems.append(f"message {index}: only an assistant calls tools")
    if open_ids:
        problems.append("the last calls have no result")
    return problems


def _openai_calls(message: JsonMapping, index: int, problems: list[str]) -> set[str]:
    calls = message.get("tool_calls")
    if calls is None:
        if not message.get("content") and not message.get("refusal") and not message.get("audio"):
            problems.append(f"message {index}: an assistant message without content or calls")
        return set()
    ids = [call.get("id") for call in calls if isinstance(call, Mapping)]
    if not ids or len(ids) != len(calls) or not all(isinstance(id_, str) and id_ for id_ in ids):
        problems.append(f"message {index}: tool_calls must be a list of calls with ids")
    if len(set(ids)) != len(ids):
        problems.append(f"message {index}: two calls share an id")
    return {str(id_) for id_ in ids}


def anthropic_problems(request: JsonMapping) -> list[str]:
    """Return the reasons why the Anthropic messages API would reject a rendered request."""
    problems: list[str] = []
    messages = request["messages"]
    if messages and messages[0].get("role") != "user" and not _starts_compacted(messages[0]):
        problems.append("the first message must be the user's")
    asked: set[str] = set()
    seen: set[str] = set()
    before: str | None = None
    for index, message in enumerate(messages):
        role = message.get("role")
        if role not in ("user", "assistant"):
            problems.append(f"message {index}: role must be user or assistant")
        if role == before:
            problems.append(f"message {index}: two messages of one role in a row")
        before = role
        asked = _anthropic_message(message, index, asked, seen, problems)
    if asked:
        problems.append("the last tool_use has no tool_result")
    markers = cache_markers(request)
    if markers > MAX_CACHE_MARKERS:
        problems.append(f"{markers} cache markers; at most {MAX_CACHE_MARKERS} are allowed")
    return problems


def _starts_compacted(message: JsonMapping) -> bool:
    """Return whether an assistant's message begins with a compaction, which may be the first message."""
    content = message.get("content")
    first = content[0] if isinstance(content, list) and content else None
    return isinstance(first, Mapping) and first.get("type") == "compaction"


def _anthropic_message(
    message: JsonMapping, index: int, asked: set[str], seen: set[str], problems: list[str]
) -> set[str]:
    content = message.get("content")
    if isinstance(content, str):
        if not content.strip():
            problems.append(f"message {index}: empty content")
        content = [{"type": "text", "text": content}]
    if not content:
        problems.append(f"message {index}: empty content")
        content = []
    results = [b.get("tool_use_id") for b in content if isinstance(b, Mapping) and b.get("type") == "tool_result"]
    if set(results) != asked or len(results) != len(asked):
        problems.append(f"message {index}: tool_result blocks do not answer the tool_use blocks before them")
    if any(not isinstance(b, Mapping) or b.get("type") != "tool_result" for b in content[: len(results)]):
        problems.append(f"message {index}: tool_result blocks must come first")
    return _anthropic_blocks(content, index, seen, problems)


def _anthropic_blocks(content: Sequence[object], index: int, seen: set[str], problems: list[str]) -> set[str]:
    uses: set[str] = set()
    for block in content:
        if not isinstance(block, Mapping) or "type" not in block:
            problems.append(f"message {index}: a block without a type")
        elif block["type"] == "text" and not str(block.get("text", "")).strip():
            problems.append(f"message {index}: a blank text block")
        elif block["type"] == "tool_result" and _has_blank(block.get("content")):
            problems.append(f"message {index}: a blank text in a result")
        elif block["type"] == "tool_use":
            if block.get("id") in seen:
                problems.append(f"message {index}: tool_use ids must be unique")
            seen.add(str(block.get("id")))
            uses.add(str(block.get("id")))
    if content and isinstance(content[-1], Mapping) and content[-1].get("type") in ("thinking", "redacted_thinking"):
        problems.append(f"message {index}: a message that ends in thinking")
    return uses


def _has_blank(content: object) -> bool:
    parts = content if isinstance(content, list) else ()
    return any(part.get("type") == "text" and not str(part.get("text", "")).strip() for part in parts)


def cache_markers(request: JsonMapping) -> int:
    """Return the number of cache markers in a rendered Anthropic request."""
    blocks: list[object] = [*(request.get("tools") or ())]
    if isinstance(request.get("system"), list):
        blocks.extend(request["system"])
    for message in request["messages"]:
        if isinstance(message.get("content"), list):
            blocks.extend(message["content"])
    return sum(1 for block in blocks if isinstance(block, Mapping) and "cache_control" in block)


def refuse(problems: list[str], shape: str) -> None:
    """Raise an error for a rendered request that a provider would reject."""
    if problems:
        raise MemoristError(f"the {shape} request would be refused: {problems[0]}; this is a bug, please report it")
