"""Installs the memory into released coding agents and lets them read it: `make agents-check`.

    python -m tests.coding_agents.real_hosts [AGENT...]

The agents come from the npm registry, at fixed versions, and run with a home folder of their own and an endpoint that
is closed, so that nothing is sent anywhere. Each must list our MCP server out of the configuration that
`memorist install` wrote. Those that start without a login are then given a prompt: their own hook must have stored its
decision.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from memorist import Memory
from memorist.agents.projects import project_of
from tests.mcp_server.node import environment, installed, node

VERSIONS = {
    "claude-code": "@anthropic-ai/claude-code@2.1.326",
    "codex": "@openai/codex@0.169.0",
    "gemini-cli": "@google/gemini-cli@0.61.0",
    "opencode": "opencode-ai@1.18.33",
    "copilot": "@github/copilot@1.0.102",
}
CLOSED = "http://127.0.0.1:9"
PROMPT = "We decided to keep SQLite for the cart."
MAX_PROMPT_SECONDS = 420
"""opencode first installs a package of its own beside the plugin."""
ARCHITECTURE = "arm64" if platform.machine() in ("arm64", "aarch64") else "x64"


class Host:
    """A home folder and a repository with one agent's installation."""

    def __init__(self, folder: Path, agent: str) -> None:
        self.home, self.repository = folder / "home", folder / "repository"
        self.url = str(folder / "agents.db")
        self.home.mkdir()
        subprocess.run(["git", "init", "-q", str(self.repository)], check=True)
        self.environment = {
            **environment(), "HOME": str(self.home), "ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": CLOSED,
            "CLAUDE_CODE_MAX_RETRIES": "0", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": CLOSED, "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "MEMORIST_STATE": str(folder / "state"),
            # opencode works where PWD says, as a shell sets it, and not where it was started.
            "PWD": str(self.repository),
        }  # fmt: skip
        # opencode installs a package of its own; it comes from the registry that the caller uses.
        self.environment.setdefault("NPM_CONFIG_USERCONFIG", str(Path.home() / ".npmrc"))
        for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
            self.environment.pop(name, None)
        for where in ("project", "user") if agent == "copilot" else ("project",):
            command = ["--url", self.url, "--user", "ada", "install", agent, "--where", where, "--yes"]
            self.run(sys.executable, "-m", "memorist", *command)

    def run(self, *command: str) -> str:
        """What a command prints."""
        process = subprocess.run(
            command, cwd=self.repository, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=180, check=False,
        )  # fmt: skip
        return process.stdout

    def prompt(self, *command: str) -> str:
        """Whether a prompt fired the hook. The agent is stopped then: it waits for a model that is not there."""
        process = subprocess.Popen(
            [*command, PROMPT], cwd=self.repository, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        until = time.monotonic() + MAX_PROMPT_SECONDS
        try:
            while process.poll() is None and time.monotonic() < until and not self._has_note():
                time.sleep(1)
            return "fired" if self._has_note() else "NOT FIRED"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def write(self, name: str, content: str) -> None:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")

    def _has_note(self) -> bool:
        """Whether a hook has stored the decision in the prompt."""
        if not Path(self.url).exists():
            return False
        with Memory(self.url, embedder=None, extract=None, worker=False) as memory:
            return any(PROMPT in str(fact.value) for fact in memory.facts.list(project_of(self.repository).namespace))


class Outcome(NamedTuple):
    """What an agent made of our configuration."""

    server: bool
    hooks: str


def claude_code(host: Host, packages: Path) -> Outcome:
    program = str(packages / "@anthropic-ai" / f"claude-code-linux-{ARCHITECTURE}" / "claude")
    listed = host.run(program, "mcp", "get", "memorist")
    return Outcome("Type: stdio" in listed and "-m memorist" in listed, host.prompt(program, "-p"))


def codex(host: Host, packages: Path) -> Outcome:
    program = str(next((packages / "@openai" / f"codex-linux-{ARCHITECTURE}").rglob("bin/codex")))
    settings = (
        f'model_provider = "closed"\nmodel = "none"\n[model_providers.closed]\nname = "closed"\n'
        f'base_url = "{CLOSED}/v1"\nrequest_max_retries = 0\nstream_max_retries = 0\n'
        f'[projects.{json.dumps(str(host.repository))}]\ntrust_level = "trusted"\n'
    )
    host.write(".codex/config.toml", settings)
    listed = host.run(program, "mcp", "list", "--json")
    hooks = _codex_hooks(host, program)
    if hooks["errors"] or hooks["warnings"]:
        return Outcome('"memorist"' in listed, f"{hooks['errors']} {hooks['warnings']}")
    # Codex runs a hook only if its hash was accepted; here that is done as its own dialog does it.
    trusted = "".join(
        f"[hooks.state.{json.dumps(hook['key'])}]\ntrusted_hash = {json.dumps(hook['currentHash'])}\n"
        for hook in hooks["hooks"]
    )
    host.write(".codex/config.toml", settings + trusted)
    fired = host.prompt(program, "exec", "--skip-git-repo-check")
    return Outcome('"memorist"' in listed, f"{fired}; {len(hooks['hooks'])} hooks read")


def _codex_hooks(host: Host, program: str) -> dict[str, Any]:
    """The hooks as Codex's own server lists them."""
    process = subprocess.Popen(
        [program, "app-server"], cwd=host.repository, env=host.environment, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    try:
        for number, (method, params) in enumerate(
            (
                ("initialize", {"clientInfo": {"name": "memorist", "version": "1"}}),
                ("hooks/list", {"cwds": [str(host.repository)]}),
            )
        ):
            process.stdin.write(json.dumps({"id": number, "method": method, "params": params}) + "\n")
            process.stdin.flush()
            answer = next(line for line in map(json.loads, process.stdout) if line.get("id") == number)
        result: dict[str, Any] = answer["result"]["data"][0]
        return result
    finally:
        process.kill()
        process.wait()


def gemini_cli(host: Host, packages: Path) -> Outcome:
    program = [node(), str(packages / "@google" / "gemini-cli" / "bundle" / "gemini.js")]
    host.write(".gemini/settings.json", '{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    host.write(".gemini/trustedFolders.json", json.dumps({str(host.repository): "TRUST_FOLDER"}))
    listed = host.run(*program, "mcp", "list")
    return Outcome("memorist: " in listed and "(stdio)" in listed, host.prompt(*program, "-p"))


def opencode(host: Host, packages: Path) -> Outcome:
    program = str(packages / f"opencode-linux-{ARCHITECTURE}" / "bin" / "opencode")
    listed, config = host.run(program, "mcp", "list"), host.run(program, "debug", "config")
    provider = {
        "model": "closed/none",
        "provider": {
            "closed": {
                "npm": "@ai-sdk/openai-compatible", "options": {"baseURL": f"{CLOSED}/v1", "apiKey": "none"},
                "models": {"none": {}},
            }
        },
    }  # fmt: skip
    host.environment["OPENCODE_CONFIG_CONTENT"] = json.dumps(provider)
    loaded = "plugin loaded" if "plugins/memorist.js" in config else "plugin not loaded"
    return Outcome("memorist" in listed and "connected" in listed, f"{host.prompt(program, 'run')}; {loaded}")


def copilot(host: Host, packages: Path) -> Outcome:
    program = str(packages / "@github" / f"copilot-linux-{ARCHITECTURE}" / "copilot")
    listed = host.run(program, "mcp", "get", "memorist")
    return Outcome("Type: local" in listed and "-m memorist" in listed, "needs a login")


CHECKS: Mapping[str, Callable[[Host, Path], Outcome]] = {
    "claude-code": claude_code, "codex": codex, "gemini-cli": gemini_cli, "opencode": opencode, "copilot": copilot,
}  # fmt: skip


def main() -> None:
    failed = False
    for agent in sys.argv[1:] or CHECKS:
        packages = installed("agents-node", tuple(VERSIONS.values()))
        with tempfile.TemporaryDirectory(prefix=f"agents-{agent}-") as folder:
            outcome = CHECKS[agent](Host(Path(folder), agent), packages)
        bad = not outcome.server or "NOT" in outcome.hooks or "not" in outcome.hooks
        failed = failed or bad
        server = "reads the MCP server" if outcome.server else "DOES NOT READ THE MCP SERVER"
        print(f"{'RED' if bad else 'ok':4}{VERSIONS[agent]}: {server}; hooks: {outcome.hooks}", flush=True)
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
