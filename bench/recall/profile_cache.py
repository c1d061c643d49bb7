"""The share of a conversation's requests that a prefix cache would serve with the profile block on.

    python bench/recall/profile_cache.py [--turns 500] [--session] [--bare]

One user's thread grows turn by turn; every request is made with `memory.context(..., layout="cached")`, so nothing is
folded and the window moves, or by a session, which folds. Every fiftieth turn tells something that changes the block.
With `--bare` the input is stored without what was recalled for it.
"""

from __future__ import annotations

import argparse
import random
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.rendered import cached_tokens
from memorist import FactExtractor, Memory, TokenBudget
from memorist.context.context import Context
from memorist.context.tokens import open_counter
from memorist.messages.message import Message

WORDS = "invoice order ledger shipment refund customer contract schema index replica queue token session budget".split()
NEWS = (
    "I prefer short answers.", "I live in Porto.", "I'm allergic to peanuts.", "Never use emojis.", "I work at Acme.",
    "My dog is called Rex.", "I moved to Lisbon.", "I speak German.", "My name is Ada.", "Always answer in English.",
)  # fmt: skip
BUDGET = TokenBudget(16_000, output_reserve=1_000)


class Plain:
    """Contexts of a thread, each input stored with what was recalled for it, or without."""

    def __init__(self, memory: Any, bare: bool) -> None:
        self.memory, self.bare = memory, bare
        self.thread = memory.threads.create("user:ada").id

    def ask(self, text: str) -> Context:
        return self.memory.context(text, thread=self.thread, system="You help.", budget=BUDGET, layout="cached")

    def add(self, context: Context, text: str, answer: str) -> None:
        spoken = Message(role="user", content=text)
        self.memory.threads.append(self.thread, spoken if self.bare else context.attach(spoken))
        self.memory.threads.append(self.thread, {"role": "assistant", "content": answer})


class Session:
    """The same talk in a session."""

    def __init__(self, memory: Any) -> None:
        self.talk = memory.session(user="ada", system="You help.", budget=BUDGET).start()

    def ask(self, text: str) -> Context:
        return self.talk.context(text)

    def add(self, context: Context, text: str, answer: str) -> None:
        self.talk.add(text, answer)


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--turns", type=int, default=500)
    ap.add_argument("--session", action="store_true")
    ap.add_argument("--bare", action="store_true")
    a = ap.parse_args()
    dice, counter = random.Random(7), open_counter(None)
    served = total = over = breaks = 0
    recalled: list[int] = []
    before: dict[str, Any] | None = None
    warnings.simplefilter("ignore")
    with Memory("memory://", worker=False) as org:
        memory = org.scope(user="ada")
        talk = Session(memory) if a.session else Plain(memory, a.bare)
        for turn in range(a.turns):
            news = turn % 50 == 10
            text = NEWS[turn // 50 % len(NEWS)] if news else " ".join(dice.choices(WORDS, k=30)) + "?"
            context = talk.ask(text)
            request = context.openai()
            over += context.tokens > BUDGET.request_tokens
            hit, size = cached_tokens(before, request, counter)
            recalled.append(context.manifest.section("memory").tokens)
            breaks += hit < size / 2
            served, total, before = served + hit, total + size, request
            talk.add(context, text, " ".join(dice.choices(WORDS, k=120)))
            if news:
                org.process(FactExtractor)
    print(f"{a.turns} turns: {served / total:.1%} of {total:,} tokens from the cache, {over} over budget")
    later = sorted(recalled[20:])
    print(f"memory, after 20 turns: {sum(later) / len(later):.0f} tokens in the mean, {later[-1]} at most")
    print(f"{breaks} requests began anew (less than half as the one before)")


if __name__ == "__main__":
    main()
