"""`keyfold patterns`: list the access patterns of a table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from keyfold.cli._options import AsJson, TableArgument, TableOption
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

_INDENT = "  "


def patterns(
    name: TableArgument = None,
    *,
    table: TableOption = None,
    as_json: AsJson = False,
) -> None:
    """List a table's access patterns: their parameters and requests.

    Needs no database. The designs are exchange_rates, letsgo, market and pantry. Without a table,
    it lists the patterns of all tables of your project: those that pyproject.toml names in
    [tool.keyfold] as tables = ["module:name"].
    """
    from keyfold.cli._tables import find_tables
    from keyfold.cli._terminal import make_console

    tables = find_tables(name, table)
    for each in tables:
        # No pattern of a table can run if its entities do not go together.
        each.check()
    if as_json:
        document = {"tables": [list_patterns(each) for each in tables]}
        print(json.dumps(document, indent=2, ensure_ascii=False))
        return
    console = make_console()
    for each in tables:
        print_patterns(console, each)


def list_patterns(table: Table, *, shows_keys: bool = True) -> dict[str, Any]:
    """Return the patterns of a table as a JSON object; without keys, its requests are left out."""
    every = table.patterns.values()
    return {
        "table": table.name,
        "patterns": [_to_json(one, shows_keys=shows_keys) for one in every],
    }


def _explain(pattern: Pattern[..., Any]) -> Explanation | str:
    """Return what a pattern does, or the reason why that is unknown."""
    from keyfold.errors import PatternFailed, PatternUnexplained

    try:
        return pattern.explain()
    except (PatternFailed, PatternUnexplained) as error:
        return str(error)


def _to_json(pattern: Pattern[..., Any], *, shows_keys: bool) -> dict[str, Any]:
    from keyfold.cli._arguments import show_type
    from keyfold.model._pattern_types import find_value_type

    document: dict[str, Any] = {
        "name": pattern.name,
        "function": pattern.__name__,
        "description": pattern.description,
        "parameters": [
            {
                "name": each.name,
                "type": show_type(find_value_type(pattern, each)),
                "required": each.is_required,
            }
            for each in pattern.parameters
        ],
    }
    if not shows_keys:
        return document
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
        "atomic": explained.is_atomic,
        "lagging_indexes": list(explained.lagging_indexes),
        "writes_after_lag": explained.writes_after_lag,
        "round_trips": explained.round_trips,
    }


def print_patterns(console: Console, table: Table, *, shows_keys: bool = True) -> None:
    """Print the patterns of a table: parameters, descriptions and, with keys, their requests."""
    from keyfold.cli._terminal import join_styled

    count = count_of(len(table.patterns), "access pattern")
    console.print(join_styled((table.name, "bold"), f"  {count}"))
    for pattern in table.patterns.values():
        console.print()
        _print_pattern(console, pattern, shows_keys=shows_keys)
    console.print()


def _print_pattern(console: Console, pattern: Pattern[..., Any], *, shows_keys: bool) -> None:
    """Print a pattern in lines that wrap, so that it can be read at any width."""
    from keyfold.cli._arguments import show_parameter
    from keyfold.cli._terminal import join_styled

    words = (show_parameter(pattern, each) for each in pattern.parameters)
    lines = [join_styled((" ".join((pattern.__name__.replace("_", "-"), *words)), "cyan"))]
    # The paragraphs of a docstring have line breaks of their own.
    paragraphs = pattern.description.split("\n\n") if pattern.description else ()
    lines += [join_styled(" ".join(each.split())) for each in paragraphs]
    if shows_keys:
        lines += _show_explanation(pattern)
    console.print(join_styled((pattern.name, "bold")), overflow="fold")
    for line in lines:
        for row in line.wrap(console, console.width - len(_INDENT), overflow="fold"):
            row.rstrip()
            console.print(join_styled(_INDENT) + row)


def _show_explanation(pattern: Pattern[..., Any]) -> list[Text]:
    from keyfold.cli._terminal import join_styled

    explained = _explain(pattern)
    if isinstance(explained, str):
        return [join_styled((explained, "dim"))]
    return [_show_steps(explained), join_styled((_show_cost(explained), "dim"))]


def _show_cost(explained: Explanation) -> str:
    notes = [
        ("scans", explained.scans),
        ("filters", explained.filters),
        ("not atomic", not explained.is_atomic),
        (f"may lag ({', '.join(explained.lagging_indexes)})", explained.lagging_indexes),
        ("writes by what an index had", explained.writes_after_lag),
    ]
    warnings = [note for note, holds in notes if holds]
    return ", ".join((count_of(explained.round_trips, "call"), *warnings))


def _show_steps(explained: Explanation) -> Text:
    from keyfold.cli._terminal import show_calls
    from keyfold.store._sent_calls import SentCall, shorten_ids

    return show_calls(
        [
            SentCall(step.operation, step.index, step.key, shorten_ids(step.key), 0.0, 0.0)
            for step in explained.steps
        ]
    )
