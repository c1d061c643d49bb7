"""Grounding: checks that a value which a model extracted follows from the words it quotes as evidence.

The words of a value must stand in its evidence, in the same or a near form; numbers and dates may be written otherwise.
A few values are categories that people say in other words ("my wife" for married): those count as inferred.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from itertools import pairwise
from typing import Any, Literal

from ..dates import Prefer, number, parse_dates
from ..languages import UNSPACED, standing, stop_words, words
from .keys import slug

Ground = Literal["said", "inferred", "none"]
LONG = 4
"""Words from which on a value may be rephrased, if most of it is in the evidence."""
SHARE = 0.6
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?", re.UNICODE)
_OF_A_NAME = re.compile(r"'?s|y|n|ns")
_OF_A_WORD = re.compile(r"'?s|es|ies|ied|y|ly|e|d|ed|[b-z]?ing|[b-z]?ers?|ors?|ists?|an|ian|ish|ese|ql|n|en|in|r|m|a|o")
_DATE = re.compile(r"(?:\d{4}(?:-\d{2}(?:-\d{2})?)?|--\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2})?Z?)?(?:/[\dT:-]+)?")
_DIGITS = re.compile(r"\d[\d.,' \u00a0]*\d|\d")
_SCALED = re.compile(r"(\d+(?:[.,]\d+)?)\s*([^\W\d_]+)")


def ground(kind: str, key: str, value: Any, evidence: str, at: datetime, lang: str = "en") -> Ground:
    """How a value follows from its evidence: in its own words, by inference, or not at all."""
    if isinstance(value, bool):
        # A boolean is about what its key names.
        named = key.partition(".")[2].rpartition(".")[2].replace("_", " ")
        return "said" if _is_said(named, evidence, lang) else "none"
    if isinstance(value, int | float):
        return _number(key, float(value), evidence, at, lang)
    if _DATE.fullmatch(value) and kind == "fact":
        return "said" if _is_dated(value, evidence, at, lang) else "none"
    if _is_said(value, evidence, lang) or _same_digits(value, evidence):
        return "said"
    cues = tuple(words(lang).table("cues").get(value.casefold(), ()))  # "wife" shows that somebody is married
    return "inferred" if cues and standing(cues, lang).search(evidence) else "none"


def _is_said(value: str, evidence: str, lang: str) -> bool:
    """Whether the words of a value are in its evidence: all of a short one, most of a long one, and every name."""
    said = _words(evidence)
    if folded(value) and (folded(value) in folded(evidence) or slug(value) in said):
        return True
    empty = stop_words(lang) | words(lang).set("of_the_user")
    asked = [word for word in _WORD.findall(value) if word.casefold().replace("’", "'") not in empty]
    missing = [word for word in asked if not _has(said, word)]
    if not asked or not missing:
        return bool(asked)
    # A sentence may begin with a capital of its own; any other capital or digit is a name or a number.
    specific = [word for word in missing if word[0].isdecimal() or (word[0].isupper() and not value.startswith(word))]
    return len(asked) >= LONG and not specific and len(missing) <= (1 - SHARE) * len(asked)


def _words(text: str) -> set[str]:
    found = [folded(word) for word in _WORD.findall(text)]
    return {*found, *(slug(word) for word in found), *("".join(pair) for pair in pairwise(found))}


def _has(said: set[str], word: str) -> bool:
    plain = folded(word)
    if plain in said or slug(word) in said:
        return True
    forms = _OF_A_NAME if word[0].isupper() else _OF_A_WORD
    return any(_is_form(plain, other, forms) for other in said)


def _is_form(one: str, other: str, endings: re.Pattern[str]) -> bool:
    """Two forms of a word: nurse and nurses, study and studying; of a name (port and Porto) hardly any."""
    short, long = sorted((one, other), key=len)
    if len(short) < 3 or short.isdecimal():
        return False
    stems = [short, short[:-1]] if short[-1] in "ey" and len(short) > 4 else [short]
    return any(long.startswith(stem) and endings.fullmatch(long[len(stem) :]) for stem in stems)


def folded(text: str) -> str:
    """A text without case, accents and the signs at its ends, for comparing."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold().replace("’", "'"))
    return " ".join("".join(char for char in plain if not unicodedata.combining(char)).split()).strip(" .!,\"'")


def _same_digits(value: str, evidence: str) -> bool:
    """Whether both have the same digits, grouped differently, as in telephone numbers."""
    digits = re.sub(r"\D", "", value)
    return len(digits) >= 5 and not re.search(r"[^\W\d_]", value) and digits.lstrip("0") in re.sub(r"\D", "", evidence)


def _number(key: str, value: float, evidence: str, at: datetime, lang: str) -> Ground:
    said = _numbers(evidence, lang)
    if any(abs(value - one) < 1e-9 for one in said):
        return "said"
    born = key == "age" and any(1900 < year <= at.year and at.year - year - value in (0, 1) for year in said)
    return "inferred" if born else "none"


def _scales(lang: str) -> dict[str, int]:
    """What the words and letters behind a number multiply it by: k, million."""
    return {"": 1, "k": 1000, "m": 1_000_000, **words(lang).table("scales")}


def _numbers(text: str, lang: str) -> set[float]:
    """All numbers in a text: in digits with any grouping, scaled (12k), or in words."""
    out: set[float] = set()
    for match in _DIGITS.finditer(text):
        for part in (match[0], *re.split(r"[.,' \u00a0]+", match[0])):
            bare = re.sub(r"[' \u00a0]", "", part)  # 1.200 may group thousands or have a decimal point
            forms = (re.sub(r"[.,]", "", bare), bare.replace(",", ""), bare.replace(".", "").replace(",", "."))
            out |= {float(form) for form in forms if re.fullmatch(r"\d{1,15}(?:\.\d{1,9})?", form)}
    scales = {**_scales("en"), **_scales(lang)}
    for digits, scale in _SCALED.findall(text):
        out |= {float(digits.replace(",", ".")) * scales[scale.lower()]} if scale.lower() in scales else set()
    if lang in UNSPACED:
        return out | {float(size) for word, size in words(lang).table("numbers").items() if word in text}
    found = re.findall(r"[^\W\d_-]+(?:-[^\W\d_]+)*", text.casefold())
    spans = (" ".join(found[i : i + n]) for i in range(len(found)) for n in (1, 2, 3))
    return out | {float(value) for span in spans if (value := number(span, lang)) is not None}


def _is_dated(value: str, evidence: str, at: datetime, lang: str) -> bool:
    """Whether the evidence names the date, by the calendar or by its digits."""
    ways: tuple[Prefer, ...] = ("past", "future")
    for found in (date for prefer in ways for date in parse_dates(evidence, at, prefer=prefer, lang=lang)):
        first = found.start.date().isoformat()
        if value.startswith("--") and first.endswith(value[1:]):
            return True
        if not value.startswith("--") and (value == first or found.iso.startswith(value.removesuffix("Z"))):
            return True
    parts, said = re.findall(r"\d+", value)[:3], _numbers(evidence, lang)
    return value in evidence or (len(parts) > 1 and all(float(part) in said for part in parts))
