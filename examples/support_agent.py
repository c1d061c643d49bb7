"""A support agent that reads orders through the entity cache, and keeps tool calls in the thread and preferences in the
profile.

python examples/support_agent.py
"""

from __future__ import annotations

import warnings
from typing import Any

from memorist import Memory
from memorist.types import NothingLasts

ORDERS = {"o-17": {"customer": "ada", "status": "shipped", "eta": "Tuesday"}}
LOOKUPS: list[str] = []


def load_order(order: str) -> dict[str, Any] | None:
    """Load an order from what would be a slow service."""
    LOOKUPS.append(order)
    return ORDERS.get(order)


def answer(shop: Memory, memory: Memory, thread: str, question: str) -> str:
    """Run one turn, and store the tool call, its result and the answer in one transaction."""
    order = shop.entities.get("order", "o-17")
    reply = f"It is {order['status']} and should arrive on {order['eta']}."
    memory.threads.append(
        thread,
        {"role": "user", "content": question},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "order", "arguments": '{"id": "o-17"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": f"status: {order['status']}"},
        {"role": "assistant", "content": reply},
    )
    return reply


def main() -> None:
    warnings.simplefilter("ignore", NothingLasts)
    with Memory() as shop:
        shop.entities.register("order", load_order, ttl=600)
        memory = shop.scope(user="ada")  # this handle reaches only Ada's memory; the order cache belongs to the shop
        memory.working.record_action("opened the orders page", "o-17")
        thread = memory.threads.create("user:ada", "Where is my order?")
        for question in ("Where is order o-17? I prefer e-mail over phone calls.", "And when will it come?"):
            print(f"ada:   {question}\nagent: {answer(shop, memory, thread.id, question)}")
        shop.process("facts")
        print(
            "looked up",
            len(LOOKUPS),
            "time(s);",
            "learned:",
            [learning.content for learning in memory.learnings.list(min_confidence=0)],
        )
        context = memory.context("Is there anything else?", thread=thread.id, budget=400)
        print(context.bar())


if __name__ == "__main__":
    main()
