"""Evaluates requests with questions whose evidence is known. It measures how much of the evidence is sent, what else is
sent, and what it costs."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import msgspec

from ..blocking.memory import Memory
from ..errors import InvalidValue
from ..kinds import namespaced
from .datasets import Conversation, Dataset, load
from .stored import fresh

if TYPE_CHECKING:
    from ..context.context import Context

BUDGETS = (1000, 2000, 4000)
MIN_PIECE_CHARACTERS = 120
"""A request contains a long text if it contains this many consecutive characters of it."""
EVERYTHING = "ALL"
"""The name of the row for all categories combined."""
FORMAT = 1
_CATEGORY_COLUMNS = 26


class Evidence(msgspec.Struct, frozen=True):
    """Holds the evidence for a part of a question. It is the id of a record, or several texts, any one of which is
    enough."""

    texts: tuple[str, ...] = ()
    id: str = ""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """Holds a question of an evaluation. If it has no evidence, the right answer is that nothing is known."""

    id: str
    text: str
    category: str
    evidence: tuple[Evidence, ...]


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds one line of a question file."""

    question: str
    evidence: list[str] = []
    """These are ids of messages and facts, or texts."""
    category: str = "question"
    user: str | None = None
    id: str | None = None


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the measurements of one question at one budget."""

    id: str
    category: str
    budget: int
    evidence: float | None
    """This is the share of the evidence sent, or None for a question without evidence."""
    items: int
    false_hits: int
    """These recalled items are not evidence."""
    tokens: int
    memory_tokens: int
    milliseconds: float


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the averages of one category at one budget."""

    category: str
    budget: int
    questions: int
    evidence: float | None
    items: float
    false_hits: float
    tokens: float
    memory_tokens: float
    milliseconds: float


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the result of a run. It is saved, so that the next run can be compared with it."""

    format: int = FORMAT
    name: str
    rows: list[Row]
    measures: list[Measure]


def evaluate(
    name: str, asked_questions: Iterable[tuple[Question, Memory]], budgets: Sequence[int] = BUDGETS
) -> Evaluation:
    """Ask each question at each budget, and return the measurements."""
    measures: list[Measure] = []
    for question, memory in asked_questions:
        if not measures:
            # The first request of a process loads the encoder, which is no cost of the question.
            memory.context(question.text, budget=budgets[0])
        measures += [_measure(question, memory, budget) for budget in budgets]
    return Evaluation(name=name, rows=make_rows(measures), measures=measures)


def ask_lines(memory: Memory, path: Path) -> Iterator[tuple[Question, Memory]]:
    """Yield the questions about an existing store from a JSON Lines file. The user named in each question asks it."""
    for number, text in enumerate(path.read_bytes().splitlines(), start=1):
        if not text.strip():
            continue
        try:
            line = msgspec.json.decode(text, type=Line)
        except msgspec.DecodeError as problem:
            raise InvalidValue(f"{path.name}, line {number}: {problem}") from problem
        reader = memory if line.user is None else memory.scope(user=line.user)
        evidence = tuple(_evidence(memory, value) for value in line.evidence)
        yield Question(
            id=line.id or str(number), text=line.question, category=line.category, evidence=evidence
        ), reader  # fmt: skip


def ask_set(path: Path, *, sample: float = 1.0) -> Iterator[tuple[Question, Memory]]:
    """Yield the questions of a public dataset that have an answer. Each question is asked of a memory that contains
    everything said before it."""
    data = load(path)
    for talk in data.conversations:
        questions = [question for question in talk.questions if question.category != "adversarial"]
        questions = [question for question in questions if random.Random(question.id).random() < sample]
        if not questions:
            continue
        with fresh() as store:
            written = 0
            for question in sorted(questions, key=lambda question: question.visible or len(talk.turns)):
                visible = len(talk.turns) if question.visible is None else question.visible
                if visible > written:
                    store.write(talk.turns[written:visible])
                    written = visible
                store.clock.ask(question.asked_at)
                evidence = tuple(evidence_of(data, talk, unit, visible) for unit in sorted(question.gold))
                name = f"{talk.id}/{question.id}"
                yield Question(id=name, text=question.text, category=question.category, evidence=evidence), store.memory


def evidence_of(data: Dataset, talk: Conversation, unit: str, visible: int | None) -> Evidence:
    """Return the texts of a turn, or of all turns of a session."""
    turns = talk.turns[:visible]
    return Evidence(tuple(turn.text for turn in turns if (turn.id if data.level == "turn" else turn.session) == unit))


def make_rows(measures: Sequence[Measure]) -> list[Row]:
    """Return the averages by category and budget, with the averages of all questions last."""
    groups: dict[tuple[str, int], list[Measure]] = defaultdict(list)
    for measure in measures:
        groups[measure.category, measure.budget].append(measure)
        groups[EVERYTHING, measure.budget].append(measure)
    order = sorted(groups, key=lambda key: (key[0] == EVERYTHING, *key))
    return [_row(category, budget, groups[category, budget]) for category, budget in order]


def read_evaluation(path: Path) -> Evaluation:
    """Return the result of an earlier run."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Evaluation)
    except msgspec.DecodeError as problem:
        raise InvalidValue(f"{path.name} was not written by `memorist eval --save`: {problem}") from problem


def worse_questions(before: Evaluation, after: Evaluation) -> list[tuple[Measure, Measure]]:
    """Return the questions for which less evidence is sent than before, with both measurements."""
    earlier = {(measure.id, measure.budget): measure for measure in before.measures}
    pairs = [(earlier[key], measure) for measure in after.measures if (key := (measure.id, measure.budget)) in earlier]
    return [(then, now) for then, now in pairs if (now.evidence or 0.0) < (then.evidence or 0.0)]


def report_lines(after: Evaluation, before: Evaluation | None = None) -> Iterator[str]:
    """Yield a table for people. With an earlier run, it also shows the change in evidence, in percentage points."""
    earlier = {(row.category, row.budget): row for row in before.rows} if before else {}
    change = "  change" if before else ""
    yield f"{after.name}: {len({measure.id for measure in after.measures})} questions"
    yield f"{'category':<{_CATEGORY_COLUMNS}} budget  questions  evidence{change}  false hits  tokens  memory      ms"
    for row in after.rows:
        then = earlier.get((row.category, row.budget))
        points = f"  {_points(row, then):>6}" if before else ""
        share = "     –" if row.evidence is None else f"{100 * row.evidence:5.1f} %"
        yield (
            f"{row.category:<{_CATEGORY_COLUMNS}} {row.budget:>6} {row.questions:>10}  {share:>8}{points}"
            f"  {row.false_hits:>10.1f}  {row.tokens:>6.0f}  {row.memory_tokens:>6.0f}  {row.milliseconds:>6.0f}"
        )


def _points(row: Row, then: Row | None) -> str:
    if then is None or row.evidence is None or then.evidence is None:
        return "–"
    return f"{100 * (row.evidence - then.evidence):+.1f}"


def _measure(question: Question, memory: Memory, budget: int) -> Measure:
    start = time.perf_counter()
    context = memory.context(question.text, budget=budget)
    spent = 1000 * (time.perf_counter() - start)
    request = request_text(context)
    sources = {line.source for line in context.profile} | {item.source for item in context.memory_items}
    present = [_is_sent(part, request, sources) for part in question.evidence]
    false_hits = sum(
        not any(part.id == item.source or _is_part_of(item.text, part) for part in question.evidence)
        for item in context.memory_items
    )
    memory_tokens = sum(report.tokens for report in context.manifest.sections if report.name in ("memory", "profile"))
    return Measure(
        id=question.id, category=question.category, budget=budget, evidence=fmean(present) if present else None,
        items=len(context.memory_items), false_hits=false_hits, tokens=context.tokens, memory_tokens=memory_tokens,
        milliseconds=spent,
    )  # fmt: skip


def request_text(context: Context) -> str:
    """Return the whole request except the question, as one text with single spaces."""
    return plain(" ".join(str(message["content"]) for message in context.messages(merge=False)[:-1]))


def holds(request: str, text: str) -> bool:
    """Return whether a request contains a text, or a sufficiently long part of it."""
    plain_text = plain(text)
    if plain_text in request:
        return True
    last = len(plain_text) - MIN_PIECE_CHARACTERS
    return any(plain_text[start : start + MIN_PIECE_CHARACTERS] in request for start in range(last + 1))


def plain(text: str) -> str:
    """Return a text with single spaces, for comparisons."""
    return " ".join(text.split())


def _is_sent(part: Evidence, request: str, sources: set[str]) -> bool:
    return (bool(part.id) and part.id in sources) or any(holds(request, text) for text in part.texts)


def _is_part_of(item: str, part: Evidence) -> bool:
    """Return whether a recalled item is one of the evidence texts, or a passage from one."""
    return any(plain(item) in plain(text) or holds(plain(item), text) for text in part.texts)


def _evidence(memory: Memory, value: str) -> Evidence:
    """Return evidence by the id of a message or fact, or by its text."""
    message = memory.threads.message(value) if "#" in value else None
    if message is not None:
        return Evidence((message.text,), message.id)
    is_id = " " not in value and any(key for _, key in namespaced(value))
    return Evidence((), value) if is_id else Evidence((value,))


def _row(category: str, budget: int, measures: Sequence[Measure]) -> Row:
    shares = [measure.evidence for measure in measures if measure.evidence is not None]
    return Row(
        category=category, budget=budget, questions=len(measures), evidence=fmean(shares) if shares else None,
        items=fmean(measure.items for measure in measures),
        false_hits=fmean(measure.false_hits for measure in measures),
        tokens=fmean(measure.tokens for measure in measures),
        memory_tokens=fmean(measure.memory_tokens for measure in measures),
        milliseconds=fmean(measure.milliseconds for measure in measures),
    )  # fmt: skip
