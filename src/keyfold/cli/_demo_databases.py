"""The databases of `keyfold demo`: a file, a service, or an engine whose indexes lag."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import keyfold
from keyfold.clocks import Clock
from keyfold.engine.items.expiry import GRACE_IN_FILES
from keyfold.model import Table
from keyfold.store import Store
from keyfold.store._sent_calls import CallLog
from keyfold.testing import FaultProfile, dynamodb

# A read that reaches an index catches up with one write, so this bounds the lag.
MOST_LAG = 9
_ATTEMPTS = MOST_LAG + 1


class DemoDatabase(NamedTuple):
    """Where a demo runs: a URL or, with an `index_lag`, an engine in memory.

    The global indexes of that engine lack this many of the last writes, at most `MOST_LAG`.
    """

    url: str
    index_lag: int = 0

    @property
    def is_service(self) -> bool:
        """Whether it is a service, which has its own clock, and indexes that may lag."""
        return not self.index_lag and "://" in self.url

    @property
    def attempts(self) -> int:
        """How often a read may run until it has the expected result.

        In a file, a read that follows a write sees it, so the first result counts.
        """
        return _ATTEMPTS if self.index_lag or self.is_service else 1

    @contextmanager
    def open(self, tables: Sequence[Table], *, clock: Clock, log: CallLog) -> Generator[Store]:
        """Open a store with these tables, whose calls are logged."""
        # Cursors are only used within one run.
        key = os.urandom(32)
        if self.index_lag:
            faults = FaultProfile(
                index_lag=1.0, lag_writes=self.index_lag, expiry_grace=GRACE_IN_FILES
            )
            with dynamodb(clock=clock, faults=faults) as service:
                yield service.open(tables, cursor_key=key, on_call=[log])
            return
        with keyfold.open(tables, self.url, clock=clock, cursor_key=key, on_call=[log]) as store:
            yield store
