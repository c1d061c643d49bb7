"""From rules to findings: one per mechanism, with trigger, subject and use."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist_analyze.analysis import Analysis

from .reading import analyzed, proposed, strategies

WINDOW = """
class Window:
    def apply(self, messages):
        if len(messages) <= self.size:
            return messages
        return messages[-self.size:]
"""
AGENT = """
from memory.window import Window


class Agent:
    def __init__(self, llm):
        self.llm = llm
        self.window = Window()
        self.messages = []

    def run(self, text):
        self.messages.append({"role": "user", "content": text})
        return self.llm.chat(self.window.apply(self.messages))
"""


def analyze_window(root: Path, source: str, **files: str) -> Analysis:
    return analyzed(root, {"memory/window.py": source, "agent.py": AGENT, **files})


def test_a_finding_says_where_what_and_when(tmp_path: Path) -> None:
    (finding,) = proposed(analyze_window(tmp_path, WINDOW))
    assert (finding.strategy, finding.path, finding.line, finding.symbol) == (
        "fifo_message_count", "memory/window.py", 6, "Window.apply",
    )  # fmt: skip
    assert finding.trigger == ["message_count"]
    assert finding.subject == "history"
    assert finding.default_on and finding.wired
    assert finding.id == "fifo_message_count@memory/window.py:6"
    assert "messages[-self.size:]" in finding.evidence


def test_a_class_that_is_a_choice_is_not_on_by_default(tmp_path: Path) -> None:
    source = "class Policy:\n    pass\n\n\nclass Unused(Policy):\n" + "\n".join(WINDOW.splitlines()[2:]) + "\n"
    analysis = analyzed(tmp_path, {"memory/window.py": source, "__init__.py": "from memory.window import Unused\n"})
    assert [f.default_on for f in proposed(analysis)] == [False]


def test_code_used_only_by_tests_is_reported_apart(tmp_path: Path) -> None:
    files = {"memory/window.py": WINDOW, "tests/test_window.py": "Window().apply([])\n"}
    analysis = analyzed(tmp_path, files)
    assert proposed(analysis) == []
    assert [(f.strategy, f.wired) for f in proposed(analysis, wired=False)] == [("fifo_message_count", False)]


def test_async_and_blocking_twins_are_one_mechanism(tmp_path: Path) -> None:
    source = """
class Window:
    def apply(self, messages):
        limit = self.size if self.size else self.default_size
        kept = messages[-limit:]
        self.log.info(len(kept))
        return kept

    async def aapply(self, messages):
        limit = self.size if self.size else self.default_size
        kept = messages[-limit:]
        self.log.info(len(kept))
        return kept
"""
    (finding,) = proposed(analyze_window(tmp_path, source))
    assert finding.twins == ["memory/window.py:L11"]


def test_a_tail_kept_beside_a_summary_is_part_of_the_summary(tmp_path: Path) -> None:
    source = """
class Window:
    def apply(self, messages):
        summary = self.llm.complete("Summarize " + str(messages))
        return [summary] + messages[-self.size:]
"""
    assert strategies(analyze_window(tmp_path, source)) == ["summarization"]


def test_the_caller_of_a_mechanism_is_not_a_second_one(tmp_path: Path) -> None:
    source = """
class Window:
    def apply(self, messages):
        self.messages = self.cut(messages)[-self.size:]
        return self.messages

    def cut(self, messages):
        return messages[-self.size:]
"""
    assert [f.symbol for f in proposed(analyze_window(tmp_path, source))] == ["Window.cut"]


def test_the_trigger_is_looked_for_in_callers(tmp_path: Path) -> None:
    source = """
class Window:
    def apply(self, messages):
        if count_tokens(messages) > self.max_tokens:
            self.shrink(messages)
        return messages

    def shrink(self, messages):
        summary = self.llm.complete("Summarize " + str(messages))
        messages[:] = [summary] + messages[-4:]
"""
    (finding,) = proposed(analyze_window(tmp_path, source))
    assert finding.trigger == ["token_count"]


def test_telemetry_and_detectors_are_not_eviction(tmp_path: Path) -> None:
    source = WINDOW.replace("Window", "Tail")
    files = {"telemetry/spans.py": source, "loop_detector.py": source, "use.py": "Tail()\n"}
    assert proposed(analyzed(tmp_path, files)) == []


def test_a_listing_or_a_clone_is_not_eviction(tmp_path: Path) -> None:
    source = """
class Store:
    def list_messages(self, limit):
        return self.messages[-limit:]

    def clone_thread(self, limit):
        return self.messages[-limit:]
"""
    assert proposed(analyzed(tmp_path, {"memory/store.py": source, "use.py": "Store()\n"})) == []


def test_a_name_without_behaviour_is_nothing(tmp_path: Path) -> None:
    source = '''
class SlidingWindowSummarizer:
    """Drops the oldest messages and summarises them with a model."""

    def summarize(self, messages):
        return messages
'''
    assert strategies(analyzed(tmp_path, {"memory/window.py": source, "use.py": "SlidingWindowSummarizer()\n"})) == []


def test_a_summary_of_documents_is_not_eviction(tmp_path: Path) -> None:
    source = """
class TreeSummarize:
    def get_response(self, chunks):
        summary = self.llm.complete("Summarize " + str(chunks))
        return summary
"""
    assert strategies(analyzed(tmp_path, {"synth/tree.py": source, "use.py": "TreeSummarize()\n"})) == []


def test_a_summary_kept_in_a_field_while_the_list_is_cut_is_summarisation(tmp_path: Path) -> None:
    source = """
class Window:
    def apply(self, messages):
        summary = self.llm.complete("Summarize " + str(messages))
        self.state.summary = summary
        self.state.history = messages[-self.keep:]
"""
    assert strategies(analyze_window(tmp_path, source)) == ["summarization"]


def test_a_summary_returned_beside_the_tail_is_summarisation(tmp_path: Path) -> None:
    source = """
class Window:
    def apply(self, messages):
        summary = self.summarize(messages[:-self.keep])
        return summary, messages[-self.keep:]

    def summarize(self, old):
        return self.llm.chat(old)
"""
    assert strategies(analyze_window(tmp_path, source)) == ["summarization"]


def test_one_field_of_recent_items_is_not_a_window(tmp_path: Path) -> None:
    source = """
class Window:
    def apply(self, messages):
        return [m.screenshot for m in messages[-self.size:]]
"""
    assert strategies(analyze_window(tmp_path, source)) == []


FOLDING = "def summarize(llm, old):\n    return llm.chat(str(old))\n"


def test_a_summary_made_under_an_imported_name_is_followed(tmp_path: Path) -> None:
    source = """
from .fold import summarize as shorten

def compact(llm, messages, cut):
    summary = shorten(llm, messages[:cut])
    return [summary] + messages[cut:]
"""
    files = {"memory/fold.py": FOLDING, "memory/compact.py": source, "memory/use.py": "compact(llm, m, 2)"}
    assert strategies(analyzed(tmp_path, files)) == ["summarization"]


def test_a_list_given_a_last_touch_before_it_is_returned_still_counts(tmp_path: Path) -> None:
    source = """
def compact(llm, system, messages, cut):
    summary = summarize(llm, messages[:cut])
    combined = [summary] + messages[cut:]
    result = merge_system(system, combined)
    return result
"""
    files = {"memory/compact.py": FOLDING + source, "memory/use.py": "compact(llm, s, m, 2)"}
    assert strategies(analyzed(tmp_path, files)) == ["summarization"]


def test_a_list_returned_with_a_flag_still_counts(tmp_path: Path) -> None:
    source = """
def compact(llm, messages, cut):
    summary = summarize(llm, messages[:cut])
    kept = messages[cut:]
    return [messages[0], summary, *kept], True
"""
    files = {"memory/compact.py": FOLDING + source, "memory/use.py": "compact(llm, m, 2)"}
    assert strategies(analyzed(tmp_path, files)) == ["summarization"]


def test_a_history_emptied_when_its_summary_is_stored_is_summarisation(tmp_path: Path) -> None:
    source = """
class Brain:
    def keep(self, summary):
        self.summary = summary
        self.history = []

    def fold(self, llm):
        self.keep(summarize(llm, self.history))

Brain().fold(llm)
"""
    findings = proposed(analyzed(tmp_path, {"memory/brain.py": FOLDING + source}))
    assert [(f.strategy, f.symbol) for f in findings] == [("summarization", "Brain.fold")]


def test_a_cut_counted_from_the_end_is_a_window(tmp_path: Path) -> None:
    source = """
def recent(messages, keep):
    start = max(0, len(messages) - keep)
    return messages[start:]

def since(messages, start):
    return messages[start:]

recent(m, 3)
since(m, 3)
"""
    findings = proposed(analyzed(tmp_path, {"memory/recent.py": source}))
    assert [(f.strategy, f.symbol) for f in findings] == [("fifo_message_count", "recent")]


def test_a_list_only_called_compressed_is_no_summary(tmp_path: Path) -> None:
    source = """
def compress(llm, messages, max_tokens):
    compressed = []
    total = 0
    for message in reversed(messages):
        tokens = count_tokens(message)
        if total + tokens > max_tokens:
            break
        compressed.insert(0, message)
        total += tokens
    log(llm.chat("hello"))
    return compressed

compress(llm, m, 3)
"""
    assert strategies(analyzed(tmp_path, {"memory/compress.py": source})) == ["token_window"]


def test_recalled_items_cut_to_fit_are_not_history(tmp_path: Path) -> None:
    source = """
def fit_memory(contexts, max_tokens):
    while count_tokens(contexts) > max_tokens:
        contexts.pop()
    return contexts

fit_memory(c, 3)
"""
    assert {f.subject for f in proposed(analyzed(tmp_path, {"memory/fit.py": source}))} == {"memory_store"}


_BACKEND = """
import {module}
from memory.base import Session

class {name}(Session):
    def get(self, limit):
        messages = self.read()
        return messages[-limit:]
"""


def test_one_window_over_several_storages_is_one_mechanism(tmp_path: Path) -> None:
    files = {
        "memory/base.py": "class Session:\n    pass\n",
        "memory/a.py": _BACKEND.format(module="redis", name="RedisSession") + "\n    extra = 1\n",
        "memory/b.py": _BACKEND.format(module="sqlite3", name="SqliteSession").replace(
            "self.read()", "list(self.rows)"
        ),
        "use.py": "from memory import a, b\na.RedisSession()\nb.SqliteSession()\n",
    }
    findings = proposed(analyzed(tmp_path, files))
    assert [(f.strategy, f.symbol) for f in findings] == [("fifo_message_count", "RedisSession.get")]
    assert len(findings[0].twins) == 1


def test_two_ways_of_forgetting_in_one_family_stay_two_mechanisms(tmp_path: Path) -> None:
    files = {
        "memory/base.py": "class Window:\n    pass\n",
        "memory/a.py": _BACKEND.format(module="math", name="Newest").replace("Session", "Window"),
        "memory/b.py": _BACKEND.format(module="math", name="Ends")
        .replace("Session", "Window")
        .replace("return messages[-limit:]", "return messages[:1] + messages[-limit:]"),
        "use.py": "from memory.a import Newest\nfrom memory.b import Ends\nNewest()\nEnds()\n",
    }
    assert len(proposed(analyzed(tmp_path, files))) == 2


OPTIONAL = """
class Options:
    newest = None


class Store:
    def read(self, messages, options: Options | None = None):
        if options:
            messages = messages[-options.newest:]
        return messages
"""
READER = """
from memory.window import Options, Store


def run(llm, messages):
    return llm.chat(Store().read(messages{given}))
"""


def test_a_cut_by_an_option_that_nobody_makes_is_not_in_use(tmp_path: Path) -> None:
    report = analyzed(tmp_path, {"memory/window.py": OPTIONAL, "agent.py": READER.format(given="")})
    assert not proposed(report)
    assert [f.symbol for f in proposed(report, wired=False)] == ["Store.read"]


def test_a_cut_by_an_option_that_somebody_makes_is_in_use(tmp_path: Path) -> None:
    report = analyzed(tmp_path, {"memory/window.py": OPTIONAL, "agent.py": READER.format(given=", Options()")})
    assert [f.symbol for f in proposed(report)] == ["Store.read"]


FRONT = """
export class Keeper {
  async fold(messages: Message[], ids: string[]): Promise<Message[]> {
    const state = { notes: [] as string[] };
    const answer = await this.llm.generateText({ prompt: messages });
    state.notes.push(answer.text);
    const kept = messages.filter((m) => {
      return !ids.includes(m.id);
    });
    kept.splice(1, 0, { role: 'user', content: JSON.stringify(state) });
    return kept;
  }
}
"""


def test_what_a_model_made_is_followed_through_a_field_and_a_splice_into_the_kept_messages(tmp_path: Path) -> None:
    report = analyzed(tmp_path, {"keeper.ts": FRONT})
    findings = [*proposed(report), *proposed(report, wired=False)]
    assert [(f.strategy, f.rule) for f in findings] == [("summarization", "summary.in-front")]


MAPPED = """
export function fit(messages: Message[], limit: number): Message[] {
  return messages.map((message) => {
    const next = shorter(message, limit);
    return next;
  });
}

function shorter(message: Message, limit: number): Message {
  return { ...message, text: cut(message.text, limit) };
}

function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return text.slice(0, limit) + '...';
}
"""


PUT_BACK = """
def fit(messages, limit):
    for at in range(len(messages)):
        messages[at] = shorter(messages[at], limit)


def shorter(message, limit):
    return {**message, "text": cut(message["text"], limit)}


def cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[:limit] + "..."
"""


@pytest.mark.parametrize(("name", "source"), [("fit.ts", MAPPED), ("fit.py", PUT_BACK)])
def test_messages_that_a_helper_gives_back_shorter_are_elided(name: str, source: str, tmp_path: Path) -> None:
    report = analyzed(tmp_path, {name: source})
    assert [(f.strategy, f.symbol) for f in [*proposed(report), *proposed(report, wired=False)]] == [
        ("content_elision", "fit")
    ]
