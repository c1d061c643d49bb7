"""Defines the three MCP prompts. Stored text is fenced, in a separate message."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import mcp_types as types
import msgspec

from ..errors import NotFound, UsageError
from . import resources
from .answers import fitted
from .callers import Caller
from .calls import profile_answer


class Prompt(msgspec.Struct, frozen=True, eq=False):
    """Describes one prompt: what it reads from the memory, and what it asks the model to do."""

    name: str
    title: str
    about: str
    ask: str
    argument: str
    what: str
    """This is the description of the argument."""
    required: bool
    read: Callable[[Caller, str, int], Awaitable[str]]
    """This function reads the stored part and fences it."""


async def _profile(caller: Caller, user: str, max_tokens: int) -> str:
    return fitted(await profile_answer(caller, user or caller.user), max_tokens).text


async def _thread(caller: Caller, thread: str, max_tokens: int) -> str:
    content = (await resources.read(caller, resources.address("thread", thread), max_tokens)).contents[0]
    assert isinstance(content, types.TextResourceContents)
    return content.text


PROMPTS: Mapping[str, Prompt] = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "what_do_you_know", "What do you know about me?", "Says what is remembered about a user, and since when.",
            "Tell me in plain words what you know about me from the data above: who I am, what I prefer, and what "
            "you have learned. Say when you are not sure.",
            "user", "whose memory to use; by default the user's own", False, _profile,
        ),
        Prompt(
            "continue_thread", "Continue a conversation", "Picks up an earlier conversation where it stopped.",
            "The data above is an earlier conversation of ours. Say in two sentences where we stopped, then continue "
            "from there.",
            "thread", "the id of the conversation", True, _thread,
        ),
        Prompt(
            "review_memory", "Review what is remembered", "Goes through the memories, to update or forget them.",
            "Go through the memories above with me, a few at a time. If I say that one is wrong, use update. "
            "If I want to delete one, use forget, and show me what would be deleted before you confirm.",
            "user", "whose memory to use; by default the user's own", False, _profile,
        ),
    )
}  # fmt: skip


def announced() -> list[types.Prompt]:
    """Return the prompts as clients list them."""
    return [
        types.Prompt(
            name=prompt.name,
            title=prompt.title,
            description=prompt.about,
            arguments=[types.PromptArgument(name=prompt.argument, description=prompt.what, required=prompt.required)],
        )
        for prompt in PROMPTS.values()
    ]


async def make_prompt(
    caller: Caller, name: str, arguments: Mapping[str, str], max_tokens: int
) -> types.GetPromptResult:
    """Return a prompt as messages: the stored data first, then the user's request."""
    prompt = PROMPTS.get(name)
    if prompt is None:
        raise NotFound(f"there is no prompt {name[:64]!r}; use one of {', '.join(PROMPTS)}")
    argument = arguments.get(prompt.argument, "")
    if prompt.required and not argument:
        raise UsageError(f"{name} needs `{prompt.argument}`: {prompt.what}")
    texts = [await prompt.read(caller, argument, max_tokens), prompt.ask]
    return types.GetPromptResult(
        description=prompt.about,
        messages=[
            types.PromptMessage(role="user", content=types.TextContent(type="text", text=text)) for text in texts
        ],
    )
