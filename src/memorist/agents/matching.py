"""Ranks notes for a prompt by the words they share with it, weighted by how rare these words are among the notes.

A project has a few hundred notes, and a hook may use 150 milliseconds of CPU time. A full recall would need as much
time again, mostly to load NumPy. So this module reads every note once, in plain Python.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ..languages.stop import stop_words

MIN_SHARE = 0.34
"""The minimum share of a short prompt's weight that a note must match."""
MIN_SHARED_WEIGHT = 2.2
"""The alternative minimum total weight: about that of two words that few other notes contain."""
MIN_SINGLE_SHARE = 0.5
"""The minimum share of the prompt's weight if only one word is shared."""
MIN_BEST_SHARE = 0.5
"""Notes that score below this share of the best score are left out."""
MAX_PROMPT_WORDS = 60
_PART = re.compile(r"(?<=[.!?;])\s+|\n+")
_ASKED_KINDS = {
    "open": re.compile(
        r"\b(?:left(?: to do| open)?|still open|remaining|unfinished|open (?:tasks?|points?)|to-?dos?|next steps?"
        r"|what(?:'s| is) next|where (?:were we|did we (?:stop|leave off)))\b", re.IGNORECASE
    ),
    "failure": re.compile(
        r"\bwhat (?:did we try|was tried|have we tried|failed|went wrong|did(?:n't| not) work)\b", re.IGNORECASE
    ),
    "decision": re.compile(
        r"\bwhat (?:did we|have we|was) (?:decided?|agreed?|settled?)(?: on| about)?\b", re.IGNORECASE
    ),
}  # fmt: skip
_WORD = re.compile(r"[^\W_]{2,}")
_VAGUE = frozenset(
    "one two three four five six seven eight nine ten first second third may might go goes put belong".split()
)
_ENDINGS = ("ings", "ing", "edly", "ed", "ies", "es", "s", "ly")


def rank_notes(prompt: str, notes: Sequence[str], limit: int, kinds: Sequence[str] = ()) -> list[int]:
    """Return the indexes of the notes relevant to a prompt, best first.

    The whole prompt is compared with each note, and so is each question in the prompt. "Add an endpoint; where may the
    SQL go?" asks about SQL, although it also mentions other things. If you pass the `kinds` of the notes, "What is left
    to do for the carts?" finds the open tasks that mention carts.
    """
    texts = [frozenset(words_of(note)) for note in notes]
    frequency = Counter(word for text in texts for word in text)
    questions = [part for part in _PART.split(prompt) if part.rstrip().endswith("?")]
    scores: dict[int, float] = {}
    for part in (prompt, *questions):
        for index, score in _scores(part, texts, frequency).items():
            scores[index] = max(score, scores.get(index, 0.0))
    best = max(scores.values(), default=0.0)
    ranked = sorted((-score, index) for index, score in scores.items() if score >= best * MIN_BEST_SHARE)
    indexes = [index for part in questions for index in _asked_by_kind(part, texts, kinds)]
    return list(dict.fromkeys([*(index for _, index in ranked), *indexes]))[:limit]


def _scores(part: str, texts: Sequence[frozenset[str]], frequency: Mapping[str, int]) -> dict[int, float]:
    # A hook runs before every prompt, and a prompt may contain a whole log.
    prompt_words = list(dict.fromkeys(words_of(part)))[:MAX_PROMPT_WORDS]
    weights = {word: math.log(1 + (len(texts) + 0.5) / (frequency[word] + 0.5)) for word in prompt_words}
    total = sum(weights.values())
    scores = {}
    for index, text in enumerate(texts):
        shared = [word for word in prompt_words if word in text]
        weight = sum(weights[word] for word in shared)
        # One shared word is a coincidence unless it is most of the prompt; two rare ones are not.
        enough = weight >= total * MIN_SHARE or weight >= MIN_SHARED_WEIGHT if len(shared) >= 2 else False
        if enough or (shared and weight >= total * MIN_SINGLE_SHARE):
            # Long notes share more words with any prompt, so they are divided by their length, though not in full.
            scores[index] = weight / math.sqrt(len(text) + 4)
    return scores


def _asked_by_kind(question: str, texts: Sequence[frozenset[str]], kinds: Sequence[str]) -> Iterator[int]:
    """Yield the notes of the kind that a question asks for. If some of them share a word with the rest of the question,
    yield only those."""
    for kind, pattern in _ASKED_KINDS.items():
        if pattern.search(question):
            subject = set(words_of(pattern.sub(" ", question)))
            for index, (text, own) in enumerate(zip(texts, kinds, strict=False)):
                if own == kind and (not subject or subject & text):
                    yield index


def words_of(text: str) -> list[str]:
    """Return the meaningful words of a text, without their endings."""
    stop = stop_words("en") | _VAGUE
    return [_stem(word) for word in map(str.casefold, _WORD.findall(text)) if word not in stop and not word.isdecimal()]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        # Not a stemmer: importing one would cost more than the whole hook.
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            stem = word[: -len(ending)]
            return stem + "y" if ending == "ies" else stem
    return word
