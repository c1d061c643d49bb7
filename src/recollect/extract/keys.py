"""The keys that facts about a user are kept under.

One statement and its contradiction share a key, so that the newer one supersedes; docs/extraction.md has the table.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

KEYS = {
    "name": "full or first name as given",
    "first_name": "given name, when said apart",
    "surname": "family name, when said apart",
    "nickname": "what the user wants to be called",
    "pronouns": "she/her, they/them …",
    "age": "years, a number; a decade (late forties) where only that was said",
    "birthday": "--MM-DD, or YYYY-MM-DD when the year was said",
    "nationality": "German, Nigerian …",
    "marital_status": "single, married, engaged, divorced, widowed",
    "role": "job or occupation",
    "employer": "company or institution worked for",
    "team": "team, department or squad",
    "industry": "field worked in, when no job was named",
    "studies": "field of study",
    "school": "school or university",
    "goal": "what the user aims for",
    "project": "what the user is building or writing",
    "location": "where the user lives or is based",
    "work_location": "where the user works, when said apart",
    "origin": "where the user is from",
    "address": "postal address",
    "timezone": "time zone",
    "email": "e-mail address",
    "phone": "telephone number",
    "native_language": "mother tongue",
    "diet": "vegan, vegetarian, halal …",
    "height": "{amount, unit}",
    "weight": "{amount, unit}",
    "language.<x>": "true: speaks it",
    "learning.<x>": "true: is learning it",
    "likes.<x>": "true or false: likes or dislikes it",
    "favorite.<x>": "the favourite x",
    "allergy.<x>": "true: is allergic to or cannot take it",
    "hobby.<x>": "true: plays or practises it",
    "condition.<x>": "true: lives with it",
    "medication.<x>": "true: takes it",
    "decision.<x>": "what the user or their team decided",
    "uses.<category>": "the editor, shell, browser, os … of choice",
    "uses.tool.<x>": "true: uses it; false: stopped using it",
    "relation.<x>": "name of the sister, manager, dentist …; true when only known to exist",
    "pet.<x>": "name of the dog, cat …; a list when several; true when only known to exist",
    "number.<x>": "a count, or {amount, unit}: kids, budget, shoe_size, team_size …",
    "date.<x>": "ISO 8601 day, minute, month, year or interval of an event; --MM-DD when it recurs",
    "owns.<x>": "true: has one",
    "my.<x>": "name, make or value of something of the user's: car, laptop, blog …",
}

_ALIASES = {
    "postgresql": "postgres",
    "js": "javascript",
    "ts": "typescript",
    "k8s": "kubernetes",
    "golang": "go",
    "vscode": "vs_code",
    "visual_studio_code": "vs_code",
    "node_js": "node",
    "nodejs": "node",
    "colour": "color",
    "tv_programme": "tv_show",
    "mom": "mother",
    "mum": "mother",
    "dad": "father",
    "grandma": "grandmother",
    "grandpa": "grandfather",
    "co_worker": "coworker",
    "neighbor": "neighbour",
    "fiancé": "fiance",
    "fiancée": "fiance",
    "operating_system": "os",
    "text_editor": "editor",
    "code_editor": "editor",
    "web_browser": "browser",
    "children": "kids",
}
_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_THINGS = frozenset(
    {"language", "learning", "likes", "allergy", "hobby", "condition", "medication", "uses.tool", "owns"}
)
"""Whose keys name a thing, of which `true` is said."""


def slug(text: str, *, words: int = 6) -> str:
    """Lower-case words joined by underscores, NFKC, any script; known spellings of one thing made one."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("'s ", " ").replace("'", "")
    parts = _WORD.findall(folded.replace("c++", "cpp").replace("c#", "csharp"))[:words]
    joined = "_".join(parts)[:80]
    return _ALIASES.get(joined, joined)


def spoken(key: str, value: Any, text: str) -> Any:
    """A fact's value as it is stored: what is true of a thing is kept as the words for the thing, as `text` has them.

    Whoever reads `likes.black_coffee` finds "black coffee", which can be shown, searched and told from `false`.
    """
    kind, _, thing = key.rpartition(".")
    if value is not True or kind not in _THINGS:
        return value
    words = thing.split("_")
    pattern = r"[\W_]+".join(re.escape(word) for word in words)
    said = re.search(rf"(?<!\w){pattern}(?!\w)", text, re.I)
    return said[0] if said else " ".join(words)
