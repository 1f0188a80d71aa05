"""The names of key attributes, for callers that authorize a request before it runs."""

from __future__ import annotations

from keyfold.api import TableKeyNames
from keyfold.engine.storage import Storage
from keyfold.engine.tables.catalog import TABLE_RECORD, parse_body
from keyfold.engine.tables.table import build_table


class KeyNameReader:
    """Reads key names from the file, and parses them again only when a table has changed.

    A cached entry is valid only for the same bytes of the table's record: a table that another
    process deletes and creates again with another key is never mistaken for the old one.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known: dict[str, tuple[bytes, TableKeyNames]] = {}

    def find(self, table: str) -> TableKeyNames | None:
        """Return the key names of a table; None if there is no such table."""
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
