"""Embeds texts with OpenAI, with Voyage AI, or with any server that implements the API of one of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

import msgspec

from memorist.embed.http import post, rows
from memorist.errors import UsageError


class Service(msgspec.Struct, frozen=True):
    """Describes a service with an endpoint `POST {base_url}/embeddings`."""

    base_url: str
    key: str
    """This is the environment variable that contains the API key."""
    options: Mapping[str, object]
    """These are the fields of a request besides the model and the texts."""
    batch: int
    max_chars: int


SERVICES = {
    "openai": Service("https://api.openai.com/v1", "OPENAI_API_KEY", {"encoding_format": "float"}, 256, 24_000),
    "voyage": Service("https://api.voyageai.com/v1", "VOYAGE_API_KEY", {"truncation": True}, 128, 120_000),
}


def service_embedder(provider: str, model: str, base_url: str) -> Callable[[Sequence[str]], list[list[float]]]:
    """Return a blocking function that embeds texts in batches. An async memory runs it in a thread.

    The key is optional if `base_url` names another server.
    """
    service = SERVICES[provider]
    key = os.environ.get(service.key, "")
    if not key and not base_url:
        raise UsageError(f"no API key; set {service.key}")
    url = (base_url or service.base_url).rstrip("/") + "/embeddings"
    headers = {"Authorization": f"Bearer {key}"} if key else {}

    def embed(texts: Sequence[str]) -> list[list[float]]:
        out: list[list[float]] = []
        for start in range(0, len(texts), service.batch):
            # Services reject an empty text, but accept a space.
            part = [text[: service.max_chars] or " " for text in texts[start : start + service.batch]]
            body = {"model": model, "input": part, **service.options}
            out.extend(rows(post(url, body, headers), len(part), url))
        return out

    return embed
