"""What every operation is given to work with."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from keyfold.engine._catalog import Catalog
from keyfold.engine._census import Census
from keyfold.engine.storage import Storage


class Services(NamedTuple):
    """The parts of one engine that operations use."""

    storage: Storage
    catalog: Catalog
    census: Census
    clock: Callable[[], float]
    new_id: Callable[[], str]
    region: str
    account: str
    # How many records a shard of a stream takes before it is split.
    shard_records: int
    # Called when a change of a table leaves work for later: a backfill, or items that expire.
    wake_upkeep: Callable[[], None]

    def table_arn(self, name: str) -> str:
        """Return the ARN of a table."""
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{name}"
