"""Calls the check of a table, if it has one, for the writes of one transaction.

Writes are checked after their conditions hold and their new images are known, and before any of them
is stored. A check asks for the stored item, or for other items, only if it needs them. So most puts
on a checked table still take the fast path, which reads nothing: `is_certain_to_fit`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import orjson

from keyfold.api import WriteCheck
from keyfold.engine.storage import StorageReader
from keyfold.engine.tables.table import EngineTable
from keyfold.errors import ValidationException
from keyfold.values import Item

if TYPE_CHECKING:
    from keyfold.engine.items.writes import WriteOutcome


class _OtherItemsNeeded(Exception):
    """A check asked for an item that is not at hand."""


class _LonePut:
    """A put of which nothing is known but the item."""

    __slots__ = ("after",)
    is_put = True

    def __init__(self, after: Item) -> None:
        self.after = after

    @property
    def before(self) -> Item | None:
        raise _OtherItemsNeeded

    def find(self, key: Item) -> Item | None:  # noqa: ARG002 - ProposedWrite's signature
        raise _OtherItemsNeeded


class _FirstPut(_LonePut):
    """A put into a table that is being filled, in which items arrive in any order."""

    __slots__ = ()

    @property
    def before(self) -> Item | None:
        return None


class _CheckedWrite:
    """One of the writes of a transaction."""

    __slots__ = ("_before", "_group", "_outcome", "after")

    def __init__(self, group: _WriteGroup, outcome: WriteOutcome) -> None:
        self._group, self._outcome = group, outcome
        self.after = outcome.new
        # None until it is asked for; a tuple with the item, or with None if there is none.
        self._before: tuple[Item | None] | None = None

    @property
    def before(self) -> Item | None:
        if self._before is None:
            outcome = self._outcome
            if outcome.old is not None or not self.is_put:
                self._before = (outcome.old,)
            else:
                # It may not have been read.
                self._before = (self._group.read(outcome.write.table, outcome.write.row_key),)
        return self._before[0]

    @property
    def is_put(self) -> bool:
        return self._outcome.write.is_put

    def find(self, key: Item) -> Item | None:
        return self._group.find(self._outcome.write.table, key)


class _WriteGroup:
    """The writes of one transaction, by key, and the items that are stored."""

    def __init__(self, reader: StorageReader, outcomes: Sequence[WriteOutcome]) -> None:
        self._reader, self._outcomes = reader, outcomes
        self._written: dict[tuple[str, bytes], Item | None] | None = None

    def read(self, table: EngineTable, row_key: bytes) -> Item | None:
        row = self._reader.get(table.rows, row_key)
        return None if row is None else orjson.loads(row[0])

    def find(self, table: EngineTable, key: Item) -> Item | None:
        try:
            row_key = table.encode_key(key)
        except KeyError:
            # No item has such a key.
            return None
        if self._written is None:
            self._written = {
                (each.write.table.name, each.write.row_key): each.new for each in self._outcomes
            }
        place = (table.name, row_key)
        return self._written[place] if place in self._written else self.read(table, row_key)


def is_certain_to_fit(check: WriteCheck, item: Item) -> bool:
    """Return whether a put is accepted, whatever else is stored; False if that is not certain."""
    try:
        return check(_LonePut(item)) is None
    except _OtherItemsNeeded:
        return False


def check_first_put(check: WriteCheck | None, item: Item) -> None:
    """Raise ValidationException for an item that may not be put into a table that is being filled.

    What depends on other items is not checked.
    """
    if check is None:
        return
    try:
        fault = check(_FirstPut(item))
    except _OtherItemsNeeded:
        return
    if fault is not None:
        raise ValidationException(fault)


def find_refusals(
    reader: StorageReader, outcomes: Sequence[WriteOutcome]
) -> list[ValidationException | None]:
    """Return the error of each write that its table's check refuses, None for the others.

    `outcomes` are all writes of one transaction.
    """
    group = _WriteGroup(reader, outcomes)
    return [_find_refusal(group, outcome) for outcome in outcomes]


def check_outcomes(reader: StorageReader, outcomes: Sequence[WriteOutcome]) -> None:
    """Raise ValidationException for the first write that its table's check refuses."""
    for refusal in find_refusals(reader, outcomes):
        if refusal is not None:
            raise refusal


def _find_refusal(group: _WriteGroup, outcome: WriteOutcome) -> ValidationException | None:
    check = outcome.write.table.check
    if check is None or not outcome.changes_item:
        return None
    fault = check(_CheckedWrite(group, outcome))
    return None if fault is None else ValidationException(fault)
