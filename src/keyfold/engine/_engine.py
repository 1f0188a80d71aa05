"""The engine: DynamoDB's operations on one file."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import orjson

from keyfold.engine._buckets import Buckets
from keyfold.engine._catalog import Catalog
from keyfold.engine._context import EngineContext
from keyfold.engine._hot_keys import HotKey
from keyfold.engine._jobs import Jobs
from keyfold.engine._key_names import KeyNameReader, TableKeyNames
from keyfold.engine._responses import PythonRendering, Rendering, WireRendering
from keyfold.engine._shards import SHARD_RECORDS
from keyfold.engine._table_stats import TableStats
from keyfold.engine._tables import Unreadable
from keyfold.engine._upkeep import Upkeep
from keyfold.engine._usage import Watches
from keyfold.engine._verify import Problem, verify
from keyfold.engine.operations import LOADED, Operation, load_operation
from keyfold.engine.shapes import check, check_types
from keyfold.engine.storage import (
    Durability,
    RowsChanged,
    SharingFailed,
    SqliteStorage,
    StorageWriter,
)
from keyfold.errors import (
    FileBusy,
    FileDamaged,
    FileFailed,
    InsightsOff,
    KeyfoldError,
    OptionInvalid,
    ResourceNotFoundException,
    SerializationException,
    ServiceError,
    UnknownOperationException,
    ValidationException,
)

MEMORY = ":memory:"

# A table may change again while an operation is tried again; to change this often in a row it
# would have to do nothing else.
_ATTEMPTS = 10

_SECRET_BYTES = 32

_PYTHON, _WIRE = PythonRendering(), WireRendering()

# What working with a row may raise that is JSON, and no item.
_UNFORESEEN = (
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

    An engine may be used by several threads. A file may be opened by several processes.
    """

    def __init__(
        self, path: str, storage: SqliteStorage, services: EngineContext, upkeep: Upkeep
    ) -> None:
        """Use `Engine.open` instead."""
        self.path = path
        self.durability: Durability = storage.durability
        self._storage = storage
        self._services = services
        self._upkeep = upkeep
        self._key_names = KeyNameReader(storage)
        # What was found when something unforeseen was met; None before that.
        self._damage: list[Problem] | None = None

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        durability: Durability | None = None,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] | None = None,
        ttl_grace_seconds: float = 10.0,
        upkeep_seconds: float | None = 5.0,
        busy_seconds: float = 5.0,
        shard_records: int | None = None,
        region: str = "us-east-1",
        account: str = "000000000000",
        buckets: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Open a file, or make it; `":memory:"` keeps everything in this process.

        `durability` says what an acknowledged write survives: `"durable"`, the default for
        files, a loss of power; `"process"` the end of this process, however sudden; `"memory"`,
        for `":memory:"` alone, nothing.

        `clock` gives the time in seconds since 1970; `new_id` makes table ids. Items expire
        `ttl_grace_seconds` after their time, looked for every `upkeep_seconds`; None leaves
        that, and the filling of new indexes, to `run_upkeep`. `busy_seconds` is how long to
        wait for another process that writes. Shards of streams are split after `shard_records`
        records, by default 10,000: a small number tries how a program follows that. `region` and
        `account` appear in ARNs. `buckets` is a folder whose folders stand for S3 buckets, for
        exports, imports and bulk operations.

        Raises OptionInvalid, or a file error: FileUnreachable, FileNotKeyfold, FileNewer,
        FileDamaged, FileBusy.
        """
        name = _check_path(path)
        for option, value, least in (
            ("ttl_grace_seconds", ttl_grace_seconds, 0.0),
            ("upkeep_seconds", upkeep_seconds, 0.001),
            ("busy_seconds", busy_seconds, 0.0),
        ):
            _check_seconds(option, value, least)
        for option, call in (("clock", clock), ("new_id", new_id or _random_id)):
            if not callable(call):
                raise OptionInvalid(option, call, "Give a function without arguments.")
        for option, text in (("region", region), ("account", account)):
            if not isinstance(text, str) or not text.isascii() or not text:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
                raise OptionInvalid(option, text, "Give the text that ARNs are to have there.")
        most_records = SHARD_RECORDS if shard_records is None else shard_records
        if most_records.__class__ is not int or most_records < 1:
            raise OptionInvalid("shard_records", shard_records, "Give a whole number, 1 or more.")
        level = _check_durability(name, durability)
        folder = _check_buckets(buckets)
        storage = SqliteStorage(name, level, busy_seconds=busy_seconds)
        try:
            return cls._on_storage(
                name,
                storage,
                clock=clock,
                new_id=new_id or _random_id,
                ttl_grace_seconds=ttl_grace_seconds,
                upkeep_seconds=upkeep_seconds,
                shard_records=most_records,
                region=region,
                account=account,
                buckets=folder,
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
        clock: Callable[[], float],
        new_id: Callable[[], str],
        ttl_grace_seconds: float,
        upkeep_seconds: float | None,
        shard_records: int = SHARD_RECORDS,
        region: str,
        account: str,
        buckets: Path | None = None,
    ) -> Self:
        storage.use_clock(clock)
        watches = Watches(clock, lambda name: services.table_arn(name))  # noqa: PLW0108 - it is made later
        catalog = Catalog(storage, watches)
        folders = Buckets(buckets)
        jobs = Jobs(storage, clock, folders)
        upkeep = Upkeep(
            storage,
            catalog,
            jobs,
            clock=clock,
            grace_seconds=ttl_grace_seconds,
            interval_seconds=upkeep_seconds,
            shard_records=shard_records,
            shares_file=path != MEMORY,
        )
        services = EngineContext(
            storage=storage,
            catalog=catalog,
            census=TableStats(storage, clock),
            clock=clock,
            new_id=new_id,
            region=region,
            account=account,
            watches=watches,
            buckets=folders,
            shard_records=shard_records,
            wake_upkeep=upkeep.wake,
            begin_job=upkeep.begin_job,
        )
        upkeep.wake_if_needed()
        return cls(path, storage, services, upkeep)

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation of DynamoDB's API.

        Takes and returns what its JSON has, as dicts; binaries are bytes. Raises ServiceError
        as the service would, with its type, status and message.
        """
        return self._execute(operation, request, _PYTHON)

    def execute_json(self, operation: str, body: bytes) -> bytes:
        """Carry out one operation, JSON in and JSON out, for the wire.

        Items that are neither filtered nor projected are copied from storage, not parsed.
        """
        try:
            request = orjson.loads(body)
        except orjson.JSONDecodeError:
            raise SerializationException from None
        return orjson.dumps(self._execute(operation, request, _WIRE))

    def execute_json_together(
        self, calls: Sequence[tuple[str, bytes]], *, may_wait: bool = True
    ) -> list[bytes | KeyfoldError]:
        """Carry out several operations on items by one commit, for the wire.

        Each is answered as if it had been carried out by itself, in this order, with its error
        in place of its response. With `may_wait` False, FileBusy is raised at once, and nothing
        is done, where another process is writing.
        """
        if not may_wait:
            with self._storage.without_waiting():
                return self._execute_together(calls)
        try:
            return self._execute_together(calls)
        except (FileBusy, FileFailed, SharingFailed):
            # Nothing was kept of any: each gets its own try, and its own error.
            return [self._try_json(operation, body) for operation, body in calls]

    def hold_view(self) -> None:
        """Let the reads that follow share one view of the file, for the wire.

        It saves SQLite's locking for each. To be ended by `release_view` before anything comes
        that was sent after this call.
        """
        self._storage.hold_view()

    def release_view(self) -> None:
        """End what `hold_view` began."""
        self._storage.release_view()

    def _execute_together(self, calls: Sequence[tuple[str, bytes]]) -> list[bytes | KeyfoldError]:
        if len(calls) == 1:
            # One write alone needs no transaction around it.
            ((operation, body),) = calls
            answer = self._try_json(operation, body)
            if isinstance(answer, FileBusy):
                raise answer
            return [answer]
        with self._storage.shared_commit():
            return [self._try_json(operation, body) for operation, body in calls]

    def _try_json(self, operation: str, body: bytes) -> bytes | KeyfoldError:
        try:
            return self.execute_json(operation, body)
        except KeyfoldError as error:
            return error

    def _execute(
        self, operation: str, request: dict[str, Any], rendering: Rendering
    ) -> dict[str, Any]:
        try:
            known = LOADED.get(operation) or load_operation(operation)
        except TypeError:
            # Something that is no text at all.
            raise UnknownOperationException from None
        if known.try_fast is not None and request.__class__ is dict:
            try:
                response = known.try_fast(self._services, request, rendering)
                if response is not None:
                    return response
            except (RowsChanged, Unreadable, orjson.JSONDecodeError):
                # Nothing is written by then: the ordinary way finds out what it is.
                self._services.catalog.forget()
            except KeyfoldError:
                raise
            except _UNFORESEEN as error:
                self._raise_if_damaged(error)
                raise
        check(operation, request)
        try:
            return self._run(known, request, rendering)
        except ServiceError:
            # Wrong JSON types inside attribute values come before every other fault, and cost
            # time to look for: only a request that is refused anyway is looked at.
            check_types(operation, request)
            raise
        except orjson.JSONDecodeError as error:
            raise FileDamaged(self.path, "the text of an item cannot be read") from error
        except Unreadable as error:
            raise FileDamaged(self.path, f"{error} cannot be read") from error
        except KeyfoldError:
            raise
        except _UNFORESEEN as error:
            self._raise_if_damaged(error)
            raise

    def _raise_if_damaged(self, error: Exception) -> None:
        """Raise FileDamaged for an error that nobody foresaw, where the file is to blame.

        Rows are not checked when they are read, which would cost every read; so this looks at the
        whole file, once. An error that a sound file brings about is a mistake of ours.
        """
        if self._damage is None:
            self._damage = self.verify()
        if self._damage:
            raise FileDamaged(self.path, str(self._damage[0])) from error

    def _run(
        self, operation: Operation, request: dict[str, Any], rendering: Rendering
    ) -> dict[str, Any]:
        """Run an operation, again if what is known of its tables turns out to be old.

        Nothing was written then: an operation that finds out about a change after it has
        written does not say so.
        """
        services = self._services
        for _ in range(_ATTEMPTS):
            try:
                return operation.run(services, request, rendering)
            except RowsChanged:
                services.catalog.forget()
            except (ValidationException, ResourceNotFoundException):
                # It may speak of a table as it was: another process may have changed it since.
                if not services.catalog.is_outdated():
                    raise
                services.catalog.forget()
        raise FileDamaged(self.path, "a table's rows are not there")

    def run_upkeep(self) -> int:
        """Fill new indexes, finish jobs and delete expired items now; return how many expired.

        Jobs are restores, exports, imports and bulk operations of more than a few thousand items.
        Shards of streams that are due are closed, and changes that are too old removed.
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

        For a table, or a global index of it, whose contributor insights are enabled. `by` says
        whether partitions or single items are counted; `throttled` counts what was refused
        instead of what was done.

        Raises InsightsOff where nothing is counted, ResourceNotFoundException, OptionInvalid.
        """
        if by not in ("partition", "item"):
            raise OptionInvalid("by", by, 'Give "partition" or "item".')
        if not isinstance(limit, int) or limit < 1:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            raise OptionInvalid("limit", limit, "Give a number of keys, 1 or more.")
        catalog = self._services.catalog
        if catalog.is_outdated():
            catalog.forget()
        watch = catalog.find(table).watch
        if watch is None or not watch.counts_keys(index or ""):
            raise InsightsOff(table, index)
        return watch.hottest(index or "", by, throttled=throttled, limit=limit)

    def find_key_names(self, table: str) -> TableKeyNames | None:
        """Return the names of the key attributes of a table as it is now; None if it is not there.

        For those who decide on a request before it runs.
        """
        try:
            return self._key_names.find(table)
        except Unreadable as error:
            raise FileDamaged(self.path, f"{error} cannot be read") from error

    def keep_secret(self, name: str) -> bytes:
        """Return a secret that is kept in the file under a name; made at the first use."""

        def work(writer: StorageWriter) -> bytes:
            secret = writer.get_record("secret", name)
            if secret is None:
                secret = os.urandom(_SECRET_BYTES)
                writer.set_record("secret", name, secret)
            return secret

        return self._storage.write(work)

    def verify(self) -> list[Problem]:
        """Check every invariant of the file; return what does not hold."""
        return verify(self._storage)

    def close(self) -> None:
        """Give the file back. Closing again does nothing."""
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


def _check_path(path: str | os.PathLike[str]) -> str:
    advice = 'Name a file, or ":memory:".'
    try:
        name = os.fsdecode(path)
        name.encode()
    except (TypeError, ValueError):
        raise OptionInvalid("path", path, advice) from None
    if not name or "\0" in name:
        raise OptionInvalid("path", path, advice)
    return name


def _check_buckets(buckets: str | os.PathLike[str] | None) -> Path | None:
    if buckets is None:
        return None
    try:
        folder = Path(os.fsdecode(buckets))
        if folder.is_dir():
            return folder.absolute()
    except (TypeError, ValueError):
        pass
    raise OptionInvalid("buckets", buckets, "Name a folder that is there.")


def _check_seconds(option: str, value: float | None, least: float) -> None:
    if value is None and option == "upkeep_seconds":
        return
    if isinstance(value, int | float) and least <= value <= threading.TIMEOUT_MAX:
        return
    raise OptionInvalid(option, value, f"Give a number of seconds, {least:g} or more.")


def _check_durability(path: str, durability: Durability | None) -> Durability:
    default: Durability = "memory" if path == MEMORY else "durable"
    level = default if durability is None else durability
    if level not in ("durable", "process", "memory"):
        advice = 'Give "durable", "process" or, for ":memory:", "memory".'
        raise OptionInvalid("durability", durability, advice)
    if (level == "memory") is not (path == MEMORY):
        advice = 'Only ":memory:" has durability "memory"; files have "durable" or "process".'
        raise OptionInvalid("durability", durability, advice)
    return level


def _random_id() -> str:
    return str(uuid.uuid4())
