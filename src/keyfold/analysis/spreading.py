"""An order in which the first few of a list stand for all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def spread(ordered: Sequence[T]) -> list[T]:
    """Return a sorted list in an order of which every beginning is spread evenly over the list.

    Means over such a beginning come close to the mean of the whole much sooner than those of a
    random choice. The places are those of the van der Corput sequence: numbers with their bits
    reversed.

    >>> spread("abcdefgh")
    ['a', 'e', 'c', 'g', 'b', 'f', 'd', 'h']
    """
    bits = max(1, (len(ordered) - 1).bit_length())
    places = (int(f"{number:0{bits}b}"[::-1], 2) for number in range(1 << bits))
    return [ordered[place] for place in places if place < len(ordered)]
