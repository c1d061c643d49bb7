"""Whatever is done in whatever order, no recall answers with what is another's or no longer there."""

from __future__ import annotations

import random
from typing import Any

import pytest

from .conftest import WordHashes

WORDS = "amber basalt cedar dune ember fjord grove heath islet jetty".split()
OPERATIONS = 150


@pytest.mark.parametrize("seed", [1, 2])
async def test_random_operations_never_show_anothers_or_what_is_gone(open_memory: Any, org: str, seed: int) -> None:
    rng = random.Random(seed)
    handles = {name: open_memory(org=f"{org}-{name}", embedder=WordHashes()) for name in ("left", "right")}
    stored: dict[tuple[str, str], dict[str, str]] = {}
    for number in range(OPERATIONS):
        org_name, ns = rng.choice(list(handles)), rng.choice(["user:ada", "user:bob", "global"])
        own_texts = stored.setdefault((org_name, ns), {})
        memory, action = handles[org_name], rng.choice(["set", "set", "delete", "recall", "recall"])
        if action == "set":
            key = f"k{rng.randrange(12)}"
            value = f"{rng.choice(WORDS)} {rng.choice(WORDS)} unique{number}"
            await memory.facts.set(ns, key, value)
            own_texts[key] = f"{key}: {value}"
        elif action == "delete" and own_texts:
            key = rng.choice(sorted(own_texts))
            await memory.facts.delete(ns, key)
            del own_texts[key]
        else:
            word = rng.choice(WORDS)
            hits = await memory.recall(word, namespaces=ns, top_k=50)
            texts = {hit.text for hit in hits}
            assert texts <= set(own_texts.values())
            assert {text for text in own_texts.values() if word in text} <= texts
