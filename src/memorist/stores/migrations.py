"""Reads numbered SQL migrations, and decides whether this version of the program may use a schema newer than its own.

The first line of each file is `-- needs: N`. It means that a program that knows the schema up to migration N can still
use the store after this migration. A migration that only adds something (a table, an index, a column that may be empty
or has a default) keeps the number of the previous migration, so that old and new programs work side by side. A
migration that removes something or changes its meaning uses its own number.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..errors import SchemaError


class Migration(NamedTuple):
    """Represents one numbered SQL file. To use the migrated store, a program must know the schema up to migration
    `needs`."""

    number: int
    name: str
    needs: int
    sql: str


def migrations_in(folder: Path) -> list[Migration]:
    """Return every migration in a folder, in order."""
    migrations_ = []
    # Files that do not begin with a number (`__pycache__`, an editor's copy) are no migrations.
    for item in folder.iterdir():
        if item.name.endswith(".sql") and item.name[0].isdigit():
            number, _, name = item.name.removesuffix(".sql").partition("_")
            sql = item.read_text(encoding="utf-8")
            migrations_.append(Migration(int(number), name, int(sql.splitlines()[0].removeprefix("-- needs:")), sql))
    return sorted(migrations_)  # by number, because folders list their files in any order


def refuse_newer(schema: int, needs: int, newest: int) -> None:
    """Raise SchemaError if a newer version changed the store in a way that is incompatible with this one."""
    if needs > newest:
        raise SchemaError(
            f"the store has schema {schema}, which needs a version of memorist that knows {needs}; "
            f"this one knows up to {newest}; upgrade memorist",
            version=schema,
        )
