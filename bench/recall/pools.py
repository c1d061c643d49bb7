"""Pools of benchmark questions through the production path, kept between runs while what makes them is unchanged."""

from __future__ import annotations

import hashlib
import pickle
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import msgspec

sys.path.insert(0, str(Path(__file__).parent))
from stored import Hands, aware, message_of

import memorist
from memorist import Memory
from memorist.checking import datasets
from memorist.checking.datasets import Conversation, Dataset, Question, Turn, load
from memorist.engine.recalling import Recalling
from memorist.recall.analyze import tokens
from memorist.recall.pool import Pool
from memorist.runtime import run_blocking
from memorist.stores.base import EntryFilter

SOURCE = Path(memorist.__file__).parent
POOL_SOURCES = ("recall/analyze.py", "recall/query.py", "recall/lexical.py",
           "recall/candidates.py", "recall/vectors.py", "languages/en/talk.toml", "embed/wordllama.py")  # fmt: skip
POOL_DEPTH = 50
Item = TypeVar("Item")
SMALL_MEMORIES, TURNS_BESIDE = 80, 2
"""How many small memories are made of a set, and how many turns on each side of the evidence they have."""
SMALL_SIZES = (5, 15, 50, 150)
"""How many turns small memories have, in turn, unless their evidence alone has more."""
STRANGER_QUESTIONS = 120
"""How many questions of other conversations are asked of the conversations of a set: they have no answer there."""
FOREIGN_QUESTIONS = 60
"""How many questions of other sets, and how many turns of small talk, are asked of the conversations of a set."""
FOREIGN_SETS = ("lme500.json", "realmem.json", "vehicle.json", "memorycode.json")
CHATTER_WORDS, CHATTER_TERMS = 8, 2
BATCH_MESSAGES = 200

_OWN = re.compile(r"\b(I'm|I've|I'd|I|me|my|mine)\b")
_NAMES = ("Anna", "Boris", "Clara", "David", "Elena", "Felix", "Greta", "Hugo")


@dataclass
class Case:
    """One question asked of one conversation."""

    data: str
    conversation: str
    pool: Pool | None
    units: list[str]
    """The evidence unit of each candidate: its turn or its session."""
    gold: frozenset[str]
    stale: frozenset[str] = frozenset()
    any_of: list[frozenset[str]] = field(default_factory=list)
    answers: tuple[str, ...] = ()
    texts: list[str] = field(default_factory=list)
    category: str = ""
    """`stranger` for a question of another conversation, `foreign` for one of another set, `chatter` for small talk of
    another conversation: none of them has an answer here."""


class Talk:
    """One conversation in a memory of its own, with the ids of its turns."""

    def __init__(self, level: str, talk: Conversation, memory: Memory, name: str) -> None:
        self.level, self.talk, self.memory, self.name = level, talk, memory, name
        self.turn_of: dict[str, str] = {}
        self._threads: dict[str, str] = {}
        self._session = {turn.id: turn.session for turn in talk.turns}
        self._text = {turn.id: turn.text for turn in talk.turns}

    def write(self, turns: Sequence[Turn]) -> None:
        """Append turns, one thread for each session."""
        for session in dict.fromkeys(turn.session for turn in turns):
            if session not in self._threads:
                self._threads[session] = f"s{len(self._threads):05}"  # the same ids on every run
                self.memory.threads.create("user:ada", id=self._threads[session])
            spoken = [turn for turn in turns if turn.session == session]
            for at in range(0, len(spoken), BATCH_MESSAGES):
                part = spoken[at : at + BATCH_MESSAGES]
                receipts = self.memory.threads.append(self._threads[session], *map(message_of, part))
                self.turn_of.update((r.message.id, turn.id) for r, turn in zip(receipts, part, strict=True))

    def ask(self, question: Question, *, category: str = "") -> Case:
        """The pool of a question, without the vectors of its candidates."""
        recalling = Recalling(self.memory._core)
        only = EntryFilter(("message",))
        pool = run_blocking(recalling.pool(question.text, namespaces="user:ada", entry_filter=only, top_k=POOL_DEPTH))
        turns: list[str] = []
        if pool is not None:
            pool.entries = [msgspec.structs.replace(entry, vector=None) for entry in pool.entries]
            turns = [self.turn_of[entry.id] for entry in pool.entries]
        units = turns if self.level == "turn" else [self._session[turn] for turn in turns]
        case = Case(self.name, self.talk.id, pool, units, frozenset(), texts=[self._text[turn] for turn in turns])
        if category:
            return replace(case, category=category)
        return replace(
            case, gold=question.gold, stale=question.stale, any_of=list(question.any_of), answers=question.answers,
            category=question.category,
        )  # fmt: skip


def cases_of(path: Path, embedder: str | None) -> Iterator[Case]:
    """Every question of a set, and questions of its other conversations, as cases."""
    derive = {".named": named, ".small": small}.get(path.suffix)
    data = load(path) if derive is None else derive(load(path))
    every = [(talk, question) for talk in data.conversations for question in talk.questions]
    foreign, chatter = unanswerable(path)
    for talk in data.conversations:
        clock = Hands()
        org = f"bench-{talk.id}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = Memory("memory://", org=org, embedder=embedder, clock=clock, worker=False, extract=None)
        with whole:
            conversation = Talk(data.level, talk, whole.scope(user="ada"), path.name)
            written, everything = 0, len(talk.turns)
            for question in sorted([*talk.questions, *talk.two_hops], key=lambda q: q.visible or everything):
                visible = everything if question.visible is None else question.visible
                if visible > written:
                    conversation.write(talk.turns[written:visible])
                    written = visible
                    clock.at = max([aware(t.timestamp) for t in talk.turns[:visible] if t.timestamp] or [clock.at])
                clock.ask(question.asked_at)
                yield conversation.ask(question)
            conversation.write(talk.turns[written:])
            clock.at = max([aware(t.timestamp) for t in talk.turns if t.timestamp] or [clock.at]) + timedelta(days=1)
            others = [question for other, question in every if _source(other) != _source(talk)]
            number = max(2, STRANGER_QUESTIONS // len(data.conversations))
            for question in others[:: max(1, len(others) // number)][:number]:
                yield conversation.ask(question, category="stranger")
            number = max(2, FOREIGN_QUESTIONS // len(data.conversations))
            at = data.conversations.index(talk)
            for question in _spread(foreign, number, at):
                yield conversation.ask(question, category="foreign")
            for question in _spread(chatter, number, at):
                yield conversation.ask(question, category="chatter")


def unanswerable(path: Path) -> tuple[list[Question], list[Question]]:
    """Questions of the other sets, and short turns of their chats that tell nothing ("Anytime, Nicole.")."""
    foreign: list[Question] = []
    chatter: dict[str, None] = {}
    for name in FOREIGN_SETS:
        if name.split(".")[0] == path.name.split(".")[0] or not (path.parent / name).exists():
            continue
        for talk in load(path.parent / name).conversations:
            foreign += talk.questions[:20]
            chatter.update((turn.text, None) for turn in talk.turns if _is_chatter(turn.text))
    return foreign, [Question(f"chatter-{number}", text, "chatter", frozenset()) for number, text in enumerate(chatter)]


def _source(talk: Conversation) -> str:
    """The conversation that a small memory was cut from."""
    return talk.id.partition("/")[0]


def _is_chatter(text: str) -> bool:
    return "?" not in text and len(text.split()) <= CHATTER_WORDS and len(tokens(text)) <= CHATTER_TERMS


def _spread(items: Sequence[Item], number: int, at: int) -> list[Item]:
    """So many items, evenly spread; other ones for each conversation."""
    step = max(1, len(items) // number)
    return [items[(index + at) % len(items)] for index in range(0, len(items), step)][:number] if items else []


def cached(path: Path, embedder: str | None = "default") -> list[Case]:
    """The cases of a set, made again only when the code that makes them has changed."""
    stamp = hashlib.blake2b(f"{path}{embedder}{STRANGER_QUESTIONS}".encode(), digest_size=8)
    for name in (*POOL_SOURCES,):
        stamp.update((SOURCE / name).read_bytes())
    stamp.update(Path(__file__).read_bytes())
    stamp.update(Path(datasets.__file__).read_bytes())
    file = Path(tempfile.gettempdir()) / "memorist-bench" / f"pools-{path.name}-{stamp.hexdigest()}.pickle"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps(list(cases_of(path, embedder))))
    cases: list[Case] = pickle.loads(file.read_bytes())
    return cases


def named(data: Dataset) -> Dataset:
    """Conversations of single people put together in pairs: each speaks under a name, and is asked about by it."""
    talks = []
    for number in range(0, len(data.conversations) - 1, 2):
        pair = data.conversations[number : number + 2]
        names = [_NAMES[number % len(_NAMES)], _NAMES[(number + 1) % len(_NAMES)]]
        turns: list[Turn] = []
        questions: list[Question] = []
        for talk, name in zip(pair, names, strict=True):
            turns += [
                Turn(f"{talk.id}/{t.id}", f"{talk.id}/{t.session}", name, t.text, t.timestamp) for t in talk.turns
            ]
            questions += [
                replace(q, text=_OWN.sub(name, q.text), gold=frozenset(f"{talk.id}/{gold}" for gold in q.gold))
                for q in talk.questions
            ]
        turns.sort(key=lambda turn: (turn.timestamp is not None, turn.timestamp))
        talks.append(Conversation("+".join(talk.id for talk in pair), turns, questions))
    return Dataset(f"{data.name}, named", data.level, talks)


def small(data: Dataset) -> Dataset:
    """Some questions, each with a memory of its own that has the evidence, the turns beside it and a few others."""
    questions = [(talk, question) for talk in data.conversations for question in talk.questions if question.gold]
    talks = []
    for number, (talk, question) in enumerate(questions[:: max(1, len(questions) // SMALL_MEMORIES)][:SMALL_MEMORIES]):
        turns = talk.turns[: question.visible]
        if data.level == "session":
            chosen = {index for index, turn in enumerate(turns) if turn.session in question.gold}
        else:
            gold = [index for index, turn in enumerate(turns) if turn.id in question.gold]
            chosen = {index + beside for index in gold for beside in range(-TURNS_BESIDE, TURNS_BESIDE + 1)}
        others = [index for index in range(len(turns)) if index not in chosen]
        room = SMALL_SIZES[number % len(SMALL_SIZES)] - len(chosen)
        if room > 0:
            chosen.update(_spread(others, room, number))
        near = [turn for index, turn in enumerate(turns) if index in chosen]
        talks.append(Conversation(f"{talk.id}/{question.id}", near, [replace(question, visible=None)]))
    return Dataset(f"{data.name}, small", data.level, talks)
