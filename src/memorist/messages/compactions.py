"""Handles compaction by a provider. It finds the messages that contain compaction items and the messages they replace,
and checks the settings that request a compaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal

import msgspec

from ..errors import UsageError
from ..records import as_dict
from ..values import JsonMapping, JsonObject

if TYPE_CHECKING:
    from .message import Message

COMPACTED_BY = "memorist.compacted_by"
"""The metadata key of a message that contains a provider's compaction item. Its value is the provider."""
Provider = Literal["openai", "anthropic"]
PROVIDERS: tuple[Provider, ...] = ("openai", "anthropic")
EDITING_BETA, COMPACTION_BETA = "context-management-2025-06-27", "compact-2026-01-12"
ON_DEMAND_BETA = "compact-2026-09-04"
CLEAR_THINKING, CLEAR_TOOLS, COMPACT = "clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112"
MIN_COMPACTION_TRIGGER_TOKENS = 50_000
"""Anthropic rejects a trigger below this value."""


class Compaction(msgspec.Struct, frozen=True):
    """Describes a part of a thread that a provider compacted."""

    to_dict = as_dict

    provider: Provider
    id: str
    """This message contains the provider's item."""
    first: int
    last: int
    """The item replaces these messages."""
    summary: str | None = None
    """This is the id of our own readable summary of the same part, if there is one."""
    created_at: datetime | None = None


def compacted_by(message: Message) -> Provider | None:
    """Return the provider whose compaction item a message contains, or None if it contains none.

    An item of a failed compaction has neither content nor encrypted content, and replaces nothing.
    """
    content = message.extra.get("items") or message.content
    if not isinstance(content, list | tuple):
        return None
    items = [part for part in content if isinstance(part, Mapping) and part.get("type") == "compaction"]
    if not any(item.get("content") or item.get("encrypted_content") for item in items):
        return None
    return "anthropic" if message.shape == "anthropic" else "openai"


def openai_settings(context_management: Sequence[JsonMapping]) -> list[JsonObject]:
    """Return OpenAI's compaction settings in the form in which they are sent. Raises UsageError for other
    settings."""
    settings = [dict(setting) for setting in context_management]
    for setting in settings:
        threshold = setting.get("compact_threshold")
        if setting.get("type") != "compaction" or not (threshold is None or _is_count(threshold)):
            raise UsageError('OpenAI expects [{"type": "compaction", "compact_threshold": tokens}]')
    return settings


def anthropic_settings(context_management: JsonMapping) -> tuple[JsonObject, list[str]]:
    """Return Anthropic's context editing settings in the form in which they are sent, and the betas that they need."""
    edits = context_management.get("edits")
    if not isinstance(edits, list | tuple) or not all(isinstance(edit, Mapping) for edit in edits):
        raise UsageError('Anthropic expects {"edits": [{"type": …}, …]}')
    kinds = [edit.get("type") for edit in edits]
    # Anthropic answers 400 otherwise. Refusing it here costs no request, and the error names the setting.
    if CLEAR_THINKING in kinds[1:]:
        raise UsageError(f"{CLEAR_THINKING} must be the first edit")
    for edit in edits:
        trigger = edit.get("trigger")
        value = trigger.get("value") if edit.get("type") == COMPACT and isinstance(trigger, Mapping) else None
        if value is not None and (not _is_count(value) or value < MIN_COMPACTION_TRIGGER_TOKENS):
            raise UsageError(f"Anthropic compacts from {MIN_COMPACTION_TRIGGER_TOKENS:,} tokens on, not from {value!r}")
    # Only the betas that the request uses, because an account may lack the others.
    betas = [EDITING_BETA] if {CLEAR_THINKING, CLEAR_TOOLS} & {*kinds} else []
    return dict(context_management), [*betas, *([COMPACTION_BETA] if COMPACT in kinds else [])]


def on_demand_settings(compaction: JsonMapping) -> tuple[JsonObject, list[str]]:
    """Return the settings for a request that Anthropic answers with only a compaction, and the beta that it needs."""
    if compaction.get("type") != "summarize":
        raise UsageError('Anthropic expects {"type": "summarize"}, and optionally `instructions`')
    return dict(compaction), [ON_DEMAND_BETA]


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
