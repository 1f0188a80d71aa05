"""Reads of one item by its key, the form in which reads return items, and references to items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Self, TypeVar, cast

from pydantic import BaseModel

from keyfold.errors import QueryInvalid
from keyfold.expressions import RequestPrinter
from keyfold.model._formatting import show_item
from keyfold.model._keys import Index, TableLike
from keyfold.model._replacing import replace
from keyfold.model._requests import SingleRequest, SingleResult, resolve_now
from keyfold.model._schemas import EntitySchema
from keyfold.values import Item

V_co = TypeVar("V_co", covariant=True)
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ResultShape(Generic[V_co]):
    """The form in which a read returns items.

    `schema` is the entity to return, None for every entity of the table. `only` is a model with
    a subset of its fields (a projection). With `as_refs`, each item is returned as a Ref.
    """

    schema: EntitySchema | None
    only: type[BaseModel] | None = None
    as_refs: bool = False

    def projection(self, table: TableLike, index: Index | None) -> tuple[str, ...] | None:
        """Return the names of the attributes to read (the projection); None for all.

        An entity with an `upgrade` is read whole, because the upgrade may need any attribute.
        """
        if self.schema is None or self.schema.upgrade is not None:
            return None
        return self.attributes(table, index)

    def attributes(self, table: TableLike, index: Index | None) -> tuple[str, ...] | None:
        """Return the names of the attributes that the result is made of; None for all."""
        if self.only is None or self.schema is None:
            return None
        wanted = [
            self.schema.fields[name].stored
            for name in self.only.__pydantic_fields__
            if name in self.schema.fields and not self.schema.fields[name].is_part
        ]
        keys = [*table.key.names, *(index.key.names if index else ())]
        # Needed to tell whether an item has expired and which entity it is, if the index has them.
        internal = [table.ttl, self.schema.type_attribute and self.schema.type_attribute[0]]
        extra = [name for name in internal if name is not None]
        extra += self.former_names
        # Fields that are read by the key if the index does not have their attributes.
        optional = self.schema.recoverable_attributes.union(extra)
        missing = set[str]() if index is None else {*index.find_unprojected(table, optional)}
        return tuple(
            each for each in dict.fromkeys([*keys, *wanted, *extra]) if each not in missing
        )

    @property
    def former_names(self) -> list[str]:
        """The former names of the attributes that a projection reads; an index may lack them."""
        if self.only is None or self.schema is None or not self.schema.codec.renamed:
            return []
        wanted = self.only.__pydantic_fields__
        renamed = [each for each in self.schema.codec.renamed if each.name in wanted]
        return [name for each in renamed for name in each.former]

    def __str__(self) -> str:
        name = "items" if self.schema is None else self.schema.name
        if self.only is not None:
            return f"{self.only.__name__} of {name}"
        return f"refs of {name}" if self.as_refs else name


def check_only(schema: EntitySchema | None, model: type[BaseModel]) -> None:
    """Raise QueryInvalid if a model has a field that the entity does not have."""
    if schema is None:
        raise QueryInvalid(model.__name__, "only() needs an entity", "Query a single entity.")
    unknown = [name for name in model.__pydantic_fields__ if name not in schema.fields]
    if unknown:
        fact = f"{schema.name} has no field {unknown[0]!r}"
        raise QueryInvalid(model.__name__, fact, f"Its fields are {', '.join(schema.fields)}.")


@dataclass(frozen=True, slots=True)
class Get(SingleRequest[V_co | None], SingleResult[V_co], Generic[V_co]):
    """A request that reads one entity by its primary key; returns None if there is none."""

    table: TableLike
    key: Item
    shape: ResultShape[Any]
    # The field values that the key was made from, so that the store need not parse the key.
    known: Mapping[str, Any] | None = field(default=None, compare=False)
    is_consistent: bool = False
    includes_expired: bool = False

    operation = "GetItem"

    def consistent(self) -> Self:
        """Use a strongly consistent read, which sees every write acknowledged before it.

        It consumes twice the read capacity.
        """
        return replace(self, is_consistent=True)

    def include_expired(self) -> Self:
        """Return the entity even if it has expired, as long as it is still stored."""
        return replace(self, includes_expired=True)

    def only(self, model: type[M]) -> Get[M]:
        """Read a projection: only the fields of `model`, and return it instead of the entity."""
        check_only(self.shape.schema, model)
        return replace(self, shape=replace(self.shape, only=model))  # type: ignore[return-value]

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the GetItem request."""
        request: dict[str, Any] = {"TableName": self.table.name, "Key": self.key}
        if self.is_consistent:
            request["ConsistentRead"] = True
        names = None if self.shape.only is None else self.shape.projection(self.table, None)
        if names is not None:
            printer = RequestPrinter(resolve_now(now))
            request["ProjectionExpression"] = ", ".join(map(printer.write_name, names))
            printer.add_to(request)
        return request

    def __repr__(self) -> str:
        return f"<Get {self.shape} {show_item(self.key)}>"


@dataclass(frozen=True, slots=True)
class Ref(Generic[V_co]):
    """A reference to an entity: its key without its other fields, as from a keys-only index.

    The fields that make up the key are available as attributes and as members. Use a member,
    such as `ref["key"]`, for a field named `entity`, `key`, `parts` or `get`.
    """

    entity: type[V_co]
    key: Item
    parts: Mapping[str, Any]

    def get(self) -> Get[V_co]:
        """Return a request that reads the whole entity."""
        schema: EntitySchema = cast(Any, self.entity).keyfold_schema()
        return Get(schema.table, self.key, ResultShape(schema))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self.parts:
            raise AttributeError(self._unknown_field_message(name))
        return self.parts[name]

    def __getitem__(self, name: str) -> Any:
        if name not in self.parts:
            raise KeyError(self._unknown_field_message(name))
        return self.parts[name]

    def _unknown_field_message(self, name: str) -> str:
        known = ", ".join(self.parts)
        return f"Ref[{self.entity.__name__}] has {known}; fetch the entity for {name!r}."
