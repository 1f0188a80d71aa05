"""The arguments and options that several commands take, and how their help ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

Design = Annotated[
    str | None,
    typer.Argument(
        help="As for `keyfold patterns`; left out with --table, and for a project's tables.",
        metavar="DESIGN",
    ),
]
OwnTable = Annotated[
    str | None,
    typer.Option("--table", help="A table of your own, in place of DESIGN.", metavar="MODULE:NAME"),
]
Database = Annotated[
    str,
    typer.Option("--db", help="The database, such as a file.", metavar="URL", envvar="KEYFOLD_DB"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def show_examples(examples: Iterable[str]) -> str:
    """Return what the help of a command ends with."""
    # The leading \b keeps the lines apart where the text is wrapped to the terminal.
    return "\n".join(("\b", "Examples:", *(f"  {example}" for example in examples)))
