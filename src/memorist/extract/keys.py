"""Defines the keys under which facts about a user are stored.

A statement and its contradiction share a key, so that the newer one replaces the older one. The table is in
docs/extraction.md.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from pathlib import Path

from ..languages import words

KEYS: dict[str, str] = tomllib.loads((Path(__file__).parent / "keys.toml").read_text("utf-8"))
"""Maps each key to its meaning."""
_ALIASES: dict[str, str] = words("en").table("aliases")
_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_THINGS = frozenset(
    {"language", "learning", "likes", "allergy", "hobby", "condition", "medication", "uses.tool", "owns"}
)
"""Kinds of facts whose keys name a thing and whose values are `true`."""


def slug(text: str, *, words: int = 6) -> str:
    """Return the words, in any script, in lower case and NFKC, joined by underscores. Known spellings of the same thing
    are unified."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("'s ", " ").replace("'", "")
    parts = _WORD.findall(folded.replace("c++", "cpp").replace("c#", "csharp"))[:words]
    joined = "_".join(parts)[:80]
    return _ALIASES.get(joined, joined)


_SAME_KEYS = {
    "job": "role", "occupation": "role", "profession": "role", "hometown": "origin",
    "relationship_status": "marital_status", "medical_condition": "condition",
}  # fmt: skip
"""Other names for keys in the table."""
_NAMED_BY_VALUE = frozenset({"allergy", "condition", "hobby", "language", "medication"})
"""Kinds of facts whose keys name the thing, because a person can have several of them."""


def table_key(key: str, value: object) -> str:
    """Return the standard key for the key that a model wrote, so that rules and models store a statement under the same
    key.

    For example, `job` is stored as `role`, and the allergy `nuts` as `allergy.nuts`.
    """
    root = _SAME_KEYS.get(key, key)
    if root in _NAMED_BY_VALUE and isinstance(value, str) and slug(value):
        return f"{root}.{slug(value)}"
    return root


def spoken(key: str, value: object, text: str) -> object:
    """Return the stored form of a fact's value. If the value is `true`, it is replaced by the words for the thing, as
    written in `text`.

    So `likes.black_coffee` contains "black coffee", which can be displayed, searched and distinguished from `false`.
    """
    kind, _, thing = key.rpartition(".")
    if value is not True or kind not in _THINGS:
        return value
    words = thing.split("_")
    pattern = r"[\W_]+".join(re.escape(word) for word in words)
    match = re.search(rf"(?<!\w){pattern}(?!\w)", text, re.I)
    return match[0] if match else " ".join(words)
