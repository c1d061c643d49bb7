"""Lists the prompts of the memory writer whose recorded answers are missing or stale, and takes in new ones.

    python -m bench.writer.recordings missing PROMPTS [--segments FOLDER]
    python -m bench.writer.recordings take ANSWERS [--segments FOLDER]

`missing` writes the next prompt of each segment that needs an answer to `PROMPTS/<segment>.<batch>.txt`; later prompts
of a segment show what the earlier answers stored, so answer those first. `take` reads `ANSWERS/<segment>.<batch>.json`,
files them into the segments with the hash of the prompt they answer, and lists what is still missing.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from memorist.ids import digest

from .segments import read_segment

SEGMENTS = Path(__file__).parents[2] / "tests" / "data" / "writer"


def missing_prompt(segment: Path, more: Path | None = None) -> tuple[str, str] | None:
    """The first prompt of a segment without an answer to exactly that prompt, and its name; None if all have one.

    With `more`, a folder of new answers, those are taken into the segment's file first.
    """
    data = json.loads(segment.read_text("utf-8"))
    answers: list[dict[str, Any]] = data.get("answers", [])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        number = 0
        while True:
            _, _, prompt = read_segment(segment, folder)
            if prompt is None:
                break
            number += 1
            stem = f"{segment.stem}.{number}"
            mark = digest(prompt.read_bytes(), 8)
            recorded = next((answer for answer in answers if answer["prompt"] == mark), None)
            fresh = None if more is None else more / f"{stem}.json"
            if recorded is None and fresh is not None and fresh.exists():
                recorded = {"prompt": mark, "operations": json.loads(fresh.read_text("utf-8"))["operations"]}
            if recorded is None:
                return stem, prompt.read_text("utf-8")
            answers[number - 1 :] = [recorded, *(answer for answer in answers[number - 1 :] if answer != recorded)]
            (folder / f"{stem}.json").write_text(json.dumps(recorded), "utf-8")
    if more is not None:
        data["answers"] = answers[:number]
        segment.write_text(json.dumps(data, ensure_ascii=False, indent=0) + "\n", "utf-8")
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["missing", "take"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--segments", type=Path, default=SEGMENTS)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    prompts = [
        prompt
        for segment in sorted(options.segments.glob("*.json"))
        if (prompt := missing_prompt(segment, options.folder if options.action == "take" else None)) is not None
    ]
    for name, text in prompts:
        if options.action == "missing":
            (options.folder / f"{name}.txt").write_text(text, "utf-8")
        print(name)
    print(f"{len(prompts)} prompts without an answer")


if __name__ == "__main__":
    main()
