"""Databases whose global indexes lag behind writes, as DynamoDB's do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from keyfold.testing import Clock, FaultProfile
from keyfold.testing._core import Core

# Each index lacks the last three writes. Expired items stay until upkeep runs, as in other databases.
INDEX_LAG = FaultProfile(index_lag=1.0, lag_writes=3, expiry_grace=timedelta(days=36_500))


def open_lagging_core(clock: Clock, *, shard_records: int | None = None) -> Core:
    """Return a service in memory whose global indexes lag behind."""
    return Core(clock=clock, faults=INDEX_LAG, region="us-east-1", shard_records=shard_records)


class LaggingDatabase:
    """An engine whose global indexes lag behind."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self._core.execute(operation, request)

    def run_upkeep(self) -> int:
        return self._core.engine.run_upkeep()
