"""A chat backend with FastAPI that has a session per request, streaming, tenants, a worker and a deletion endpoint.

Start the server with `uvicorn examples.fastapi_chat:app`. If you run this file directly, it sends itself a few requests
and exits.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from memorist import AsyncMemory


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    # Open one memory per process. It owns the connections, the caches and the worker that derives facts.
    async with AsyncMemory(os.environ.get("MEMORIST_URL", "chat.db"), all_orgs=True) as memory:
        app.state.memory = memory
        yield


app = FastAPI(lifespan=lifespan)


def user_memory(x_tenant: Annotated[str, Header()] = "default", x_user: Annotated[str, Header()] = "") -> AsyncMemory:
    """Return the caller's handle, which can reach only one user of one tenant, whatever the request says."""
    if not x_user:
        raise HTTPException(401, "name the user; in production your authentication does")
    handle: AsyncMemory = app.state.memory.scope(org=x_tenant, user=x_user)
    return handle


Caller = Annotated[AsyncMemory, Depends(user_memory)]


class Question(BaseModel):
    text: str


async def stream_answer(messages: list[dict[str, str]]) -> AsyncIterator[str]:
    """Stream an answer in pieces; replace this with a call to your model."""
    remembered = " ".join(message["content"] for message in messages)
    city = "in Lisbon" if "Lisbon" in remembered else "somewhere"
    for piece in ("I think ", "you live ", f"{city}."):
        yield piece


@app.post("/conversations/{conversation}/messages")
async def ask(conversation: str, question: Question, memory: Caller) -> StreamingResponse:
    """Answer in a conversation, which the first message creates under your own id."""

    async def pieces() -> AsyncIterator[str]:
        # Thread ids are unique within a tenant, so the id contains the user.
        async with memory.session(f"{memory.user}/{conversation}", system="Answer briefly.") as talk:
            context = await talk.context(question.text)
            answer = []
            async for piece in stream_answer(context.messages()):
                answer.append(piece)
                yield piece
            # The turn is stored in one transaction. If the client disconnects before this point, nothing is stored.
            await talk.add(question.text, "".join(answer))

    return StreamingResponse(pieces(), media_type="text/plain")


@app.get("/me")
async def me(memory: Caller) -> list[str]:
    """Return the memories about the caller."""
    return [item.text for item in await memory.memories.list()]


@app.delete("/me")
async def delete_me(memory: Caller) -> dict[str, int]:
    """Delete everything about the caller, including everything derived from it."""
    return {"erased": (await memory.forget(user=memory.user)).total}


def main() -> None:
    """Let two users of two tenants talk under the same conversation id."""
    from fastapi.testclient import TestClient

    ada = {"x-tenant": "acme", "x-user": "ada"}
    bob = {"x-tenant": "initech", "x-user": "bob"}
    with TestClient(app) as client:
        client.post("/conversations/c1/messages", json={"text": "I live in Lisbon."}, headers=ada)
        question = {"text": "Where do I live?"}
        print("ada:", client.post("/conversations/c2/messages", json=question, headers=ada).text)
        print("bob:", client.post("/conversations/c2/messages", json=question, headers=bob).text)
        print("about ada:", client.get("/me", headers=ada).json())
        print("erased:", client.delete("/me", headers=ada).json()["erased"] > 0)
        print("left:", client.get("/me", headers=ada).json())
        assert client.get("/me").status_code == 401


if __name__ == "__main__":
    main()
