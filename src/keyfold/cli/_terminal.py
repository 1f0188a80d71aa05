"""Consoles and tables for text output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from keyfold.terminals import escape_controls, find_stream

if TYPE_CHECKING:
    from keyfold.store._sent_calls import SentCall

# Without a terminal, rich would assume 80 columns, unless COLUMNS is set.
PIPED_WIDTH = 120
# Wider than any table, to measure its natural width.
_ANY_WIDTH = 1 << 30


class EscapingConsole(Console):
    """A console that escapes the control characters in what it is given, but not its own."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the segments of something to print."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(escape_controls(segment.text), segment.style)


def make_console() -> Console:
    """Return a console for standard output that prints text without markup, escaped."""
    file = find_stream(sys.stdout)
    console = EscapingConsole(file=file, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPED_WIDTH
    return console


def make_progress_console() -> Console:
    """Return a console for progress on standard error; bars appear only on a terminal."""
    return EscapingConsole(file=find_stream(sys.stderr), highlight=False, markup=False)


def make_table() -> Table:
    """Return a table with a header row and no borders."""
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")


def print_rows(console: Console, rows: Sequence[Mapping[str, str]]) -> None:
    """Print rows as a table, with a column for each name that occurs.

    A table wider than the console would break words. Then each row is printed vertically, one
    line for each name, with an empty line between rows.
    """
    # Before the table is laid out, so that its columns have the width of what is shown.
    rows = [_escape_row(row) for row in rows]
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
        print_vertically(console, row)


def print_vertically(console: Console, row: Mapping[str, str]) -> None:
    """Print one row vertically: a line for each name."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in _escape_row(row).items():
        table.add_row(name, text)
    console.print(table)


def _escape_row(row: Mapping[str, str]) -> dict[str, str]:
    return {escape_controls(name): escape_controls(text) for name, text in row.items()}


def print_points(console: Console, points: Iterable[str], style: str = "") -> None:
    """Print sentences as a list, whose further lines are indented."""
    for each in points:
        for number, line in enumerate(Text(each, style).wrap(console, console.width - 2)):
            line.rstrip()
            mark = "  " if number else "- "
            console.print(Text.assemble((mark, style), line), soft_wrap=True)


def join_styled(*parts: str | tuple[str, str]) -> Text:
    """Return a text joined from parts; a part may be a pair of text and style."""
    return Text.assemble(*parts)


def show_calls(calls: list[SentCall]) -> Text:
    """Return styled text with a line for each call: operation, index and key."""
    from keyfold.store import _sent_calls

    lines = [
        Text.assemble(
            (operation, "bold"), (f" {index}" if index else "", "cyan"), f": {key}" if key else ""
        )
        for operation, index, key in _sent_calls.show_calls(calls)
    ]
    return Text("\n").join(lines)
