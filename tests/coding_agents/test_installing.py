"""Installing, installing again and uninstalling, for every agent, byte for byte."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path

import pytest

from memorist.agents.hosts import Commands
from memorist.agents.installing import Installer
from memorist.agents.payloads import AGENTS, Agent
from tests.coding_agents.running import PAYLOADS, Desk

THEIRS: dict[str, str] = {
    ".mcp.json": '{\n    "mcpServers": {"other": {"command": "x"}}\n}',
    ".claude/settings.json": '{"permissions": {"allow": ["Bash(ls)"]}, "hooks": {"Stop": [{"hooks": [{"type": '
    '"command", "command": "say done"}]}]}}\n',
    ".codex/config.toml": 'model = "gpt-5"   # mine\n\n[mcp_servers.other]\ncommand = "x"',
    ".codex/hooks.json": '{"hooks": {}}\n',
    ".cursor/mcp.json": '{\n\t"mcpServers": {}\n}\n',
    ".cursor/hooks.json": '{"version": 1, "hooks": {"stop": [{"command": "./mine.sh"}]}}',
    ".gemini/settings.json": '{"ui": {"theme": "dark"}}\r\n',
    "opencode.json": '{"$schema": "https://opencode.ai/config.json", "mcp": {}}\n',
    ".github/mcp.json": '{"mcpServers": {"other": {"type": "local", "command": "x", "args": [], "tools": ["*"]}}}\n',
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def snapshot(root: Path) -> dict[str, bytes | None]:
    paths = (path for path in root.rglob("*") if ".git" not in path.relative_to(root).parts)
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in paths}


def write_theirs(root: Path) -> None:
    for name, content in THEIRS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content.encode())


@pytest.mark.parametrize("filled", [False, True])
@pytest.mark.parametrize("agent", AGENTS)
def test_an_uninstallation_leaves_every_byte_as_it_was(desk: Desk, agent: str, filled: bool) -> None:
    if filled:
        write_theirs(desk.repository)
    before = snapshot(desk.repository)
    desk.command("install", agent, "--yes")
    installed = snapshot(desk.repository)
    assert installed != before
    again = desk.command("install", agent, "--yes")
    assert "had it already" in again and snapshot(desk.repository) == installed
    assert _state(desk, agent) == "installed"
    desk.command("uninstall", agent, "--yes")
    assert snapshot(desk.repository) == before and _state(desk, agent) == "not installed"
    desk.command("install", agent, "--yes")
    assert snapshot(desk.repository) == installed


@pytest.mark.parametrize("agent", AGENTS)
def test_for_the_user_it_goes_into_the_home_folder(desk: Desk, agent: str) -> None:
    before, project = snapshot(desk.home), snapshot(desk.repository)
    desk.command("install", agent, "--where", "user", "--yes")
    assert snapshot(desk.repository) == project
    desk.command("uninstall", agent, "--where", "user", "--yes")
    own = (".local", ".local/state", ".local/state/memorist", ".local/state/memorist/installed")
    assert {name: content for name, content in snapshot(desk.home).items() if name not in own} == before


STYLES = {
    "indented": b'{\n  "mcpServers": {"other": {"command": "x"}},\n  "hooks": {"Stop": [{"command": "dark"}], '
    b'"stop": []},\n  "theme": "dark"\n}\n',
    "tabs": b'{\n\t"theme": "dark"\n}',
    "windows": b'{\r\n  "theme": "dark",\r\n  "mcp": {}\r\n}\r\n',
    "one line": b'{"theme":"dark","mcpServers":{}}',
    "comments": b'{\n  // mine\n  "theme": "dark", // "memorist": 1\n  /* two\n lines */\n'
    b'  "hooks": {"Stop": [1, 2,],},\n}\n',
    "byte order mark": b'\xef\xbb\xbf{"theme": "dark"}\n',
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("agent", AGENTS)
def test_what_others_change_afterwards_stays_byte_for_byte(tmp_path: Path, agent: Agent, style: str) -> None:
    """An edit after the installation, or between two, is in the file after the removal, and nothing else is."""
    commands = Commands(python="/usr/bin/python", url="agents.db", agent=agent, user="me")
    installer = Installer(commands, "project", tmp_path, home=tmp_path, state=tmp_path / "state")
    toml = b'theme = "dark" # mine\n\n\n' if style == "indented" else b'theme = "dark"'
    originals = {
        change.path: toml if change.path.suffix == ".toml" else STYLES[style]
        for change in installer.plan() if "memorist" not in change.path.name
    }  # fmt: skip
    for install_again in (False, True):
        for path, content in originals.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        installer.install()
        for path in originals:
            path.write_bytes(path.read_bytes().replace(b"dark", b"light"))
        if install_again:
            assert not any(change.is_needed for change in installer.install())
        assert installer.state() == ("installed" if install_again else "changed")
        installer.uninstall()
        for path, content in originals.items():
            assert path.read_bytes() == content.replace(b"dark", b"light")


@pytest.mark.parametrize("agent", ["claude-code", "cursor", "gemini-cli", "codex", "copilot"])
def test_what_others_add_afterwards_stays(desk: Desk, agent: str) -> None:
    desk.command("install", agent, "--yes")
    for name, content in snapshot(desk.repository).items():
        if content is not None and name.endswith(".json") and "memorist.json" not in name:
            data = json.loads(content)
            data["theirs"] = {"kept": True}
            (desk.repository / name).write_text(json.dumps(data), "utf-8")
    assert _state(desk, agent) == "changed"
    desk.command("uninstall", agent, "--yes")
    remaining = {name: content for name, content in snapshot(desk.repository).items() if content is not None}
    assert remaining and all(json.loads(content).get("theirs") == {"kept": True} for content in remaining.values())
    assert not any(b"memorist" in content for content in remaining.values())


def test_the_changes_are_shown_first_and_can_be_declined(desk: Desk) -> None:
    before = snapshot(desk.repository)
    preview = desk.command("install", "claude-code", "--dry-run")
    assert "+++" in preview and ".mcp.json" in preview and snapshot(desk.repository) == before
    declined = desk.started("install", "claude-code")
    assert declined.returncode == 2 and "--yes" in declined.stderr and snapshot(desk.repository) == before


def test_a_file_that_is_not_json_is_left_alone(desk: Desk) -> None:
    (desk.repository / ".mcp.json").write_text("{\n  theme: dark\n}\n", "utf-8")
    refused = desk.started("install", "claude-code", "--yes")
    assert refused.returncode == 2 and "a name in double quotes is missing in line 2" in refused.stderr
    assert "by hand" in refused.stderr
    assert (desk.repository / ".mcp.json").read_text("utf-8") == "{\n  theme: dark\n}\n"


@pytest.mark.parametrize("agent", [agent for agent in AGENTS if agent != "opencode"])
def test_the_installed_commands_answer_the_hosts_payloads(desk: Desk, agent: str) -> None:
    desk.command("--user", "ada", "install", agent, "--yes")
    commands = _hook_commands(desk.repository)
    assert commands
    for event, payload in PAYLOADS[agent].values():
        if event not in commands:
            continue
        text = json.dumps(payload).replace("CWD", str(desk.repository)).replace("PROMPT", "We decided to use tabs.")
        process = desk.shell(commands[event], text)
        assert (process.returncode, process.stderr) == (0, "")
    event, payload = PAYLOADS[agent]["start"]
    answer = desk.shell(commands[event], json.dumps(payload).replace("CWD", str(desk.repository))).stdout
    assert "We decided to use tabs." in answer


@pytest.mark.parametrize("agent", [agent for agent in AGENTS if agent != "opencode"])
def test_every_event_that_we_read_is_installed(desk: Desk, agent: str) -> None:
    """Claude Code, Cursor and Copilot have an event of its own for a tool that failed."""
    desk.command("install", agent, "--yes")
    texts = [content.decode() for content in snapshot(desk.repository).values() if content is not None]
    for event, _ in PAYLOADS[agent].values():
        assert any(f"memorist.agents.hook {event} " in text for text in texts), event


def test_codex_configuration_is_toml_with_the_users_own_part(desk: Desk) -> None:
    write_theirs(desk.repository)
    desk.command("install", "codex", "--yes")
    text = (desk.repository / ".codex" / "config.toml").read_text("utf-8")
    assert text.startswith(THEIRS[".codex/config.toml"])
    servers = tomllib.loads(text)["mcp_servers"]
    assert servers["other"] == {"command": "x"}
    assert servers["memorist"]["args"][-4:] == ["mcp", "--project", str(desk.repository), "--quiet"]


def test_gemini_timeouts_are_milliseconds(desk: Desk) -> None:
    desk.command("install", "gemini-cli", "--yes")
    settings = json.loads((desk.repository / ".gemini" / "settings.json").read_text("utf-8"))
    timeouts = {hook["timeout"] for groups in settings["hooks"].values() for group in groups for hook in group["hooks"]}
    assert timeouts == {10_000}


def _state(desk: Desk, agent: str) -> str:
    rows = json.loads(desk.command("--json", "status", agent))
    return str(next(row["state"] for row in rows if row["where"] == "project"))


def _hook_commands(root: Path) -> dict[str, str]:
    """The command of each event, in any host's configuration."""
    commands: dict[str, str] = {}

    def collect(value: object) -> None:
        if isinstance(value, dict):
            for name in ("command", "bash"):
                text = value.get(name)
                if isinstance(text, str) and "memorist.agents.hook" in text:
                    commands[shlex.split(text)[3]] = text
            for inner in value.values():
                collect(inner)
        elif isinstance(value, list):
            for inner in value:
                collect(inner)

    for path in root.rglob("*.json"):
        collect(json.loads(path.read_text("utf-8")))
    return commands
