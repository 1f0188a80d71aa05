"""What principals see of changes: only items that they could get, and of these what they could get.

A key never changes, so both images of a record belong to whoever may get its key. An item that is
moved to another key is deleted there and created here, and each of its owners sees their part.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

from pydantic_core import PydanticSerializationError, to_jsonable_python

from keyfold.errors import KeyPartInvalid
from keyfold.model import Table
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.model._seen_values import read_key_fields
from keyfold.policy import find_readable
from keyfold.service._bodies import write_exactly
from keyfold.service._callers import Caller
from keyfold.service._events import EventKind
from keyfold.service._positions import EventIds
from keyfold.store import AsyncStore
from keyfold.store._own_items import is_own_item
from keyfold.store._principals import PrincipalSettings
from keyfold.store._records import StreamRecord
from keyfold.values import AttributeValue, Item

_LOG = logging.getLogger("keyfold.service")

_KINDS: dict[str, EventKind] = {"inserted": "created", "changed": "changed", "removed": "deleted"}


class VisibleChange(NamedTuple):
    """A change as one principal sees it: the kind of its event, and its data as JSON."""

    kind: EventKind
    data: bytes


class RecordedChange:
    """A change of an item, decoded once for all who see it."""

    def __init__(self, table: Table, record: StreamRecord) -> None:
        self.table, self.record = table, record

    @cached_property
    def names(self) -> frozenset[str]:
        """The attributes that the images have."""
        return frozenset((*(self.record.old or ()), *(self.record.new or ()), *self.record.key))

    @cached_property
    def schema(self) -> EntitySchema | None:
        """The schema of the entity that was changed; None if the item is of no entity."""
        record = self.record
        if is_own_item(self.table, record.key):
            return None
        return self._find_schema(record.new or record.old or record.key)

    @cached_property
    def old(self) -> Item | None:
        """The image before the change, unless the item was of another entity then."""
        image = self.record.old
        if image is None or self._find_schema(image) is not self.schema:
            return None
        return image

    @cached_property
    def kind(self) -> EventKind:
        """The kind of its event."""
        if self.record.old is not None and self.old is None and self.record.new is not None:
            # Another entity had the key.
            return "created"
        return _KINDS[self.record.kind]

    @cached_property
    def whole(self) -> VisibleChange | None:
        """The change as those see it who may get the whole item."""
        data = self.describe(None)
        return None if data is None else VisibleChange(self.kind, write_exactly(data))

    def describe(self, readable: frozenset[str] | None) -> dict[str, Any] | None:
        """Return the data of the event, with all attributes or some; None if there is nothing to tell."""
        schema, record = self.schema, self.record
        if schema is None:
            return None
        old, new = self.old, record.new
        if readable is not None and old is not None and new is not None:
            is_same = _select(old, readable) == _select(new, readable)
            if is_same:
                # Only attributes that are hidden have changed.
                return None
        data: dict[str, Any] = {
            "entity": schema.name,
            "change": self.kind,
            "key": _show_key(schema, record.key),
            "at": record.at.isoformat(),
        }
        if self.kind == "deleted":
            data["by_expiry"] = record.by_expiry
        for name, image in (("new", new), ("old", old)):
            shown = None if image is None else self._show(schema, image, readable)
            if shown is not None:
                data[name] = shown
        return data

    def _find_schema(self, item: Mapping[str, AttributeValue]) -> EntitySchema | None:
        try:
            return self.table.find_schema(item)
        except ItemMismatch:
            return None

    def _show(
        self, schema: EntitySchema, image: Item, readable: frozenset[str] | None
    ) -> dict[str, Any] | None:
        """Return the entity in an image as JSON; None if it does not fit its declaration."""
        fields = None
        if readable is not None:
            fields = {
                field.name
                for field in schema.fields.values()
                if field.is_part or field.stored in readable
            }
        try:
            entity = schema.decode(image)
            return entity.model_dump(mode="json", by_alias=True, warnings=False, include=fields)
        except (ItemMismatch, PydanticSerializationError, UnicodeDecodeError) as error:
            # Its owner is told that it has changed, and reads what patterns return of it.
            _LOG.warning("changes of %s: a %s is left out: %s", self.table.name, schema.name, error)
            return None


def _show_key(schema: EntitySchema, key: Item) -> Any:
    """Return the fields that a key is made from, as JSON."""
    fields: Mapping[str, Any] = read_key_fields(schema, key)
    with suppress(KeyPartInvalid):
        fields = schema.coerce(fields)
    return to_jsonable_python(fields, fallback=str)


def _select(image: Item, names: frozenset[str]) -> dict[str, AttributeValue]:
    return {name: value for name, value in image.items() if name in names}


class PrincipalView:
    """What one principal sees of a table's changes, and its event ids.

    Raises PrincipalInvalid for roles or ids that the store's tables do not have.
    """

    def __init__(self, store: AsyncStore, table: Table, caller: Caller) -> None:
        own = store.as_principal(*caller.roles, **caller.ids)
        settings = own._settings  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - hidden from users only
        assert isinstance(settings, PrincipalSettings)  # as every principal's
        # None if the table has none of the roles, but another of the store's tables has.
        self.guard, self._handles = settings.find_guard(table.name), own.handles
        self.principal = caller.principal
        self.ids = EventIds(settings.cursors, table.name)

    def show(self, change: RecordedChange) -> VisibleChange | None:
        """Return what the principal sees of a change; None if it sees nothing of it."""
        if self.guard is None:
            return None
        names = change.names
        readable = find_readable(self.guard, change.record.key, names)
        if readable is None:
            return None
        is_whole = readable >= names
        if is_whole and self._handles is None:
            return change.whole
        data = change.describe(None if is_whole else readable)
        if data is None:
            return None
        if self._handles is not None:
            data = self._handles.show_json(data)
        return VisibleChange(change.kind, write_exactly(data))
