"""Evidence in the prompt: of the turns that answer a question, which share is in the request that a model would get?

    python bench/recall/prompt.py ../shared/bench/dev/beam.json [--budgets 1000 2000 4000] [--sample 0.3]

A conversation is stored turn by turn for one user and derived from; then each question is asked with
`memory.context(question, budget=B)`. A turn is in the request when all of its text is, or 120 characters of it in one
piece; a session is when one of its turns is. Where a file says how many turns a question may see, it is asked when
exactly these are stored. Nothing is over its budget, or the run fails.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from stored import Store, fresh, whole

from memorist import Recall
from memorist.checking.datasets import Conversation, Dataset, Question, load
from memorist.checking.evaluating import BUDGETS, evidence_of, holds, request_text


class Row:
    """What one request held."""

    def __init__(self, category: str, budget: int, share: float, tokens: int, items: int, ms: float) -> None:
        self.category, self.budget, self.share = category, budget, share
        self.tokens, self.items, self.ms = tokens, items, ms


def questions_with_stores(
    data: Dataset, sample: float, embedder: str | None, skip: set[str]
) -> Iterator[tuple[Conversation, Question, Store]]:
    """Each question with a store that holds what it may see."""
    for talk in data.conversations:
        questions = [q for q in talk.questions if q.category not in skip]
        if sample < 1:
            questions = [q for q in questions if random.Random(q.id).random() < sample]
        if not questions:
            continue
        if all(q.visible is None for q in questions):
            with whole(data.name, talk, embedder) as store:
                for question in questions:
                    yield talk, question, store
            continue
        with fresh(embedder) as store:
            written = 0
            for question in sorted(questions, key=lambda q: q.visible or 0):
                store.write(talk.turns[written : question.visible])
                written = max(written, question.visible or 0)
                yield talk, question, store


def share(data: Dataset, talk: Conversation, question: Question, request: str) -> float:
    """The share of the evidence that a request holds."""
    parts = [evidence_of(data, talk, unit, question.visible) for unit in question.gold]
    return sum(any(holds(request, text) for text in part.texts) for part in parts) / len(parts)


def measure(
    data: Dataset,
    budgets: Sequence[int],
    sample: float,
    embedder: str | None,
    skip: set[str],
    min_score: float | None = None,
) -> list[Row]:
    rows, recall = [], Recall(min_score=min_score)
    for talk, question, store in questions_with_stores(data, sample, embedder, skip):
        store.clock.ask(question.asked_at)
        for budget in budgets:
            start = time.thread_time()
            context = store.memory.context(question.text, budget=budget, recall=recall)
            spent = 1000 * (time.thread_time() - start)
            if context.tokens > budget:
                raise SystemExit(f"{question.id}: {context.tokens} tokens in a budget of {budget}")
            request = request_text(context)
            rows.append(
                Row(question.category, budget, share(data, talk, question, request), context.tokens,
                    len(context.memory_items), spent)
            )  # fmt: skip
    return rows


def table(name: str, rows: Sequence[Row], budgets: Sequence[int]) -> str:
    """Shares by category, then tokens, items and time."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.category].append(row)
    if len(groups) == 1:
        groups.clear()
    groups["ALL"] = list(rows)
    lines = [f"{name}: evidence in a request of {' / '.join(map(str, budgets))} tokens"]
    for category, category_rows in sorted(groups.items(), key=lambda item: (item[0] == "ALL", item[0])):
        by = [[row for row in category_rows if row.budget == budget] for budget in budgets]
        figures = "  ".join(f"{100 * statistics.fmean(row.share for row in part):5.1f}" for part in by)
        lines.append(f"  {category:26}{len(by[0]):5}   {figures}")
    by = [[row for row in rows if row.budget == budget] for budget in budgets]
    for what in ("tokens", "items", "ms"):
        figures = "  ".join(f"{statistics.fmean(getattr(row, what) for row in part):5.0f}" for part in by)
        lines.append(f"  {'mean ' + what:31}   {figures}")
    return "\n".join(lines)


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("data", type=Path, nargs="+")
    ap.add_argument("--budgets", type=int, nargs="*", default=list(BUDGETS))
    ap.add_argument("--sample", type=float, default=1.0, help="share of the questions, the same ones each time")
    ap.add_argument("--embedder", default="default", help="`default`, `minilm`, `none`, or any other spec")
    ap.add_argument("--skip", nargs="*", default=["adversarial"], help="categories left out")
    ap.add_argument("--min-score", type=float, help="instead of the relevance floor; 0 switches it off")
    a = ap.parse_args()
    embedder = None if a.embedder == "none" else a.embedder
    for path in a.data:
        data = load(path)
        rows = measure(data, a.budgets, a.sample, embedder, set(a.skip), a.min_score)
        print(table(data.name, rows, a.budgets), flush=True)


if __name__ == "__main__":
    main()
