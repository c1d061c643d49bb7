"""Handles the API key and the batching that all embedding services share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from memorist.embed.http import post, rows
from memorist.errors import UsageError


def api_key(variable: str, base_url: str | None) -> str:
    """Return the key from the environment. It is optional if `base_url` names another server."""
    key = os.environ.get(variable, "")
    if not key and base_url is None:
        raise UsageError(f"no API key; set {variable}")
    return key


def remote(
    url: str,
    key: str,
    body: Callable[[Sequence[str]], Mapping[str, object]],
    *,
    batch: int,
    max_chars: int,
) -> Callable[[Sequence[str]], list[list[float]]]:
    """Return a blocking function that embeds texts in batches. An async memory runs it in a thread."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}

    def embed(texts: Sequence[str]) -> list[list[float]]:
        out: list[list[float]] = []
        for start in range(0, len(texts), batch):
            # Services reject an empty text, but accept a space.
            part = [text[:max_chars] or " " for text in texts[start : start + batch]]
            out.extend(rows(post(url, body(part), headers), len(part), url))
        return out

    return embed
