"""Has the real packages write to a Postgres server, and dumps what they wrote as SQL.

python -m tests.importing.samples.dump_postgres VIRTUAL_ENVIRONMENTS FOLDER
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psycopg

from tests.servers.postgres import binaries, start_postgres

HERE = Path(__file__).parent
SAMPLES = {
    "agents_postgres": ("agents", "make_agents.py", ()),
    "langgraph_postgres": ("langgraph", "make_langgraph.py", ()),
    "langgraph_postgres_shallow": ("langgraph", "make_langgraph.py", ("shallow",)),
}
"""By database: the environment, the program that fills it, and what it is told besides."""


def main() -> None:
    venvs, folder = Path(sys.argv[1]), Path(sys.argv[2])
    server = start_postgres()
    try:
        for database, (venv, program, more) in SAMPLES.items():
            with psycopg.connect(server.url, autocommit=True) as connection:
                connection.execute(f'CREATE DATABASE "{database}"')
            url = server.url_for(database=database)
            python = str(venvs / venv / "bin" / "python")
            subprocess.run([python, str(HERE / program), str(folder), url, *more], check=True)
            (folder / f"{database.replace('_', '-')}.sql").write_text(_dumped(url), "utf-8")
    finally:
        server.stop()


def _dumped(url: str) -> str:
    """The tables and rows of a database as plain statements, without the commands that only psql knows."""
    program = [str(binaries() / "pg_dump"), "--inserts", "--no-owner", "--no-privileges", "--no-comments", url]
    dump = subprocess.run(program, check=True, capture_output=True, text=True).stdout
    lines = [
        line for line in dump.splitlines() if line and not line.startswith(("\\", "--", "SET ", "SELECT pg_catalog"))
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
