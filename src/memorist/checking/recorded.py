"""Records the answers of a model once, and replays them in every later run."""

from __future__ import annotations

import json
from pathlib import Path

from ..errors import InvalidValue, ModelError
from ..ids import digest
from ..models.base import parse_json
from ..ports import Model
from ..values import JsonObject

MAX_ANSWER_TOKENS = 4096


class RecordedModel:
    """Replays recorded answers, which it finds by the hash of the prompt. With `live`, it records new ones."""

    def __init__(self, path: Path, live: Model | None = None) -> None:
        self._path, self._live = path, live
        self.missing: list[str] = []
        """The hashes of prompts without a recorded answer."""
        self._used: JsonObject = {}
        rows = json.loads(path.read_text("utf-8"))["answers"] if path.exists() else []
        if live is None and not path.exists():
            raise InvalidValue(f"there are no answers at {path}; record them with: memorist test --record MODEL")
        self._answers: JsonObject = {row["prompt"]: row["answer"] for row in rows}

    def __call__(self, prompt: str) -> str:
        mark = digest(prompt.encode("utf-8", "replace"), 8)
        if mark not in self._answers:
            self._answers[mark] = self._ask(mark, prompt)
        self._used[mark] = self._answers[mark]
        return json.dumps(self._used[mark], ensure_ascii=False)

    def _ask(self, mark: str, prompt: str) -> object:
        if self._live is None:
            self.missing.append(mark)
            raise ModelError(f"no recorded answer for the prompt {mark}")
        from ..runtime import run_blocking

        messages = [{"role": "user", "content": prompt}]
        completion = run_blocking(self._live.complete(messages, max_tokens=MAX_ANSWER_TOKENS))
        return parse_json(completion.text)

    def save(self) -> None:
        """Write the answers that were used, and drop those to prompts that are no longer sent."""
        rows = [{"prompt": mark, "answer": answer} for mark, answer in self._used.items()]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps({"answers": rows}, ensure_ascii=False, indent=1) + "\n", "utf-8")
