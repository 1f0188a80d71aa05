"""Zipf distributions: how calls are distributed over keys."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Callable
from math import log
from typing import NamedTuple

# The most used keys are simulated one by one; so many others stand for all the rest.
HEAD_KEYS, TAIL_KEYS = 40, 120
# If there are no more keys than that, all of them are.
ONE_BY_ONE = HEAD_KEYS + TAIL_KEYS
# Those that stand for others are chosen among several times as many.
_CANDIDATES = 4


class KeyShares(NamedTuple):
    """Ranks of keys, and the share of calls that uses each; from `rest` on, they stand for others."""

    ranks: list[int]
    shares: list[float]
    rest: int


def spread(
    keys: float,
    skew: float,
    draw: random.Random,
    place_of: Callable[[int], float] = lambda rank: 0.0,  # noqa: ARG005 - any place
) -> KeyShares:
    """Return how a Zipf distribution spreads calls over keys.

    The most used keys are there one by one. If there are many, others stand for the rest; their
    places (from 0 to 1) are spread evenly.

    >>> found = spread(4, 1.0, random.Random(0))
    >>> found.ranks, [round(share, 2) for share in found.shares]
    ([0, 1, 2, 3], [0.48, 0.24, 0.16, 0.12])
    """
    count = max(1, round(keys))
    head = count if count <= ONE_BY_ONE else HEAD_KEYS
    weights = [(rank + 1) ** -skew for rank in range(head)]
    ranks = list(range(head))
    if head < count:
        candidates = [draw.randrange(head, count) for _ in range(_CANDIDATES * TAIL_KEYS)]
        ranks += _choose_evenly(candidates, place_of)
        weights += [_sum_weights(head, count, skew) / TAIL_KEYS] * TAIL_KEYS
    total = sum(weights)
    return KeyShares(ranks, [weight / total for weight in weights], head)


def _choose_evenly(candidates: list[int], place_of: Callable[[int], float]) -> list[int]:
    """Return the candidates that are nearest to evenly spread places."""
    placed = sorted((place_of(rank), rank) for rank in candidates)
    places = [place for place, _ in placed]
    chosen: list[int] = []
    for number in range(TAIL_KEYS):
        target = (number + 0.5) / TAIL_KEYS
        at = bisect_left(places, target)
        near = [each for each in (at - 1, at) if 0 <= each < len(placed)]
        chosen.append(placed[min(near, key=lambda each: abs(places[each] - target))][1])
    return chosen


def _sum_weights(first: int, count: int, skew: float) -> float:
    """Return the sum of the weights from a rank on, by the integral."""
    low, high = first + 0.5, count + 0.5
    if skew == 1:
        return log(high / low)
    return (high ** (1 - skew) - low ** (1 - skew)) / (1 - skew)
