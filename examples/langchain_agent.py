"""A LangChain chat that continues after its process is killed.

python examples/langchain_agent.py
"""

from __future__ import annotations

from typing import Any

from killed import answer, survive_a_kill
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

from memorist.adapters.langchain import MemoristChatMessageHistory


def talk(path: str, text: str) -> str:
    """Run one turn of the chat and return the reply."""
    model: Any = RunnableLambda(lambda messages: AIMessage(answer(str(messages))))
    history = MemoristChatMessageHistory("ada", path)

    def history_of(session_id: str) -> BaseChatMessageHistory:
        return history

    chain = RunnableWithMessageHistory(model, history_of)
    reply = chain.invoke(text, {"configurable": {"session_id": "ada"}})
    history.close()
    return str(reply.content)


if __name__ == "__main__":
    survive_a_kill(talk)
