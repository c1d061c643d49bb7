"""Renders a context in a provider's format. `POST /v1/context` returns it if the request names a `format`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ..context.context import Context
from ..values import JsonObject

Format = Literal["context", "openai", "anthropic"]


class RenderedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Represents a request that can be sent unchanged to a provider."""

    format: Format
    messages: list[JsonObject]
    system: Any = None
    """This is for Anthropic. For OpenAI, the system prompt is the first message."""
    tools: list[Any] = []
    tokens: int
    manifest: JsonObject | None = None
    """This contains the cost of each section and the omitted items, with the reasons. It is sent only on request."""


def rendered(context: Context, format: Format, with_manifest: bool) -> RenderedRequest:
    """Return a context in a provider's format."""
    manifest = msgspec.to_builtins(context.manifest) if with_manifest else None
    if format == "anthropic":
        parts = context.anthropic()
        return RenderedRequest(
            format=format, messages=parts["messages"], system=parts.get("system") or None,
            tools=list(parts.get("tools") or ()), tokens=context.tokens, manifest=manifest,
        )  # fmt: skip
    return RenderedRequest(
        format=format, messages=context.messages(), tools=list(context.tools), tokens=context.tokens, manifest=manifest
    )
