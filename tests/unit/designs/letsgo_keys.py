"""The keys of the items in LetsGo's table."""

from __future__ import annotations

from keyfold.designs import letsgo
from tests.unit.designs.stale_databases import Database


def stored_keys(db: Database) -> list[tuple[str, str]]:
    """Return the category and the key of each stored item, sorted."""
    items = db.stored(letsgo.table)
    return sorted((item["category"]["S"], item["key"]["S"]) for item in items)
