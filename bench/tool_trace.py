"""A trace of 300 turns with large tool results: tokens sent, what is read back, and the share a prompt cache serves.

    python -m bench.tool_trace            # the trace, 30 questions, and 500 turns with memory on

The results are real: files of this repository, its directory listings, its OpenAPI document and its git history.
"""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

from memorist import Memory
from memorist.context.measure import count_message
from memorist.context.report import shared_tokens
from memorist.messages.message import as_message
from memorist.read_back import ReadBack
from memorist.stores.memory import MemoryStore
from memorist.types import open_counter

ROOT = Path(__file__).parents[1]
TURNS, CACHE_TURNS, QUESTIONS, BUDGET_TOKENS, STASH_TOKENS = 300, 500, 30, 32_000, 1_000
COUNTER = open_counter()


def outputs(rng: random.Random) -> list[str]:
    """Results of tools, large and small."""
    sources = sorted((ROOT / "src").rglob("*.py"))
    paths = json.loads((ROOT / "docs/openapi.json").read_text("utf-8"))["paths"]
    history = subprocess.run(["git", "log", "--stat", "-400"], capture_output=True, text=True, cwd=ROOT, check=True)
    commits = history.stdout.split("\ncommit ")
    results = []
    for number in range(TURNS):
        kind = number % 4
        if kind == 0:
            results.append(rng.choice(sources).read_text("utf-8"))
        elif kind == 1:
            chosen = rng.sample(sorted(paths), 12)
            results.append(json.dumps({path: paths[path] for path in chosen}))
        elif kind == 2:
            folder = rng.choice(sources).parent
            listing = [f"{path.stat().st_size:>9} {path.relative_to(ROOT)}" for path in sorted(folder.rglob("*.py"))]
            results.append("\n".join(listing))
        else:
            start = rng.randrange(max(1, len(commits) - 20))
            results.append("\ncommit ".join(commits[start : start + 20]))
    return results


def turn(number: int, result: str) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "run", "arguments": f'{{"n": {number}}}'}}
    return [
        {"role": "user", "content": f"Step {number}: run the next command and say what you see."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
        {"role": "assistant", "content": f"Step {number} is done; the output has {len(result)} characters."},
    ]


def sent_by_session(results: list[str], stash: int | None) -> tuple[int, Memory]:
    """Tokens of all requests of a session over the trace, and its memory."""
    memory = Memory(MemoryStore(), user="ada", worker=False, embedder=None)
    talk, tokens_sent = memory.session("trace", budget=BUDGET_TOKENS, stash=stash), 0
    for number, result in enumerate(results):
        messages = turn(number, result)
        tokens_sent += talk.context(messages[0]["content"], recall=False).tokens
        talk.add(*messages)
    return tokens_sent, memory


def sent_whole(results: list[str]) -> int:
    history = tokens_sent = 0
    for number, result in enumerate(results):
        costs = [count_message(as_message(message), COUNTER) for message in turn(number, result)]
        tokens_sent += history + costs[0]
        history += sum(costs)
    return tokens_sent


def sent_trimmed(results: list[str]) -> int | None:
    """With LangChain's `trim_messages`, keeping the newest within the budget; None if it is not installed."""
    try:
        from langchain_core.messages import convert_to_messages, trim_messages
    except ImportError:
        return None
    history: list[Any] = []
    tokens_sent = 0

    def count(messages: list[Any]) -> int:
        return sum(COUNTER.count(str(message.content)) + 12 for message in messages)

    for number, result in enumerate(results):
        messages = convert_to_messages(turn(number, result))
        request = trim_messages(
            [*history[-80:], messages[0]],
            max_tokens=BUDGET_TOKENS,
            token_counter=count,
            strategy="last",
            start_on="human",
        )
        tokens_sent += count(request)
        history += messages
    return tokens_sent


def answered(memory: Memory, results: list[str], rng: random.Random) -> tuple[int, int]:
    """Of lines in the middle of long results: how many read_more and search_history give back whole."""
    reader, by_id, by_search = ReadBack(memory, "trace"), 0, 0
    long = [n for n, result in enumerate(results) if COUNTER.count(result) > 2 * STASH_TOKENS and "\n" in result]
    for number in rng.sample(long, QUESTIONS):
        lines = results[number].splitlines()
        middle = [line for line in lines[len(lines) // 4 : -len(lines) // 4] if len(line.split()) > 3] or lines
        line = rng.choice(middle)
        words = " ".join(line.split()[:4])
        read = reader.call("read_more", {"id": f"trace#{4 * number + 3}", "pattern": line.strip()[:40]})
        by_id += line.strip() in read
        by_search += line.strip() in reader.call("search_history", {"query": f"{words} {line}"})
    return by_id, by_search


def cache_share(budget: int) -> float:
    """The share of tokens that a prefix cache serves over a session with memory on."""
    rng = random.Random(5)
    cities = ["Lisbon", "Porto", "Oslo", "Turin", "Graz", "Ghent"]
    memory = Memory(MemoryStore(), user="ada", worker=False, embedder=None)
    talk, served, tokens_sent, before = memory.session("long", budget=budget), 0, 0, ()
    for number in range(CACHE_TURNS):
        city = rng.choice(cities)
        statement = f"On trip {number} to {city} I paid {rng.randrange(20, 900)} euros for the hotel near the station."
        text = statement if number % 3 else f"What did I pay for the hotel in {city}?"
        context = talk.context(text)
        served += shared_tokens(before, context.pieces)
        tokens_sent += context.tokens
        before = context.pieces
        talk.add(text, f"Noted for {city}, number {number}: I will compare it with the other trips of this year.")
    return served / tokens_sent


def main() -> None:
    rng = random.Random(11)
    results = outputs(rng)
    whole = sent_whole(results)
    print(f"{TURNS} turns, results of {sum(map(COUNTER.count, results)):,} tokens, budget {BUDGET_TOKENS:,}")
    print(f"no compaction       {whole:>13,} tokens sent")
    trimmed = sent_trimmed(results)
    print(
        f"trim_messages       {trimmed:>13,}"
        if trimmed is not None
        else "trim_messages       (langchain is not installed)"
    )
    print(f"summarisation alone {sent_by_session(results, None)[0]:>13,}")
    tokens_sent, memory = sent_by_session(results, STASH_TOKENS)
    print(f"previews and folds  {tokens_sent:>13,} ({tokens_sent / whole:.1%} of no compaction)")
    by_id, by_search = answered(memory, results, rng)
    print(f"of {QUESTIONS} lines in the middle: read_more {by_id}, search_history {by_search}")
    for budget in (8_000, BUDGET_TOKENS):
        print(f"cache share over {CACHE_TURNS} turns with memory on, budget {budget:,}: {cache_share(budget):.1%}")


if __name__ == "__main__":
    main()
