"""Comparisons that an expression repeats: made once for each item.

Comparing two lists takes as long as they are. An expression may compare the same two three hundred times
over, and a transaction may have a hundred such expressions. Comparisons of different values cost no more
than their bytes, which the request had to bring along.
"""

from __future__ import annotations

from collections.abc import Callable

from keyfold.values import Item

_State = tuple[Item | None, bool]
_NOTHING: _State = (None, False)


class RepeatedComparison:
    """A comparison that several operators of one expression make."""

    __slots__ = ("_compare", "_state")

    def __init__(self, compare: Callable[[Item], bool]) -> None:
        self._compare = compare
        # The item found last, and its result. Replaced as a whole: several threads may evaluate one
        # condition.
        self._state = _NOTHING

    def holds(self, item: Item) -> bool:
        """Return whether the comparison holds for an item."""
        known, result = self._state
        if known is not item:
            result = self._compare(item)
            self._state = (item, result)
        return result

    def forget(self) -> None:
        """Drop the item found last."""
        self._state = _NOTHING
