"""Whether an index projects what a query reads: checked when it runs, and when it is explained."""

from __future__ import annotations

from typing import Any, cast

from keyfold.errors import QueryInvalid
from keyfold.model._keys import Index
from keyfold.model._layouts import DeclaredTable
from keyfold.model._operands import attributes_in
from keyfold.model._paged_reads import Count, Query, Scan


def check_readable(request: Query[Any] | Scan[Any]) -> None:
    """Raise QueryInvalid if the index of a query does not project what the query reads."""
    index, shape = request.index, request.shape
    if index is None or index.project == "all":
        return
    if request.filter is not None:
        lacking = index.find_unprojected(request.table, sorted(attributes_in(request.filter)))
        if lacking:
            fact = f"{index.name} does not hold {', '.join(lacking)}, which where() uses"
            raise QueryInvalid(repr(request), fact, "Query the table, or filter by other fields.")
    if shape.as_refs:
        return
    if shape.only is None or shape.schema is None:
        fact = f"{index.name} holds only some attributes of its items"
        raise QueryInvalid(repr(request), fact, "Use refs(), or only() with some of the fields.")
    wanted = shape.attributes(request.table, None) or ()
    lacking = index.find_unprojected(request.table, wanted)
    # What is part of the primary key, every index holds.
    by_key = shape.schema.recoverable_attributes
    optional = (request.table.ttl, *shape.former_names, *by_key)
    lacking = [name for name in lacking if name not in optional]
    if lacking:
        fact = f"{index.name} does not hold {', '.join(lacking)}"
        raise QueryInvalid(repr(request), fact, "Use only() with other fields, or refs().")
    if _hides_expiry(request, index):
        fact = f"{index.name} does not hold {request.table.ttl!r}, so expired items would be found"
        raise QueryInvalid(repr(request), fact, "Use refs(), or include_expired().")


def check_countable(request: Count) -> None:
    """Raise QueryInvalid if the index of a query does not project what counting it reads."""
    query = request.source
    check_readable(query)
    index = query.index
    if index is not None and _hides_expiry(query, index):
        fact = f"{index.name} does not hold {query.table.ttl!r}, so expired items would be counted"
        raise QueryInvalid(repr(request), fact, "Count in the table, or use include_expired().")


def _hides_expiry(request: Query[Any] | Scan[Any], index: Index) -> bool:
    """Return whether items may have expired although their index entries do not show it."""
    table, schema = request.table, request.shape.schema
    if table.ttl is None or request.includes_expired:
        return False
    if not index.find_unprojected(table, [table.ttl]):
        return False
    # Requests are made by declared tables.
    schemas = cast(DeclaredTable, table).entities.values() if schema is None else [schema]
    return any(each.ttl_field is not None or each.codec.has_extra for each in schemas)
