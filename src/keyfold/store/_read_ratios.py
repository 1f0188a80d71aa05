"""How many items queries read for each that they return, so that the next page takes one call.

Items of other entities may lie between those of a query: the lines of an order between the orders. Only
their keys tell them apart, which a filter of DynamoDB cannot, so they are read and skipped. A page that
was filled tells how many items it took.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

# The greatest Limit of a call, unless more items are wanted.
MAX_LIMIT = 1_000

# How many kinds of pages are remembered.
_REMEMBERED = 256
# A call reads at most this many times as many items as a page has. Where it takes more, further calls
# follow.
_MAX_RATIO = 10.0
# How much more than the least that was seen of late a call may read. What it reads too much costs
# capacity, so this is as much as calls for the rest of a page may.
_MARGIN = 1.25
# By how much what was seen is forgotten with each page.
_FADE = 1.1
_ROUND_UP = 1 - 1e-6


class _Seen(NamedTuple):
    """The least and the greatest ratio that was seen of late, and the one to read by."""

    low: float
    high: float
    ratio: float


class ReadRatios:
    """Remembers ratios of items read to items returned, by the kind of page.

    A store of a principal has its own: by the capacity that calls consume, a caller could tell what
    those of others have found.

    >>> ratios = ReadRatios()
    >>> ratios.suggest_limit("last orders", 10)
    10
    >>> ratios.note("last orders", read=50, returned=10)
    >>> ratios.suggest_limit("last orders", 10)
    50
    """

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[Hashable, _Seen] = {}

    def suggest_limit(self, kind: Hashable, wanted: int) -> int:
        """Return how many items to read for a page of `wanted`, at least as many."""
        seen = self._seen.get(kind)
        if seen is None:
            return wanted
        # Rounded up, except for what is there by the arithmetic alone: ten times 1.1 is more than 11.
        limit = int(wanted * seen.ratio + _ROUND_UP)
        return wanted if limit < wanted else limit if limit < MAX_LIMIT else max(wanted, MAX_LIMIT)

    def note(self, kind: Hashable, *, read: int, returned: int) -> None:
        """Remember how many items were read until the last that a page returns."""
        seen = self._seen.get(kind)
        if seen is None:
            # Most queries read nothing else than they return, and need no memory.
            if read == returned:
                return
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
        low = high = found = read / returned
        if seen is not None:
            if seen.low == found == seen.high:
                return
            # The least falls at once and rises slowly: reading too little costs a call, and reading too
            # much may cost any number of units.
            low, high = min(found, seen.low * _FADE), max(found, seen.high / _FADE)
        self._seen[kind] = _Seen(low, high, min(high, low * _MARGIN, _MAX_RATIO))
