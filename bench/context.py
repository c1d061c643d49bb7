"""Context assembly beside its peers: speed, prompt-cache share, and facts that survive recompression.

    python bench/context.py            all three
    python bench/context.py speed      compress and langchain_core's trim_messages, same tokenizer, same run
    python bench/context.py cache      500 turns with tools under a 16k window, the share a prefix cache serves
    python bench/context.py facts      planted facts after five recompressions with the extractive summarizer

The peer needs `pip install langchain-core`; without it its rows say so.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.rendered import cached_tokens
from memorist.context.budget import TokenBudget
from memorist.context.compress import compress
from memorist.context.context import Context
from memorist.context.fold import write_fold
from memorist.context.measure import count_tools
from memorist.context.policies import SlidingWindow
from memorist.context.reading import Reading
from memorist.context.summarise import extract
from memorist.context.tokens import open_counter
from memorist.messages.message import Message, as_message

COUNTER = open_counter("o200k_base")
NOUN_LIST = (
    "invoice order ledger shipment refund customer contract schema index replica queue cache token session budget "
    "report deployment branch review ticket metric alert backup region tenant policy window gateway payload webhook"
)
VERB_LIST = "check update migrate deploy review explain compare rename archive restore measure split merge trace"
NAME_LIST = "Ada Grace Linus Mirela Tomasz Aiko Priya Olu Sven Ines Dmitri Chloe Rahul Wanda Jorge"
NOUNS, VERBS, NAMES = NOUN_LIST.split(), VERB_LIST.split(), NAME_LIST.split()
TALK = (
    "Thanks, that helps a lot.",
    "Could you explain how this works in general?",
    "Sure, here is an overview of how it usually behaves in practice.",
    "I see, interesting.",
    "Let me think about it for a while and come back to you.",
    "It depends on many things, such as the load and the shape of the data.",
    "In most cases the defaults are fine and nobody needs to change them.",
)


def sentence(rng: random.Random) -> str:
    first, second = rng.choice(NOUNS), rng.choice(NOUNS)
    return f"{rng.choice(NAMES)} will {rng.choice(VERBS)} the {first} of the {second} {rng.randrange(10_000)} today."


def prose(rng: random.Random, sentences: int) -> str:
    return " ".join(sentence(rng) for _ in range(sentences))


def medians(works: dict[str, Callable[[], Any]], rounds: int = 5, repeats: int = 7) -> dict[str, float]:
    """Median milliseconds of each; every round runs all of them, so that the machine's noise falls on all alike."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            for _ in range(repeats):
                start = time.perf_counter()
                work()
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) * 1_000 for name, seconds in times.items()}


def langchain() -> Any:
    """The peer's module, or None with a line that says how to get it."""
    try:
        import langchain_core.messages as peer
    except ImportError:
        print("  langchain_core is not installed here: `pip install langchain-core` to see the peer's rows")
        return None
    return peer


def count_plain(messages: Any) -> int:
    """The same tokenizer and the same rule for the peer, for messages that are only text."""
    return 3 + sum(4 + COUNTER._encode(message.content) for message in messages)


def count_langchain(messages: Any) -> int:
    """The same, with tool calls."""
    tokens = 3
    for message in messages:
        tokens += 4 + COUNTER._encode(message.content)
        for call in getattr(message, "tool_calls", None) or ():
            tokens += (
                8 + COUNTER._encode(call["id"]) + COUNTER._encode(call["name"]) + COUNTER._encode(str(call["args"]))
            )
        if message.type == "tool":
            tokens += COUNTER._encode(message.tool_call_id)
    return tokens


# Speed


def speed() -> None:
    rng = random.Random(1)
    raw = [{"role": ("user", "assistant")[index % 2], "content": prose(rng, 5)} for index in range(10_001)]
    stored = [
        Message(**m, thread="t", seq=seq, tokens=4 + COUNTER.count(m["content"]), counter="o200k_base")
        for seq, m in enumerate(raw, 1)
    ]

    def cold() -> Context:
        COUNTER._memo.clear()
        return compress(raw, budget=8_000)

    works: dict[str, Callable[[], Any]] = {
        "compress, every text counted anew": cold,
        "compress, in an agent's loop": lambda: compress(raw, budget=8_000),
        "compress, counts stored with them": lambda: compress(stored, budget=8_000),
    }
    peer = langchain()
    if peer is not None:
        theirs = [(peer.AIMessage if m["role"] == "assistant" else peer.HumanMessage)(m["content"]) for m in raw]
        options = {"max_tokens": 8_000, "token_counter": count_plain, "strategy": "last"}
        works["trim_messages, same tokenizer"] = lambda: peer.trim_messages(theirs, **options)
        trimmed = works["trim_messages, same tokenizer"]()
        print(f"trim_messages keeps {len(trimmed)} messages, {count_plain(trimmed)} tokens")
    context = cold()
    print(f"compress keeps {len(context.messages())} messages, {context.tokens} tokens")
    print("10,001 messages to 8,000 tokens, o200k_base, median ms of 5 rounds of 7")
    milliseconds = medians(works)
    slowest = milliseconds.get("trim_messages, same tokenizer", 0.0)
    for name, median in milliseconds.items():
        print(f"  {name:36} {median:9.3f}" + (f"   {slowest / median:5.0f} ×" if slowest else ""))


# Prompt cache

SYSTEM = "You are the operations assistant of a small shop. " + prose(random.Random(2), 20)
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": f"{verb}_{noun}",
            "description": f"{verb.capitalize()} one {noun} by its number.",
            "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
        },
    }
    for verb, noun in zip(VERBS[:8], NOUNS[:8], strict=True)
]
BUDGET = TokenBudget(16_000, output_reserve=1_000)
Turn = tuple[str, list[str], list[dict[str, Any]] | None, str]


def conversation(turns: int) -> Iterator[Turn]:
    """Input, what is recalled for it, a tool exchange or none, and the answer."""
    rng = random.Random(3)
    for number in range(turns):
        exchange = None
        if rng.random() < 0.6:
            tool = rng.choice(TOOLS)["function"]["name"]
            function = {"name": tool, "arguments": f'{{"number": {number}}}'}
            call = {"id": f"call_{number}", "type": "function", "function": function}
            exchange = [
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": call["id"], "content": prose(rng, rng.randrange(1, 6))},
            ]
        yield (
            prose(rng, rng.randrange(1, 3)),
            [sentence(rng) for _ in range(3)],
            exchange,
            prose(rng, rng.randrange(2, 6)),
        )


def step(coroutine: Any) -> Any:
    """Run a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("the coroutine suspended")


class Folding:
    """A thread as the engine keeps it: append-only, with a summary of what was folded."""

    def __init__(self, layout: str) -> None:
        self.layout = layout
        self.thread: list[Message] = []
        self.summary: str | None = None
        self.folded = 0
        self.folds = 0

    def append(self, *messages: Any) -> None:
        for message in messages:
            self.thread.append(as_message(message))

    def reading(self, text: str | None, memory: list[str]) -> Reading:
        reading = Reading(
            budget=BUDGET,
            system=SYSTEM,
            tools=TOOLS,
            memory=memory,
            input=text,
            summary=self.summary,
            layout=self.layout,
            folding=True,
        )
        reading.feed(self.thread[self.folded :][::-1], more=False, position=len(self.thread))
        return reading

    def context(self, text: str | None, memory: list[str]) -> Context:
        reading = self.reading(text, memory)
        fold = reading.next_fold()
        digest = step(write_fold(fold)) if fold is not None and text is not None else None
        if fold is not None and digest is not None:
            self.summary, self.folded, self.folds = digest.text, fold.last, self.folds + 1
            reading = self.reading(text, memory)
        return reading.finish()


def requests_folding(layout: str, turns: int) -> Iterator[dict[str, Any]]:
    state = Folding(layout)
    for text, memory, exchange, answer in conversation(turns):
        context = state.context(text, memory)
        yield context.openai()
        state.append(context.attach(Message(role="user", content=text)))
        if exchange:
            state.append(*exchange)
            yield state.context(None, [] if layout == "cached" else memory).openai()
        state.append({"role": "assistant", "content": answer})
    print(f"  ({state.folds} folds)")


def requests_sliding(turns: int, recalled: bool) -> Iterator[dict[str, Any]]:
    thread: list[Any] = []
    for text, memory, exchange, answer in conversation(turns):
        thread.append({"role": "user", "content": text})
        options: dict[str, Any] = {"system": SYSTEM, "tools": TOOLS, "memory": memory if recalled else None}
        yield compress(thread, budget=BUDGET, policy=SlidingWindow(), **options).openai()
        if exchange:
            thread.extend(exchange)
            yield compress(thread, budget=BUDGET, policy=SlidingWindow(), **options).openai()
        thread.append({"role": "assistant", "content": answer})


def requests_trim(peer: Any, turns: int) -> Iterator[dict[str, Any]]:
    thread: list[Any] = []
    room = BUDGET.request_tokens - count_tools(TOOLS, COUNTER)

    def request(memory: list[str]) -> dict[str, Any]:
        head = peer.SystemMessage(SYSTEM + "\n\nMemory:\n" + "\n".join(memory))
        trimmed = peer.trim_messages(
            [head, *thread],
            max_tokens=room,
            token_counter=count_langchain,
            strategy="last",
            include_system=True,
            start_on="human",
        )
        return {"tools": TOOLS, "messages": peer.convert_to_openai_messages(trimmed)}

    for text, memory, exchange, answer in conversation(turns):
        thread.append(peer.HumanMessage(text))
        yield request(memory)
        if exchange:
            call = exchange[0]["tool_calls"][0]
            tool_call = {"name": call["function"]["name"], "args": {"number": 1}, "id": call["id"]}
            thread.append(peer.AIMessage("", tool_calls=[tool_call]))
            thread.append(peer.ToolMessage(exchange[1]["content"], tool_call_id=call["id"]))
            yield request(memory)
        thread.append(peer.AIMessage(answer))


def share(requests: Iterator[dict[str, Any]]) -> tuple[int, int, int]:
    """Tokens served by a prefix cache, all tokens, the largest request."""
    before: dict[str, Any] | None = None
    served = total = largest = 0
    for request in requests:
        hit, size = cached_tokens(before, request, COUNTER)
        served, total, largest = served + hit, total + size, max(largest, size)
        before = request
    return served, total, largest


def cache(turns: int = 500) -> None:
    print(f"prompt-cache share, {turns} turns with tools, window 16,000 (1,000 for the answer)")
    print("  price of the input: OpenAI cached at 25 % of $2.00/M; Anthropic read 10 %, written 125 % of $3.00/M")
    rows: list[tuple[str, Iterator[dict[str, Any]]]] = [
        ("memorist, layout=cached, folds", requests_folding("cached", turns)),
        ("memorist, layout=standard, folds", requests_folding("standard", turns)),
        ("sliding window, nothing recalled", requests_sliding(turns, recalled=False)),
        ("sliding window, memory in the head", requests_sliding(turns, recalled=True)),
    ]
    peer = langchain()
    if peer is not None:
        rows.append(("trim_messages, memory in the head", requests_trim(peer, turns)))
    print(f"  {'':36} {'share':>6} {'tokens':>12} {'largest':>8} {'OpenAI':>8} {'Anthropic':>9}")
    for name, requests in rows:
        served, total, largest = share(requests)
        fresh = total - served
        openai = (served * 0.25 + fresh) * 2.0 / 1e6
        anthropic = (served * 0.1 + fresh * 1.25) * 3.0 / 1e6
        print(f"  {name:36} {served / total:6.1%} {total:12,} {largest:8,} {openai:7.2f}$ {anthropic:8.2f}$")


# Facts


def planted_fact(number: int) -> str:
    name, code = NAMES[number % len(NAMES)], 1_000 + number * 37
    return (
        f"My colleague {name}{code} owns the ledger since {1980 + number}.",
        f"We decided to use the topic orders-{code} for billing.",
        f"The contract of {name} number {code} ends in May.",
        f"I am allergic to compound {code}.",
        f"Port {code} is taken by the staging server.",
        f"Deadline for project {name}-{code} is {number % 28 + 1} March.",
        f"{name} flies with LH{code}.",
        f"Please always send copies to {name.lower()}{code}@example.org.",
        f"Should {name} cancel the order {code}?",
        f"The customer {name} {code} prefers tea over coffee.",
    )[number % 10]


def survival(rounds: int = 6, per_round: int = 10, max_tokens: int = 1_500) -> tuple[int, int, int, int]:
    """(kept, planted, pinned kept, pinned) after the last of `rounds` summaries, each of the last one and 80 turns."""
    rng = random.Random(5)
    summary: str | None = None
    facts: list[str] = []
    pinned = ["Ada's safe word is 'lantern 77'.", "Never email Grace on Fridays."]
    for number in range(rounds):
        messages = [
            Message(role=("user", "assistant")[index % 2], content=" ".join(rng.choices(TALK, k=3)))
            for index in range(80)
        ]
        for index in range(per_round):
            fact = planted_fact(number * per_round + index)
            facts.append(fact)
            messages[index * 8] = Message(role="user", content=f"{rng.choice(TALK)} {fact} {rng.choice(TALK)}")
        summary = extract(messages, summary, max_tokens, COUNTER, pinned=pinned if number == 0 else ())
    text = summary or ""
    return sum(fact in text for fact in facts), len(facts), sum(item in text for item in pinned), len(pinned)


def facts() -> None:
    survivors, total, pinned, of = survival()
    print(
        f"facts after five recompressions, extractive: {survivors} of {total} ({survivors / total:.0%}), "
        f"pinned {pinned} of {of}"
    )
    survivors, total, pinned, of = survival(max_tokens=700)
    print(
        f"  with half the room (700 tokens): {survivors} of {total} ({survivors / total:.0%}), pinned {pinned} of {of}"
    )


PARTS = {"speed": speed, "cache": cache, "facts": facts}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
