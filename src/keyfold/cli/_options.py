"""Arguments and options that several commands share, and the examples at the end of help."""

from __future__ import annotations

from typing import Annotated

import typer

from keyfold.cli._completion import complete_tables

TableArgument = Annotated[
    str | None,
    typer.Argument(
        help="As --table; by default all tables of the project.",
        metavar="TABLE",
        autocompletion=complete_tables,
    ),
]
OneTableArgument = Annotated[
    str | None,
    typer.Argument(
        help="As --table; by default the table of the project, if it has only one.",
        metavar="TABLE",
        autocompletion=complete_tables,
    ),
]
TableOption = Annotated[
    str | None,
    typer.Option(
        "--table",
        help="The table: a design, a table of your project, or MODULE:NAME.",
        metavar="TABLE",
        autocompletion=complete_tables,
    ),
]
Database = Annotated[
    str,
    typer.Option(
        "--db",
        help="The database: a file, http://HOST:PORT, or dynamodb://REGION.",
        metavar="URL",
        envvar="KEYFOLD_DB",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def show_examples(*examples: str) -> str:
    """Return the examples as the epilog of a command's help."""
    # The leading \b stops click from rewrapping the lines.
    return "\n".join(("\b", "Examples:", *(f"  {example}" for example in examples)))
