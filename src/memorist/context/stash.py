"""Sends long tool results as previews: an outline, the size and an id. The full text stays in the store.

A preview depends only on the stored message, so its bytes stay the same from turn to turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from ..errors import UsageError
from ..messages.message import Message, text_of
from ..messages.stashed import Stashed
from .measure import count_content
from .outline import outline, reading_lines
from .tokens import Counter

MIN_STASH_TOKENS = 200
"""The smallest threshold; a preview of a shorter result would save hardly any tokens."""
PREVIEW_PART = 4
"""A preview may use this share of the threshold, in addition to its first line."""
CACHED_PREVIEWS = 64
READ_MORE = "read_more"


def check_stash(over_tokens: int | None) -> int | None:
    """Return the threshold. Raises UsageError if it leaves no room for a preview."""
    if over_tokens is None:
        return None
    if isinstance(over_tokens, bool) or not isinstance(over_tokens, int) or over_tokens < MIN_STASH_TOKENS:
        raise UsageError(f"stash is a number of tokens, at least {MIN_STASH_TOKENS}, or None")
    return over_tokens


@lru_cache(CACHED_PREVIEWS)
def preview(text: str, id: str, over_tokens: int, counter: Counter) -> Stashed:
    """Return the preview of a text that exceeds the token threshold."""
    short = outline(text, over_tokens // PREVIEW_PART, counter)
    tokens, lines = counter.count_once(text), len(reading_lines(text))
    size = f"{tokens:,} tokens, {lines:,} lines"
    line = f'[Shortened {short.form} of {size}. {READ_MORE}(id="{id}") reads any part of the full text.]'
    return Stashed(id, f"{line}\n{short.text}", tokens, lines)


def stash_results(message: Message, over_tokens: int, counter: Counter) -> Message:
    """Replace each tool result over the threshold with its preview; pinned messages stay whole."""
    content = message.content
    if message.pinned or not message.id:
        return message
    if message.role == "tool":
        shown = _shown_content(content, message.shown_id, over_tokens, counter)
    elif isinstance(content, list):
        shown = _shown_blocks(content, message.shown_id, over_tokens, counter)
        shown = content if all(new is old for new, old in zip(shown, content, strict=True)) else shown
    else:
        return message
    return message if shown is content else msgspec.structs.replace(message, content=shown, tokens=None)


def _shown_blocks(blocks: Sequence[object], id: str, over_tokens: int, counter: Counter) -> list[object]:
    """Return the blocks of a message with previews of long results. If it contains other text too, each result has an
    id of its own, so that its lines are counted from its own beginning."""
    is_alone = sum(bool(text_of([block])) for block in blocks) == 1
    shown, number = list[object](), 0
    for block in blocks:
        if isinstance(block, Mapping) and block.get("type") == "tool_result":
            number += 1
            shown.append(_shown_result(block, id if is_alone else f"{id}.{number}", over_tokens, counter))
        else:
            shown.append(block)
    return shown


def _shown_result(block: Mapping[str, object], id: str, over_tokens: int, counter: Counter) -> object:
    content = block.get("content")
    shown = _shown_content(content, id, over_tokens, counter)
    return block if shown is content else {**block, "content": shown}


def _shown_content(content: Any, id: str, over_tokens: int, counter: Counter) -> object:
    """Return the content of a result with its text replaced by a preview; other parts, such as images, are
    unchanged."""
    texts = [content] if isinstance(content, str) else [part for part in content or () if _is_text(part)]
    if count_content(texts, counter) <= over_tokens:
        return content
    short = preview(text_of(texts), id, over_tokens, counter).text
    if isinstance(content, str):
        return short
    return [{"type": "text", "text": short}, *(part for part in content if not _is_text(part))]


def _is_text(part: object) -> bool:
    return isinstance(part, str) or (isinstance(part, Mapping) and isinstance(part.get("text"), str))
