"""Queries and scans, which return pages, and the first item or the number of items of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Self, SupportsIndex, TypeVar, cast

from pydantic import BaseModel

from keyfold.errors import QueryInvalid
from keyfold.expressions import Condition, RequestPrinter, join_all
from keyfold.model._calls import ApiCall, Calls
from keyfold.model._former_names import cover_former_names
from keyfold.model._key_parts import KeyPart
from keyfold.model._keys import Index, TableLike
from keyfold.model._operands import attributes_in, check_condition
from keyfold.model._pickling import check_function
from keyfold.model._placeholders import Placeholder
from keyfold.model._ranges import KeyState, PartRange, SortRange, make_prefix, make_range
from keyfold.model._reads import Ref, ResultShape, check_only
from keyfold.model._replacing import replace
from keyfold.model._requests import (
    Chain,
    DerivedRequest,
    Request,
    SingleRequest,
    SingleResult,
    resolve_now,
)
from keyfold.model._results import Page

V_co = TypeVar("V_co", covariant=True)
W = TypeVar("W")
M = TypeVar("M", bound=BaseModel)

# What says which items a query without a filter reads, in the order in which `to_selection` has it.
_SELECTION = (
    "TableName",
    "IndexName",
    "KeyConditionExpression",
    "ScanIndexForward",
    "ExpressionAttributeNames",
    "ExpressionAttributeValues",
)

# Each has a position in the cursor of a page.
MAX_SEGMENTS = 1_000


@dataclass(frozen=True, slots=True)
class PagedRead(SingleRequest[Page[V_co]], Generic[V_co]):
    """Base class of queries and scans: a read with pagination, filters and projections."""

    table: TableLike
    index: Index | None
    shape: ResultShape[Any]
    filter: Condition | None = None
    page_limit: int | None = None
    is_consistent: bool = False
    includes_expired: bool = False
    cursor: str | None = None
    read_limit: int | None = None
    # A test of what is returned, with the time of the request; see `matching`.
    test: Callable[[Any, datetime], bool] | None = None

    def limit(self, count: int) -> Self:
        """Return pages of exactly `count` items (fewer only at the end)."""
        return replace(self, page_limit=at_least_one("limit", count))

    def where(self, condition: Condition) -> Self:
        """Return only the items for which a condition holds.

        DynamoDB filters items after reading them, so those left out consume capacity too.
        """
        entity = None if self.shape.schema is None else self.shape.schema.name
        checked = self._check(check_condition(condition, entity))
        return replace(self, filter=join_all(self.filter, checked))

    def matching(self, test: Callable[[V_co, datetime], bool]) -> Self:
        """Return only the entities for which `test(entity, now)` is true, `now` being the time of the run.

        The test runs here, on what was read, so it can compare what DynamoDB cannot. As with
        `where`, what is left out consumes capacity too, and pages still have as many items as
        their limit says.
        """
        return replace(self, test=test)

    def consistent(self) -> Self:
        """Use strongly consistent reads, which see every write acknowledged before them.

        They consume twice the read capacity. Raises QueryInvalid on a global index, which cannot
        be read consistently.
        """
        if self.index is not None and not self.index.local:
            fact = f"{self.index.name} is a global index, which cannot be read consistently"
            raise QueryInvalid(repr(self), fact, f"{self.operation} the table, or a local index.")
        return replace(self, is_consistent=True)

    def include_expired(self) -> Self:
        """Include entities that have expired and are still stored."""
        return replace(self, includes_expired=True)

    def after(self, cursor: str | None) -> Self:
        """Continue the pagination after the page that has this cursor; None starts at the beginning."""
        return replace(self, cursor=cursor)

    def max_reads(self, calls: int) -> Self:
        """Make at most `calls` API calls per page, which may then have fewer items than its limit."""
        return replace(self, read_limit=at_least_one("max_reads", calls))

    def first(self) -> First[V_co]:
        """Return a request for the first item alone; its result is None if there is none."""
        return First(cast(Any, replace(self, page_limit=1)))

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
        request = self._write_selection(printer, now)
        if self.is_consistent:
            request["ConsistentRead"] = True
        if self.page_limit is not None:
            request["Limit"] = self.page_limit
        names = self.shape.projection(self.table, self.index)
        if names is not None:
            request["ProjectionExpression"] = ", ".join(map(printer.write_name, names))
        printer.add_to(request)
        return request

    def to_selection(self, *, now: datetime) -> dict[str, Any]:
        """Return the part of the call's body that says which items are read, and in which order."""
        printer = RequestPrinter(now)
        request = self._write_selection(printer, now)
        printer.add_to(request)
        return request

    def selection_in(self, body: Mapping[str, Any]) -> dict[str, Any] | None:  # noqa: ARG002 - queries need it
        """Return what `to_selection` does at any time, from a body of the call; None if that takes more."""
        return None

    def _write_selection(self, printer: RequestPrinter, now: datetime) -> dict[str, Any]:
        request: dict[str, Any] = {"TableName": self.table.name}
        if self.index is not None:
            request["IndexName"] = self.index.name
        request |= self._write_keys(printer, now)
        if self.filter is not None:
            request["FilterExpression"] = printer.write_condition(self._whole_filter(self.filter))
        return request

    def _whole_filter(self, condition: Condition) -> Condition:
        """Return the filter, which also finds items that are stored under former names."""
        schema = self.shape.schema
        for each in self.table.entities.values() if schema is None else [schema]:
            if each.has_former_names:
                condition = cover_former_names(each.codec, condition, owner=each.name)
        return condition

    def _only(self, model: type[BaseModel]) -> Self:
        check_only(self.shape.schema, model)
        return replace(self, shape=replace(self.shape, only=model))

    def _refs(self) -> Self:
        return replace(self, shape=replace(self.shape, as_refs=True))

    def _check(self, condition: Condition) -> Condition:
        """Return a condition that can be used as a filter; raises QueryInvalid."""
        return condition

    def _write_keys(self, printer: RequestPrinter, now: datetime) -> dict[str, Any]:  # noqa: ARG002 - scans have none
        """Return the request's parameters about keys."""
        return {}

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """Pickle a read whose test, if it has one, can be imported; raises NotPicklable for others."""
        if self.test is not None:
            check_function(self, self.test)
        return object.__reduce_ex__(self, protocol)

    def _where(self) -> str:
        return self.table.name if self.index is None else f"{self.table.name}.{self.index.name}"

    def _order(self) -> str:
        return ""

    def _options(self) -> str:
        shown = "" if self.filter is None else f", filtered by {self.filter!r}"
        if self.test is not None:
            shown += f", matching {getattr(self.test, '__name__', 'a test')}"
        shown += self._order()
        return shown if self.page_limit is None else f"{shown}, {self.page_limit} per page"


@dataclass(frozen=True, slots=True)
class Query(PagedRead[V_co], Generic[V_co]):
    """A request that reads entities of one partition of a table or index, ordered by sort key."""

    keys: KeyState = field(kw_only=True)
    is_reversed: bool = field(default=False, kw_only=True)

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

    def selection_in(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what `to_selection` does at any time, from a body of the call; None if that takes more."""
        # A filter or a range may depend on the time, and a projection adds names.
        if (
            self.filter is not None
            or isinstance(self.keys.range, PartRange)
            or "ProjectionExpression" in body
        ):
            return None
        return {name: body[name] for name in _SELECTION if name in body}

    def _write_keys(self, printer: RequestPrinter, now: datetime) -> dict[str, Any]:
        written: dict[str, Any] = {"KeyConditionExpression": self.keys.write(printer, now)}
        if self.is_reversed:
            written["ScanIndexForward"] = False
        return written

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
        return f"<Query {self.shape} in {self._where()} where {shown}>"

    def _order(self) -> str:
        return ", descending" if self.is_reversed else ""


@dataclass(frozen=True, slots=True)
class Scan(PagedRead[V_co], Generic[V_co]):
    """A request that reads a whole table or index, by one or more segments in parallel."""

    segment_count: int = field(default=1, kw_only=True)

    operation = "Scan"

    def calls(self, now: datetime) -> Calls:
        """Return the first call of each segment; raises QueryInvalid for segments with a limit."""
        if self.segment_count == 1:
            return (ApiCall(self.operation, self.to_dynamodb(now=now)),)
        if self.page_limit is not None:
            fact = "segments are read at the same time, so a limit would not say which items"
            raise QueryInvalid(repr(self), fact, "Leave out the limit, or the segments.")
        return tuple(
            ApiCall(self.operation, {**self.to_dynamodb(now=now), "Segment": segment})
            for segment in range(self.segment_count)
        )

    def _write_keys(self, printer: RequestPrinter, now: datetime) -> dict[str, Any]:  # noqa: ARG002 - queries need them
        if self.segment_count == 1:
            return {}
        return {"Segment": 0, "TotalSegments": self.segment_count}

    def only(self, model: type[M]) -> Scan[M]:
        """Read a projection: only the fields of `model`, and return it instead of the entity."""
        return cast(Any, self._only(model))

    def refs(self) -> Scan[Ref[V_co]]:
        """Return references (keys) instead of entities, as a keys-only index requires."""
        return cast(Any, self._refs())

    def __repr__(self) -> str:
        segments = "" if self.segment_count == 1 else f" by {self.segment_count} segments"
        return f"<Scan {self.shape} in {self._where()}{segments}{self._options()}>"


@dataclass(frozen=True, slots=True)
class First(DerivedRequest[V_co | None], SingleResult[V_co], Generic[V_co]):
    """A request for the first item of a query or scan; its result is None if there is none."""

    query: Query[Any] | Scan[Any]

    @property
    def source(self) -> Request[Any]:
        """The query or scan, with a limit of one item."""
        return self.query

    def __repr__(self) -> str:
        return f"<first of {self.query!r}>"


@dataclass(frozen=True, slots=True)
class Count(DerivedRequest[int]):
    """A request that counts the items of a query or scan.

    The items are read, which consumes capacity, but not returned.
    """

    query: Query[Any] | Scan[Any]

    @property
    def source(self) -> Query[Any] | Scan[Any]:
        """The query or scan that reads the items to count, whole and without a limit."""
        shape = self.query.shape
        if self.query.test is None:
            # Keys are enough to identify the entity, so an index with any projection can be used.
            shape = replace(shape, only=None, as_refs=True)
        return replace(self.query, shape=shape, page_limit=None, read_limit=None)

    def __repr__(self) -> str:
        return f"<count of {self.query!r}>"


def check_paged(request: object) -> None:
    """Raise QueryInvalid unless the request is a query or a scan, which have pages."""
    if not isinstance(request, PagedRead):
        fact = f"{request!r:.80} has no pages"
        raise QueryInvalid("iterate()", fact, "Pass a query or a scan, or run() the request.")


def check_segments(count: Any) -> int:
    """Return a number of segments that a scan can have; raises QueryInvalid for any other."""
    checked = at_least_one("segments", count)
    if not isinstance(count, Placeholder) and checked > MAX_SEGMENTS:
        fact = f"got {checked:,} segments, but a scan has at most {MAX_SEGMENTS:,}"
        raise QueryInvalid("scan()", fact, "Use fewer.")
    return checked


def at_least_one(method: str, count: Any) -> int:
    """Return a count that is an integer of at least 1; raises QueryInvalid for any other."""
    if isinstance(count, Placeholder):
        return count  # type: ignore[return-value]
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise QueryInvalid(f"{method}()", f"got {count!r:.80}", "Pass an integer of at least 1.")
    return count


def _check_bound(method: str, value: Any) -> Any:
    if value is None:
        raise QueryInvalid(f"{method}()", "got None, which cannot limit a range", "Leave it out.")
    return value
