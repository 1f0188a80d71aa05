"""`keyfold verify`: check the integrity of a database file, and the unique values of tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfold.cli._options import AsJson, TableOption
from keyfold.cli._quantities import count_of

if TYPE_CHECKING:
    # Imported when the command runs, so that --help does not load the engine.
    from keyfold.deploy import UniqueReport

EXAMPLES = (
    "keyfold verify shop.db",
    "keyfold verify shop.db --json",
    "keyfold verify --table shop.tables:members --db dynamodb://eu-west-1",
    "keyfold verify --table shop.tables:members --db shop.db --repair",
)


def verify(
    file: Annotated[
        Path | None, typer.Argument(help="The database file.", metavar="[FILE]")
    ] = None,
    *,
    db: Annotated[
        str | None,
        typer.Option(
            "--db",
            help="The database of --table: a file, http://HOST:PORT, or dynamodb://REGION.",
            metavar="URL",
            envvar="KEYFOLD_DB",
        ),
    ] = None,
    table: TableOption = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair the guards of unique values.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the integrity of a database file, or the unique values of a table.

    With FILE, checks the file's structure, and that its write-ahead log belongs to it. For every
    row, checks that its item can be decoded, that it matches its key and its recorded size, and that
    every index has its entries. Changes nothing.

    With --table, compares the guards of unique fields with the items, both ways, in any database:
    guards that are missing, that no item needs, or that have another owner, and values that several
    items have. The table can stay in use. --repair repairs all but the latter, and says what is left.
    Guards of a field that is no longer unique are reported; `keyfold apply --allow-removal` removes
    them.

    Exits with 1 if there are problems that were not repaired.
    """
    location = db if file is None else str(file)
    if table is not None and location is not None:
        raise typer.Exit(_verify_tables(table, location, repair=repair, as_json=as_json))
    if file is None:
        raise typer.BadParameter("give a FILE to check, or --table and --db.")
    if repair:
        raise typer.BadParameter("only unique values can be repaired; give --table as well.")
    raise typer.Exit(_verify_file(file, as_json=as_json))


def _verify_file(file: Path, *, as_json: bool) -> int:
    from keyfold.engine import Engine
    from keyfold.engine.storage import require_file
    from keyfold.errors import FileDamaged, LogMismatch

    require_file(file)
    try:
        # Without upkeep: checking a file must not delete its expired items.
        with Engine.open(file, upkeep_seconds=None) as engine:
            problems = [str(problem) for problem in engine.verify()]
    except (FileDamaged, LogMismatch) as damage:
        # A file that is too damaged to open, or beside another file's log, is a result of the check,
        # not a usage error.
        problems = [str(damage)]
    if as_json:
        print(json.dumps({"file": str(file), "problems": problems}, indent=2))
    else:
        for problem in problems:
            print(problem)
        print(f"{file}: {count_of(len(problems), 'problem') if problems else 'no problems'}")
    return 1 if problems else 0


def _verify_tables(table: str, db: str, *, repair: bool, as_json: bool) -> int:
    from keyfold.cli._tables import find_tables
    from keyfold.connect import open_executor
    from keyfold.deploy import verify as verify_tables

    tables = find_tables(None, table)
    with open_executor(db, keeps_expired=True) as database:
        reports = verify_tables(database, tables, repair=repair, on_items=_print_progress)
    if as_json:
        document: dict[str, Any] = {"tables": [report.to_json() for report in reports]}
        print(json.dumps(document, indent=2))
    else:
        for report in reports:
            _show(report)
    return 0 if all(report.is_good for report in reports) else 1


def _print_progress(table: str, items: int) -> None:
    # Progress goes to standard error, so that standard output has only the result.
    print(f". {table}: {count_of(items, 'item')} read", file=sys.stderr, flush=True)


def _show(report: UniqueReport) -> None:
    for problem in report.problems:
        print(f"{problem} Repaired." if problem.is_repaired else str(problem))
    found, repaired = sum(report.found.values()), sum(report.repaired.values())
    if found > len(report.problems):
        print(f"… and {found - len(report.problems):,} more")
    checked = count_of(report.values, "unique value")
    if not found:
        print(f"{report.table}: {checked}, no problems")
        return
    left = f"{repaired:,} repaired, {found - repaired:,} left" if repaired else "none repaired"
    print(f"{report.table}: {checked}, {count_of(found, 'problem')}, {left}")
