"""What commands print for people: the width, and tables that look alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from keyfold.cli._calls import SentCall

# Rich takes 80 columns where there is no terminal to ask.
PIPED_WIDTH = 120


def make_console() -> Console:
    """Return a console that shows texts as they are."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    return console


def make_progress_console() -> Console:
    """Return a console for what is going on: it shows nothing unless somebody is looking."""
    return Console(stderr=True, highlight=False, markup=False)


def make_table() -> Table:
    """Return a table without lines; its first row names the columns."""
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")


def join_styled(*parts: str | tuple[str, str]) -> Text:
    """Return a text of parts, some of them with a style."""
    return Text.assemble(*parts)


def show_calls(calls: list[SentCall]) -> Text:
    """Return a line for each call: operation, index and key."""
    from keyfold.cli import _calls

    lines = [
        Text.assemble(
            (operation, "bold"), (f" {index}" if index else "", "cyan"), f": {key}" if key else ""
        )
        for operation, index, key in _calls.show_calls(calls)
    ]
    return Text("\n").join(lines)
