"""What keys are made of: the parts of each entity's key in a table and its indexes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from keyfold.analysis.samples import fallback_last
from keyfold.keys import Ulid
from keyfold.keys._annotations import find_type
from keyfold.model import Index, Table
from keyfold.model._key_parts import KeyPart
from keyfold.model._schemas import EntitySchema

# Names of fields that hold a period of time, whatever their type.
_PERIODS = frozenset({"date", "day", "hour", "minute", "month", "quarter", "week", "year"})


@dataclass(frozen=True, slots=True)
class EntityKey:
    """The key of an entity in a table (no index) or in one of its indexes."""

    schema: EntitySchema
    index: Index | None
    partition: tuple[KeyPart, ...]
    sort: tuple[KeyPart, ...]

    @property
    def where(self) -> str:
        """The table or the index, for a sentence."""
        return "the table" if self.index is None else f"index {self.index.name}"

    @property
    def partition_text(self) -> str:
        """The partition key as it is declared."""
        return ", ".join(map(show_part, self.partition))

    @property
    def partition_fields(self) -> tuple[str, ...]:
        """The fields that the partition key is made from."""
        return tuple(name for part in self.partition for name in part.fields)

    @property
    def sort_fields(self) -> tuple[str, ...]:
        """The fields that the sort key is made from."""
        return tuple(name for part in self.sort for name in part.fields)

    def kind_of(self, field: str) -> Any:
        """Return the type of one of the entity's fields."""
        return find_type(self.schema.fields[field].annotation)


def list_keys(table: Table) -> Iterator[EntityKey]:
    """Yield the keys of all entities: in the table, and in every index that they can be in.

    Those of the fallback come last, since any key is like them.
    """
    for schema in fallback_last(table):
        yield EntityKey(schema, None, (schema.partition,), schema.keys[1:])
        for index in table.indexes:
            for parts in schema.index_alternatives.get(index.name, ()):
                count = len(index.key.partition)
                yield EntityKey(schema, index, parts[:count], parts[count:])


def show_part(part: KeyPart) -> str:
    """Return a key part as it is declared: its template, or the field that it is."""
    if part.template is not None:
        return part.template.text
    return f"{{{', '.join(part.fields)}}}" if part.fields else part.attribute


def is_choice(kind: Any) -> bool:
    """Return whether a type has a few values that are known in advance."""
    if get_origin(kind) is Literal or kind is bool:
        return True
    return isinstance(kind, type) and issubclass(kind, Enum)


def is_time(key: EntityKey, field: str) -> bool:
    """Return whether a field holds a time, a date, or a part of one such as a year."""
    kind = key.kind_of(field)
    is_date = isinstance(kind, type) and issubclass(kind, date)
    return is_date or (field in _PERIODS and kind in (str, int))


def grows_with_time(key: EntityKey, field: str) -> bool:
    """Return whether new values of a field are greater than all before: times and typed ids."""
    kind = key.kind_of(field)
    return isinstance(kind, type) and issubclass(kind, Ulid | date)


def count_choices(kind: Any) -> int:
    """Return how many values a type with a few values has."""
    if kind is bool:
        return 2
    return len(get_args(kind) if get_origin(kind) is Literal else list(kind))
