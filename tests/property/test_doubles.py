"""Random talks × layouts × policies × budgets: no text of a message stands in a request twice, and none is lost."""

from __future__ import annotations

import os
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorist.context.context import Context
from memorist.context.items import MemoryItem
from memorist.context.policies import Chain, ElideToolResults, Fifo, Importance, SlidingWindow, Summarize, VectorSwap
from memorist.context.profile import ProfileLine
from memorist.context.reading import Reading
from memorist.errors import BudgetError
from memorist.messages.message import Message, as_message

EXAMPLES = int(os.environ.get("MEMORIST_CONTEXT_EXAMPLES", "1200")) // 6
POLICIES: dict[str, Any] = {
    "default": None,
    "fifo": Fifo(5),
    "sliding": SlidingWindow(),
    "sliding 300": SlidingWindow(300),
    "summarize": Summarize(),
    "summarize half": Summarize(threshold=0.5, fraction=0.5),
    "swap": VectorSwap(keep=3, k=2),
    "importance": Importance(lambda unit: float(unit.tokens % 17)),
    "elide": ElideToolResults(50),
    "chain": Chain(Fifo(8), Importance()),
}
WORDS = "the ledger of the harbour was paid in May and nobody asked who had signed it before the storm came".split()


def text_of(name: str, size: int) -> str:
    """A sentence that no other message has."""
    return f"Note {name} says {' '.join(WORDS[(size + index) % len(WORDS)] for index in range(size))}."


class Talk:
    """A thread that grows by its own requests, and what recall could bring: its own messages, strangers, passages."""

    def __init__(self, sizes: list[int]) -> None:
        self.thread = [
            Message(thread="t", seq=n, role="user" if n % 2 else "assistant", content=text_of(f"t{n}", size))
            for n, size in enumerate(sizes, 1)
        ]
        self.strangers = [
            Message(thread="s", seq=n, role="user", content=text_of(f"s{n}", size)) for n, size in enumerate(sizes, 1)
        ]
        self.passages = [
            MemoryItem(text_of(f"d{n}", size), "document", "handbook.md", id=f"d1/{n}", passage=n)
            for n, size in enumerate(sizes[::2], 1)
        ]

    def items(self, scores: list[float]) -> list[MemoryItem]:
        """Everything that could be recalled, the best first."""
        items = [
            MemoryItem(message.text, "message", message.id, "user", None, "")
            for message in (*self.thread, *self.strangers)
        ] + self.passages
        items += [
            MemoryItem(
                f"topic: {' '.join(message.text.split()[:3])}", "fact", f"user:ada/{message.id}", said_in=message.id
            )
            for message in (*self.thread[::3], *self.strangers[::3])
        ]
        scored = [
            msgspec.structs.replace(item, score=scores[index % len(scores)] / (1 + index))
            for index, item in enumerate(items)
        ]
        return sorted(scored, key=lambda item: -(item.score or 0))

    def ask(self, question: str, **options: Any) -> Context:
        reading = Reading(input=question, thread="t", **options)
        unread = self.thread[::-1]
        while count := reading.wants():
            page, unread = unread[:count], unread[count:]
            reading.feed(page, more=bool(unread))
        return reading.finish()

    def add(self, context: Context, question: str, answer: str) -> None:
        for message in (context.attach(as_message(question)), as_message({"role": "assistant", "content": answer})):
            self.thread.append(msgspec.structs.replace(message, thread="t", seq=len(self.thread) + 1))

    def texts(self) -> list[str]:
        return [
            *(message.text for message in (*self.thread, *self.strangers)),
            *(message.text for message in self.passages),
        ]


def request_text(context: Context) -> str:
    return "\n".join(str(message.get("content")) for message in context.messages(merge=False)).replace("\n  ", "\n")


def told_once(request: str, context: Context) -> str:
    """The request; in the cached layout without profile and summary, which may come to say what a turn was told before.

    What was sent stays as it was, or the prompt cache would be lost for a line.
    """
    later = (context.profile_message, context.summary_message) if context.layout == "cached" else ()
    for message in later:
        request = request.replace(message.text, "") if message is not None else request
    return request


@pytest.mark.parametrize("layout", ["standard", "cached"])
@pytest.mark.parametrize("policy", sorted(POLICIES))
@settings(max_examples=max(10, EXAMPLES // 8), deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=2, max_size=30),
    budgets=st.lists(st.integers(150, 3_000), min_size=1, max_size=6),
    scores=st.lists(st.floats(0.01, 0.99), min_size=1, max_size=7),
    about=st.booleans(),
)
def test_no_text_of_a_message_is_sent_twice(
    policy: str, layout: str, sizes: list[int], budgets: list[int], scores: list[float], about: bool
) -> None:
    talk = Talk(sizes)
    for turn, budget in enumerate(budgets):
        question = f"Question {turn} of the harbour?"
        lines = [ProfileLine(talk.strangers[0].text, "wishes", "user:ada/1")] if about else []
        options: dict[str, Any] = {"policy": POLICIES[policy], "layout": layout, "profile": lines}
        try:
            context = talk.ask(question, budget=budget, memory=talk.items(scores), **options)
        except BudgetError:
            continue
        assert context.tokens <= budget
        request = request_text(context)
        sent_text, summed = told_once(request, context), context.summary_message.text if context.summary_message else ""
        assert not [text for text in talk.texts() if sent_text.count(text) > 1], context.explain()
        assert not [text for text in talk.texts() if text in summed and text in context.memory_text]
        assert not [line for line in context.profile if line.text in context.memory_text]
        for fate in context.recalled:
            if fate.reason.startswith("in the"):
                text = fate.item.text.removeprefix("topic: ")
                assert text in request, "left out as said elsewhere, which it is not"
        whole = {message.id for message in context.history if message.thread}
        assert not [item for item in context.memory_items if item.said_in in whole], "said by a message that is sent"
        talk.add(context, question, text_of(f"a{turn}", sizes[turn % len(sizes)]))
