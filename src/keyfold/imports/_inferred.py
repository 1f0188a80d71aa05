"""Tables as they are inferred or imported: what the writer of modules makes declarations of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Certainty = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """How sure an inference is of an entity: its items, those that fit, and what else is possible.

    `fitting` counts the items that the declared entity reads, and writes back as they are.
    """

    items: int
    fitting: int
    doubts: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """The share of the items that fit."""
        return self.fitting / self.items if self.items else 0.0

    @property
    def certainty(self) -> Certainty:
        """One word for all of it: many items that all fit, and no doubts, are `high`."""
        if self.share < _FEW_FIT or self.items < _FEW_ITEMS:
            return "low"
        return "medium" if self.doubts or self.items < _MANY_ITEMS or self.share < 1 else "high"

    def to_json(self) -> dict[str, Any]:
        """Return the evidence as a JSON object."""
        return {
            "certainty": self.certainty,
            "items": self.items,
            "fitting": self.fitting,
            "doubts": [*self.doubts],
        }


_FEW_FIT = 0.9
_FEW_ITEMS, _MANY_ITEMS = 3, 10


@dataclass(frozen=True, slots=True)
class InferredField:
    """A field: its name, its type as Python source, and the attribute that stores it.

    A field without an attribute is stored in the key alone. An optional one may be missing;
    `default` is the source of another default.
    """

    name: str
    annotation: str
    attribute: str | None = None
    is_optional: bool = False
    default: str | None = None


@dataclass(frozen=True, slots=True)
class InferredEntity:
    """An entity: its key templates and index templates, with the names of its fields."""

    name: str
    key: tuple[str, ...]
    fields: tuple[InferredField, ...]
    index_keys: Mapping[str, tuple[tuple[str, ...], ...]] = field(
        default_factory=dict[str, tuple[tuple[str, ...], ...]]
    )
    kind: str | None = None
    # Unique fields, each with the name of its guards; None for the default name.
    unique: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    description: str = ""
    is_fallback: bool = False
    # Whether items may have attributes besides the fields.
    has_extra: bool = False
    evidence: Evidence | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the entity as a JSON object."""
        made: dict[str, Any] = {
            "name": self.name,
            "key": [*self.key],
            "fields": [
                {"name": each.name, "type": each.annotation, "attribute": each.attribute}
                for each in self.fields
            ],
        }
        if self.evidence is not None:
            made |= self.evidence.to_json()
        return made


@dataclass(frozen=True, slots=True)
class InferredId:
    """A typed id: a class of ULIDs with a prefix."""

    name: str
    prefix: str
    separator: str = "#"


@dataclass(frozen=True, slots=True)
class InferredIndex:
    """A secondary index: the attributes of its key, and its projection as `Index` takes it."""

    name: str
    partition: tuple[str, ...]
    sort: tuple[str, ...] = ()
    project: str | tuple[str, ...] = "all"
    is_local: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes of the key."""
        return self.partition + self.sort


@dataclass(frozen=True, slots=True)
class InferredTable:
    """A table: its key with the types of attributes, its indexes, settings, ids and entities.

    `settings` are further arguments of `Table`, as Python source. `gaps` say what the source has and
    the declaration lacks. `documented` are the access patterns of the source, in a sentence each.
    """

    name: str
    partition: str
    sort: str | None = None
    key_types: Mapping[str, str] = field(default_factory=dict[str, str])
    indexes: tuple[InferredIndex, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    ids: tuple[InferredId, ...] = ()
    entities: tuple[InferredEntity, ...] = ()
    gaps: tuple[str, ...] = ()
    documented: tuple[str, ...] = ()

    @property
    def key_names(self) -> tuple[str, ...]:
        """The attributes of the key."""
        return (self.partition,) if self.sort is None else (self.partition, self.sort)

    def is_filled(self, index: InferredIndex) -> bool:
        """Return whether an entity has all attributes of an index key."""
        return any(
            index.name in entity.index_keys
            or {*index.names} <= {*self.key_names, *(each.attribute for each in entity.fields)}
            for entity in self.entities
        )

    def with_entities(self, *entities: InferredEntity) -> InferredTable:
        """Return the table with other entities."""
        return replace(self, entities=entities)

    def to_json(self) -> dict[str, Any]:
        """Return the table as a JSON object."""
        return {
            "name": self.name,
            "key": [*self.key_names],
            "indexes": [{"name": each.name, "key": [*each.names]} for each in self.indexes],
            "entities": [each.to_json() for each in self.entities],
            "gaps": [*self.gaps],
        }
