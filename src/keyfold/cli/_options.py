"""Arguments and options that several commands share, and the examples at the end of help."""

from __future__ import annotations

from typing import Annotated

import typer

Design = Annotated[
    str | None,
    typer.Argument(
        help="A design, or a table of your project, as in `keyfold patterns`; by default all "
        "tables of the project.",
        metavar="DESIGN",
    ),
]
OwnTable = Annotated[
    str | None,
    typer.Option("--table", help="A table of your own, instead of DESIGN.", metavar="MODULE:NAME"),
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
