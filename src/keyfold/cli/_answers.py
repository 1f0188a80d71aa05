"""What an access pattern returned, printed for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from pydantic import BaseModel
from rich.console import Console
from rich.text import Text

from keyfold.cli._plain import to_cell
from keyfold.cli._terminal import print_rows, print_upright
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
            print_upright(console, _fields_of(value))
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
            print_upright(console, _fields_of(members))
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
            print_rows(console, [_fields_of(each) for each in group])
        else:
            for each in group:
                console.print(to_cell(each))
    if not values:
        console.print("Nothing found.")


def _fields_of(value: BaseModel | RawItem) -> dict[str, str]:
    """Return the texts of an entity's fields; those without any are left out."""
    if isinstance(value, RawItem):
        return {"key": to_cell(value.key), "invalid": value.reason}
    texts = {name: to_cell(each) for name, each in cast(Iterable[tuple[str, Any]], value)}
    return {name: text for name, text in texts.items() if text}
