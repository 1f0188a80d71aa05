"""The storage protocol: rows in key order, changed in transactions.

A table's rows are a `RowSet`. A row has a key, a value (the item as JSON), a size, and
one slot for each index column: the row's key in that index, or None when the item is not
in it. Storage keeps rows in order of their key, and of each index column; rows with the same
index key are in the order of a hash of their key (`keyfold.values.hash_row_key`). Because an index
entry is a slot of its own row, no entry can exist without its item.

A log holds changes of rows, in the order in which they were made. Storage gives each change
its sequence number and its time.

A storage has three classes: a `StorageReader`, a `StorageWriter`, and the `Storage` that runs work
on them. Every member is one that the engine calls.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from keyfold.clocks import Clock

T = TypeVar("T")

# What an acknowledged write survives: a power failure, the end of the process, or neither.
Durability = Literal["durable", "process", "memory"]

# The keys of a row in the index columns, None where the item is not in an index.
Entries = tuple[bytes | None, ...]

# A condition on the stored value, or on None if there is no row.
Holds = Callable[[bytes | None], bool]


@dataclass(frozen=True)
class RowSet:
    """Identifies one table's rows and their index columns.

    `version` increases whenever the columns change. Storage raises RowsChanged for a RowSet whose
    version is not the current one, so that a process that does not know of a new index yet
    cannot write a row without its entry.
    """

    number: int
    version: int
    columns: tuple[str, ...]
    # The storage's cache for these rows, such as their statements. It is needed in every call, so
    # it is an attribute: a lookup in a dict would hash all the fields above.
    prepared: Any = field(default=None, init=False, compare=False, repr=False)


# One row as read: the item's JSON, and the item's size by DynamoDB's rules.
Row = tuple[bytes, int]

# Several rows: all the values, and all the sizes.
Page = tuple[tuple[bytes, ...], tuple[int, ...]]
EMPTY_PAGE: Page = ((), ())


class Span(NamedTuple):
    """A range of keys, or of index keys: rows from `low` up to but not including `high`.

    `column` names the index column; None means the rows' own keys. `after`, for an index, is the
    entry (index key, row key) after which to continue; its index key is not below `low` or, in
    reverse, is below `high`.
    """

    low: bytes
    high: bytes
    reverse: bool = False
    column: str | None = None
    after: tuple[bytes, bytes] | None = None


# Sorts before every row's key, which has at least the four bytes of its hash.
FIRST_KEY = b"\0"
# Sorts after every row's key.
LAST_KEY = b"\xff" * 5


class RowChange(NamedTuple):
    """One change of a row, as stored in its log."""

    # One more than that of the previous change.
    sequence: int
    # In seconds since 1970, never less than that of the previous change.
    at: float
    key: bytes
    # The value before and after; None where there was, or is, no row.
    old: bytes | None
    new: bytes | None
    is_expiry: bool


class StoredRow(NamedTuple):
    """A row with all its fields, for checks and copies."""

    key: bytes
    row: Row
    # The hash that orders it among rows with the same index key; None if it may be in no index.
    key_hash: bytes | None = None
    entries: Entries = ()


class RowReader(Protocol):
    """Reads of rows: in a StorageReader, or each by itself in a Storage."""

    def get(self, rows: RowSet, key: bytes) -> Row | None:
        """Return the row with this key, or None."""
        ...

    def read_span(self, rows: RowSet, span: Span, *, limit: int, max_bytes: int) -> Page:
        """Return the rows of a span, in its order.

        At most `limit` rows are returned (a negative limit means no limit). The row with which
        their total size reaches `max_bytes` is the last.
        """
        ...


class RowWriter(Protocol):
    """Writes of rows: in a StorageWriter, or each in a transaction of its own in a Storage."""

    def put(
        self,
        rows: RowSet,
        key: bytes,
        value: bytes,
        size: int,
        entries: Entries,
        holds: Holds | None = None,
    ) -> bool:
        """Write a row, replacing the one with the same key, unless `holds` is false of its value.

        Return whether it was written. `holds` may be called more than once, and must not use the
        storage.
        """
        ...


class StorageReader(RowReader, Protocol):
    """A consistent view of the rows, as of one point in time."""

    def get_record(self, kind: str, name: str) -> bytes | None:
        """Return a record of the engine's metadata, or None."""
        ...

    def list_records(
        self, kind: str, *, below: str | None = None, limit: int = -1
    ) -> list[tuple[str, bytes]]:
        """Return the (name, body) of records of one kind, ordered by name.

        `below` restricts them to smaller names; at most `limit` are returned (-1: no limit).
        """
        ...

    def read_entries(self, rows: RowSet, low: bytes, *, limit: int) -> list[StoredRow]:
        """Return rows from `low` on, in key order."""
        ...

    def sum_sizes(self, rows: RowSet, low: bytes, high: bytes) -> int:
        """Return the total size of the rows from `low` up to but not including `high`."""
        ...

    def check_structure(self) -> list[str]:
        """Return the problems of the file itself, without checking what the rows contain."""
        ...

    def has_rows(self) -> bool:
        """Return whether the file has anything besides the metadata."""
        ...

    def count_rows(self, rows: RowSet) -> tuple[int, int, tuple[tuple[int, int], ...]]:
        """Return the number of rows and their total size, then both for each index column."""
        ...

    def log_span(self, log: int) -> tuple[int, int]:
        """Return the bounds of a log: the number before its first change, and that of its last.

        The two are equal if the log holds no changes.
        """
        ...

    def find_change(self, log: int, at: float) -> int:
        """Return the sequence number of the last change that was made at or before this time.

        If there is no such change, return the number before the log's first change.
        """
        ...

    def read_changes(
        self,
        log: int,
        *,
        after: int,
        until: int | None = None,
        low: bytes = FIRST_KEY,
        high: bytes = LAST_KEY,
        limit: int,
        max_bytes: int,
    ) -> list[RowChange]:
        """Return changes of rows from `low` up to but not including `high`, in order.

        The changes have sequence numbers greater than `after` and, if given, not greater than
        `until`. At most `limit` are returned. The change with which the total size of their
        images reaches `max_bytes` is the last.
        """
        ...

    def count_changes(self, log: int, *, after: int, until: int, low: bytes, high: bytes) -> int:
        """Return the number of changes that `read_changes` finds without limits."""
        ...


class StorageWriter(StorageReader, RowWriter, Protocol):
    """Writes of one transaction, which take effect together or not at all."""

    def delete(self, rows: RowSet, key: bytes) -> None:
        """Remove a row, if it exists."""
        ...

    def set_record(self, kind: str, name: str, body: bytes | None) -> None:
        """Write a record of the engine's metadata, or remove it if `body` is None."""
        ...

    def create_rows(self, rows: RowSet) -> None:
        """Create an empty set of rows."""
        ...

    def drop_rows(self, rows: RowSet) -> None:
        """Remove a set of rows and its content."""
        ...

    def change_columns(self, rows: RowSet, changed: RowSet) -> None:
        """Change the columns of `rows` to those of `changed`; new columns are empty."""
        ...

    def create_log(self, log: int, *, after: int) -> None:
        """Create an empty log; its first change will have the sequence number `after` + 1."""
        ...

    def drop_log(self, log: int) -> None:
        """Remove a log and its content."""
        ...

    def append_change(
        self, log: int, key: bytes, old: bytes | None, new: bytes | None, *, is_expiry: bool
    ) -> None:
        """Append a change of a row to a log, with its time and the next sequence number."""
        ...

    def trim_changes(self, log: int, *, until: int, limit: int) -> int:
        """Remove the oldest changes up to `until`, `limit` at most; return the number removed.

        The newest change always stays: numbers and times continue from it.
        """
        ...


class Snapshot(Protocol):
    """The rows as of one point in time, until the snapshot is released."""

    def read(self, work: Callable[[StorageReader], T]) -> T:
        """Run `work` on the rows as they were at the snapshot; return its result.

        `work` must not write; its caller may, before and after.
        """
        ...


class Storage(RowReader, RowWriter, Protocol):
    """Stores rows, and runs transactions on them."""

    durability: Durability

    def read_values(
        self, rows: RowSet, span: Span, *, limit: int, max_bytes: int
    ) -> list[bytes] | None:
        """Return the values of a short page without their sizes, which is faster.

        Return None if the page may be incomplete or reach `max_bytes`; callers use read_span then.
        """
        ...

    def read(self, work: Callable[[StorageReader], T], *, is_long: bool = False) -> T:
        """Run `work` on a consistent view of the rows; return its result.

        A long read must not block writers.
        """
        ...

    def write(self, work: Callable[[StorageWriter], T]) -> T:
        """Run `work` as one transaction; return its result once its commit is durable as promised.

        If `work` raises, none of its writes take effect. Calls that wait at the same time may
        share one commit.
        """
        ...

    def hold_snapshot(self) -> AbstractContextManager[Snapshot]:
        """Take a snapshot of the rows, for as long as needed. It does not block writers."""
        ...

    def shared_commit(self) -> AbstractContextManager[None]:
        """Commit all writes that this thread makes in the block together, at its end.

        Raises SharingFailed, or a file error, if none of them took effect; each may be repeated
        then. In the block, this thread's `get` and `read` may return the rows as before it. A
        storage whose commits are cheap may commit each write by itself.
        """
        ...

    def hold_view(self) -> None:
        """Let `get` and `read_span` share one view of the rows until `release_view`.

        Any write of this process ends it earlier. Writes of other processes stay invisible
        until then, so the view must be held only briefly. A storage may do nothing here, if it
        gains nothing by it.
        """
        ...

    def release_view(self) -> None:
        """End the view that `hold_view` began."""
        ...

    def use_clock(self, clock: Clock) -> None:
        """Take the times of changes from `clock`, in seconds since 1970."""
        ...

    def without_waiting(self) -> AbstractContextManager[None]:
        """In the block, raise FileBusy at once in this thread if another thread or process is writing."""
        ...

    def close(self) -> None:
        """Close the file. Closing again does nothing."""
        ...


class RowsChanged(Exception):
    """A RowSet is out of date: another process changed or dropped the table."""


class SharingFailed(Exception):
    """A write of a shared commit failed halfway, so none of the shared writes took effect."""
