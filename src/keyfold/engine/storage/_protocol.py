"""What the engine asks of storage: rows in key order, changed in transactions.

A table's rows are a `RowSet`. A row has a key, a value (the item as JSON), a size, and
one slot for each index column: the row's key in that index, or None when the item is not
in it. Storage keeps rows in order of their key, and of each index column. Because an
index entry is a slot of its own row, no entry can exist without its item.

A log holds changes of rows, in the order in which they were made. Storage gives each its
sequence number and its time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class RowSet:
    """Names one table's rows and their index columns.

    `version` goes up whenever the columns change. Storage refuses a RowSet whose version is
    not the current one with RowsChanged, so that a process which has not heard of a new index
    cannot write a row without it.
    """

    number: int
    version: int
    columns: tuple[str, ...]
    # Where a storage keeps what it has worked out for these rows: looked up at every call, it
    # must not cost a hash of all the above.
    prepared: Any = field(default=None, init=False, compare=False, repr=False)


# One row as read: the item's JSON, and its size by DynamoDB's rules.
Row = tuple[bytes, int]

# Several rows: all the values, and all the sizes.
Page = tuple[tuple[bytes, ...], tuple[int, ...]]
EMPTY_PAGE: Page = ((), ())


class Span(NamedTuple):
    """A range of one order: rows from `low` up to but not including `high`.

    `column` names the index column whose order is meant; None is the order of the rows' own
    keys. `after`, for an index, is the entry (index key, row key) to go on from.
    """

    low: bytes
    high: bytes
    reverse: bool = False
    column: str | None = None
    after: tuple[bytes, bytes] | None = None


# Comes before every row's key, which has at least the four bytes of its hash.
FIRST_KEY = b"\0"
# Comes after every row's key.
LAST_KEY = b"\xff" * 5


class RowChange(NamedTuple):
    """One change of a row, as its log keeps it."""

    # One more than that of the change before.
    sequence: int
    # In seconds since 1970, never less than that of the change before.
    at: float
    key: bytes
    # The value before and after; None where there was, or is, no row.
    old: bytes | None
    new: bytes | None
    is_expiry: bool


class StorageReader(Protocol):
    """A view of the rows as of one moment."""

    def get(self, rows: RowSet, key: bytes) -> Row | None:
        """Return the row with this key."""
        ...

    def read_span(self, rows: RowSet, span: Span, *, limit: int, max_bytes: int) -> Page:
        """Return rows of a span in its order.

        At most `limit` rows (a negative limit is none), and no more once their sizes have
        reached `max_bytes`: the row that reaches it is the last.
        """
        ...

    def get_record(self, kind: str, name: str) -> bytes | None:
        """Return a record of the engine's own metadata."""
        ...

    def list_records(
        self, kind: str, *, below: str | None = None, limit: int = -1
    ) -> list[tuple[str, bytes]]:
        """Return records of a kind in order of name, all or the first below a name."""
        ...

    def read_entries(
        self, rows: RowSet, low: bytes, *, limit: int
    ) -> list[tuple[bytes, Row, tuple[bytes | None, ...]]]:
        """Return rows from `low` on in key order: key, row, and what the index columns hold."""
        ...

    def sum_sizes(self, rows: RowSet, low: bytes, high: bytes) -> int:
        """Return the sum of the sizes of a range of rows."""
        ...

    def check_structure(self) -> list[str]:
        """Return what is wrong with the file itself, apart from what the rows mean."""
        ...

    def count_rows(self, rows: RowSet) -> tuple[int, int, tuple[tuple[int, int], ...]]:
        """Return how many rows there are, their sizes' sum, and the same for each column."""
        ...

    def log_span(self, log: int) -> tuple[int, int]:
        """Return the sequence number after which a log holds every change, and its last."""
        ...

    def find_change(self, log: int, at: float) -> int:
        """Return the sequence number of the last change that was made at this time or before.

        Where a log holds none, that after which it begins.
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
        """Return changes of rows from `low` up to but not including `high`, in their order.

        Those after one sequence number, until another one if that is given. At most `limit`,
        and no more once their images have reached `max_bytes`: the one that reaches it is the
        last.
        """
        ...

    def count_changes(self, log: int, *, after: int, until: int, low: bytes, high: bytes) -> int:
        """Return how many changes `read_changes` would find."""
        ...


class StorageWriter(StorageReader, Protocol):
    """Changes that take effect together, or not at all."""

    def put(
        self, rows: RowSet, key: bytes, value: bytes, size: int, entries: tuple[bytes | None, ...]
    ) -> None:
        """Write a row, in place of the one with the same key if there is one."""
        ...

    def put_if(
        self,
        rows: RowSet,
        key: bytes,
        value: bytes,
        size: int,
        entries: tuple[bytes | None, ...],
        holds: Callable[[bytes | None], bool],
    ) -> bool:
        """Write a row if `holds` says so of the value that is there, or of None; say whether.

        `holds` may be asked more than once, and must not use the storage itself.
        """
        ...

    def delete(self, rows: RowSet, key: bytes) -> None:
        """Remove a row; one that is not there is no fault."""
        ...

    def set_record(self, kind: str, name: str, body: bytes | None) -> None:
        """Write a record of the engine's own metadata, or remove it."""
        ...

    def create_rows(self, rows: RowSet) -> None:
        """Make an empty set of rows."""
        ...

    def drop_rows(self, rows: RowSet) -> None:
        """Remove a set of rows and all that is in it."""
        ...

    def change_columns(self, rows: RowSet, changed: RowSet) -> None:
        """Make the columns of `rows` those of `changed`; new ones are empty."""
        ...

    def create_log(self, log: int, *, after: int) -> None:
        """Make an empty log, whose first change has the sequence number that follows `after`."""
        ...

    def drop_log(self, log: int) -> None:
        """Remove a log and all that is in it."""
        ...

    def append_change(
        self, log: int, key: bytes, old: bytes | None, new: bytes | None, *, is_expiry: bool
    ) -> None:
        """Write down a change of a row, with its time and the next sequence number."""
        ...

    def trim_changes(self, log: int, *, until: int, limit: int) -> int:
        """Remove the oldest changes, `limit` at most, and return how many.

        The newest stays, whatever `until` says: numbers and times go on from it.
        """
        ...


class Snapshot(Protocol):
    """The rows as of one moment, for as long as it is held."""

    def read(self, work: Callable[[StorageReader], T]) -> T:
        """Run `work` on the rows as they were. It must not write; its caller may, before and after."""
        ...


class Storage(Protocol):
    """A place where rows are kept."""

    def get(self, rows: RowSet, key: bytes) -> Row | None:
        """Return one row, as of now."""
        ...

    def read_span(self, rows: RowSet, span: Span, *, limit: int, max_bytes: int) -> Page:
        """Return rows of a span, as of now; see Reader.read_span."""
        ...

    def read_values(
        self, rows: RowSet, span: Span, *, limit: int, max_bytes: int
    ) -> list[bytes] | None:
        """Return the values of a short page, sooner than with their sizes.

        None when it is not certainly whole and below `max_bytes`; read_span knows then.
        """
        ...

    def put(
        self, rows: RowSet, key: bytes, value: bytes, size: int, entries: tuple[bytes | None, ...]
    ) -> None:
        """Write one row in a transaction of its own."""
        ...

    def put_if(
        self,
        rows: RowSet,
        key: bytes,
        value: bytes,
        size: int,
        entries: tuple[bytes | None, ...],
        holds: Callable[[bytes | None], bool],
    ) -> bool:
        """Write one row under a condition, in a transaction of its own; see Writer.put_if."""
        ...

    def read(self, work: Callable[[StorageReader], T], *, is_long: bool = False) -> T:
        """Run `work` on one view of the rows; a long one must not keep writers waiting."""
        ...

    def write(self, work: Callable[[StorageWriter], T]) -> T:
        """Run `work` as one transaction and return once it is as durable as was promised.

        If `work` raises, nothing that it did takes effect. Calls that wait at the same time
        may share one commit.
        """
        ...

    def hold_moment(self) -> AbstractContextManager[Snapshot]:
        """Keep the rows of now in sight, however long, while anybody goes on writing."""
        ...

    def shared_commit(self) -> AbstractContextManager[None]:
        """Let all that this thread writes, meanwhile, take effect by one commit at the end.

        Raises SharingFailed, or a file error, if nothing of it does; each may be done again
        then. What this thread reads by `get` and `read` is as of before.
        """
        ...

    def hold_view(self) -> None:
        """Let reads by `get` and `read_span` share one view of the rows, until `release_view`.

        Any write of this process ends it sooner. Other processes' writes are not seen
        meanwhile, so it must be short.
        """
        ...

    def release_view(self) -> None:
        """End what `hold_view` began."""
        ...

    def use_clock(self, clock: Callable[[], float]) -> None:
        """Take the times of changes from `clock`, in seconds since 1970."""
        ...

    def without_waiting(self) -> AbstractContextManager[None]:
        """Raise FileBusy at once, meanwhile, where another process writes."""
        ...

    def check_structure(self) -> list[str]:
        """Return what is wrong with the file itself, apart from what the rows mean."""
        ...

    def close(self) -> None:
        """Give the file back. Closing again does nothing."""
        ...


class RowsChanged(Exception):
    """A RowSet is out of date: another process changed or dropped the table."""


class SharingFailed(Exception):
    """A commit was to be shared, and something failed after it had written: nothing was kept."""
