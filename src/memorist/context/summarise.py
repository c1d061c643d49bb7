"""Implements the extractive summarizer, which selects sentences word for word, deterministically and without a model.

It keeps pinned texts and sentences with names, numbers, decisions, preferences and open questions, and drops small
talk. If several statements are about the same thing, it keeps only the newest. It can parse its own output, so a
summary of an earlier summary and new messages retains sentences from the earlier one.
"""

from __future__ import annotations

import math
import re
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from ..languages import rules
from ..messages.message import Message, text_of
from .salience import salience
from .similar import COMMON, words
from .tokens import Counter

MAX_SENTENCE_CHARACTERS = 320
MIN_SCORE = 0.5
MIN_LINES = 5
NOTHING = "({} earlier messages held no text to keep)"
_BORDER = re.compile(
    r"(?<=[.!?。！？])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9À-ÖØ-Þ\u0400-\u04ff\u3040-\u9fff-])|\n+|(?<=[。！？])"
)
_NUMBER = re.compile(r"\d")
_RULES = rules("en", "summarise", "talk")
_STATEMENT = _RULES.statement
_LEADING = _RULES.leading
_LINE = re.compile(r"^- (?:(?P<tag>Pinned|Open question): )?(?:(?P<speaker>[^:\n]{1,40}): )?(?P<text>.*)$")
# Speaker names that are not used, because they would read as a role or as one of the summary's own labels.
_RESERVED = {"system", "developer", "assistant", "tool", "pinned", "open question", "earlier"}
_NOTHING = re.compile(r"\(\d+ earlier messages held no text to keep\)$")
_DIGITS = re.compile(r"\d+")
_QUOTES = re.compile(r'"{2,}')
_RELATIONS = _RULES.words("relations")
_ARTICLES = _RULES.words("articles")


class Sentence(msgspec.Struct):
    """Represents a candidate line for the summary."""

    text: str
    speaker: str
    order: int
    score: float
    question: bool = False
    carried: bool = False
    """This is True if an earlier summary already contained it."""
    terms: list[str] = []
    """These are its words without stop words."""

    def line(self) -> str:
        tag = "Open question: " if self.question else ""
        return f"- {tag}{self.speaker}: {self.text}"


def extract(
    messages: Sequence[Message],
    previous: str | None,
    max_tokens: int,
    counter: Counter,
    *,
    pinned: Sequence[str] | None = None,
) -> str:
    """Return a summary of at most `max_tokens`, or an empty string if not even one line fits.

    The `pinned` texts come first, word for word. If there are none, those of the previous summary come first.
    """
    fixed, carried = _parse(previous or "")
    fixed = fixed if pinned is None else list(pinned)
    repeated = " ".join(" ".join(fixed).split())
    spoken = [*carried, *_sentences(messages, len(carried))]
    candidates = [sentence for sentence in spoken if sentence.text not in repeated]
    _weigh_by_rarity(candidates)
    candidates = _without_repeats(_newest_statements(_open_questions(candidates)))
    if not candidates and not fixed and messages:
        return NOTHING.format(len(messages))
    lines = [pinned_line(item) for item in fixed]
    return _fill(lines, candidates, max_tokens, counter)


def pinned_line(text: str) -> str:
    """Return the part of a summary that keeps a text word for word. `pinned_texts` parses it.

    A text of several lines stands between quotation marks that it does not contain, so its lines are unchanged and
    cannot pass for other lines of the summary.
    """
    if "\n" not in text:
        return f"- Pinned: {text}"
    marks = '"' * max(3, 1 + max(map(len, _QUOTES.findall(text)), default=0))
    return f"- Pinned:\n{marks}\n{text}\n{marks}"


def pinned_texts(previous: str | None) -> list[str]:
    """Return the texts that a summary keeps word for word."""
    return _parse(previous or "")[0]


def _parse(previous: str) -> tuple[list[str], list[Sentence]]:
    fixed: list[str] = []
    carried: list[Sentence] = []
    lines = iter(previous.split("\n"))
    for line in lines:
        if line == "- Pinned:":
            marks = next(lines, "")
            fixed.append("\n".join(iter(partial(next, lines, marks), marks)))
            continue
        if line.startswith("  ") and fixed and not carried:
            # A further line of a pinned text, as earlier versions wrote it.
            fixed[-1] += f"\n{line[2:]}"
            continue
        match = _LINE.match(line)
        if match is None:
            if line.strip() and not _NOTHING.match(line):
                carried.append(_carried(line.strip(), "Earlier", len(carried), False))
            continue
        if match["tag"] == "Pinned":
            fixed.append(line.removeprefix("- Pinned: "))
        else:
            speaker, text = match["speaker"] or "Earlier", match["text"]
            carried.append(_carried(text, speaker, len(carried), match["tag"] is not None))
    return fixed, carried


def _carried(text: str, speaker: str, order: int, question: bool) -> Sentence:
    terms = words(text)
    return Sentence(text, speaker, order, salience(text, speaker, terms) + 1.0, question, True, terms)


def _sentences(messages: Sequence[Message], start: int) -> Iterator[Sentence]:
    order = start
    for message in messages:
        for speaker, text in _spoken(message):
            for sentence in split(text):
                terms = words(sentence)
                score = salience(sentence, speaker, terms)
                yield Sentence(sentence, speaker, order, score, sentence.endswith(("?", "？")), False, terms)
                order += 1


def _spoken(message: Message) -> Iterator[tuple[str, str]]:
    results = message.tool_results
    for result in results:
        yield "Tool", text_of(result.content)[:2_000]
    if not results:
        yield _speaker(message), message.text


def _speaker(message: Message) -> str:
    if message.name and message.name.casefold() not in _RESERVED:
        return message.name.replace(":", " ").replace("\n", " ")[:40]
    if message.trust in ("web", "document", "tool"):
        return message.trust.capitalize()
    return message.role.capitalize()


def split(text: str) -> list[str]:
    """Split a text into sentences, each on one line. Very long sentences are cut at a word boundary."""
    out: list[str] = []
    for part in _BORDER.split(text[:20_000]):
        part = " ".join((part or "").split()).lstrip("-*•# ")
        if len(part) > MAX_SENTENCE_CHARACTERS:
            part = part[:MAX_SENTENCE_CHARACTERS].rsplit(" ", 1)[0] + "…"
        if len(part) > 2:
            out.append(part)
    return out


def _weigh_by_rarity(candidates: list[Sentence]) -> None:
    """Raise the score of sentences with rare words, and lower the score of sentences that differ only in numbers."""
    term_sets = [set(sentence.terms) for sentence in candidates]
    spread = Tally(word for terms in term_sets for word in terms)
    shapes = [_DIGITS.sub("#", sentence.text.casefold()) for sentence in candidates]
    alike = Tally(shapes)
    scale = math.log(len(candidates) + 1) or 1.0
    for sentence, terms, shape in zip(candidates, term_sets, shapes, strict=True):
        if terms:
            rarity = sum(math.log((len(candidates) + 1) / spread[word]) for word in sorted(terms)) / len(terms)
            sentence.score += 1.5 * rarity / scale
        if alike[shape] >= 3:
            sentence.score -= 2.0


def _open_questions(candidates: list[Sentence]) -> list[Sentence]:
    """Drop questions that share a word with a later statement by another speaker, and mark those that nobody has
    replied to as open. A reply does not have to share a word with its question. Questions from the assistant are never
    marked as open, because the reply may come after the summarised messages.
    """
    later: dict[str, set[str]] = {}
    out: list[Sentence] = []
    for sentence in reversed(candidates):
        if not sentence.question:
            later.setdefault(sentence.speaker, set()).update(sentence.terms)
            out.append(sentence)
            continue
        replies = [terms for speaker, terms in later.items() if speaker != sentence.speaker]
        if any(not terms.isdisjoint(sentence.terms) for terms in replies):
            continue
        sentence.question = not replies and sentence.speaker != "Assistant"
        sentence.score += 0.0 if sentence.carried else 1.0
        out.append(sentence)
    out.reverse()
    return out


def _newest_statements(candidates: list[Sentence]) -> list[Sentence]:
    """Keep only the newest of several statements about the same subject."""
    seen: set[str] = set()
    newest: list[Sentence] = []
    for sentence in reversed(candidates):
        subject = subject_of(sentence.text)
        if subject and subject in seen:
            continue
        if subject:
            seen.add(subject)
        newest.append(sentence)
    newest.reverse()
    return newest


def subject_of(text: str) -> str:
    """Return a key for the topic of a plain statement: its subject and kind of predicate; "" for other sentences."""
    match = _STATEMENT.match(_LEADING.sub("", text))
    if match is None:
        return ""
    parts = [word for word in re.findall(r"[\w']+", match["subject"].casefold()) if word not in _ARTICLES]
    if not parts or len(parts) > 8 or all(word in COMMON for word in parts):
        return ""
    return f"{' '.join(parts)} {_predicate(match['said'])}"


def _predicate(sentence: str) -> str:
    """Return the kind of predicate. Two numbers about a subject are a contradiction; a job and a name are not."""
    first = re.findall(r"\w+", _LEADING.sub("", sentence))[:1]
    if not first:
        return "other"
    word = first[0]
    if _NUMBER.search(sentence):
        return "number"
    if word[0].isupper():
        return "name"
    return "a" if word in ("a", "an", "the") else word if word in _RELATIONS else "word"


def _without_repeats(candidates: list[Sentence]) -> list[Sentence]:
    seen: set[str] = set()
    distinct: list[Sentence] = []
    for sentence in reversed(candidates):
        key = " ".join(sentence.terms) or sentence.text
        if key not in seen:
            seen.add(key)
            distinct.append(sentence)
    distinct.reverse()
    return distinct


def _fill(lines: list[str], candidates: list[Sentence], max_tokens: int, counter: Counter) -> str:
    """Return the best sentences that fit, in chronological order. A few are returned even if all scores are low."""
    room = max_tokens - sum(counter.count(line) + 1 for line in lines)
    chosen: list[Sentence] = []
    for sentence in sorted(candidates, key=lambda candidate: (-candidate.score, -candidate.order)):
        if sentence.score <= MIN_SCORE and len(chosen) >= MIN_LINES:
            break
        cost = counter.count(sentence.line()) + 1
        if cost <= room:
            room -= cost
            chosen.append(sentence)
    chosen.sort(key=lambda candidate: candidate.order)
    text = "\n".join([*lines, *(sentence.line() for sentence in chosen)])
    return text if counter.count(text) <= max_tokens or lines else ""
