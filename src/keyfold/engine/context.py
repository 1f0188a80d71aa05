"""The engine's parts that every operation receives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from keyfold.clocks import Clock
from keyfold.engine.bulk.buckets import Buckets
from keyfold.engine.insights.usage import UsageMonitors
from keyfold.engine.storage import Storage
from keyfold.engine.tables.catalog import Catalog
from keyfold.engine.tables.stats import TableStats


class EngineContext(NamedTuple):
    """The parts of one engine that its operations use."""

    storage: Storage
    catalog: Catalog
    table_stats: TableStats
    clock: Clock
    new_id: Callable[[], str]
    region: str
    account: str
    monitors: UsageMonitors
    buckets: Buckets
    # The number of records that a shard of a stream takes before it is split.
    shard_records: int
    # Called when a change of a table leaves background work: a backfill, or items that expire.
    wake_upkeep: Callable[[], None]
    # Called with the kind and the name of a job's record that was just written.
    begin_job: Callable[[str, str], None]

    def table_arn(self, name: str, region: str | None = None) -> str:
        """Return the ARN of a table, or of its replica in another region."""
        return f"arn:aws:dynamodb:{region or self.region}:{self.account}:table/{name}"
