"""Plans of scans: page by page, or several segments in parallel."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import fields
from typing import Any

from keyfold.model._calls import ApiCall, Calls
from keyfold.model._index_reads import check_countable, check_readable
from keyfold.model._paged_reads import Count, Scan
from keyfold.model._results import Page
from keyfold.store._plans import ParallelPlans, Plan, RunContext
from keyfold.store._reads import (
    PageRead,
    count_from,
    make_page,
    plan_count,
    plan_page,
    read_page,
    start_of,
)
from keyfold.values import Item


def plan_scan(context: RunContext, request: Scan[Any], calls: Calls) -> Plan[Page[Any]]:
    """Return the plan of a scan, by one segment or by several at the same time."""
    make = plan_page if request.segment_count == 1 else _plan_segments
    return make(context, request, calls)


def plan_any_count(context: RunContext, request: Count, calls: Calls) -> Plan[int]:
    """Return the plan of a count, by one segment or by several at the same time."""
    source = request.source
    if isinstance(source, Scan) and source.segment_count > 1:
        return _plan_parallel_count(context, request, calls)
    return plan_count(context, request, calls)


def _plan_segments(
    context: RunContext, request: Scan[Any], calls: Calls
) -> Generator[ApiCall | ParallelPlans, Any, Page[Any]]:
    """Read some of each segment at the same time: each until it finds an item, or to its end."""
    check_readable(request)
    starts = _read_starts(start_of(context, request), len(calls))
    plans = [
        read_page(context, request, calls[segment], start) for segment, start in starts.items()
    ]
    found: list[PageRead] = yield ParallelPlans(tuple(plans))
    whole = PageRead([], position=_join_positions(starts, found))
    for each in found:
        for field in fields(PageRead):
            if field.name != "position":
                total = getattr(whole, field.name) + getattr(each, field.name)
                setattr(whole, field.name, total)
    return make_page(context, request, whole)


def _plan_parallel_count(
    context: RunContext, request: Count, calls: Calls
) -> Generator[ApiCall | ParallelPlans, Any, int]:
    check_countable(request)
    source = request.source
    starts = _read_starts(start_of(context, source), len(calls))
    plans = [
        count_from(context, source, calls[segment], start) for segment, start in starts.items()
    ]
    return sum((yield ParallelPlans(tuple(plans))))


# The position of a parallel scan has the positions of all segments that are not at their end. Its
# names are those of key attributes, with the number of the segment in front.


def _join_positions(starts: dict[int, Item | None], found: list[PageRead]) -> Item | None:
    joined = {
        f"{segment}:{name}": value
        for segment, each in zip(starts, found, strict=True)
        for name, value in (each.position or {}).items()
    }
    return joined or None


def _read_starts(position: Item | None, count: int) -> dict[int, Item | None]:
    """Return where to continue, by segment, without those that are at their end."""
    if position is None:
        return dict.fromkeys(range(count))
    starts: dict[int, Any] = {}
    for joined, value in position.items():
        segment, _, name = joined.partition(":")
        starts.setdefault(int(segment), {})[name] = value
    return starts
