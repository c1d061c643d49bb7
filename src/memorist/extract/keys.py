"""The keys that facts about a user are kept under.

One statement and its contradiction share a key, so that the newer one supersedes; docs/extraction.md has the table.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from pathlib import Path

from ..languages import words

KEYS: dict[str, str] = tomllib.loads((Path(__file__).parent / "keys.toml").read_text("utf-8"))
"""Each key and what it means."""
_ALIASES: dict[str, str] = words("en").table("aliases")
_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_THINGS = frozenset(
    {"language", "learning", "likes", "allergy", "hobby", "condition", "medication", "uses.tool", "owns"}
)
"""Whose keys name a thing, of which `true` is said."""


def slug(text: str, *, words: int = 6) -> str:
    """Return lower-case words joined by underscores, NFKC, any script; known spellings of one thing made one."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("'s ", " ").replace("'", "")
    parts = _WORD.findall(folded.replace("c++", "cpp").replace("c#", "csharp"))[:words]
    joined = "_".join(parts)[:80]
    return _ALIASES.get(joined, joined)


_SAME_KEYS = {
    "job": "role", "occupation": "role", "profession": "role", "hometown": "origin",
    "relationship_status": "marital_status", "medical_condition": "condition",
}  # fmt: skip
"""Other names of keys in the table."""
_NAMED_BY_VALUE = frozenset({"allergy", "condition", "hobby", "language", "medication"})
"""Whose keys hold the thing: one can have several."""


def table_key(key: str, value: object) -> str:
    """Return the key of the table that a writer's key means, so that rules and models store a statement in the same
    place.

    `job` is kept as `role`, and the allergy `nuts` under `allergy.nuts`.
    """
    root = _SAME_KEYS.get(key, key)
    if root in _NAMED_BY_VALUE and isinstance(value, str) and slug(value):
        return f"{root}.{slug(value)}"
    return root


def spoken(key: str, value: object, text: str) -> object:
    """Return a fact's value as it is stored: what is true of a thing is kept as the words for the thing, as `text` has
    them.

    Whoever reads `likes.black_coffee` finds "black coffee", which can be shown, searched and told from `false`.
    """
    kind, _, thing = key.rpartition(".")
    if value is not True or kind not in _THINGS:
        return value
    words = thing.split("_")
    pattern = r"[\W_]+".join(re.escape(word) for word in words)
    match = re.search(rf"(?<!\w){pattern}(?!\w)", text, re.I)
    return match[0] if match else " ".join(words)
