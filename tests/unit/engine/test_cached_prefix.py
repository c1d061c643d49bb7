"""With `layout="cached"` a request begins as the one before did: system, block, and the history that both keep."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from memorist import Context, Memory, Message, TokenBudget
from memorist.context.prefix import Prefix, shared_prefix
from memorist.context.tokens import open_counter
from memorist.stores.memory import MemoryStore

# Memory has a limit: else it takes all the room that the window leaves, and fills it when stored with its turn.
BUDGET = TokenBudget(4_500, memory=256, output_reserve=300)
TURNS = 80
WORDS = "invoice order ledger shipment refund customer contract schema index replica queue token session".split()
COUNTER = open_counter("estimate")
Pair = tuple[Context, Context, Prefix]


class _Threads:
    """Plain contexts of a thread, each input stored with what was recalled for it, or without."""

    def __init__(self, memory: Memory, attached: bool) -> None:
        self.memory, self.attached = memory, attached
        self.thread = memory.threads.create("user:ada").id

    def ask(self, text: str) -> Context:
        return self.memory.context(text, thread=self.thread, system="You help.", budget=BUDGET, layout="cached")

    def add(self, context: Context, text: str, answer: str) -> None:
        spoken = Message(role="user", content=text)
        self.memory.threads.append(self.thread, context.attach(spoken) if self.attached else spoken)
        self.memory.threads.append(self.thread, {"role": "assistant", "content": answer})


class _Session:
    """The same in a session, which folds."""

    def __init__(self, memory: Memory) -> None:
        self.talk = memory.session(user="ada", system="You help.", budget=BUDGET).start()

    def ask(self, text: str) -> Context:
        return self.talk.context(text)

    def add(self, context: Context, text: str, answer: str) -> None:
        self.talk.add(text, answer)


def _pairs(kind: str) -> Iterator[Pair]:
    """Successive requests of one talk; now and then something is told that changes the block."""
    dice, before = random.Random(5), None
    with Memory(MemoryStore(), embedder=None, counter="estimate", worker=False) as org:
        memory = org.scope(user="ada")
        talk: Any = _Session(memory) if kind == "session" else _Threads(memory, kind == "attached")
        for turn in range(TURNS):
            if turn % 40 == 20:
                memory.facts.set("user:ada", "location", f"Town {turn}")
            text = " ".join(dice.choices(WORDS, k=dice.randrange(4, 20))) + "?"
            context = talk.ask(text)
            if before is not None:
                yield before, context, shared_prefix(before, context, COUNTER)
            before = context
            talk.add(context, text, " ".join(dice.choices(WORDS, k=dice.randrange(5, 60))))


def _start(context: Context) -> int:
    return next(message.seq for message in context.history if message.seq)


def _moved(before: Context, after: Context) -> bool:
    """Whether a fact of the block changed, something was folded, or the window made a step."""
    same = before.profile == after.profile and before.summary_text == after.summary_text
    return not same or (bool(before.history) and _start(before) != _start(after))


@pytest.mark.parametrize("kind", ["attached", "bare", "session"])
def test_a_request_begins_with_all_the_history_of_the_one_before(kind: str) -> None:
    steps, shares = 0, []
    for before, after, prefix in _pairs(kind):
        assert after.tokens <= BUDGET.request_tokens
        _check_recalled(after)
        shares.append(prefix.share)
        if _moved(before, after):
            steps += 1
            continue
        last_seq = max((message.seq for message in before.history), default=0)
        assert prefix.seq >= last_seq, "the history that both requests have is not at the beginning of both"
        assert prefix.section in ("system", "profile", "history", "memory", "input")
    assert steps <= TURNS // 6, f"the beginning changed in {steps} of {TURNS} requests"
    assert sum(shares) / len(shares) > 0.7


def _check_recalled(context: Context) -> None:
    """What is recalled stands between history and question, and not in the history; a window is never nearly empty."""
    if context.memory_message is not None:
        assert context.view.index(context.memory_message) == len(context.view) - 2
        history_ids = {message.id for message in context.history if message.thread}
        assert not history_ids & {item.source for item in context.memory_items}
    if context.summary_message is None and (context.account.dropped or context.account.unread):
        assert context.account.section_tokens["history"] >= 0.3 * BUDGET.request_tokens
