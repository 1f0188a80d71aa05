"""Sizes and depths of the values that an update computes: each part is measured once.

Forty changes may append a list of the item to itself, and each result has the elements of the item. So
elements are remembered by their identity. The caller keeps every value that it has measured.
"""

from __future__ import annotations

from keyfold.values import AttributeValue, text_size_bytes, value_size_bytes
from keyfold.values.sizes import CONTAINER_BYTES, ELEMENT_BYTES


class ValueMeasures:
    """Measures the values of one update.

    >>> measures = ValueMeasures()
    >>> value = {"L": [{"S": "ab"}, {"M": {"c": {"L": []}}}]}
    >>> measures.size_bytes(value) == value_size_bytes(value), measures.levels(value)
    (True, 3)
    """

    __slots__ = ("_levels", "_sizes")

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        self._levels: dict[int, int] = {}

    def size_bytes(self, value: AttributeValue) -> int:
        """Return the size of a value, as `value_size_bytes` does."""
        self._measure(value)
        return self._sizes[id(value)]

    def levels(self, value: AttributeValue) -> int:
        """Return how many lists and maps are inside of each other; 0 for other values."""
        self._measure(value)
        return self._levels[id(value)]

    def _measure(self, value: AttributeValue) -> None:
        if id(value) in self._sizes:
            return
        levels = 0
        elements = value.get("L")
        members = value.get("M")
        if elements is not None:
            size = CONTAINER_BYTES + ELEMENT_BYTES * len(elements)
        elif members is not None:
            elements = list(members.values())
            size = CONTAINER_BYTES + ELEMENT_BYTES * len(elements)
            size += sum(map(text_size_bytes, members))
        else:
            size = value_size_bytes(value)
        if elements is not None:
            known = self._sizes
            try:
                size += sum(map(known.__getitem__, map(id, elements)))
            except KeyError:
                for element in elements:
                    self._measure(element)
                size += sum(map(known.__getitem__, map(id, elements)))
            levels = 1 + max(map(self._levels.__getitem__, map(id, elements)), default=0)
        self._sizes[id(value)], self._levels[id(value)] = size, levels
