"""Numbers with their units: "$2,500", "1.450 €", "six hours", "5 foot 11"."""

from __future__ import annotations

import re
from functools import cache

from ..dates import number
from ..languages import UNSPACED, words
from .phrases import phrases

Quantity = dict[str, int | float | str]
Amount = int | float | Quantity
_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}
_DOLLARS = ("AUD", "CAD", "NZD", "SGD", "HKD", "MXN", "USD")
_DIGITS = r"(?P<n>\d[\d.,' \u00a0\u202f]{0,16}\d|\d)"
_FORMS = (
    rf"(?P<sign>[$€£¥])?\s?{_DIGITS}\s?(?P<scale>k|m|[^\W\d_]{{4,9}}|千|万|億|亿)?(?![\w])\s?"
    r"(?P<unit>[$€£¥%]|(?:square |sq )?[^\W\d_]{1,12}[²³]?)?",
    rf"(?P<sign>)(?P<scale>){_DIGITS}\s?(?P<unit>[^\W\d_]{{1,9}}[²³]?|[$€£¥%°])",
)
_UNSPACED_FORMS = (rf"(?P<sign>[$€£¥])?{_DIGITS}(?P<scale>[千万億亿])?(?P<unit>[^\W\d_]{{1,3}})?",)
"""Forms of a number in digits with its unit, of which the first counts whose scale is one; without spaces as 5万円."""
_FEET = re.compile(
    r"^(?P<ft>[4-7]|four|five|six|seven)[\s-]?(?:'|′|ft|feet|foot)[\s-]?(?:and )?(?P<inch>\d{1,2}|\w+)?", re.I
)


@cache
def _units(lang: str) -> dict[str, str]:
    return {**words("en").table("units"), **words(lang).table("units")}


@cache
def scales_of(lang: str) -> dict[str, int]:
    """What the words and letters behind a number multiply it by: k, million."""
    return {"": 1, "k": 1000, "m": 1_000_000, **words(lang).table("scales")}


def _digits(text: str, lang: str) -> int | float | None:
    """A number in digits, grouped as the language groups: 2,500 and 2.500,50."""
    text = re.sub(r"[ '\u00a0\u202f]", "", text).rstrip(".,")
    comma = words(lang).table("style").get("decimal") == ","
    text = text.replace(".", "").replace(",", ".") if comma and not re.fullmatch(r"\d+\.\d{1,2}", text) else text
    text = text.replace(",", "")
    if len(text) > 15 or text.count(".") > 1:
        return None
    return float(text) if "." in text else int(text)


def amount(text: str, lang: str = "en") -> Amount | None:
    """A number, with its unit where one was said: 43, or {amount: 2500, unit: USD}."""
    text = phrases(lang).about.sub("", text.strip())
    numeral = re.match("[零一二两三四五六七八九十百千万]+", text) if lang in UNSPACED else None
    if numeral and (said := number(numeral[0], lang)) is not None:
        text = f"{said}{text[numeral.end() :]}"
    forms = (re.match(form, text, re.I) for form in (_UNSPACED_FORMS if lang in UNSPACED else _FORMS))
    match = next((found for found in forms if found and (found["scale"] or "").lower() in scales_of(lang)), None)
    if match is None:
        return _in_words(text, lang)
    value, scale, sign = _digits(match["n"], lang), (match["scale"] or "").lower(), match["sign"]
    if value is None:
        return None
    if scale == "m" and not sign:
        return {"amount": value, "unit": "m"}  # metres; millions only of money
    unit = _unit(sign, match["unit"] or "", lang)
    return {"amount": value * scales_of(lang)[scale], "unit": unit} if unit else value * scales_of(lang)[scale]


def _in_words(text: str, lang: str) -> Amount | None:
    parts = text.split()
    for size in (3, 2, 1):
        value = number(" ".join(parts[:size]), lang) if len(parts) >= size else None
        if value is not None and " ".join(parts[:size]).lower() not in words(lang).set("articles"):
            unit = _unit(None, parts[size] if len(parts) > size else "", lang)
            return {"amount": value, "unit": unit} if unit else value
    return None


def _unit(sign: str | None, said: str, lang: str) -> str | None:
    """The unit of a number; without spaces, the longest with which what follows begins."""
    if sign:
        return said if said in _DOLLARS else _SIGNS[sign]
    whole = [said[:size] for size in (3, 2, 1)] if lang in UNSPACED else [said]
    found = (_SIGNS.get(one) or _units(lang).get(one.lower()) or (one if one in ("%", "°") else None) for one in whole)
    return next(filter(None, found), None)


def measure(text: str, lang: str = "en") -> Quantity | None:
    """A height or weight; feet and inches become inches."""
    text = phrases(lang).about.sub("", text.strip())
    feet = _FEET.match(text)
    if feet:
        inches = number(feet["inch"] or "0", lang) or 0
        return {"amount": (number(feet["ft"], lang) or 0) * 12 + inches, "unit": "in"} if inches < 12 else None
    metres = re.match(r"(\d)\s?m\s?(\d{2})$", text)
    if metres:
        return {"amount": int(metres[1]) * 100 + int(metres[2]), "unit": "cm"}
    said = amount(text, lang)
    if isinstance(said, dict) and said["unit"] == "GBP" and "£" not in text:
        said = {**said, "unit": "lb"}
    return said if isinstance(said, dict) and said["unit"] in ("cm", "m", "ft", "in", "kg", "lb", "stone") else None
