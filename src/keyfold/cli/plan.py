"""`keyfold plan`: show how a database's tables differ from their declarations."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfold.cli._options import AsJson, Database, TableArgument, TableOption

if TYPE_CHECKING:
    # Imported when the command runs, so that --help does not load the engine.
    from keyfold.deploy import PlanStep, TablePlan, UniqueStep

EXAMPLES = (
    "keyfold plan market --db shop.db",
    "keyfold plan --table shop.tables:market --db dynamodb://eu-west-1",
    "keyfold plan --table shop.tables:market --db http://localhost:8000 --json",
)

AllowRemoval = Annotated[
    bool, typer.Option("--allow-removal", help="Also remove what is not in the declaration.")
]


def plan(
    name: TableArgument = None,
    *,
    db: Database,
    table: TableOption = None,
    allow_removal: AllowRemoval = False,
    as_json: AsJson = False,
) -> None:
    """Show what `keyfold apply` would change, without changing it.

    Compares the tables of a database with their declarations. Steps that remove something are
    listed separately: apply runs them only with --allow-removal. Differences that cannot be
    changed in place are listed with a workaround. A unique field whose guards are missing is one
    of the steps; so are the guards of a field that is no longer unique.

    Exits with 1 if anything differs.
    """
    from keyfold.cli._tables import find_tables
    from keyfold.connect import open_executor
    from keyfold.deploy import plan as make_plan

    tables = find_tables(name, table)
    file = None if "://" in db or db == ":memory:" else Path(db)
    is_new = file is not None and (not file.exists() or file.stat().st_size == 0)
    if is_new and not as_json:
        print(f"{db} does not exist yet, or is empty.", file=sys.stderr)
    # A missing or empty file is planned as a database without tables; it is not created.
    with open_executor(":memory:" if is_new else db, keeps_expired=True) as database:
        plans = make_plan(database, tables, allow_removal=allow_removal)
    if as_json:
        print(json.dumps({"tables": [to_json(each) for each in plans]}, indent=2))
    else:
        for each in plans:
            show_plan(each)
    raise typer.Exit(0 if all(each.is_as_declared for each in plans) else 1)


def show_plan(plan: TablePlan) -> None:
    """Print the steps for one table."""
    if plan.is_as_declared:
        print(f"{plan.table} matches its declaration.")
        return
    print(plan.table)
    for step in plan.steps:
        print(f"  {'-' if step.removes else '+'} {step.text}")
    for step in plan.unique:
        print(f"  {'-' if step.removes else '+'} {step.text}")
    if plan.withheld:
        print("  Not done, since it removes something (use --allow-removal):")
        for step in plan.withheld:
            print(f"  ! {step.text}")
    for obstacle in plan.obstacles:
        print(f"  x {obstacle.fact}")
        print(f"    {obstacle.advice}")


def to_json(plan: TablePlan) -> dict[str, Any]:
    """Return a plan as a JSON object, with the API calls of its steps."""
    obstacles = [{"fact": each.fact, "advice": each.advice} for each in plan.obstacles]
    return {
        "table": plan.table,
        "as_declared": plan.is_as_declared,
        "steps": [_step_to_json(step) for step in plan.steps],
        "withheld": [_step_to_json(step) for step in plan.withheld],
        "unique": [_step_to_json(step) for step in plan.unique],
        "obstacles": obstacles,
    }


def _step_to_json(step: PlanStep | UniqueStep) -> dict[str, Any]:
    shown: dict[str, Any] = {"text": step.text, "removes": step.removes}
    from keyfold.deploy import PlanStep, UniqueStep

    match step:
        case PlanStep(operation=operation, request=request):
            return {**shown, "operation": operation, "request": request}
        case UniqueStep(name=name):
            return {**shown, "name": name}
