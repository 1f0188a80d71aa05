"""What a view of SQLite does beyond the storage protocol: how much it reads, and what damage it reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import apsw
import pytest

from keyfold.engine.storage import RowSet, Span, SqliteStorage, StorageReader, StorageWriter
from keyfold.engine.storage.view import View
from keyfold.errors import FileDamaged

ROWS = RowSet(1, 1, ())
INDEXED = RowSet(2, 1, ("i0", "i1"))
EVERYTHING = Span(b"\0", b"\xff")
LOG = 3
# Two of these are more than a view reads at once.
LONG = 600_000


@pytest.fixture
def storage() -> Iterator[SqliteStorage]:
    """Return a storage in memory that has rows, some of them with indexes, and a log."""
    opened = SqliteStorage(":memory:", "memory")

    def create(writer: StorageWriter) -> None:
        writer.create_rows(ROWS)
        writer.create_rows(INDEXED)
        writer.create_log(LOG, after=0)

    opened.write(create)
    yield opened
    opened.close()


def fill(storage: SqliteStorage, count: int, length: int = 2) -> None:
    for number in range(count):
        storage.put(ROWS, b"%03d" % number, bytes(length), length, ())


def count_rows_read(storage: SqliteStorage, work: Callable[[], object]) -> int:
    """Return the number of rows that SQLite reads during some work."""
    count = 0

    def trace(_: object, row: Any) -> Any:
        nonlocal count
        count += 1
        return row

    connection: Any = storage._connection
    connection.row_trace = trace
    try:
        work()
    finally:
        connection.row_trace = None
    return count


@pytest.mark.parametrize(
    ("limit", "max_bytes", "page", "read"),
    [
        (0, 999, 0, 0),
        (7, 999, 7, 7),
        (32, 999, 32, 32),
        # Up to 32 rows are read at once. If the page does not end there, it is read row by row.
        (33, 999, 33, 32 + 33),
        (-1, 999, 99, 32 + 99),
        (-1, 1, 1, 32 + 1),
        (7, 2, 1, 7 + 1),
        (7, 14, 7, 7 + 7),
    ],
)
def test_a_page_reads_few_rows_that_it_does_not_return(
    storage: SqliteStorage, limit: int, max_bytes: int, page: int, read: int
) -> None:
    fill(storage, 99)

    def work() -> None:
        values, sizes = storage.read_span(ROWS, EVERYTHING, limit=limit, max_bytes=max_bytes)
        assert len(values) == len(sizes) == page

    assert count_rows_read(storage, work) == read


def test_a_page_of_fewer_rows_than_its_limit_is_read_once(storage: SqliteStorage) -> None:
    fill(storage, 5)
    for limit in (6, 99, -1):
        read = count_rows_read(
            storage,
            lambda limit=limit: storage.read_span(ROWS, EVERYTHING, limit=limit, max_bytes=99),
        )
        assert read == 5


@pytest.mark.parametrize("is_first_read_of_values", [False, True])
def test_after_long_rows_none_is_read_beyond_a_page(
    storage: SqliteStorage, is_first_read_of_values: bool
) -> None:
    fill(storage, 4, LONG)

    def read_span() -> None:
        values, _ = storage.read_span(ROWS, EVERYTHING, limit=-1, max_bytes=LONG + 1)
        assert len(values) == 2

    def read_values() -> None:
        assert storage.read_values(ROWS, EVERYTHING, limit=-1, max_bytes=LONG + 1) is None

    first = read_values if is_first_read_of_values else read_span
    assert count_rows_read(storage, first) == 4 + (0 if is_first_read_of_values else 2)
    assert count_rows_read(storage, read_span) == 2
    assert count_rows_read(storage, read_values) == 2
    # Another table is not affected.
    for number in range(4):
        storage.put(INDEXED, b"%d" % number, b"{}", 2, (None, None))
    read = count_rows_read(
        storage, lambda: storage.read_span(INDEXED, EVERYTHING, limit=-1, max_bytes=4)
    )
    assert read == 4 + 2


def append(writer: StorageWriter) -> None:
    writer.append_change(LOG, b"k", None, b"new", is_expiry=False)


WRITES: dict[str, Callable[[StorageWriter], object]] = {
    "put": lambda writer: writer.put(ROWS, b"k", b"{}", 2, ()),
    "indexed put": lambda writer: writer.put(INDEXED, b"k", b"{}", 2, (b"a", None)),
    "long put": lambda writer: writer.put(ROWS, b"k", bytes(90_000), 90_000, ()),
    "conditional put": lambda writer: writer.put(ROWS, b"k", b"{}", 2, (), lambda _: True),
    "delete": lambda writer: writer.delete(ROWS, b"k"),
    "record": lambda writer: writer.set_record("kind", "name", b"body"),
    "no record": lambda writer: writer.set_record("kind", "name", None),
    "change": append,
    "trim": lambda writer: writer.trim_changes(LOG, until=1, limit=1),
    "create": lambda writer: writer.create_rows(RowSet(9, 1, ())),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_every_write_counts_pages(
    storage: SqliteStorage, write: Callable[[StorageWriter], object]
) -> None:
    """A group commit finds by them which of its members has written something."""

    def work(writer: StorageWriter) -> None:
        assert isinstance(writer, View)
        writer.set_record("kind", "before", b"")
        before = writer.written_pages
        write(writer)
        assert writer.written_pages > before

    storage.write(work)


def test_a_put_whose_condition_fails_counts_no_pages(storage: SqliteStorage) -> None:
    before = storage._view.written_pages
    for rows, entries in ((ROWS, ()), (INDEXED, (b"a", None))):
        assert not storage.put(rows, b"k", b"{}", 2, entries, lambda _: False)
    assert storage._view.written_pages == before


def test_pages_of_long_values_are_counted(storage: SqliteStorage) -> None:
    def count(work: Callable[[StorageWriter], object]) -> int:
        before = storage._view.written_pages
        storage.write(work)
        return storage._view.written_pages - before

    long = bytes(40_960)
    # An item's JSON is about twice its size; a change has both images as they are.
    assert count(lambda writer: writer.put(ROWS, b"k", long, 20_480, ())) == 11
    assert count(lambda writer: writer.put(INDEXED, b"k", long, 20_480, (None, b"a"))) == 13
    assert count(lambda writer: writer.put(ROWS, b"k", b"{}", 2, ())) == 1
    one = count(lambda writer: writer.append_change(LOG, b"k", None, long, is_expiry=False))
    two = count(lambda writer: writer.append_change(LOG, b"k", long, long, is_expiry=False))
    assert (one, two) == (11, 21)


def damage(storage: SqliteStorage, statement: str) -> None:
    storage._connection.execute(statement)


def read_all(reader: StorageReader) -> object:
    return reader.read_changes(LOG, after=0, limit=9, max_bytes=99)


# A statement that damages something, how that is read, and what is reported.
DAMAGES: list[tuple[str, Callable[[StorageReader], object], str]] = [
    ("DELETE FROM c3", lambda reader: reader.log_span(LOG), "a log is empty"),
    ("UPDATE c3 SET t = 'x'", lambda reader: reader.find_change(LOG, 0.0), "a change has no time"),
    ("UPDATE c3 SET o = 5", read_all, "a change has no images"),
    (
        "UPDATE r1v1 SET n = 'x'",
        lambda reader: reader.read_span(ROWS, EVERYTHING, limit=9, max_bytes=99),
        "a row has no size",
    ),
]


@pytest.mark.parametrize(("statement", "read", "fact"), DAMAGES)
def test_damaged_rows_are_reported(
    storage: SqliteStorage, statement: str, read: Callable[[StorageReader], object], fact: str
) -> None:
    fill(storage, 2)
    for _ in range(2):
        storage.write(append)
    storage.read(read)
    damage(storage, statement)
    with pytest.raises(FileDamaged) as raised:
        storage.read(read)
    assert f": {fact}." in str(raised.value)


class _LoopingCursor:
    """A cursor that leads back to the same change, as a damaged tree does."""

    def execute(self, *_: object) -> Iterator[tuple[Any, ...]]:
        for _number in range(3):
            yield (1, 0.0, b"k", 0, None, b"new")


def test_changes_that_repeat_are_reported(storage: SqliteStorage) -> None:
    storage._view._cursor = _LoopingCursor()  # pyright: ignore[reportAttributeAccessIssue] - stands in for a cursor
    with pytest.raises(apsw.CorruptError, match=r"^changes are out of order$"):
        read_all(storage._view)


def test_a_damaged_epoch_and_a_damaged_tree_are_problems(storage: SqliteStorage) -> None:
    damage(storage, "UPDATE epoch SET body = x'00'")
    assert storage.read(lambda reader: reader.check_structure()) == ["its epoch cannot be read"]
    fill(storage, 1)
    damage(storage, "PRAGMA writable_schema = ON")
    damage(
        storage,
        "UPDATE sqlite_schema SET sql = replace(sql, 'n INTEGER', 'n INTEGER CHECK (n > 2)')"
        " WHERE name = 'r1v1'",
    )
    damage(storage, "PRAGMA writable_schema = RESET")
    problems = storage.read(lambda reader: reader.check_structure())
    assert problems == ["CHECK constraint failed in r1v1", "its epoch cannot be read"]


def test_a_closed_view_is_in_no_transaction(storage: SqliteStorage) -> None:
    storage.close()
    assert storage._view.is_in_transaction is False
    storage._view.roll_back()
