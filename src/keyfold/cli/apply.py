"""`keyfold apply`: create and update a database's tables to match their declarations."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import typer

from keyfold.cli._options import AsJson, Database, TableArgument, TableOption
from keyfold.cli.plan import AllowRemoval, show_plan, to_json

if TYPE_CHECKING:
    # Imported when the command runs, so that --help does not load the engine.
    from keyfold.deploy import Event, Report

EXAMPLES = (
    "keyfold apply market --db shop.db",
    "keyfold apply --table shop.tables:market --db dynamodb://eu-west-1",
    "keyfold apply --table shop.tables:market --db shop.db --allow-removal",
)

_SIGNS = {"begin": ">", "wait": ".", "done": "+", "postponed": "!"}


def apply(
    name: TableArgument = None,
    *,
    db: Database,
    table: TableOption = None,
    allow_removal: AllowRemoval = False,
    as_json: AsJson = False,
) -> None:
    """Create and update tables to match their declarations.

    Runs the steps that `keyfold plan` shows, one after another, and waits until each has taken
    effect. If interrupted, run it again: it does the remaining steps. DynamoDB allows a table's
    TTL to be changed about once an hour. A TTL change that comes too soon is postponed, and the
    other steps are done; run the command again later.

    For a field that became unique, it makes the guards of all stored values. If several items have
    one value, it lists them and makes no guards. The guards of a field that is no longer unique are
    removed with --allow-removal.

    Exits with 1 if a table still differs from its declaration at the end.
    """
    from keyfold.cli._tables import find_tables
    from keyfold.connect import open_executor
    from keyfold.deploy import apply as apply_tables

    tables = find_tables(name, table)
    with open_executor(db, may_make=True) as database:
        reports = apply_tables(database, tables, allow_removal=allow_removal, on_event=_print_event)
    if as_json:
        document = [
            {
                **to_json(report.plan),
                "done": [step.text for step in report.done],
                "postponed": [step.text for step in report.postponed],
                "guards": None if report.unique is None else report.unique.to_json(),
            }
            for report in reports
        ]
        print(json.dumps({"tables": document}, indent=2))
    else:
        for report in reports:
            _show(report)
    raise typer.Exit(0 if all(report.is_as_declared for report in reports) else 1)


def _print_event(event: Event) -> None:
    # Progress goes to standard error, so that standard output has only the result.
    print(f"{_SIGNS[event.kind]} {event.table}: {event.text}", file=sys.stderr, flush=True)


def _show(report: Report) -> None:
    if report.postponed:
        print(
            f"{report.table}: the TTL change is postponed; DynamoDB allows one about once an hour. "
            "Run apply again later."
        )
    show_plan(report.plan)
    if report.unique is not None:
        for problem in report.unique.problems:
            if not problem.is_repaired:
                print(f"  x {problem}")
