"""What an access pattern returned, printed for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from pydantic import BaseModel
from rich.console import Console
from rich.text import Text

from keyfold.cli._plain import to_cell
from keyfold.cli._terminal import make_table
from keyfold.model import Collection, Page, RawItem


def count_items(answer: Any) -> int:
    """Return how many entities an answer has."""
    match answer:
        case None:
            return 0
        case Page() | list():
            return sum(each is not None for each in cast(Iterable[Any], answer))
        case Collection():
            return sum(count_items(value) for _, value in answer)
        case _:
            return 1


def print_answer(console: Console, value: Any) -> None:
    """Print entities as tables, one as a list of its fields, anything else as it is."""
    match value:
        case list():
            _print_list(console, [each for each in cast(list[Any], value) if each is not None])
        case Collection():
            _print_collection(console, value)
        case BaseModel() | RawItem():
            console.print(Text(type(value).__name__, "bold"))
            _print_fields(console, value)
        case None:
            console.print("Nothing found.")
        case _:
            console.print(to_cell(value))


def _print_collection(console: Console, collection: Collection) -> None:
    for place, (name, members) in enumerate(collection):
        if place:
            console.print()
        console.print(Text(name, "bold"))
        if isinstance(members, BaseModel):
            _print_fields(console, members)
        else:
            print_answer(console, members)


def _print_list(console: Console, values: list[Any]) -> None:
    groups: dict[type[Any], list[Any]] = {}
    for value in values:
        groups.setdefault(cast(type[Any], type(value)), []).append(value)
    for kind, group in groups.items():
        if len(groups) > 1:
            console.print(Text(kind.__name__, "bold"))
        if issubclass(kind, BaseModel | RawItem):
            _print_rows(console, [_fields_of(each) for each in group])
        else:
            for each in group:
                console.print(to_cell(each))
    if not values:
        console.print("Nothing found.")


def _print_rows(console: Console, rows: list[dict[str, str]]) -> None:
    # What no row has is left out.
    names = dict.fromkeys(name for row in rows for name, text in row.items() if text)
    table = make_table()
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(row.get(name, "") for name in names))
    console.print(table)


def _print_fields(console: Console, value: BaseModel | RawItem) -> None:
    fields = {name: text for name, text in _fields_of(value).items() if text}
    width = max(map(len, fields), default=0)
    for name, text in fields.items():
        console.print(Text.assemble((f"{name:<{width}}  ", "dim"), text))


def _fields_of(value: BaseModel | RawItem) -> dict[str, str]:
    if isinstance(value, RawItem):
        return {"key": to_cell(value.key), "unfit": value.reason}
    return {name: to_cell(each) for name, each in cast(Iterable[tuple[str, Any]], value)}
