"""Scores passages of documents by how well their best sentence answers a question, using words of similar meaning.

The first ranking compares a question with a whole passage. Often a single sentence contains the answer in different
words, and the average of a passage's word vectors hides it. Here each word of the question is compared with each word
of a sentence, and the best match for each question word counts (rare words count more). This works only in English,
because the word vectors are English.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from memorist.languages.stemmed import STOP_WORDS
from memorist.recall.analyze import tokens, words
from memorist.recall.hit import log_odds
from memorist.recall.passage import ROW, sentences
from memorist.recall.ranking import Row

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
WordVectors = Callable[[Sequence[str]], NDArray[np.float32]]
"""A function that returns one vector per word. The length of a vector determines the weight of the word in a sum."""

COSINE_NUMBERS = 128
"""How many dimensions of each vector are used for the cosine of a whole sentence. The first ones matter most."""
_HEADING = re.compile(r"\A\s{0,3}#{1,6}\s")


class Split(msgspec.Struct, frozen=True):
    """Holds the sentences of several passages as arrays."""

    texts: list[str]
    numbers: list[int]
    """This is the index of each sentence among those of its passage."""
    owner: Ints
    """This is the index of each sentence's passage."""
    flat: Ints
    """These are the words of all sentences, as indices into the vocabulary, one sentence after another."""
    starts: Ints
    """This is where each sentence begins in `flat`."""
    headed: Ints
    """These are the same words, but each sentence is followed by the words of its passage's heading."""
    headed_starts: Ints
    vocabulary: list[str]


def content_words(text: str) -> list[str]:
    """Return the words of an English text in lower case, without stop words."""
    stop = STOP_WORDS["english"]
    return [word for word in words(text) if word not in stop]


def split(passages: Sequence[Row]) -> Split:
    """Split passages into sentences and words, leaving out stop words. Sentences without words are left out.

    The words in a table's header count as words of each row.
    """
    vocabulary: dict[str, int] = {}
    texts: list[str] = []
    numbers: list[int] = []
    owner: list[int] = []
    flat: list[int] = []
    starts: list[int] = []
    headed: list[int] = []
    headed_starts: list[int] = []
    for index, passage in enumerate(passages):
        above = [vocabulary.setdefault(word, len(vocabulary)) for word in content_words(passage.heading)]
        head: list[int] | None = None
        for number, text in enumerate(sentences(passage.text)):
            word_numbers = [vocabulary.setdefault(word, len(vocabulary)) for word in content_words(text)]
            head = (word_numbers if head is None else head) if ROW.match(text) else None
            if not word_numbers:
                continue
            word_numbers = word_numbers + head if head else word_numbers
            texts.append(text)
            numbers.append(number)
            owner.append(index)
            starts.append(len(flat))
            headed_starts.append(len(headed))
            flat += word_numbers
            headed += word_numbers + above
    return Split(
        texts, numbers, _ints(owner), _ints(flat), _ints(starts), _ints(headed), _ints(headed_starts), list(vocabulary)
    )


def _ints(values: list[int]) -> Ints:
    return np.array(values, np.int64)


def features(question: str, sentence_words: Split, passages: Sequence[Row], vectors: WordVectors) -> dict[str, Floats]:
    """Return the features of each sentence by name. Features of meaning are standardised. Return None if there are no
    words to compare.
    """
    asked = list(dict.fromkeys(content_words(question) or words(question)))
    if not asked or not sentence_words.texts:
        return {}
    every = vectors([*sentence_words.vocabulary, *asked])
    size = len(sentence_words.vocabulary)
    rarity, likeness = _rarity(sentence_words, asked, len(passages)), _likeness(sentence_words, asked, every)
    length = np.linalg.norm(every[size:], axis=1)
    weight = np.minimum(rarity[size:], math.log(1 + len(passages) / 3)) * length
    weight = weight / (weight.sum() or 1.0)
    own, whole = _matched(likeness, sentence_words.flat, sentence_words.starts), _of_passages(sentence_words, likeness)
    score = np.array([log_odds(passage.score) for passage in passages])[sentence_words.owner]
    out = {
        "match": weight @ own,
        "match_square": weight @ np.square(np.maximum(own, 0.0)),
        "match_passage": weight @ whole,
        "match_passage_square": weight @ np.square(np.maximum(whole, 0.0)),
        "cosine": _cosine(sentence_words, every, rarity, size),
    }
    out = {name: (value - value.mean()) / (value.std() + 1e-6) for name, value in out.items()}
    return {**out, "first": score, **_form(sentence_words)}


def _rarity(sentence_words: Split, asked: Sequence[str], count: int) -> Floats:
    """Return BM25's inverse document frequency, among the passages, for each word in the vocabulary and in the
    question.
    """
    size = len(sentence_words.vocabulary)
    lengths = np.diff(np.append(sentence_words.headed_starts, len(sentence_words.headed)))
    pairs = np.unique(np.repeat(sentence_words.owner, lengths) * size + sentence_words.headed)
    frequency = np.bincount(pairs % size, minlength=size)
    index_of = {word: i for i, word in enumerate(sentence_words.vocabulary)}
    sought = [frequency[index_of[word]] if word in index_of else 0 for word in asked]
    both = np.append(frequency, sought)
    result: Floats = np.log(1.0 + (count - both + 0.5) / (both + 0.5))
    return result


def _likeness(sentence_words: Split, asked: Sequence[str], every: NDArray[np.float32]) -> Floats:
    """Return the cosine similarity between each word of the question (row) and each word of the passages, or 1 for
    words with the same stem. The mean of all word vectors is subtracted first, because they all have it in common.
    """
    size = len(sentence_words.vocabulary)
    centred = every - every[sentence_words.flat].mean(axis=0)
    centred /= np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-9)
    out: Floats = (centred[size:] @ centred[:size].T).astype(np.float64)
    begins: dict[str, list[int]] = {}
    for index, word in enumerate(sentence_words.vocabulary):
        begins.setdefault(word[:2], []).append(index)
    for row, word in enumerate(asked):
        out[row, _of_stem(word, begins, sentence_words.vocabulary)] = 1.0
    return out


def _of_stem(word: str, begins: Mapping[str, Sequence[int]], vocabulary: Sequence[str]) -> list[int]:
    """Return the positions of the vocabulary words that have the same stem as a word."""
    stem = tokens(word, "english")
    return [at for at in begins.get(word[:2], ()) if tokens(vocabulary[at], "english") == stem]


def _matched(likeness: Floats, words: Ints, starts: Ints) -> Floats:
    """Return the best similarity for each word of the question (row) in each group of words."""
    result: Floats = np.maximum.reduceat(likeness[:, words], starts, axis=1)
    return result


def _of_passages(sentence_words: Split, likeness: Floats) -> Floats:
    """Return, for each word of the question (row) and each sentence, the best similarity in the sentence's passage and
    heading."""
    begins = np.nonzero(np.diff(sentence_words.owner, prepend=-1))[0]
    best = _matched(likeness, sentence_words.headed, sentence_words.headed_starts[begins])
    result: Floats = best[:, np.cumsum(np.isin(np.arange(len(sentence_words.owner)), begins)) - 1]
    return result


def _cosine(sentence_words: Split, every: NDArray[np.float32], rarity: Floats, size: int) -> Floats:
    """Return the cosine similarity between the question and each sentence with its heading. Rare words weigh more."""
    weighted = every[:, :COSINE_NUMBERS] * rarity[:, None].astype(np.float32)
    lengths = np.diff(np.append(sentence_words.headed_starts, len(sentence_words.headed)))
    counts = np.zeros((len(sentence_words.texts), size), np.float32)
    np.add.at(counts, (np.repeat(np.arange(len(sentence_words.texts)), lengths), sentence_words.headed), 1.0)
    sums = counts @ weighted[:size]
    question = weighted[size:].sum(axis=0)
    norms = np.linalg.norm(sums, axis=1) * np.linalg.norm(question)
    result: Floats = ((sums @ question) / np.maximum(norms, 1e-9)).astype(np.float64)
    return result


def _form(sentence_words: Split) -> dict[str, Floats]:
    """Return the form of each sentence: a heading, short or long."""
    lengths = np.diff(np.append(sentence_words.starts, len(sentence_words.flat)))
    return {
        "heading": _has(_HEADING, sentence_words.texts),
        "length": np.log(lengths),
    }


def _has(pattern: re.Pattern[str], texts: Sequence[str]) -> Floats:
    return np.array([float(pattern.search(text) is not None) for text in texts])


WEIGHTS: Mapping[str, float] = {
    "match": 1.53,
    "match_square": -0.71,
    "match_passage": 1.51,
    "match_passage_square": -0.88,
    "cosine": 0.32,
    "first": 0.36,
    "heading": -1.29,
    "length": -0.09,
}
"""These weights were computed by `python bench/recall/learn_documents.py`."""


class Best(msgspec.Struct, frozen=True):
    """Holds the best sentence of a passage and its score."""

    score: float
    number: int
    """This is its index among the passage's sentences, or -1 for a passage without words."""


def best_sentences(question: str, passages: Sequence[Row], vectors: WordVectors) -> list[Best]:
    """Return the sentence of each passage that best answers the question. A passage without words has the lowest
    score."""
    sentence_words = split(passages)
    out = [Best(-math.inf, -1)] * len(passages)
    values = features(question, sentence_words, passages, vectors)
    if values:
        total = np.sum([WEIGHTS[name] * value for name, value in values.items()], axis=0)
        for owner, number, score in zip(
            sentence_words.owner.tolist(), sentence_words.numbers, total.tolist(), strict=True
        ):
            if score > out[owner].score:
                out[owner] = Best(score, number)
    return out
