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
        "token-window.searched",
        """
def fit_messages(messages, max_tokens):
    low, high = 0, len(messages)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(messages[:middle]) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return messages[:low]
""",
        """
def find_message(messages, wanted):
    low, high = 0, len(messages)
    while low < high:
        middle = (low + high) // 2
        if messages[middle].id < wanted:
            low = middle + 1
        else:
            high = middle
    return messages[low]
""",
    ),
    Snippet(
        "token-window.cut",
        """
def find_cut(messages, max_tokens):
    total_tokens = 0
    for index in range(len(messages) - 1, -1, -1):
        total_tokens += count_tokens(messages[index])
        if total_tokens > max_tokens:
            break
    return index


def apply(messages, max_tokens):
    cut = find_cut(messages, max_tokens)
    return messages[cut:]
""",
        """
def find_last_user(messages):
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "user":
            break
    return index


def apply(messages):
    return messages[find_last_user(messages)]
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
        "fifo.forgotten",
        """
class Window:
    def apply(self, messages):
        old = messages[: len(messages) - self.keep]
        return Forget(removed_message_ids=[m.id for m in old])
""",
        """
class Window:
    def apply(self, messages):
        return Forget(removed_message_ids=[])
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
        "fifo.counted",
        """
def recent_turns(messages, max_turns):
    kept_messages = []
    turns = 0
    for message in reversed(messages):
        if turns >= max_turns:
            break
        turns += message.role == "user"
        kept_messages.insert(0, message)
    return kept_messages
""",
        """
def last_tool_messages(messages):
    kept_messages = []
    for message in reversed(messages):
        if message.role != "tool":
            break
        kept_messages.insert(0, message)
    return kept_messages
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
    Snippet(
        "fifo.bounded",
        """
from collections import deque


class Window:
    def __init__(self, size):
        self.messages = deque(maxlen=size)
""",
        """
from collections import deque


class Window:
    def __init__(self):
        self.messages = deque()
""",
    ),
    Snippet(
        "token-window.called",
        """
import trimmer

def ask(llm, messages, limit):
    messages = trimmer.trim(messages, max_tokens=limit)
    return llm.chat(messages)
""",
        """
def ask(llm, messages, limit):
    messages = trim(messages, max_tokens=limit)
    return llm.chat(messages)

def trim(messages, max_tokens):
    return messages
""",
    ),
    Snippet(
        "token-window.marked",
        """
class Truncation:
    def __call__(self, messages):
        for message in messages:
            if count_tokens(messages) <= self.max_tokens:
                break
            message.excluded = True
""",
        """
class Truncation:
    def __call__(self, messages):
        for message in messages:
            if count_tokens(messages) <= self.max_tokens:
                break
            message.seen = True
""",
    ),
    Snippet(
        "fifo.marked",
        """
class Sliding:
    def __call__(self, messages):
        kept = self.ids(messages)[-self.size :]
        for message in messages:
            if message.id not in kept:
                mark_hidden(message)
""",
        """
class Sliding:
    def __call__(self, messages):
        kept = self.ids(messages)[-self.size :]
        for message in messages:
            if message.id not in kept:
                mark_seen(message)
""",
    ),
)
