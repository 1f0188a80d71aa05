"""Tables and indexes: their stored definitions, and the objects that encode their keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

import orjson

from keyfold.api import WriteCheck
from keyfold.engine.insights.usage import UsageMonitor
from keyfold.engine.items.key_faults import KEY_MISMATCH, KeyFault, key_fault_error
from keyfold.engine.items.keys import (
    KeyAttribute,
    KeySchema,
    fast_key_encoder,
    find_key_fault,
    index_entry_encoder,
    row_key_encoder,
)
from keyfold.engine.storage import RowSet
from keyfold.engine.tables.extras import TableExtras
from keyfold.engine.vectors.index import VectorIndex, build_vector_index
from keyfold.errors import ValidationException
from keyfold.values import Item

EntryEncoder = Callable[[Item], bytes | None]
KeyTypes = dict[str, Literal["S", "N", "B"]]


class AttributeDefinition(TypedDict):
    """One element of AttributeDefinitions, in the API's form."""

    AttributeName: str
    AttributeType: Literal["S", "N", "B"]


class KeyElement(TypedDict):
    """One element of a KeySchema, in the API's form."""

    AttributeName: str
    KeyType: str


class IndexBody(TypedDict):
    """An index as stored in the file."""

    name: str
    is_global: bool
    key: list[KeyElement]
    projection: dict[str, Any]
    column: str
    status: str
    throughput: NotRequired[dict[str, Any]]
    on_demand: NotRequired[dict[str, Any]]
    warm: NotRequired[dict[str, Any]]


class TableBody(TableExtras):
    """A table as stored in the file."""

    name: str
    id: str
    number: int
    version: int
    next_column: int
    created_at: float
    status: str
    definitions: list[AttributeDefinition]
    key: list[KeyElement]
    indexes: list[IndexBody]
    billing_mode: str
    billing_changed_at: NotRequired[float]
    throughput: dict[str, Any]
    is_protected: bool
    tags: dict[str, str]
    ttl: NotRequired[TtlBody]
    # The log of changes, if the table has a stream or point-in-time recovery.
    log: NotRequired[int]
    stream: NotRequired[StreamSettings]
    # The label of the enabled stream, or of the last one.
    latest_stream: NotRequired[str]
    recovery: NotRequired[RecoveryBody]
    # Parts of the description that are stored and returned as given: table class, encryption,
    # on-demand limits, warm throughput.
    settings: dict[str, Any]


class TtlBody(TypedDict):
    """The attribute that holds the time at which an item expires, and the column for it."""

    attribute: str
    column: str


class StreamSettings(TypedDict):
    """The enabled stream and its view type."""

    label: str
    view: str


class RecoveryBody(TypedDict):
    """How far back a table can be restored: `days`, but not to before `since`."""

    days: int
    since: float


# Python 3.11 cannot see NotRequired in annotations that are strings, so those fields are listed.
REQUIRED_FIELDS = (
    frozenset(TableBody.__annotations__)
    - frozenset(TableExtras.__annotations__)
    - {"ttl", "log", "stream", "latest_stream", "recovery", "billing_changed_at"}
)


class EngineIndex(NamedTuple):
    """A secondary index."""

    name: str
    is_global: bool
    key: KeySchema
    projection: str
    # The attributes that the index projects, keys included; None for all.
    projected: frozenset[str] | None
    column: str
    status: str
    encode: EntryEncoder
    # The attributes of a LastEvaluatedKey: the table's key and the index's own.
    cursor_names: tuple[str, ...]

    def project(self, item: Item) -> Item:
        """Return the attributes of `item` that the index projects."""
        if self.projected is None:
            return item
        kept = self.projected
        return {name: value for name, value in item.items() if name in kept}


@dataclass(frozen=True, slots=True)
class EngineTable:
    """A table, ready for use: built once from its body, then only read."""

    body: TableBody
    name: str
    rows: RowSet
    key: KeySchema
    encode_key: Callable[[Item], bytes]
    # The same for an unchecked `Key` parameter, for the fast path; see `fast_key_encoder`.
    encode_fast_key: Callable[[dict[str, Any]], bytes | None]
    indexes: dict[str, EngineIndex]
    vectors: dict[str, VectorIndex]
    # One for each column of the rows, in their order.
    encoders: tuple[EntryEncoder, ...]
    # The log to which each commit also writes the changes of items; None for most tables.
    log: int | None
    # Counts and throttles the table's usage; None for nearly all tables.
    monitor: UsageMonitor | None = field(default=None, compare=False)
    # Decides which writes are accepted; None for tables without a declaration.
    check: WriteCheck | None = field(default=None, compare=False)
    key_names: frozenset[str] = field(init=False)
    index_key_names: frozenset[str] = field(init=False)
    # The plans of queries, by what they are compiled from; see `query_plans.find_plan`.
    query_plans: dict[Any, Any] = field(
        init=False, compare=False, repr=False, default_factory=dict[Any, Any]
    )

    def __post_init__(self) -> None:
        names = [name for index in self.indexes.values() for name in index.key.names]
        object.__setattr__(self, "key_names", frozenset(self.key.names))
        object.__setattr__(self, "index_key_names", frozenset(names))

    @property
    def has_local_indexes(self) -> bool:
        """Whether any index shares the table's partition key."""
        return any(not index.is_global for index in self.indexes.values())

    def entries(self, item: Item) -> tuple[bytes | None, ...]:
        """Return the item's entry in each index; raise KeyInvalid if it is invalid for one."""
        return tuple([encode(item) for encode in self.encoders])

    def key_of(self, item: Item) -> Item:
        """Return the key attributes of `item`."""
        return {name: item[name] for name in self.key.names}


def encode_key_of(
    table: EngineTable, key: Item, to_error: Callable[[KeyFault], Exception] = key_fault_error
) -> bytes:
    """Return the row key for a normalised `Key` parameter.

    Raises ValidationException if its attributes are not those of the table's key, and the error
    that `to_error` returns for a fault in their values.
    """
    if len(key) != len(table.key_names):
        raise ValidationException(KEY_MISMATCH)
    try:
        return table.encode_key(key)
    except KeyError:
        fault = find_key_fault(table.key, key)
        assert fault is not None  # or it would have been encoded
        raise to_error(fault) from None


class Unreadable(Exception):
    """Stored data is damaged. The message names the data; the engine raises FileDamaged for it."""


def read_stored(table: EngineTable, value: bytes) -> tuple[bytes, Item]:
    """Return the row key and the item of a stored value; raise Unreadable if it is damaged."""
    try:
        item = orjson.loads(value)
        return table.encode_key(item), item
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"an item of table {table.name}") from error


def build_table(body: TableBody) -> EngineTable:
    """Build a table from its body."""
    types: KeyTypes = {each["AttributeName"]: each["AttributeType"] for each in body["definitions"]}
    key = read_schema(body["key"], types)
    indexes = {each["name"]: _build_index(each, key, types) for each in body["indexes"]}
    vectors = {
        each["name"]: build_vector_index(each, key, types) for each in body.get("vectors", ())
    }
    encoders = {index.column: index.encode for index in (*indexes.values(), *vectors.values())}
    ttl = body.get("ttl")
    if ttl is not None:
        encoders[ttl["column"]] = expiry_encoder(ttl["attribute"])
    return EngineTable(
        body=body,
        name=body["name"],
        rows=RowSet(body["number"], body["version"], tuple(encoders)),
        key=key,
        encode_key=row_key_encoder(key),
        encode_fast_key=fast_key_encoder(key),
        indexes=indexes,
        vectors=vectors,
        encoders=tuple(encoders.values()),
        log=body.get("log"),
    )


def read_schema(elements: list[KeyElement], types: KeyTypes) -> KeySchema:
    """Build a KeySchema from the API's form."""

    def of_kind(kind: str) -> tuple[KeyAttribute, ...]:
        return tuple(
            KeyAttribute(each["AttributeName"], types[each["AttributeName"]])
            for each in elements
            if each["KeyType"] == kind
        )

    return KeySchema(of_kind("HASH"), of_kind("RANGE"))


def _build_index(body: IndexBody, table_key: KeySchema, types: KeyTypes) -> EngineIndex:
    key = read_schema(body["key"], types)
    kind = body["projection"]["ProjectionType"]
    projected = None
    if kind != "ALL":
        named = body["projection"].get("NonKeyAttributes", [])
        projected = frozenset((*table_key.names, *key.names, *named))
    return EngineIndex(
        name=body["name"],
        is_global=body["is_global"],
        key=key,
        projection=kind,
        projected=projected,
        column=body["column"],
        status=body["status"],
        encode=index_entry_encoder(body["name"], key),
        cursor_names=tuple(dict.fromkeys(table_key.names + key.names)),
    )


EXPIRY_BYTES = 8
LAST_SECOND = 1 << 63


def expiry_encoder(attribute: str) -> EntryEncoder:
    """Return a function that encodes the column by which expired items are found.

    The function returns None for an item that never expires: one without the attribute, or with
    a value that is not a number of seconds.
    """

    def encode(item: Item) -> bytes | None:
        text = item.get(attribute, {}).get("N")
        seconds = -1 if text is None else int(Decimal(text))
        return encode_expiry(seconds) if 0 <= seconds < LAST_SECOND else None

    return encode


def encode_expiry(seconds: int) -> bytes:
    """Encode a time in whole seconds so that bytes sort as times."""
    return max(seconds, 0).to_bytes(EXPIRY_BYTES, "big")
