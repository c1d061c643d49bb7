"""Reads conversation segments batch by batch, with answers from files, and collects what the writer would store.

    python -m bench.writer.segments FOLDER ANSWERS OUT

FOLDER holds one `*.json` per segment (`{"turns": [{"id", "speaker", "text", "at"}]}`). For each batch the prompt is
written to `ANSWERS/<segment>.<batch>.prompt.txt`; its answer is read from `ANSWERS/<segment>.<batch>.json`. A batch
without an answer ends its segment: answer it and run this again. Notes go to OUT as JSON lines.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from memorist.extract.writer.answer import decode_operations
from memorist.extract.writer.checks import EXCLUSIVE_KEYS, SENSITIVE_KEYS, Note, check_operations, fold
from memorist.extract.writer.request import (
    MAX_CONTEXT_TURNS,
    MAX_MESSAGES,
    MAX_NEW_CHARACTERS,
    Known,
    Turn,
    make_request,
)


def read_segment(path: Path, answers: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]], Path | None]:
    """The notes and refusals of a segment, and the prompt that still lacks its answer."""
    turns = json.loads(path.read_text("utf-8"))["turns"]
    owner = owner_of(turns)
    memories: list[Known] = []
    notes: list[dict[str, Any]] = []
    refusals: list[dict[str, Any]] = []
    start = batch = 0
    while start < len(turns):
        batch += 1
        stop = next_batch(turns, start)
        new = [as_turn(turn, owner) for turn in turns[start:stop]]
        context = [as_turn(turn, owner) for turn in turns[max(0, start - MAX_CONTEXT_TURNS) : start]]
        people = ["user" if owner == "user" else f"user ({owner}, the owner of this memory)"]
        people += sorted({turn.speaker for turn in new if turn.speaker not in ("user", "assistant")})
        request = make_request(new, context=context, memories=memories[-30:], people=people)
        prompt = answers / f"{path.stem}.{batch}.prompt.txt"
        prompt.write_text(f"{request.system}\n\n=====\n\n{request.content}\n", "utf-8")
        answer = prompt.with_name(f"{path.stem}.{batch}.json")
        if not answer.exists():
            return notes, refusals, prompt
        decoded = decode_operations(json.loads(answer.read_text("utf-8")))
        operations, refused = ([], []) if decoded is None else decoded
        accepted, more = check_operations(operations, request)
        for note in accepted:
            turn = turns[start + note.turn]
            notes.append({"segment": path.stem, "turn": turn["id"], **as_row(note), "subject": note.subject or owner})
            memories = remember(memories, note, new[note.turn].at)
        refusals += [{"segment": path.stem, **msgspec.to_builtins(refusal)} for refusal in (*refused, *more)]
        start = stop
    return notes, refusals, None


def owner_of(turns: list[dict[str, Any]]) -> str:
    """`user` in a chat with an assistant, else the one who speaks first."""
    speakers = [str(turn["speaker"]) for turn in turns]
    return "user" if any(name.lower() in ("user", "assistant") for name in speakers) else speakers[0]


def next_batch(turns: list[dict[str, Any]], start: int) -> int:
    """Where the batch that begins at `start` ends."""
    size, stop = 0, start
    while stop < len(turns) and stop - start < MAX_MESSAGES and (stop == start or size < MAX_NEW_CHARACTERS):
        size += len(turns[stop]["text"])
        stop += 1
    return stop


def as_turn(turn: dict[str, Any], owner: str) -> Turn:
    speaker = str(turn["speaker"])
    role = "assistant" if speaker.lower() == "assistant" else "user"
    name = role if speaker.lower() in ("user", "assistant") or speaker == owner else speaker
    at = datetime.fromisoformat(turn["at"])
    return Turn(
        text=turn["text"], role=role, at=at.replace(tzinfo=UTC) if at.tzinfo is None else at, speaker=name,
        citable=role == "user",
    )  # fmt: skip


def as_row(note: Note) -> dict[str, Any]:
    fields = (
        "op",
        "kind",
        "key",
        "value",
        "text",
        "quote",
        "start",
        "end",
        "status",
        "people",
        "confidence",
        "inferred",
        "reason",
    )
    data: dict[str, Any] = msgspec.to_builtins({name: getattr(note, name) for name in fields})
    data["target"] = note.target.text if note.target else None
    data["review"] = note.review
    return data


def remember(memories: list[Known], note: Note, at: datetime) -> list[Known]:
    """The known memories after a note, as the engine would keep them."""
    if note.op == "confirm":
        return memories
    if note.target is not None:
        memories = [item for item in memories if item.id != note.target.id]
    if note.op == "end":
        return memories
    id = note.target.id if note.target else f"{note.kind}:{len(memories)}:{fold(note.text)[:40]}"
    if note.kind == "fact" and note.key in EXCLUSIVE_KEYS:
        memories = [item for item in memories if (item.key, item.subject) != (note.key, note.subject)]
    item = Known(
        id=id, kind=note.kind, text=note.text, subject=note.subject, key=note.key, value=note.value, since=note.start,
        stated_at=at, status=note.status, sensitive=bool(note.key and note.key.split(".")[0] in SENSITIVE_KEYS),
    )  # fmt: skip
    return [*memories, item]


def main(folder: Path, answers: Path, out: Path) -> None:
    answers.mkdir(parents=True, exist_ok=True)
    notes: list[dict[str, Any]] = []
    refusals: list[dict[str, Any]] = []
    missing: list[Path] = []
    for path in sorted(folder.glob("*.json")):
        segment_notes, refused, prompt = read_segment(path, answers)
        notes += segment_notes
        refusals += refused
        missing += [] if prompt is None else [prompt]
    out.write_text("".join(json.dumps(note, ensure_ascii=False) + "\n" for note in notes), "utf-8")
    print(f"{len(notes)} notes, {len(refusals)} refused, {len(missing)} prompts without an answer")
    print(Counter(refusal["reason"] for refusal in refusals).most_common())
    for prompt in missing:
        print(prompt)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
