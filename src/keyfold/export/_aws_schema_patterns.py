"""Access patterns in the `schema.json` of the AWS DynamoDB MCP server: those of one request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, cast, get_origin
from uuid import UUID

from pydantic import BaseModel

from keyfold.errors import PatternFailed, PatternUnexplained
from keyfold.export._exported import ExportGap
from keyfold.keys._annotations import find_type
from keyfold.model import (
    Batch,
    Check,
    Delete,
    Get,
    Pattern,
    Put,
    Query,
    Table,
    Transaction,
    Update,
)
from keyfold.model._collections import CollectionGet
from keyfold.model._paged_reads import Count, First, PagedRead
from keyfold.model._patterns import Parameter
from keyfold.model._ranges import PartRange, SortRange
from keyfold.model._requests import Mapped, Request
from keyfold.model._schemas import EntitySchema
from keyfold.model._writes import CreateOrGet, Presence, Write

_ACTIONS: tuple[tuple[type[Any], str], ...] = (
    (Put, "Put"),
    (Update, "Update"),
    (Delete, "Delete"),
    (Check, "ConditionCheck"),
    (Get, "Get"),
)


class _Inexpressible(Exception):
    """A pattern is left out, for a reason."""

    def __init__(self, fact: str, advice: str = "") -> None:
        super().__init__(fact, advice)
        self.fact, self.advice = fact, advice


@dataclass(slots=True)
class PatternWriter:
    """Writes the patterns of tables with numbers of their own, and collects what is left out.

    `names` has the entities' names by the ids of their schemas.
    """

    names: Mapping[int, str]
    transactions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    gaps: list[ExportGap] = field(default_factory=list[ExportGap])
    _count: int = 0

    def write(self, table: Table) -> dict[str, list[dict[str, Any]]]:
        """Return the access patterns of a table's entities, by entity."""
        written: dict[str, list[dict[str, Any]]] = {name: [] for name in table.entities}
        for pattern in table.patterns.values():
            try:
                self._write(table, pattern, written)
            except _Inexpressible as reason:
                subject = f"{table.name}: pattern {pattern.name!r}"
                fact = f"it is left out: {reason.fact}"
                self.gaps.append(ExportGap(subject, fact, reason.advice))
        return written

    def _write(
        self,
        table: Table,
        pattern: Pattern[..., Any],
        written: dict[str, list[dict[str, Any]]],
    ) -> None:
        request = _make_request(pattern)
        parameters = [self._make_parameter(each) for each in pattern.parameters]
        about = {
            "name": pattern.__name__,
            "description": " ".join(pattern.description.split()) or pattern.name,
        }
        if isinstance(request, Transaction):
            made = self._make_transaction(request)
            number = self._next_number()
            listed = {"pattern_id": number, **about, **made, "parameters": parameters}
            self.transactions.append(
                {**listed, "return_type": "array" if request.is_read else "boolean"}
            )
            return
        schema, made, returned = _read_request(table, request)
        made = self._limit(table, pattern, request, made, len(parameters))
        written[schema.name].append(
            {
                "pattern_id": self._next_number(),
                **about,
                **made,
                "parameters": parameters,
                "return_type": returned,
            }
        )

    def _next_number(self) -> int:
        self._count += 1
        return self._count

    def _make_parameter(self, parameter: Parameter) -> dict[str, Any]:
        kind = find_type(parameter.annotation)
        named = {"name": parameter.name}
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            schema = getattr(kind, "_keyfold_schema", None)
            if id(schema) in self.names:
                return {**named, "type": "entity", "entity_type": self.names[id(schema)]}
            return {**named, "type": "object"}
        return {**named, "type": _type_of_parameter(kind)}

    def _make_transaction(self, request: Transaction) -> dict[str, Any]:
        involved: list[dict[str, Any]] = []
        for each in request.requests:
            schema = each.shape.schema if isinstance(each, Get) else each.schema
            if schema is None or id(schema) not in self.names:
                raise _Inexpressible("one of its items is of no entity that is exported")
            action = next(name for kind, name in _ACTIONS if isinstance(each, kind))
            entry = {"table": each.table.name, "entity": self.names[id(schema)], "action": action}
            if isinstance(each, Put) and each.presence is Presence.MUST_NOT_EXIST:
                entry["condition"] = f"attribute_not_exists({schema.partition.attribute})"
            involved.append(entry)
        operation = "TransactGet" if request.is_read else "TransactWrite"
        return {"operation": operation, "entities_involved": involved}

    def _limit(
        self,
        table: Table,
        pattern: Pattern[..., Any],
        request: Request[Any],
        made: dict[str, Any],
        count: int,
    ) -> dict[str, Any]:
        """Return an access pattern with the range of its query, if the format can express it."""
        query = _find_query(request)
        subject = f"{table.name}: pattern {pattern.name!r}"
        if query is None:
            return made
        if query.filter is not None or query.test is not None:
            self.gaps.append(ExportGap(subject, "its filter is left out"))
        if not isinstance(query, Query) or not query.keys.is_limited:
            return made
        condition, values = _read_range(query)
        key = query.table.key if query.index is None else query.index.key
        fewest = len(key.partition) + values
        # Each attribute of the sort key but the one that the range is of may be given.
        if not fewest <= count <= fewest + max(0, len(key.sort) - 1):
            fact = (
                f"its range ({condition}) is left out: it has {count} parameters, and the format "
                f"takes {fewest}"
            )
            self.gaps.append(ExportGap(subject, fact))
            return made
        return {**made, "range_condition": condition}


def _make_request(pattern: Pattern[..., Any]) -> Request[Any]:
    try:
        request = pattern.placeholder_request()
        steps = pattern.explain().steps
    except (PatternFailed, PatternUnexplained) as error:
        raise _Inexpressible("its request is unknown", str(error)) from None
    while isinstance(request, Mapped):
        request = request.request
    # The store makes a transaction of a write of unique fields, and reads before or after it.
    written = isinstance(request, Write | CreateOrGet | Transaction)
    if len(steps) > 1 and not written:
        raise _Inexpressible(
            f"it makes {len(steps)} requests, and the format has one for a pattern"
        )
    return request


def _read_request(table: Table, request: Request[Any]) -> tuple[EntitySchema, dict[str, Any], str]:
    """Return the entity of a request, its operation, and the kind of its result."""
    match request:
        case Get(shape=shape, is_consistent=is_consistent):
            schema = _entity_of(table, shape.schema)
            made = {"operation": "GetItem", "consistent_read": is_consistent}
            return schema, made, "single_entity"
        case First(query=query):
            return _entity_of(table, query.shape.schema), _read_query(query), "single_entity"
        case PagedRead(shape=shape):
            returned = "mixed_data" if shape.schema is None else "entity_list"
            query = cast(PagedRead[Any], request)
            return _entity_of(table, shape.schema), _read_query(query), returned
        case CollectionGet(members=members, query=query):
            return members[0].schema, _read_query(query), "mixed_data"
        case CreateOrGet(put=put):
            return put.schema, {"operation": "PutItem"}, "single_entity"
        case Delete(schema=schema):
            return schema, {"operation": "DeleteItem"}, "success_flag"
        case Put(schema=schema) | Update(schema=schema):
            return schema, {"operation": request.operation}, "single_entity"
        case Batch(requests=[first, *_]):
            read = isinstance(first, Get)
            schema = first.shape.schema if isinstance(first, Get) else first.schema
            operation = "BatchGetItem" if read else "BatchWriteItem"
            returned = "entity_list" if read else "success_flag"
            return _entity_of(table, schema), {"operation": operation}, returned
        case Count():
            raise _Inexpressible("it counts items, which the format has no operation for")
        case _:
            raise _Inexpressible("the format has no operation for it")


def _read_query(query: PagedRead[Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"operation": query.operation}
    if query.index is not None:
        if query.index.local:
            raise _Inexpressible(f"it reads {query.index.name}, a local index")
        made["index_name"] = query.index.name
    return {**made, "consistent_read": query.is_consistent}


def _entity_of(table: Table, schema: EntitySchema | None) -> EntitySchema:
    found = schema or table.fallback
    if found is None:
        raise _Inexpressible("it reads items of any entity, and a pattern belongs to one")
    return found


def _find_query(request: Request[Any]) -> PagedRead[Any] | None:
    match request:
        case First(query=query) | CollectionGet(query=query):
            return query
        case _:
            return cast(PagedRead[Any], request) if isinstance(request, PagedRead) else None


def _read_range(query: Query[Any]) -> tuple[str, int]:
    """Return the operator of a query's range, and the number of its values."""
    limits = query.keys.range
    match limits:
        case SortRange(prefix=dict()):
            return "begins_with", 1
        case SortRange(low=low, high=high) | PartRange(low=low, high=high):
            if low is not None and high is not None:
                return "between", 2
            return (">=" if high is None else "<="), 1
        case _:
            return "between", 2


def _type_of_parameter(kind: Any) -> str:
    if isinstance(kind, type):
        for types, name in _PARAMETERS:
            if issubclass(kind, types):
                return name
    origin = get_origin(kind)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "object"
    return "array" if isinstance(origin, type) and issubclass(origin, list | tuple) else "string"


_PARAMETERS: tuple[tuple[tuple[type[Any], ...], str], ...] = (
    ((bool,), "boolean"),
    ((datetime,), "string"),
    ((int,), "integer"),
    ((float, Decimal), "decimal"),
    ((UUID,), "uuid"),
)
