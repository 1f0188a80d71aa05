"""Completion of words on the command line: tables and access patterns.

The shell runs the program for every TAB. Nothing is printed but what fits, whatever goes wrong.
"""

from __future__ import annotations

from contextlib import suppress

import typer


def complete_tables(incomplete: str) -> list[str]:
    """Return the designs, and the tables of the project as MODULE:NAME."""
    from keyfold.cli._tables import DESIGNS, list_paths

    names = list(DESIGNS)
    with suppress(Exception):
        names = [*list_paths(), *names]
    return [name for name in names if name.startswith(incomplete)]


def complete_tables_and_patterns(context: typer.Context, incomplete: str) -> list[str]:
    """Return tables and, since a project's pattern may be named alone, access patterns."""
    patterns = _list_patterns(None, context.params.get("table"), incomplete)
    tables = [] if context.params.get("table") else complete_tables(incomplete)
    return [*patterns, *tables]


def complete_patterns(context: typer.Context, incomplete: str) -> list[str]:
    """Return the access patterns of the table that the command line names."""
    params = context.params
    return _list_patterns(params.get("name"), params.get("table"), incomplete)


def _list_patterns(name: str | None, option: str | None, incomplete: str) -> list[str]:
    from keyfold.cli._tables import find_tables

    with suppress(Exception):
        tables = find_tables(name, option)
        names = [
            pattern.__name__.replace("_", "-")
            for table in tables
            for pattern in table.patterns.values()
        ]
        return [name for name in names if name.startswith(incomplete)]
    return []
