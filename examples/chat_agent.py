"""A chat agent with memory that uses Anthropic, OpenAI, or no model at all.

python examples/chat_agent.py                               # a scripted conversation; needs no key
python examples/chat_agent.py --model anthropic:claude-haiku-4-5 --talk
python examples/chat_agent.py --model openai:llama3@http://localhost:11434/v1 --talk
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from memorist import Context, Memory

SYSTEM = "You are a helpful assistant with a memory."
SCRIPT = ("Hi, I'm Ada and I live in Lisbon.", "I prefer short answers.", "Where do I live?")


def without_model(context: Context, question: str) -> str:
    """Answer with the first recalled line, so that you can see the memory at work."""
    memories = [line for line in context.memory_text.splitlines() if line and not line.startswith(("<", "Recalled"))]
    return f"I remember: {memories[0]}" if memories else "Nice to meet you."


def with_model(spec: str) -> Callable[[Context, str], str]:
    from memorist.models import open_model
    from memorist.runtime import run_blocking

    model = open_model(spec, blocking=True)

    def answer(context: Context, question: str) -> str:
        request = context.anthropic()
        return run_blocking(model.complete(request["messages"], system=request["system"], max_tokens=500)).text

    return answer


def talk(memory: Memory, messages: Iterable[str], answer: Callable[[Context, str], str]) -> None:
    with memory.session(system=SYSTEM, budget=8000) as session:
        for line in messages:
            context = session.context(line)
            reply = answer(context, line)
            session.add(line, reply)
            print(f"you:   {line}\nagent: {reply}")


def typed() -> Iterable[str]:
    while line := input("> ").strip():
        yield line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="anthropic:ID or openai:ID[@URL]")
    parser.add_argument("--file", help="the file of the memory (default: a temporary file)")
    parser.add_argument("--talk", action="store_true", help="type your own messages instead of using the script")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or str(Path(folder) / "chat.db")
        answer = with_model(options.model) if options.model else without_model
        for _ in range(1 if options.talk else 2):
            with Memory(path, user="ada", model=options.model) as memory:
                talk(memory, typed() if options.talk else SCRIPT, answer)
        with Memory(path, user="ada", worker=False) as memory:
            print("about ada:", {fact.key: fact.value for fact in memory.profile.get("ada").facts})


if __name__ == "__main__":
    main()
