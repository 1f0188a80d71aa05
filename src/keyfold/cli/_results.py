"""Printing of an access pattern's result as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from pydantic import BaseModel
from rich.console import Console
from rich.text import Text

from keyfold.cli._plain import to_cell
from keyfold.cli._quantities import count_of
from keyfold.cli._terminal import print_rows, print_vertically
from keyfold.model import Collection, Page, RawItem
from keyfold.model._formatting import show_item

Show = Callable[[str], str]


def count_items(result: Any) -> int:
    """Return the number of entities in a result."""
    match result:
        case None:
            return 0
        case Page() | list():
            return sum(each is not None for each in cast(Iterable[Any], result))
        case Collection():
            return sum(count_items(value) for _, value in result)
        case _:
            return 1


def print_result(console: Console, value: Any, show: Show = str) -> None:
    """Print a list of entities as a table, one entity as its fields, other values as text.

    `show` returns the text of a value as it may be shown.
    """
    match value:
        case list():
            found = [each for each in cast(list[Any], value) if each is not None]
            _print_list(console, found, show)
        case Collection():
            _print_collection(console, value, show)
        case BaseModel():
            console.print(Text(type(value).__name__, "bold"))
            print_vertically(console, _fields_of(value, show))
        case None:
            console.print("Nothing found.")
        case _:
            console.print(show(to_cell(value)))


def _print_collection(console: Console, collection: Collection, show: Show) -> None:
    for place, (name, members) in enumerate(collection):
        if place:
            console.print()
        console.print(Text(name, "bold"))
        if isinstance(members, BaseModel):
            print_vertically(console, _fields_of(members, show))
        else:
            print_result(console, members, show)


def _print_list(console: Console, values: list[Any], show: Show) -> None:
    groups: dict[type[Any], list[Any]] = {}
    for value in values:
        groups.setdefault(cast(type[Any], type(value)), []).append(value)
    for kind, group in groups.items():
        if len(groups) > 1:
            console.print(Text(kind.__name__, "bold"))
        if issubclass(kind, BaseModel):
            print_rows(console, [_fields_of(each, show) for each in group])
        else:
            for each in group:
                console.print(show(to_cell(each)))
    if not values:
        console.print("Nothing found.")


def print_invalid(console: Console, items: list[RawItem]) -> None:
    """Print the keys of items that do not fit the declaration, and what is wrong with each."""
    console.print(Text(f"Invalid: {count_of(len(items), 'item')}", "bold"))
    rows = [
        {"key": show_item(each.key), "entity": each.entity or "", "reason": each.reason}
        for each in items
    ]
    print_rows(console, rows)


def _fields_of(value: BaseModel, show: Show) -> dict[str, str]:
    """Return the text of each field of an entity; empty fields are left out."""
    texts = {name: show(to_cell(each)) for name, each in cast(Iterable[tuple[str, Any]], value)}
    return {name: text for name, text in texts.items() if text}
