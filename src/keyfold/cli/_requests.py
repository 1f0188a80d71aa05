"""Requests of access patterns: run by a store, and what they return printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from rich.console import Console

from keyfold.cli._answers import count_items, print_answer
from keyfold.cli._calls import CallLog, SentCall
from keyfold.cli._plain import to_plain
from keyfold.cli._quantities import count_of
from keyfold.cli._terminal import show_calls
from keyfold.model import (
    Batch,
    Delete,
    Get,
    Mapped,
    Page,
    Put,
    Query,
    Request,
    Scan,
    Transaction,
    Update,
)
from keyfold.store import Store


@dataclass(frozen=True, slots=True)
class PatternAnswer:
    """What a pattern returned; `cursor` goes on where a page ended."""

    value: Any
    cursor: str | None
    calls: list[SentCall]

    def to_json(self, pattern: str) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "pattern": pattern,
            "answer": to_plain(self.value),
            "next": self.cursor,
            "capacity_units": sum(call.consumed for call in self.calls),
            "calls": [call.to_json() for call in self.calls],
        }


def run_request(store: Store, log: CallLog, request: Request[Any]) -> PatternAnswer:
    """Return one page, or all where no limit is given; `log` is one of the store's hooks."""
    log.take()
    if isinstance(request, Query | Scan):
        pages = cast("Query[Any] | Scan[Any]", request)
        if pages.page_limit is None:
            return PatternAnswer(list(store.iterate(pages)), None, log.take())
    value: Any = store.run(cast("Request[Any]", request))
    if isinstance(value, Page):
        page = cast("Page[Any]", value)
        return PatternAnswer(list(page), page.cursor, log.take())
    return PatternAnswer(value, None, log.take())


def writes(request: Request[Any]) -> bool:
    """Tell whether a request changes anything."""
    match request:
        case Put() | Update() | Delete():
            return True
        case Transaction():
            return not request.is_read
        case Batch(requests=members):
            return not all(isinstance(each, Get) for each in members)
        case Mapped(request=inner):
            return writes(inner)
        case _:
            return False


def print_request(console: Console, request: Request[Any], answer: PatternAnswer) -> None:
    """Print what a request returned, the calls that it took, and what they cost."""
    number = count_items(answer.value)
    if writes(request) and number == 0:
        console.print("Done.")
    else:
        print_answer(console, answer.value)
    units = sum(call.consumed for call in answer.calls)
    milliseconds = sum(call.milliseconds for call in answer.calls)
    console.print()
    console.print(show_calls(answer.calls))
    cost = f"{count_of(number, 'item')}, {count_of(units, 'capacity unit')}"
    console.print(f"{cost}, {milliseconds:.2f} ms", style="dim")
