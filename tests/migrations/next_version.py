"""Makes the next version of the package: a copy of the source with a column, a table and an index added to it.

The patch does what a release would do: fields with a default in the records, and one migration for each SQL store.
"""

from __future__ import annotations

import shutil
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"

FIELDS = """    lang: str | None = None
    mood: str = "calm"
"""
NOTE = '''

class Note(Record, frozen=True, kw_only=True):
    """A kind of record that the version before does not have."""

    table = Table("notes", ("org", "id"), indexes={"by_color": ("org", "color", "id")}, checksum=True)
    id: str
    color: str = "blue"
    text: str = ""
    expires_at: datetime | None = None
    version: int = 0
'''
SQLITE = """-- needs: 1
ALTER TABLE facts ADD COLUMN lang TEXT;
ALTER TABLE facts ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';
ALTER TABLE fact_versions ADD COLUMN lang TEXT;
ALTER TABLE fact_versions ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';
ALTER TABLE state ADD COLUMN lang TEXT;
ALTER TABLE messages ADD COLUMN lang TEXT;
CREATE UNIQUE INDEX facts_by_actor ON facts (org, ns, actor, key);
CREATE UNIQUE INDEX threads_by_made ON threads (org, created_at, id);
CREATE TABLE notes (
  org TEXT NOT NULL, id TEXT NOT NULL, color TEXT NOT NULL, text TEXT NOT NULL, expires_at INTEGER,
  version INTEGER NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (org, id)
);
CREATE UNIQUE INDEX notes_by_color ON notes (org, color, id);
"""
POSTGRES = """-- needs: 1
ALTER TABLE memorist.facts ADD COLUMN lang text, ADD COLUMN mood text NOT NULL DEFAULT 'calm';
ALTER TABLE memorist.fact_versions ADD COLUMN lang text, ADD COLUMN mood text NOT NULL DEFAULT 'calm';
ALTER TABLE memorist.state ADD COLUMN lang text;
ALTER TABLE memorist.messages ADD COLUMN lang text;
CREATE INDEX facts_by_actor ON memorist.facts (org, ns, actor, key);
CREATE INDEX threads_by_made ON memorist.threads (org, created_at, id);
CREATE TABLE memorist.notes (
  org text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, color text COLLATE "C" NOT NULL, text text NOT NULL,
  expires_at bigint, version bigint NOT NULL, checksum bigint NOT NULL, PRIMARY KEY (org, id)
);
CREATE INDEX notes_by_color ON memorist.notes (org, color, id);
SELECT memorist.fence('notes');
"""


def make_next_version(folder: Path) -> Path:
    """Write the next version under a folder; what to put on the path comes back."""
    source = folder / "next"
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__", "analyze", "*.egg-info"))
    package = source / "memorist"
    facts, state = 'Table("facts", ("org", "ns", "key"), ', '    table = Table("state", ("org", "ns", "key"))\n'
    text, name = "    text: str | None = None\n", "    name: str | None = None\n    extra"
    _replace(
        package / "records.py",
        (facts, f"{facts}indexes=_BY_ACTOR, "),
        ("class Fact(Record", '_BY_ACTOR = {"by_actor": ("org", "ns", "actor", "key")}\n\n\nclass Fact(Record'),
        # In the middle of the class: the order of the fields must not matter.
        (text, FIELDS + text),
        ('{"by_ns": ("org", "ns", "id")}', '{"by_ns": ("org", "ns", "id"), "by_made": ("org", "created_at", "id")}'),
        (state, state + _LANG),
    )
    with (package / "records.py").open("a") as records:
        records.write(NOTE)
    _replace(package / "messages" / "message.py", (name, _LANG + name))
    _add(package / "stores" / "sqlite" / "migrations", SQLITE)
    _add(package / "stores" / "postgres" / "migrations", POSTGRES)
    return source


_LANG = "    lang: str | None = None\n"


def _replace(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text()
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {path.name}"
        text = text.replace(old, new)
    path.write_text(text)


def _add(folder: Path, sql: str) -> None:
    newest = max(int(file.name[:4]) for file in folder.glob("0*.sql"))
    (folder / f"{newest + 1:04d}_next.sql").write_text(sql)
