"""Defines the configuration files of each coding agent and the entries we add to them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from ..values import JsonMapping, JsonObject
from .json_text import NotJson, insert, node_at, parse, remove
from .payloads import Agent

Where = Literal["project", "user"]
NAME = "memorist"
HOOK_MODULE = "memorist.agents.hook"
HOOK_SECONDS = 10


class Commands(msgspec.Struct, frozen=True):
    """Holds the commands that a host runs. They are absolute paths, because hosts have their own PATH."""

    python: str
    url: str
    agent: Agent
    user: str
    project: str = "."
    """This is the folder of the repository, or `.` for the folder that the host starts the server in."""

    def mcp(self) -> tuple[str, list[str]]:
        """Return the program that serves MCP, with its arguments."""
        options = ["--url", self.url, "--user", self.user]
        return self.python, ["-m", "memorist", *options, "mcp", "--project", self.project, "--quiet"]

    def hook(self, event: str) -> str:
        """Return the command line of a hook."""
        options = ["--agent", self.agent, "--url", self.url, "--user", self.user]
        return shlex.join([self.python, "-m", HOOK_MODULE, event, *options])


class ConfigFile(msgspec.Struct, frozen=True):
    """Describes one configuration file of a host, and how our entries are added to its text."""

    path: Path
    add: Callable[[str], str]
    remove: Callable[[str, str], str]
    """This function removes our entries from a text that was changed by others after the installation. It is also
    passed the text from before the installation."""


def files_of(commands: Commands, where: Where, root: Path, home: Path) -> list[ConfigFile]:
    """Return the files that an agent's installation changes or creates."""
    own = msgspec.structs.replace(commands, project=str(root) if where == "project" else ".")
    return _HOSTS[commands.agent](own, root if where == "project" else home, where)


# JSON


def _json_file(path: Path, entries: JsonMapping) -> ConfigFile:
    """Return a JSON file with our entries. Objects are merged, lists are extended, and other values are set only if
    they are missing."""
    return ConfigFile(
        path,
        lambda text: _with_entries(_without_entries(text, entries, _loaded(text)), entries, ()),
        lambda text, original: _without_entries(text, entries, _loaded(original)),
    )


def _loaded(text: str) -> JsonObject:
    data: JsonObject = parse(text).value if text.strip() else {}
    return data


def _with_entries(text: str, entries: JsonMapping, path: tuple[str, ...]) -> str:
    if not text.strip():
        text = "{}\n"
    for name, entry in entries.items():
        inside = (*path, name)
        node = node_at(text, inside)
        if node is None:
            text = insert(text, path, name, entry)
        elif isinstance(entry, Mapping):
            _check(node.value, dict, inside, "an object")
            text = _with_entries(text, entry, inside)
        elif isinstance(entry, list):
            _check(node.value, list, inside, "a list")
            for item in entry:
                text = insert(text, inside, None, item)
    return text


def _check(value: object, expected_type: type, path: tuple[str, ...], name: str) -> None:
    if not isinstance(value, expected_type):
        raise NotJson(f"{'.'.join(path)} is not {name}")


def _without_entries(text: str, entries: JsonMapping, original: JsonMapping, path: tuple[str, ...] = ()) -> str:
    """Return the text without our entries, and without the objects, lists and values that exist only for them."""
    if not text.strip():
        return text
    for name, entry in entries.items():
        node = node_at(text, (*path, name))
        before = original.get(name)
        if node is None:
            continue
        if name == NAME:
            text = _without_member(text, path, name)
            continue
        if isinstance(entry, Mapping) and isinstance(node.value, dict):
            inner = before if isinstance(before, dict) else {}
            text = _without_entries(text, entry, inner, (*path, name))
        elif isinstance(entry, list) and isinstance(node.value, list):
            for index in reversed([index for index, item in enumerate(node.value) if _is_ours(item)]):
                text = remove(text, (*path, name), index)
        remaining = node_at(text, (*path, name))
        if name not in original and remaining is not None and remaining.value in ({}, []):
            text = _without_member(text, path, name)
    node = node_at(text, path)
    assert node is not None
    containers = [name for name, entry in entries.items() if isinstance(entry, Mapping | list)]
    if not original and any(name in node.value for name in containers):
        return text  # Others use the file that we created, so they need these values.
    for name, entry in entries.items():
        if name not in containers and name not in original and node.value.get(name) == entry:
            text = _without_member(text, path, name)
    return text


def _without_member(text: str, path: tuple[str, ...], name: str) -> str:
    node = node_at(text, path)
    assert node is not None
    return remove(text, path, [part.name for part in node.parts].index(name))


def _is_ours(item: object) -> bool:
    return f"-m {HOOK_MODULE} " in json.dumps(item)


# TOML: a block between marks, so that the rest of the file stays as it is


BEGIN, END = "# >>> memorist >>>", "# <<< memorist <<<"


def _toml_file(path: Path, block: str) -> ConfigFile:
    def remove(text: str, original: str) -> str:
        before, mark, rest = text.partition(f"{BEGIN}\n")
        if not mark:
            return text
        # The installation adds an empty line before the block, or only ends the last line.
        if before.endswith("\n\n") or (before.strip() and original and not original.endswith("\n")):
            before = before.removesuffix("\n")
        return before + rest.partition(f"{END}\n")[2]

    def add(text: str) -> str:
        before, mark, rest = text.partition(f"{BEGIN}\n")
        if not mark and text.strip():
            before += "\n"
        return f"{before}{BEGIN}\n{block}{END}\n{rest.partition(f'{END}{chr(10)}')[2]}"

    return ConfigFile(path, add, remove)


def _whole_file(path: Path, content: str) -> ConfigFile:
    """Return a file that contains only our text."""
    return ConfigFile(path, lambda text: content, lambda text, original: "")


# The hosts


def _grouped(commands: Commands, events: Mapping[str, str | None], seconds: int = HOOK_SECONDS) -> JsonObject:
    """Return hooks in Claude Code's format, which Codex and Gemini share.

    A matcher limits tool events to the shell.
    """
    return {
        event: [
            {
                **({} if matcher is None else {"matcher": matcher}),
                "hooks": [{"type": "command", "command": commands.hook(event), "timeout": seconds}],
            }
        ]
        for event, matcher in events.items()
    }


def _server(commands: Commands, **more: object) -> JsonObject:
    program, arguments = commands.mcp()
    return {NAME: {**more, "command": program, "args": arguments}}


def _claude_code(commands: Commands, base: Path, where: Where) -> list[ConfigFile]:
    # PostToolUse reports only tools that succeeded; the same holds for Cursor and Copilot.
    events = {
        "SessionStart": None, "UserPromptSubmit": None, "PreToolUse": "Bash", "PostToolUse": "Bash",
        "PostToolUseFailure": "Bash", "PreCompact": None, "PostCompact": None, "Stop": None,
    }  # fmt: skip
    mcp = base / (".mcp.json" if where == "project" else ".claude.json")
    return [
        _json_file(mcp, {"mcpServers": _server(commands, type="stdio")}),
        _json_file(base / ".claude" / "settings.json", {"hooks": _grouped(commands, events)}),
    ]


def _codex(commands: Commands, base: Path, where: Where) -> list[ConfigFile]:
    program, arguments = commands.mcp()
    events = {
        "SessionStart": None, "UserPromptSubmit": None, "PreToolUse": "Bash", "PostToolUse": "Bash",
        "PreCompact": None, "PostCompact": None, "Stop": None,
    }  # fmt: skip
    block = f"[mcp_servers.{NAME}]\ncommand = {json.dumps(program)}\nargs = {json.dumps(arguments)}\n"
    return [
        _toml_file(base / ".codex" / "config.toml", block),
        _json_file(base / ".codex" / "hooks.json", {"hooks": _grouped(commands, events)}),
    ]


def _cursor(commands: Commands, base: Path, where: Where) -> list[ConfigFile]:
    events = (
        "sessionStart", "beforeSubmitPrompt", "postToolUse", "postToolUseFailure", "preCompact", "afterAgentResponse"
    )  # fmt: skip
    hooks = {event: [{"command": commands.hook(event), "timeout": HOOK_SECONDS}] for event in events}
    return [
        _json_file(base / ".cursor" / "mcp.json", {"mcpServers": _server(commands)}),
        _json_file(base / ".cursor" / "hooks.json", {"version": 1, "hooks": hooks}),
    ]


def _gemini(commands: Commands, base: Path, where: Where) -> list[ConfigFile]:
    # Matchers of lifecycle events are compared as a whole there, so there are none; timeouts are in milliseconds.
    events = {
        "SessionStart": None, "BeforeAgent": None, "AfterTool": "run_shell_command", "PreCompress": None,
        "AfterAgent": None,
    }  # fmt: skip
    entries = {"mcpServers": _server(commands), "hooks": _grouped(commands, events, HOOK_SECONDS * 1000)}
    return [_json_file(base / ".gemini" / "settings.json", entries)]


def _opencode(commands: Commands, base: Path, where: Where) -> list[ConfigFile]:
    program, arguments = commands.mcp()
    server = {NAME: {"type": "local", "command": [program, *arguments], "enabled": True}}
    folder = base / ".opencode" if where == "project" else base / ".config" / "opencode"
    config = base / "opencode.json" if where == "project" else folder / "opencode.json"
    plugin = Path(__file__).with_name("opencode.js").read_text("utf-8")
    plugin = plugin.replace("COMMAND", json.dumps(shlex.split(commands.hook("EVENT"))))
    plugin = plugin.replace("TIMEOUT", str(HOOK_SECONDS * 1000))
    return [_json_file(config, {"mcp": server}), _whole_file(folder / "plugins" / "memorist.js", plugin)]


def _copilot(commands: Commands, base: Path, where: Where) -> list[ConfigFile]:
    events = ("sessionStart", "userPromptSubmitted", "postToolUse", "postToolUseFailure", "preCompact", "agentStop")
    hooks = {event: [{"type": "command", "bash": commands.hook(event), "timeoutSec": HOOK_SECONDS}] for event in events}
    own = base / (".github" if where == "project" else ".copilot")
    mcp = own / ("mcp.json" if where == "project" else "mcp-config.json")
    content = json.dumps({"version": 1, "hooks": hooks}, indent=2) + "\n"
    return [
        _json_file(mcp, {"mcpServers": _server(commands, type="local", tools=["*"])}),
        _whole_file(own / "hooks" / "memorist.json", content),
    ]


_HOSTS: Mapping[Agent, Callable[[Commands, Path, Where], list[ConfigFile]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "cursor": _cursor,
    "gemini-cli": _gemini,
    "opencode": _opencode,
    "copilot": _copilot,
}
AFTERWARDS: Mapping[Agent, str] = {
    "claude-code": "Claude Code asks once whether to use the MCP server of the project.",
    "codex": "Codex asks once to trust the hooks: start it here and accept them.",
    "cursor": "Restart Cursor to load the hooks.",
    "gemini-cli": "Gemini runs hooks of a project only in a trusted folder.",
    "opencode": "opencode loads the plugin at its next start.",
    "copilot": "Copilot runs hooks of a repository only in a trusted folder.",
}
"""The steps that the user has to take after an installation."""
