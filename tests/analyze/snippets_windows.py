"""Small programs for the rules about windows: by number of messages and by tokens."""

from __future__ import annotations

from .snippets import Snippet

WINDOWS: tuple[Snippet, ...] = (
    Snippet(
        "token-window.trimmed",
        """
class Window:
    def apply(self, messages):
        while count_tokens(messages) > self.max_tokens:
            messages.pop(0)
        return messages
""",
        """
class Window:
    def apply(self, messages):
        while count_tokens(messages) > self.max_tokens:
            self.max_tokens *= 2
        return messages
""",
    ),
    Snippet(
        "token-window.filled",
        """
class Window:
    def apply(self, messages):
        kept = []
        total_tokens = 0
        for message in reversed(messages):
            tokens = count_tokens(message)
            if total_tokens + tokens > self.budget:
                break
            total_tokens += tokens
            kept.insert(0, message)
        return kept
""",
        """
class Window:
    def apply(self, messages):
        total_tokens = 0
        for message in reversed(messages):
            if message.usage:
                return message.usage.tokens
        return total_tokens
""",
    ),
    Snippet(
        "fifo.tail",
        """
class Window:
    def apply(self, messages):
        return messages[-self.size:]
""",
        """
class Detector:
    def is_repeating(self, messages) -> bool:
        recent = messages[-self.size:]
        return len(set(recent)) == 1
""",
    ),
    Snippet(
        "fifo.shrunk",
        """
class Window:
    def apply(self, messages, cut):
        messages[:] = messages[cut:]
""",
        """
class Window:
    def apply(self, messages, known):
        new = messages[len(known):]
        return len(new)
""",
    ),
    Snippet(
        "fifo.trimmed",
        """
def trim_history(history, cut):
    return history[cut:]
""",
        """
def history_since(history, cut):
    return history[cut:]
""",
    ),
    Snippet(
        "fifo.popped",
        """
class Window:
    def apply(self, message):
        self.history.append(message)
        while len(self.history) > self.max_messages:
            self.history.pop(0)
        return self.history
""",
        """
class Walker:
    def apply(self, start):
        queue = [start]
        while len(queue) > 0:
            queue.pop(0)
""",
    ),
    Snippet(
        "fifo.queried",
        """
class HistoryStore:
    def get_recent(self, limit):
        return self.db.execute("SELECT * FROM messages ORDER BY id DESC LIMIT ?", (limit,))
""",
        """
class UserStore:
    def get_recent(self, limit):
        return self.db.execute("SELECT * FROM users ORDER BY id DESC LIMIT ?", (limit,))
""",
    ),
)
