"""What becomes of a list decides: joined, trimmed, filtered and read lists that look like eviction, and real ones."""

from __future__ import annotations

from pathlib import Path

from .reading import analyzed, proposed

AGENT = """
class Agent:
    def run(self, text):
        self.messages.append({"role": "user", "content": text})
        return self.llm.chat(self.keeper.prepare(self.messages))
"""


def proposed_mechanisms(root: Path, source: str, name: str = "memory/keeper.py", **more: str) -> list[tuple[str, str]]:
    """Strategy and symbol of each finding in a checkout with this file and an agent that uses `Keeper.prepare`."""
    agent = f"from memory.keeper import Keeper\n\n{AGENT}" if name.endswith(".py") else ""
    analysis = analyzed(root, {name: source, "agent.py": agent, **more})
    return [(f.strategy, f.symbol) for f in proposed(analysis)]


def test_a_tail_with_its_first_message_is_a_window_even_in_a_function_named_for_summaries(tmp_path: Path) -> None:
    source = """
class Keeper:
    def prepare(self, messages):
        return self.buffer_summarization(messages)

    def buffer_summarization(self, messages):
        if len(messages) <= self.limit:
            return messages, False
        start = max(1, len(messages) - self.keep)
        evicted, kept = messages[1:start], messages[start:]
        later = messages[start:]
        self.tell(evicted)
        return [messages[0], *later], True
"""
    assert proposed_mechanisms(tmp_path, source) == [("fifo_message_count", "Keeper.buffer_summarization")]


def test_the_same_tail_that_no_model_reads_is_nothing(tmp_path: Path) -> None:
    source = """
class Executor:
    def step(self, steps):
        return self.draw(self._shorter(steps))

    def _shorter(self, steps):
        return steps[-self.most :]

    def draw(self, steps):
        return len(steps)
"""
    assert (
        proposed_mechanisms(
            tmp_path,
            source,
            "run/executor.py",
            **{"main.py": "from run.executor import Executor\nExecutor().step([])\n"},
        )
        == []
    )


def test_a_list_that_begins_as_a_copy_is_joined_and_not_filtered(tmp_path: Path) -> None:
    source = """
class Keeper:
    def prepare(self, messages):
        return self.join(messages, self.more, self.limit)

    def join(self, current_memories, memories, limit):
        merged = list(current_memories)
        seen = {m.text for m in merged}
        for memory in memories:
            if memory.text in seen:
                continue
            seen.add(memory.text)
            if len(merged) < limit:
                merged.append(memory)
        return merged
"""
    assert proposed_mechanisms(tmp_path, source) == []


def test_the_lists_of_a_models_answer_are_bounded_without_being_a_window(tmp_path: Path) -> None:
    source = """
import json


class Keeper:
    def prepare(self, messages):
        return self.snapshot(messages, 100)

    def snapshot(self, messages, max_tokens):
        state = {"facts": []}
        answer = json.loads(self.llm.chat(messages))
        state.facts.extend(answer["facts"])
        tokens = count_tokens(state)
        while tokens > max_tokens:
            state.facts.pop(0)
            tokens = count_tokens(state)
        return json.dumps(state)
"""
    assert ("token_window", "Keeper.snapshot") not in proposed_mechanisms(tmp_path, source)


def test_the_messages_are_a_window_when_they_are_trimmed_before_the_model_is_asked(tmp_path: Path) -> None:
    source = """
class Keeper:
    def prepare(self, messages):
        while count_tokens(messages) > self.max_tokens:
            messages.pop(0)
        messages.append(self.llm.chat(messages))
        return messages
"""
    assert proposed_mechanisms(tmp_path, source) == [("token_window", "Keeper.prepare")]


def test_a_private_read_that_only_answers_a_method_nobody_calls_is_unwired(tmp_path: Path) -> None:
    source = """
class Keeper:
    def prepare(self, messages):
        return messages

    def search_memories(self, limit):
        return self._newest_memories(limit)

    def _newest_memories(self, limit):
        memories = sorted(self.memories, key=lambda m: m.updated_at)
        return memories[-limit:]
"""
    assert proposed_mechanisms(tmp_path, source) == []
    used = source.replace("return messages\n", "return [*self.search_memories(3), *messages]\n")
    assert proposed_mechanisms(tmp_path, used) == [("fifo_message_count", "Keeper._newest_memories")]


def test_an_async_method_with_another_body_is_the_same_mechanism(tmp_path: Path) -> None:
    source = """
class Keeper:
    def prepare(self, messages):
        return messages[-self.size :]

    async def aprepare(self, messages):
        async with self.lock:
            size = await self.settings.size()
            return messages[-size:]
"""
    more = {"later.py": "async def run(keeper, messages):\n    return await keeper.aprepare(messages)\n"}
    assert proposed_mechanisms(tmp_path, source, **more) == [("fifo_message_count", "Keeper.prepare")]


def test_a_second_constructor_is_no_mechanism_of_its_own(tmp_path: Path) -> None:
    source = """
class Keeper:
    @classmethod
    def from_messages(cls, messages):
        made = cls()
        for message in messages:
            made.summary_buffer = made.summarize(made.chat_memory.messages, made.summary_buffer)
        return made

    def save(self, message):
        self.summary_buffer = self.summarize(self.chat_memory.messages, self.summary_buffer)

    def prepare(self, messages):
        self.save(messages[0])
        if self.summary_buffer:
            return [self.summary_buffer]
        return self.messages

    def summarize(self, messages, before):
        return self.llm.chat([{"role": "user", "content": str(messages)}])
"""
    assert proposed_mechanisms(tmp_path, source) == [("summarization", "Keeper.save")]


def test_records_without_anything_said_are_no_messages(tmp_path: Path) -> None:
    source = """
class Keeper:
    def prepare(self, messages):
        self.history.append({"at": now(), "used": memory(), "free": rest()})
        if len(self.history) > self.most:
            self.history.pop(0)
        return [*messages, *self.history]
"""
    assert proposed_mechanisms(tmp_path, source) == []
    spoken = source.replace('"used": memory(), "free": rest()', '"text": messages[-1]')
    assert proposed_mechanisms(tmp_path, spoken) == [("fifo_message_count", "Keeper.prepare")]


def test_a_list_set_or_extended_is_not_refilled(tmp_path: Path) -> None:
    source = """
class Keeper:
    def prepare(self, messages):
        answer = self.llm.chat(messages)
        self.note(answer)
        return self.messages

    def note(self, answer):
        if self.messages is None:
            self.messages = answer
        else:
            self.messages.extend(answer)
"""
    assert proposed_mechanisms(tmp_path, source) == []


def test_a_summary_only_written_out_is_a_title(tmp_path: Path) -> None:
    source = """
import json


class Keeper:
    def prepare(self, messages):
        self.name(messages)
        return messages

    def name(self, messages):
        update = {}
        update.summary = self.llm.chat(messages)
        self.file.append(f"{json.dumps(update)}")
"""
    assert proposed_mechanisms(tmp_path, source) == []
    stored = source.replace("        update = {}\n        update.summary", "        self.summary")
    assert proposed_mechanisms(tmp_path, stored) == [("summarization", "Keeper.name")]


def test_a_page_read_in_either_direction_is_browsing(tmp_path: Path) -> None:
    source = """
export async function browse(messages: Message[], store: Store, most: number, forward: boolean) {
  return await store.messages.list({ limit: most, orderBy: { direction: forward ? 'ASC' : 'DESC' } });
}
export const used = browse;
"""
    assert proposed_mechanisms(tmp_path, source, "chat/history.ts") == []
    newest = source.replace("forward ? 'ASC' : 'DESC'", "'DESC'")
    assert proposed_mechanisms(tmp_path, newest, "chat/history.ts") == [("fifo_message_count", "browse")]
