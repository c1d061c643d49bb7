"""Renders assembled messages for OpenAI's chat and Responses APIs, for Anthropic, or as text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ..messages.compactions import Provider, compacted_by
from ..messages.message import INSTRUCTIONS, Message, text_of
from ..messages.responses import after_compaction
from ..messages.wire import sent_anthropic, sent_openai
from ..values import JsonMapping, JsonObject, compact_json
from .units import carries_results
from .validate import openai_problems, refuse

_ID_CHARACTERS = re.compile(r"[^a-zA-Z0-9_-]")
_PLACEHOLDER = re.compile(r"\{(system|memory|context|tools|history|input|user|scratchpad)\}")
_ALIASES = {"context": "memory", "user": "input"}
_SPEAKER = re.compile(
    r"^(?=[^\S\n]{0,20}(?:human|user|assistant|system|developer|tool|function|ai|model)[^\S\n]{0,20}:)", re.I | re.M
)
"""A line inside a message that looks like the start of another speaker's turn."""
_MERGED_ROLES = ("system", "developer", "user", "assistant")
DEFAULT_TEMPLATE = "{system}\n\n{memory}\n\n{tools}\n\n{history}\n\n{input}\n\n{scratchpad}"


def openai_messages(messages: Iterable[Message], *, merge: bool = False) -> list[JsonObject]:
    """Return messages in OpenAI's chat format, unchanged if the provider accepts them.

    With `merge`, adjacent messages with the same role are merged into one, for templates that require alternating
    roles. Tool results stay separate, since each answers its own call. So do messages with fields of their own, such as
    another speaker's name. Only the last message of a run may have tool calls.
    """
    out: list[JsonObject] = []
    is_plain = True
    for message in messages:
        content = message.content
        if type(content) is str and not message.extra and message.name is None and message.shape is None:
            out.append({"role": message.role, "content": content})
            is_plain = is_plain and bool(content) and message.role in _MERGED_ROLES
        else:
            is_plain = False
            out.extend(sent for sent in sent_openai(message) if _says_something(sent))
    if not is_plain:
        refuse(openai_problems(out), "OpenAI")
    return _merge_neighbours(out) if merge else out


def _says_something(message: JsonMapping) -> bool:
    """Return False for an assistant's message that contains only parts this provider rejects, such as a compaction."""
    if message.get("role") != "assistant":
        return True
    return any(message.get(name) for name in ("content", "tool_calls", "refusal", "audio", "function_call"))


def _merge_neighbours(messages: Iterable[JsonObject]) -> list[JsonObject]:
    out: list[JsonObject] = []
    role = None
    for message in messages:
        if message["role"] == role and _may_merge(out[-1], message):
            out[-1] = {**message, "content": _join_contents(out[-1].get("content"), message.get("content"))}
        else:
            out.append(message)
            role = message["role"]
    return out


def _may_merge(last: JsonMapping, message: JsonMapping) -> bool:
    # Text after a call would separate it from its results, so the earlier message may not have calls. Other fields,
    # such as a name, must be equal.
    if message["role"] not in _MERGED_ROLES:
        return False
    own = {name: value for name, value in message.items() if name not in ("content", "tool_calls")}
    return own == {name: value for name, value in last.items() if name != "content"}


def _join_contents(first: object, second: object) -> object:
    if not first or not second:
        return first or second
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: Any) -> list[object]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def response_items(messages: Sequence[Message], *, lasting: Collection[Message] = ()) -> list[JsonObject]:
    """Return Responses API items; messages that arrived as such items are unchanged.

    OpenAI's last compaction item replaces the items before it, which would otherwise be billed again. The `lasting`
    messages, instructions and pinned messages stay in front of it.
    """
    # An item from before the compaction is not refused, but it is billed again, since the compaction contains it.
    last = _last_compaction(messages, "openai")
    before = [] if last is None else _find_surviving(messages[:last], lasting)
    items = [item for message in before for item in message.responses()]
    return [*items, *after_compaction([item for message in messages[last or 0 :] for item in message.responses()])]


def anthropic_messages(messages: Sequence[Message], *, lasting: Collection[Message] = ()) -> list[JsonObject]:
    """Return messages in Anthropic's format: content as blocks, roles merged, results first and ids unique.

    Anthropic's last compaction block comes first, because anywhere else it is refused or hides the messages before it.
    The `lasting` messages, instructions and pinned messages follow its turn.
    """
    out: list[JsonObject] = []
    names: dict[str, str] = {}
    seen: set[str] = set()
    for message in _from_compaction(messages, lasting):
        role, blocks = sent_anthropic(message)
        blocks = _rename_calls(blocks, names, seen)
        if not blocks:
            continue
        if out and out[-1]["role"] == role:
            out[-1]["content"].extend(blocks)
        else:
            out.append({"role": role, "content": blocks})
    for merged in out:
        merged["content"] = _results_first(merged["content"])
        if merged["role"] == "assistant":
            _end_in_words(merged["content"])
    if out and out[-1]["role"] == "assistant":
        _trim_prefill(out[-1]["content"])
    return out


def _from_compaction(messages: Sequence[Message], lasting: Collection[Message]) -> Sequence[Message]:
    last = _last_compaction(messages, "anthropic")
    if last is None:
        return messages
    end = last + 1
    # The results of the compacted turn's calls must stay directly after it, or Anthropic refuses them.
    while end < len(messages) and carries_results(messages[end]):
        end += 1
    return [*messages[last:end], *_find_surviving(messages[:last], lasting), *messages[end:]]


def _last_compaction(messages: Sequence[Message], provider: Provider) -> int | None:
    """Return the index of the last message with a compaction item from this provider, or None."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        # A plain text cannot contain a compaction, and most messages of a long thread are plain texts.
        if type(message.content) is not str and compacted_by(message) == provider:
            return index
    return None


def _find_surviving(messages: Sequence[Message], lasting: Collection[Message]) -> list[Message]:
    """Return the messages before a compaction that are still sent, keeping calls together with their results."""
    groups: list[list[Message]] = []
    for message in messages:
        if groups and carries_results(message):
            groups[-1].append(message)
        else:
            groups.append([message])
    return [message for group in groups if any(_survives(message, lasting) for message in group) for message in group]


def _survives(message: Message, lasting: Collection[Message]) -> bool:
    return message.pinned or message.role in INSTRUCTIONS or message in lasting


def _end_in_words(blocks: list[Any]) -> None:
    """Remove thinking blocks at the end of an assistant message, where Anthropic rejects them."""
    while len(blocks) > 1 and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
        blocks.pop()


def _rename_calls(blocks: list[JsonObject], names: dict[str, str], seen: set[str]) -> list[JsonObject]:
    out: list[JsonObject] = []
    for block in blocks:
        if block["type"] == "tool_use":
            # Anthropic accepts few characters in ids and refuses an id that occurs twice in a request, whereas ids of
            # imported threads may come from any provider. Results are renamed with the call that precedes them.
            new = _ID_CHARACTERS.sub("_", str(block.get("id", "")))
            number = len(seen)
            while new in seen or new != block.get("id"):
                new, number = f"t{number}", number + 1
                if new not in seen:
                    break
            seen.add(new)
            names[str(block.get("id", ""))] = new
            block = block if block.get("id") == new else {**block, "id": new}
        elif block["type"] == "tool_result":
            old = str(block.get("tool_use_id", ""))
            new = names.get(old, old)
            block = block if new == old else {**block, "tool_use_id": new}
        out.append(block)
    return out


def _results_first(blocks: list[Any]) -> list[object]:
    # Anthropic refuses a turn in which anything stands between a call and its results.
    results = [block for block in blocks if block["type"] == "tool_result"]
    if not results or len(results) == len(blocks):
        return blocks
    return results + [block for block in blocks if block["type"] != "tool_result"]


def _trim_prefill(blocks: list[Any]) -> None:
    """Strip trailing white space, which Anthropic rejects, from a final assistant text (a prefill)."""
    last = blocks[-1]
    if last["type"] == "text" and last["text"] != last["text"].rstrip():
        blocks[-1] = {**last, "text": last["text"].rstrip()}


def fill(template: str, sections: Mapping[str, str]) -> str:
    """Fill in the sections of a template. Other braces, and braces inside the sections, stay unchanged."""

    # One pass over the template: what a section contains is never searched for placeholders itself.
    def section(match: re.Match[str]) -> str:
        name = match.group(1)
        return sections[_ALIASES.get(name, name)]

    return _PLACEHOLDER.sub(section, template)


def transcript(messages: Iterable[Message]) -> str:
    """Return messages as text, each preceded by its speaker's name."""
    return "\n\n".join(line for message in messages for line in _lines(message))


def _quote_labels(text: str) -> str:
    """Quote lines such as `Assistant:`, so that they cannot be mistaken for another speaker's turn."""
    return _SPEAKER.sub("> ", text)


def _lines(message: Message) -> list[str]:
    lines: list[str] = []
    results = message.tool_results
    speaker = message.name or message.role.capitalize()
    if results and message.role == "tool":
        return [f"Tool: {_quote_labels(message.text)}"]
    for result in results:
        lines.append(f"Tool: {_quote_labels(text_of(result.content))}")
    text = (
        text_of([block for block in message.content if block.get("type") != "tool_result"]) if results else message.text
    )
    if text:
        lines.append(f"{speaker}: {_quote_labels(text)}")
    lines += [f"{speaker} calls {call.name}({_arguments(call.arguments)})" for call in message.tool_calls]
    return lines


def _arguments(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else compact_json(arguments)
