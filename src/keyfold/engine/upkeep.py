"""Background work: backfills, jobs, and the deletion of expired items and old changes.

One process at a time does it for a file: the one that holds the lease, which is in the file.
"""

from __future__ import annotations

import threading
import time
import uuid
from contextlib import suppress

import orjson

from keyfold.clocks import Clock
from keyfold.engine.items.expiry import sweep_batch
from keyfold.engine.jobs import Jobs
from keyfold.engine.storage import RowsChanged, Storage, StorageWriter
from keyfold.engine.streams.change_log import LOG_RECORD, list_logs, trim_batch
from keyfold.engine.tables.backfill import fill_batch, pending_backfills
from keyfold.engine.tables.catalog import Catalog
from keyfold.engine.tables.table import Unreadable

LEASE_RECORD = "lease"
LEASE_SECONDS = 30.0


class Upkeep:
    """Runs the background work of one engine, on a thread that starts when there is some."""

    def __init__(
        self,
        storage: Storage,
        catalog: Catalog,
        jobs: Jobs,
        *,
        clock: Clock,
        grace_seconds: float,
        interval_seconds: float | None,
        shard_records: int,
        shares_file: bool,
    ) -> None:
        self._storage, self._catalog, self._clock = storage, catalog, clock
        self._jobs = jobs
        self._grace_seconds = grace_seconds
        self._interval_seconds = interval_seconds
        self._shard_records = shard_records
        self._shares_file = shares_file
        self._owner = uuid.uuid4().hex
        self._requested = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def wake(self) -> None:
        """Let the background thread run soon; start it if necessary."""
        if self._interval_seconds is None or self._stopping:
            return
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="keyfold-upkeep", daemon=True
                )
                self._thread.start()
        self._requested.set()

    def wake_if_needed(self) -> None:
        """Start the thread if a file that was just opened has unfinished work."""
        if pending_backfills(self._storage) or self._has_more_to_come():
            self.wake()

    def begin_job(self, kind: str, name: str) -> None:
        """Run the first part of a job now; leave the rest to the background thread."""
        if not self._jobs.begin(kind, name):
            self.wake()

    def run_once(self) -> int:
        """Do all work that is due now; return the number of items that expired."""
        self._fill_indexes()
        self._jobs.run_all(lambda: self._stopping)
        expired = 0
        for body in self._catalog.bodies():
            # A table that another process is changing is left to the next round.
            with suppress(RowsChanged, Unreadable):
                while not self._stopping:
                    swept = sweep_batch(self._storage, body, self._clock(), self._grace_seconds)
                    expired += swept
                    if not swept:
                        break
        logs = self._storage.read(list_logs)
        if logs:
            # Imported here: few files have streams, and the others need not load the module.
            from keyfold.engine.streams.lifecycle import maintain_streams  # noqa: PLC0415

            maintain_streams(self._storage, self._clock(), self._shard_records)
        for log in logs:
            with suppress(RowsChanged, Unreadable):
                while not self._stopping and trim_batch(self._storage, log, self._clock()):
                    pass
        return expired

    def take_turn(self) -> None:
        """Do all due work if this process gets the lease; fill indexes in any case."""
        if self._hold_lease():
            self.run_once()
        else:
            # Callers wait for the indexes, and the process that has the lease may be dead.
            self._fill_indexes()

    def _fill_indexes(self) -> None:
        """Fill new indexes; each batch continues where the last, of any process, has ended."""
        for name in pending_backfills(self._storage):
            # Damage is left for `verify` to report; the other tables are filled.
            with suppress(Unreadable):
                while not self._stopping and not fill_batch(self._storage, name):
                    pass

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._stopping = True
        self._requested.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _has_more_to_come(self) -> bool:
        """Return whether more work will be due: items that expire, changes that age, jobs."""
        return (
            any("ttl" in body for body in self._catalog.bodies())
            or bool(self._storage.read(lambda reader: reader.list_records(LOG_RECORD, limit=1)))
            or self._jobs.has_more_to_come()
        )

    def _run(self) -> None:
        while True:
            # Without work to come, wait until `wake` is called.
            wait_seconds = None
            try:
                self.take_turn()
                if self._has_more_to_come() or pending_backfills(self._storage):
                    wait_seconds = self._interval_seconds
            except Exception:  # noqa: BLE001 - the thread must survive any error
                # The file is busy, failing or damaged: retry later. Requests get the same error.
                wait_seconds = self._interval_seconds
            self._requested.wait(wait_seconds)
            self._requested.clear()
            if self._stopping:
                return

    def _hold_lease(self) -> bool:
        """Take or extend the lease; return whether this process holds it."""
        if not self._shares_file:
            return True
        # By the machine's clock, on which processes agree, not by the engine's clock.
        now = time.time()

        def is_free(record: bytes | None) -> bool:
            if record is None:
                return True
            owner, until = orjson.loads(record)
            # An expiry further ahead than a lease can last comes from a clock that was wrong.
            return owner == self._owner or not now <= until <= now + LEASE_SECONDS

        def work(writer: StorageWriter) -> bool:
            if not is_free(writer.get_record(LEASE_RECORD, "upkeep")):
                return False
            lease = [self._owner, now + LEASE_SECONDS]
            writer.set_record(LEASE_RECORD, "upkeep", orjson.dumps(lease))
            return True

        known = self._storage.read(lambda reader: reader.get_record(LEASE_RECORD, "upkeep"))
        return is_free(known) and self._storage.write(work)
