"""The order of a context, read backwards from the model call: through lists, callers, called functions and fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from .reading import analyzed

CHUNKS = """
class Chunks:
    def everything(self):
        return self.system + self.examples + self.repo + self.done + self.cur + self.reminder
"""
LOOP = """
from chunks import Chunks

class Coder:
    def send(self, messages):
        return self.client.chat.completions.create(model=self.model, messages=messages)

    def turn(self):
        chunks = Chunks()
        return self.send(chunks.everything())
"""
BY_HAND = """
def ask(client, question, history, tool_results):
    sent = []
    for turn in history:
        sent.append(turn)
    sent.append({"role": "user", "content": question})
    sent.insert(0, {"role": "system", "content": "Be brief."})
    sent.extend(tool_results)
    return client.chat.completions.create(messages=sent, tools=TOOLS)
"""
KEYED = """
def ask(client, messages, system_prompt, tool_specs):
    request = {"messages": messages}
    request["tools"] = tool_specs
    request["system"] = system_prompt
    return client.messages.create(**request)
"""
FIELD = """
class Agent:
    def __init__(self, llm):
        self.llm = llm
        self.messages = [SystemMessage("Be brief.")]

    def observe(self, tool_result):
        self.messages.append(ToolMessage(tool_result))

    def step(self, user_input):
        self.messages.append(UserMessage(user_input))
        return self.llm.invoke(messages=self.messages)
"""
SCRIPT = """
export class Agent {
  async turn(userMessage: string) {
    const messages = [...this.summaryMessages(), ...this.history];
    messages.push({ role: 'user', content: userMessage });
    messages.unshift({ role: 'system', content: this.prompt });
    return await this.client.chat.completions.create({ messages, tools: this.tools });
  }
}
"""
SIDE = """
def title(client, history):
    return client.chat.completions.create(messages=[{"role": "user", "content": f"Name this: {history}"}])
"""


@pytest.mark.parametrize(
    ("files", "order"),
    [
        (
            {"chunks.py": CHUNKS, "coder.py": LOOP},
            ["system_prompt", "examples", "retrieved_memory", "history", "current_input", "reminder"],
        ),
        ({"ask.py": BY_HAND}, ["system_prompt", "tools", "history", "current_input", "scratchpad"]),
        ({"ask.py": KEYED}, ["system_prompt", "tools", "history"]),
        ({"agent.py": FIELD}, ["system_prompt", "history", "current_input", "scratchpad"]),
        ({"agent.ts": SCRIPT}, ["system_prompt", "tools", "summary", "history", "current_input"]),
    ],
    ids=["another-file", "by-hand", "keyed", "field", "typescript"],
)
def test_the_order_is_that_of_the_parts_that_reach_the_model(
    tmp_path: Path, files: dict[str, str], order: list[str]
) -> None:
    assembly = analyzed(tmp_path, files).assembly
    assert assembly.determined
    assert assembly.order == order


def test_each_slot_is_shown_where_it_is_put_in(tmp_path: Path) -> None:
    assembly = analyzed(tmp_path, {"chunks.py": CHUNKS, "coder.py": LOOP}).assembly
    assert [(p.path, p.role) for p in assembly.locations[:2]] == [
        ("coder.py", "main_call"),
        ("chunks.py", "system_prompt"),
    ]
    assert assembly.slots["reminder"][0].path == "chunks.py"


def test_a_call_on_the_side_says_nothing_about_the_order(tmp_path: Path) -> None:
    assert not analyzed(tmp_path / "side", {"title.py": SIDE}).assembly.determined
    both = analyzed(tmp_path / "both", {"title.py": SIDE, "ask.py": BY_HAND}).assembly
    assert both.locations[0].path == "ask.py"
