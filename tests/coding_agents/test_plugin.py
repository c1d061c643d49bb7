"""The plugin for opencode, run by Node in a stub of its host."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.coding_agents.running import Desk
from tests.mcp_server.node import node

HOST = Path(__file__).parent / "plugin_host.mjs"


def _run(desk: Desk) -> dict[str, object]:
    # Node takes `.js` for a module only if a package.json says so; opencode's Bun always does.
    (desk.repository / ".opencode" / "package.json").write_text('{"type": "module"}', "utf-8")
    plugin = desk.repository / ".opencode" / "plugins" / "memorist.js"
    command = [node(), str(HOST), str(plugin), str(desk.repository)]
    process = subprocess.run(command, env=desk.environment, capture_output=True, text=True, timeout=240)
    assert process.returncode == 0, process.stderr
    results: dict[str, object] = json.loads(process.stdout)
    return results


def test_the_plugin_brings_memory_into_opencodes_hooks(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.command("--user", "ada", "install", "opencode", "--yes")
    results = _run(desk)
    assert results["hooks"] == ["chat.message", "event", "experimental.session.compacting", "tool.execute.after"]
    assert results["first"] == "Never write raw SQL in views."
    second = str(results["second"])
    assert "We went with a partial index." in second and "`make migrate` failed: error: relation users exists" in second
    assert "- [convention] Never write raw SQL in views." in second and second.endswith("\n\nWhere may the SQL go?")
    assert results["third"] == "Write a haiku about clouds"
    assert "Where may the SQL go?" in str(results["compacting"])


def test_the_plugin_goes_on_without_memory(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.command("install", "opencode", "--yes")
    plugin = desk.repository / ".opencode" / "plugins" / "memorist.js"
    plugin.write_text(plugin.read_text("utf-8").replace('const command = ["', 'const command = ["/nowhere'), "utf-8")
    results = _run(desk)
    assert results["second"] == "Where may the SQL go?" and results["compacting"] == []
