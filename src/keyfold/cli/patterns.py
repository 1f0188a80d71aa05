"""`keyfold patterns`: list the access patterns of a table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfold.cli._options import AsJson, OwnTable
from keyfold.cli._quantities import count_of

if TYPE_CHECKING:
    # Imported when the command runs, so that --help does not load the model.
    from rich.console import Console
    from rich.text import Text

    from keyfold.model import Pattern, Table
    from keyfold.requests import Explanation

EXAMPLES = (
    "keyfold patterns market",
    "keyfold patterns exchange_rates --json",
    "keyfold patterns --table shop.tables:market",
)

_PATTERN_WIDTH = 29


def patterns(
    design: Annotated[
        str | None,
        typer.Argument(
            help="A design (exchange_rates, letsgo, market or pantry), or a table of your project.",
            metavar="DESIGN",
        ),
    ] = None,
    *,
    table: OwnTable = None,
    as_json: AsJson = False,
) -> None:
    """List a table's access patterns: their parameters and requests.

    Needs no database. Without DESIGN and --table, it lists the patterns of all tables of your
    project: those that pyproject.toml names in [tool.keyfold] as tables = ["module:name"].
    """
    from keyfold.cli._tables import find_tables
    from keyfold.cli._terminal import make_console

    tables = find_tables(design, table)
    if as_json:
        document = {"tables": [list_patterns(each) for each in tables]}
        print(json.dumps(document, indent=2, ensure_ascii=False))
        return
    console = make_console()
    for each in tables:
        print_patterns(console, each)


def list_patterns(table: Table) -> dict[str, Any]:
    """Return the patterns of a table as a JSON object."""
    return {"table": table.name, "patterns": [_to_json(one) for one in table.patterns.values()]}


def _explain(pattern: Pattern[..., Any]) -> Explanation | str:
    """Return what a pattern does, or the reason why that is unknown."""
    from keyfold.errors import PatternFailed, PatternUnexplained

    try:
        return pattern.explain()
    except (PatternFailed, PatternUnexplained) as error:
        return str(error)


def _to_json(pattern: Pattern[..., Any]) -> dict[str, Any]:
    from keyfold.cli._arguments import show_type, type_of

    document: dict[str, Any] = {
        "name": pattern.name,
        "function": pattern.__name__,
        "description": pattern.description,
        "parameters": [
            {
                "name": each.name,
                "type": show_type(type_of(pattern, each)),
                "required": each.is_required,
            }
            for each in pattern.parameters
        ],
    }
    explained = _explain(pattern)
    if isinstance(explained, str):
        return {**document, "unexplained": explained}
    steps = [
        {"operation": each.operation, "index": each.index, "key": each.key}
        for each in explained.steps
    ]
    return {
        **document,
        "requests": steps,
        "scans": explained.scans,
        "filters": explained.filters,
        "round_trips": explained.round_trips,
    }


def print_patterns(console: Console, table: Table) -> None:
    """Print the patterns of a table, with their parameters and requests."""
    from keyfold.cli._arguments import show_parameter
    from keyfold.cli._terminal import join_styled, make_table

    console.print(
        join_styled((table.name, "bold"), f"  {count_of(len(table.patterns), 'access pattern')}")
    )
    shown = make_table()
    shown.add_column("pattern", width=_PATTERN_WIDTH, overflow="fold")
    shown.add_column("parameters", overflow="fold", max_width=_PATTERN_WIDTH)
    shown.add_column("requests", overflow="fold", ratio=1)
    shown.add_column("calls", justify="right", no_wrap=True)
    shown.add_column("warnings", no_wrap=True, min_width=7)
    shown.expand = True
    for pattern in table.patterns.values():
        parameters = "\n".join(show_parameter(pattern, each) for each in pattern.parameters)
        name = _show_name(pattern)
        explained = _explain(pattern)
        if isinstance(explained, str):
            shown.add_row(name, parameters, join_styled((explained, "dim")), "", "")
            continue
        notes = [("scans", explained.scans), ("filters", explained.filters)]
        warnings = ", ".join(note for note, holds in notes if holds)
        calls = f"{explained.round_trips}"
        shown.add_row(name, parameters, _show_steps(explained), calls, warnings)
    console.print(shown)
    console.print()


def _show_name(pattern: Pattern[..., Any]) -> Text:
    """Return a pattern's name, with its function's name below if that differs."""
    from keyfold.cli._tables import fold_name
    from keyfold.cli._terminal import join_styled

    if fold_name(pattern.name) == fold_name(pattern.__name__):
        return join_styled(pattern.name)
    return join_styled(pattern.name, (f"\n{pattern.__name__.replace('_', '-')}", "dim"))


def _show_steps(explained: Explanation) -> Text:
    from keyfold.cli._calls import SentCall, shorten_ids
    from keyfold.cli._terminal import show_calls

    return show_calls(
        [
            SentCall(step.operation, step.index, step.key, shorten_ids(step.key), 0.0, 0.0)
            for step in explained.steps
        ]
    )
