"""The names that can be typed at the prompt: tables, indexes, attributes, keys, patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from keyfold.cli._statements import to_text
from keyfold.cli._tables import fold_name
from keyfold.errors import KeyfoldError
from keyfold.model import Pattern, Table
from keyfold.store import Executor

# How many items completion reads, in one call: the user is waiting for it.
_SAMPLE_ITEMS = 100
# How many items a page of a search for keys has, and how many pages it reads at most.
_PAGE = 1000
_PAGES = 10


@dataclass(frozen=True, slots=True)
class FoundKeys:
    """Partition keys of a table; `is_all` is False if the search ended early."""

    keys: list[str]
    units: float
    is_all: bool


class Names:
    """The names of a database and of the declared tables.

    They are read once, when first needed, and cached. If the database refuses, the declared names
    are used alone. With `shows_keys` off, no keys are offered.
    """

    def __init__(
        self, executor: Executor, declared: Sequence[Table] = (), *, shows_keys: bool = True
    ) -> None:
        self._executor, self._shows_keys = executor, shows_keys
        self.declared = {table.name: table for table in declared}
        self._stored: list[str] | None = None
        self._descriptions: dict[str, dict[str, Any]] = {}
        self._sampled: set[str] = set()
        self._keys: dict[str, dict[str, None]] = {}
        self._attributes: dict[str, dict[str, None]] = {}

    # Tables.

    @property
    def stored(self) -> list[str]:
        """The tables of the database; raises ServiceError."""
        if self._stored is None:
            self._stored = list(self._list_tables())
        return self._stored

    @property
    def tables(self) -> list[str]:
        """The tables of the database, and the declared tables."""
        try:
            stored = self.stored
        except KeyfoldError:
            stored = []
        return list(dict.fromkeys([*stored, *self.declared]))

    def forget(self) -> None:
        """Clear the cached tables, some of which may have been created, changed or deleted."""
        self._stored = None
        self._descriptions.clear()

    def _list_tables(self) -> Iterable[str]:
        request: dict[str, Any] = {}
        while True:
            response = self._executor.execute("ListTables", request)
            yield from response["TableNames"]
            last = response.get("LastEvaluatedTableName")
            if last is None:
                return
            request = {"ExclusiveStartTableName": last}

    def describe(self, table: str) -> dict[str, Any]:
        """Return a table's cached description; raises ServiceError."""
        if table not in self._descriptions:
            response = self._executor.execute("DescribeTable", {"TableName": table})
            self._descriptions[table] = response["Table"]
        return self._descriptions[table]

    # Contents of a table.

    def indexes(self, table: str) -> list[str]:
        """Return the names of a table's indexes."""
        try:
            description = self.describe(table)
        except KeyfoldError:
            declared = self.declared.get(table)
            return [] if declared is None else [index.name for index in declared.indexes]
        return [each["IndexName"] for each in indexes_of(description)]

    def partition_key(self, table: str) -> str | None:
        """Return the name of a table's partition key; None if the table is unknown."""
        try:
            return keys_of(self.describe(table))[0]
        except KeyfoldError:
            declared = self.declared.get(table)
            return None if declared is None else declared.key.names[0]

    def attributes(self, table: str | None) -> list[str]:
        """Return the known attributes of a table; of all tables if it is None."""
        found: dict[str, None] = {}
        for name in self.tables if table is None else [table]:
            declared = self.declared.get(name)
            if declared is not None:
                found.update(dict.fromkeys(declared.key.names))
                for schema in declared.entities.values():
                    found.update(dict.fromkeys([*schema.codec.by_stored, *schema.own_attributes]))
            with suppress(KeyfoldError):
                defined: list[dict[str, Any]] = self.describe(name)["AttributeDefinitions"]
                found.update(dict.fromkeys(each["AttributeName"] for each in defined))
            found.update(self._attributes.get(name, {}))
        return list(found)

    # Keys.

    def keys(self, table: str) -> list[str]:
        """Return the partition keys seen so far, at first those of a small sample."""
        if not self._shows_keys:
            return []
        if table not in self._sampled:
            self._sampled.add(table)
            # A role may be allowed to query but not to scan.
            with suppress(KeyfoldError):
                self._scan(table, "", 1, _SAMPLE_ITEMS, _SAMPLE_ITEMS)
        return list(self._keys.get(table, {}))

    def literals(self, table: str, attribute: str) -> list[str]:
        """Return the partition keys seen so far as a statement has them, if it is about those."""
        if attribute != self.partition_key(table):
            return []
        doubled = [key.replace("'", "''") for key in self.keys(table)]
        return [f"{each}'" for each in doubled]

    def find_keys(self, table: str, prefix: str, count: int) -> FoundKeys:
        """Search for `count` partition keys with a prefix; raises ServiceError."""
        return self._scan(table, prefix, _PAGES, _PAGE, count)

    def remember(self, table: str, items: Iterable[dict[str, Any]]) -> None:
        """Remember the partition keys and attributes of items, for completion."""
        name = self.partition_key(table)
        keys, attributes = self._keys.setdefault(table, {}), self._attributes.setdefault(table, {})
        for item in items:
            attributes.update(dict.fromkeys(item))
            if name in item:
                keys[to_text(item[name])] = None

    def _scan(self, table: str, prefix: str, pages: int, size: int, count: int) -> FoundKeys:
        name = keys_of(self.describe(table))[0]
        request: dict[str, Any] = {
            "TableName": table,
            "Limit": size,
            "ProjectionExpression": "#key",
            "ExpressionAttributeNames": {"#key": name},
            "ReturnConsumedCapacity": "TOTAL",
        }
        found: dict[str, None] = {}
        units = 0.0
        for _ in range(pages):
            response = self._executor.execute("Scan", request)
            units += response["ConsumedCapacity"]["CapacityUnits"]
            self.remember(table, response["Items"])
            keys = (to_text(item[name]) for item in response["Items"])
            found.update(dict.fromkeys(key for key in keys if key.startswith(prefix)))
            last = response.get("LastEvaluatedKey")
            is_all = last is None and len(found) <= count
            if last is None or len(found) >= count:
                break
            request["ExclusiveStartKey"] = last
        else:
            is_all = False
        return FoundKeys(list(found)[:count], units, is_all)

    # Patterns.

    @property
    def patterns(self) -> list[tuple[Table, Pattern[..., Any]]]:
        """The patterns of the declared tables, each with its table."""
        return [
            (table, pattern)
            for table in self.declared.values()
            for pattern in table.patterns.values()
        ]

    def is_pattern(self, text: str) -> bool:
        """Return whether a text begins with the full name of a pattern or of its function."""
        named = fold_name(name_in(text))
        return any(
            named in (fold_name(pattern.name), fold_name(pattern.__name__))
            for _, pattern in self.patterns
        )


def name_in(text: str) -> str:
    """Return the text before the first parameter: the pattern's name.

    >>> name_in("Last orders --user ada"), name_in("last-orders user=ada")
    ('Last orders', 'last-orders')
    """
    return re.split(r"(?<!\s)\s+(?:--|\w+=)", text, maxsplit=1)[0]


def keys_of(described: dict[str, Any]) -> list[str]:
    """Return the key attributes in a table's or an index's description, partition key first."""
    ordered = sorted(described["KeySchema"], key=lambda part: part["KeyType"] != "HASH")
    return [part["AttributeName"] for part in ordered]


def indexes_of(description: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the descriptions of a table's global and local indexes."""
    kinds = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
    described: list[list[dict[str, Any]]] = [description.get(kind) or [] for kind in kinds]
    return [each for group in described for each in group]
