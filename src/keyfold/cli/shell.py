"""`keyfold shell`: statements and access patterns at a prompt."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from keyfold.cli._options import Database, OwnTable

EXAMPLES = (
    "keyfold shell --db shop.db",
    "keyfold shell market --db demo.db",
    "keyfold shell --table shop.tables:market --db shop.db",
    "keyfold shell market --db demo.db --json < lines.txt",
)

_PAGE = 25


def shell(
    design: Annotated[
        str | None,
        typer.Argument(
            help="Whose patterns to know, as for `keyfold patterns`; a project's are known.",
            metavar="DESIGN",
        ),
    ] = None,
    *,
    db: Database,
    table: OwnTable = None,
    limit: Annotated[
        int | None,
        typer.Option(
            help=f"Look at so many items for a page; {_PAGE} at a terminal, else all.",
            min=1,
            metavar="N",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each answer.")
    ] = False,
) -> None:
    """Ask a database at a prompt: PartiQL statements, and patterns by name.

    A statement ends with a semicolon or an empty line; a pattern is given as for `keyfold run`.
    The word help lists the rest. TAB completes keywords, tables, indexes, attributes, keys,
    patterns and their parameters. What is entered is kept in the file that KEYFOLD_HISTORY
    names, or in keyfold/history of your state directory.

    Without a terminal, lines are read from standard input; then it exits with 1 if one of
    them failed.
    """
    from keyfold.cli._shell import History, Session, answer_lines, converse, find_history_file
    from keyfold.cli._tables import find_project, find_tables
    from keyfold.connect import open_executor

    if design is not None or table is not None:
        tables = find_tables(design, table)
    else:
        tables, faults = find_project()
        # Statements need no declaration.
        for fault in faults:
            print(f"keyfold: {fault.format_message()}", file=sys.stderr)
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if limit is None and is_terminal:
        limit = _PAGE
    with open_executor(db) as executor:
        # A service makes no table unasked.
        makes_tables = "://" not in db
        session = Session(executor, tables, limit=limit, as_json=as_json, makes_tables=makes_tables)
        if is_terminal:
            print("Statements end with ; and help lists what else there is.")
            converse(session, History(find_history_file(os.environ, Path.home())))
        elif not answer_lines(session, sys.stdin):
            raise typer.Exit(1)
