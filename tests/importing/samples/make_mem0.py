"""A real mem0 with a local Qdrant store and a history, and an export of it; no model is asked and nothing is sent."""

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase
from mem0.utils.factory import EmbedderFactory, LlmFactory


class Local(EmbeddingBase):
    """Vectors from a hash: the same text has the same one."""

    def embed(self, text: str, memory_action: Any = None) -> list[float]:
        return [byte / 255 for byte in hashlib.blake2b(text.encode(), digest_size=8).digest()]


class NoModel:
    config = None


EmbedderFactory.create = classmethod(lambda cls, *_, **__: Local())
LlmFactory.create = classmethod(lambda cls, *_, **__: NoModel())

data = Path(sys.argv[1])
folder = data / "mem0"
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir()
memory = Memory.from_config(
    {
        "vector_store": {
            "provider": "qdrant",
            "config": {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": 8},
        },
        "history_db_path": str(folder / "history.db"),
    }
)
first = memory.add("I live in Berlin — 東京 👩‍💻", user_id="ada", infer=False)["results"][0]["id"]
second = memory.add("I like tea", user_id="ada", infer=False)["results"][0]["id"]
third = memory.add("I am to be deleted", user_id="bob", infer=False)["results"][0]["id"]
memory.add("answers in French", agent_id="writer", infer=False)
memory.update(first, "I live in Rome")
memory.delete(third)
everything = [
    *memory.get_all(filters={"user_id": "ada"}, top_k=100)["results"],
    *memory.get_all(filters={"agent_id": "writer"}, top_k=100)["results"],
]
(data / "mem0-export.json").write_text(
    json.dumps({"results": everything}, ensure_ascii=False, indent=1) + "\n", "utf-8"
)
expected = {
    "memories": {item["id"]: item["memory"] for item in everything},
    "history": {
        id: [[event["event"], event["new_memory"]] for event in memory.history(id)] for id in (first, second, third)
    },
}
(data / "mem0.expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n", "utf-8")
memory.close()
for lock in folder.rglob(".lock"):
    lock.unlink()
