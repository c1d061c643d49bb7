"""Counting, storage, tiers and assembly, each from small programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from .reading import analyzed

CALLED = {"use.py": "import counting\ncounting.count_tokens('x')\n"}


@pytest.mark.parametrize(
    ("method", "source"),
    [
        ("tiktoken", "import tiktoken\ndef count_tokens(t):\n    return len(tiktoken.get_encoding('x').encode(t))\n"),
        ("length_estimate", "def count_tokens(t):\n    return len(t) // 4\n"),
        ("length_estimate", "CHARS_PER_TOKEN = 3\ndef count_tokens(t):\n    return t.size / CHARS_PER_TOKEN\n"),
        ("api_usage", "def count_tokens(r):\n    return r.usage.input_tokens\n"),
        ("api_usage", "def count_tokens(r):\n    return r['usage']['prompt_tokens']\n"),
        ("provider_count_api", "def count_tokens(c):\n    return c.messages.count_tokens(messages=[])\n"),
        ("litellm_counter", "import litellm\ndef count_tokens(t):\n    return litellm.token_counter(text=t)\n"),
        ("tokenizer_model", "def count_tokens(t):\n    return len(AutoTokenizer.from_pretrained('m').encode(t))\n"),
        (
            "pluggable_callable",
            "def count_tokens(t, tokenizer_fn: Callable[[str], list]):\n    return tokenizer_fn(t)\n",
        ),
    ],
)
def test_a_way_of_counting_is_recognised(method: str, source: str, tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, {"counting.py": source, **CALLED})
    assert analysis.tokens.counting == [method]


@pytest.mark.parametrize(
    "source",
    [
        'def count_tokens(t):\n    """Uses tiktoken and len(t) // 4."""\n    return 1\n',
        "def average(items):\n    return sum(items) / 4\n",
        "def count_tokens(self, t):\n    return self.model_client.count_tokens(t)\n",
        "def half(items):\n    return len(items) // 2\n",
    ],
)
def test_what_only_looks_like_counting_is_not(source: str, tmp_path: Path) -> None:
    assert analyzed(tmp_path, {"counting.py": source, **CALLED, "u.py": "average(half())\n"}).tokens.counting == []


def test_counting_code_that_nobody_uses_is_left_out(tmp_path: Path) -> None:
    source = "def helper(t):\n    return len(AutoTokenizer.from_pretrained('m').encode(t))  # num_tokens\n"
    assert analyzed(tmp_path, {"counting.py": source}).tokens.counting == []


@pytest.mark.parametrize(
    ("storage", "retrieval", "line"),
    [
        ("sqlite", "direct", "import sqlite3"),
        ("redis", "direct", "import redis.asyncio as redis"),
        ("postgres", "direct", "import psycopg"),
        ("mongodb", "direct", "from pymongo import MongoClient"),
        ("google_cloud_storage", "direct", "from google.cloud import storage"),
        ("chroma", "semantic", "import chromadb"),
        ("qdrant", "semantic", "from qdrant_client import QdrantClient"),
        ("faiss", "semantic", "import faiss"),
    ],
)
def test_a_storage_is_recognised_by_its_library(storage: str, retrieval: str, line: str, tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, {"session/store.py": f"{line}\n\nclass SessionStore:\n    pass\n"})
    assert [(t.tier, t.storage, t.retrieval) for t in analysis.tiers] == [("persistent", [storage], [retrieval])]


def test_npm_modules_mean_storage_too(tmp_path: Path) -> None:
    source = 'import Database from "better-sqlite3"\nexport class SessionStore {}\n'
    analysis = analyzed(tmp_path, {"session/store.ts": source})
    assert [t.storage for t in analysis.tiers] == [["sqlite"]]


def test_json_files_need_a_write_beside_the_text(tmp_path: Path) -> None:
    writes = "def save(session, f):\n    json.dump(session, f)\n"
    prints = "def show(session):\n    return json.dumps(session)\n"
    assert [t.storage for t in analyzed(tmp_path / "a", {"session/a.py": writes}).tiers] == [["json_files"]]
    assert analyzed(tmp_path / "b", {"session/b.py": prints}).tiers == []


def test_a_library_used_by_a_tool_is_not_memory(tmp_path: Path) -> None:
    assert analyzed(tmp_path, {"tools/sql_tool.py": "import sqlite3\n\nclass SqlTool:\n    pass\n"}).tiers == []


def test_a_store_counts_when_memory_uses_its_base(tmp_path: Path) -> None:
    files = {
        "storages/base.py": "class BaseStorage:\n    pass\n",
        "storages/kv/fast.py": "import redis\n\nclass FastStorage(BaseStorage):\n    pass\n",
        "storages/blob/cloud.py": "import azure.storage.blob\n\nclass CloudStorage(BaseBlob):\n    pass\n",
        "memory/block.py": "from storages.base import BaseStorage\n\ndef f(s: BaseStorage):\n    return BaseStorage\n",
    }
    assert [t.storage for t in analyzed(tmp_path, files).tiers] == [["redis"]]


def test_a_driver_is_not_named_beside_what_it_drives(tmp_path: Path) -> None:
    source = "import pgvector\nimport psycopg\n\nclass MemoryStore:\n    pass\n"
    assert [t.storage for t in analyzed(tmp_path, {"memory/pg.py": source}).tiers] == [["pgvector"]]


def test_the_working_tier_is_the_list_an_agent_holds_and_its_bound(tmp_path: Path, sure_rules: None) -> None:
    source = """
class ChatAgent:
    def __init__(self, llm, window_size=40):
        self.messages = []
        self.window_size = window_size

    def run(self):
        return self.llm.chat(self.recent())

    def recent(self):
        return self.messages[-self.window_size:]
"""
    tier = analyzed(tmp_path, {"agent.py": source, "use.py": "ChatAgent(1)\n"}).tiers[0]
    assert (tier.tier, tier.storage, tier.retrieval) == ("working", ["python_list"], ["immediate"])
    assert tier.capacity.startswith("window_size=40")


def test_the_order_of_a_concatenation_is_read_off(tmp_path: Path) -> None:
    source = """
class Builder:
    def messages(self):
        return self.system + self.examples + self.memory + self.done_messages + self.cur_messages + self.reminder

    def send(self):
        return self.llm.chat(self.messages())
"""
    assembly = analyzed(tmp_path, {"prompt/builder.py": source}).assembly
    assert assembly.order == ["system_prompt", "examples", "retrieved_memory", "history", "current_input", "reminder"]
    assert assembly.determined
    assert [p.symbol for p in assembly.locations[:2]] == ["Builder.send", "Builder.messages"]


def test_slots_are_seen_where_the_model_is_called(tmp_path: Path) -> None:
    source = """
class Agent:
    def run(self, user_input):
        self.messages.append({"role": "user", "content": user_input})
        reply = self.llm.chat(system=self.system_prompt, messages=self.messages, tools=self.tools)
        tool_result = self.execute(reply)
        self.messages.append(tool_result)
"""
    order = analyzed(tmp_path, {"agent.py": source}).assembly.order
    assert set(order) == {"system_prompt", "history", "current_input", "scratchpad", "tools"}


def test_code_without_a_model_call_has_no_order(tmp_path: Path) -> None:
    assembly = analyzed(tmp_path, {"a.py": "def add(a, b):\n    return a + b\n"}).assembly
    assert assembly.order == [] and not assembly.determined
