"""What commands print for people: the width, and tables that look alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from keyfold.cli._calls import SentCall

# Rich takes 80 columns where there is no terminal to ask.
PIPED_WIDTH = 120
# Wider than anything that is shown.
_ANY_WIDTH = 1 << 30


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


def print_rows(console: Console, rows: Sequence[Mapping[str, str]]) -> None:
    """Print rows as a table, with a column for each name that one of them has.

    A table that is wider than the console would have words in pieces: then each row stands
    upright, a line for each name, with an empty line before the next.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = make_table()
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(row.get(name, "") for name in names))
    options = console.options.update(max_width=_ANY_WIDTH)
    if Measurement.get(console, options, table).maximum <= console.width:
        console.print(table)
        return
    for place, row in enumerate(rows):
        if place:
            console.print()
        print_upright(console, row)


def print_upright(console: Console, row: Mapping[str, str]) -> None:
    """Print one row, a line for each of its names."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in row.items():
        table.add_row(name, text)
    console.print(table)


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
