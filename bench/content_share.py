"""How much of a request is content: the words that somebody said or stated, as against the wrapping around them.

    python -m bench.content_share [--budget 2000] [--data DIR]

With `--data`, the requests are those of real conversations (DATA.md): the first turns of each, and its first questions.
The share is given for all requests, and for those that fill three quarters of the budget.

Content is the input and the texts of the recalled items, of the profile lines, of the history and of the summary.
Wrapping is everything else: tags, notes, headings, dates, speakers, separators, titles, bullet points and the overhead
of messages. The strict share counts the whole profile block as wrapping.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memorist import Context, Memory
from memorist.context.tokens import open_counter

DATA = Path(__file__).parents[1] / "tests" / "data"
SESSIONS_PER_DAY = 4
MAX_CONVERSATIONS, MAX_TURNS, MAX_QUESTIONS = 3, 200, 6


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines() if line.strip()]


def content_tokens(context: Context) -> tuple[int, int]:
    """(tokens of content without the profile, tokens of the texts of profile lines)."""
    count = open_counter().count
    texts = [item.text for item in context.memory_items]
    texts += [message.text for message in (*context.history, *context.input, *context.system_messages)]
    texts += [context.summary_text or ""]
    return sum(map(count, texts)), sum(count(line.text) for line in context.profile)


def tell_stories(memory: Memory, now: list[datetime]) -> list[str]:
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


def real_requests(data: Path, budget: int) -> Iterator[Context]:
    """The requests for the first questions of each conversation."""
    for name in ("proactive", "realmem"):
        for talk in json.loads((data / f"{name}.json").read_text("utf-8"))["conversations"][:MAX_CONVERSATIONS]:
            with Memory("memory://", user="ada", worker=False) as memory:
                for number, turn in enumerate(talk["turns"][:MAX_TURNS]):
                    role = "assistant" if turn["speaker"].casefold() == "assistant" else "user"
                    at = datetime.fromisoformat(turn["at"]).replace(tzinfo=UTC)
                    message = {"role": role, "content": turn["text"], "created_at": at}
                    memory.threads.append(f"{turn.get('session', number)}", message, create="user:ada")
                for question in talk["questions"][:MAX_QUESTIONS]:
                    yield memory.context(question["text"], budget=budget)


def print_shares(contexts: Sequence[Context], what: str) -> None:
    """Print the shares of all these requests together."""
    total = sum(context.tokens for context in contexts)
    content, lines = (
        (sum(column) for column in zip(*map(content_tokens, contexts), strict=True)) if contexts else (0, 0)
    )
    if total:
        print(f"{len(contexts)} {what}, {total / len(contexts):,.0f} tokens on average")
        print(f"content share {(content + lines) / total:.1%}; the block counted as wrapping {content / total:.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=2000)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    budget = options.budget
    warnings.simplefilter("ignore")
    if options.data is not None:
        contexts = list(real_requests(options.data, budget))
        print_shares(contexts, f"requests of at most {budget:,} tokens")
        print_shares([context for context in contexts if context.tokens >= 0.75 * budget], "of them nearly full")
        return
    now = [datetime(2026, 9, 1, 9, 0, tzinfo=UTC)]
    with Memory("memory://", user="ada", clock=lambda: now[0], worker=False) as memory:
        contexts = [memory.context(question, budget=budget) for question in tell_stories(memory, now)]
    print_shares(contexts, f"requests of at most {budget:,} tokens")


if __name__ == "__main__":
    main()
