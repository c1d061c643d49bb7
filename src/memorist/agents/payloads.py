"""Reads the hook payloads of all hosts into one format, and writes answers in the format that each host understands."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from ..values import JsonMapping, JsonObject

Agent = Literal["claude-code", "codex", "cursor", "gemini-cli", "opencode", "copilot"]
AGENTS: tuple[Agent, ...] = ("claude-code", "codex", "cursor", "gemini-cli", "opencode", "copilot")
Moment = Literal["start", "prompt", "before-tool", "after-tool", "before-compaction", "after-compaction", "stop", "end"]
MOMENTS: Mapping[str, Moment] = {
    "sessionstart": "start", "userpromptsubmit": "prompt", "pretooluse": "before-tool", "posttooluse": "after-tool",
    "posttoolusefailure": "after-tool", "precompact": "before-compaction", "postcompact": "after-compaction",
    "stop": "stop", "sessionend": "end",
    "beforeagent": "prompt", "afteragent": "stop", "beforetool": "before-tool", "aftertool": "after-tool",
    "precompress": "before-compaction",
    "beforesubmitprompt": "prompt", "afteragentresponse": "stop",
    "userpromptsubmitted": "prompt", "agentstop": "stop",
}  # fmt: skip
"""The moments by the hosts' names for them, in lower case and without underscores."""
_GEMINI_FAILURE = r"(?s)(?:\A|\n)Output: (?P<output>.*)\nExit Code: (?P<code>[1-9]\d*)(?:\n|\Z)"
_EVENT_NAMES: Mapping[str, str] = {
    "sessionstart": "SessionStart", "userpromptsubmit": "UserPromptSubmit", "pretooluse": "PreToolUse",
    "posttooluse": "PostToolUse", "beforeagent": "BeforeAgent", "aftertool": "AfterTool",
}  # fmt: skip


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """Describes one call of a hook in a form that does not depend on the host."""

    agent: str
    event: str
    moment: Moment
    session: str
    folder: str
    prompt: str = ""
    answer: str = ""
    """This is the agent's last message at the end of a turn."""
    resumed: bool = False
    """This is True if the session starts after a compaction, so that the saved state has to be sent again."""
    tool: str = ""
    command: str = ""
    path: str = ""
    failure: str = ""
    """This is the report of a tool that failed."""
    has_succeeded: bool = False
    """This is True if the host says that the tool succeeded. Codex does not report whether a command succeeded."""
    summary: str = ""
    transcript: str = ""
    is_repeated: bool = False
    """This is True if the host is stopping again because of a stop hook."""


def read_hook(agent: str, event: str, payload: JsonMapping) -> Hook | None:
    """Convert a host's payload to a `Hook`. Return None for events that we do not handle."""
    name = str(payload.get("hook_event_name") or event)
    # Hosts write one event as `SessionStart`, `session_start`, `session-start` or `session.start`.
    moment = MOMENTS.get(name.lower().replace("_", "").replace("-", "").replace(".", ""))
    if moment is None:
        return None

    def text(*names: str) -> str:
        return next((str(payload[name]) for name in names if isinstance(payload.get(name), str)), "")

    roots = payload.get("workspace_roots")
    folder = text("cwd") or (str(roots[0]) if isinstance(roots, list) and roots else "") or os.getcwd()
    arguments = _object_at(payload, "tool_input", "toolArgs", "tool_args")
    failure = _failure_of(payload)
    return Hook(
        agent=agent, event=name, moment=moment, folder=folder,
        session=text("session_id", "sessionId", "conversation_id") or "none",
        prompt=text("prompt", "initialPrompt", "initial_prompt"),
        answer=text("last_assistant_message", "prompt_response", "response", "text"),
        resumed=text("source") == "compact", tool=text("tool_name", "toolName"),
        command=str(arguments.get("command") or ""),
        path=str(arguments.get("file_path") or arguments.get("path") or ""),
        failure=failure, has_succeeded=_has_succeeded(payload) and not failure, summary=text("compact_summary"),
        transcript=text("transcript_path", "transcriptPath"),
        is_repeated=bool(payload.get("stop_hook_active") or payload.get("loop_count")),
    )  # fmt: skip


_RESULTS = ("tool_response", "toolResult", "tool_result", "tool_output")


def _object_at(payload: JsonMapping, *names: str) -> JsonMapping:
    """Return the first object among the given fields. Cursor and Copilot send some of them as JSON strings."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value.startswith("{"):
            try:
                value = msgspec.json.decode(value)
            except msgspec.DecodeError:
                continue
        if isinstance(value, Mapping):
            return value
    return {}


def _has_succeeded(payload: JsonMapping) -> bool:
    return bool(_object_at(payload, *_RESULTS)) and not _is_cancelled(payload)


def _is_cancelled(payload: JsonMapping) -> bool:
    """Return whether the user stopped or refused the tool, which says nothing about the command."""
    result = _object_at(payload, *_RESULTS)
    return (
        payload.get("is_interrupt") is True
        or payload.get("failure_type") == "permission_denied"
        or result.get("interrupted") is True
        or result.get("resultType") in ("rejected", "denied")
    )


def _failure_of(payload: JsonMapping) -> str:
    """Return the report of a failed tool: an error field, a non-zero exit code, or a result that says it failed."""
    if _is_cancelled(payload):
        return ""
    result = _object_at(payload, *_RESULTS)
    error = next(
        (value for value in (payload.get("error"), payload.get("error_message"), result.get("error")) if value), ""
    )
    if error:
        return str(error.get("message") or error) if isinstance(error, Mapping) else str(error)
    # Gemini's shell tool has no field for the exit code; only the text for the model contains it.
    report = re.search(_GEMINI_FAILURE, _text_of(result.get("llmContent")))
    if report:
        return report["output"]
    code = next((result[key] for key in ("exit_code", "exitCode", "code") if key in result), None)
    failed = result.get("success") is False or result.get("resultType") == "failure" or result.get("is_error") is True
    if not failed and code in (None, 0):
        return ""
    parts = (result.get(key) for key in ("stderr", "textResultForLlm", "stdout", "output", "llmContent"))
    return next((str(part) for part in parts if part), f"exit code {code}")


def _text_of(content: object) -> str:
    """Return the text of Gemini's content, which is a string, a part or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and part.get("text"))


def answer_of(hook: Hook, context: str) -> JsonObject:
    """Return the text that the host expects on stdout. It is empty if there is nothing to say or if the host would
    ignore it."""
    if not context:
        return {}
    if hook.agent == "cursor":
        return {"additional_context": context} if hook.moment in ("start", "prompt") else {}
    if hook.agent == "copilot":
        return {"additionalContext": context} if hook.moment in ("start", "prompt") else {}
    if hook.agent == "opencode":
        return {"context": context}
    name = _EVENT_NAMES.get(hook.event.lower().replace("_", ""))
    if name is None:
        return {}
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}}
