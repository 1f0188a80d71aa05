"""Runs an endpoint as a caller: from arguments to a result, its cursor, and the units it consumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from typing import Any, cast

from pydantic import ValidationError

from keyfold.api import find_operation
from keyfold.errors import KeyfoldError, PatternFailed
from keyfold.model import Collection, Page, Query, Request, Scan
from keyfold.service._endpoints import PatternEndpoint
from keyfold.service._problems import refuse
from keyfold.store import AsyncStore, CallRecord

# What the smallest read consumes.
LEAST_UNITS = 0.5
# How many calls a page may take. A filter that leaves nearly everything out gives short pages.
_PAGE_READS = 20


@dataclass(frozen=True, slots=True)
class PageLimits:
    """How many items a page has, if nobody says, and at most."""

    items: int = 100
    most: int = 1_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an endpoint; `cursor` continues a list, `invalid` items do not fit the declaration."""

    value: Any
    cursor: str | None
    invalid: int
    read_units: float
    write_units: float

    @property
    def units(self) -> float:
        """The capacity units that the call consumed."""
        return self.read_units + self.write_units


@dataclass(slots=True)
class Meter:
    """Adds up the capacity units of the calls that one request makes, as its caller may know them.

    A request is stopped after the call with which it has used more than `most_units`.
    """

    read_units: float = 0.0
    write_units: float = 0.0
    has_looked_up: bool = False
    most_units: float = inf

    @property
    def units(self) -> float:
        """The units of reads and writes."""
        return self.read_units + self.write_units


_METER: ContextVar[Meter | None] = ContextVar("keyfold_meter", default=None)


def count_units(record: CallRecord) -> None:
    """Add the units of a call to the meter of the request that makes it: a hook for a store.

    Raises a problem if these are more than the request may consume, so that it makes no further call.
    """
    meter = _METER.get()
    if meter is None:
        return
    if record.is_lookup:
        # However many items and bytes of others it has read: callers are told what they are charged,
        # and would know from it whether others have an item.
        meter.read_units += 0.0 if meter.has_looked_up else LEAST_UNITS
        meter.has_looked_up = True
    elif find_operation(record.operation).is_read:
        meter.read_units += record.consumed
    else:
        meter.write_units += record.consumed
    if meter.units > meter.most_units:
        detail = (
            f"The call was stopped after {meter.units:g} capacity units; it may use "
            f"{meter.most_units:g}. Ask for less."
        )
        raise refuse(429, "call-units-spent", detail)


class Metering:
    """Counts the units of the calls that are made within; stops after the call that exceeds the most."""

    __slots__ = ("_meter", "_token")

    def __init__(self, most_units: float = inf) -> None:
        self._meter = Meter(most_units=most_units)

    def __enter__(self) -> Meter:
        self._token = _METER.set(self._meter)
        return self._meter

    def __exit__(self, *_: object) -> None:
        _METER.reset(self._token)


def make_request(
    endpoint: PatternEndpoint,
    arguments: Mapping[str, Any],
    *,
    limit: int | None = None,
    cursor: str | None = None,
    pages: PageLimits,
) -> Request[Any]:
    """Return an endpoint's request, whose pages are limited.

    Raises KeyfoldError and ValidationError for arguments that the pattern refuses, PatternFailed for
    its own mistakes.
    """
    try:
        request: Request[Any] = endpoint.pattern(**arguments)
    except (KeyfoldError, ValidationError):
        raise
    except Exception as error:
        raise PatternFailed(endpoint.pattern.name, type(error).__name__, str(error)) from error
    if not isinstance(request, Query | Scan):
        return request
    paged = cast("Query[Any] | Scan[Any]", request)
    asked = [each for each in (paged.page_limit, limit) if each is not None]
    most = min(*asked, pages.most) if asked else pages.items
    if most != paged.page_limit:
        paged = paged.limit(most)
    if paged.read_limit is None:
        paged = paged.max_reads(_PAGE_READS)
    return paged if cursor is None else paged.after(cursor)


async def run_request(
    store: AsyncStore, request: Request[Any], charge: Callable[[float], None] | None = None
) -> Outcome:
    """Run a request, and return its result with what it consumed.

    `charge` is called with the units, even if the request fails.
    """
    with Metering() as meter:
        try:
            value: Any = await store.run(request)
        finally:
            if charge is not None:
                charge(meter.units)
    cursor, invalid = None, 0
    if isinstance(value, Page | Collection):
        found = cast("Page[Any] | Collection", value)
        cursor, invalid = found.cursor, len(found.invalid)
    return Outcome(value, cursor, invalid, meter.read_units, meter.write_units)
