"""Stream records: parsed from the API, serialised for storage, decoded for handlers."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from keyfold.errors import ItemInvalid
from keyfold.model._changes import Change, ChangeKind, Handler
from keyfold.model._keys import identify
from keyfold.model._reads import Get, Ref, ResultShape
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.model._tables import Table
from keyfold.store._decoding import SKIPPED, Decoder
from keyfold.store._own_items import is_own_item
from keyfold.store._plans import RunContext
from keyfold.values import Item

_KINDS: dict[str, ChangeKind] = {"INSERT": "inserted", "MODIFY": "changed", "REMOVE": "removed"}
_EXPIRER = "dynamodb.amazonaws.com"
_ITEM_ID_BYTES = 12
_BINARY = "base64"


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """A stream record, whose images are not decoded into entities yet."""

    id: str
    kind: ChangeKind
    key: Item
    old: Item | None
    new: Item | None
    at: datetime
    sequence: str
    by_expiry: bool

    @classmethod
    def from_dynamodb(cls, record: Mapping[str, Any], table: Table) -> StreamRecord:
        """Parse a record of a table's stream, as returned by GetRecords."""
        fields: Mapping[str, Any] = record["dynamodb"]
        # Some clients parse it into a datetime, others return the number that was sent.
        at: datetime | float = fields["ApproximateCreationDateTime"]
        identity: Mapping[str, str] = record.get("userIdentity") or {}
        principal = identity.get("PrincipalId", identity.get("principalId"))
        return cls(
            id=record["eventID"],
            kind=_KINDS[record["eventName"]],
            # The service returns them in any order.
            key={name: fields["Keys"][name] for name in (*table.key.partition, *table.key.sort)},
            old=fields.get("OldImage"),
            new=fields.get("NewImage"),
            at=at if isinstance(at, datetime) else datetime.fromtimestamp(at, UTC),
            sequence=fields["SequenceNumber"],
            by_expiry=principal == _EXPIRER,
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> StreamRecord:
        """Deserialise the result of `to_bytes`."""
        parts: dict[str, Any] = json.loads(zlib.decompress(data), object_hook=_read_binary)
        parts["at"] = datetime.fromisoformat(parts["at"])
        return cls(**parts)

    def to_bytes(self) -> bytes:
        """Return the record serialised for storage."""
        parts = {name: getattr(self, name) for name in self.__slots__}
        text = json.dumps({**parts, "at": self.at.isoformat()}, default=_write_binary)
        return zlib.compress(text.encode())

    @property
    def item_id(self) -> str:
        """A hash of the item's key: the same for all records of one item, of a fixed width."""
        identity = repr(identify("", self.key)).encode()
        return blake2b(identity, digest_size=_ITEM_ID_BYTES).hexdigest()


def _write_binary(value: Any) -> Any:
    # Attribute values are dictionaries, never strings, so nothing else has this form.
    return {_BINARY: b64encode(bytes(value)).decode()}


def _read_binary(value: dict[str, Any]) -> Any:
    if len(value) == 1 and isinstance(value.get(_BINARY), str):
        return b64decode(value[_BINARY])
    return value


class ChangeReader:
    """Turns the records of a table into changes, for each handler in its entity types."""

    def __init__(self, table: Table, context: RunContext) -> None:
        self._table, self._context = table, context

    def find_handlers(self, record: StreamRecord) -> list[Handler[Any]]:
        """Return the handlers to call for a record, in the order of their declaration."""
        if is_own_item(self._table, record.key):
            return []
        schemas = self._find_schemas(record)
        return [
            handler
            for handler in self._table.handlers.values()
            if not handler.entities
            or any(schema is not None and schema.entity in handler.entities for schema in schemas)
        ]

    def read(self, record: StreamRecord, handler: Handler[Any]) -> Change[Any]:
        """Return the change that a handler is called with; raises ItemInvalid."""
        old, is_old_hidden = self._decode(record.old, handler)
        new, is_new_hidden = self._decode(record.new, handler)
        kind = record.kind
        if kind == "changed" and is_old_hidden is not is_new_hidden:
            # The item was, or has become, of an entity that the handler does not take.
            kind = "inserted" if is_old_hidden else "removed"
        return Change(
            kind=kind,
            old=old,
            new=new,
            at=record.at,
            by_expiry=record.by_expiry,
            key=record.key,
            ref=self._make_ref(record, handler),
            id=record.id,
        )

    def _find_schemas(self, record: StreamRecord) -> list[EntitySchema | None]:
        images = [image for image in (record.new, record.old) if image is not None]
        return [self._find_schema(image) for image in images or [record.key]]

    def _find_schema(self, item: Item) -> EntitySchema | None:
        try:
            return self._table.find_schema(item)
        except ItemMismatch:
            return None

    def _decode(self, image: Item | None, handler: Handler[Any]) -> tuple[Any, bool]:
        """Return the entity in an image, and whether the handler does not take that entity."""
        if image is None:
            return None, False
        schema = self._find_schema(image)
        if handler.entities and (schema is None or schema.entity not in handler.entities):
            return None, True
        found = self._decoder(ResultShape(schema)).decode(image)
        assert found is not SKIPPED  # it is of that schema, and not one of Keyfold's own items
        return found, False

    def _make_ref(self, record: StreamRecord, handler: Handler[Any]) -> Ref[Any] | None:
        for schema in self._find_schemas(record):
            if schema is None or (handler.entities and schema.entity not in handler.entities):
                continue
            # The keys may not identify the entity without the type attribute.
            with suppress(ItemInvalid):
                decoder = self._decoder(ResultShape(schema, as_refs=True))
                found = decoder.decode(record.new or record.old or record.key)
                if isinstance(found, Ref):
                    return found  # pyright: ignore[reportUnknownVariableType] - of any entity
        return None

    def _decoder(self, shape: ResultShape[Any]) -> Decoder:
        # Handlers also get images of expired items.
        get: Get[Any] = Get(self._table, {}, shape, includes_expired=True)
        return Decoder(self._context, get, on_invalid="raise")
