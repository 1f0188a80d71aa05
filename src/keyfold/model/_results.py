"""Results of requests besides entities: pages, and raw items that do not fit an entity."""

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

    Stored items that do not fit the declaration are not among the results but in `invalid`: those
    that fail the validation of their entity, and those that match no entity of the table.
    """

    __slots__ = ("_items", "consumed", "cursor", "invalid", "reads", "scanned")

    def __init__(
        self,
        items: Sequence[T_co],
        *,
        invalid: Sequence[RawItem] = (),
        cursor: str | None = None,
        consumed: float = 0.0,
        scanned: int = 0,
        reads: int = 0,
    ) -> None:
        self._items = tuple(items)
        self.invalid = tuple(invalid)
        self.cursor = cursor
        self.consumed = consumed
        self.scanned = scanned
        self.reads = reads

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
        invalid = f", {len(self.invalid)} invalid" if self.invalid else ""
        more = "" if self.cursor is None else ", more follow"
        return f"<Page of {len(self._items)}{invalid}{more}>"


@dataclass(frozen=True, slots=True)
class RawItem:
    """A stored item that matches no entity, or fails the validation of the entity it matches.

    `reason` says why. `table` is the name of its table; `item` has its attributes in DynamoDB's JSON
    form, `key` its primary key. `entity` is the name of the entity that it matches, None if there
    is none. Pages and collections have them as `invalid`.
    """

    table: str
    key: Item
    item: Mapping[str, AttributeValue] = field(repr=False)
    reason: str
    entity: str | None = None
