"""Makes the checks with which an engine refuses writes that do not fit a table's declaration.

A check needs no store and no database: the engine calls it inside the write's transaction, and
shows it the item before and after the write, and the other items that it asks for.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pydantic import BaseModel

from keyfold.api import ProposedWrite, WriteCheck
from keyfold.clocks import Clock
from keyfold.errors import WriteRefused
from keyfold.model._formatting import show_item
from keyfold.model._keys import Index
from keyfold.model._reserved import find_reserved, reserved_fact
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.model._tables import Table
from keyfold.store._guard_checks import (
    GuardFault,
    find_guard_fault,
    find_orphaned_guard,
    find_unguarded,
)
from keyfold.store._guards import is_guard
from keyfold.store._item_checks import read_writable
from keyfold.store._older_faults import concerns_others, find_older_fault, without_older_fault
from keyfold.store._own_items import find_own_item_fault, is_own_item
from keyfold.values import Item, restore_binaries

_WITHOUT_BYTES = frozenset({"S", "N", "BOOL", "NULL", "SS", "NS"})


def make_write_checks(
    tables: Iterable[Table], *, clock: Clock = time.time
) -> dict[str, WriteCheck]:
    """Return the checks of tables by table name, for `Engine.open(write_checks=…)`.

    By `clock`, which should be the engine's, unique values of expired items are free.

    >>> from keyfold.designs import market
    >>> from keyfold.engine import Engine
    >>> from keyfold.errors import ValidationException
    >>> engine = Engine.open(":memory:", write_checks=make_write_checks([market.table]))
    >>> _ = engine.execute("CreateTable", market.table.to_dynamodb())
    >>> item = {"pk": {"S": "U#ada"}, "sk": {"S": "U#ada"}, "name": {"N": "1"}}
    >>> try:
    ...     engine.execute("PutItem", {"TableName": "Market", "Item": item})
    ... except ValidationException as error:
    ...     print(error.message)
    item pk='U#ada' sk='U#ada' of Market: name: Input should be a valid string. [write-refused]
    >>> engine.close()

    Raises DeclarationInvalid.
    """
    checks: dict[str, WriteCheck] = {}
    for table in tables:
        table.check()
        checks[table.name] = DeclarationCheck(table, clock)
    return checks


@dataclass(frozen=True, slots=True)
class DeclarationCheck:
    """Accepts the writes that leave items as a table declares them."""

    table: Table
    clock: Clock = time.time
    # By entity: see `_foreign_indexes`.
    foreign_indexes: dict[str, tuple[Index, ...]] = field(
        default_factory=dict[str, tuple[Index, ...]], repr=False, compare=False
    )

    # Those in which items may have unique values.
    unique_attributes: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Collect the attributes of unique fields."""
        found = frozenset(
            attribute
            for schema in self.table.entities.values()
            for each in schema.unique.values()
            for attribute in each.attributes
        )
        object.__setattr__(self, "unique_attributes", found)

    def __call__(self, write: ProposedWrite, /) -> str | None:
        """Return why a write is refused; None if it is accepted."""
        item = write.before if write.after is None else write.after
        if item is None:
            return None
        if is_guard(self.table, item):
            fault = find_guard_fault(self.table, write, self._read_clock())
            return None if fault is None else self._refuse(item, fault.fact, fault.advice)
        if is_own_item(self.table, item):
            fact = None if write.after is None else find_own_item_fault(self.table, item)
            return None if fact is None else self._refuse(item, fact, "")
        if write.after is None:
            return self._find_delete_fault(item, write)
        return self._find_fault(_with_bytes(item), write)

    def _read_clock(self) -> datetime:
        return datetime.fromtimestamp(self.clock(), UTC)

    def _find_delete_fault(self, item: Item, write: ProposedWrite) -> str | None:
        """Return why an item may not be deleted: it is left to declared entities, or has a guard."""
        fallback = self.table.fallback
        prefix = None if fallback is None else find_reserved(fallback, item)
        if fallback is not None and prefix is not None and not self._is_declared(fallback, item):
            return self._refuse(item, reserved_fact(fallback.partition.attribute, prefix), "")
        fault = self._find_orphaned_guard(write)
        return None if fault is None else self._refuse(item, fault.fact, fault.advice)

    def _is_declared(self, fallback: EntitySchema, item: Item) -> bool:
        return self.table.find_schema(restore_binaries(item)) is not fallback

    def _find_fault(self, item: Item, write: ProposedWrite) -> str | None:
        try:
            found = self._read(item, write)
        except ItemMismatch as error:
            return self._refuse(item, str(error), self._advise(item))
        except Exception as error:  # noqa: BLE001 - whatever the validators of the user raise
            return self._refuse(item, f"its validation failed: {type(error).__name__}: {error}", "")
        if found is None:
            return None
        schema, value = found
        misplaced = self._find_index_fault(schema, item, write)
        if misplaced is not None:
            return self._refuse(item, misplaced, "")
        fault = None
        if schema.unique:
            fault = find_unguarded(schema, item, value, write, self._read_clock())
        # An entity that shares its key with others may replace one of them.
        if schema.unique or any(each.unique for each in self.table.find_sharing(schema)):
            fault = fault or self._find_orphaned_guard(write)
        return None if fault is None else self._refuse(item, fault.fact, fault.advice)

    def _find_orphaned_guard(self, write: ProposedWrite) -> GuardFault | None:
        if write.before is None or self.unique_attributes.isdisjoint(write.before):
            return None
        return find_orphaned_guard(self.table, write, self._read_clock())

    def _read(self, item: Item, write: ProposedWrite) -> tuple[EntitySchema, BaseModel] | None:
        """Return the schema of an item and the entity that it stores; raises ItemMismatch.

        None is for an update that leaves alone what was wrong with the stored item already, and
        changes nothing that concerns other items.
        """
        try:
            return read_writable(self.table, item)
        except ItemMismatch as error:
            if write.is_put or write.before is None:
                raise
            before = restore_binaries(write.before)
            faulty = find_older_fault(self.table, before, item, error)
            if faulty is None:
                raise
        if not concerns_others(self.table, before, item):
            return None
        return read_writable(self.table, without_older_fault(self.table, before, item, faulty))

    def _find_index_fault(
        self, schema: EntitySchema, item: Item, write: ProposedWrite
    ) -> str | None:
        """Return the fault of an item that undeclared attributes put into an index."""
        for index in self._foreign_indexes(schema):
            names = index.key.names
            if not all(name in item for name in names):
                continue
            undeclared = [name for name in names if name not in schema.declared_names]
            before = restore_binaries(write.before or {})
            # An item may be older than the declaration; a backfill removes the attributes.
            if any(before.get(name) != item[name] for name in names):
                shown = show_item({name: item[name] for name in undeclared})
                return f"{shown} would put it into {index.name}, which has no {schema.name}"
        return None

    def _foreign_indexes(self, schema: EntitySchema) -> tuple[Index, ...]:
        """Return the indexes that only undeclared attributes can put an item of the entity into."""
        found = self.foreign_indexes.get(schema.name)
        if found is None:
            found = self.foreign_indexes[schema.name] = tuple(
                index
                for index in self.table.indexes
                if not schema.codec.has_extra
                and not schema.declared_names.issuperset(index.key.names)
            )
        return found

    def _refuse(self, item: Item, fact: str, advice: str) -> str:
        names = self.table.key.names
        if not all(name in item for name in names):
            # The served table was created with another key than the declared one.
            fact = f"its declaration has the key {' and '.join(names)}, and the item does not"
            return str(WriteRefused(f"table {self.table.name}", fact, "Recreate it as declared."))
        key = {name: item[name] for name in names}
        subject = f"item {show_item(key)} of {self.table.name}"
        return str(WriteRefused(subject, fact, advice))

    def _advise(self, item: Item) -> str:
        """Return which entities an item could be of, for one whose key fits none of them."""
        if any(schema.fits(item) for schema in self.table.entities.values()):
            return ""
        name = self.table.key.partition[0]
        text = item.get(name, {}).get("S", "")
        found = [
            schema.name
            for schema in self.table.entities.values()
            if schema.partition.template is not None and schema.partition.template.parse(text)
        ]
        if not found:
            return ""
        *rest, last = found
        if not rest:
            return f"Items of its partition are of {last}."
        return f"Items of its partition are {', '.join(rest)} or {last}."


def _with_bytes(item: Item) -> Item:
    """Return an item with binaries as bytes; the item itself if it has none, as most."""
    for value in item.values():
        for kind in value:
            if kind not in _WITHOUT_BYTES:
                return restore_binaries(item)
    return item
