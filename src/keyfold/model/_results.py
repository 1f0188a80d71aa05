"""What requests return besides entities: pages, and items that fit no entity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, overload

from keyfold.values import AttributeValue, Item

T_co = TypeVar("T_co", covariant=True)


class Page(Sequence[T_co]):
    """Some of what a query finds, in order.

    `cursor` goes on after it, and is None at the end. `consumed` is the capacity that reading
    it took; `scanned` how many items were read for it.

    In a store with `on_invalid="raw"` there may be a RawItem among them, of which the type says
    nothing: `invalid` has those, and `fit` has the others.
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
        """Those that fit no entity, or fail its validation."""
        return tuple(each for each in self._items if isinstance(each, RawItem))

    @property
    def fit(self) -> tuple[T_co, ...]:
        """Those that are what was asked for."""
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
    """An item that fits no entity, or fits one and fails its validation.

    `reason` says which; `item` is in DynamoDB's form, `key` its primary key. A store that is
    opened with `on_invalid="raw"` returns one in place of the entity, whatever the type of the
    result: look with `isinstance`, or at `Page.invalid`.
    """

    key: Item
    item: Mapping[str, AttributeValue] = field(repr=False)
    reason: str
