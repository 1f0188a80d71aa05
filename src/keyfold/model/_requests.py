"""Requests as values: what is asked of one table, not yet by whom or when."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Generic, Self, TypeVar, cast

from pydantic import BaseModel

from keyfold.errors import QueryInvalid
from keyfold.model._expressions import (
    Condition,
    ExpressionWriter,
    check_condition,
    join,
    names_in,
)
from keyfold.model._keys import Index, TableLike
from keyfold.model._placeholders import Placeholder
from keyfold.model._ranges import KeyState, PartRange, SortRange, make_prefix, make_range
from keyfold.model._results import Page
from keyfold.model._schemas import EntitySchema, KeyPart
from keyfold.model._showing import show_item
from keyfold.values import Item

V_co = TypeVar("V_co", covariant=True)
W = TypeVar("W")
M = TypeVar("M", bound=BaseModel)


class Request(ABC, Generic[V_co]):
    """Something that a store can be asked; running it gives a `V_co`."""

    __slots__ = ()

    @property
    @abstractmethod
    def tables(self) -> tuple[TableLike, ...]:
        """The tables that it concerns."""

    @abstractmethod
    def to_dynamodb(self, *, now: datetime | None = None) -> Any:
        """Return the request as DynamoDB takes it, for a moment at which it runs.

        Of a request that is several calls, those that are known before any answer.
        """

    def map(self, make: Callable[[V_co, datetime], W]) -> Mapped[W]:
        """Make something of the answer, and of the moment at which the request runs."""
        return Mapped(self, make)


class SingleRequest(Request[V_co]):
    """A request that is one call of DynamoDB's API."""

    __slots__ = ()

    operation: str
    table: TableLike

    @property
    def tables(self) -> tuple[TableLike, ...]:
        return (self.table,)

    @abstractmethod
    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the request as DynamoDB takes it, for a moment at which it runs."""


def check_paged(request: object) -> None:
    """Raise QueryInvalid for what has no pages to walk."""
    if not isinstance(request, PagedRead):
        fact = f"{request!r:.80} has no pages"
        raise QueryInvalid("iterate()", fact, "Give a query or a scan, or run() it.")


def moment_of(given: datetime | None) -> datetime:
    """Return the moment for which a request is shown."""
    return datetime.now(UTC) if given is None else given


# Reading.


@dataclass(frozen=True, slots=True)
class ResultShape(Generic[V_co]):
    """What becomes of the items that are read.

    `schema` is the entity that is wanted, None for any of the table. `only` is a model of some
    of its fields; `as_refs` wants keys alone.
    """

    schema: EntitySchema | None
    only: type[BaseModel] | None = None
    as_refs: bool = False

    def projection(self, table: TableLike, index: Index | None) -> tuple[str, ...] | None:
        """Return the stored names that are needed; None for all."""
        if self.only is None or self.schema is None:
            return None
        wanted = [
            self.schema.fields[name].stored
            for name in self.only.__pydantic_fields__
            if name in self.schema.fields and not self.schema.fields[name].is_part
        ]
        keys = [*table.key.names, *(index.key.names if index else ())]
        # Whether an item has expired, and which entity it is of, where the index says so.
        told = [table.ttl, self.schema.type_attribute and self.schema.type_attribute[0]]
        extra = [name for name in told if name is not None]
        lacking = [] if index is None else index.find_lacking(table, extra)
        return tuple(
            dict.fromkeys([*keys, *wanted, *(each for each in extra if each not in lacking)])
        )


def check_only(schema: EntitySchema | None, model: type[BaseModel]) -> None:
    """Raise unless a model asks for fields that the entity has."""
    if schema is None:
        raise QueryInvalid(model.__name__, "only() needs an entity", "Query one entity.")
    unknown = [name for name in model.__pydantic_fields__ if name not in schema.fields]
    if unknown:
        fact = f"{schema.name} has no field {unknown[0]!r}"
        raise QueryInvalid(model.__name__, fact, f"Its fields are {', '.join(schema.fields)}.")


@dataclass(frozen=True, slots=True)
class Get(SingleRequest[V_co | None], Generic[V_co]):
    """Read one entity by its key."""

    table: TableLike
    key: Item
    shape: ResultShape[Any]
    # The fields that its key would give, so that it need not be read back.
    known: Mapping[str, Any] | None = field(default=None, compare=False)
    is_consistent: bool = False
    includes_expired: bool = False

    operation = "GetItem"

    def consistent(self) -> Self:
        """See every write that was acknowledged before; costs twice as much."""
        return replace(self, is_consistent=True)

    def include_expired(self) -> Self:
        """Return the entity even if its time has come, as long as it is stored."""
        return replace(self, includes_expired=True)

    def only(self, model: type[M]) -> Get[M]:
        """Read some fields: those of a model."""
        check_only(self.shape.schema, model)
        return replace(self, shape=replace(self.shape, only=model))  # type: ignore[return-value]

    def then(self, make: Callable[[V_co], Request[W]]) -> Chain[W | None]:
        """Make the next request from the result; the chain returns None if there is none."""
        return Chain(self, make)

    def lookup_then(self, make: Callable[[V_co], Request[W]]) -> Chain[W | None]:
        """Make the next request from the result of a lookup.

        Principals may run it even if their role does not allow the lookup itself. If it does not
        allow the next request either, the chain returns None.
        """
        return Chain(self, make, is_lookup=True)

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the GetItem request."""
        request: dict[str, Any] = {"TableName": self.table.name, "Key": self.key}
        if self.is_consistent:
            request["ConsistentRead"] = True
        names = self.shape.projection(self.table, None)
        if names is not None:
            writer = ExpressionWriter(moment_of(now))
            request["ProjectionExpression"] = ", ".join(map(writer.write_name, names))
            writer.add_to(request)
        return request

    def __repr__(self) -> str:
        return f"<Get {_name(self.shape)} {show_item(self.key)}>"


@dataclass(frozen=True, slots=True)
class Ref(Generic[V_co]):
    """An entity of which only the key is known, as in an index that holds keys alone.

    The fields that the key gives are its attributes, and its members: `ref["key"]` where a field
    has the name of something else here, which are `entity`, `key`, `parts` and `get`.
    """

    entity: type[V_co]
    key: Item
    parts: Mapping[str, Any]

    def get(self) -> Get[V_co]:
        """Return the request for the whole entity."""
        schema: EntitySchema = cast(Any, self.entity).keyfold_schema()
        return Get(schema.table, self.key, ResultShape(schema))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self.parts:
            raise AttributeError(self._missing_right_message(name))
        return self.parts[name]

    def __getitem__(self, name: str) -> Any:
        if name not in self.parts:
            raise KeyError(self._missing_right_message(name))
        return self.parts[name]

    def _missing_right_message(self, name: str) -> str:
        known = ", ".join(self.parts)
        return f"Ref[{self.entity.__name__}] has {known}; fetch the entity for {name!r}."


class PagedRead(SingleRequest[Page[V_co]], Generic[V_co]):
    """A request that reads page by page: what queries and scans share."""

    __slots__ = ()

    index: Index | None
    shape: ResultShape[Any]
    filter: Condition | None
    page_limit: int | None
    is_consistent: bool
    includes_expired: bool
    cursor: str | None
    most_reads: int | None

    def limit(self, count: int) -> Self:
        """At most so many a page: exactly so many, as long as there are more."""
        return self._with(page_limit=_at_least_one("limit", count))

    def where(self, condition: Condition) -> Self:
        """Only those for which a condition holds; what is read and left out is paid for."""
        entity = None if self.shape.schema is None else self.shape.schema.name
        checked = self._check(check_condition(condition, entity))
        return self._with(filter=join("AND", self.filter, checked))

    def consistent(self) -> Self:
        """See every write that was acknowledged before; not on global indexes."""
        if self.index is not None and not self.index.local:
            fact = f"{self.index.name} is a global index, which cannot be read consistently"
            raise QueryInvalid(repr(self), fact, f"{self.operation} the table, or a local index.")
        return self._with(is_consistent=True)

    def include_expired(self) -> Self:
        """Return entities whose time has come, too, as long as they are stored."""
        return self._with(includes_expired=True)

    def after(self, cursor: str | None) -> Self:
        """Go on where the page with this cursor ended."""
        return self._with(cursor=cursor)

    def max_reads(self, calls: int) -> Self:
        """Read at most so often for a page, which may come short then."""
        return self._with(most_reads=_at_least_one("max_reads", calls))

    def first(self) -> First[V_co]:
        """Only the first; None if there is none."""
        return First(cast(Any, self._with(page_limit=1)))

    def count(self) -> Count:
        """Only how many there are."""
        return Count(cast(Any, self))

    def then(self, make: Callable[[Page[V_co]], Request[W]]) -> Chain[W]:
        """Make the next request from the page that is found, be it empty."""
        return Chain(self, make)

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the request, of the first page."""
        writer = ExpressionWriter(moment_of(now))
        request: dict[str, Any] = {"TableName": self.table.name}
        if self.index is not None:
            request["IndexName"] = self.index.name
        request |= self._write_keys(writer)
        if self.filter is not None:
            request["FilterExpression"] = writer.write_condition(self.filter)
        if self.is_consistent:
            request["ConsistentRead"] = True
        if self.page_limit is not None:
            request["Limit"] = self.page_limit
        names = self.shape.projection(self.table, self.index)
        if names is not None:
            request["ProjectionExpression"] = ", ".join(map(writer.write_name, names))
        writer.add_to(request)
        return request

    def _with(self, **changes: Any) -> Self:
        return replace(cast(Any, self), **changes)

    def _only(self, model: type[BaseModel]) -> Self:
        check_only(self.shape.schema, model)
        return self._with(shape=replace(self.shape, only=model))

    def _refs(self) -> Self:
        return self._with(shape=replace(self.shape, as_refs=True))

    def _check(self, condition: Condition) -> Condition:
        """Return a condition that may be looked at after reading; raises QueryInvalid."""
        return condition

    def _write_keys(self, writer: ExpressionWriter) -> dict[str, Any]:  # noqa: ARG002 - some have none
        """Return what the request says of keys."""
        return {}

    def _where(self) -> str:
        return self.table.name if self.index is None else f"{self.table.name}.{self.index.name}"

    def _order(self) -> str:
        return ""

    def _options(self) -> str:
        shown = "" if self.filter is None else f", only if {self.filter!r}"
        shown += self._order()
        return shown if self.page_limit is None else f"{shown}, {self.page_limit} a page"


@dataclass(frozen=True, slots=True)
class Query(PagedRead[V_co], Generic[V_co]):
    """Read entities of one partition, of the table or of an index, in the order of their sort keys."""

    table: TableLike
    index: Index | None
    shape: ResultShape[Any]
    keys: KeyState
    filter: Condition | None = None
    page_limit: int | None = None
    is_reversed: bool = False
    is_consistent: bool = False
    includes_expired: bool = False
    cursor: str | None = None
    most_reads: int | None = None

    operation = "Query"

    def starting_with(self, text: str | bytes) -> Self:
        """Only those whose next key part begins with `text`."""
        part = self._open_part("starting_with")
        return self._with_range(make_prefix(part, self.keys.known, text))

    def since(self, value: Any) -> Self:
        """Only those whose next key part is this or greater.

        Where that part is a typed id, the value may be a time.
        """
        return self._limited("since", _needed("since", value), None)

    def until(self, value: Any) -> Self:
        """Only those whose next key part is this or less; as for `since`."""
        return self._limited("until", None, _needed("until", value))

    def between(self, low: Any, high: Any) -> Self:
        """Only those whose next key part lies between these, both included; as for `since`."""
        return self._limited("between", _needed("between", low), _needed("between", high))

    def descending(self) -> Self:
        """From the greatest sort key to the least."""
        return replace(self, is_reversed=True)

    def only(self, model: type[M]) -> Query[M]:
        """Read some fields: those of a model."""
        return cast(Any, self._only(model))

    def refs(self) -> Query[Ref[V_co]]:
        """Read keys alone: all that an index of keys holds."""
        return cast(Any, self._refs())

    def _check(self, condition: Condition) -> Condition:
        key = self.table.key if self.index is None else self.index.key
        for name in names_in(condition):
            if name in key.names:
                fact = f"{name!r} is part of the key, which where() cannot look at"
                advice = "Give it to query(), or use since(), until(), between(), starting_with()."
                raise QueryInvalid(repr(self), fact, advice)
        return condition

    def _write_keys(self, writer: ExpressionWriter) -> dict[str, Any]:
        parts = [
            f"{writer.write_name(name)} = {writer.write_value(value)}"
            for name, value in self.keys.equals
        ]
        if self.keys.range is not None:
            parts.append(_write_range(self.keys.range.resolve(writer.now), writer))
        written: dict[str, Any] = {"KeyConditionExpression": " AND ".join(parts)}
        if self.is_reversed:
            written["ScanIndexForward"] = False
        return written

    def _open_part(self, method: str) -> KeyPart:
        part = self.keys.open_part
        if part is None:
            where = self.table.name if self.index is None else self.index.name
            fact = f"{method}() limits the next sort key part, and there is none left"
            raise QueryInvalid(repr(self), fact, f"Give fewer fields of {where}'s sort key.")
        if self.keys.is_limited:
            fact = "its sort key is limited already, and a query takes one range"
            raise QueryInvalid(repr(self), fact, "Merge them with between().")
        return part

    def _limited(self, method: str, low: Any, high: Any) -> Self:
        part = self._open_part(method)
        name = next((each for each in part.fields if each not in self.keys.known), None)
        if name is not None and self.shape.schema is not None:
            low, high = (self.shape.schema.fit({name: end})[name] for end in (low, high))
        return self._with_range(make_range(part, self.keys.known, low, high))

    def _with_range(self, limits: SortRange | PartRange) -> Self:
        return replace(self, keys=replace(self.keys, range=limits, is_limited=True))

    def __repr__(self) -> str:
        shown = f"{self.keys}{self._options()}"
        return f"<Query {_name(self.shape)} in {self._where()} where {shown}>"

    def _order(self) -> str:
        return ", newest first" if self.is_reversed else ""


def _write_range(limits: SortRange, writer: ExpressionWriter) -> str:
    name = writer.write_name(limits.attribute)
    match limits:
        case SortRange(prefix=dict() as prefix):
            return f"begins_with({name}, {writer.write_value(prefix)})"
        case SortRange(low=dict() as low, high=dict() as high):
            return f"{name} BETWEEN {writer.write_value(low)} AND {writer.write_value(high)}"
        case SortRange(low=dict() as low):
            return f"{name} >= {writer.write_value(low)}"
        case SortRange(high=dict() as high):
            return f"{name} <= {writer.write_value(high)}"
        case _:
            raise AssertionError(limits)


@dataclass(frozen=True, slots=True)
class Scan(PagedRead[V_co], Generic[V_co]):
    """Read the whole of a table, or of an index."""

    table: TableLike
    index: Index | None
    shape: ResultShape[Any]
    filter: Condition | None = None
    page_limit: int | None = None
    is_consistent: bool = False
    includes_expired: bool = False
    cursor: str | None = None
    most_reads: int | None = None

    operation = "Scan"

    def only(self, model: type[M]) -> Scan[M]:
        """Read some fields: those of a model."""
        return cast(Any, self._only(model))

    def refs(self) -> Scan[Ref[V_co]]:
        """Read keys alone: all that an index of keys holds."""
        return cast(Any, self._refs())

    def __repr__(self) -> str:
        return f"<Scan {_name(self.shape)} in {self._where()}{self._options()}>"


@dataclass(frozen=True, slots=True)
class First(Request[V_co | None], Generic[V_co]):
    """The first that a query finds, or None."""

    query: Query[Any] | Scan[Any]

    @property
    def tables(self) -> tuple[TableLike, ...]:
        return self.query.tables

    def then(self, make: Callable[[V_co], Request[W]]) -> Chain[W | None]:
        """Make the next request from the result; the chain returns None if there is none."""
        return Chain(self, make)

    def lookup_then(self, make: Callable[[V_co], Request[W]]) -> Chain[W | None]:
        """Make the next request from the result of a lookup.

        Principals may run it even if their role does not allow the lookup itself. If it does not
        allow the next request either, the chain returns None.
        """
        return Chain(self, make, is_lookup=True)

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the request for the first item that is read."""
        return self.query.to_dynamodb(now=now)

    def __repr__(self) -> str:
        return f"<first of {self.query!r}>"


@dataclass(frozen=True, slots=True)
class Chain(Request[V_co]):
    """A request, and how its answer makes the next; None where the first finds nothing."""

    first: Request[Any]
    make: Callable[[Any], Request[Any]]
    # Whether the first runs under the table's own role, whoever asks.
    is_lookup: bool = False

    @property
    def tables(self) -> tuple[TableLike, ...]:
        return self.first.tables

    def to_dynamodb(self, *, now: datetime | None = None) -> Any:
        """Return the first request; its answer makes the next."""
        return self.first.to_dynamodb(now=now)

    def __repr__(self) -> str:
        return f"<chain from {self.first!r}>"


@dataclass(frozen=True, slots=True)
class Mapped(Request[V_co]):
    """A request, and what is made of its answer and the moment at which it ran."""

    request: Request[Any]
    make: Callable[[Any, datetime], Any]

    @property
    def tables(self) -> tuple[TableLike, ...]:
        return self.request.tables

    def to_dynamodb(self, *, now: datetime | None = None) -> Any:
        """Return the request whose answer is made into something else."""
        return self.request.to_dynamodb(now=now)

    def __repr__(self) -> str:
        return f"<something made of {self.request!r}>"


@dataclass(frozen=True, slots=True)
class Count(Request[int]):
    """How many a query finds; they are read, and paid for, but not returned."""

    query: Query[Any] | Scan[Any]

    @property
    def tables(self) -> tuple[TableLike, ...]:
        return self.query.tables

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the request for what is counted."""
        return self.query.to_dynamodb(now=now)

    def __repr__(self) -> str:
        return f"<count of {self.query!r}>"


# Showing and checking.


def _name(shape: ResultShape[Any]) -> str:
    name = "items" if shape.schema is None else shape.schema.name
    if shape.only is not None:
        return f"{shape.only.__name__} of {name}"
    return f"refs of {name}" if shape.as_refs else name


def _at_least_one(method: str, count: Any) -> int:
    if isinstance(count, Placeholder):
        return count  # type: ignore[return-value]
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise QueryInvalid(f"{method}()", f"got {count!r:.80}", "Give a whole number, 1 or more.")
    return count


def _needed(method: str, value: Any) -> Any:
    if value is None:
        raise QueryInvalid(f"{method}()", "got None, which is no end of a range", "Leave it out.")
    return value
