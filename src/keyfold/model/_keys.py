"""Declarations of keys, indexes and shards."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, Protocol

from keyfold.errors import NotPicklable, QueryInvalid
from keyfold.model._declared_at import SourcePlace, find_caller
from keyfold.model._pickling import Reduced, find_index
from keyfold.values import AttributeValue

KeyType = Literal["S", "N", "B"]
Projection = Literal["all", "keys"] | Sequence[str]


@dataclass(frozen=True)
class Key:
    """The attributes of a table's or index's key: the partition key, and optionally a sort key.

    >>> Key("pk", "sk").names
    ('pk', 'sk')
    >>> Key(("country", "city"), "zip").partition
    ('country', 'city')

    In a global index, each of the two may have up to four attributes. An attribute holds text
    unless the field stored under its name is a number or bytes. `types` gives the types of
    attributes that no field is stored under.
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
        """The names of all attributes, partition key first."""
        return self.partition + self.sort


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


@dataclass(frozen=True, eq=False)
class Index:
    """A secondary index of a table: global, or `local`, with the table's partition key.

    `project` is the projection, the attributes that are copied into the index: `"all"`, `"keys"`,
    or the names of attributes in addition to the keys. An index is sparse: it contains only items
    that have all attributes of its key. `lint_ignore` has the codes of lint rules that do not
    apply to it, with the reasons.
    """

    name: str
    key: Key
    project: Projection = "all"
    local: bool = False
    lint_ignore: Mapping[str, str] = field(default_factory=dict[str, str])
    # Where it is declared.
    declared_at: SourcePlace = field(init=False)

    def __init__(
        self,
        name: str,
        *,
        key: Key,
        project: Projection = "all",
        local: bool = False,
        lint_ignore: Mapping[str, str] | None = None,
    ) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "key", key)
        kept = project if isinstance(project, str) else tuple(project)
        object.__setattr__(self, "project", kept)
        object.__setattr__(self, "local", local)
        object.__setattr__(self, "lint_ignore", dict(lint_ignore or {}))
        object.__setattr__(self, "declared_at", find_caller())

    def __repr__(self) -> str:
        return f"Index({self.name!r})"

    def belong_to(self, table: TableLike) -> None:
        """Record a table that has the index, by which the index is pickled."""
        object.__setattr__(self, "_table", table)

    def __reduce__(self) -> Reduced:
        """Pickle by reference; raises NotPicklable for an index of no table."""
        table = getattr(self, "_table", None)
        if table is None:
            raise NotPicklable(repr(self), "no table has it", "List it in a table's indexes.")
        return find_index, (table, self.name)

    def find_unprojected(self, table: TableLike, names: Iterable[str]) -> list[str]:
        """Return those of the attribute `names` that are not projected into the index."""
        if self.project == "all":
            return []
        projected = {*table.key.names, *self.key.names}
        if self.project != "keys":
            projected.update(self.project)
        return [name for name in names if name not in projected]

    def to_dynamodb(self) -> dict[str, Any]:
        """Return the index's definition for CreateTable."""
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
    """The part of a table that requests and entities need."""

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
    def entities(self) -> Mapping[str, Any]:
        """The schemas of its entities, by name."""
        ...

    @property
    def ttl(self) -> str | None:
        """The attribute with the time at which an item expires; None if items do not expire."""
        ...

    @property
    def fallback(self) -> Any:
        """The schema of the entity of items that match no other entity; None if there is none."""
        ...

    def find_sharing(self, schema: Any) -> tuple[Any, ...]:
        """Return the schemas of the other entities that can have the keys of this one."""
        ...


@dataclass(frozen=True, slots=True)
class Shard:
    """A group of partitions with a common key template, such as the orders of each user."""

    template: str
    name: str


def identify(table: str, key: Mapping[str, AttributeValue]) -> Hashable:
    """Return a hashable identity of an item, equal for all ways to write the numbers in its key."""
    return table, *(
        (name, kind, Decimal(data) if kind == "N" and "{" not in data else data)
        for name, value in sorted(key.items())
        for kind, data in value.items()
    )


def check_index(table: TableLike, index: Index) -> Index:
    """Return an index if it belongs to the table; raises QueryInvalid if it does not."""
    if not any(each is index for each in table.indexes):
        known = ", ".join(each.name for each in table.indexes) or "none"
        fact = f"it has no index {getattr(index, 'name', index)!r}"
        raise QueryInvalid(table.name, fact, f"It has {known}.")
    return index


def key_schema(key: Key) -> list[dict[str, str]]:
    """Return the KeySchema of a key."""
    return [
        *({"AttributeName": name, "KeyType": "HASH"} for name in key.partition),
        *({"AttributeName": name, "KeyType": "RANGE"} for name in key.sort),
    ]
