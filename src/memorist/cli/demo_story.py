"""Writes the demo file, which covers ten weeks at a hospital and the cases that operators meet when they inspect a
memory.

It contains several users and sessions, a corrected fact that a later message about a trip overwrote, a long thread with
a summary, a task that was killed halfway and resumed, documents, working memory, messages whose extraction failed, and
memories that are waiting for review.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from ..context.report import shared_tokens
from ..engine.noun import core_of
from ..engine.sessions.assembling import Recall
from ..extract.extraction import Extraction
from ..messages.message import Message
from ..messages.reports import Piece
from ..records import RequestLog
from ..runtime import run_blocking
from ..values import Json, JsonObject
from .demo_words import CALLS, DOCUMENTS, FIRST, LAUNCH, MOVING, ORDERS, PEOPLE, STOCK, SYSTEM, TOOLS, WARDS

if TYPE_CHECKING:
    from ..blocking.memory import Memory
    from ..context.context import Context

Said = tuple[str, str]
MISREAD = "I'm in Porto until Friday"
PROPOSED: dict[str, JsonObject] = {
    "I am allergic to latex": {
        "key": "allergy.latex", "value": "latex", "text": "Inês is allergic to latex.", "confidence": 0.9,
    },
    "I moved to Braga last week": {
        "key": "location", "value": "Braga", "text": "Inês lives in Braga.", "confidence": 0.85,
    },
}  # fmt: skip
UNREADABLE = ("night shift", "supplier rating", "holiday list")


class StoryClock:
    """Represents a clock that the story sets."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def at(self, days: float, hour: int, minute: int = 0) -> None:
        """Set the clock to a time of day, `days` before the end of the story."""
        day = (self.end - timedelta(days=days)).replace(hour=hour, minute=minute, second=0, microsecond=0)
        self.now = day

    def on(self, seconds: float = 45) -> None:
        """Advance the clock."""
        self.now += timedelta(seconds=seconds)

    @property
    def end(self) -> datetime:
        return self._end

    @end.setter
    def end(self, moment: datetime) -> None:
        self._end = moment


def tell(path: str, *, now: datetime | None = None, people: int = len(PEOPLE)) -> None:
    """Write the story into a new file, as if it had happened in the ten weeks before `now`."""
    clock = StoryClock(datetime.now(UTC) if now is None else now)
    clock.end = clock.now
    dice = random.Random(7)
    with _memory(path, clock) as memory:
        _knowledge(memory, clock)
        _first_talk(memory, clock)
        _passers_by(memory, clock, dice, people)
        _moving(memory, clock)
        _orders(memory, clock, dice)
        _launch_plan(memory, clock)
        _week(memory, clock, dice)
    with _memory(path, clock, model=_reader()) as memory:
        _trip(memory, clock)
        _unread(memory, clock)
    with _memory(path, clock) as memory:
        _today(memory, clock)
    with _memory(path, clock, model=_proposals, extract=Extraction(admit="review")) as memory:
        _under_review(memory, clock)
    _task(path, clock)


@contextmanager
def _memory(
    path: str, clock: StoryClock, model: Callable[[str], Any] | None = None, extract: Any = "auto"
) -> Iterator[Memory]:
    from ..blocking.memory import Memory

    with Memory(path, clock=clock, model=model, extract=extract, worker=False) as memory:
        yield memory


def _settle(memory: Memory, clock: StoryClock) -> None:
    """Move the clock by a few seconds, and run the waiting jobs."""
    clock.on(3)
    memory.jobs.drain()


def _thread(memory: Memory, user: str, title: str, **metadata: Json) -> str:
    return memory.threads.create(f"user:{user}", title=title, metadata=metadata).id


def _talk(memory: Memory, clock: StoryClock, thread: str, turns: Sequence[Said], pause: float = 40) -> None:
    for question, answered in turns:
        memory.threads.append(thread, {"role": "user", "content": question})
        clock.on(4)
        memory.threads.append(thread, {"role": "assistant", "content": answered})
        clock.on(pause)


def _knowledge(memory: Memory, clock: StoryClock) -> None:
    clock.at(107, 9)
    for title, text in DOCUMENTS:
        memory.documents.add("global", text, title=title, source=f"handbook/{title.lower().replace(' ', '-')}.md")
    _settle(memory, clock)


def _first_talk(memory: Memory, clock: StoryClock) -> None:
    clock.at(75, 10, 14)
    thread = _thread(memory, "ada", "First talk")
    _talk(memory, clock, thread, FIRST)
    _settle(memory, clock)
    ada = memory.scope(user="ada")
    ada.facts.set("user:ada", "launch.budget", "4,200 euros", confidence=0.9, source=f"{thread}#7")
    ada.facts.set("user:ada", "launch.date", "3 March 2027", confidence=0.9, source=f"{thread}#7")
    _settle(memory, clock)


def _passers_by(memory: Memory, clock: StoryClock, dice: random.Random, people: int) -> None:
    """Write occasional chats by colleagues."""
    for number, (user, name, city, work, wish) in enumerate(PEOPLE[:people]):
        clock.at(60 - number * 2, 8 + number % 9, dice.randrange(60))
        thread = _thread(memory, user, f"{dice.choice(WARDS)}, week {40 + number % 6}")
        turns = [(f"Hello, I'm {name}. I live in {city} and I work as a {work}.", f"Hello {name.split()[0]}.")]
        if wish:
            turns.append((wish, "Noted."))
        turns += [_order(dice, 1 + number % 5) for _ in range(2 + number % 4)]
        _talk(memory, clock, thread, turns)
    _settle(memory, clock)


def _order(dice: random.Random, ward: int) -> Said:
    item, count = dice.choice(STOCK), dice.randrange(2, 9)
    question = dice.choice(ORDERS).format(count=count, item=item, ward=ward)
    return (
        question,
        f"Done: {count} boxes of {item} for ward {ward}, they arrive {dice.choice(('Monday', 'Thursday'))}.",
    )


def _moving(memory: Memory, clock: StoryClock) -> None:
    clock.at(44, 8, 52)
    thread = _thread(memory, "ada", "Moving to Lisbon")
    _talk(memory, clock, thread, MOVING)
    _settle(memory, clock)
    memory.facts.set("user:ada", "delivery.address", "R. do Século 79, Lisboa")
    _settle(memory, clock)


def _orders(memory: Memory, clock: StoryClock, dice: random.Random) -> None:
    clock.at(17, 9)
    thread = _thread(memory, "ada", "Mask orders, week 44")
    _talk(memory, clock, thread, [_order(dice, 1 + n % 5) for n in range(29)], pause=300)
    _fold(memory, thread, room=1100)
    _settle(memory, clock)


def _launch_plan(memory: Memory, clock: StoryClock) -> None:
    clock.at(7, 11, 20)
    thread = _thread(memory, "ada", "Launch plan")
    _talk(memory, clock, thread, LAUNCH, pause=90)
    _settle(memory, clock)
    memory.facts.correct("user:ada", "launch.date", "10 March 2027", reason="moved by a week, see the launch plan")
    memory.scope(user="ada").learnings.add("Asks for a tracking number with every delivery", type="pattern")
    _settle(memory, clock)


def _week(memory: Memory, clock: StoryClock, dice: random.Random) -> None:
    """Write four days of orders in one thread, with a summary of its oldest part and tool results too long to send."""
    clock.at(5, 9, 2)
    thread = _thread(memory, "ada", "Launch and ward orders", system=SYSTEM, tools=TOOLS)
    plan = ("The launch is on 10 March now. Budget stays at 4,200 euros.", "Noted: 10 March, 4,200 euros.")
    _talk(memory, clock, thread, [plan, *(_order(dice, 1 + n % 5) for n in range(25))], pause=200)
    clock.at(5, 18, 20)
    _fold(memory, thread, room=1250)
    clock.at(4, 9, 2)
    _talk(memory, clock, thread, [_order(dice, 2) for _ in range(3)])
    for call in CALLS:
        _exchange(memory, clock, thread, call)
    clock.on(120)
    _talk(memory, clock, thread, [("Boxes hold 50, not 100, so order three boxes.", "Three boxes of 50 for ward 3.")])
    memory.scope(user="ada").learnings.add(
        "Boxes hold 50 masks, not 100", type="correction", confidence=1.0, source=f"{thread}#67"
    )
    _talk(memory, clock, thread, [_order(dice, 1 + n % 5) for n in range(8)], pause=900)
    clock.at(2, 16, 58)
    memory.facts.set("user:ada", "shift.pattern", {"days": ["Mon", "Tue", "Thu"], "from": "07:00"}, confidence=0.74)
    left = clock.end + timedelta(hours=6) - clock.now
    memory.facts.set("user:ada", "supplier.rating", "4.6 of 5", confidence=0.55, ttl=left)
    _talk(memory, clock, thread, [("When is the supplier call?", "The supplier call is on Wednesday at 11:00.")])
    _settle(memory, clock)


def _exchange(memory: Memory, clock: StoryClock, thread: str, call: JsonObject) -> None:
    """Return a question, the call it led to, its result, and the answer."""
    tool_call = {
        "id": call["id"],
        "type": "function",
        "function": {"name": call["name"], "arguments": call["arguments"]},
    }
    memory.threads.append(
        thread,
        {"role": "user", "content": call["question"]},
        {"role": "assistant", "content": None, "tool_calls": [tool_call]},
        {"role": "tool", "tool_call_id": call["id"], "content": call["result"]},
        {"role": "assistant", "content": call["answer"]},
    )
    clock.on(60)


def _fold(memory: Memory, thread: str, *, room: int) -> None:
    from ..engine.derive.folding import Folding

    run_blocking(Folding(core_of(memory)).fold(thread, room_tokens=room, compact_at=0.8, compact_to=0.45))


def _reader() -> Callable[[str], object]:
    """Return a fake model that mistakes a trip for a move, and refuses to read some messages."""

    def read(prompt: str) -> object:
        from ..models.remote import model_error

        new = prompt[prompt.rindex("# NEW") :]
        if any(words in new for words in UNREADABLE):
            raise model_error("openai:gpt-5-mini", "refused to answer", reason="refusal")
        number = re.search(rf"^(m\d+) [^\n]*{re.escape(MISREAD)}", new, re.MULTILINE)
        if number is None:
            return {"operations": []}
        trip = {"op": "add", "m": number[1], "quote": MISREAD, "kind": "fact", "subject": "user", "key": "location"}
        return {"operations": [{**trip, "value": "Porto", "text": "The user lives in Porto.", "confidence": 0.82}]}

    return read


def _proposals(prompt: str) -> object:
    """Return a fake model that notes the contents of `PROPOSED`."""
    new = prompt[prompt.rindex("# NEW") :]
    operations = []
    for quote, fields in PROPOSED.items():
        if number := re.search(rf"^(m\d+) [^\n]*{re.escape(quote)}", new, re.MULTILINE):
            operations.append(
                {"op": "add", "m": number[1], "quote": quote, "kind": "fact", "subject": "user", **fields}
            )
    return {"operations": operations}


def _trip(memory: Memory, clock: StoryClock) -> None:
    clock.at(2, 17, 8)
    thread = _newest(memory)
    turns = (
        ("I'm in Porto until Friday for the training. Can we move the call?", "Moved to Thursday 15:00."),
        ("Yes, please tell Ruben.", "Done, Ruben knows."),
    )
    for question, answered in turns:
        _sent(memory, thread, question)
        _settle(memory, clock)
        memory.threads.append(thread, {"role": "assistant", "content": answered})
        _settle(memory, clock)


def _sent(memory: Memory, thread: str, text: str) -> None:
    """Append a user's message with the memory recalled for it, as a session does in the cached layout."""
    ada = memory.scope(user="ada")
    context = ada.context(
        text, thread=thread, system=SYSTEM, tools=TOOLS, budget=6000, layout="cached", recall=Recall(top_k=2)
    )
    _report(memory, thread, context)
    memory.threads.append(thread, context.attach(Message(role="user", content=text)))


def _report(memory: Memory, thread: str, context: Context) -> None:
    """Report usage as a provider would if the part shared with the previous request came from its cache."""
    log = run_blocking(core_of(memory).get(RequestLog, thread))
    before = [] if log is None else msgspec.convert(log.pieces, list[Piece])
    cached = shared_tokens(before, context.pieces)
    usage = {
        "input_tokens": 40, "output_tokens": 60, "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": max(0, context.tokens - cached - 40),
    }  # fmt: skip
    memory.threads.report(thread, usage, pieces=context.pieces, model="claude-sonnet-4-5")


def _newest(memory: Memory) -> str:
    return memory.threads.list("user:ada", by="updated_at", reverse=True, limit=1)[0].id


def _unread(memory: Memory, clock: StoryClock) -> None:
    """Write three messages that the model refuses to read, so that they become dead letters."""
    turns = (
        ("joao", "Night shift handover", "From now on I take the night shift on Tuesdays."),
        ("mei", "Supplier questions", "My supplier rating for Nordmed is 4.6 of 5."),
        ("ines", "Leave requests", "Put me on the holiday list for the first week of May."),
    )
    clock.at(1, 20, 5)
    for user, title, text in turns:
        _talk(memory, clock, _thread(memory, user, title), [(text, "I will see to it.")])
    memory.jobs.drain()


def _today(memory: Memory, clock: StoryClock) -> None:
    clock.now = clock.end - timedelta(minutes=40)
    _talk(memory, clock, _thread(memory, "joao", "Beds"), [("How many beds are free on ward 2?", "Four.")])
    memory.facts.set("user:mei", "shift.pattern", {"days": ["Mon", "Tue"], "from": "07:00"})
    memory.facts.correct("user:mei", "shift.pattern", {"days": ["Mon", "Tue", "Thu"], "from": "07:00"})
    ada = memory.scope(user="ada")
    used = ada.learnings.list()
    for _ in range(6):
        ada.learnings.used([learning.id for learning in used if learning.type == "preference"])
    ada.working.set(
        {
            "current_page": {"route": "Orders, week 46"},
            "plan": [{"text": "samples", "status": "active"}, {"text": "supplier call", "status": "pending"}],
            "recent_actions": [{"action": "opened ward 3"}, {"action": "edited order 1187"}],
        }
    )
    ada.state.set("ui.theme", "dark")
    ada.state.increment("orders.placed", 31)
    memory.records.put("user:ada", ("orders", 1187), {"ward": 3, "item": "FFP2 masks", "boxes": 3})
    memory.records.put("user:ada", ("orders", 1188), {"ward": 5, "item": "gloves", "boxes": 4})
    _settle(memory, clock)
    memory.forget(user=PEOPLE[-1][0])


def _under_review(memory: Memory, clock: StoryClock) -> None:
    """Write two memories awaiting approval, two duplicates, and two events."""
    turns = (
        ("I am allergic to latex.", "Noted, it needs to be confirmed."),
        ("I moved to Braga last week.", "Thank you, I will have that checked."),
    )
    clock.now = clock.end - timedelta(minutes=25)
    _talk(memory, clock, _thread(memory, "ines", "Occupational health"), turns)
    _settle(memory, clock)
    joao = memory.scope(user="joao")
    joao.learnings.add("Prefers the handover as a short list")
    joao.learnings.add("Prefers the handover as a short list.")
    ada = memory.scope(user="ada")
    ada.events.add("Training in Porto", starts_at=clock.end - timedelta(days=2), people=["Ruben"], location="Porto")
    ada.events.add("Call with the supplier", starts_at=clock.end + timedelta(days=1), status="planned")


KILLED = """
import os, signal, sys
from datetime import datetime, timedelta
from memorist import Memory
path, start, stop, *items = sys.argv[1:]
now = datetime.fromisoformat(start)
with Memory(path, clock=lambda: now, worker=False) as memory:
    with memory.tasks.run("import-crm", lease=30, keep="all", state={"imported": 0}) as run:
        for item in run.remaining(items):
            with run.batch():
                run.state["imported"] += 1
                run.state["last"] = item
                run.complete(item)
            now += timedelta(seconds=7)
            if item == stop:
                os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
"""


def _task(path: str, clock: StoryClock) -> None:
    """Write an import of eight customers whose process is killed after the fourth and resumed by another."""
    items = [f"customer-{number:02}" for number in range(1, 9)]
    for stop, minutes in ((items[3], 30), ("", 28)):
        start = (clock.end - timedelta(minutes=minutes)).isoformat()
        subprocess.run([sys.executable, "-c", KILLED, path, start, stop, *items], check=not stop)
