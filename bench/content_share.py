"""How much of a request is content: the words that somebody said or stated, as against the wrapping around them.

    python -m bench.content_share [--budget 2000]

Content is the input and the texts of the recalled items, of the profile lines, of the history and of the summary.
Wrapping is everything else: tags, notes, headings, dates, speakers, separators, titles, bullet points and the overhead
of messages. The strict share counts the whole profile block as wrapping.
"""

from __future__ import annotations

import argparse
import json
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memorist import Context, Memory
from memorist.context.tokens import open_counter

DATA = Path(__file__).parents[1] / "tests" / "data"
SESSIONS_PER_DAY = 4


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines() if line.strip()]


def content_tokens(context: Context) -> tuple[int, int]:
    """(tokens of content without the profile, tokens of the texts of profile lines)."""
    count = open_counter().count
    texts = [item.text for item in context.memory_items]
    texts += [message.text for message in (*context.history, *context.input, *context.system_messages)]
    texts += [context.summary_text or ""]
    return sum(map(count, texts)), sum(count(line.text) for line in context.profile)


def filled(memory: Memory, now: list[datetime]) -> list[str]:
    """Stories and small exchanges told over some weeks; returns the stories' questions."""
    stories = rows("stories.jsonl")
    exchanges = [
        [{"role": role, "content": row[role]} for role in ("user", "assistant")] for row in rows("fillers.jsonl")
    ]
    talks = [session for story in stories for session in story["sessions"]] + exchanges
    for number, talk in enumerate(talks):
        memory.threads.append(memory.threads.create("user:ada").id, *talk)
        now[0] += timedelta(hours=24 / SESSIONS_PER_DAY if number % 2 else 0.1)
    return [story["question"] for story in stories]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=2000)
    budget = parser.parse_args().budget
    warnings.simplefilter("ignore")
    now = [datetime(2026, 9, 1, 9, 0, tzinfo=UTC)]
    total = content = lines = requests = 0
    with Memory("memory://", user="ada", clock=lambda: now[0], worker=False) as memory:
        for question in filled(memory, now):
            context = memory.context(question, budget=budget)
            said, stated = content_tokens(context)
            total, content, lines, requests = total + context.tokens, content + said, lines + stated, requests + 1
    print(f"{requests} requests of at most {budget:,} tokens, {total / requests:,.0f} tokens on average")
    print(f"content share {(content + lines) / total:.1%}; the block counted as wrapping {content / total:.1%}")


if __name__ == "__main__":
    main()
