"""Asks a language model for JSON of a given type.

The answer is checked, and repaired once if the caller asks for that.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from ..errors import ModelError
from ..ports import Completion, Messages, Model
from ..typed import ready

T = TypeVar("T")


async def ask(
    model: Model,
    messages: Messages,
    record_type: type[T],
    *,
    check: Callable[[T], list[str]] | None = None,
    repair: str = "",
    heard: Callable[[Completion], None] = lambda answer: None,
    **options: Any,
) -> T:
    """Return the model's answer as a `record_type` in which `check` finds no problems, or raise ModelError.

    With `repair` (a text that contains `{problems}`), the model is told what was wrong and is asked once more. Problems
    name positions and types, never content. `heard` is called with every answer, and `options` are passed to the model.
    """
    for last in (not repair, True):
        answer = await model.complete(messages, **options)
        heard(answer)
        parsed, problems = _converted(answer, record_type)
        if parsed is not None:
            problems = (check(parsed) if check else [])[:10]
            if not problems:
                return parsed
        if last:
            break
        shown = answer.text or msgspec.json.encode(answer.data).decode()[:20_000]
        repair_prompt = repair.format(problems="; ".join(problems))
        messages = [*messages, {"role": "assistant", "content": shown}, {"role": "user", "content": repair_prompt}]
    reasons = "; ".join(problems)
    problem = f"the model {model.name!r} returned no valid answer{', repaired once' if repair else ''}: {reasons}"
    raise ModelError(problem, reason=f"invalid: {reasons}", retryable=False, status=None, model=model.name)


def _converted(answer: Completion, record_type: type[T]) -> tuple[T | None, list[str]]:
    """Return the data of an answer as a type, or a description of what is wrong with it."""
    if answer.data is None:
        return None, ["not JSON"]
    ready(record_type)
    try:
        return msgspec.convert(answer.data, record_type, strict=True), []
    except (msgspec.ValidationError, RecursionError) as error:
        # Field names and values that the model invented are content, so they are left out of the error.
        text = re.sub(r"unknown field `[^`]*`", "unknown field", str(error))
        return None, [re.sub(r"Invalid enum value .*?(?= - at|$)", "invalid enum value", text)[:160]]
