"""Lists for agents: read call by call, until the list or one of the caps is at its end."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from keyfold.model import Page, Query, Scan
from keyfold.service._running import Meter
from keyfold.store import AsyncStore

# A filter that leaves nearly everything out gives short answers.
_MOST_READS = 20
_READS_AT_ONCE = 4
# A call for so few items reads little, and may find none that matches.
_FEW_ITEMS = 8

Show = Callable[[Page[Any]], list[Any]]


@dataclass(slots=True)
class ListAnswer:
    """The items of an answer, and why there are no more of them."""

    items: list[Any] = field(default_factory=list[Any])
    cursor: str | None = None
    size_bytes: int = 0
    invalid: int = 0
    # How many bytes an item has that is too large to be shown; 0 if there is none.
    omitted_bytes: int = 0
    stopped_by: str = ""


@dataclass(frozen=True, slots=True)
class ListReader:
    """Reads a list until it has `most_bytes`, or has used `most_units`."""

    store: AsyncStore
    show: Show
    meter: Meter
    most_bytes: int
    most_units: float

    async def read(self, query: Query[Any] | Scan[Any]) -> ListAnswer:
        """Return a page of a query or scan, which has a limit."""
        answer = ListAnswer(cursor=query.cursor)
        limit, reads = query.page_limit or 1, 0
        most_reads = min(query.read_limit or _MOST_READS, _MOST_READS)
        while True:
            missing = limit - len(answer.items)
            allowed = min(self._reads_at_once(missing, reads), most_reads - reads)
            page = await self._run(query, answer.cursor, missing, allowed)
            reads += page.reads
            if not await self._take(query, answer, page):
                return answer
            if answer.cursor is None or len(answer.items) == limit:
                return answer
            if self.meter.units >= self.most_units:
                answer.stopped_by = "units"
                return answer
            if reads >= most_reads:
                answer.stopped_by = "reads"
                return answer

    async def _take(
        self, query: Query[Any] | Scan[Any], answer: ListAnswer, page: Page[Any]
    ) -> bool:
        """Add the items of a page that fit; return whether all did."""
        shown = self.show(page)
        sizes = [measure_bytes(each) for each in shown]
        fitting = count_fitting(sizes, self.most_bytes - answer.size_bytes)
        if fitting == len(shown):
            self._add(answer, page, shown, sum(sizes))
            return True
        answer.stopped_by = "bytes"
        if fitting:
            # Read once more, for the cursor after the last item that fits.
            page = await self._run(query, answer.cursor, fitting)
            shown = self.show(page)
            sizes = [measure_bytes(each) for each in shown]
            if count_fitting(sizes, self.most_bytes - answer.size_bytes) == len(shown):
                self._add(answer, page, shown, sum(sizes))
        elif not answer.items:
            # No answer can have it: the next one starts after it.
            single = query.limit(1).max_reads(_MOST_READS).after(answer.cursor)
            page = await self.store.run(single)
            answer.cursor, answer.omitted_bytes = page.cursor, sizes[0] if page else 0
        return False

    def _reads_at_once(self, missing: int, reads: int) -> int:
        """Return how many calls to make before units are looked at.

        Within several, the store reads more items with each, if few of them match.
        """
        if not reads:
            return 1 if missing >= _FEW_ITEMS else 2
        mean_units = self.meter.units / reads
        left = self.most_units - self.meter.units
        return _READS_AT_ONCE if mean_units * _READS_AT_ONCE <= left else 1

    async def _run(
        self, query: Query[Any] | Scan[Any], cursor: str | None, limit: int, reads: int = 1
    ) -> Page[Any]:
        return await self.store.run(query.limit(limit).max_reads(reads).after(cursor))

    @staticmethod
    def _add(answer: ListAnswer, page: Page[Any], shown: list[Any], size: int) -> None:
        answer.items += shown
        answer.size_bytes += size
        answer.invalid += len(page.invalid)
        answer.cursor = page.cursor


def measure_bytes(value: Any) -> int:
    """Return how many bytes a JSON value takes, with the comma that follows it."""
    return len(to_text(value).encode("utf-8", "surrogatepass")) + 1


def to_text(value: Any) -> str:
    """Return a JSON value as compact text; integers may have any size."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def count_fitting(sizes: Sequence[int], room: int) -> int:
    """Return how many of the first values fit into some room.

    >>> count_fitting([10, 10, 10], 25), count_fitting([30], 25)
    (2, 0)
    """
    for count, size in enumerate(sizes):
        room -= size
        if room < 0:
            return count
    return len(sizes)
