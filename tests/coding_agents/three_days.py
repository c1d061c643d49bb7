"""A working session of a coding agent over three days in one repository, and what each hook returned.

    python -m tests.coding_agents.three_days

writes `three_days.md`: every hook with its answer and its tokens. `test_three_days.py` checks that the answers are
those, and that nothing irrelevant and nothing of the other project is in them.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from memorist.context.tokens import open_counter
from memorist.testing.clock import FakeClock
from tests.coding_agents.running import Desk

RECORD = Path(__file__).parent / "three_days.md"
START = datetime(2026, 11, 9, 9, 0, tzinfo=UTC)


class Step(NamedTuple):
    """One hook: when, in which session and repository, and what was said."""

    day: int
    session: str
    moment: str
    words: str = ""
    failure: str = ""
    repository: str = "shop"


STEPS = (
    # Monday: the cart moves to its own table.
    Step(1, "mon-1", "start"),
    Step(1, "mon-1", "prompt", "Hi! Let's move the shopping cart out of the session cookie. Look at src/cart first."),
    Step(1, "mon-1", "stop", "The cart lives in src/cart/cookie.py and is read by three views."),
    Step(1, "mon-1", "prompt", "We'll use a carts table in Postgres, one row per item. Never write raw SQL in views."),
    Step(1, "mon-1", "failed-tool", "alembic upgrade head", "sqlalchemy.exc.ProgrammingError: no column user_id"),
    Step(1, "mon-1", "stop", "I added the migration and the model.\n\nI tried to backfill carts inside the migration, "
         "but it failed because the cookie key is not available there.\n\nTODO: backfill old carts with a command."),
    Step(1, "mon-1", "prompt", "I prefer short commits with tests in the same commit."),
    Step(1, "mon-1", "end"),
    # The same evening, another project.
    Step(1, "bank-1", "start", repository="bank"),
    Step(1, "bank-1", "prompt", "We decided to use Kafka for ledger events. Always run make proto first.", "", "bank"),
    Step(1, "bank-1", "stop", "The ledger consumer is in place.", "", "bank"),
    # Tuesday: tests and a compaction.
    Step(2, "tue-1", "start"),
    Step(2, "tue-1", "prompt", "What is left to do for the carts?"),
    Step(2, "tue-1", "before-tool", "alembic upgrade head"),
    Step(2, "tue-1", "prompt", "Write the backfill command. Always put management commands under src/commands."),
    Step(2, "tue-1", "failed-tool", "pytest tests/cart -n 8", "FAILED tests/cart/test_merge.py: database is locked"),
    Step(2, "tue-1", "stop", "The command works for single carts. Running the cart tests with eight workers failed "
         "because they share one database; two workers are fine."),
    Step(2, "tue-1", "before-compaction"),
    Step(2, "tue-1", "after-compaction"),
    Step(2, "tue-1", "prompt", "Explain what a walrus operator is."),
    Step(2, "tue-1", "stop", "It assigns inside an expression."),
    Step(2, "tue-1", "prompt", "Thanks, that's all for today!"),
    # Wednesday: the failed attempt is about to be repeated.
    Step(3, "wed-1", "start"),
    Step(3, "wed-1", "prompt", "Could we backfill the old carts inside the migration, so that deploys stay one step?"),
    Step(3, "wed-1", "before-tool", "pytest tests/cart -n 8"),
    Step(3, "wed-1", "prompt", "Add an endpoint that merges two carts; where may the SQL go?"),
    Step(3, "wed-1", "stop", "The endpoint is done. We went with an upsert per item."),
    Step(3, "bank-2", "start", repository="bank"),
    Step(3, "bank-2", "prompt", "How do carts merge?", "", "bank"),
)  # fmt: skip
KEYS = {"prompt": "prompt", "stop": "answer", "before-tool": "command", "failed-tool": "command"}


def run(folder: Path) -> list[tuple[Step, str, int]]:
    """Every step with what its hook returned, and the tokens of that."""
    desk = Desk(folder)
    desk.clock = clock = FakeClock(START)
    repositories = {
        "shop": desk.repository,
        "bank": desk.new_repository(folder / "bank", "https://example.com/acme/bank.git"),
    }
    counter = open_counter()
    results = []
    for number, step in enumerate(STEPS):
        clock.set(START + timedelta(days=step.day - 1, minutes=5 * number))
        words = {KEYS[step.moment]: step.words} if step.moment in KEYS else {}
        moment = "before-compaction" if step.moment == "end" else step.moment
        context = desk.fire(
            "claude-code",
            moment,
            session=step.session,
            cwd=repositories[step.repository],
            failure=step.failure,
            **words,
        )
        results.append((step, context, counter.count(context) if context else 0))
    return results


def page(results: list[tuple[Step, str, int]]) -> str:
    """The record as Markdown."""
    lines = [
        "# Three days of a coding agent",
        "",
        "What each hook was given, and what it returned, with its tokens.",
        "",
    ]
    for step, context, tokens in results:
        lines.append(f"**Day {step.day}, {step.repository}, {step.session}, {step.moment}** ({tokens} tokens)")
        lines += ["", *(f"> {line}" for line in [*step.words.splitlines(), *step.failure.splitlines()] if line)]
        lines += ["", "```text", context, "```", ""] if context else ["", "Nothing.", ""]
    total = sum(tokens for _, _, tokens in results)
    lines.append(f"{len(results)} hooks, {total} tokens in all.")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        RECORD.write_text(page(run(Path(folder))), "utf-8")
