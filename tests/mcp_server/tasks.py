"""Twelve natural tasks for the six tools: what a model is shown, what is remembered before, and what must hold after.

    python -m tests.mcp_server.tasks FOLDER

writes one prompt per task: the tools as MCP lists them, and the conversation so far; nothing else. The answers of a
reader who saw only the prompts are in `tests/data/mcp_tasks`, and `test_tasks.py` replays them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from memorist.mcp.server import INSTRUCTIONS
from memorist.mcp.tools import TOOLS, input_schema

ANSWERS = Path(__file__).parents[1] / "data" / "mcp_tasks"
CODE, COFFEE = "4f1c09ab", "f4b396ecdb37ce0e7da46801"
"""The code and the id in the prompts; a replay puts the real ones in their place."""
SEED = (
    {"text": "The user lives in Lisbon."},
    {"text": "The user is vegetarian."},
    {"text": "The user is allergic to shellfish."},
    {"text": "User's coffee order is a flat white with oat milk."},
    {"text": "The user loved the restaurant Taberna do Mar."},
    {"text": "The team decided to use Postgres for the billing service."},
)
"""What is remembered before every task."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One task: the conversation, and what has to be true after the reader's calls."""

    name: str
    conversation: str
    tools: tuple[str, ...]
    """The tools that solve it; the reader must use one of them."""
    knows: tuple[str, ...] = ()
    """Words that the profile must contain afterwards."""
    knows_not: tuple[str, ...] = ()
    """Words that neither the profile nor recall may contain afterwards."""
    answers: tuple[str, ...] = ()
    """Words that the answers of the calls must contain."""


TASKS = (
    Task(
        name="01-new-facts",
        conversation="User: By the way, my daughter Mia starts school in September, and I now work at Novabank.",
        tools=("remember",), knows=("Mia", "Novabank"),
    ),
    Task(
        name="02-standing-preference",
        conversation="User: From now on please answer in bullet points, I find long paragraphs hard to read.",
        tools=("remember",), knows=("bullet",),
    ),
    Task(
        name="03-earlier-conversation",
        conversation="User: What was the name of that restaurant I told you I loved?",
        tools=("recall",), answers=("Taberna do Mar",),
    ),
    Task(
        name="04-what-do-you-know",
        conversation="User: What do you actually know about me?",
        tools=("profile",), answers=("Lisbon", "vegetarian", "shellfish"),
    ),
    Task(
        name="05-moved",
        conversation='Assistant called profile. It answered: {"user": "me", "items": [{"id": "fact:location", "text": '
        '"Lives in Lisbon", "date": "2026-03-02"}]}\nAssistant: You live in Lisbon.\nUser: Not any more, I moved to '
        "Porto two weeks ago.",
        tools=("update", "remember"), knows=("Porto",), knows_not=("Lives in Lisbon",),
    ),
    Task(
        name="06-forget-first-step",
        conversation="User: Please forget my coffee order. I don't want you to keep that.",
        tools=("forget", "recall"), answers=("oat milk",), knows=("oat milk",),
    ),
    Task(
        name="07-forget-second-step",
        conversation="User: Please forget my coffee order.\nAssistant called forget with "
        f'{{"id": "coffee"}}. It answered: {{"id": "learning:{COFFEE}", "erased": false, "what": ["My coffee order is '
        f'a flat white with oat milk."], "rows": 3, "confirm": "{CODE}"}}\nAssistant: I would erase "My coffee order '
        'is a flat white with oat milk." Shall I?\nUser: Yes, go ahead.',
        tools=("forget",), knows_not=("coffee", "oat milk"),
    ),
    Task(
        name="08-why",
        conversation="User: Why do you think I'm allergic to shellfish? When did I say that?",
        tools=("why", "recall"), answers=("shellfish",),
    ),
    Task(
        name="09-decision",
        conversation="User: Before I start on the billing service: what database did we decide on?",
        tools=("recall",), answers=("Postgres",),
    ),
    Task(
        name="10-values",
        conversation="User: Note this down for later: the project's deadline is 2026-12-18 and the budget is 40000 "
        "euros.",
        tools=("remember",), knows=("2026-12-18", "40000"),
    ),
    Task(
        name="11-needs-memory",
        conversation="User: Can you suggest somewhere for dinner tonight?",
        tools=("recall", "profile"), answers=("vegetarian",),
    ),
    Task(
        name="12-correction",
        conversation='Assistant called recall with {"query": "coffee order"}. It answered: {"items": [{"id": '
        f'"learning:{COFFEE}", "text": "My coffee order is a flat white with oat milk.", "date": "2026-11-17"}}]}}\n'
        "Assistant: One flat white with oat milk, then?\nUser: No, you've got that wrong: it's soy milk, never oat.",
        tools=("update",), knows=("soy",), knows_not=("with oat milk",),
    ),
)  # fmt: skip


def prompt_of(task: Task) -> str:
    """What a reader sees: the tools as MCP lists them, and the conversation."""
    core = [
        {"name": tool.name, "description": tool.about, "input_schema": input_schema(tool)}
        for tool in TOOLS
        if tool.set == "core"
    ]
    return (
        f"You are an assistant with these tools. {INSTRUCTIONS}\n\n"
        f"{json.dumps(core, indent=1)}\n\n"
        f"The conversation so far:\n{task.conversation}\n\n"
        "Answer with the tool calls you make next, before you say anything, as a JSON list and nothing else: "
        '[{"tool": "...", "arguments": {...}}]\n'
    )


def calls_of(task: Task) -> list[dict[str, Any]]:
    """The recorded calls of a task."""
    calls: list[dict[str, Any]] = json.loads((ANSWERS / f"{task.name}.json").read_text("utf-8"))
    return calls


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for task in TASKS:
        (folder / f"{task.name}.txt").write_text(prompt_of(task), "utf-8")
