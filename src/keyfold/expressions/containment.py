"""`contains` for lists: whether one has an element of any type.

A list is compared element by element, in C if possible. An expression may ask for three hundred
elements of one list, and a list may have four hundred thousand, so a list that is asked for more than
a few is indexed once for each item: the elements as hashable objects, in a set.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from keyfold.expressions.comparison import SET_TYPES, are_equal, contains_set, has_element
from keyfold.values import AttributeValue

# From this many questions about a list on, indexing it costs less than comparing its elements.
FEW_QUESTIONS = 8

_State = tuple[list[AttributeValue] | None, int, frozenset[Hashable] | None]
_NO_LIST: _State = (None, 0, None)


def to_hashable(value: AttributeValue) -> Hashable:
    """Return an object that equals that of another value exactly if the values are equal.

    >>> to_hashable({"SS": ["a", "b"]}) == to_hashable({"SS": ["b", "a"]})
    True
    """
    for kind, data in value.items():
        if kind in SET_TYPES:
            return kind, frozenset(data)
        if kind == "L":
            return kind, tuple(map(to_hashable, data))
        if kind == "M":
            return kind, frozenset([(name, to_hashable(member)) for name, member in data.items()])
        return kind, data
    raise AssertionError


class ConstantList:
    """The elements of a list in a request, to be asked for many items."""

    def __init__(self, elements: list[AttributeValue]) -> None:
        self._elements = frozenset(map(to_hashable, elements))

    def has(self, element: AttributeValue) -> bool:
        """Return whether the list has an element that equals this one."""
        return to_hashable(element) in self._elements


class AskedPath:
    """A path that is the first operand of one or more calls of `contains`."""

    __slots__ = ("_hashed", "_state", "calls")

    def __init__(self) -> None:
        # How many calls there are.
        self.calls = 0
        # The list found last, how often it was asked, and its index. Replaced as a whole: several
        # threads may evaluate one condition.
        self._state = _NO_LIST
        # The elements that an index was asked for, by identity; held, so that no other gets it.
        self._hashed: dict[int, tuple[AttributeValue, Hashable]] = {}

    def has(self, container: AttributeValue, element: AttributeValue) -> bool:
        """Return whether `contains(container, element)` holds."""
        elements: Any = container.get("L")
        if elements is None:
            return has_element(container, element)
        if self.calls > FEW_QUESTIONS:
            found, questions, index = self._state
            if found is not elements:
                questions, index = 0, None
            if questions >= FEW_QUESTIONS:
                index = frozenset(map(to_hashable, elements)) if index is None else index
                self._state = (elements, questions, index)
                hashed = self._hashed.get(id(element))
                if hashed is None:
                    hashed = self._hashed[id(element)] = (element, to_hashable(element))
                return hashed[1] in index
            self._state = (elements, questions + 1, index)
        if contains_set(element):
            return any(are_equal(member, element) for member in elements)
        return element in elements

    def forget(self) -> None:
        """Drop the list found last, and what it was asked for."""
        self._state = _NO_LIST
        self._hashed = {}
