"""Text to index terms: one analysis, so that every text index sees exactly the same tokens.

Text is normalised (NFKC, case folded), split into words, freed of stop words and stemmed; scripts written without
spaces become overlapping pairs of characters. A term never holds a space, a quote or an operator, so a list of terms
joined by spaces can be given to any engine that splits on white space.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from threading import Lock
from typing import Any

from recollect.languages.stemmed import STOP_WORDS

LONGEST_WORD = 40
"""What is longer is a key, a hash or base64, which no grammar inflects."""
MAX_TERM = 64
"""Longer words (hashes, base64) are cut: the head is enough to find them."""

# Combining marks are part of a word in many scripts, and `\w` leaves them out.
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
_LOCK = Lock()
_SPELLING = (
    (re.compile("ñ"), ("spanish",)),
    (re.compile("[ãõ]|ç[ãõ]"), ("portuguese",)),
    (re.compile("[áíóú]"), ("spanish", "portuguese")),
    (re.compile("[øæ]"), ("danish", "norwegian")),
    (re.compile("å"), ("swedish", "danish", "norwegian")),
    (re.compile("[äö]"), ("swedish", "finnish", "german")),
    (re.compile("ää|öö|yy|yö|öy|äy|äi|öi|iö|[äö].*(?:aa|ii|uu)|(?:aa|ii|uu).*[äö]"), ("finnish",)),
    (re.compile("ü"), ("german",)),
    (re.compile("[èòù]"), ("italian", "french")),
    (re.compile("[êîœëï]"), ("french",)),
)
"""Letters, within a word, that few languages have."""
_LATIN = tuple(name for name in STOP_WORDS if name not in ("english", "russian"))
_SHARED = STOP_WORDS["english"].intersection(frozenset().union(*(STOP_WORDS[name] for name in _LATIN)))
"""English stop words that some other language has as well."""
_OWN = {name: STOP_WORDS[name] - STOP_WORDS["english"] for name in _LATIN}
_CODES = {
    "en": "english", "de": "german", "fr": "french", "es": "spanish", "it": "italian", "pt": "portuguese",
    "nl": "dutch", "sv": "swedish", "ru": "russian", "el": "greek", "ar": "arabic", "hi": "hindi", "da": "danish",
    "no": "norwegian", "fi": "finnish", "hu": "hungarian", "ro": "romanian", "tr": "turkish",
}  # fmt: skip


_KNOWN: dict[str, dict[str, tuple[str, ...]]] = {language: {} for language in _CODES.values()}
"""The terms of words that were met, by language."""
MOST_KNOWN = 65_536


def normalise(text: str) -> str:
    """NFKC, case folded, with one kind of apostrophe."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("ʼ", "'")


def words(text: str) -> list[str]:
    """The words of a text in order, normalised, stop words included, nothing stemmed."""
    plain = normalise(text)
    return (_ASCII_WORD if plain.isascii() else _WORD).findall(plain)


def language_of(found: list[str], usual: str | None = None) -> str | None:
    """The Snowball language of some normalised words; None where they are too few to tell.

    Counted are stop words that English does not have too ("a", "i" and "in" tell little), and words with letters of
    the language. Where two languages fit as well, `usual` is taken.
    """
    english = STOP_WORDS["english"]
    sure = plain = 0
    for word in found:
        if word in english:
            plain += 1
            sure += word not in _SHARED
    if sure * 5 >= len(found) > 0:
        return "english"
    spelled = _spelled(found)
    score = {name: sum(word in own for word in found) + spelled.get(name, 0.0) for name, own in _OWN.items()}
    best = max(score, key=lambda name: (score[name], name == usual))
    if score[best] >= (1 if usual == best and not plain else 2) and score[best] > max(2 * sure, plain - 1):
        return best
    return "english" if plain and (sure or usual is None) else None


def _spelled(found: list[str]) -> dict[str, float]:
    """How many of some words are spelled with letters of each language; half of one where several have them."""
    out: dict[str, float] = {}
    for word in found:
        if word.isascii():
            continue
        for letters, names in _SPELLING:
            if letters.search(word):
                for name in names:
                    out[name] = out.get(name, 0.0) + (1.0 if len(names) == 1 else 0.5)
    return out


def tokens(text: str, language: str | None = None, usual: str | None = None) -> list[str]:
    """The index terms of a text, in order, with repeats.

    `language` is an ISO code or a Snowball name, else guessed; `usual` (a Snowball name) is taken, and without it
    English, where there is too little to guess by.
    """
    found = words(text)
    chosen = _CODES.get(language, language) if language else language_of(found, usual) or usual or "english"
    known = _KNOWN.get(chosen, {})
    if len(known) > MOST_KNOWN:
        known.clear()
    out: list[str] = []
    for word in found:
        terms = known.get(word)
        if terms is None:
            terms = _terms(word, chosen)
            if len(word) <= LONGEST_WORD:
                known[word] = terms
        out += terms
    return out


def _terms(word: str, language: str) -> tuple[str, ...]:
    """What one word is looked for by: nothing where it is a stop word, its stem, or its pairs of letters."""
    if word in STOP_WORDS.get(language, STOP_WORDS["english"]):
        return ()
    if word.isascii():
        return (_stem(word, language),)
    if _IS_UNSPACED.match(word):
        return tuple(_pairs(word))
    return (_stem(word, _by_script(word) or language),)


def token_string(text: str, language: str | None = None, usual: str | None = None) -> str:
    """The index terms joined by spaces: what a store's own text index is given."""
    return " ".join(tokens(text, language, usual))


def query_terms(text: str, language: str | None = None, usual: str | None = None) -> list[str]:
    """The distinct terms to look for: those of the guessed language, of the usual one, and of English.

    A short question is a poor sample of a language, so all readings are searched.
    """
    terms = dict.fromkeys(tokens(text, language, usual))
    if language is None:
        guessed = language_of(words(text), usual) or usual or "english"
        for other in dict.fromkeys((usual or "english", "english")):
            if other != guessed:
                terms.update(dict.fromkeys(tokens(text, other)))
    return list(terms)


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


def _by_script(word: str) -> str | None:
    for pattern, name in _SCRIPTS:
        if pattern.search(word):
            return name
    return None


def _stem(word: str, language: str) -> str:
    word = word.removesuffix("'s").replace("'", "")[:MAX_TERM]
    if len(word) <= LONGEST_WORD and not word.isdigit():
        stemmer = _stemmer(language)
        with _LOCK:  # a stemmer keeps the word it works on
            word = (stemmer.stemWord(word) if stemmer is not None else word) or word
    return word if word.isascii() else _fold(word) or word


def _fold(word: str) -> str:
    """Without accents, so that `cafe` finds `café`; marks that spell vowels in other scripts stay."""
    plain = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(c for c in plain if not "\u0300" <= c <= "\u036f"))


@lru_cache(maxsize=32)
def _stemmer(language: str) -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer(language) if language in snowballstemmer.algorithms() else None
