"""The plan of a collection: one query, whose items are grouped by member."""

from __future__ import annotations

from typing import Any

from keyfold.errors import ItemInvalid
from keyfold.model._calls import ApiCall, Calls
from keyfold.model._collections import CURSOR, INVALID, CollectionGet
from keyfold.model._formatting import show_item
from keyfold.model._index_reads import check_readable
from keyfold.model._replacing import replace
from keyfold.model._results import RawItem
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.store._decoding import SKIPPED, Decoder
from keyfold.store._plans import Plan, RunContext, attempt, report_capacity
from keyfold.store._reads import binding_of, position_of, suggest_limit
from keyfold.values import Item


def plan_collection(context: RunContext, request: CollectionGet[Any], calls: Calls) -> Plan[Any]:
    """Read entities of several types, and group them; None if a required member is missing.

    Reads until the lists have as many entities as the limit says, or to the end.
    """
    query = request.query
    check_readable(query)
    reader = _CollectionReader(context, request)
    (call,) = calls
    report_capacity(context, call)
    if request.cursor is not None:
        start = context.store.open(request.cursor, binding_of(request.rest))
        call.request["ExclusiveStartKey"] = start
    while True:
        before = reader.listed
        response = yield from attempt(context, request, call)
        last = response.get("LastEvaluatedKey")
        place = reader.read(response["Items"])
        if place is not None:
            is_last = place == len(response["Items"]) - 1
            position = last if is_last else position_of(query, response["Items"][place])
            return reader.make(position)
        if last is None:
            return reader.make(None)
        call = ApiCall(call.operation, call.request)
        call.request["ExclusiveStartKey"] = last
        if request.list_limit is not None:
            call.request["Limit"] = suggest_limit(
                request.list_limit - reader.listed,
                matched=reader.listed - before,
                read=response["ScannedCount"],
                requested=call.request["Limit"],
            )


class _CollectionReader:
    """Groups the items of one collection."""

    def __init__(self, context: RunContext, request: CollectionGet[Any]) -> None:
        self._context, self._request = context, request
        self._groups: dict[str, list[Any]] = {each.name: [] for each in request.members}
        shape, mode = request.query.shape, context.store.on_invalid
        self._decoders = [
            (
                each,
                Decoder(
                    context,
                    replace(request.query, shape=replace(shape, schema=each.schema)),
                    on_invalid=mode,
                ),
            )
            for each in request.members
        ]
        # The number of entities in the lists.
        self.listed = 0

    def read(self, items: list[Item]) -> int | None:
        """Add items to the collection; return the place of the item at which the lists are full."""
        for place, item in enumerate(items):
            for member, decoder in self._decoders:
                value = decoder.decode(item)
                if value is SKIPPED:
                    continue
                if _matches(value, self._request.parts):
                    self._groups[member.name].append(value)
                    self.listed += member.is_list
                break
            else:
                self._decoders[0][1].report_unknown(item)
            if self.listed == self._request.list_limit:
                return place
        return None

    def make(self, position: Item | None) -> Any:
        """Return the collection; None if a required member is missing.

        Raises ItemInvalid if it is not missing but invalid.
        """
        request, invalid = self._request, self._find_invalid()
        values: dict[str, Any] = {}
        for member in request.members:
            group = self._groups[member.name]
            if member.is_list:
                values[member.name] = group
            elif group:
                values[member.name] = group[0]
            elif member.is_required:
                for each in invalid:
                    if each.entity == member.schema.name:
                        table = member.schema.table.name
                        raise ItemInvalid(table, show_item(each.key), each.reason)
                return None
            else:
                values[member.name] = None
        collection = request.collection.model_construct(**values)
        if position is not None:
            cursor = self._context.store.seal(position, binding_of(request.rest))
            # As functools.cached_property does: not a field, and not part of ==.
            collection.__dict__[CURSOR] = cursor
        if invalid:
            collection.__dict__[INVALID] = invalid
        return collection

    def _find_invalid(self) -> tuple[RawItem, ...]:
        """Return the invalid items, without those of other collections in the same partition."""
        return tuple(
            each
            for member, decoder in self._decoders
            for each in decoder.invalid
            if each.entity is None or _has_parts(member.schema, each, self._request.parts)
        )


def _has_parts(schema: EntitySchema, raw: RawItem, parts: dict[str, Any]) -> bool:
    try:
        keys = schema.read_keys(raw.item) or {}
    except ItemMismatch:
        return True
    return all(keys.get(name, given) == given for name, given in parts.items())


def _matches(value: Any, parts: dict[str, Any]) -> bool:
    return all(getattr(value, name, given) == given for name, given in parts.items())
