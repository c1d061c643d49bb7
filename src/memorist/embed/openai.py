"""Embeds texts with OpenAI, or with any server that implements its API."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memorist.embed.remote import api_key, remote

BASE_URL = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"


def openai_embedder(model: str, base_url: str | None = None) -> Callable[[Sequence[str]], list[list[float]]]:
    """Return a blocking function for `POST {base_url}/embeddings`."""
    url = (base_url or BASE_URL).rstrip("/") + "/embeddings"
    return remote(
        url,
        api_key(KEY, base_url),
        lambda texts: {"model": model, "input": list(texts), "encoding_format": "float"},
        batch=256,
        max_chars=24_000,
    )
