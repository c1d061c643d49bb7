"""Turns text into index terms, in the same way for every store, so that all text indexes contain the same tokens.

Text is normalised (NFKC, case-folded), split into words, stripped of stop words and stemmed. Scripts without spaces
become overlapping bigrams. A term never contains a space, a quote or an operator, so a list of terms joined by spaces
can be passed to any engine that splits on white space.
"""

from __future__ import annotations

import math
import re
import unicodedata
from functools import lru_cache
from threading import Lock
from typing import Protocol

from memorist.languages import language_of, rules
from memorist.languages.stemmed import STOP_WORDS
from memorist.text_pieces import PIECE_CHARACTERS, text_pieces

_NORDIC = ("danish", "norwegian", "swedish")
_SYNCOPE = re.compile(r"(?<=[aeiouyæøåäö])([^aeiouyæøåäö]*?)([^aeiouyæøåäö])\2?el$")
"""Matches the unstressed e before l that Nordic plurals drop, together with the doubled consonant before it: sykkel,
sykler; nøkkel, nøkler."""
MAX_WORD_CHARACTERS = 40
"""Longer words (keys, hashes, base64) are neither stemmed nor cached."""
MAX_TERM_CHARACTERS = 64
"""Terms are cut to this length: the start of a hash or a base64 string is enough to find it."""

# Combining marks are part of a word in many scripts, but `\w` does not match them.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983"
_MARKS += "\u09bc-\u09d7\u0a01-\u0a51\u0abc-\u0acd\u0b3c-\u0b57\u0bbe-\u0bcd\u0c3e-\u0c56\u0cbc-\u0cd6\u0d3e-\u0d4d"
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f"
)
_LETTER = rf"(?![{_UNSPACED}])[^\W_]"
_WORD = re.compile(rf"[{_UNSPACED}]+|{_LETTER}(?:{_LETTER}|[{_MARKS}])*(?:'(?:{_LETTER}|[{_MARKS}])+)*")
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_SCRIPTS = (
    (re.compile("[\u0400-\u04ff]"), "russian"),
    (re.compile("[\u0370-\u03ff]"), "greek"),
    (re.compile("[\u0600-\u06ff]"), "arabic"),
    (re.compile("[\u0900-\u097f]"), "hindi"),
)
SIGNALS = ("words", "asks", "first", "instructs")
"""The meaning of each byte of `signals`: `words` is 25 · log(1 + number of words), and the others are shares of 255."""
_TALK = rules("en", "signals", "talk")
_ASKS = re.compile(r"[?？؟]\W*(?:\[[^\]]*\]\s*)?$")
_FIRST = _TALK.words("first")
_HEAD_CHARACTERS = 1200
"""Only this many leading characters are read for signals, to limit the cost for long texts."""
_FULL_FIRST = 3
"""This many first-person words are enough for the full score."""
_LOCK = Lock()
_CODES = {
    "en": "english", "de": "german", "fr": "french", "es": "spanish", "it": "italian", "pt": "portuguese",
    "nl": "dutch", "sv": "swedish", "ru": "russian", "el": "greek", "ar": "arabic", "hi": "hindi", "da": "danish",
    "no": "norwegian", "fi": "finnish", "hu": "hungarian", "ro": "romanian", "tr": "turkish",
}  # fmt: skip


_TERMS_BY_WORD: dict[str, dict[str, tuple[str, ...]]] = {language: {} for language in _CODES.values()}
"""A cache of each word's terms, by language."""
MAX_CACHED_WORDS = 65_536
"""A language's cache is cleared when it exceeds this size."""


class Stemmer(Protocol):
    """Represents a stemmer from snowballstemmer or PyStemmer."""

    def stemWord(self, word: str) -> str: ...


ANALYSIS_VERSION = 1
"""Increase this number when the terms or signals of a text change, so that stored entries are rebuilt."""


@lru_cache(maxsize=1)
def analysis_version() -> str:
    """Return the version that determines an entry's terms and signals. It consists of the analysis and the stemmer's
    release."""
    from importlib.metadata import version

    return f"{ANALYSIS_VERSION}/{version('snowballstemmer')}"


def normalise(text: str) -> str:
    """Return the text in NFKC, case-folded and with only one kind of apostrophe."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("ʼ", "'")


def words(text: str) -> list[str]:
    """Return the words of a text in order, normalised but not stemmed, including stop words."""
    if len(text) > PIECE_CHARACTERS:
        return [word for piece in text_pieces(text) for word in words(piece)]
    plain = normalise(text)
    return (_ASCII_WORD if plain.isascii() else _WORD).findall(plain)


def stemmer_of(text: str) -> str | None:
    """Return the Snowball name of a text's language, or None if it is unclear or has no stemmer."""
    return _CODES.get(language_of(text) or "")


def stemming_language(text: str, usual: str | None = None) -> str:
    """Return the Snowball name of the language used to stem a text: its own, or else `usual` or English."""
    return stemmer_of(text) or usual or "english"


def tokens(text: str, language: str | None = None, usual: str | None = None) -> list[str]:
    """Return the index terms of a text in order, including repetitions.

    `language` is an ISO code or a Snowball name. Without it, the language is guessed. If the text is too short for a
    guess, `usual` (a Snowball name) is used, or else English.
    """
    chosen = _CODES.get(language, language) if language else stemming_language(text, usual)
    cache = _TERMS_BY_WORD.get(chosen, {})
    if len(cache) > MAX_CACHED_WORDS:
        cache.clear()
    out: list[str] = []
    for word in words(text):
        terms = cache.get(word)
        if terms is None:
            terms = _terms(word, chosen)
            if len(word) <= MAX_WORD_CHARACTERS:
                cache[word] = terms
        out += terms
    return out


def _terms(word: str, language: str) -> tuple[str, ...]:
    """Return the index terms of one word: its stem, its bigrams in a script without spaces, or nothing for a stop
    word."""
    if word in STOP_WORDS.get(language, STOP_WORDS["english"]):
        return ()
    if word.isascii():
        return (_stem(word, language),)
    if is_unspaced(word):
        return tuple(_pairs(word))
    return (_stem(word, _by_script(word) or language),)


def is_unspaced(word: str) -> bool:
    """Return whether a word belongs to a script written without spaces."""
    return _IS_UNSPACED.match(word) is not None


def token_string(text: str, usual: str | None = None) -> str:
    """Return the index terms joined by spaces, as a store's text index accepts them."""
    return " ".join(tokens(text, usual=usual))


def query_terms(text: str, language: str | None = None, usual: str | None = None) -> list[str]:
    """Return the distinct terms of a question, stemmed for the guessed language, the usual one and English.

    A question is often too short for its language to be guessed, so the terms of all three are searched.
    """
    terms = dict.fromkeys(tokens(text, language, usual))
    if language is None:
        guessed = stemming_language(text, usual)
        for other in dict.fromkeys((usual or "english", "english")):
            if other != guessed:
                terms.update(dict.fromkeys(tokens(text, other)))
    return list(terms)


def signals(text: str) -> bytes:
    """Return properties of a text that do not depend on the question: one byte per name in `SIGNALS`, stored with its
    entry."""
    head = text[:_HEAD_CHARACTERS].replace("’", "'")
    split = words(head)
    length = len(split) if len(text) <= _HEAD_CHARACTERS else len(split) * len(text) // _HEAD_CHARACTERS
    first = sum(word in _FIRST for word in split)
    return bytes(
        (
            min(255, round(25 * math.log1p(length))),
            255 * bool(_ASKS.search(head)),
            round(255 * min(1.0, first / _FULL_FIRST)),
            255 * bool(_TALK.instructs.search(head)),
        )
    )


def _pairs(run: str) -> list[str]:
    """Return the overlapping bigrams of a run of characters."""
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


def _by_script(word: str) -> str | None:
    for pattern, name in _SCRIPTS:
        if pattern.search(word):
            return name
    return None


def _stem(word: str, language: str) -> str:
    word = word.removesuffix("'s").replace("'", "")[:MAX_TERM_CHARACTERS]
    if len(word) <= MAX_WORD_CHARACTERS and not word.isdigit():
        stemmer = _stemmer(language)
        with _LOCK:  # a stemmer holds the current word as state, so it is not thread-safe
            word = (stemmer.stemWord(word) if stemmer is not None else word) or word
        if language in _NORDIC:
            word = _SYNCOPE.sub(r"\1\2l", word)
    return word if word.isascii() else fold(word) or word


def fold(word: str) -> str:
    """Return the word without accents, so that `cafe` finds `café`; vowel marks of other scripts are kept."""
    plain = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(c for c in plain if not "\u0300" <= c <= "\u036f"))


@lru_cache(maxsize=32)
def _stemmer(language: str) -> Stemmer | None:
    import snowballstemmer

    if language not in snowballstemmer.algorithms():
        return None
    stemmer: Stemmer = snowballstemmer.stemmer(language)
    return stemmer
