"""The engine: DynamoDB's operations on one file."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import orjson

from keyfold.api import TableKeyNames, WriteCheck
from keyfold.api.bodies import parse_body
from keyfold.api.shapes import check, check_types
from keyfold.api.wordings import Wording, check_wording, reword
from keyfold.clocks import Clock, Duration, check_clock, read_duration
from keyfold.engine.bulk.buckets import Buckets
from keyfold.engine.context import EngineContext
from keyfold.engine.insights.hot_keys import HotKey
from keyfold.engine.insights.traffic import OnTraffic, TrafficRecorder
from keyfold.engine.insights.usage import UsageMonitors
from keyfold.engine.items.deadlines import NO_DEADLINE, Deadline
from keyfold.engine.items.expiry import GRACE_IN_FILES, GRACE_IN_MEMORY
from keyfold.engine.items.responses import (
    InlineRendering,
    PythonRendering,
    Rendering,
    WireRendering,
)
from keyfold.engine.items.work import NeedsThread
from keyfold.engine.jobs import Jobs
from keyfold.engine.operations import LOADED, LoadedOperation, load_operation
from keyfold.engine.options import (
    MEMORY,
    NO_CHECKS,
    Throttling,
    check_buckets,
    check_durability,
    check_path,
    check_seconds,
    check_throttling,
    check_write_checks,
)
from keyfold.engine.storage import (
    BackgroundStorage,
    Durability,
    RowsChanged,
    SharingFailed,
    SqliteStorage,
    StorageWriter,
)
from keyfold.engine.streams.shards import SHARD_RECORDS
from keyfold.engine.tables.catalog import Catalog
from keyfold.engine.tables.key_names import KeyNameReader
from keyfold.engine.tables.stats import TableStats
from keyfold.engine.tables.table import Unreadable
from keyfold.engine.upkeep import Upkeep
from keyfold.engine.verify import Problem, verify
from keyfold.errors import (
    FileBusy,
    FileDamaged,
    FileFailed,
    InsightsOff,
    KeyfoldError,
    OptionInvalid,
    ResourceNotFoundException,
    ServiceError,
    UnknownOperationException,
    ValidationException,
)

# A table may change again while an operation is retried; to exhaust the attempts, it would have
# to change all the time.
_ATTEMPTS = 10

_SECRET_BYTES = 32

_PYTHON, _WIRE, _INLINE = PythonRendering(), WireRendering(), InlineRendering()

# Errors that processing a row can raise if it is JSON but not an item.
_UNEXPECTED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


class Engine:
    """DynamoDB in this process, kept in one file or in memory.

    >>> with Engine.open(":memory:") as engine:
    ...     _ = engine.execute("CreateTable", {
    ...         "TableName": "Music",
    ...         "AttributeDefinitions": [{"AttributeName": "artist", "AttributeType": "S"}],
    ...         "KeySchema": [{"AttributeName": "artist", "KeyType": "HASH"}],
    ...         "BillingMode": "PAY_PER_REQUEST",
    ...     })
    ...     _ = engine.execute("PutItem", {"TableName": "Music", "Item": {"artist": {"S": "Nina"}}})
    ...     engine.execute("GetItem", {"TableName": "Music", "Key": {"artist": {"S": "Nina"}}})
    {'Item': {'artist': {'S': 'Nina'}}}

    Several threads may use one engine, and several processes may open one file.
    """

    def __init__(
        self,
        path: str,
        storage: SqliteStorage,
        context: EngineContext,
        upkeep: Upkeep,
        wording: Wording,
        traffic: TrafficRecorder | None = None,
    ) -> None:
        """Use `Engine.open` instead."""
        self.path = path
        self.wording: Wording = wording
        self.durability: Durability = storage.durability
        self._storage = storage
        self._context = context
        # For operations that run in threads, beside a server's event loop.
        self._background = context._replace(storage=BackgroundStorage(storage))
        self._upkeep = upkeep
        self._traffic = traffic
        self._key_names = KeyNameReader(storage)
        # The problems that `verify` found after an unexpected error; None before the first.
        self._damage: list[Problem] | None = None

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        durability: Durability | None = None,
        clock: Clock = time.time,
        new_id: Callable[[], str] | None = None,
        expiry_grace: Duration | None = None,
        upkeep_seconds: float | None = 5.0,
        busy_seconds: float = 5.0,
        shard_records: int | None = None,
        region: str = "us-east-1",
        account: str = "000000000000",
        buckets: str | os.PathLike[str] | None = None,
        write_checks: Mapping[str, WriteCheck] | None = None,
        wording: Wording = "2026",
        throttling: Throttling | None = None,
        on_traffic: OnTraffic | None = None,
    ) -> Self:
        """Open a file, creating it if needed; `":memory:"` keeps everything in this process.

        `durability` says what an acknowledged write survives: with `"durable"`, the default for
        files, a power failure; with `"process"`, the end of this process, however sudden; with
        `"memory"`, for `":memory:"` only, neither.

        `clock` returns the time in seconds since 1970; `new_id` returns ids for tables. Expired
        items are deleted once they have been expired for `expiry_grace`, a timedelta or a number
        of seconds: by default 48 hours in files, as on AWS, and 10 seconds in memory. A check every
        `upkeep_seconds` does that; None leaves it, and the backfill of new indexes, to
        `run_upkeep`. `busy_seconds` is how long to wait for another process that is writing.
        Shards of streams are split after `shard_records` records, by default 10,000; a small number
        helps to test how a program follows splits. `region` and `account` appear in ARNs. `buckets`
        is a folder whose subfolders stand for S3 buckets, for exports, imports and bulk operations.
        `write_checks` decide which writes to the tables with these names are accepted;
        `keyfold.store.make_write_checks` makes them from declarations. `wording` is that of errors
        about requests: DynamoDB's of today, or `"2025"` for that of all regions until June 2026.
        `throttling="partitions"` refuses requests as DynamoDB would, by the throughput of partitions,
        tables and accounts; without it, only on-demand maximums are enforced. `on_traffic` is called
        with the keys and units of every request that reads or writes items, in the request's thread.

        Raises OptionInvalid, or a file error: FileUnreachable, FileNotKeyfold, FileNewer, FileOlder,
        FileDamaged, FileBusy.
        """
        name = check_path(path)
        for option, value, minimum in (
            ("upkeep_seconds", upkeep_seconds, 0.001),
            ("busy_seconds", busy_seconds, 0.0),
        ):
            check_seconds(option, value, minimum)
        if expiry_grace is None:
            expiry_grace = GRACE_IN_MEMORY if name == MEMORY else GRACE_IN_FILES
        grace_seconds = read_duration("expiry_grace", expiry_grace)
        check_clock(clock)
        if not callable(new_id or _random_id):
            raise OptionInvalid("new_id", new_id, "Give a function without arguments.")
        for option, text in (("region", region), ("account", account)):
            if not isinstance(text, str) or not text.isascii() or not text:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
                raise OptionInvalid(option, text, "Give the ASCII text that is to appear in ARNs.")
        most_records = SHARD_RECORDS if shard_records is None else shard_records
        if most_records.__class__ is not int or most_records < 1:
            raise OptionInvalid("shard_records", shard_records, "Give a whole number, 1 or more.")
        level = check_durability(name, durability)
        folder = check_buckets(buckets)
        storage = SqliteStorage(name, level, busy_seconds=busy_seconds)
        try:
            return cls._on_storage(
                name,
                storage,
                clock=clock,
                new_id=new_id or _random_id,
                grace_seconds=grace_seconds,
                upkeep_seconds=upkeep_seconds,
                shard_records=most_records,
                region=region,
                account=account,
                buckets=folder,
                write_checks=check_write_checks(write_checks),
                wording=check_wording(wording),
                throttling=check_throttling(throttling),
                on_traffic=on_traffic,
            )
        except BaseException:
            storage.close()
            raise

    @classmethod
    def _on_storage(
        cls,
        path: str,
        storage: SqliteStorage,
        *,
        clock: Clock,
        new_id: Callable[[], str],
        grace_seconds: float,
        upkeep_seconds: float | None,
        shard_records: int = SHARD_RECORDS,
        region: str,
        account: str,
        buckets: Path | None = None,
        write_checks: Mapping[str, WriteCheck] = NO_CHECKS,
        wording: Wording = "2026",
        throttling: Throttling | None = None,
        on_traffic: OnTraffic | None = None,
    ) -> Self:
        storage.use_clock(clock)

        def table_arn(name: str) -> str:
            return context.table_arn(name)  # the context is created later

        traffic = None if on_traffic is None else TrafficRecorder(clock, on_traffic)
        monitors = UsageMonitors(
            clock,
            table_arn,
            has_partitions=throttling == "partitions",
            on_use=None if traffic is None else traffic.record,
        )
        catalog = Catalog(storage, monitors, write_checks)
        folders = Buckets(buckets)
        jobs = Jobs(storage, clock, folders, write_checks)
        upkeep = Upkeep(
            storage,
            catalog,
            jobs,
            clock=clock,
            grace_seconds=grace_seconds,
            interval_seconds=upkeep_seconds,
            shard_records=shard_records,
            shares_file=path != MEMORY,
        )
        context = EngineContext(
            storage=storage,
            catalog=catalog,
            table_stats=TableStats(storage, clock),
            clock=clock,
            new_id=new_id,
            region=region,
            account=account,
            monitors=monitors,
            buckets=folders,
            shard_records=shard_records,
            wake_upkeep=upkeep.wake,
            begin_job=upkeep.begin_job,
        )
        upkeep.wake_if_needed()
        return cls(path, storage, context, upkeep, wording, traffic)

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Execute one operation of DynamoDB's API.

        Takes and returns the API's JSON as dicts, with binaries as bytes. Raises ServiceError
        with the type, status and message that the service would return.
        """
        return self._execute(operation, request, _PYTHON, self._context)

    def execute_json(self, operation: str, body: bytes) -> bytes:
        """Execute one operation, JSON in and JSON out, for the server.

        Items that are neither filtered nor projected are copied from storage without parsing.
        """
        return orjson.dumps(self._execute(operation, parse_body(body), _WIRE, self._context))

    def execute_parsed(
        self, operation: str, request: Any, deadline: Deadline = NO_DEADLINE
    ) -> dict[str, Any]:
        """Execute one operation whose JSON is already parsed, for the server.

        Returns a response for `orjson.dumps`: items may be fragments, copied from storage. A page
        ends early at the `deadline`; other reads that take as long raise InternalServerError.
        """
        if deadline is NO_DEADLINE:
            return self._execute(operation, request, _WIRE, self._context)
        return self._execute(operation, request, WireRendering(deadline), self._background)

    def read_inline(self, operation: str, request: Any) -> dict[str, Any]:
        """Execute a read as `execute_parsed` does, on the server's event loop.

        Raises NeedsThread if it is more work than other connections should wait for.
        """
        return self._execute(operation, request, _INLINE, self._context)

    def execute_together(
        self,
        calls: Sequence[tuple[str, Any]],
        *,
        may_wait: bool = True,
        deadline: Deadline = NO_DEADLINE,
    ) -> list[dict[str, Any] | KeyfoldError | NeedsThread]:
        """Execute several item operations in one commit, each as `execute_parsed` does.

        Return the responses that the operations would have if executed one by one in this order;
        an error takes the place of a response. It is NeedsThread for a write of a long item, for
        which nothing was done: `execute_parsed` with a deadline does it without making others wait.
        At the `deadline`, the others are left: there are fewer responses than calls, but at least one.
        With `may_wait` False, nothing is done and FileBusy is raised at once if another thread or
        process is writing.
        """
        if not may_wait:
            with self._storage.without_waiting():
                return self._execute_together(calls, deadline)
        try:
            return self._execute_together(calls, deadline)
        except (FileBusy, FileFailed, SharingFailed):
            # Nothing was committed: execute each one separately, so that each gets its own error.
            return [self._try_inline(operation, request) for operation, request in calls]

    def hold_view(self) -> None:
        """Let the reads that follow share one view of the file, for the server.

        This saves SQLite's locking for each read. The caller has to call `release_view` before it
        executes a request that was sent after this call.
        """
        self._storage.hold_view()

    def release_view(self) -> None:
        """Release the view that `hold_view` took."""
        self._storage.release_view()

    def _execute_together(
        self, calls: Sequence[tuple[str, Any]], deadline: Deadline
    ) -> list[dict[str, Any] | KeyfoldError | NeedsThread]:
        if len(calls) == 1:
            # A single write needs no transaction around it.
            ((operation, request),) = calls
            response = self._try_inline(operation, request)
            if isinstance(response, FileBusy):
                raise response
            return [response]
        responses: list[dict[str, Any] | KeyfoldError | NeedsThread] = []
        with self._storage.shared_commit():
            for operation, request in calls:
                responses.append(self._try_inline(operation, request))
                if deadline.is_over:
                    break
        return responses

    def _try_inline(
        self, operation: str, request: Any
    ) -> dict[str, Any] | KeyfoldError | NeedsThread:
        try:
            return self._execute(operation, request, _INLINE, self._context)
        except (KeyfoldError, NeedsThread) as error:
            return error

    def _execute(
        self,
        operation: str,
        request: dict[str, Any],
        rendering: Rendering,
        context: EngineContext,
    ) -> dict[str, Any]:
        try:
            known = LOADED.get(operation) or load_operation(operation)
        except TypeError:
            # The name of the operation is not a string.
            raise UnknownOperationException from None
        if known.try_fast is not None and request.__class__ is dict:
            try:
                response = known.try_fast(context, request, rendering)
                if response is not None:
                    return response
            except (RowsChanged, Unreadable, orjson.JSONDecodeError):
                # Nothing was written yet: the ordinary path handles it, or raises the right error.
                context.catalog.forget()
            except KeyfoldError:
                raise
            except _UNEXPECTED as error:
                self._raise_if_damaged(error)
                raise
        try:
            check(operation, request)
        except ServiceError as error:
            raise reword(error, self.wording) from None
        if self._traffic is not None:
            self._traffic.begin(operation)
        try:
            return self._run(known, request, rendering, context)
        except ServiceError as error:
            # Wrong JSON types inside attribute values take precedence over every other error.
            # Checking them costs time, so only requests that fail anyway are checked.
            check_types(operation, request)
            raise reword(error, self.wording) from error.__cause__
        except orjson.JSONDecodeError as error:
            raise FileDamaged(self.path, "the text of an item cannot be read") from error
        except Unreadable as error:
            raise FileDamaged(self.path, f"{error} cannot be read") from error
        except KeyfoldError:
            raise
        except _UNEXPECTED as error:
            self._raise_if_damaged(error)
            raise

    def _raise_if_damaged(self, error: Exception) -> None:
        """Raise FileDamaged if a damaged file explains an unexpected error.

        Rows are not checked when they are read, which would slow every read; so this verifies the
        whole file, once. An unexpected error with an undamaged file is a bug in the engine.
        """
        if self._damage is None:
            self._damage = self.verify()
        if self._damage:
            raise FileDamaged(self.path, str(self._damage[0])) from error

    def _run(
        self,
        operation: LoadedOperation,
        request: dict[str, Any],
        rendering: Rendering,
        context: EngineContext,
    ) -> dict[str, Any]:
        """Run an operation, and retry it if the cached tables turn out to be outdated.

        Nothing was written in that case: an operation that notices a change after it has
        written does not report it.
        """
        for _ in range(_ATTEMPTS):
            try:
                return operation.run(context, request, rendering)
            except RowsChanged:
                context.catalog.forget()
            except (ValidationException, ResourceNotFoundException):
                # The error may be about an outdated table: another process may have changed it.
                if not context.catalog.is_outdated():
                    raise
                context.catalog.forget()
        raise FileDamaged(self.path, "a table's rows are missing")

    def run_upkeep(self) -> int:
        """Fill new indexes, finish jobs and delete expired items now; return how many expired.

        Jobs are restores, exports, imports and bulk operations of more than a few thousand items.
        Also closes the stream shards that are due, and removes changes past their retention.
        """
        return self._upkeep.run_once()

    def hottest_keys(
        self,
        table: str,
        index: str | None = None,
        *,
        by: Literal["partition", "item"] = "partition",
        throttled: bool = False,
        limit: int = 10,
    ) -> list[HotKey]:
        """Return the keys that were used most since this engine began to count, the hottest first.

        For a table, or a global index of it, whose contributor insights are enabled. `by` selects
        counts of partitions or of single items; with `throttled`, throttled requests are counted
        instead of successful ones.

        Raises InsightsOff if insights are disabled, ResourceNotFoundException, OptionInvalid.
        """
        if by not in ("partition", "item"):
            raise OptionInvalid("by", by, 'Give "partition" or "item".')
        if not isinstance(limit, int) or limit < 1:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            raise OptionInvalid("limit", limit, "Give a number of keys, 1 or more.")
        catalog = self._context.catalog
        if catalog.is_outdated():
            catalog.forget()
        monitor = catalog.find(table).monitor
        if monitor is None or not monitor.counts_keys(index or ""):
            raise InsightsOff(table, index)
        return monitor.hottest(index or "", by, throttled=throttled, limit=limit)

    def find_key_names(self, table: str) -> TableKeyNames | None:
        """Return the names of a table's key attributes as of now; None if there is no such table.

        For callers that authorize a request before it runs.
        """
        try:
            return self._key_names.find(table)
        except Unreadable as error:
            raise FileDamaged(self.path, f"{error} cannot be read") from error

    def keep_secret(self, name: str) -> bytes:
        """Return the secret that the file holds under `name`, creating it on first use."""

        def work(writer: StorageWriter) -> bytes:
            secret = writer.get_record("secret", name)
            if secret is None:
                secret = os.urandom(_SECRET_BYTES)
                writer.set_record("secret", name, secret)
            return secret

        return self._storage.write(work)

    def verify(self) -> list[Problem]:
        """Check every invariant of the file; return the problems found."""
        return verify(self._storage)

    def check_file(self) -> None:
        """Raise FileReplaced if the file was deleted, replaced or truncated while it was open.

        Writes check it anyway; a program that only reads can call this now and then. After the
        first such error, everything raises it, until the file is opened again.
        """
        self._storage.check_file()

    def close(self) -> None:
        """Close the file. Closing again does nothing."""
        self._upkeep.stop()
        self._storage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Engine {self.path}>"


def _random_id() -> str:
    return str(uuid.uuid4())
