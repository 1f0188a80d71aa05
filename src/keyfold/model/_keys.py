"""Keys and indexes as a table declares them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, Protocol

from keyfold.values import AttributeValue

KeyType = Literal["S", "N", "B"]
Projection = Literal["all", "keys"] | Sequence[str]


@dataclass(frozen=True)
class Key:
    """The attributes of a primary key, or of an index's: partition, and maybe sort.

    >>> Key("pk", "sk").names
    ('pk', 'sk')
    >>> Key(("country", "city"), "zip").partition
    ('country', 'city')

    A global index may have up to four attributes on each side. Attributes hold text unless the
    fields stored under their names are numbers or bytes; `types` says so where no field does.
    """

    partition: tuple[str, ...]
    sort: tuple[str, ...] = ()
    types: Mapping[str, KeyType] = field(default_factory=dict[str, KeyType], compare=False)

    def __init__(
        self,
        partition: str | Sequence[str],
        sort: str | Sequence[str] | None = None,
        *,
        types: Mapping[str, KeyType] | None = None,
    ) -> None:
        object.__setattr__(self, "partition", _names(partition))
        object.__setattr__(self, "sort", () if sort is None else _names(sort))
        object.__setattr__(self, "types", dict(types or {}))

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, partition first."""
        return self.partition + self.sort


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


@dataclass(frozen=True, eq=False)
class Index:
    """A second way to find a table's items.

    `project` says what of an item is in the index: `"all"`, `"keys"`, or the stored names of
    the attributes that are there besides the keys. A `local` index shares the table's
    partition key.
    """

    name: str
    key: Key
    project: Projection = "all"
    local: bool = False

    def __init__(
        self, name: str, *, key: Key, project: Projection = "all", local: bool = False
    ) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "key", key)
        kept = project if isinstance(project, str) else tuple(project)
        object.__setattr__(self, "project", kept)
        object.__setattr__(self, "local", local)

    def __repr__(self) -> str:
        return f"Index({self.name!r})"

    def find_lacking(self, table: TableLike, names: Iterable[str]) -> list[str]:
        """Return those of the stored names that the index does not hold of its items."""
        if self.project == "all":
            return []
        held = {*table.key.names, *self.key.names}
        if self.project != "keys":
            held.update(self.project)
        return [name for name in names if name not in held]

    def to_dynamodb(self) -> dict[str, Any]:
        """Return the index as CreateTable takes it."""
        match self.project:
            case "all":
                projection: dict[str, Any] = {"ProjectionType": "ALL"}
            case "keys":
                projection = {"ProjectionType": "KEYS_ONLY"}
            case names:
                projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(names)}
        return {
            "IndexName": self.name,
            "KeySchema": key_schema(self.key),
            "Projection": projection,
        }


class TableLike(Protocol):
    """What requests and entities know of their table."""

    @property
    def name(self) -> str:
        """The table's name."""
        ...

    @property
    def key(self) -> Key:
        """Its primary key."""
        ...

    @property
    def indexes(self) -> tuple[Index, ...]:
        """Its indexes."""
        ...

    @property
    def ttl(self) -> str | None:
        """The attribute by which its items expire."""
        ...


@dataclass(frozen=True, slots=True)
class Shard:
    """Partitions that belong together, such as all of one user's orders."""

    template: str
    name: str


def identify(table: str, key: Mapping[str, AttributeValue]) -> Hashable:
    """Return what one item has and no other: equal for all ways to write its key."""
    return table, *(
        (name, kind, Decimal(data) if kind == "N" and "{" not in data else data)
        for name, value in sorted(key.items())
        for kind, data in value.items()
    )


def key_schema(key: Key) -> list[dict[str, str]]:
    """Return a key as the API takes it."""
    return [
        *({"AttributeName": name, "KeyType": "HASH"} for name in key.partition),
        *({"AttributeName": name, "KeyType": "RANGE"} for name in key.sort),
    ]
