"""`keyfold demo`: see the engine at work on a small table."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfold.cli.verify import count_problems

if TYPE_CHECKING:
    # At run time these wait until the command runs, so that help loads no engine.
    from keyfold.cli._orders import Call

# Rich takes 80 columns where there is no terminal to ask.
PIPED_WIDTH = 120
EXAMPLES = ("keyfold demo", "keyfold demo --db orders.db", "keyfold demo --json")


def demo(
    *,
    db: Annotated[
        Path | None,
        typer.Option(
            help="Make this file and keep it; by default a temporary one.", metavar="FILE"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Create a table of orders, write, query, and show every call.

    Each line is one request of DynamoDB's API, with what it returned, the capacity it
    consumed and the time it took. Exits with 1 if an answer is not what it must be.
    """
    from keyfold.cli._orders import run_demo

    if db is not None and db.exists():
        raise typer.BadParameter(f"{db} exists; the demo makes a new file.", param_hint="--db")
    with tempfile.TemporaryDirectory(prefix="keyfold-") as folder:
        calls, problems = run_demo(db or Path(folder) / "orders.db")
    holds = not problems and all(call.is_as_expected for call in calls)
    if as_json:
        _print_json(calls, problems, holds=holds)
    else:
        _print_table(calls, problems, kept=db)
    raise typer.Exit(0 if holds else 1)


def _print_json(calls: list[Call], problems: list[str], *, holds: bool) -> None:
    rows = [call.to_json() for call in calls]
    print(json.dumps({"calls": rows, "problems": problems, "as_expected": holds}, indent=2))


def _print_table(calls: list[Call], problems: list[str], *, kept: Path | None) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("request", no_wrap=True)
    table.add_column("asked", overflow="fold")
    table.add_column("answer", overflow="fold")
    table.add_column("units", justify="right", no_wrap=True)
    table.add_column("ms", justify="right", no_wrap=True)
    for call in calls:
        units = "" if call.capacity_units is None else f"{call.capacity_units:g}"
        answer = call.answer if call.is_as_expected else f"{call.answer} (not as expected)"
        style = None if call.is_as_expected else "bold red"
        cells = (call.operation, call.asked, answer, units, f"{call.milliseconds:.2f}")
        table.add_row(*cells, style=style)
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    console.print(table)
    right = sum(call.is_as_expected for call in calls)
    units = sum(call.capacity_units or 0 for call in calls)
    milliseconds = sum(call.milliseconds for call in calls)
    print(
        f"{right} of {len(calls)} answers as expected; "
        f"{units:g} capacity units, {milliseconds:.1f} ms; "
        f"verify found {count_problems(problems)}."
    )
    for problem in problems:
        print(problem)
    if kept is not None:
        print(f"The table is in {kept}; try: keyfold verify {kept}")
