"""Pieces of a clause: names, lists, values, and where they end."""

from __future__ import annotations

import re

from .calendar import number

# A phrase ends where the next part of the sentence takes over.
_STOP = re.compile(
    r"\s+(?:and (?=(?:i|my|we|our|it|she|he|they|so|then|also|now|am|was|have|had|want|need|would|can|will)\b)"
    r"|but|because|since|so|though|although|while|when|where"
    r"|who|which|that|if|unless|until|even|especially|mainly|mostly|like when|as (?:it|they|i|you|we)"
    r"|back (?:in|at|on|when)|ever since|by the way|btw|at all|a lot|very much|so much|right now|at the moment"
    r"|these days|nowadays|lately|recently|originally|anymore|any more|as well|too|already|again|now|currently|today"
    r"|tonight|yesterday|tomorrow|please|thanks|actually|instead"
    r"|full[- ]time|part[- ]time|for (?:a living|years|ages|over|about|almost|nearly|more|the (?:last|past)|\d"
    r"|a (?:while|long|few)|now|(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)"
    r"|with (?:my|his|her|a (?:focus|background))|every|each|last (?=week|month|quarter|year|summer|spring|fall|winter"
    r"|night)|next (?=week|month|year)|lol|haha|ok|tho|or (?:anything|something|whatever|so)|and "
    r"(?:stuff|such|all that|everything|so on)|etc)\b.*$",
    re.I | re.S,
)
_PARTICLES = {
    "van",
    "von",
    "de",
    "del",
    "della",
    "der",
    "den",
    "di",
    "da",
    "dos",
    "das",
    "du",
    "la",
    "le",
    "el",
    "al",
    "bin",
    "ibn",
    "ben",
    "y",
    "ter",
    "ten",
    "af",
    "zu",
}
_LINKS = _PARTICLES | {"of", "and", "&", "the", "for"}
_TITLES = {"dr", "mr", "mrs", "ms", "prof", "professor", "doctor", "sir", "captain", "st", "mx"}
_LIST = re.compile(r"\s*(?:,\s*(?:and|or|plus|&)?|\band\b|\bplus\b|&|\bas well as\b)\s+", re.I)
_QUALIFIER = re.compile(
    r"^(?:a (?:little(?: bit)?(?: of)?|bit of|lot of|few|some)|some|mostly|mainly|mainly|also|both|lots of|only"
    r"|just|all kinds of|all sorts of|any kind of|basically|primarily"
    r"|really|definitely|either|usually|decent|fluent|basic|conversational|broken)\s+",
    re.I,
)
_ARTICLE = re.compile(r"^(?:an?|the|my|our|some|any|all)\s+", re.I)
_NOT_NAMES = {
    "a",
    "an",
    "the",
    "not",
    "just",
    "so",
    "very",
    "here",
    "ok",
    "okay",
    "fine",
    "good",
    "great",
    "sorry",
    "sure",
    "back",
    "done",
    "from",
    "in",
    "at",
    "on",
    "going",
    "trying",
    "looking",
    "new",
    "glad",
    "happy",
    "sad",
    "tired",
    "afraid",
    "aware",
    "using",
    "also",
    "still",
    "currently",
    "now",
    "really",
    "i",
    "i'm",
    "my",
    "we",
    "you",
    "it",
    "this",
    "that",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "hello",
    "hi",
    "thanks",
    "please",
    "yes",
    "no",
    "what",
    "why",
    "how",
    "never",
    "always",
    "if",
}


def cut(phrase: str, *, words: int = 6) -> str:
    """A phrase up to where the sentence goes on to something else."""
    kept = _STOP.sub("", f" {phrase.strip()}").strip(' ,;:.!()"')
    return kept if len(kept.split()) <= words else ""


def is_capital(word: str) -> bool:
    """Written with a capital or holding one (iPhone), or a digit first (3M)."""
    return bool(word) and (word[0].isupper() or any(char.isupper() for char in word[1:]) or word[0].isdigit())


def person(phrase: str, *, words: int = 4) -> str | None:
    """The name a phrase begins with."""
    out: list[str] = []
    for word in phrase.strip(" ,;:").split():
        bare = word.strip(',;:!?()"')
        plain = bare.rstrip(".").lower()
        if bare.endswith("'s"):
            bare, plain = bare[:-2], plain[:-2]
        if not bare or not (bare[0].isupper() or (out and plain in _PARTICLES)) or (plain in _NOT_NAMES and not out):
            break
        keep_dot = plain in _TITLES or (len(plain) == 1 and bare.endswith("."))
        out.append(bare if keep_dot else bare.rstrip("."))
        if word[-1] in ",;:!?" or (word.endswith(".") and not keep_dot) or word.endswith("'s") or len(out) == words:
            break
    while out and out[-1] in _PARTICLES:
        out.pop()
    return " ".join(out) or None


def lowercase_name(phrase: str) -> str | None:
    """A name written small, which only counts when it is the whole phrase."""
    bare = cut(phrase, words=2)
    if not bare or not all(word.isalpha() and word.lower() not in _NOT_NAMES for word in bare.split()):
        return None
    return bare


def organisation(phrase: str, *, words: int = 5) -> str | None:
    """The proper name a phrase begins with, `of` and `and` inside it allowed."""
    out: list[str] = []
    for word in phrase.strip(" ,;:").split():
        bare = word.strip(',;:!?()"')
        if not bare or not (is_capital(bare) or (out and bare.lower() in _LINKS)):
            break
        if bare.lower().rstrip(".") in ("i", "i'm", "my", "we") or (bare[0].isdigit() and out and out[-1] in _LINKS):
            break
        out.append(bare.rstrip("."))
        if word[-1] in ",;:!?" or len(out) == words:
            break
    while out and out[-1].lower() in _LINKS:
        out.pop()
    return " ".join(out) or None


def listed(phrase: str, *, words: int = 5) -> list[str]:
    """The things a phrase lists, without articles and qualifiers."""
    items = []
    for item in _LIST.split(phrase):
        bare = _QUALIFIER.sub("", cut(item, words=words + 1)).strip(" .")
        bare = _ARTICLE.sub("", bare) if not re.match(r"the [A-Z]", bare) else bare
        if bare and len(bare.split()) <= words:
            items.append(bare)
    return items


def count(text: str) -> int | None:
    """A plain count in digits or words."""
    return number(text)


_CURRENCY = {
    "$": "USD",
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "usd": "USD",
    "dollars": "USD",
    "dollar": "USD",
    "bucks": "USD",
    "euros": "EUR",
    "euro": "EUR",
    "eur": "EUR",
    "pounds": "GBP",
    "gbp": "GBP",
    "yen": "JPY",
    "rupees": "INR",
    "chf": "CHF",
    "francs": "CHF",
}
_DOLLARS = ("AUD", "CAD", "NZD", "SGD", "HKD", "MXN", "USD")
_AMOUNT = re.compile(
    r"^(?:about |around |roughly |approximately |exactly |only |just |under |over |at most "
    r"|~)?(?P<sign>[$€£¥])?\s?(?P<n>\d[\d,]{0,14}(?:\.\d{1,4})?)\s?(?P<scale>k|m|thousand"
    r"|million)?\b\s?(?P<unit>%|square [a-z]{2,10}|[A-Za-zµ°²]{1,12})?",
    re.I,
)


def amount(text: str) -> int | float | dict[str, int | float | str] | None:
    """A number, with its unit where one was said: 43, or {amount: 2500, unit: USD}."""
    match = _AMOUNT.match(text.strip())
    if not match:
        return number(text.strip())
    digits = match["n"].replace(",", "")
    if len(digits) > 15:
        return None
    value: int | float = float(digits) if "." in digits else int(digits)
    scale = (match["scale"] or "").lower()
    value *= {"": 1, "k": 1000, "thousand": 1000, "m": 1_000_000, "million": 1_000_000}[scale]
    unit = _unit(match)
    return {"amount": value, "unit": unit} if unit else value


def _unit(match: re.Match[str]) -> str | None:
    unit = match["unit"]
    if match["sign"]:
        return unit if unit in _DOLLARS else _CURRENCY[match["sign"]]
    if not unit or unit.lower() in (
        "and",
        "but",
        "so",
        "or",
        "per",
        "a",
        "for",
        "in",
        "at",
        "on",
        "now",
        "this",
        "with",
    ):
        return None
    return _CURRENCY.get(unit.lower(), unit)
