"""Mechanisms spread over several functions, in Python and TypeScript, with names that say little.

Each program shows one general way to write a mechanism; beside it stands a look-alike that evicts nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .look_alikes import LOOK_ALIKES, Program
from .reading import analyzed, strategies

PROGRAMS = (
    Program(
        "a summary inside a tuple",
        "summarization",
        "core/a.py",
        """
class Keeper:
    async def make(self, old):
        answer = await self.llm.chat([{"role": "user", "content": str(old)}])
        return Outcome(text=answer.text, cost=1), len(old)

    async def apply(self, messages):
        outcome, count = await self.make(messages[: -self.keep])
        return [{"role": "user", "content": outcome.text}, *messages[-self.keep :]]
""",
        """
class Keeper:
    async def make(self, old):
        return Outcome(text="", cost=1), len(old)

    async def apply(self, messages):
        outcome, count = await self.make(messages)
        return [{"role": "user", "content": outcome.text}, *messages]
""",
    ),
    Program(
        "a summary inside an object",
        "summarization",
        "core/a.ts",
        """
export class Keeper {
  async make(old: Message[]) {
    const answer = await generateText({ model: this.model, messages: old });
    return { text: answer.text, cost: 1 };
  }
  async apply(messages: Message[]) {
    const { text } = await this.make(messages.slice(0, -this.keep));
    return [{ role: "user", content: text }, ...messages.slice(-this.keep)];
  }
}
""",
        """
export class Keeper {
  async make(old: Message[]) {
    return { text: "", cost: 1 };
  }
  async apply(messages: Message[]) {
    const { text } = await this.make(messages);
    return [{ role: "user", content: text }, ...messages];
  }
}
""",
    ),
    Program(
        "a window as a limit passed down",
        "fifo_message_count",
        "core/b.py",
        """
class Rows:
    def fetch(self, key, count):
        found = self.base.select(table="messages", key=key, order_by="created_at desc", limit=count)
        return list(reversed(found))

class Reading:
    def read(self, key, count):
        return self.rows.fetch(key, count)

class Agent:
    def __init__(self, rows, window=20):
        self.reading = Reading(rows)
        self.window = window

    async def run(self, key, text):
        messages = self.reading.read(key, self.window)
        return await self.llm.chat([*messages, {"role": "user", "content": text}])
""",
        """
class Rows:
    def fetch(self, key, offset, count):
        return self.base.select(table="messages", key=key, order_by="created_at", offset=offset, limit=count)

class Api:
    def page(self, key, offset, count):
        return self.rows.fetch(key, offset, count)
""",
    ),
    Program(
        "a window as a limit passed down, in an options object",
        "fifo_message_count",
        "core/b.ts",
        """
export class Rows {
  async fetch(key: string, count: number): Promise<Message[]> {
    const found = await this.base.message.findMany({ where: { key }, orderBy: { createdAt: "desc" }, take: count });
    return found.reverse();
  }
}
export class Agent {
  rows = new Rows();
  async run(key: string, text: string) {
    const messages = await this.rows.fetch(key, this.window);
    return await generateText({ model: this.model, messages: [...messages, { role: "user", content: text }] });
  }
}
""",
        """
export class Rows {
  async fetch(key: string, cursor: string, count: number): Promise<Message[]> {
    return this.base.message.findMany({ where: { key }, orderBy: { createdAt: "asc" }, cursor, take: count });
  }
}
""",
    ),
    Program(
        "a reverse walk through a helper",
        "token_window",
        "core/c.py",
        """
def from_the_end(xs):
    return list(reversed(xs))

def fit(messages, limit):
    kept = []
    tokens = 0
    for m in from_the_end(messages):
        tokens += count(m)
        if tokens > limit:
            break
        kept.append(m)
    return from_the_end(kept)
""",
        """
def from_the_end(xs):
    return list(reversed(xs))

def fit(messages):
    tokens = 0
    for m in from_the_end(messages):
        tokens += count(m)
    return tokens
""",
    ),
    Program(
        "a reverse walk over a copy",
        "token_window",
        "core/c.ts",
        """
export function fit(messages: Message[], limit: number) {
  const kept: Message[] = [];
  let tokens = 0;
  for (const m of [...messages].reverse()) {
    tokens += count(m);
    if (tokens > limit) break;
    kept.push(m);
  }
  return kept.reverse();
}
""",
        """
export function total(messages: Message[], limit: number) {
  let tokens = 0;
  for (const m of [...messages].reverse()) {
    tokens += count(m);
    if (tokens > limit) break;
  }
  return tokens;
}
""",
    ),
    Program(
        "sorted in one function, taken up to a budget in another",
        "importance_scoring",
        "core/d.py",
        """
class Notes:
    def ordered(self, blocks):
        return sorted(blocks, key=lambda b: b.priority, reverse=True)

    def take(self, blocks, limit):
        kept = []
        tokens = 0
        for b in self.ordered(blocks):
            if tokens + b.tokens > limit:
                break
            tokens += b.tokens
            kept.append(b)
        return kept
""",
        """
class Notes:
    def ordered(self, blocks):
        return sorted(blocks, key=lambda b: b.priority, reverse=True)

    def take(self, blocks):
        return [b.name for b in self.ordered(blocks)]
""",
    ),
    Program(
        "sorted in one function, taken up to a budget in another, in TypeScript",
        "importance_scoring",
        "core/d.ts",
        """
function ordered(blocks: Block[]) {
  return [...blocks].sort((a, b) => b.priority - a.priority);
}
export function take(blocks: Block[], limit: number) {
  const kept: Block[] = [];
  let tokens = 0;
  for (const b of ordered(blocks)) {
    if (tokens + b.tokens > limit) break;
    tokens += b.tokens;
    kept.push(b);
  }
  return kept;
}
""",
        """
function ordered(blocks: Block[]) {
  return [...blocks].sort((a, b) => b.priority - a.priority);
}
export function take(blocks: Block[]) {
  return ordered(blocks).map((b) => b.name);
}
""",
    ),
    Program(
        "removed messages go to a vector store and come back by search, in TypeScript",
        "vector_swap",
        "core/e.ts",
        """
export class Archive {
  async hold(items: Message[]) {
    await this.vectorStore.upsert(items.map((m) => ({ id: m.id, text: m.content })));
  }
  async near(text: string) {
    return this.vectorStore.query(text, 3);
  }
}
export class Chat {
  archive = new Archive();
  async shorten() {
    if (this.messages.length > this.limit) {
      const gone = this.messages.splice(0, this.messages.length - this.limit);
      await this.archive.hold(gone);
    }
  }
}
""",
        """
export class Chat {
  async shorten() {
    if (this.messages.length > this.limit) {
      const gone = this.messages.splice(0, this.messages.length - this.limit);
      console.log(gone.length);
    }
  }
}
""",
    ),
    Program(
        "tool output written to a file, path and preview left",
        "offload",
        "core/f.py",
        """
def fit(output: str, folder):
    if len(output) <= LIMIT:
        return output
    path = folder / "x.txt"
    path.write_text(output)
    return f"{output[:500]}\\n(the rest: {path})"
""",
        """
def fit(output: str, folder):
    path = folder / "x.txt"
    path.write_text(output)
    return output
""",
    ),
    Program(
        "tool output written to a file, path and preview left, in TypeScript",
        "offload",
        "core/f.ts",
        """
export async function fit(output: string, folder: string) {
  if (output.length <= LIMIT) return output;
  const file = path.join(folder, "x.txt");
  await fs.writeFile(file, output);
  return `${output.slice(0, 500)}\\n(the rest: ${file})`;
}
""",
        """
export async function fit(output: string, folder: string) {
  const file = path.join(folder, "x.txt");
  await fs.writeFile(file, output);
  return output;
}
""",
    ),
    Program(
        "tool output written to a file by a generator",
        "offload",
        "core/g.ts",
        """
export const fit = Effect.fn("fit")(function* (output: string) {
  const fs = yield* FileSystem;
  if (output.length <= LIMIT) return { content: output, truncated: false };
  const file = path.join(DIR, "x.txt");
  yield* fs.writeFileString(file, output);
  const preview = output.slice(0, LIMIT);
  return { content: `${preview}\\n\\nFull output in: ${file}`, truncated: true };
});
""",
        """
export const fit = Effect.fn("fit")(function* (output: string) {
  const fs = yield* FileSystem;
  const file = path.join(DIR, "x.txt");
  yield* fs.writeFileString(file, output);
  return { content: output };
});
""",
    ),
    Program(
        "a summary made in a generator",
        "summarization",
        "core/h.ts",
        """
export const shorten = Effect.fn("shorten")(function* (id: string) {
  const messages = yield* store.messages(id);
  const answer = yield* llm.generate({ model, messages: messages.slice(0, -keep) });
  const rest = messages.slice(-keep);
  yield* store.replace(id, [{ role: "user", content: answer.text }, ...rest]);
});
""",
        """
export const shorten = Effect.fn("shorten")(function* (id: string) {
  const messages = yield* store.messages(id);
  const answer = yield* llm.generate({ model, messages });
  yield* store.replace(id, [...messages, { role: "assistant", content: answer.text }]);
});
""",
    ),
    Program(
        "old tool results replaced in a loop",
        "content_elision",
        "core/i.ts",
        """
export function clear(messages: Message[], keep: number) {
  let seen = 0;
  for (let i = messages.length - 1; i >= 0; i--) {
    for (const part of messages[i].parts) {
      if (part.type !== "tool") continue;
      seen += estimateTokens(part.output);
      if (seen > keep) part.output = "[Old tool result content cleared]";
    }
  }
  return messages;
}
""",
        """
export function fill(messages: Message[]) {
  for (const message of messages) {
    for (const part of message.parts) {
      if (!part.output) part.output = "(nothing was written)";
    }
  }
  return messages;
}
""",
    ),
    Program(
        "old tool results replaced by a comprehension",
        "content_elision",
        "core/i.py",
        """
def clear(messages, keep):
    cut = len(messages) - keep
    return [
        {**m, "content": "(older result left out)"} if i < cut and m["role"] == "tool" else m
        for i, m in enumerate(messages)
    ]
""",
        """
def fill(messages):
    return [{**m, "content": "(nothing was said)"} if not m["content"] else m for i, m in enumerate(messages)]
""",
    ),
    Program(
        "a summary spliced into a list under another name",
        "summarization",
        "core/o.ts",
        """
export class Keeper {
  async fold(agent: Agent, model: Model) {
    const messages = agent.messages;
    const n = messages.length - this.keep;
    const told = await this.tell(messages.slice(0, n), model);
    messages.splice(0, n, told);
  }
  async tell(old: Message[], model: Model) {
    const answer = await model.streamAll(old);
    return { role: "user", content: answer.text };
  }
}
""",
        """
export class Keeper {
  async fold(agent: Agent, model: Model) {
    const messages = agent.messages;
    const n = messages.length - this.keep;
    messages.splice(n, 1, { role: "user", content: "" });
  }
}
""",
    ),
    Program(
        "a window rendered into a text",
        "fifo_message_count",
        "core/messages/p.py",
        """
class MessageKeeper:
    def told(self):
        total = len(self.state.history_items)
        if total <= self.most:
            return self.whole()
        keep = self.most - 1
        lines = [self.state.history_items[0].to_string()]
        lines.extend([item.to_string() for item in self.state.history_items[-keep:]])
        return "\\n".join(lines)
""",
        """
class MessageKeeper:
    def told(self):
        return "\\n".join(item.to_string() for item in self.state.history_items)
""",
    ),
    Program(
        "a window added to the caller's list",
        "fifo_message_count",
        "core/q.ts",
        """
export class Step {
  handle(messages: Message[], past: Message[], size: number) {
    const some = past.slice(-size * 2);
    messages.push(...some);
  }
}
""",
        """
export class Step {
  handle(messages: Message[], past: Message[]) {
    messages.push(...past);
  }
}
""",
    ),
    Program(
        "a notice chosen instead of the content",
        "content_elision",
        "core/j.ts",
        """
export function toModel(messages: Message[]) {
  return messages.map((m) => ({
    role: m.role,
    parts: m.parts.map((p) => ({ id: p.id, output: p.old ? "[Old result cleared]" : p.output })),
  }));
}
""",
        """
export function toModel(messages: Message[]) {
  return messages.map((m) => ({
    role: m.role,
    parts: m.parts.map((p) => ({ id: p.id, output: p.failed ? "(failed)" : p.output })),
  }));
}
""",
    ),
    Program(
        "parts of a kind left out of copies of the messages",
        "content_elision",
        "core/k.py",
        """
def without_images(messages):
    return [{**m, "content": [p for p in m["content"] if p["type"] != "image"]} for m in messages]
""",
        """
def with_content(messages):
    return [{**m, "content": [p for p in m["content"] if p]} for m in messages]
""",
    ),
    Program(
        "a cut output with a flag that says so",
        "content_elision",
        "core/l.ts",
        """
export function run(output: string, limit: number) {
  if (output.length > limit) {
    return { output: output.slice(0, limit), truncated: true };
  }
  return { output, truncated: false };
}
""",
        """
export function run(output: string) {
  return { output, truncated: false };
}
""",
    ),
    Program(
        "lines of an output left out",
        "content_elision",
        "core/m.py",
        """
def fit(output, limit):
    lines = output.splitlines()
    if len(lines) <= limit:
        return output
    head = "\\n".join(lines[:limit])
    return head + f"\\n({len(lines) - limit} more lines)"
""",
        """
def fit(output, limit):
    lines = output.splitlines()
    return f"{len(lines)} lines, {limit} asked for"
""",
    ),
)


@pytest.mark.parametrize("program", (*PROGRAMS, *LOOK_ALIKES), ids=lambda p: p.name)
def test_a_mechanism_is_found_however_it_is_divided(program: Program, tmp_path: Path) -> None:
    assert program.strategy in strategies(analyzed(tmp_path, {program.path: program.does}))


@pytest.mark.parametrize("program", (*PROGRAMS, *LOOK_ALIKES), ids=lambda p: p.name)
def test_a_look_alike_is_not_reported(program: Program, tmp_path: Path) -> None:
    assert program.strategy not in strategies(analyzed(tmp_path, {program.path: program.does_not}))


def test_a_list_that_only_screens_use_is_not_reported(tmp_path: Path) -> None:
    client = """
export class Talk {
  trim() {
    if (this.messages.length > this.most) {
      this.messages = this.messages.slice(-this.most);
    }
  }
  shown() {
    return this.messages;
  }
}
"""
    screen = "import { Talk } from './talk';\nexport function Page() { const t = new Talk(); return t.shown(); }\n"
    agent = (
        "import { Talk } from './talk';\n"
        "export async function run(t: Talk) { return await generateText({ model, messages: t.shown() }); }\n"
    )
    used = analyzed(tmp_path / "a", {"core/talk.ts": client, "core/run.ts": agent})
    drawn = analyzed(tmp_path / "b", {"core/talk.ts": client, "web/page.tsx": screen})
    assert strategies(used) == ["fifo_message_count"]
    assert strategies(drawn) == []


def test_of_many_methods_of_one_name_the_one_of_the_same_package_is_meant(tmp_path: Path) -> None:
    asks = "export class A { async brief(old: M[]) { return await generateText({ model, messages: old }); } }\n"
    counts = "export class B { async brief(old: M[]) { return old.length; } }\n"
    run = """
export async function shorter(messages: Message[], x: Other, keep: number) {
  const text = await x.brief(messages.slice(0, -keep));
  return [{ role: "user", content: text }, ...messages.slice(-keep)];
}
"""
    files = {f"p{at}/{name}": text for at in range(9) for name, text in (("package.json", "{}"), ("b.ts", counts))}
    near = {**files, "p0/b.ts": asks, "p0/run.ts": run}
    far = {**files, "p1/b.ts": asks, "p0/run.ts": run}
    assert "summarization" in strategies(analyzed(tmp_path / "a", near))
    assert "summarization" not in strategies(analyzed(tmp_path / "b", far))


def test_a_tool_that_writes_what_it_is_told_to_is_no_offload(tmp_path: Path) -> None:
    keeper = """
class Keeper:
    def put_away(self, output, place):
        files.write(place, output)
        return f"The output was saved to {place}"
"""
    fits = """
class Agent:
    def fit(self, output, limit, place):
        if len(output) > limit:
            return self.keeper.put_away(output, place)
        return output
"""
    speaks = """
def speak(text, limit, place):
    for part in split(text):
        if len(part) > limit:
            response = ask(part)
            response.put_away(place)
"""
    large = analyzed(tmp_path / "a", {"core/keeper.py": keeper, "core/agent.py": fits})
    spoken = analyzed(tmp_path / "b", {"core/keeper.py": keeper, "core/speech.py": speaks})
    assert strategies(large) == ["offload"]
    assert strategies(spoken) == []
