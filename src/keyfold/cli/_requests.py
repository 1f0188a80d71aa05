"""Running the requests of access patterns, and printing their results."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

from rich.console import Console

from keyfold.cli._plain import to_plain
from keyfold.cli._quantities import count_of
from keyfold.cli._results import count_items, print_invalid, print_result
from keyfold.cli._surfaces import Surface
from keyfold.cli._terminal import show_calls
from keyfold.model import (
    Batch,
    Collection,
    Delete,
    Get,
    Page,
    Put,
    Query,
    RawItem,
    Request,
    Scan,
    Transaction,
    Update,
)
from keyfold.requests import Mapped
from keyfold.store import Store
from keyfold.store._sent_calls import CallLog, SentCall

_PLAIN = Surface()


@dataclass(frozen=True, slots=True)
class PatternResult:
    """The result of a pattern; `cursor` starts the next page, None if there is none."""

    value: Any
    cursor: str | None
    calls: list[SentCall]
    # Items that do not fit the declaration.
    invalid: list[RawItem] = field(default_factory=list[RawItem])

    def to_json(self, pattern: str, surface: Surface = _PLAIN) -> dict[str, Any]:
        """Return the result as a JSON object, as it may be shown."""
        return {
            "pattern": pattern,
            "answer": surface.show_json(to_plain(self.value)),
            "invalid": to_plain(self.invalid),
            "next": self.cursor,
            "capacity_units": sum(call.consumed for call in self.calls),
            "calls": [call.to_json() for call in self.calls],
        }


def run_request(
    store: Store, log: CallLog, request: Request[Any], surface: Surface = _PLAIN
) -> PatternResult:
    """Run a request: one page if it has a limit, otherwise all; `log` is a hook of the store.

    Items that do not fit the declaration are returned as they may be shown.
    """
    result = _run(store, log, request)
    return replace(result, invalid=[surface.show_invalid(each) for each in result.invalid])


def _run(store: Store, log: CallLog, request: Request[Any]) -> PatternResult:
    log.take()
    if isinstance(request, Query | Scan):
        pages = cast("Query[Any] | Scan[Any]", request)
        if pages.page_limit is None:
            invalid: list[RawItem] = []
            found = list(store.iterate(pages, on_invalid=invalid.append))
            return PatternResult(found, None, log.take(), invalid)
    value: Any = store.run(cast("Request[Any]", request))
    if isinstance(value, Page):
        page = cast("Page[Any]", value)
        return PatternResult(list(page), page.cursor, log.take(), [*page.invalid])
    invalid = [*value.invalid] if isinstance(value, Collection) else []
    return PatternResult(value, None, log.take(), invalid)


def writes(request: Request[Any]) -> bool:
    """Return whether a request writes."""
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


def print_request(
    console: Console, request: Request[Any], result: PatternResult, surface: Surface = _PLAIN
) -> None:
    """Print the result of a request, the calls it made, and what they cost."""
    number = count_items(result.value)
    if writes(request) and number == 0:
        console.print("Done.")
    else:
        print_result(console, result.value, surface.show)
    if result.invalid:
        console.print()
        print_invalid(console, result.invalid)
    units = sum(call.consumed for call in result.calls)
    milliseconds = sum(call.milliseconds for call in result.calls)
    console.print()
    console.print(show_calls(result.calls))
    cost = f"{count_of(number, 'item')}, {count_of(units, 'capacity unit')}"
    console.print(f"{cost}, {milliseconds:.2f} ms", style="dim")
