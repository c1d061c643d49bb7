"""Small programs that each eviction rule must, or must not, fire on.

To add a rule, add a `Snippet` here first: `fires` shows the behaviour, `silent` looks the same and does something else.
All of it is written for these tests; none is taken from a framework.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Snippet:
    """Source for one rule: a program it fires on and one it does not."""

    rule: str
    fires: str
    silent: str
    name: str = "memory/window.py"


SNIPPETS: tuple[Snippet, ...] = (
    Snippet(
        "summary.rebuilt",
        """
class Window:
    def apply(self, messages):
        summary = self.summarize(messages[:-10])
        return [summary] + messages[-10:]

    def summarize(self, old):
        return self.llm.chat([{"role": "user", "content": str(old)}])
""",
        """
class Window:
    def apply(self, messages):
        summary = self.summarize(messages[:-10])
        return [summary] + messages[-10:]

    def summarize(self, old):
        return {"role": "user", "content": f"{len(old)} messages left out"}
""",
    ),
    Snippet(
        "summary.refilled",
        """
class Window:
    def apply(self, history):
        summary = self.llm.complete("Summarize: " + str(history))
        self.history.clear()
        self.history.append(summary)
""",
        """
class Window:
    def apply(self, history):
        copies = list(history)
        self.history.clear()
        self.history.extend(copies)
""",
    ),
    Snippet(
        "summary.forgotten",
        """
class Window:
    def apply(self, messages):
        summary = self.llm.complete(str(messages))
        return Folded(forgotten_message_ids=[m.id for m in messages], summary=summary)
""",
        """
class Window:
    def apply(self, messages):
        return Folded(forgotten_message_ids=[m.id for m in messages], summary="")
""",
    ),
    Snippet(
        "summary.inserted",
        """
def compact_conversation(messages, llm):
    summary = llm.complete("Summarize " + str(messages))
    kept = [tag(m) for m in messages]
    kept_messages = kept
    kept_messages.append({"role": "user", "content": summary})
    return {"messages": kept_messages}
""",
        """
def build_conversation(messages, llm):
    answer = llm.complete(str(messages))
    kept_messages = [tag(m) for m in messages]
    kept_messages.append({"role": "assistant", "content": answer})
    return {"messages": kept_messages}
""",
    ),
    Snippet(
        "importance.budgeted",
        """
class Window:
    def apply(self, memories, token_limit):
        kept = []
        total_tokens = 0
        for memory in sorted(memories, key=lambda m: m.importance, reverse=True):
            tokens = count_tokens(memory)
            if total_tokens + tokens > token_limit:
                break
            total_tokens += tokens
            kept.append(memory)
        return kept
""",
        """
class Search:
    def query(self, documents, top_k):
        return sorted(documents, key=lambda d: d.score, reverse=True)[:top_k]
""",
    ),
    Snippet(
        "elision.content",
        """
class Window:
    def apply(self, messages):
        for message in messages[:-5]:
            message.content = "[old tool output omitted]"
""",
        """
class Window:
    def apply(self, messages):
        for message in messages:
            message.content = message.content.strip()
""",
    ),
    Snippet(
        "elision.shortened",
        """
def truncate_tool_output(output, limit):
    if len(output) <= limit:
        return output
    return output[:limit] + "\\n[... truncated ...]\\n" + output[-20:]
""",
        """
def join_tool_output(output, extra):
    if len(output) <= 3:
        return output
    return output + "\\n" + extra
""",
    ),
    Snippet(
        "dedup.content",
        """
class Window:
    def apply(self, messages, outdated):
        for message in messages:
            if message.id in outdated:
                message.content = "[outdated file content removed]"
""",
        """
class Window:
    def apply(self, messages):
        for message in messages:
            message.content = "[file content removed]"
""",
    ),
    Snippet(
        "offload.stored",
        """
class Window:
    def handle_tool_result(self, tool_result):
        reference = self.storage.put(tool_result.text)
        tool_result.text = f"{tool_result.text[:200]} full text: {reference}"
""",
        """
class Window:
    def handle_tool_result(self, tool_result):
        self.storage.put(tool_result.text)
        return tool_result
""",
    ),
    Snippet(
        "provider.asked",
        """
class Model:
    def call(self, messages):
        return self.client.responses.create(input=messages, truncation="auto")
""",
        """
class Model:
    def call(self, messages):
        return self.client.responses.create(input=messages, truncation="disabled")
""",
    ),
    Snippet(
        "reset.cleared",
        """
class Commands:
    def cmd_clear(self):
        self.coder.messages = []
""",
        """
class Recorder:
    def start(self):
        self.messages = []
""",
        "memory/commands.py",
    ),
)

TYPESCRIPT: tuple[Snippet, ...] = (
    Snippet(
        "summary.rebuilt",
        """
export async function compact(messages: Message[], cut: number, llm: Llm) {
  const summary = await summarize(messages.slice(0, cut), llm);
  return [summary, ...messages.slice(cut)];
}
async function summarize(old: Message[], llm: Llm) { return await llm.chat(old); }
""",
        """
export async function compact(messages: Message[], cut: number) {
  const summary = summarize(messages.slice(0, cut));
  return [summary, ...messages.slice(cut)];
}
function summarize(old: Message[]) { return { role: "user", content: `${old.length} left out` }; }
""",
        "memory/compact.ts",
    ),
    Snippet(
        "token-window.trimmed",
        """
export function prune(messages: Message[], limit: number) {
  let tokens = countTokens(messages);
  while (tokens > limit) { const first = messages.shift()!; tokens -= first.tokens; }
  return messages;
}
""",
        """
export function drain(queue: Job[], limit: number) {
  while (queue.length > limit) { queue.shift(); }
}
""",
        "memory/prune.ts",
    ),
    Snippet(
        "fifo.tail",
        """
export class Window {
  recent(messages: Message[]): Message[] { return messages.slice(-this.size); }
}
""",
        """
export class Window {
  label(message: string): string { return message.slice(-this.size); }
}
""",
        "memory/recent.ts",
    ),
)
