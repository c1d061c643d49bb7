"""The CPU time of a coding agent's hook: the whole process, as an installation starts it.

python -m bench.hooks [runs]
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from memorist import Memory
from memorist.agents.projects import project_of

NOTES = 100
"""Notes in the project, as after some weeks of work."""
HOOKS = {
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {"prompt": "How do I run the tests of module {}?"},
    "PreToolUse": {"tool_name": "Bash", "tool_input": {"command": "make migrate"}},
    "Stop": {"last_assistant_message": "We went with a partial index for table {}."},
}


def measure(event: str, words: dict[str, object], number: int, folder: Path) -> float:
    """Milliseconds of CPU time, user and system, of one hook."""
    payload = {"session_id": "bench", "cwd": str(folder), "hook_event_name": event, **words}
    command = [sys.executable, "-m", "memorist.agents.hook", event, "--url", str(folder / "agents.db")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = json.dumps(payload).replace("{}", str(number))
    # Installed packages are compiled; in a checkout, the two runs before the measured ones compile what is imported.
    environment = {**os.environ, "MEMORIST_STATE": str(folder / "state"), "PYTHONPYCACHEPREFIX": str(folder / "pyc")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run(command, input=text, text=True, capture_output=True, check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1000


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / ".git").mkdir()
        with Memory(str(folder / "agents.db"), embedder=None, extract=None, worker=False) as memory:
            namespace = project_of(folder).namespace
            for number in range(NOTES):
                text = f"Always run the tests of module {number} with pytest -n 2."
                memory.facts.set(namespace, f"note/{number}", text, text=text, tags=["convention"])
        for event, words in HOOKS.items():
            times = sorted([measure(event, words, number, folder) for number in range(runs + 2)][2:])
            print(f"{event}: {times[0]:.0f} ms at best, {statistics.median(times):.0f} ms median of {len(times)} runs")


if __name__ == "__main__":
    main()
