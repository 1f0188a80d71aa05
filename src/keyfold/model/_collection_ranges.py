"""The one range of sort keys that holds all members of a collection, and what it can leave out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import NamedTuple

from keyfold.keys._shapes import find_end
from keyfold.model._moments import SAMPLE_TIME
from keyfold.model._ranges import KeyState, PartRange, SortRange


class Extent(NamedTuple):
    """The least and the greatest sort key that a member can have; None if there is no such limit."""

    low: str | None
    high: str | None

    def is_below(self, other: Extent) -> bool:
        """Return whether all keys in this extent sort before all keys in another.

        True if that depends on the value of a placeholder.
        """
        return self.high is not None and other.low is not None and _precedes(self.high, other.low)


def _precedes(text: str, other: str) -> bool:
    for mine, theirs in zip_longest(text, other, fillvalue=""):
        if mine != theirs:
            # A placeholder is shown in braces; where its value begins, the order is unknown.
            return "{" in (mine, theirs) or mine < theirs
    return False


def extent_of(keys: KeyState, attribute: str, now: datetime) -> Extent:
    """Return the extent of the sort keys that a key condition allows."""
    for name, value in keys.equals:
        if name == attribute:
            text = value.get("S")
            return Extent(text, text)
    if keys.range is None:
        return Extent(None, None)
    limits = keys.range.resolve(now)
    if limits.prefix is not None:
        prefix = limits.prefix.get("S")
        return Extent(prefix, None if prefix is None else find_end(prefix))
    low, high = (None if end is None else end.get("S") for end in (limits.low, limits.high))
    return Extent(low, high)


@dataclass(frozen=True, slots=True)
class JointRange:
    """The least range of sort keys that holds all members of a collection."""

    attribute: str
    members: tuple[KeyState, ...]

    def resolve(self, now: datetime) -> SortRange:
        """Return the range for a request that runs at `now`."""
        extents = [extent_of(each, self.attribute, now) for each in self.members]
        lows = [each.low for each in extents]
        highs = [each.high for each in extents]
        low = None if None in lows else min(each for each in lows if each is not None)
        high = None if None in highs else max(each for each in highs if each is not None)
        ends = [None if each is None else {"S": each} for each in (low, high)]
        return SortRange(self.attribute, *ends)

    def __str__(self) -> str:
        moving = [str(each.range) for each in self.members if isinstance(each.range, PartRange)]
        return " or ".join(moving) if moving else str(self.resolve(SAMPLE_TIME))


def join_ranges(
    attribute: str, members: Sequence[KeyState], *, is_exact: bool
) -> SortRange | JointRange | None:
    """Return a range that holds all members; None if it is the whole partition.

    It is the prefix that their keys share or, if `is_exact`, the least range.
    """
    if is_exact:
        joint = JointRange(attribute, tuple(members))
        resolved = joint.resolve(SAMPLE_TIME)
        return None if resolved.low is None and resolved.high is None else joint
    extents = [extent_of(each, attribute, SAMPLE_TIME) for each in members]
    shared = _common_prefix([each.low or "" for each in extents])
    return SortRange(attribute, prefix={"S": shared}) if shared else None


def _common_prefix(texts: list[str]) -> str:
    least, greatest = min(texts), max(texts)
    if greatest.startswith(least):
        return least
    length = next(
        (
            position
            for position, (mine, theirs) in enumerate(zip(least, greatest, strict=False))
            if mine != theirs
        ),
        min(len(least), len(greatest)),
    )
    return least[:length]
