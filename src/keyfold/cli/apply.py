"""`keyfold apply`: make a database's tables as they are declared."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import typer

from keyfold.cli._options import AsJson, Database, Design, OwnTable
from keyfold.cli.plan import AllowRemoval, show_plan, to_json

if TYPE_CHECKING:
    # At run time these wait until the command runs, so that help loads no engine.
    from keyfold.deploy import Event, Report

EXAMPLES = (
    "keyfold apply market --db shop.db",
    "keyfold apply --table shop.tables:market --db dynamodb://eu-west-1",
    "keyfold apply --table shop.tables:market --db shop.db --allow-removal",
)

_SIGNS = {"begin": ">", "wait": ".", "done": "+", "postponed": "!"}


def apply(
    design: Design = None,
    *,
    db: Database,
    table: OwnTable = None,
    allow_removal: AllowRemoval = False,
    as_json: AsJson = False,
) -> None:
    """Make declared tables as they are declared, step by step, as `keyfold plan` shows it.

    Each step waits until the one before has taken effect. It can be interrupted and run again:
    it then does what is left. The service lets the expiry of a table be changed about once an
    hour; a change that comes too soon is put off, and the rest is done.

    Exits with 1 if anything still differs at the end.
    """
    from keyfold.cli._tables import find_tables
    from keyfold.connect import open_executor
    from keyfold.deploy import apply as carry_out

    tables = find_tables(design, table)
    with open_executor(db, may_make=True) as database:
        reports = carry_out(database, tables, allow_removal=allow_removal, tell=_tell)
    if as_json:
        told = [
            {
                **to_json(report.plan),
                "done": [step.text for step in report.done],
                "postponed": [step.text for step in report.postponed],
            }
            for report in reports
        ]
        print(json.dumps({"tables": told}, indent=2))
    else:
        for report in reports:
            _show(report)
    raise typer.Exit(0 if all(report.is_as_declared for report in reports) else 1)


def _tell(event: Event) -> None:
    # What goes on is for people: it must not get into what a program reads.
    print(f"{_SIGNS[event.kind]} {event.table}: {event.text}", file=sys.stderr, flush=True)


def _show(report: Report) -> None:
    if report.postponed:
        print(
            f"{report.table}: the service lets expiry be changed about once an hour. "
            "Apply again then."
        )
    show_plan(report.plan)
