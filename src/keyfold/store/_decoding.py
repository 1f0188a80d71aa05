"""Decodes items into the results of a request: entities, partial models or refs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any

from pydantic import ValidationError

from keyfold.errors import ItemInvalid
from keyfold.model._any_values import decode_any
from keyfold.model._expiry import whole_seconds
from keyfold.model._formatting import show_item, summarise
from keyfold.model._paged_reads import Query, Scan
from keyfold.model._reads import Get, Ref
from keyfold.model._results import RawItem
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.model._seen_values import read_key_fields
from keyfold.model._tables import Table
from keyfold.store._own_items import is_own_item
from keyfold.store._plans import OnInvalid, RunContext
from keyfold.values import AttributeValue, Item


class Skipped(Enum):
    """Returned for an item that is not part of the result."""

    SKIPPED = auto()


SKIPPED = Skipped.SKIPPED


class Decoder:
    """Decodes the items of one request."""

    __slots__ = (
        *("_is_own", "_now_seconds", "_other", "_own_in", "_partition", "_reports", "_shape"),
        *("_table", "_ttl"),
        *("invalid", "is_other"),
    )

    def __init__(
        self,
        context: RunContext,
        request: Get[Any] | Query[Any] | Scan[Any],
        *,
        on_invalid: OnInvalid,
    ) -> None:
        # Requests are made by declared tables.
        table: Any = request.table
        self._table: Table = table
        self._shape = request.shape
        self._ttl = None if request.includes_expired else table.ttl
        # The attribute that tells Keyfold's own items, if any may be read.
        self._own_in = self._table.key.partition[0] if table.may_read_own_items else None
        # The partition key of the last item, and whether it is that of an own item: the items of a query
        # share theirs.
        self._partition: AttributeValue | None = None
        self._is_own = False
        self._now_seconds = 0 if self._ttl is None else whole_seconds(context.now)
        self._reports = on_invalid == "report"
        # The entity of the last item that was of another one: the next is often of the same.
        self._other: EntitySchema | None = None
        # For queries of a table, whose items share a partition key: tells by a sort key that an item is
        # certainly of that other entity; None if that takes more.
        self.is_other: Callable[[str], object] | None = None
        # The items that do not fit, if they are to be reported.
        self.invalid: list[RawItem] = []

    def decode(
        self, item: Mapping[str, AttributeValue], known: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the result for an item; SKIPPED if it has expired or is of another entity.

        `known` holds the key fields, if the request gave them. An item that fails validation raises
        ItemInvalid; if such items are to be reported, it is added to `invalid`, and skipped.
        """
        shape, keys = self._shape, known
        schema = shape.schema
        try:
            # First what tells items of other entities: a page may have many of them.
            if schema is not None and keys is None:
                keys = schema.read_keys(item)
                if keys is None:
                    return SKIPPED
            # As `_is_hidden`, without another call for every item.
            ttl, own_in = self._ttl, self._own_in
            if ttl is not None and ttl in item and is_expired(item, ttl, self._now_seconds):
                return SKIPPED
            if own_in is not None:
                partition = item.get(own_in)
                if partition != self._partition:
                    self._partition, self._is_own = partition, is_own_item(self._table, item)
                if self._is_own:
                    return SKIPPED
            if schema is None:
                schema = self._table.find_schema(item)
            elif self._table.fallback is not None and not self._table.is_of(schema, item):
                return SKIPPED
            if shape.as_refs:
                return self._make_ref(schema, item)
            if shape.only is not None:
                return _decode_only(schema, shape.only, item)
            return schema.decode(item, keys)
        except ItemMismatch as error:
            if self._is_hidden(item):
                return SKIPPED
            if shape.schema is None and self._table.fallback is not None:
                loose = self._decode_loose(item)
                if loose is not None:
                    return loose
            return self._report(item, str(error), schema)

    def _decode_loose(self, item: Mapping[str, AttributeValue]) -> Any:
        """Return an item that does not fit the entity of its key as the fallback, if it fits that."""
        assert self._table.fallback is not None  # or this would not be called
        try:
            return self._table.fallback.decode(item)
        except ItemMismatch:
            return None

    def report_unknown(self, item: Mapping[str, AttributeValue]) -> None:
        """Report an item that was skipped if it is of no entity of the table."""
        if self._other is not None and self._other.fits(item):
            return
        schema, neighbours = self._shape.schema, self._table.neighbours
        if self._other is None and schema is not None:
            known = neighbours.get(schema.name)
            if known is not None and known.fits(item):
                self._other, self.is_other = known, self._find_matcher(known)
                return
        if self._is_hidden(item):
            return
        try:
            self._other = self._table.find_schema(item)
        except ItemMismatch as error:
            self._report(item, str(error), None)
        else:
            self.is_other = self._find_matcher(self._other)
            if schema is not None:
                neighbours[schema.name] = self._other

    def _find_matcher(self, other: EntitySchema) -> Callable[[str], object] | None:
        """Return what tells items of another entity, if none of them can be of the request's."""
        schema, table = self._shape.schema, self._table
        if schema is None or other is schema or other is table.fallback:
            return None
        may_share = any(each is other for each in table.find_sharing(schema))
        return None if may_share else other.find_sort_matcher()

    def _is_hidden(self, item: Mapping[str, AttributeValue]) -> bool:
        """Return whether an item has expired or is one of Keyfold's own, of which nobody is told."""
        if self._ttl is not None and is_expired(item, self._ttl, self._now_seconds):
            return True
        return is_own_item(self._table, item)

    def _make_ref(self, schema: EntitySchema, item: Mapping[str, AttributeValue]) -> Ref[Any]:
        parts = read_key_fields(schema, item)
        return Ref(schema.entity, self.key_of(item), parts)

    def key_of(self, item: Mapping[str, AttributeValue]) -> Item:
        """Return the primary key of an item."""
        return {name: item[name] for name in self._table.key.names if name in item}

    def _report(
        self, item: Mapping[str, AttributeValue], reason: str, schema: EntitySchema | None
    ) -> Skipped:
        key = self.key_of(item)
        if not self._reports:
            raise ItemInvalid(self._table.name, show_item(key), reason)
        entity = None if schema is None else schema.name
        self.invalid.append(RawItem(self._table.name, key, dict(item), reason, entity))
        return SKIPPED


def _decode_only(schema: EntitySchema, model: type[Any], item: Mapping[str, AttributeValue]) -> Any:
    raw: dict[str, Any] = {}
    _, item = schema.current_forms(item)
    for name in model.__pydantic_fields__:
        field = schema.fields[name]
        if field.is_part:
            continue
        value = item.get(field.stored)
        if value is not None:
            raw[name] = (field.codec.decode or decode_any)(value)
        elif name in schema.codec.absent:
            raw[name] = set[Any]() if schema.codec.absent[name] else None
    if schema.recoverable_attributes:
        raw |= schema.recover(item, model.__pydantic_fields__)
    wanted = set(schema.parts).intersection(model.__pydantic_fields__)
    if wanted:
        for part in schema.keys:
            if part.template is not None:
                parsed = part.template.parse(item.get(part.attribute, {}).get("S", "")) or {}
                raw.update({name: parsed[name] for name in wanted.intersection(parsed)})
    try:
        return model.model_validate(raw, strict=False, by_alias=False, by_name=True)
    except ValidationError as error:
        raise ItemMismatch(
            f"it is not a valid {model.__name__}: {summarise(error, whole='item')}"
        ) from error


def is_expired(item: Mapping[str, AttributeValue], ttl: str, now_seconds: int) -> bool:
    """Return whether an item has expired, by the same rule as in conditions."""
    value = item.get(ttl)
    if value is None:
        return False
    text = value.get("N")
    return text is not None and float(text) <= now_seconds
