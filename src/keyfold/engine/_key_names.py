"""The names of key attributes, for those who must know where a request leads before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from keyfold.engine._catalog import TABLE_RECORD, parse_body
from keyfold.engine._tables import build_table
from keyfold.engine.storage import Storage


class TableKeyNames(NamedTuple):
    """The attributes of a table's key, and those of the partition keys of its indexes."""

    partition: str
    sort: str | None
    # By the names of the indexes; several for an index with several partition attributes.
    indexes: Mapping[str, tuple[str, ...]]


class KeyNameReader:
    """Reads key names from the file, and makes them out again only when a table has changed.

    What is kept is asked for by the record's own bytes: a table that another process drops and
    makes anew with another key is never taken for what it was.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known: dict[str, tuple[bytes, TableKeyNames]] = {}

    def find(self, table: str) -> TableKeyNames | None:
        """Return the key names of a table; None for one that is not there."""
        record = self._storage.read(lambda reader: reader.get_record(TABLE_RECORD, table))
        if record is None:
            self._known.pop(table, None)
            return None
        known = self._known.get(table)
        if known is not None and known[0] == record:
            return known[1]
        built = build_table(parse_body(table, record))
        (partition,) = built.key.partition
        names = TableKeyNames(
            partition.name,
            built.key.sort[0].name if built.key.sort else None,
            {
                name: tuple(attribute.name for attribute in index.key.partition)
                for name, index in built.indexes.items()
            },
        )
        self._known[table] = (bytes(record), names)
        return names
