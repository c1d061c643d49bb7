"""A chat backend with FastAPI: a session per request, streaming, tenants, a worker and a deletion endpoint.

Run it with `uvicorn examples.fastapi_chat:app`; run as a program, it talks to itself once and ends.
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
    # One memory per process: it has a pool, caches and the worker, which derives facts in the background.
    async with AsyncMemory(os.environ.get("MEMORIST_URL", "chat.db"), all_orgs=True) as memory:
        app.state.memory = memory
        yield


app = FastAPI(lifespan=lifespan)


def user_memory(x_tenant: Annotated[str, Header()] = "default", x_user: Annotated[str, Header()] = "") -> AsyncMemory:
    """The handle of the caller: it reaches one user of one tenant, whatever a request asks for."""
    if not x_user:
        raise HTTPException(401, "name the user; in production your authentication does")
    handle: AsyncMemory = app.state.memory.scope(org=x_tenant, user=x_user)
    return handle


Caller = Annotated[AsyncMemory, Depends(user_memory)]


class Question(BaseModel):
    text: str


async def stream_answer(messages: list[dict[str, str]]) -> AsyncIterator[str]:
    """Stands for your model: streams the answer in pieces."""
    remembered = " ".join(message["content"] for message in messages)
    place = "in Lisbon" if "Lisbon" in remembered else "somewhere"
    for piece in ("I think ", "you live ", f"{place}."):
        yield piece


@app.post("/conversations/{conversation}/messages")
async def ask(conversation: str, question: Question, memory: Caller) -> StreamingResponse:
    """Answer in a conversation; it is created under your own id with its first message."""

    async def pieces() -> AsyncIterator[str]:
        # The id is made unique per user, because ids of threads are unique in a tenant.
        async with memory.session(f"{memory.user}/{conversation}", system="Answer briefly.") as talk:
            context = await talk.context(question.text)
            answer = []
            async for piece in stream_answer(context.messages()):
                answer.append(piece)
                yield piece
            # The turn is one transaction: if the client hangs up before this point, nothing is stored.
            await talk.add(question.text, "".join(answer))

    return StreamingResponse(pieces(), media_type="text/plain")


@app.get("/me")
async def me(memory: Caller) -> list[str]:
    """What is remembered about the caller."""
    return [item.text for item in await memory.memories.list()]


@app.delete("/me")
async def delete_me(memory: Caller) -> dict[str, int]:
    """Erase everything about the caller, with what was derived from it."""
    return {"erased": (await memory.forget(user=memory.user)).total}


def main() -> None:
    """Two users of two tenants with the same conversation id."""
    from fastapi.testclient import TestClient

    ada = {"x-tenant": "acme", "x-user": "ada"}
    bob = {"x-tenant": "initech", "x-user": "bob"}
    with TestClient(app) as client:
        client.post("/conversations/c1/messages", json={"text": "I live in Lisbon."}, headers=ada)
        asked = {"text": "Where do I live?"}
        print("ada:", client.post("/conversations/c2/messages", json=asked, headers=ada).text)
        print("bob:", client.post("/conversations/c2/messages", json=asked, headers=bob).text)
        print("about ada:", client.get("/me", headers=ada).json())
        print("erased:", client.delete("/me", headers=ada).json()["erased"] > 0)
        print("left:", client.get("/me", headers=ada).json())
        assert client.get("/me").status_code == 401


if __name__ == "__main__":
    main()
