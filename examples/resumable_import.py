"""A long import that you can stop anywhere and resume, because each record and its checkpoint share one commit.

python examples/resumable_import.py --file import.db --stop-after 3
python examples/resumable_import.py --file import.db
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from memorist import Memory

CUSTOMERS = {
    f"c{number:02}": {"name": f"Customer {number}", "plan": "pro" if number % 3 else "free"} for number in range(1, 11)
}


def run(path: str, stop_after: int | None) -> int:
    """Import the remaining records, and return how many this run imported."""
    imported = 0
    with Memory(path, worker=False) as memory, memory.tasks.run("import-customers", lease=5) as task:
        for item in task.remaining(CUSTOMERS):
            with task.batch() as batch:
                batch.facts.set("workflow:import", item, CUSTOMERS[item])
                task.complete(item, state={"last": item})
            imported += 1
            print(f"imported {item}")
            if stop_after is not None and imported >= stop_after:
                break
    return imported


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", help="the memory; a temporary one, and two runs, otherwise")
    parser.add_argument("--stop-after", type=int)
    options = parser.parse_args()
    if options.file:
        run(options.file, options.stop_after)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "import.db")
        first, second = run(path, 4), run(path, None)
        print(f"{first} in the first run, {second} in the second, none twice")


if __name__ == "__main__":
    main()
