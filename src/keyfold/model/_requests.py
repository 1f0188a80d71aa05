"""Requests as immutable values: reads, and the base classes that every request shares.

A request describes what to do with a table. It is independent of the store, the principal and
the time at which it runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Generic, Self, TypeVar, cast

from pydantic import BaseModel

from keyfold.errors import QueryInvalid
from keyfold.expressions import (
    And,
    Comparison,
    Condition,
    Path,
    RequestPrinter,
    join_all,
)
from keyfold.model._formatting import show_item
from keyfold.model._keys import Index, TableLike
from keyfold.model._operands import attributes_in, check_condition
from keyfold.model._placeholders import Placeholder
from keyfold.model._ranges import KeyState, PartRange, SortRange, make_prefix, make_range
from keyfold.model._results import Page
from keyfold.model._schemas import EntitySchema, KeyPart
from keyfold.values import Item

V_co = TypeVar("V_co", covariant=True)
W = TypeVar("W")
M = TypeVar("M", bound=BaseModel)


class Request(ABC, Generic[V_co]):
    """A request to a table, for `store.run`; its type parameter is the type of the result."""

    __slots__ = ()

    @property
    @abstractmethod
    def tables(self) -> tuple[TableLike, ...]:
        """The tables that the request reads or writes."""

    @abstractmethod
    def to_dynamodb(self, *, now: datetime | None = None) -> Any:
        """Return the body of the DynamoDB API call that the request makes at the time `now`.

        For a request that makes several calls, return those known before the first response.
        `now` defaults to the current time.
        """

    def map(self, make: Callable[[V_co, datetime], W]) -> Mapped[W]:
        """Return a request whose result is `make(result, now)`.

        `now` is the time at which the request ran.
        """
        return Mapped(self, make)


class SingleRequest(Request[V_co]):
    """A request that makes a single DynamoDB API call."""

    __slots__ = ()

    operation: str
    table: TableLike

    @property
    def tables(self) -> tuple[TableLike, ...]:
        return (self.table,)

    @abstractmethod
    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the body of the DynamoDB API call that the request makes at the time `now`."""


def check_paged(request: object) -> None:
    """Raise QueryInvalid unless the request is a query or a scan, which have pages."""
    if not isinstance(request, PagedRead):
        fact = f"{request!r:.80} has no pages"
        raise QueryInvalid("iterate()", fact, "Pass a query or a scan, or run() the request.")


def resolve_now(now: datetime | None) -> datetime:
    """Return `now`, or the current time if it is None."""
    return datetime.now(UTC) if now is None else now


# Reads.


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
        """Return the names of the attributes to read (the projection); None for all."""
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
        missing = [] if index is None else index.find_unprojected(table, extra)
        return tuple(
            dict.fromkeys([*keys, *wanted, *(each for each in extra if each not in missing)])
        )


def check_only(schema: EntitySchema | None, model: type[BaseModel]) -> None:
    """Raise QueryInvalid if a model has a field that the entity does not have."""
    if schema is None:
        raise QueryInvalid(model.__name__, "only() needs an entity", "Query a single entity.")
    unknown = [name for name in model.__pydantic_fields__ if name not in schema.fields]
    if unknown:
        fact = f"{schema.name} has no field {unknown[0]!r}"
        raise QueryInvalid(model.__name__, fact, f"Its fields are {', '.join(schema.fields)}.")


@dataclass(frozen=True, slots=True)
class Get(SingleRequest[V_co | None], Generic[V_co]):
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

    def then(self, make: Callable[[V_co], Request[W]]) -> Chain[W | None]:
        """Return a chain that runs this request, then the one that `make` returns for its result.

        The chain returns None if this request finds nothing.
        """
        return Chain(self, make)

    def lookup_then(self, make: Callable[[V_co], Request[W]]) -> Chain[W | None]:
        """Return a chain like that of `then`, in which this request is a lookup.

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
            printer = RequestPrinter(resolve_now(now))
            request["ProjectionExpression"] = ", ".join(map(printer.write_name, names))
            printer.add_to(request)
        return request

    def __repr__(self) -> str:
        return f"<Get {_name(self.shape)} {show_item(self.key)}>"


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


class PagedRead(SingleRequest[Page[V_co]], Generic[V_co]):
    """Base class of queries and scans: a read with pagination, filters and projections."""

    __slots__ = ()

    index: Index | None
    shape: ResultShape[Any]
    filter: Condition | None
    page_limit: int | None
    is_consistent: bool
    includes_expired: bool
    cursor: str | None
    read_limit: int | None

    def limit(self, count: int) -> Self:
        """Return pages of exactly `count` items (fewer only at the end)."""
        return self._with(page_limit=_at_least_one("limit", count))

    def where(self, condition: Condition) -> Self:
        """Return only the items for which a condition holds.

        DynamoDB filters items after reading them, so those left out consume capacity too.
        """
        entity = None if self.shape.schema is None else self.shape.schema.name
        checked = self._check(check_condition(condition, entity))
        return self._with(filter=join_all(self.filter, checked))

    def consistent(self) -> Self:
        """Use strongly consistent reads, which see every write acknowledged before them.

        They consume twice the read capacity. Raises QueryInvalid on a global index, which cannot
        be read consistently.
        """
        if self.index is not None and not self.index.local:
            fact = f"{self.index.name} is a global index, which cannot be read consistently"
            raise QueryInvalid(repr(self), fact, f"{self.operation} the table, or a local index.")
        return self._with(is_consistent=True)

    def include_expired(self) -> Self:
        """Include entities that have expired and are still stored."""
        return self._with(includes_expired=True)

    def after(self, cursor: str | None) -> Self:
        """Continue the pagination after the page that has this cursor; None starts at the beginning."""
        return self._with(cursor=cursor)

    def max_reads(self, calls: int) -> Self:
        """Make at most `calls` API calls per page, which may then have fewer items than its limit."""
        return self._with(read_limit=_at_least_one("max_reads", calls))

    def first(self) -> First[V_co]:
        """Return a request for the first item alone; its result is None if there is none."""
        return First(cast(Any, self._with(page_limit=1)))

    def count(self) -> Count:
        """Return a request for the number of items."""
        return Count(cast(Any, self))

    def then(self, make: Callable[[Page[V_co]], Request[W]]) -> Chain[W]:
        """Return a chain that runs this request, then the one that `make` returns for its page.

        `make` is called for an empty page too.
        """
        return Chain(self, make)

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the body of the API call that reads the first page."""
        now = resolve_now(now)
        printer = RequestPrinter(now)
        request: dict[str, Any] = {"TableName": self.table.name}
        if self.index is not None:
            request["IndexName"] = self.index.name
        request |= self._write_keys(printer, now)
        if self.filter is not None:
            request["FilterExpression"] = printer.write_condition(self.filter)
        if self.is_consistent:
            request["ConsistentRead"] = True
        if self.page_limit is not None:
            request["Limit"] = self.page_limit
        names = self.shape.projection(self.table, self.index)
        if names is not None:
            request["ProjectionExpression"] = ", ".join(map(printer.write_name, names))
        printer.add_to(request)
        return request

    def _with(self, **changes: Any) -> Self:
        return replace(cast(Any, self), **changes)

    def _only(self, model: type[BaseModel]) -> Self:
        check_only(self.shape.schema, model)
        return self._with(shape=replace(self.shape, only=model))

    def _refs(self) -> Self:
        return self._with(shape=replace(self.shape, as_refs=True))

    def _check(self, condition: Condition) -> Condition:
        """Return a condition that can be used as a filter; raises QueryInvalid."""
        return condition

    def _write_keys(self, printer: RequestPrinter, now: datetime) -> dict[str, Any]:  # noqa: ARG002 - scans have none
        """Return the request's parameters about keys."""
        return {}

    def _where(self) -> str:
        return self.table.name if self.index is None else f"{self.table.name}.{self.index.name}"

    def _order(self) -> str:
        return ""

    def _options(self) -> str:
        shown = "" if self.filter is None else f", filtered by {self.filter!r}"
        shown += self._order()
        return shown if self.page_limit is None else f"{shown}, {self.page_limit} per page"


@dataclass(frozen=True, slots=True)
class Query(PagedRead[V_co], Generic[V_co]):
    """A request that reads entities of one partition of a table or index, ordered by sort key."""

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
    read_limit: int | None = None

    operation = "Query"

    def starting_with(self, text: str | bytes) -> Self:
        """Return only entities whose next sort key part begins with `text`."""
        part = self._open_part("starting_with")
        return self._with_range(make_prefix(part, self.keys.known, text))

    def since(self, value: Any) -> Self:
        """Return only entities whose next sort key part is `value` or greater.

        If that part is a typed id, `value` may be a datetime.
        """
        return self._limited("since", _check_bound("since", value), None)

    def until(self, value: Any) -> Self:
        """Return only entities whose next sort key part is `value` or less.

        If that part is a typed id, `value` may be a datetime.
        """
        return self._limited("until", None, _check_bound("until", value))

    def between(self, low: Any, high: Any) -> Self:
        """Return only entities whose next sort key part is from `low` to `high`, both included.

        If that part is a typed id, the values may be datetimes.
        """
        return self._limited("between", _check_bound("between", low), _check_bound("between", high))

    def descending(self) -> Self:
        """Return entities in descending order of their sort keys."""
        return replace(self, is_reversed=True)

    def only(self, model: type[M]) -> Query[M]:
        """Read a projection: only the fields of `model`, and return it instead of the entity."""
        return cast(Any, self._only(model))

    def refs(self) -> Query[Ref[V_co]]:
        """Return references (keys) instead of entities, as a keys-only index requires."""
        return cast(Any, self._refs())

    def _check(self, condition: Condition) -> Condition:
        key = self.table.key if self.index is None else self.index.key
        for name in attributes_in(condition):
            if name in key.names:
                fact = f"where() cannot filter by {name!r}, which is part of the key"
                advice = "Pass it to query(), or use since(), until(), between(), starting_with()."
                raise QueryInvalid(repr(self), fact, advice)
        return condition

    def _write_keys(self, printer: RequestPrinter, now: datetime) -> dict[str, Any]:
        condition = self._key_condition(now)
        written: dict[str, Any] = {"KeyConditionExpression": printer.write_condition(condition)}
        if self.is_reversed:
            written["ScanIndexForward"] = False
        return written

    def _key_condition(self, now: datetime) -> Condition:
        conditions: list[Condition] = [
            Comparison("=", Path((name,)), value) for name, value in self.keys.equals
        ]
        if self.keys.range is not None:
            conditions.append(self.keys.range.resolve(now).to_condition())
        return conditions[0] if len(conditions) == 1 else And(tuple(conditions))

    def _open_part(self, method: str) -> KeyPart:
        part = self.keys.open_part
        if part is None:
            where = self.table.name if self.index is None else self.index.name
            fact = f"{method}() limits the next sort key part, but no part is left"
            raise QueryInvalid(repr(self), fact, f"Pass fewer fields of {where}'s sort key.")
        if self.keys.is_limited:
            fact = "its sort key already has a range, and a query takes one"
            raise QueryInvalid(repr(self), fact, "Merge the two with between().")
        return part

    def _limited(self, method: str, low: Any, high: Any) -> Self:
        part = self._open_part(method)
        name = next((each for each in part.fields if each not in self.keys.known), None)
        if name is not None and self.shape.schema is not None:
            low, high = (self.shape.schema.coerce({name: end})[name] for end in (low, high))
        return self._with_range(make_range(part, self.keys.known, low, high))

    def _with_range(self, limits: SortRange | PartRange) -> Self:
        return replace(self, keys=replace(self.keys, range=limits, is_limited=True))

    def __repr__(self) -> str:
        shown = f"{self.keys}{self._options()}"
        return f"<Query {_name(self.shape)} in {self._where()} where {shown}>"

    def _order(self) -> str:
        return ", descending" if self.is_reversed else ""


@dataclass(frozen=True, slots=True)
class Scan(PagedRead[V_co], Generic[V_co]):
    """A request that reads a whole table or index."""

    table: TableLike
    index: Index | None
    shape: ResultShape[Any]
    filter: Condition | None = None
    page_limit: int | None = None
    is_consistent: bool = False
    includes_expired: bool = False
    cursor: str | None = None
    read_limit: int | None = None

    operation = "Scan"

    def only(self, model: type[M]) -> Scan[M]:
        """Read a projection: only the fields of `model`, and return it instead of the entity."""
        return cast(Any, self._only(model))

    def refs(self) -> Scan[Ref[V_co]]:
        """Return references (keys) instead of entities, as a keys-only index requires."""
        return cast(Any, self._refs())

    def __repr__(self) -> str:
        return f"<Scan {_name(self.shape)} in {self._where()}{self._options()}>"


@dataclass(frozen=True, slots=True)
class First(Request[V_co | None], Generic[V_co]):
    """A request for the first item of a query or scan; its result is None if there is none."""

    query: Query[Any] | Scan[Any]

    @property
    def tables(self) -> tuple[TableLike, ...]:
        return self.query.tables

    def then(self, make: Callable[[V_co], Request[W]]) -> Chain[W | None]:
        """Return a chain that runs this request, then the one that `make` returns for its result.

        The chain returns None if this request finds nothing.
        """
        return Chain(self, make)

    def lookup_then(self, make: Callable[[V_co], Request[W]]) -> Chain[W | None]:
        """Return a chain like that of `then`, in which this request is a lookup.

        Principals may run it even if their role does not allow the lookup itself. If it does not
        allow the next request either, the chain returns None.
        """
        return Chain(self, make, is_lookup=True)

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the body of the API call, which reads one item."""
        return self.query.to_dynamodb(now=now)

    def __repr__(self) -> str:
        return f"<first of {self.query!r}>"


@dataclass(frozen=True, slots=True)
class Chain(Request[V_co]):
    """A request followed by one made from its result; returns None if the first finds nothing."""

    first: Request[Any]
    make: Callable[[Any], Request[Any]]
    # Whether the first request runs with full rights, whatever the principal's role.
    is_lookup: bool = False

    @property
    def tables(self) -> tuple[TableLike, ...]:
        return self.first.tables

    def to_dynamodb(self, *, now: datetime | None = None) -> Any:
        """Return the body of the first call; the next depends on its response."""
        return self.first.to_dynamodb(now=now)

    def __repr__(self) -> str:
        return f"<chain from {self.first!r}>"


@dataclass(frozen=True, slots=True)
class Mapped(Request[V_co]):
    """A request whose result is passed through a function, with the time at which it ran."""

    request: Request[Any]
    make: Callable[[Any, datetime], Any]

    @property
    def tables(self) -> tuple[TableLike, ...]:
        return self.request.tables

    def to_dynamodb(self, *, now: datetime | None = None) -> Any:
        """Return the body of the API call of the inner request."""
        return self.request.to_dynamodb(now=now)

    def __repr__(self) -> str:
        return f"<mapped {self.request!r}>"


@dataclass(frozen=True, slots=True)
class Count(Request[int]):
    """A request that counts the items of a query or scan.

    The items are read, which consumes capacity, but not returned.
    """

    query: Query[Any] | Scan[Any]

    @property
    def tables(self) -> tuple[TableLike, ...]:
        return self.query.tables

    def to_dynamodb(self, *, now: datetime | None = None) -> dict[str, Any]:
        """Return the body of the API call that reads the items to count."""
        return self.query.to_dynamodb(now=now)

    def __repr__(self) -> str:
        return f"<count of {self.query!r}>"


# Formatting and validation.


def _name(shape: ResultShape[Any]) -> str:
    name = "items" if shape.schema is None else shape.schema.name
    if shape.only is not None:
        return f"{shape.only.__name__} of {name}"
    return f"refs of {name}" if shape.as_refs else name


def _at_least_one(method: str, count: Any) -> int:
    if isinstance(count, Placeholder):
        return count  # type: ignore[return-value]
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise QueryInvalid(f"{method}()", f"got {count!r:.80}", "Pass an integer of at least 1.")
    return count


def _check_bound(method: str, value: Any) -> Any:
    if value is None:
        raise QueryInvalid(f"{method}()", "got None, which cannot limit a range", "Leave it out.")
    return value
