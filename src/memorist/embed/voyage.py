"""Embeds texts with Voyage AI, the provider that Anthropic recommends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memorist.embed.remote import api_key, remote

BASE_URL = "https://api.voyageai.com/v1"
KEY = "VOYAGE_API_KEY"


def voyage_embedder(model: str, base_url: str | None = None) -> Callable[[Sequence[str]], list[list[float]]]:
    """Return a blocking function for `POST {base_url}/embeddings`. The service truncates long texts."""
    url = (base_url or BASE_URL).rstrip("/") + "/embeddings"
    return remote(
        url,
        api_key(KEY, base_url),
        lambda texts: {"model": model, "input": list(texts), "truncation": True},
        batch=128,
        max_chars=120_000,
    )
