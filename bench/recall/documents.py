"""Questions over long documents: is the answer in the request?

    python bench/recall/documents.py [--part dev|aside|train] [--data FOLDER] [--beside FILE ...] [--show]

All documents are stored for one user; each question is asked with `memory.context(question, budget=B)`, and the literal
piece that answers it is looked for. The two weights of `memorist.recall.sentences` were chosen on the part `train`.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

from memorist import Memory

DATA = Path(__file__).parents[2] / "tests" / "data" / "documents"


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--part", default="dev", choices=["dev", "aside", "train"])
    ap.add_argument("--data", type=Path, default=DATA, help="a folder of documents with its questions.jsonl")
    ap.add_argument("--beside", type=Path, nargs="*", default=[], help="further documents that are stored")
    ap.add_argument("--budgets", type=int, nargs="*", default=[1000, 2000])
    ap.add_argument("--embedder", default="default")
    ap.add_argument("--show", action="store_true")
    a = ap.parse_args()
    rows = [json.loads(line) for line in (a.data / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    questions = [row for row in rows if row["part"] == a.part]
    warnings.simplefilter("ignore")
    with Memory("memory://", user="ada", worker=False, embedder=a.embedder) as memory:
        for path in [*sorted(a.data.glob("*.md")), *a.beside]:
            memory.documents.add("user:ada", path.read_text(encoding="utf-8"), title=path.stem, source=path.name)
        for budget in a.budgets:
            contained = 0
            for row in questions:
                context = memory.context(row["question"], budget=budget)
                request = " ".join("\n".join(str(m["content"]) for m in context.messages(merge=False)[:-1]).split())
                is_contained = " ".join(row["answer"].replace("<", "&lt;").split()).casefold() in request.casefold()
                contained += is_contained
                if not is_contained and a.show:
                    print(f"  {budget}: {row['document']}: {row['question']} [{row['answer']}]")
            print(f"{budget} tokens: {contained} of {len(questions)} ({100 * contained / len(questions):.0f} %)")


if __name__ == "__main__":
    main()
