"""Engines that answer the same each time, so that a mutated request can be made again.

A mutation draws positions inside the request. Some requests carry what the engine answered
before, such as a shard iterator, which contains the time: if that changed in length from one run
to the next, Hypothesis could not replay an example, and would report a flaky test.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from uuid import UUID

from keyfold.engine import Engine

_NOW = 1_800_000_000.0


def open_repeatable(*, buckets: Path | None = None) -> Engine:
    """Open an engine in memory whose time stands still and whose ids are counted."""
    ids = count(1)
    return Engine.open(
        ":memory:",
        clock=lambda: _NOW,
        new_id=lambda: str(UUID(int=next(ids))),
        upkeep_seconds=None,
        buckets=buckets,
    )
