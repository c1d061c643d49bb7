"""Questions and memories in twelve languages: is the memory that answers found, in other forms of its words?

    python bench/recall/languages.py [--embedder default] [--asked-in en] [--show]

The memories of a language are messages of one user; each question is asked with `memory.recall`. Shown per language:
how many of its questions have the answer first, and how many among the first three. With `--asked-in`, the questions
of one language are asked of the memories of the others: the sets say the same.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

from memorist import Memory

DATA = Path(__file__).parents[2] / "tests" / "data" / "recall_languages.jsonl"


def rows() -> list[dict[str, Any]]:
    """The set of each language."""
    return [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines() if line.strip()]


def places(row: dict[str, Any], embedder: str | None = "default") -> list[int]:
    """Where the answer of each question of a language came, from 1 on; a large number where it did not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        memory = Memory("memory://", user="ada", embedder=embedder, worker=False, extract=None)
    with memory:
        for text in row["memories"]:
            memory.threads.append(memory.threads.create("user:ada").id, text)
        ranks = []
        for question in row["questions"]:
            texts = [hit.text for hit in memory.recall(question["q"])]
            answer = row["memories"][question["answer"]]
            ranks.append(texts.index(answer) + 1 if answer in texts else 1_000)
        return ranks


def across(row: dict[str, Any], questions: list[dict[str, Any]]) -> dict[str, Any]:
    """The memories of a language with the questions of another."""
    pairs = zip(questions, row["questions"], strict=True)
    return {**row, "questions": [{"q": question["q"], "answer": own["answer"]} for question, own in pairs]}


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--embedder", default="default")
    ap.add_argument("--asked-in", metavar="LANG", help="ask the questions of this language about all others")
    ap.add_argument("--show", action="store_true", help="print the questions whose answer is not first")
    a = ap.parse_args()
    total = [0, 0, 0]
    sets = rows()
    if a.asked_in:
        questions = next(row for row in sets if row["lang"] == a.asked_in)["questions"]
        sets = [across(row, questions) for row in sets if row["lang"] != a.asked_in]
    for row in sets:
        ranks = places(row, None if a.embedder == "none" else a.embedder)
        first, three = sum(rank == 1 for rank in ranks), sum(rank <= 3 for rank in ranks)
        total = [total[0] + first, total[1] + three, total[2] + len(ranks)]
        print(f"{row['lang']}  first {first} of {len(ranks)}, among three {three}")
        for question, rank in zip(row["questions"], ranks, strict=True):
            if a.show and rank > 1:
                print(f"    {rank}: {question['q']} [{row['memories'][question['answer']]}]")
    print(f"first {total[0]} of {total[2]}, among three {total[1]}")


if __name__ == "__main__":
    main()
