"""The share of a conversation's requests that a prefix cache would serve with the profile block on.

    python bench/recall/profile_cache.py [--turns 500]

One user's thread grows turn by turn; every request is made with `memory.context(..., layout="cached")`, and every
fiftieth turn tells something that changes the block.
"""

from __future__ import annotations

import argparse
import random
import warnings

from recollect import FactExtractor, Memory, TokenBudget
from recollect.context.cache import cached_tokens
from recollect.context.tokens import open_counter
from recollect.messages import Message

WORDS = "invoice order ledger shipment refund customer contract schema index replica queue token session budget".split()
NEWS = (
    "I prefer short answers.", "I live in Porto.", "I'm allergic to peanuts.", "Never use emojis.", "I work at Acme.",
    "My dog is called Rex.", "I moved to Lisbon.", "I speak German.", "My name is Ada.", "Always answer in English.",
)  # fmt: skip


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--turns", type=int, default=500)
    turns = ap.parse_args().turns
    dice, counter = random.Random(7), open_counter(None)
    served = total = over = 0
    before: dict[str, object] | None = None
    warnings.simplefilter("ignore")
    budget = TokenBudget(16_000, output_reserve=1_000)
    with Memory("memory://", worker=False) as org:
        memory = org.scope(user="ada")
        thread = memory.threads.create("user:ada").id
        for turn in range(turns):
            news = turn % 50 == 10
            said = NEWS[turn // 50 % len(NEWS)] if news else " ".join(dice.choices(WORDS, k=30)) + "?"
            context = memory.context(said, thread=thread, system="You help.", budget=budget, layout="cached")
            request = context.openai()
            over += context.tokens > budget.request_tokens
            hit, size = cached_tokens(before, request, counter)
            served, total, before = served + hit, total + size, request
            memory.threads.append(thread, context.attach(Message(role="user", content=said)))
            memory.threads.append(thread, {"role": "assistant", "content": " ".join(dice.choices(WORDS, k=120))})
            if news:
                org.process(FactExtractor)
    print(f"{turns} turns: {served / total:.1%} of {total:,} tokens from the cache, {over} over budget")


if __name__ == "__main__":
    main()
