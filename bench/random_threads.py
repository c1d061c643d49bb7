"""Random threads with tools, images, thinking and compaction items, for both providers.

    python -m bench.random_threads                  # 50,000 threads
    python -m bench.random_threads --threads 2000   # fewer
    python -m bench.random_threads --first 30000    # go on from a thread

Each thread is fitted into a random budget with a random policy and layout, rendered for OpenAI's chat and Responses
APIs and for Anthropic, checked by the rules of the providers, and counted anew. Then all of it is done again: the same
input must give the same bytes. Every thread is made from its number alone, so a failure can be repeated.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import struct
import zlib
from collections import Counter
from typing import Any

from memorist import (
    Chain,
    ElideToolResults,
    Fifo,
    Importance,
    SlidingWindow,
    Summarize,
    TokenBudget,
    VectorSwap,
    compress,
)
from memorist.context.context import Context
from memorist.context.validate import anthropic_problems, openai_problems
from memorist.errors import BudgetError
from memorist.messages.responses import problems as item_problems

from .rendered import measure_anthropic, measure_openai, measure_responses

THREADS = 50_000
WORDS = "harbour crane invoice ledger tulip protocol ferry copper lantern budget meadow signal quartz anchor".split()
BUDGETS = (250, 600, 1_500, 4_000, 16_000)


def words(rng: random.Random, most: int) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(1, most)))


def png(width: int, height: int) -> str:
    """A PNG's header, which says its size, in base64."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + b"IHDR" + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunk).decode()


def image(rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.3:
        return {"type": "image", "source": {"type": "url", "url": f"https://example.org/{rng.randrange(99)}.png"}}
    data = png(rng.choice([64, 640, 2_400]), rng.choice([64, 480, 1_600]))
    if rng.random() < 0.5:
        return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def thought(rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.2:
        return {"type": "redacted_thinking", "data": base64.b64encode(rng.randbytes(30)).decode()}
    return {"type": "thinking", "thinking": words(rng, 40), "signature": f"sig{rng.randrange(999)}"}


def anthropic_turn(rng: random.Random, number: int) -> list[Any]:
    uses = [
        {"type": "tool_use", "id": f"u{number}_{n}", "name": "look", "input": {"n": n}}
        for n in range(rng.randint(1, 3))
    ]
    parts = [thought(rng)] if rng.random() < 0.6 else []
    results: list[Any] = []
    for use in uses:
        content: Any = words(rng, 200) if rng.random() < 0.8 else [{"type": "text", "text": words(rng, 30)}, image(rng)]
        results.append({"type": "tool_result", "tool_use_id": use["id"], "content": content})
    if rng.random() < 0.05:
        results.pop()
    answer = {"role": "user", "content": results}
    turn = [{"role": "assistant", "content": [*parts, *uses]}]
    return [*turn, answer] if results else turn


def chat_turn(rng: random.Random, number: int) -> list[Any]:
    function = {"name": "look", "arguments": json.dumps({"q": words(rng, 5)})}
    calls = [{"id": f"k{number}_{n}", "type": "function", "function": function} for n in range(rng.randint(1, 3))]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": words(rng, 200)} for call in calls]
    if rng.random() < 0.05:
        results = results[1:]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]


def responses_turn(rng: random.Random, number: int) -> list[Any]:
    call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"r{number}", "name": "look", "arguments": "{}"}
    reasoning = {
        "type": "reasoning",
        "id": f"rs_{number}",
        "summary": [],
        "encrypted_content": "g" * rng.randint(8, 400),
    }
    output = {"type": "function_call_output", "call_id": f"r{number}", "output": words(rng, 120)}
    turn = [call] if rng.random() < 0.05 else [call, output]
    return [reasoning, *turn] if rng.random() < 0.6 else turn


def compaction(rng: random.Random) -> list[Any]:
    item = {"type": "compaction", "encrypted_content": "e" * rng.randint(8, 300)}
    if rng.random() < 0.5:
        return [item]
    block = {**item, "content": words(rng, 40), "signature": "s"}
    rest = [{"type": "text", "text": words(rng, 30)}] if rng.random() < 0.5 else []
    return [{"role": "assistant", "content": [block, *rest]}]


def thread(number: int) -> tuple[list[Any], dict[str, Any]]:
    """The messages of a thread and the options of its request, from its number."""
    rng = random.Random(number)
    talk: list[Any] = []
    for turn in range(rng.randint(1, 30)):
        kind = rng.random()
        talk.append({"role": "user", "content": words(rng, 80)} if rng.random() < 0.8 else
                    {"role": "user", "content": [image(rng), {"type": "text", "text": words(rng, 20)}]})  # fmt: skip
        if kind < 0.3:
            talk += anthropic_turn(rng, turn)
        elif kind < 0.5:
            talk += chat_turn(rng, turn)
        elif kind < 0.7:
            talk += responses_turn(rng, turn)
        elif kind < 0.78:
            talk += compaction(rng)
        if rng.random() < 0.7:
            text = {"type": "text", "text": words(rng, 60)}
            answer: Any = [thought(rng), text] if rng.random() < 0.4 else words(rng, 60)
            talk.append({"role": "assistant", "content": answer})
    if rng.random() < 0.8:
        talk.append({"role": "user", "content": "And now?"})
    policies = [None, Fifo(rng.randint(1, 12)), SlidingWindow(), Summarize(keep=rng.randint(1, 6)),
                VectorSwap(keep=3, k=2), Importance(), ElideToolResults(100),
                Chain(ElideToolResults(80), Summarize())]  # fmt: skip
    memory = [words(rng, 20) for _ in range(rng.randint(0, 4))]
    options = {
        "budget": TokenBudget(rng.choice(BUDGETS)), "policy": rng.choice(policies), "system": "Be brief.",
        "layout": rng.choice(["standard", "cached"]), "memory": memory or None,
    }  # fmt: skip
    return talk, options


def requests_of(context: Context) -> dict[str, Any]:
    return {"openai": context.openai(merge=False), "anthropic": context.anthropic(), "responses": context.responses()}


def check(number: int) -> list[str]:
    """What is wrong with the requests of one thread."""
    talk, options = thread(number)
    try:
        context = compress(talk, **options)
    except BudgetError:
        return ["too big for its budget"]
    requests = requests_of(context)
    problems = [f"orphan or refused: {problem}" for problem in (
        *openai_problems(requests["openai"]["messages"]), *anthropic_problems(requests["anthropic"]),
        *item_problems(requests["responses"]["input"]),
    )]  # fmt: skip
    limit = options["budget"].total
    counts = (
        context.tokens, measure_openai(requests["openai"]["messages"]), measure_anthropic(requests["anthropic"]),
        measure_responses(requests["responses"]),
    )  # fmt: skip
    problems += [f"over budget: {count} of {limit}" for count in counts if count > limit]
    for name, request in requests.items():
        if context.memory_text and json.dumps(context.memory_text) not in json.dumps(request):
            problems.append(f"memory missing: {name}")
    talk, options = thread(number)
    again = requests_of(compress(talk, **options))
    if json.dumps(again) != json.dumps(requests):
        problems.append("other bytes for the same input")
    return problems


def run(first: int, last: int) -> tuple[Counter[str], list[str]]:
    """Counts by kind of outcome, and the failures with the numbers of their threads."""
    counts: Counter[str] = Counter()
    failures: list[str] = []
    for number in range(first, last):
        problems = check(number)
        if problems == ["too big for its budget"]:
            counts["refused with BudgetError"] += 1
            continue
        counts["fitted"] += 1
        for problem in problems:
            counts[problem.partition(":")[0]] += 1
            failures.append(f"thread {number}: {problem}")
    return counts, failures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    counts, failures = run(options.first, options.threads)
    print(f"threads {options.first:,} to {options.threads:,}: {dict(counts)}")
    for kind in ("orphan or refused", "over budget", "memory missing", "other bytes for the same input"):
        print(f"  {kind}: {counts[kind]}")
    if failures:
        raise SystemExit("\n".join(failures[:20]))


if __name__ == "__main__":
    main()
