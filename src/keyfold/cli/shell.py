"""`keyfold shell`: run PartiQL statements and access patterns at a prompt."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from keyfold.cli._options import Database, TableArgument, TableOption
from keyfold.cli._principals import Ids, Roles, read_principal

EXAMPLES = (
    "keyfold shell --db shop.db",
    "keyfold shell market --db demo.db",
    "keyfold shell --table shop.tables:market --db shop.db",
    "keyfold shell market --as customer --id user=ada --db demo.db",
    "keyfold shell market --db demo.db --json < lines.txt",
)

_PAGE = 25


def shell(
    name: TableArgument = None,
    *,
    db: Database,
    table: TableOption = None,
    limit: Annotated[
        int | None,
        typer.Option(
            help=f"Read N items per page; by default {_PAGE} on a terminal, otherwise all.",
            min=1,
            metavar="N",
        ),
    ] = None,
    roles: Roles = None,
    ids: Ids = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print each result as one line of JSON.")
    ] = False,
) -> None:
    """Run PartiQL statements and access patterns at a prompt.

    A statement ends with a semicolon or an empty line; give a pattern as for `keyfold run`. Type
    help for the other commands. TAB completes keywords, tables, indexes, attributes, keys,
    patterns and their parameters. The history is kept in the file that KEYFOLD_HISTORY names, or
    in keyfold/history of your state directory.

    With --as, everything that the role does not allow is denied; the tables must exist. End users
    run patterns only, and get and give handles instead of system keys.

    Without a terminal, the shell reads lines from standard input, and exits with 1 if one of
    them failed.
    """
    from keyfold.cli._databases import find_session_key
    from keyfold.cli._shell import History, Session, find_history_file, run_lines, run_prompt
    from keyfold.cli._tables import find_project, find_tables
    from keyfold.connect import open_executor

    if name is not None or table is not None:
        tables = find_tables(name, table)
    else:
        tables, faults = find_project()
        # Only a warning: statements need no declaration.
        for fault in faults:
            print(f"keyfold: {fault.format_message()}", file=sys.stderr)
    principal = read_principal(roles, ids)
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if limit is None and is_terminal:
        limit = _PAGE
    with open_executor(db, keeps_expired=True) as executor:
        # On a service, creating a table is an explicit step.
        creates_tables = "://" not in db
        session = Session(
            executor,
            tables,
            limit=limit,
            as_json=as_json,
            creates_tables=creates_tables,
            principal=principal,
            cursor_key=None if principal is None else find_session_key(executor, db),
        )
        if is_terminal:
            print("End statements with ; and type help for the other commands.")
            run_prompt(session, History(find_history_file(os.environ, Path.home())))
        elif not run_lines(session, sys.stdin):
            raise typer.Exit(1)
