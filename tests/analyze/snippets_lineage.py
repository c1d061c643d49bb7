"""Small programs for rules that follow values through functions: who made a text, what became of a list."""

from __future__ import annotations

from .snippets import Snippet

LINEAGE: tuple[Snippet, ...] = (
    Snippet(
        "fifo.fed",
        """
class Runner:
    def step(self, steps):
        kept = self.shorter(steps)
        return self.tell(kept)

    def shorter(self, steps: list[str]):
        return steps[-self.most :]

    def tell(self, steps):
        return self.llm.chat([{"role": "user", "content": str(steps)}])
""",
        """
class Runner:
    def step(self, steps):
        kept = self.shorter(steps)
        return self.count(kept)

    def shorter(self, steps: list[str]):
        return steps[-self.most :]

    def count(self, steps):
        return len(steps)
""",
    ),
    Snippet(
        "summary.in-front",
        """
class Keeper:
    def fold(self, messages, keep):
        old, recent = messages[:-keep], messages[-keep:]
        note = self.tell(old)
        return [{"role": "user", "content": note}, *recent]

    def tell(self, old):
        answer = self.llm.chat([{"role": "user", "content": str(old)}])
        return answer.text
""",
        """
class Keeper:
    def turn(self, messages, keep):
        recent = messages[-keep:]
        reply = self.tell(recent)
        return [*recent, {"role": "assistant", "content": reply}]

    def tell(self, recent):
        answer = self.llm.chat(recent)
        return answer.text
""",
    ),
    Snippet(
        "summary.sized-content",
        """
class Keeper:
    def fit(self, messages, limit):
        for message in messages:
            if len(message.content) > limit:
                message.content = self.tell(message.content)

    def tell(self, text):
        return self.llm.complete(text)
""",
        """
class Keeper:
    def answer(self, messages):
        for message in messages:
            message.content = self.tell(message.content)

    def tell(self, text):
        return self.llm.complete(text)
""",
    ),
    Snippet(
        "summary.kept-aside",
        """
class Keeper:
    def close(self, session):
        answer = self.llm.chat(session.lines)
        session.summary = answer
""",
        """
class Keeper:
    def close(self, session, text):
        session.summary = text
""",
    ),
    Snippet(
        "importance.recalled",
        """
class Recall:
    def best(self, memories, limit):
        memories.sort(key=lambda m: m.score, reverse=True)
        return memories[:limit]
""",
        """
class Recall:
    def best(self, memories, limit):
        memories.sort(key=lambda m: m.name)
        return memories[:limit]
""",
    ),
    Snippet(
        "fifo.kept",
        """
def narrow(messages, most):
    wanted = []
    for message in reversed(messages):
        if len(wanted) < most:
            wanted.append(message)
    return wanted
""",
        """
def copied(messages, most):
    wanted = []
    for message in messages:
        if message.role == "tool":
            wanted.append(message)
        else:
            wanted.append(message)
    return wanted
""",
    ),
    Snippet(
        "fifo.newest",
        """
class Curator:
    def newest(self, memories, count):
        ordered = sorted(memories, key=lambda m: m.created_at, reverse=True)
        return ordered[:count]
""",
        """
class Curator:
    def page(self, memories, start, count):
        ordered = sorted(memories, key=lambda m: m.created_at, reverse=True)
        return ordered[start:count]
""",
    ),
    Snippet(
        "vector.indexed",
        """
class Recall:
    def keep(self, messages):
        self.vectors.upsert(self.embed(messages))

    def near(self, question):
        return self.vectors.query(question)
""",
        """
class Library:
    def keep(self, pages):
        self.vectors.upsert(self.embed(pages))

    def near(self, question):
        return self.vectors.query(question)
""",
    ),
    Snippet(
        "vector.paged",
        """
class Tools:
    def table(self):
        return {"memory_search": self.memory_search, "memory_insert": self.memory_insert}

    def memory_search(self, query):
        return self.passages.find(query)

    def memory_insert(self, text):
        self.passages.put(text)
""",
        """
class Tools:
    def memory_search(self, query):
        return self.passages.find(query)

    def memory_insert(self, text):
        self.passages.put(text)
""",
    ),
    Snippet(
        "dedup.unseen",
        """
def distinct(memories):
    seen = set()
    kept = []
    for memory in memories:
        text = normal(memory)
        if text not in seen:
            seen.add(text)
            kept.append(memory)
    return kept
""",
        """
def joined(memories):
    seen = set()
    kept = []
    for memory in memories:
        if memory.id not in seen:
            seen.add(memory.id)
            kept.append(memory)
    return kept
""",
    ),
    Snippet(
        "summary.removed",
        """
class Keeper:
    def step(self, messages):
        told = self.tell(messages)
        self.drop(messages, told.ids)

    def tell(self, messages):
        answer = self.llm.chat(messages)
        return answer

    def drop(self, messages, ids):
        for each in ids:
            messages.remove(each)
""",
        """
class Keeper:
    def step(self, messages, ids):
        self.drop(messages, ids)
        return self.tell(messages)

    def tell(self, messages):
        answer = self.llm.chat(messages)
        return answer

    def drop(self, messages, ids):
        for each in ids:
            messages.remove(each)
""",
    ),
    Snippet(
        "summary.with-cut",
        """
class Keeper:
    def fit(self, text: str, limit: int):
        told = ""
        if len(text) > limit:
            told = self.tell(text)
        return self.shorter(text, limit, told)

    def tell(self, text: str):
        answer = self.llm.complete(text)
        return answer.text

    def shorter(self, text: str, limit: int, told: str):
        return text[:limit] + told
""",
        """
class Keeper:
    def fit(self, text: str, limit: int):
        told = ""
        if len(text) > limit:
            told = self.tell(text)
        return told or self.shorter(text, limit)

    def tell(self, text: str):
        answer = self.llm.complete(text)
        return answer.text

    def shorter(self, text: str, limit: int):
        return text[:limit]
""",
    ),
    Snippet(
        "summary.flagged",
        """
class Keeper:
    def step(self, messages):
        answer = self.llm.chat(messages)
        self.store.append({"role": "assistant", "content": answer.text, "summary": True})

    def read(self, rows):
        found = []
        for row in reversed(rows):
            found.append(row)
            if row.summary:
                break
        return found
""",
        """
class Keeper:
    def step(self, messages):
        answer = self.llm.chat(messages)
        self.store.append({"role": "assistant", "content": answer.text, "summary": True})

    def read(self, rows):
        return [row for row in rows if row.summary]
""",
    ),
)
