"""Implements the terminal view of `memorist browse`: namespaces on the left, and their facts or a thread's messages on
the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import DataTable, Footer, Header, Static, Tree

from ..errors import MemoristError
from .display import cell, human

if TYPE_CHECKING:
    from .. import Memory

SHOWN_MESSAGES = 200
"""The maximum number of a thread's messages to show."""


class Place(NamedTuple):
    """Holds the facts or the thread that a node of the tree shows."""

    kind: str
    ns: str
    thread: str = ""


class Browser(App[None]):
    """Implements a read-only application on top of the memory's public methods."""

    CSS = "Tree { width: 34; } #why { height: auto; max-height: 30%; padding: 0 1; color: $text-muted; }"
    TITLE = "memorist"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("r", "reload", "Reload"),
        Binding("w", "why", "Why is this known?"),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory
        self._at: Place | None = None

    def compose(self) -> ComposeResult:
        yield Header()
        with Horizontal():
            yield Tree[Place]("namespaces")
            with Vertical():
                yield DataTable[Text](cursor_type="row", zebra_stripes=True)
                yield Static(id="why")
        yield Footer()

    def on_mount(self) -> None:
        self.action_reload()

    def action_reload(self) -> None:
        """Read the namespaces and the displayed rows again."""
        tree = self.query_one(Tree)
        tree.clear()
        tree.show_root = False
        names = self._memory.stats().namespaces
        for ns in names:
            branch = tree.root.add(Text(cell(ns)), Place("facts", ns), expand=True)
            branch.add_leaf(Text("facts"), Place("facts", ns))
            for thread in self._memory.threads.list(ns):
                title = thread.title or human(thread.id)
                branch.add_leaf(Text(f"{cell(title)} ({thread.length - thread.start})"), Place("thread", ns, thread.id))
        tree.root.expand()
        self._show(self._at or (Place("facts", names[0]) if names else None))
        tree.focus()

    def on_tree_node_selected(self, event: Tree.NodeSelected[Place]) -> None:
        self._show(event.node.data)

    def _show(self, position: Place | None) -> None:
        """Fill the table with the facts or messages of a node."""
        self._at = position
        table: DataTable[Text] = self.query_one(DataTable)
        table.clear(columns=True)
        self.query_one("#why", Static).update("" if position else "nothing is remembered here yet")
        if position is None:
            return
        self.sub_title = position.thread or position.ns
        if position.kind == "thread":
            table.add_columns("#", "role", "text", "said")
            for message in self._memory.threads.recent(position.thread, SHOWN_MESSAGES):
                _add(
                    table,
                    (message.seq, message.name or message.role, message.text, message.created_at),
                    f"{message.seq}",
                )
        else:
            table.add_columns("key", "value", "confidence", "updated")
            for fact in self._memory.facts.list(position.ns):
                _add(table, (fact.key, fact.value, fact.confidence, fact.updated_at), fact.key)

    def action_why(self) -> None:
        """Show the messages that the selected fact came from."""
        table: DataTable[Text] = self.query_one(DataTable)
        if self._at is None or self._at.kind != "facts" or not table.row_count:
            return
        key = table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value
        try:
            why = self._memory.why(f"{self._at.ns}/{key}")
        except MemoristError as problem:
            self._say(str(problem))
            return
        lines = [f"{message.id}: “{message.text}”" for message in why.messages]
        self._say(f"{key} ← " + ("\n".join(lines) if lines else f"written directly, by {why.actor}"))

    def _say(self, text: str) -> None:
        self.query_one("#why", Static).update(Text(cell(text)))


def _add(table: DataTable[Text], values: tuple[object, ...], key: str) -> None:
    """Add a row of `Text`, so that brackets in content are not parsed as markup."""
    table.add_row(*(Text(human(value)) for value in values), key=key)
