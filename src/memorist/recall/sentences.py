"""Scores passages of documents by how well their best sentence answers a question, using words of similar meaning.

The first ranking compares a question with a whole passage. Often a single sentence contains the answer in different
words, and the average of a passage's word vectors hides it. Here each word of the question is compared with each word
of a sentence, and the best match for each question word counts (rare words count more). This works only in English,
because the word vectors are English.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from memorist.embed.opening import WordVectors
from memorist.languages.stemmed import STOP_WORDS
from memorist.recall.analyze import tokens, words
from memorist.recall.features import Floats, Ints, idf
from memorist.recall.hit import log_odds
from memorist.recall.passage import ROW, sentences
from memorist.recall.ranking import Row

FIRST_SHARE = 0.8
"""The weight of the first ranking's log-odds beside the words of a sentence and those of its passage."""
HEADING_PENALTY = 1.3
"""A heading names a subject, but the answer is below it."""
_HEADING = re.compile(r"\A\s{0,3}#{1,6}\s")


class Best(msgspec.Struct, frozen=True):
    """Holds the best sentence of a passage and its score."""

    score: float
    number: int
    """This is its index among the passage's sentences, or -1 for a passage without words."""


def best_sentences(question: str, passages: Sequence[Row], vectors: WordVectors) -> list[Best]:
    """Return the sentence of each passage that best answers the question. A passage without words has the lowest
    score."""
    question_words = list(dict.fromkeys(content_words(question) or words(question)))
    vocabulary: dict[str, int] = {}
    owners: list[int] = []
    numbers: list[int] = []
    penalties: list[float] = []
    sentence_words: list[list[int]] = []
    for owner, passage in enumerate(passages):
        heading, header = content_words(passage.heading), list[str]()
        for number, text in enumerate(sentences(passage.text)):
            own = content_words(text)
            header = (header or own) if ROW.match(text) else []  # the words of a table's header count for each row
            if own:
                owners.append(owner)
                numbers.append(number)
                penalties.append(HEADING_PENALTY if _HEADING.match(text) else 0.0)
                sentence_words.append([vocabulary.setdefault(w, len(vocabulary)) for w in (*own, *header, *heading)])
    out = [Best(-math.inf, -1)] * len(passages)
    if not question_words or not owners:
        return out
    owner_of = np.array(owners, np.int64)
    flat = np.concatenate([np.array(numbers_of_words, np.int64) for numbers_of_words in sentence_words])
    starts = np.cumsum([0, *map(len, sentence_words[:-1])])
    every = vectors([*vocabulary, *question_words])
    likeness = _likeness(list(vocabulary), question_words, every, flat)
    own_best = np.maximum.reduceat(likeness[:, flat], starts, axis=1)
    first_of = np.nonzero(np.diff(owner_of, prepend=-1))[0]
    passage_best = np.maximum.reduceat(own_best, first_of, axis=1)
    rarity = [idf(len(first_of), int(row.sum())) for row in passage_best >= 1.0]
    weights = np.minimum(rarity, math.log(1 + len(first_of) / 3)) * np.linalg.norm(every[len(vocabulary) :], axis=1)
    place_of = np.cumsum(np.diff(owner_of, prepend=-1) != 0) - 1
    odds = np.array([log_odds(passage.score) for passage in passages])[owner_of]
    scores = _standardised(weights @ own_best) + _standardised((weights @ passage_best)[place_of])
    scores += FIRST_SHARE * odds - np.array(penalties)
    for owner, number, score in zip(owners, numbers, scores.tolist(), strict=True):
        if score > out[owner].score:
            out[owner] = Best(score, number)
    return out


def content_words(text: str) -> list[str]:
    """Return the words of an English text in lower case, without stop words."""
    stop = STOP_WORDS["english"]
    return [word for word in words(text) if word not in stop]


def _likeness(
    vocabulary: list[str], question_words: list[str], every: NDArray[np.float32], flat: Ints
) -> NDArray[np.float32]:
    """Return the cosine similarity between each word of the question (row) and each word of the passages, or 1 for
    words with the same stem. The mean of all word vectors is subtracted first, because they all have it in common.
    """
    every = every - every[flat].mean(axis=0)
    every /= np.maximum(np.linalg.norm(every, axis=1, keepdims=True), 1e-9)
    out: NDArray[np.float32] = np.minimum(every[len(vocabulary) :] @ every[: len(vocabulary)].T, 0.999)
    positions: dict[tuple[str, ...], list[int]] = {}
    for position, word in enumerate(vocabulary):
        positions.setdefault(tuple(tokens(word, "english")), []).append(position)
    for row, word in enumerate(question_words):
        out[row, positions.get(tuple(tokens(word, "english")), [])] = 1.0
    return out


def _standardised(values: Floats) -> Floats:
    result: Floats = (values - values.mean()) / (values.std() + 1e-6)
    return result
