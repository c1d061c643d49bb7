"""Numbers with their units: "$2,500", "1.450 €", "six hours", "5 foot 11"."""

from __future__ import annotations

import re
from functools import cache

from ..dates import number
from ..languages import UNSPACED, words
from .phrases import phrases

Amount = int | float | dict[str, int | float | str]
_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}
_DOLLARS = ("AUD", "CAD", "NZD", "SGD", "HKD", "MXN", "USD")
_DIGITS = r"\d[\d.,' \u00a0\u202f]{0,16}\d|\d"
_LATIN = re.compile(
    rf"^(?P<sign>[$€£¥])?\s?(?P<n>{_DIGITS})\s?(?P<scale>k|m|[^\W\d_]{{4,9}}|千|万|億|亿)?(?![\w])\s?"
    r"(?P<unit>[$€£¥%]|(?:square |sq )?[^\W\d_]{1,12}[²³]?)?",
    re.I,
)
_GLUED = re.compile(rf"^(?P<sign>)(?P<n>{_DIGITS})(?P<scale>)\s?(?P<unit>[^\W\d_]{{1,9}}[²³]?|[$€£¥%°])", re.I)


@cache
def _units(lang: str) -> dict[str, str]:
    return {**words("en").table("units"), **words(lang).table("units")}


@cache
def _scales(lang: str) -> dict[str, int]:
    return {"k": 1000, "m": 1_000_000, **words(lang).table("scales")}


def digits(text: str, lang: str) -> int | float | None:
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
    if lang in UNSPACED:
        return _joined(text, lang)
    match = _LATIN.match(text)
    scale = (match["scale"] or "").lower() if match else ""
    if match and scale and scale not in _scales(lang):
        match = _GLUED.match(text)
        scale = ""
    if not match:
        return _in_words(text, lang)
    value = digits(match["n"], lang)
    if value is None:
        return None
    if scale == "m" and not match["sign"]:
        return {"amount": value, "unit": "m"}  # metres; millions only of money
    value *= _scales(lang).get(scale, 1)
    unit = _unit(match["sign"], match["unit"], lang)
    return {"amount": value, "unit": unit} if unit else value


def _joined(text: str, lang: str) -> Amount | None:
    """A number with what follows it directly: 5万円."""
    match = re.match(rf"(?P<sign>[$€£¥])?(?P<n>{_DIGITS})(?P<scale>[千万億亿])?(?P<unit>[^\W\d_]{{1,3}})?", text)
    value = digits(match["n"], lang) if match else number(text, lang)
    if match is None or value is None:
        return value
    value *= _scales(lang).get(match["scale"] or "", 1)
    said = match["unit"] or ""
    unit = next((found for size in (3, 2, 1) if (found := _unit(match["sign"], said[:size], lang))), None)
    return {"amount": value, "unit": unit} if unit else value


def _in_words(text: str, lang: str) -> Amount | None:
    parts = text.split()
    for size in (3, 2, 1):
        value = number(" ".join(parts[:size]), lang) if len(parts) >= size else None
        if value is not None and " ".join(parts[:size]).lower() not in words(lang).set("articles"):
            unit = _unit(None, parts[size] if len(parts) > size else None, lang)
            return {"amount": value, "unit": unit} if unit else value
    return None


def _unit(sign: str | None, unit: str | None, lang: str) -> str | None:
    if sign:
        return unit if unit in _DOLLARS else _SIGNS[sign]
    if not unit:
        return None
    return _SIGNS.get(unit) or _units(lang).get(unit.lower()) or (unit if unit in ("%", "°") else None)


_FEET = re.compile(
    r"^(?P<ft>[4-7]|four|five|six|seven)[\s-]?(?:'|′|ft|feet|foot)[\s-]?(?:and )?(?P<inch>\d{1,2}|\w+)?", re.I
)


def measure(text: str, lang: str = "en") -> dict[str, int | float | str] | None:
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
