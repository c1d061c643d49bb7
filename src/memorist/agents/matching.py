"""Which notes matter for a prompt: words they share, weighted by how rare they are among the notes.

A project has some hundred notes, and a hook some hundred milliseconds. Recall proper would spend them on loading
vectors and features; here every note is read once, in plain Python.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from ..languages.stop import stop_words

MIN_SHARE = 0.34
"""The least part of the prompt's weight that a note must share, if the prompt is short."""
MIN_SHARED_WEIGHT = 2.2
"""Or the least weight in all: about two words that few other notes have."""
MIN_SINGLE_SHARE = 0.5
"""The least part of the prompt's weight that a single shared word must have."""
MIN_BEST_SHARE = 0.5
"""Notes that score less than this part of the best one are left out."""
MAX_PROMPT_WORDS = 60
_WORD = re.compile(r"[^\W_]{2,}")
_NUMBERS = frozenset("one two three four five six seven eight nine ten first second third".split())
_ENDINGS = ("ings", "ing", "edly", "ed", "ies", "es", "s", "ly")


def rank_notes(prompt: str, notes: Sequence[str], limit: int) -> list[int]:
    """The indexes of the notes that matter for a prompt, best first."""
    wanted = list(dict.fromkeys(words_of(prompt)))[:MAX_PROMPT_WORDS]
    texts = [frozenset(words_of(note)) for note in notes]
    frequency = Counter(word for text in texts for word in text)
    weights = {word: math.log(1 + (len(notes) + 0.5) / (frequency[word] + 0.5)) for word in wanted}
    total = sum(weights.values())
    scored = []
    for index, text in enumerate(texts):
        shared = [word for word in wanted if word in text]
        weight = sum(weights[word] for word in shared)
        enough = weight >= total * MIN_SHARE or weight >= MIN_SHARED_WEIGHT if len(shared) >= 2 else False
        if enough or (shared and weight >= total * MIN_SINGLE_SHARE):
            scored.append((weight / math.sqrt(len(text) + 4), index))
    scored.sort(key=lambda pair: (-pair[0], pair[1]))
    best = scored[0][0] if scored else 0.0
    return [index for score, index in scored if score >= best * MIN_BEST_SHARE][:limit]


def words_of(text: str) -> list[str]:
    """The words of a text that mean something, without their endings."""
    stop = stop_words("en") | _NUMBERS
    return [_stem(word) for word in map(str.casefold, _WORD.findall(text)) if word not in stop and not word.isdecimal()]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            stem = word[: -len(ending)]
            return stem + "y" if ending == "ies" else stem
    return word
