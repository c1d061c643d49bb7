"""Writes recalled memory into a request and decides which items fit.

Items with the same date, document or kind are grouped under one line (their head) that states it, so that many short
items cost little more than their words. A blank line separates two conversations. The texts are not changed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from ..errors import UsageError
from ..messages.message import Message, split_message_id
from ..recall.hit import DERIVED
from ..records import as_dict
from .fence import MEMORY_NOTE, fence, label

MIN_ITEM_TOKENS = 48
MAX_ITEM_TOKENS = 160
ITEMS_PER_ROOM = 12
"""A long item is first cut to a passage that fills a twelfth of the room, but has 48 to 160 tokens. Finally, the
passages of the best items are lengthened to use the remaining room."""
WHOLE_ITEM_SHARE = 0.6
"""The share of the room that whole passages with a gist may use. After that, only gists are sent, because the
answer is more often in one of many sentences than in the next few passages."""
MIN_CUT_TOKENS = 32
"""An item is cut to a passage only if there is room for at least this many tokens."""
RANKED_FIRST = 3
SHORT_ITEM_TOKENS = 16
"""Shorter items are weighed as if they had this many tokens; otherwise the shortest would always win."""
MIN_OVERLAP_CHARACTERS, MAX_OVERLAP_CHARACTERS = 12, 400
"""The minimum and maximum number of characters that count as repeated text where two passages meet."""
TRUSTS_IMPLIED = ("user", "assistant", "system", "processor", "unknown")
"""Trust levels that are not written out, because the speaker implies them. Others, such as tools and the web, are
written out."""
_LOOKS_LIKE_OURS = re.compile(r"\n(?:\[|[^\n:]{1,60}:\s)", re.M)
"""A line inside an item that looks like a head or the start of another item."""
_ISO_DATE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-\d\d")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
"""The code does not use `strftime`, which depends on the locale, because the same input must produce the same bytes."""
_QUOTES = re.compile(r'"{2,}')
SAID = "in the "
"""The beginning of the reason for leaving out an item that another section contains."""
NO_ROOM = "over the room for memory"
"""The reason for leaving out an item that does not fit."""
Shorten = Callable[[str, int], str]
"""(text, tokens) → the best passage of the text that fits into this many tokens, or ""."""


class MemoryItem(msgspec.Struct, frozen=True):
    """Represents a recalled item, with its text, its source and its level of trust."""

    to_dict = as_dict

    text: str
    kind: str = "memory"
    source: str = ""
    """This is the id of the record, such as `thread#12` or `user:ada/location`, or the source of a document."""
    trust: str = "unknown"
    created_at: str | None = None
    """This is an ISO timestamp, or other text that describes the time."""
    speaker: str = ""
    superseded_by: str | None = None
    score: float | None = None
    id: str = ""
    """This is the id of the hit, if it differs from the source."""
    passage: int = msgspec.field(default=0, name="place")
    """This is the number of a passage in its document, counted from 1."""
    gist: str = ""
    """This is the part of a passage that is sent if the whole passage does not fit."""
    said_in: str = ""
    """This is the id of the message that a fact or learning was extracted from."""

    @property
    def thread(self) -> str:
        """This is the thread of a message."""
        parts = split_message_id(self.source) if self.kind == "message" else None
        return "" if parts is None else parts[0]

    @property
    def seq(self) -> int:
        """This is the sequence number of a message in its thread, or 0 for anything else."""
        parts = split_message_id(self.source) if self.kind == "message" else None
        return 0 if parts is None else parts[1]

    def head(self, year: str = "") -> str:
        """Return the line above this item's group. It contains the date (without its year if that equals `year`),
        and the source unless it was a conversation."""
        parts = [_short_date(self.created_at, year)]
        if self.kind in DERIVED:
            parts.append(f"{self.kind}s")
        elif self.kind == "document":
            parts.append(f'document="{label(self.source)}"')
        elif self.kind != "message":
            parts.append(self.kind if self.kind != "memory" else "")
            parts.append(f'source="{label(self.source)}"' if self.source else "")
        if self.trust not in TRUSTS_IMPLIED and self.trust != self.kind:
            parts.append(f'trust="{label(self.trust)}"')
        return f"[{' '.join(part for part in parts if part)}]"

    def line(self) -> str:
        """Return the unchanged text of the item, after the speaker and a note about any newer statement."""
        speaker = label(self.speaker or ("assistant" if self.trust == "assistant" and self.kind == "message" else ""))
        if self.superseded_by:
            # Not "superseded": the rest of what a message says may still be true.
            speaker = f"{speaker} [later: {label(self.superseded_by)}]".strip()
        text = self.text.strip("\n")
        checked = text if speaker or self.trust == "user" else f"\n{text}"
        if _LOOKS_LIKE_OURS.search(checked):
            # A line of the text could pass for a head or for another speaker's statement.
            marks = '"' * max(3, 1 + max(map(len, _QUOTES.findall(text)), default=0))
            text = f"{marks}\n{text}\n{marks}"
        return f"{speaker}: {text}" if speaker else text


class Fate(msgspec.Struct, frozen=True):
    """Records whether a recalled item was kept, shortened or dropped, and why. The manifest uses it."""

    item: MemoryItem
    tokens: int
    fate: str
    """This is `kept`, `shortened` or `dropped`."""
    reason: str = ""

    @property
    def double(self) -> bool:
        """This is True if the item was left out because another section contains it."""
        return self.fate == "dropped" and self.reason.startswith(SAID)

    @property
    def for_room(self) -> bool:
        """This is True if more room would allow more of the item to be sent."""
        return self.fate == "shortened" or (self.fate == "dropped" and not self.double)


def fill_memory(
    items: Sequence[MemoryItem], room: int, count: Callable[[str], int], shorten: Shorten | None = None
) -> list[Fate]:
    """Fill the room with items, most useful first. Long items are cut to passages, which then grow into the
    remaining room."""
    base = count(fence("recalled_memory", MEMORY_NOTE, ""))
    left = room - base
    cap = max(MIN_ITEM_TOKENS, min(MAX_ITEM_TOKENS, room // ITEMS_PER_ROOM))
    fates: dict[int, Fate] = {}
    heads: set[str] = set()
    costs = [_cost(item, count) for item in items]
    whole = int(WHOLE_ITEM_SHARE * left)
    for index in _by_use(items, costs, cap):
        item = items[index]
        head = item.head()
        opening = 0 if head in heads else count(item.head(_date(item.created_at)[:4])) + 1
        fate = _with_gist(item, costs[index], left - opening, count) if item.gist and costs[index] > whole else None
        fate = fates[index] = fate or _place_item(item, costs[index], left - opening, cap, count, shorten)
        if fate.fate != "dropped":
            left -= fate.tokens + opening
            whole -= fate.tokens if item.gist else 0
            heads.add(head)
    return _lengthen_passages(items, costs, [fates[index] for index in range(len(items))], left, count, shorten)


def best_items(items: Sequence[MemoryItem], max_tokens: int, count: Callable[[str], int]) -> Sequence[MemoryItem]:
    """Return the first items that fit within the given token limit. A long item counts only as the passage it is cut
    to."""
    left = max_tokens
    for index, item in enumerate(items):
        left -= min(_cost(item, count), MAX_ITEM_TOKENS)
        if left < 0:
            return items[:index]
    return items


def _by_use(items: Sequence[MemoryItem], costs: Sequence[int], cap: int) -> list[int]:
    """Return the order in which items get room: the first few by rank, then the others by usefulness per token."""
    if any(item.score is None for item in items):
        return list(range(len(items)))
    worth = []
    for index, item in enumerate(items):
        score = min(max(item.score or 0.0, 1e-9), 1 - 1e-9)
        tokens = min(costs[index], cap)
        first = index < RANKED_FIRST
        weighed_tokens = max(tokens, SHORT_ITEM_TOKENS)
        worth.append((not first, index if first else math.log(weighed_tokens) - math.log(score / (1 - score)), index))
    return [index for _, _, index in sorted(worth)]


def _place_item(
    item: MemoryItem, tokens: int, left: int, cap: int, count: Callable[[str], int], shorten: Shorten | None
) -> Fate:
    if tokens <= left and (tokens <= cap * 3 // 2 or shorten is None):
        return Fate(item, tokens, "kept")
    if shorten is not None and left >= MIN_CUT_TOKENS:
        label = tokens - count(item.text)
        text = shorten(item.text, min(cap, left) - max(label, 0) - 1)
        cut = msgspec.structs.replace(item, text=text)
        cost = _cost(cut, count) if text else left + 1
        if cost <= left:
            return Fate(cut, cost, "shortened", f"a passage of {tokens} tokens")
    return Fate(item, tokens, "dropped", NO_ROOM)


def _with_gist(item: MemoryItem, tokens: int, left: int, count: Callable[[str], int]) -> Fate | None:
    """Return the item cut to its gist, or None if the gist does not fit or is not shorter."""
    cut = msgspec.structs.replace(item, text=item.gist)
    cost = _cost(cut, count)
    return Fate(cut, cost, "shortened", f"a sentence of {tokens} tokens") if cost <= left and cost < tokens else None


def _lengthen_passages(
    items: Sequence[MemoryItem],
    costs: Sequence[int],
    fates: list[Fate],
    left: int,
    count: Callable[[str], int],
    shorten: Shorten | None,
) -> list[Fate]:
    """Lengthen the passages to fill the remaining room, best first."""
    out = list(fates)
    for index, fate in enumerate(fates):
        if fate.fate != "shortened" or shorten is None or left < MIN_CUT_TOKENS:
            continue
        whole = costs[index]
        if whole - fate.tokens <= left:
            longer = Fate(items[index], whole, "kept")
        elif items[index].gist:
            continue
        else:
            text = shorten(items[index].text, fate.tokens + left - MIN_CUT_TOKENS)
            cut = msgspec.structs.replace(items[index], text=text or fate.item.text)
            longer = Fate(cut, _cost(cut, count), "shortened", fate.reason)
        if fate.tokens < longer.tokens <= fate.tokens + left:
            left -= longer.tokens - fate.tokens
            out[index] = longer
    return out


def _cost(item: MemoryItem, count: Callable[[str], int]) -> int:
    return count(item.line()) + 1


def as_items(value: object) -> list[MemoryItem]:
    """Convert hits, messages, facts, dicts or plain text to memory items."""
    if value is None:
        return []
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        value = [value]
    items = [_as_item(item) for item in value]
    return [item for item in items if item.text.strip()]


def _as_item(value: object) -> MemoryItem:
    if isinstance(value, MemoryItem):
        return value
    if isinstance(value, str):
        return MemoryItem(value)
    if isinstance(value, Message):
        source = value.id if value.thread else ""
        return MemoryItem(value.text, "message", source, value.trust_level, when(value.created_at), value.name or "")
    text = _field(value, "text") or _field(value, "content")
    if not isinstance(text, str):
        text = _key_value(value)
    kind, id = str(_field(value, "kind") or "memory"), str(_field(value, "id") or "")
    source = str((id if kind in ("message", "fact") and id else _field(value, "source") or id) or "")
    return MemoryItem(
        text, kind, source, str(_field(value, "trust") or "unknown"), when(_field(value, "created_at")),
        str(_field(value, "speaker") or ""), _field(value, "superseded_by"), _field(value, "score"), id,
        said_in=str(_field(value, "source") or "") if kind in DERIVED else "",
    )  # fmt: skip


def _key_value(item: object) -> str:
    key, value = _field(item, "key"), _field(item, "value")
    if key is None:
        raise UsageError(f"memory to put in a context is text, or has `text`; got {type(item).__name__}")
    written = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return f"{key}: {written}"


def _field(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def when(moment: datetime | str | None) -> str | None:
    """Convert a time to the text that an item stores."""
    return moment.isoformat() if isinstance(moment, datetime) else moment


def _date(when: str | None) -> str:
    """Return the date of an ISO timestamp; other text is returned unchanged."""
    return when[:10] if when is not None and when[10:11] == "T" else when or ""


def _short_date(when: str | None, year: str) -> str:
    """Return a date as people write it, such as "15 Nov 2026"; other text is returned unchanged."""
    date = _date(when)
    if not _ISO_DATE.fullmatch(date):
        return date
    short = f"{int(date[8:])} {MONTHS[int(date[5:7]) - 1]}"
    return short if date[:4] == year else f"{short} {date[:4]}"


def render_memory(items: Iterable[MemoryItem]) -> str:
    """Return all items in one fence, grouped under their heads, with the newest last."""
    groups: dict[str, list[MemoryItem]] = {}
    for item in items:
        groups.setdefault(item.head(), []).append(item)
    lines: list[str] = []
    year = ""
    for head, members in sorted(groups.items(), key=lambda group: _date(group[1][0].created_at)):
        if head != "[]":
            lines.append(members[0].head(year))
            year = _date(members[0].created_at)[:4]
        if all(item.passage for item in members):
            members = _merge_passages(sorted(members, key=lambda item: item.passage))
        lines += _lines(members)
    return fence("recalled_memory", MEMORY_NOTE, "\n".join(lines))


def _lines(members: Sequence[MemoryItem]) -> list[str]:
    """Return the lines of one group by conversation, with each conversation in its original order."""
    threads = {item.thread: position for position, item in reversed([*enumerate(members)])}
    ordered = sorted(members, key=lambda item: (threads[item.thread], item.seq))
    lines: list[str] = []
    for position, item in enumerate(ordered):
        if position and item.thread != ordered[position - 1].thread:
            lines.append("")
        lines.append(item.line())
    return lines


def _merge_passages(passages: Sequence[MemoryItem]) -> list[MemoryItem]:
    """Merge consecutive passages, dropping the text that chunking repeats where they meet."""
    out: list[MemoryItem] = []
    for item in passages:
        last = out[-1] if out else None
        if last is not None and item.passage - last.passage == 1 and not (last.superseded_by or item.superseded_by):
            out[-1] = msgspec.structs.replace(last, text=_join_following(last.text, item.text), passage=item.passage)
        else:
            out.append(item)
    return out


def _join_following(text: str, following: str) -> str:
    """Join `text` and `following` without repeating the text that both contain where they meet."""
    longest = min(len(text), len(following), MAX_OVERLAP_CHARACTERS)
    overlap = next((n for n in range(longest, MIN_OVERLAP_CHARACTERS - 1, -1) if text.endswith(following[:n])), 0)
    return text + following[overlap:] if overlap else f"{text}\n{following}"
