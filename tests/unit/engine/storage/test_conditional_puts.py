"""Conditional writes of rows, on every storage.

SQLite calls the condition in the middle of the statement.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from keyfold.engine.storage import RowSet, Storage, StorageWriter

PLAIN = RowSet(1, 1, ())
INDEXED = RowSet(2, 1, ("i0", "i1"))
KEY = b"key"


@pytest.fixture
def storage(storage: Storage) -> Storage:
    def create(writer: StorageWriter) -> None:
        writer.create_rows(PLAIN)
        writer.create_rows(INDEXED)

    storage.write(create)
    return storage


def absent(value: bytes | None) -> bool:
    return value is None


def present(value: bytes | None) -> bool:
    return value is not None


def is_old(value: bytes | None) -> bool:
    return value == b"old"


@pytest.mark.parametrize(
    ("before", "holds", "is_put"),
    [
        (None, absent, True),
        (None, present, False),
        (None, is_old, False),
        (b"old", absent, False),
        (b"old", present, True),
        (b"old", is_old, True),
        (b"other", is_old, False),
    ],
)
@pytest.mark.parametrize("entries", [(b"a", None), (b"b", None), (b"b", b"c")])
def test_a_row_is_written_only_if_the_condition_holds(
    storage: Storage,
    before: bytes | None,
    holds: Callable[[bytes | None], bool],
    is_put: bool,
    entries: tuple[bytes | None, ...],
) -> None:
    for rows, first, second in ((PLAIN, (), ()), (INDEXED, (b"a", None), entries)):
        if before is not None:
            storage.put(rows, KEY, before, 3, first)
        assert storage.put(rows, KEY, b"new", 4, second, holds) is is_put
        left = None if before is None else (before, 3)
        assert storage.get(rows, KEY) == ((b"new", 4) if is_put else left)
        found = storage.read(lambda reader, rows=rows: reader.read_entries(rows, b"", limit=9))
        held = second if is_put else first
        assert [each.entries for each in found] == ([held] if is_put or before else [])


def test_a_condition_that_raises_writes_nothing(storage: Storage) -> None:
    def fail(value: bytes | None) -> bool:
        if value is None:
            return True
        raise LookupError("no answer")

    storage.put(PLAIN, KEY, b"old", 3, ())
    with pytest.raises(LookupError, match="no answer"):
        storage.put(PLAIN, KEY, b"new", 3, (), fail)
    assert storage.get(PLAIN, KEY) == (b"old", 3)
    # No transaction stays open.
    assert storage.put(PLAIN, KEY, b"new", 3, (), is_old)
    assert storage.get(PLAIN, KEY) == (b"new", 3)


def test_the_condition_of_one_put_is_not_used_for_another(storage: Storage) -> None:
    storage.put(PLAIN, KEY, b"old", 3, ())
    assert not storage.put(PLAIN, KEY, b"new", 3, (), absent)
    assert storage.put(PLAIN, b"other", b"new", 3, (), absent)
    assert storage.put(PLAIN, KEY, b"new", 3, (), is_old)


def test_no_increment_of_concurrent_threads_is_lost(storage: Storage) -> None:
    threads, rounds = 4, 50
    storage.put(INDEXED, KEY, b"0", 1, (b"a", b"b"))

    def count_up() -> None:
        for _ in range(rounds):
            while True:
                row = storage.get(INDEXED, KEY)
                assert row is not None
                seen = row[0]
                more = b"%d" % (int(seen) + 1)
                if storage.put(
                    INDEXED, KEY, more, 1, (b"a", more), lambda value, seen=seen: value == seen
                ):
                    break

    running = [threading.Thread(target=count_up) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert storage.get(INDEXED, KEY) == (b"%d" % (threads * rounds), 1)
