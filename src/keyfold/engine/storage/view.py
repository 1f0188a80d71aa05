"""Reads and writes of rows through one SQLite connection."""

from __future__ import annotations

import time
from typing import Any

import apsw

from keyfold.clocks import Clock
from keyfold.engine.storage.connections import Binding, Cursor, SqliteConnection
from keyfold.engine.storage.epochs import read_epoch
from keyfold.engine.storage.log_statements import create_log_statement, log_statements
from keyfold.engine.storage.protocol import (
    EMPTY_PAGE,
    FIRST_KEY,
    LAST_KEY,
    Entries,
    Holds,
    Page,
    Row,
    RowChange,
    RowSet,
    Span,
    StoredRow,
)
from keyfold.engine.storage.statements import (
    HOLDS,
    Statements,
    change_statements,
    create_statements,
    statements_of,
    table_name,
    walk_statement,
)
from keyfold.values import hash_row_key

# A few rows are fastest read in one step. An item has up to 400 KB, so these are 13 MB at most; after
# more than 256 KB, the rows of that table are counted while they are read.
ROWS_AT_ONCE = 32
_BYTES_AT_ONCE = 1 << 18
LAST_SEQUENCE = (1 << 63) - 1
# The fields of a row without index columns: its key, value and size.
_PLAIN_FIELDS = 3


def _holds_always(_: bytes | None) -> bool:
    return True


def _resumed_bounds(span: Span) -> tuple[bytes, ...]:
    """Return the bounds of a span that continues after an entry, which stands for one of them."""
    assert span.after is not None  # the caller has found that it continues
    entry, key = span.after
    place = (entry, hash_row_key(key), key)
    return (span.low, *place) if span.reverse else (*place, span.high)


class RowCondition:
    """The condition that SQLite evaluates on the row it is about to change, and its last result."""

    __slots__ = ("holds", "result")

    def __init__(self, holds: Holds) -> None:
        self.holds, self.result = holds, True

    def evaluate(self, value: bytes) -> bool:
        """Return whether the condition holds for a stored value."""
        self.result = result = self.holds(value)
        return result


class View:
    """Rows of one connection: a StorageReader, and inside a transaction also a StorageWriter."""

    __slots__ = (
        "_changed_at",
        "_condition",
        "_connection",
        "_cursor",
        "_long_rows",
        "clock",
        "written_pages",
    )

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        self._cursor: Cursor = connection.cursor()
        self._condition = RowCondition(_holds_always)
        connection.create_scalar_function(HOLDS, self._condition.evaluate, 1)
        # The numbers of the tables whose rows are counted while they are read.
        self._long_rows: set[int] = set()
        # An estimate; it also changes with every write, so that a caller can detect one.
        self.written_pages = 0
        self.clock: Clock = time.time
        # All changes of a transaction have one time: a restore must never find half of them.
        self._changed_at: float | None = None

    def get(self, rows: RowSet, key: bytes) -> Row | None:
        # fetchall, not fetchone: a statement stepped to its end holds no snapshot open.
        found = self._cursor.execute(statements_of(rows).get, (key,)).fetchall()
        return found[0] if found else None

    def read_span(self, rows: RowSet, span: Span, *, limit: int, max_bytes: int) -> Page:
        statement = walk_statement(rows, span, sized=True)
        bounds = span[:2] if span.after is None else _resumed_bounds(span)
        page: list[tuple[Any, ...]] = []
        try:
            if rows.number not in self._long_rows:
                at_once = limit if 0 <= limit <= ROWS_AT_ONCE else ROWS_AT_ONCE
                page = self._cursor.execute(statement, (*bounds, at_once)).fetchall()
                if not page:
                    return EMPTY_PAGE
                columns: Page = tuple(zip(*page, strict=True))  # pyright: ignore[reportAssignmentType] - there are two
                size = sum(columns[1])
                if size < max_bytes and (len(page) < at_once or at_once == limit):
                    return columns
                if size > _BYTES_AT_ONCE:
                    self._long_rows.add(rows.number)
                page = []
            # Counted while reading: rows that follow the page may have a hundred times its bytes.
            for row in self._cursor.execute(statement, (*bounds, limit)):
                page.append(row)
                max_bytes -= row[1]
                if max_bytes <= 0:
                    self._renew_cursor()
                    break
        except TypeError:
            raise apsw.CorruptError("a row has no size") from None
        return tuple(zip(*page, strict=True)) if page else EMPTY_PAGE  # pyright: ignore[reportReturnType] - as above

    def read_values(
        self, rows: RowSet, span: Span, *, limit: int, max_bytes: int
    ) -> list[bytes] | None:
        at_once = limit if 0 <= limit <= ROWS_AT_ONCE else ROWS_AT_ONCE
        statement = walk_statement(rows, span, sized=False)
        bounds = span[:2] if span.after is None else _resumed_bounds(span)
        found = self._cursor.execute(statement, (*bounds, at_once))
        values: list[bytes] = []
        if rows.number not in self._long_rows:
            values = [value for (value,) in found.fetchall()]
            # An item's JSON is always longer than its size by DynamoDB's rules.
            size = sum(map(len, values))
            if size >= max_bytes:
                if size > _BYTES_AT_ONCE:
                    self._long_rows.add(rows.number)
                return None
        else:
            for (value,) in found:
                values.append(value)
                max_bytes -= len(value)
                if max_bytes <= 0:
                    self._renew_cursor()
                    return None
        return None if len(values) == at_once != limit else values

    def _renew_cursor(self) -> None:
        """Replace the cursor of an unfinished statement, which would hold a snapshot open."""
        self._cursor.close()
        self._cursor = self._connection.cursor()

    def get_record(self, kind: str, name: str) -> bytes | None:
        query = "SELECT body FROM metadata WHERE kind = ? AND name = ?"
        found = self._cursor.execute(query, (kind, name)).fetchall()
        return found[0][0] if found else None

    def list_records(
        self, kind: str, *, below: str | None = None, limit: int = -1
    ) -> list[tuple[str, bytes]]:
        bound = "" if below is None else "AND name < ? "
        query = f"SELECT name, body FROM metadata WHERE kind = ? {bound}ORDER BY name LIMIT ?"  # noqa: S608 - no outside text
        bindings = (kind, limit) if below is None else (kind, below, limit)
        return self._cursor.execute(query, bindings).fetchall()

    def read_entries(self, rows: RowSet, low: bytes, *, limit: int) -> list[StoredRow]:
        found = self._cursor.execute(statements_of(rows).entries, (low, limit)).fetchall()
        if not rows.columns:
            return [StoredRow(key, (value, size)) for key, value, size in found]
        return [StoredRow(each[0], each[1:3], each[3], each[4:]) for each in found]

    def sum_sizes(self, rows: RowSet, low: bytes, high: bytes) -> int:
        ((size,),) = self._cursor.execute(statements_of(rows).sum_sizes, (low, high)).fetchall()
        return int(size)

    def count_rows(self, rows: RowSet) -> tuple[int, int, tuple[tuple[int, int], ...]]:
        (counts,) = self._cursor.execute(statements_of(rows).count).fetchall()
        count, size, *columns = map(int, counts)
        return count, size, tuple(zip(columns[::2], columns[1::2], strict=True))

    def log_span(self, log: int) -> tuple[int, int]:
        found = self._cursor.execute(log_statements(log).span).fetchall()
        if not found:
            raise apsw.CorruptError("a log is empty")
        ((first, key, last),) = found
        # The mark with which a log begins is not a change; it has no key.
        return (first - 1 if key else first), last

    def find_change(self, log: int, at: float) -> int:
        time_of = log_statements(log).time_of
        low, high = self.log_span(log)
        # Times are in the same order as sequence numbers, so no index of times is needed.
        while low < high:
            middle = (low + high + 1) // 2
            ((changed_at,),) = self._cursor.execute(time_of, (middle,)).fetchall()
            if not isinstance(changed_at, float):
                raise apsw.CorruptError("a change has no time")
            if changed_at <= at:
                low = middle
            else:
                high = middle - 1
        return low

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
        last = LAST_SEQUENCE if until is None else until
        found: list[RowChange] = []
        for row in self._cursor.execute(log_statements(log).read, (after, last, low, high, limit)):
            sequence, at, key, is_expiry, old, new = row
            # A damaged tree can lead back to earlier rows: a reader would never reach the end.
            if sequence <= after:
                raise apsw.CorruptError("changes are out of order")
            after = sequence
            found.append(RowChange(sequence, at, key, old, new, bool(is_expiry)))
            try:
                max_bytes -= len(old or b"") + len(new or b"")
            except TypeError:
                raise apsw.CorruptError("a change has no images") from None
            if max_bytes <= 0:
                self._renew_cursor()
                break
        return found

    def count_changes(self, log: int, *, after: int, until: int, low: bytes, high: bytes) -> int:
        bounds = (after, until, low, high)
        ((count,),) = self._cursor.execute(log_statements(log).count_between, bounds).fetchall()
        return count

    def put(
        self,
        rows: RowSet,
        key: bytes,
        value: bytes,
        size: int,
        entries: Entries,
        holds: Holds | None = None,
    ) -> bool:
        statements = statements_of(rows)
        row = (key, value, size, hash_row_key(key), *entries) if entries else (key, value, size)
        # One page in each tree, the overflow pages of long values, and an occasional split.
        pages = 1 + len(entries) + (size + 1_024 >> 11)
        if holds is not None:
            is_put = self._put_if(statements, row, holds)
            self.written_pages += pages if is_put else 0
            return is_put
        self.written_pages += pages
        if entries:
            self._cursor.execute(statements.overwrite, row)
            if self._connection.changes():
                return True
        self._cursor.execute(statements.upsert, row)
        return True

    def _put_if(self, statements: Statements, row: tuple[Binding, ...], holds: Holds) -> bool:
        condition = self._condition
        condition.holds, condition.result = holds, True
        may_insert = holds(None)
        if len(row) > _PLAIN_FIELDS:
            # As in `put`: first try the statement that leaves the indexes untouched.
            statement = statements.overwrite_if if may_insert else statements.revise_if
            self._cursor.execute(statement, row)
            if self._connection.changes():
                return True
        if not condition.result:
            return False
        condition.result = may_insert
        self._cursor.execute(statements.upsert_if if may_insert else statements.replace_if, row)
        return condition.result

    def delete(self, rows: RowSet, key: bytes) -> None:
        self.written_pages += 1
        self._cursor.execute(statements_of(rows).delete, (key,))

    def set_record(self, kind: str, name: str, body: bytes | None) -> None:
        self.written_pages += 1
        if body is None:
            self._cursor.execute("DELETE FROM metadata WHERE kind = ? AND name = ?", (kind, name))
        else:
            self._cursor.execute("REPLACE INTO metadata VALUES (?, ?, ?)", (kind, name, body))

    def create_rows(self, rows: RowSet) -> None:
        self._run_all(create_statements(rows))

    def drop_rows(self, rows: RowSet) -> None:
        self._run_all([f"DROP TABLE {table_name(rows)}"])

    def change_columns(self, rows: RowSet, changed: RowSet) -> None:
        self._run_all(change_statements(rows, changed))

    def create_log(self, log: int, *, after: int) -> None:
        self._run_all([create_log_statement(log)])
        mark = (after, self.clock())
        self._cursor.execute(log_statements(log).mark, mark)

    def drop_log(self, log: int) -> None:
        self._run_all([log_statements(log).drop])

    def append_change(
        self, log: int, key: bytes, old: bytes | None, new: bytes | None, *, is_expiry: bool
    ) -> None:
        self.written_pages += 1 + (len(old or b"") + len(new or b"") >> 12)
        if self._changed_at is None:
            self._changed_at = self.clock()
        record = (self._changed_at, key, int(is_expiry), old, new)
        self._cursor.execute(log_statements(log).append, record)

    def trim_changes(self, log: int, *, until: int, limit: int) -> int:
        self.written_pages += 1
        self._cursor.execute(log_statements(log).trim, (until, limit))
        return self._connection.changes()

    def _run_all(self, statements: list[str]) -> None:
        self.written_pages += 1
        for statement in statements:
            self._cursor.execute(statement)

    def check_structure(self) -> list[str]:
        found = self._cursor.execute("PRAGMA integrity_check(100)").fetchall()
        problems = [str(message) for (message,) in found if message != "ok"]
        if read_epoch(self._connection) is None:
            problems.append("its epoch cannot be read")
        return problems

    def has_rows(self) -> bool:
        query = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('metadata', 'epoch') LIMIT 1"
        return bool(self._cursor.execute(query).fetchall())

    def begin(self, kind: str) -> None:
        self._changed_at = None
        self._cursor.execute(kind)

    def commit(self) -> None:
        self._cursor.execute("COMMIT")

    @property
    def is_in_transaction(self) -> bool:
        try:
            return self._connection.in_transaction
        except apsw.ConnectionClosedError:
            return False

    def roll_back(self) -> None:
        # SQLite has already rolled back after some errors, such as a full disk.
        if self.is_in_transaction:
            self._cursor.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close(True)  # noqa: FBT003 - apsw's signature
