"""Stories of two or three sessions: is what the last question needs in the request?

    python bench/recall/stories.py [--part dev|aside] [--data tests/data/stories.jsonl] [--show]

Each story is told to a memory of its own, a day between the sessions and thirty unrelated exchanges before the last
question, and derived from; then the question is asked with `memory.context(question, budget=B)`.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memorist import FactExtractor, Memory, Working
from memorist.types import Page, PlanStep

DATA = Path(__file__).parents[2] / "tests" / "data"
START = datetime(2026, 11, 11, 9, 30, tzinfo=UTC)


class Judged:
    """What a request holds of what a story asks for."""

    def __init__(self, story: dict[str, Any], request: str, tokens: int) -> None:
        self.story, self.request, self.tokens = story, request, tokens
        lines = [line.casefold() for line in request.replace("\n  ", " ").splitlines()]
        self.missing = [piece for piece in story["needs"] if not any(piece.casefold() in line for line in lines)]

    @property
    def right(self) -> bool:
        return not self.missing


def load(path: Path, part: str) -> list[dict[str, Any]]:
    """The stories of one part."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [row for row in rows if row["part"] == part]


def fillers() -> list[list[dict[str, Any]]]:
    """Unrelated exchanges."""
    text = (DATA / "fillers.jsonl").read_text(encoding="utf-8")
    exchanges = [json.loads(line) for line in text.splitlines() if line.strip()]
    return [[{"role": role, "content": exchange[role]} for role in ("user", "assistant")] for exchange in exchanges]


def judge_story(story: dict[str, Any], between: list[list[dict[str, Any]]]) -> Judged:
    """Tell a story to a fresh memory, ask its question, and judge the request."""
    now = [START]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        org = Memory("memory://", clock=lambda: now[0], worker=False)
    with org:
        memory = org.scope(user="ada")
        for document in story.get("documents") or ():
            memory.documents.add("user:ada", document["text"], title=document.get("title"))
        for day, session in enumerate(story["sessions"]):
            _append_session(org, session)
            now[0] += timedelta(days=1)
            if day == 0:
                for exchange in between:
                    _append_session(org, exchange)
                now[0] += timedelta(days=1)
        if working := story.get("working"):
            memory.working.set(_working(working))
        context = memory.context(story["question"], budget=story["budget"])
        request = "\n".join(str(message["content"]) for message in context.messages(merge=False)[:-1])
        return Judged(story, request, context.tokens)


def _working(fields: dict[str, Any]) -> Working:
    plan = [PlanStep(text=text, status=status) for text, status in fields.get("plan", ())]
    page = fields.get("page")
    current_page = Page(route=page[0], entity_type=page[1], entity_id=page[2]) if page else None
    return Working(plan=plan, current_page=current_page)


def _append_session(memory: Memory, session: list[dict[str, Any]]) -> None:
    thread = memory.threads.create("user:ada").id
    memory.threads.append(thread, *session)
    memory.process(FactExtractor)


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--data", type=Path, default=DATA / "stories.jsonl")
    ap.add_argument("--part", default="dev", choices=["dev", "aside"])
    ap.add_argument("--only", default="", help="stories whose id begins so")
    ap.add_argument("--show", action="store_true", help="print the requests that fail")
    a = ap.parse_args()
    between = fillers()
    kinds: dict[str, list[Judged]] = defaultdict(list)
    for story in load(a.data, a.part):
        if story["id"].startswith(a.only):
            kinds[story["kind"]].append(judge_story(story, between))
    for kind, judged in kinds.items():
        print(f"{kind:14} {sum(result.right for result in judged)} of {len(judged)}")
        for result in judged:
            if not result.right:
                print(f"    {result.story['id']}: missing {result.missing}")
                if a.show:
                    print(result.request)
    results = [result for judged in kinds.values() for result in judged]
    mean = sum(result.tokens for result in results) / len(results)
    print(f"{sum(result.right for result in results)} of {len(results)}; {mean:.0f} tokens in the mean")


if __name__ == "__main__":
    main()
