"""Compiles the rules of a language (`languages/<code>/rules.toml`), which are patterns for stating, ending or
forgetting something."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

import msgspec

from ..languages import UNSPACED, any_of, topic_named
from ..languages.files import read
from ..values import JsonObject

FORGET = "forget"
MAX_OPENINGS = 5
"""The rules look for at most this many openings before a statement: "Hi, ok, by the way: …"."""
"""The name used in place of a topic for requests to forget."""
_CAPITAL = r"[A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĖĘĚĞĢĪİĶŁĻŃŅŇŌŐŒŘŚŞŠŢŤŪŮŰŲŹŻŽА-Я]"
_WORD = r"[\w'’-]"
_OF_NAMES = r"(?:(?:de|da|do|dos|van|von|der|den|del|di|al|el|bin|la|le) ){0,2}"
_OF_PLACES = r"(?:(?:de|del|da|do|of|la|upon|am|an der|di|sur) )?"
_OF_ORGS = r"(?:(?:of|and|&|the|for|de|des|du|del|della|do|da|und|van|y|et) ){0,2}"
_PLACE_WORD = rf"{_CAPITAL}[\w.'’-]+"
_FIRST_NAME = rf"{_CAPITAL}{_WORD}*\w"
_NAME = rf"{_FIRST_NAME}\.?(?: {_OF_NAMES}{_CAPITAL}{_WORD}+){{0,3}}"
_AGED = r"(?: \(\d{1,2}\))?"
"""An age after one of several names: "Emma (7) and Noah (5)"."""
_LATIN = {
    "name": rf"(?-i:{_NAME})",
    "named": rf"(?-i:{_NAME})",
    "names": rf"(?-i:{_FIRST_NAME}{_AGED}(?:, {_FIRST_NAME}{_AGED})*,? (?:and|&) {_FIRST_NAME}{_AGED})",
    "place": rf"(?-i:(?:(?:the|los|las|la|le|den|het|il) )?{_PLACE_WORD}(?: {_OF_PLACES}{_PLACE_WORD}){{0,3}}"
    rf"(?:, {_CAPITAL}[\w.]+(?: {_CAPITAL}\w+)?)?)",
    "org": rf"(?-i:(?:the |der |die |la |le |el |il |de |het )?{_CAPITAL}[\w&.'’-]*"
    rf"(?: {_OF_ORGS}[A-Z0-9À-Þ][\w&.'’-]*){{0,5}})",
    "role": r"(?-i:(?:[a-zà-ÿ][\w/-]*(?: (?:of|in|and|de|für|en|di))? ){0,3}[a-zà-ÿ][\w-]+)",
    "things": r"[\w'’-]+(?: [\w'’-]+){0,2}?"
    r"(?:(?:,| and|, and| or| und| oder| et| ou| y| o| e| en| of) [\w'’-]+(?: [\w'’-]+)??){0,3}",
    "after_name": rf"(?![\w-])(?!\s+(?-i:{_CAPITAL}))",
}
"""The text that a slot matches in languages with capital letters. A language may replace this in its `[slots]`."""
_SLOT = re.compile(r"\{([a-z_]+?)(_\d)?\}")
_PARTS = (
    "greetings",
    "openers",
    "corrections",
    "remembers",
    "remembers_any",
    "own",
    "doubts",
    "jokes",
    "governs",
    "grounds",
    "boundary",
    "ellipsis",
    "subject",
    "vague",
    "asks",
    "end",
)
_FIELDS = {"topic", "say", "ends", "anywhere", "greeted", "value"}
_READ_BY_CODE = {
    "not_names",
    "also_names",
    "not_places",
    "not_things",
    "degrees",
    "unique",
    "job",
    "judgements",
    "diet",
    "allergen",
}
"""Lists that values are checked against, whether or not a pattern names them."""


PRIOR_GOOD, PRIOR_READ = 19, 20
"""The assumed quality of a topic before any of its items has been judged. A rule is kept only if 95 % of its items are
good."""


class RulesError(ValueError):
    """Raised if a rules file refers to something that does not exist. `where` names the file."""


class Rule(msgspec.Struct, frozen=True):
    """Holds one pattern, the topic it states or ends, and how it is applied."""

    id: str
    topic: str
    pattern: re.Pattern[str]
    ends: bool = False
    anywhere: bool = False
    """This is True if the pattern may match anywhere in a sentence, even in a question, and not only at the start of a
    clause."""
    greeted: bool = False
    """This is True if a greeting must precede the pattern."""
    value: str = ""
    """This is the stored value, if it differs from the matched words: "{venture} owner" for "I run a bakery"."""
    confidence: float = PRIOR_GOOD / PRIOR_READ
    """This is the share of correct statements among those extracted for its topic."""


class RuleBook:
    """Holds the compiled rules of one language."""

    def __init__(self, lang: str) -> None:
        table = read(lang, "rules")
        self.lang = lang
        unknown = set(table) - {*_PARTS, "lists", "slots", "rules"}
        if unknown:
            raise RulesError(f"languages/{lang}/rules.toml: unknown name {sorted(unknown)[0]!r}")
        self.lists = {name: _groups(text) for name, text in table.get("lists", {}).items()}
        self._slots: dict[str, str] = {**({} if lang in UNSPACED else _LATIN), **table.get("slots", {})}
        self._named: set[str] = set()
        self.end: str = table.get("end", "")
        join = r"" if lang in UNSPACED else r"(?!\w)"
        self.greeting = re.compile(rf"(?:^|(?<=\W)){_either(table, 'greetings')}{join}", re.I)
        before = f"{_either(table, 'openers')}|{_either(table, 'greetings')}"
        gap = r"[\s,，、。.!！:：;…—–-]*" if lang in UNSPACED else r"(?:[\s,.!:;…—–-]+)(?=\S)"
        # Without a sign after it, "no" negates what follows: "No vivo en Sevilla".
        corrected = rf"{_either(table, 'corrections')}{join}\s*[,，、。.!！:：;…—–-]+\s*"
        self.opening = re.compile(rf"\s*(?:[¡¿]\s*)?(?:(?:{before}){join}{gap}|{corrected})", re.I)
        self.correction = re.compile(rf"\s*(?:[¡¿]\s*)?{_either(table, 'corrections')}{join}", re.I)
        self.remembers = re.compile(rf"\s*{_either(table, 'remembers')}{join}{gap}", re.I)
        self.remembers_any = re.compile(rf"\s*{_either(table, 'remembers_any')}{join}{gap}", re.I)
        """Requests to remember anything, whoever it is about."""
        self.own = re.compile(table.get("own") or r"(?!)", re.I)
        self.doubts = re.compile(table.get("doubts") or r"(?!)", re.I)
        self.jokes = re.compile(table["jokes"], re.I) if "jokes" in table else None
        """Words that express doubt wherever they occur. If a language lists none, all of `doubts` are used."""
        self.governs = re.compile(table.get("governs") or r"(?!)", re.I)
        self.grounds = re.compile(table.get("grounds") or r"(?!)", re.I)
        self.boundary = re.compile(table.get("boundary") or r"(?!)", re.I)
        self.ellipsis = re.compile(table.get("ellipsis") or r"(?!)", re.I)
        self.vague = re.compile(self._written_out(table.get("vague") or r"(?!)", "vague"), re.I)
        self.asks = re.compile(table.get("asks") or r"(?!)", re.I)
        self.subject: str = table.get("subject", "")
        self.rules = [
            rule for number, row in enumerate(table.get("rules", ()), 1) for rule in self._compiled(row, number)
        ]
        spare = {*self.lists, *table.get("slots", {})} - self._named - _READ_BY_CODE
        if spare:
            raise RulesError(f"languages/{lang}/rules.toml: no rule names {sorted(spare)[0]!r}")

    def end_of_opening(self, text: str) -> int:
        """Return where the words that only open a statement end, such as those in "Hi, by the way: I live in Oslo"."""
        end = 0
        for _ in range(MAX_OPENINGS):
            match = self.remembers.match(text, end) or self.opening.match(text, end)
            if match is None or match.end() >= len(text):
                break
            end = match.end()
        return end

    def words(self, name: str) -> frozenset[str]:
        """Return the wordings in a list, in lower case. The result is empty if the language has no such list."""
        return frozenset(word.casefold() for group in self.lists.get(name, ()) for word in group)

    def canonical(self, name: str, wording: str) -> str:
        """Return the stored form of a wording, which is the first of its group."""
        folded = wording.casefold()
        return next((group[0] for group in self.lists.get(name, ()) if folded in map(str.casefold, group)), wording)

    def _compiled(self, row: JsonObject, number: int) -> list[Rule]:
        topic, here = row.get("topic", ""), f"languages/{self.lang}/rules.toml, rule {number}"
        if set(row) - _FIELDS:
            raise RulesError(f"{here}: unknown field {sorted(set(row) - _FIELDS)[0]!r}")
        if topic != FORGET and topic_named(topic) is None:
            raise RulesError(f"{here}: there is no topic {topic!r}")
        sources = [(source, False) for source in row.get("say", ())] + [
            (source, True) for source in row.get("ends", ())
        ]
        return [
            Rule(
                f"{self.lang}.{topic}.{number}{'abcdefghijklmnop'[position]}",
                topic,
                re.compile(self._written_out(source, here), re.I),
                ends,
                row.get("anywhere", False),
                row.get("greeted", False),
                row.get("value", ""),
                confidence_of(topic),
            )
            for position, (source, ends) in enumerate(sources)
        ]

    def _written_out(self, source: str, here: str) -> str:
        """Return a pattern with its slots and lists filled in."""

        def put(slot: re.Match[str]) -> str:
            name, number = slot[1], slot[2] or ""
            self._named |= {name, name.partition("_as_")[0]}
            if name == "end":
                return self.end
            if name == "trade":
                titles = r"[a-z]+(?:ologist|ician|grapher)(?!\w)"
                judged = f"(?!{self._listed('judgements')})" if "judgements" in self.lists else ""
                return f"(?P<role>(?:{judged}[a-zà-ÿ/&-]+ ){{0,3}}?(?:{self._listed('job')}|{titles}))"
            listed, _, group = name.partition("_as_")
            if group and listed in self.lists:
                return self._listed(listed)
            if name in self.lists:
                return f"(?P<{name}{number}>{self._listed(name)})"
            if name not in self._slots:
                raise RulesError(f"{here}: there is no slot or list {name!r}")
            if name in ("after_name",):
                return self._slots[name]
            return f"(?P<{name}{number}>{self._slots[name]})"

        return _SLOT.sub(put, source)

    def _listed(self, name: str) -> str:
        edge = "" if self.lang in UNSPACED else r"(?!\w)"
        return f"(?:{any_of(word for group in self.lists[name] for word in group)}){edge}"


def _either(table: JsonObject, name: str) -> str:
    return f"(?:{table.get(name) or '(?!)'})"


def _groups(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the groups of a list: `sister = Schwester, kleine Schwester.

    …`; the part before `=` is stored.
    """
    out = []
    for group in " ".join(text.split()).split(";"):
        name, mark, forms = group.partition("=")
        wordings = [word.strip() for word in (forms if mark else group).split(",") if word.strip()]
        if wordings:
            out.append((name.strip(), *wordings) if mark else tuple(wordings))
    return tuple(out)


@cache
def _count_judged() -> dict[str, tuple[int, int]]:
    """Return, for each topic, the number of items that were judged good and the total number of judged items."""
    table = tomllib.loads((Path(__file__).parent / "confidence.toml").read_text("utf-8"))
    unknown = [topic for topic in table if topic not in (FORGET, "note") and topic_named(topic) is None]
    if unknown:
        raise RulesError(f"extract/confidence.toml: there is no topic {unknown[0]!r}")
    return {topic: (good, read) for topic, (good, read) in table.items()}


def confidence_of(topic: str) -> float:
    """Return the share of a topic's items that are good, corrected for small sample sizes."""
    good, read = _count_judged().get(topic, (0, 0))
    return round((good + PRIOR_GOOD) / (read + PRIOR_READ), 3)


@cache
def rule_book(lang: str) -> RuleBook:
    """Return the rules of a language."""
    return RuleBook(lang)
