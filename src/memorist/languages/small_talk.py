"""Recognises small talk: greetings, thanks and acknowledgements, which neither need memory nor are worth recalling."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from .files import codes, read
from .stop import stop_words

MAX_CHARACTERS = 80
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


@lru_cache(4096)  # recall asks about each message that it considers, at every turn again
def is_small_talk(text: str) -> bool:
    """Return whether a text contains only small talk in one language, such as "Hi, how are you?" or "Ok, got it.".

    Stop words may come between the phrases unless the text asks something, as in "ok, and who was it?".
    """
    text = text.strip()
    if not text or len(text) > MAX_CHARACTERS or any(character.isdecimal() for character in text):
        return False
    words = [word.replace("’", "'") for word in _WORD.findall(text.casefold())]
    asks = text.endswith(("?", "？"))
    return any(_consists(words, code, asks) for code in codes() if _phrases(code))


@cache
def _phrases(code: str) -> frozenset[str]:
    return frozenset(
        " ".join(phrase.split()) for phrase in read(code, "stop").get("small_talk", "").split(",") if phrase.strip()
    )


@cache
def _longest_phrase(code: str) -> int:
    """Return the number of words in the longest phrase. This is computed only once, because every context needs it."""
    return max(phrase.count(" ") for phrase in _phrases(code)) + 1


def _consists(words: list[str], code: str, asks: bool) -> bool:
    if not stop_words(code):  # a language without spaces
        return bool(words) and all(_made_of(word, _phrases(code)) for word in words)
    position, phrases, small = 0, _phrases(code), False
    longest = _longest_phrase(code)
    while position < len(words):
        for length in range(min(longest, len(words) - position), 0, -1):
            if " ".join(words[position : position + length]) in phrases:
                position, small = position + length, True
                break
        else:
            if asks or words[position] not in stop_words(code):
                return False
            position += 1
    return small


def _made_of(word: str, phrases: frozenset[str]) -> bool:
    """Return whether a text without spaces consists of phrases."""
    return not word or any(word.startswith(phrase) and _made_of(word[len(phrase) :], phrases) for phrase in phrases)
