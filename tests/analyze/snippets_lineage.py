"""Small programs for rules that follow values through functions: who made a text, what became of a list."""

from __future__ import annotations

from .snippets import Snippet

LINEAGE: tuple[Snippet, ...] = (
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
)
