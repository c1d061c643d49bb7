"""Words of like meaning: how people ask for what a text calls by another name, from `talk.toml`; English only."""

from __future__ import annotations

from functools import cache

from memorist.languages import rules
from memorist.languages.stemmed import STOP_WORDS
from memorist.recall.analyze import tokens, words


def content_words(text: str) -> list[str]:
    """The words of an English text in lower case, without stop words."""
    stop = STOP_WORDS["english"]
    return [word for word in words(text) if word not in stop]


def terms_alike(question: str) -> list[str]:
    """The index terms of all words that are alike to a question's."""
    found = [word for others in words_alike(question).values() for word in sorted(others)]
    return list(dict.fromkeys(term for word in found for term in tokens(word, "english")))


def words_alike(question: str) -> dict[str, set[str]]:
    """For each word of a question, the words that texts may say for it, or for a phrase that it stands in."""
    said = words(question)
    plain = f" {' '.join(said)} "
    stems = {word: " ".join(tokens(word, "english")) for word in said}
    out: dict[str, set[str]] = {}
    for word, stem in stems.items():
        for phrase, others in _groups().get(stem, ()):
            if " " not in phrase or f" {phrase} " in plain:
                out.setdefault(word, set()).update(others)
    return out


@cache
def _groups() -> dict[str, list[tuple[str, frozenset[str]]]]:
    """By the stem of each content word of a listed word or phrase: it, and the words listed with it."""
    out: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for group in rules("en", "alike", "talk").wordings("groups"):
        phrases = group.split(", ")
        for phrase in phrases:
            others = frozenset(word for other in phrases if other != phrase for word in content_words(other))
            for word in content_words(phrase):
                out.setdefault(" ".join(tokens(word, "english")), []).append((phrase, others))
    return out
