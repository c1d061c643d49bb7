"""What is pinned goes before a summary, and what was never read is counted without the system prompt."""

from __future__ import annotations

from memorist.context.compress import compress
from memorist.context.policies import SlidingWindow, Summarize


def test_a_summary_gives_way_to_what_is_pinned() -> None:
    pinned = [{"role": "user", "content": f"PINNED-{i} " + "word " * 60, "pinned": True} for i in range(7)]
    loose = [{"role": "assistant", "content": f"answer {i} " + "talk " * 90} for i in range(7)]
    thread = [message for pair in zip(pinned, loose, strict=True) for message in pair] + [
        {"role": "user", "content": "And now?"}
    ]
    smallest = next(
        budget
        for budget in range(400, 900)
        if not _fails(lambda b=budget: compress(thread, budget=b, policy=SlidingWindow()))
    )
    context = compress(thread, budget=smallest, policy=Summarize())
    assert all(f"PINNED-{i} " in context.text() for i in range(7))
    assert context.tokens <= smallest


def test_the_system_prompt_is_not_among_what_was_never_read() -> None:
    thread = [{"role": "system", "content": "Be brief."}]
    thread += [{"role": "user", "content": f"turn {i} " + "word " * 20} for i in range(60)]
    context = compress(thread, budget=200)
    assert context.account.unread is not None
    first, _, _ = context.account.unread
    assert first == 1
    kept_count, dropped = len(context.account.kept) + 1, len(context.account.dropped) + context.account.unread[2]
    assert kept_count + dropped == 60


def _fails(call: object) -> bool:
    from memorist.errors import BudgetError

    try:
        call()  # type: ignore[operator]
    except BudgetError:
        return True
    return False
