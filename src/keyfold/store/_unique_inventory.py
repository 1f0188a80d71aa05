"""An inventory of a table's unique values: the items that have each, and the guards.

It is kept in a temporary SQLite database, which moves to the disk when it outgrows memory.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.model._tables import Table
from keyfold.store._guard_actions import has_expired
from keyfold.store._guards import (
    FORMER_NAME,
    NAME,
    OWNER,
    expiry_in,
    guard_key,
    is_guard,
    read_guard,
)
from keyfold.store._item_schemas import find_item_schema
from keyfold.store._unique_marker import marker_key
from keyfold.values import AttributeValue, Item

_TABLES = """
CREATE TABLE held (guard TEXT, key TEXT, name TEXT, expiry TEXT, PRIMARY KEY (guard, key))
  WITHOUT ROWID;
CREATE TABLE guards (guard TEXT PRIMARY KEY, owner TEXT, name TEXT, expiry TEXT) WITHOUT ROWID;
CREATE TABLE others (guard TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID;
"""
_DUPLICATES = "SELECT guard, name FROM held GROUP BY guard HAVING count(*) > 1"
_CANDIDATES = """
SELECT guard, name FROM held GROUP BY guard HAVING count(*) > 1
UNION SELECT held.guard, held.name FROM held LEFT JOIN guards USING (guard)
  WHERE owner IS NOT key OR held.expiry IS NOT guards.expiry
UNION SELECT guards.guard, guards.name FROM guards LEFT JOIN held USING (guard) WHERE key IS NULL
"""
# Enough of the items that share a value to prove and to show that they do.
_MAX_HOLDERS = 10


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value whose guard and items differed while the table was read.

    `keys` are those of the items that had the value, and of the guard's owner.
    """

    name: str
    guard: Item
    keys: tuple[Item, ...]


class UniqueInventory:
    """The unique values and guards of some names, as a scan found them; close it after use.

    What has expired at the time `now` does not count.
    """

    def __init__(self, table: Table, names: Collection[str], now: datetime) -> None:
        self.now = now
        self._table, self._names = table, frozenset(names)
        self._marker = marker_key(table)
        self._former = _former_names(table)
        self._partition = table.key.partition[0]
        # Without a name, the database is temporary.
        self._connection = sqlite3.connect("", check_same_thread=False)
        self._connection.executescript(_TABLES)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._connection.close()

    def attributes(self) -> list[str]:
        """Return the attributes that a scan has to read."""
        fields = [
            name
            for schema in self._table.entities.values()
            for field in schema.unique.values()
            for name in field.attributes
        ]
        kind = self._table.type_attribute
        ttl = self._table.ttl
        own = (NAME, OWNER, FORMER_NAME, *(each for each in (kind, ttl) if each is not None))
        return list(dict.fromkeys((*self._table.key.names, *own, *fields)))

    def add(self, items: Collection[Mapping[str, AttributeValue]]) -> None:
        """Add the items of a page."""
        with self._connection:
            for item in items:
                if has_expired(self._table, item, self.now):
                    continue
                if is_guard(self._table, item):
                    self._add_guard(item)
                else:
                    for name, guard in self.values_of(item):
                        expiry = _expiry_text(expiry_in(self._table, item))
                        row = (self._text(guard), self._to_text(item), name, expiry)
                        self._connection.execute("INSERT OR IGNORE INTO held VALUES (?,?,?,?)", row)

    def values_of(self, item: Mapping[str, AttributeValue]) -> Iterator[tuple[str, Item]]:
        """Yield the name and the key of the guard of each value that an item has."""
        if has_expired(self._table, item, self.now):
            return
        schema = self.schema_of(item)
        for field in () if schema is None else schema.unique.values():
            value = field.value_in(item)
            if value is not None and field.guard in self._names:
                yield field.guard, guard_key(self._table, field.guard, value)

    def schema_of(self, item: Mapping[str, AttributeValue]) -> EntitySchema | None:
        """Return the schema of an item; None for one that is of no entity."""
        try:
            return find_item_schema(self._table, item)
        except ItemMismatch:
            return None

    def _add_guard(self, item: Mapping[str, AttributeValue]) -> None:
        guard = read_guard(self._table, item)
        if guard is None:
            if self._to_text(item) != self._to_text(self._marker):
                self._add_other(item, None)
        elif guard.owner is None:
            name = self._former.get(guard.name)
            if name in self._names:
                self._add_other(item, name)
        elif guard.name in self._names:
            expiry = _expiry_text(guard.expiry)
            row = (self._text(guard.key), self._to_text(guard.owner), guard.name, expiry)
            self._connection.execute("INSERT OR REPLACE INTO guards VALUES (?,?,?,?)", row)

    def _add_other(self, item: Mapping[str, AttributeValue], name: str | None) -> None:
        row = (self._text(item), name)
        self._connection.execute("INSERT OR REPLACE INTO others VALUES (?,?)", row)

    # What was found.

    def count_values(self) -> int:
        """Return the number of unique values that items have."""
        return int(self._connection.execute("SELECT count(*) FROM held").fetchone()[0])

    def duplicates(self) -> Iterator[Candidate]:
        """Yield the values that several items have."""
        yield from self._read_candidates(_DUPLICATES)

    def candidates(self) -> Iterator[Candidate]:
        """Yield the values whose guards and items differ."""
        yield from self._read_candidates(_CANDIDATES)

    def former_guards(self) -> Iterator[tuple[str, Item]]:
        """Yield the name and the key of each guard in a former format."""
        for text, name in self._connection.execute("SELECT guard, name FROM others"):
            if name is not None:
                yield str(name), self._guard_of(str(text))

    def unreadable(self) -> Iterator[Item]:
        """Yield the keys of items that have the key of a guard but are not guards."""
        for text, name in self._connection.execute("SELECT guard, name FROM others"):
            if name is None:
                yield self._guard_of(str(text))

    def _read_candidates(self, query: str) -> Iterator[Candidate]:
        for text, name in self._connection.execute(query):
            holders = self._connection.execute(
                "SELECT key FROM held WHERE guard = ? ORDER BY key LIMIT ?", (text, _MAX_HOLDERS)
            ).fetchall()
            owners = self._connection.execute(
                "SELECT owner FROM guards WHERE guard = ?", (text,)
            ).fetchall()
            keys = dict.fromkeys(str(key) for (key,) in (*holders, *owners))
            yield Candidate(str(name), self._guard_of(str(text)), tuple(map(_from_text, keys)))

    # Keys as text: the keys of a table with guards are text.

    def _text(self, guard: Mapping[str, AttributeValue]) -> str:
        return guard[self._partition]["S"]

    def _to_text(self, item: Mapping[str, AttributeValue]) -> str:
        return json.dumps({name: item[name]["S"] for name in self._table.key.names if name in item})

    def _guard_of(self, text: str) -> Item:
        return {**self._marker, self._partition: {"S": text}}


def _expiry_text(expiry: AttributeValue | None) -> str | None:
    return None if expiry is None else json.dumps(expiry, default=repr)


def _from_text(text: str) -> Item:
    parts: dict[str, Any] = json.loads(text)
    return {name: {"S": part} for name, part in parts.items()}


def _former_names(table: Table) -> dict[str, str]:
    """Return the names of guards by those that they had in the former format: class and field."""
    return {
        f"{kind}.{name}": field.guard
        for schema in table.entities.values()
        for field in schema.unique.values()
        for kind in (*schema.kinds, schema.name)
        for name in (*field.attributes, field.field)
    }
