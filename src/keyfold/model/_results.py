"""Results of requests besides entities: pages, and raw items that match no entity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, overload

from keyfold.values import AttributeValue, Item

T_co = TypeVar("T_co", covariant=True)


class Page(Sequence[T_co]):
    """One page of the results of a query or scan, in order.

    For pagination, pass `cursor` to `after` of the same query to get the next page; it is None on
    the last page. `consumed` is the read capacity that the page consumed, `scanned` the number of
    items that were read for it, and `reads` the number of API calls.

    In a store with `on_invalid="raw"`, a page may contain RawItem values, which its type does not
    show: `invalid` returns those, and `valid` the others.
    """

    __slots__ = ("_items", "consumed", "cursor", "reads", "scanned")

    def __init__(
        self,
        items: Sequence[T_co],
        *,
        cursor: str | None = None,
        consumed: float = 0.0,
        scanned: int = 0,
        reads: int = 0,
    ) -> None:
        self._items = tuple(items)
        self.cursor = cursor
        self.consumed = consumed
        self.scanned = scanned
        self.reads = reads

    @property
    def invalid(self) -> tuple[RawItem, ...]:
        """The items that match no entity or fail its validation."""
        return tuple(each for each in self._items if isinstance(each, RawItem))

    @property
    def valid(self) -> tuple[T_co, ...]:
        """The valid results: all but those in `invalid`."""
        return tuple(each for each in self._items if not isinstance(each, RawItem))

    @overload
    def __getitem__(self, index: int) -> T_co: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[T_co]: ...

    def __getitem__(self, index: int | slice) -> T_co | Sequence[T_co]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T_co]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Page):
            return self._items == tuple(other) and self.cursor == other.cursor  # pyright: ignore[reportUnknownArgumentType] - of anything
        return self._items == other or list(self._items) == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        more = "" if self.cursor is None else ", more follow"
        return f"<Page of {len(self._items)}{more}>"


@dataclass(frozen=True, slots=True)
class RawItem:
    """A stored item that matches no entity, or fails the validation of the entity it matches.

    `reason` says why. `item` has its attributes in DynamoDB's JSON form, `key` its primary key. A
    store opened with `on_invalid="raw"` returns one in place of the entity, whatever the declared
    type of the result: check with `isinstance`, or use `Page.invalid`.
    """

    key: Item
    item: Mapping[str, AttributeValue] = field(repr=False)
    reason: str
