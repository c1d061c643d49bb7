"""Reads datasets of conversations, questions and known evidence, in the LoCoMo, LongMemEval or neutral format."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import InvalidValue


@dataclass(frozen=True)
class Turn:
    """Holds one turn of a conversation."""

    id: str
    session: str
    speaker: str
    text: str
    timestamp: datetime | None = None


@dataclass(frozen=True)
class Question:
    """Holds a question, and the turns or sessions that answer it."""

    id: str
    text: str
    category: str
    gold: frozenset[str]
    asked_at: datetime | None = None
    visible: int | None = None
    stale: frozenset[str] = frozenset()
    """These turns contain information that is no longer true."""
    any_of: tuple[frozenset[str], ...] = ()
    """One turn from each of these groups is enough."""
    answers: tuple[str, ...] = ()


@dataclass
class Conversation:
    """Holds a conversation and the questions about it."""

    id: str
    turns: list[Turn]
    questions: list[Question] = field(default_factory=list)
    two_hops: list[Question] = field(default_factory=list)
    """These questions have a known answer but no evidence."""


@dataclass
class Dataset:
    """Holds a set of conversations."""

    name: str
    level: str
    """The evidence consists of turns (`turn`) or sessions (`session`)."""
    conversations: list[Conversation]


def load(path: Path) -> Dataset:
    """Read a file, and detect its format from its structure.

    Raises `InvalidValue` if the format is unknown.
    """
    try:
        return _read(path, json.loads(path.with_suffix(".json").read_text(encoding="utf-8")))
    except json.JSONDecodeError as problem:
        raise InvalidValue(f"{path.name} is not JSON: {problem}") from problem
    except (KeyError, IndexError, TypeError) as problem:
        raise InvalidValue(f"{path.name}: an entry is incomplete: {type(problem).__name__}: {problem}") from problem


def _read(path: Path, raw: object) -> Dataset:
    if isinstance(raw, dict) and "evidence" in raw:
        return _neutral(raw)
    if isinstance(raw, list) and raw and "qa" in raw[0]:
        return Dataset("locomo", "turn", [_locomo(i, sample) for i, sample in enumerate(raw)])
    if isinstance(raw, list) and raw and "haystack_sessions" in raw[0]:
        return Dataset("longmemeval", "session", [_longmemeval(item) for item in raw])
    raise InvalidValue(f"{path.name}: not LoCoMo, LongMemEval or the neutral format")


def _neutral(raw: Any) -> Dataset:
    talks = []
    for talk in raw["conversations"]:
        turns = [Turn(t["id"], t["session"], t["speaker"], t["text"], _iso(t["at"])) for t in talk["turns"]]
        questions, two_hops = ([_question(q) for q in talk.get(part, ())] for part in ("questions", "two_hops"))
        talks.append(Conversation(talk["id"], turns, questions, two_hops))
    return Dataset(raw["name"], "session" if raw["evidence"].startswith("session") else "turn", talks)


def _question(q: Any) -> Question:
    answer = q.get("answer") or ()
    return Question(
        q["id"], q["text"], q["category"], frozenset(q["gold"]), _iso(q["asked_at"]), q["visible_turns"],
        frozenset(q.get("stale", ())), tuple(frozenset(group) for group in q.get("gold_any", ())),
        (answer,) if isinstance(answer, str) else tuple(answer),
    )  # fmt: skip


_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


def _locomo(number: int, sample: Any) -> Conversation:
    talk = sample["conversation"]
    keys = sorted((k for k in talk if re.fullmatch(r"session_\d+", k)), key=lambda k: int(k.split("_")[1]))
    turns = []
    for key in keys:
        at = _spoken(talk.get(f"{key}_date_time", ""))
        for turn_data in talk[key]:
            caption = f" [shares a photo: {turn_data['blip_caption']}]" if turn_data.get("blip_caption") else ""
            turns.append(Turn(turn_data["dia_id"], key, turn_data["speaker"], turn_data["text"] + caption, at))
    turn_ids = {turn.id for turn in turns}
    questions = []
    for i, qa in enumerate(sample["qa"]):
        gold = frozenset(e for cited in qa.get("evidence", []) for e in re.findall(r"D\d+:\d+", cited)) & turn_ids
        if gold:
            category = _CATEGORIES.get(qa["category"], "other")
            questions.append(Question(f"{number}-{i}", qa["question"], category, gold, turns[-1].timestamp))
    return Conversation(str(sample.get("sample_id", number)), turns, questions)


def _longmemeval(item: Any) -> Conversation:
    turns = []
    for session, date, turn_data in zip(
        item["haystack_session_ids"], item["haystack_dates"], item["haystack_sessions"], strict=True
    ):
        at = _stamped(date)
        turns += [Turn(f"{session}#{i}", session, t["role"], t["content"], at) for i, t in enumerate(turn_data)]
    gold = frozenset(item["answer_session_ids"])
    question = Question(
        item["question_id"], item["question"], item["question_type"], gold, _stamped(item["question_date"])
    )
    return Conversation(item["question_id"], turns, [question])


def _iso(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _spoken(text: str) -> datetime | None:
    """Parse a time such as `1:56 pm on 8 May, 2023`."""
    return datetime.strptime(text.upper(), "%I:%M %p ON %d %B, %Y") if text else None


def _stamped(text: str) -> datetime | None:
    """Parse a time such as `2023/05/30 (Tue) 23:40`."""
    return datetime.strptime(re.sub(r"\s*\(\w+\)", "", text), "%Y/%m/%d %H:%M") if text else None
