"""Jobs that continue after the response: restores, exports, imports and bulk operations.

Each is a record in the file, and a function that runs its next batch. The call that starts a job
runs the first batches itself, which is enough for most tables; upkeep runs the rest, in this
process or the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from keyfold.api import WriteCheck
from keyfold.clocks import Clock
from keyfold.engine.bulk.buckets import Buckets
from keyfold.engine.bulk.work_records import BULK_JOB_RECORD, IMPORT_JOB_RECORD
from keyfold.engine.loading import load_module
from keyfold.engine.recovery.backups import drop_stale_backups, list_backups
from keyfold.engine.recovery.restore_job import restore_batch
from keyfold.engine.recovery.rewind_job import EXPORT_JOB_RECORD, RESTORE_RECORD
from keyfold.engine.storage import RowsChanged, Storage, StorageReader
from keyfold.engine.tables.table import Unreadable
from keyfold.errors import KeyfoldError

if TYPE_CHECKING:
    from keyfold.engine.bulk.bulk_job import BulkPutter
    from keyfold.engine.bulk.import_job import Importer

# How many batches run before the response, and until when one may begin.
BATCHES_AT_ONCE = 50
SECONDS_AT_ONCE = 2.0

# Runs one batch of the job of this name; returns whether it was the last.
Batch = Callable[[str], bool]


class Jobs:
    """Runs the unfinished jobs of one file."""

    def __init__(
        self,
        storage: Storage,
        clock: Clock,
        buckets: Buckets,
        write_checks: Mapping[str, WriteCheck],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._storage, self._clock, self._buckets = storage, clock, buckets
        self._monotonic = monotonic
        self._write_checks = write_checks
        self._importer: Importer | None = None
        self._bulk_putter: BulkPutter | None = None
        self._batches: dict[str, Batch] = {
            RESTORE_RECORD: lambda name: restore_batch(storage, name),
            EXPORT_JOB_RECORD: self._export_batch,
            IMPORT_JOB_RECORD: self._import_batch,
            BULK_JOB_RECORD: self._bulk_batch,
        }

    # Loaded on first use: their imports are a good part of the whole engine's, and few use them.

    def _export_batch(self, name: str) -> bool:
        export_job = load_module("keyfold.engine.bulk.export_job")
        return export_job.export_batch(self._storage, self._buckets, self._clock, name)

    def _import_batch(self, name: str) -> bool:
        importer = self._importer
        if importer is None:
            import_job = load_module("keyfold.engine.bulk.import_job")
            importer = import_job.Importer(
                self._storage, self._clock, self._buckets, self._write_checks
            )
            self._importer = importer
        return importer.import_batch(name)

    def _bulk_batch(self, name: str) -> bool:
        putter = self._bulk_putter
        if putter is None:
            bulk_job = load_module("keyfold.engine.bulk.bulk_job")
            putter = bulk_job.BulkPutter(
                self._storage, self._clock, self._buckets, self._write_checks
            )
            self._bulk_putter = putter
        return putter.put_batch(name)

    def begin(self, kind: str, name: str) -> bool:
        """Run the first batches of a job; return whether the job is finished.

        The job is in the file already, so errors are suppressed: upkeep retries, and meets them
        again.
        """
        ends_at = self._monotonic() + SECONDS_AT_ONCE
        with suppress(KeyfoldError, RowsChanged, Unreadable):
            for _ in range(BATCHES_AT_ONCE):
                if self._batches[kind](name):
                    return True
                if self._monotonic() >= ends_at:
                    break
        return False

    def run_all(self, is_stopping: Callable[[], bool]) -> None:
        """Run all jobs to their end, and delete expired and abandoned backups."""
        with suppress(Unreadable):
            drop_stale_backups(self._storage, self._clock())
        for kind, batch in self._batches.items():
            for name in self._storage.read(lambda reader: _names(reader, kind)):  # noqa: B023 - run at once
                # `verify` reports damaged records; the other jobs go on.
                with suppress(RowsChanged, Unreadable):
                    while not is_stopping() and not batch(name):
                        pass

    def has_more_to_come(self) -> bool:
        """Return whether there are jobs left, or backups that may have to be deleted later."""

        def work(reader: StorageReader) -> bool:
            return any(_names(reader, kind) for kind in self._batches) or any(
                backup["status"] == "CREATING" or "expires_at" in backup
                for backup in list_backups(reader)
            )

        return self._storage.read(work)


def _names(reader: StorageReader, kind: str) -> list[str]:
    return [name for name, _ in reader.list_records(kind)]
