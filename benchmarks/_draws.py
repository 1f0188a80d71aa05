"""Which orders a measurement uses: never the same ones for two functions in a row."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

from benchmarks._cases import Case
from benchmarks._orders import PER_CUSTOMER, Draw


class Draws:
    """Hands out the orders of a table, each once before any is repeated.

    Functions that shared keys would warm the caches for each other.
    """

    def __init__(self, size: int) -> None:
        customers = size // PER_CUSTOMER
        self._orders = _shuffled(size)
        self._customers = _shuffled(customers)
        self._new_customer = customers
        self._edition = 0
        self._places: dict[int, int] = {}

    def take(self, case: Case, count: int) -> list[Draw]:
        """Return `count` orders of the kind that the case uses."""
        self._edition += 1
        match case.draws:
            case "orders":
                numbers = list(islice(self._orders, count))
            case "customers":
                numbers = [each * PER_CUSTOMER for each in islice(self._customers, count)]
            case "new":
                # One order per customer, so that they are not neighbours.
                first, self._new_customer = self._new_customer, self._new_customer + count
                numbers = [each * PER_CUSTOMER for each in range(first, first + count)]
        if case.moves:
            self._places.update(dict.fromkeys(numbers, self._edition))
        return [Draw(each, self._edition, self._places.get(each, 0)) for each in numbers]


def _shuffled(count: int) -> Iterator[int]:
    deck = list(range(count))
    source = random.Random(count)
    while True:
        source.shuffle(deck)
        yield from deck
