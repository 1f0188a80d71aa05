"""Reads while another thread has the storage's first connection, such as for a commit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from keyfold.engine.storage import SqliteStorage
from keyfold.engine.storage.sqlite import _UnusableLock
from keyfold.errors import EngineClosed
from tests.unit.engine.storage.test_protocol import EVERYTHING, ROWS, fill

# Long enough to show that a thread waits; a slow machine only makes that less certain.
PAUSE_SECONDS = 0.02

# Each way to read, and what it finds.
READS: dict[str, tuple[Callable[[SqliteStorage], object], object]] = {
    "get": (lambda storage: storage.get(ROWS, b"a1"), (b"a1", 2)),
    "span": (
        lambda storage: storage.read_span(ROWS, EVERYTHING, limit=1, max_bytes=9),
        ((b"a1",), (2,)),
    ),
    "values": (
        lambda storage: storage.read_values(ROWS, EVERYTHING, limit=1, max_bytes=9),
        [b"a1"],
    ),
    "read": (lambda storage: storage.read(lambda reader: reader.get(ROWS, b"a1")), (b"a1", 2)),
    "long read": (
        lambda storage: storage.read(lambda reader: reader.get(ROWS, b"a1"), is_long=True),
        (b"a1", 2),
    ),
}


@pytest.mark.parametrize("name", READS)
def test_in_memory_a_read_waits(name: str) -> None:
    read, expected = READS[name]
    storage = SqliteStorage(":memory:", "memory")
    fill(storage, b"a1", b"b2")
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(read(storage)))
    with storage._mutex:
        thread.start()
        thread.join(PAUSE_SECONDS)
        assert found == []
    thread.join()
    assert found == [expected]
    storage.close()


@pytest.mark.parametrize("name", READS)
def test_in_a_file_a_read_does_not_wait(name: str, tmp_path: Path) -> None:
    read, expected = READS[name]
    storage = SqliteStorage(str(tmp_path / "rows.db"), "process")
    fill(storage, b"a1", b"b2")
    with storage._mutex:
        for _ in range(2):
            # A page without sizes is only faster, so its caller takes another way.
            assert read(storage) == (None if name == "values" else expected)
    assert read(storage) == expected
    storage.close()
    with pytest.raises(EngineClosed, match=r"rows\.db"):
        read(storage)


def test_reads_during_commits_share_a_connection_that_closes_with_the_storage(
    tmp_path: Path,
) -> None:
    storage = SqliteStorage(str(tmp_path / "rows.db"), "process")
    fill(storage, b"a1")
    assert storage._secondary_view is None
    with storage._mutex:
        storage.get(ROWS, b"a1")
        view = storage._secondary_view
        storage.get(ROWS, b"a1")
    assert view is not None
    assert storage._secondary_view is view
    assert not view.is_in_transaction
    storage.close()
    assert [file.name for file in tmp_path.iterdir()] == ["rows.db"], "no connection is left"


@pytest.mark.parametrize("has_reader", [False, True])
@pytest.mark.parametrize("is_long", [False, True])
def test_a_thread_that_waits_to_read_a_storage_that_closes_is_refused(
    tmp_path: Path, is_long: bool, has_reader: bool
) -> None:
    storage = SqliteStorage(str(tmp_path / "rows.db"), "process")
    fill(storage, b"a1")
    if has_reader:
        storage.read(lambda reader: reader.get(ROWS, b"a1"), is_long=is_long)
    answers: list[object] = []

    def read() -> None:
        try:
            answers.append(storage.read(lambda reader: reader.get(ROWS, b"a1"), is_long=is_long))
        except EngineClosed as error:
            answers.append(error)

    thread = threading.Thread(target=read)
    with storage._mutex, storage._readers.lock if is_long else storage._secondary_lock:
        thread.start()
        thread.join(PAUSE_SECONDS)
        assert answers == []
        # As when it is closed: whoever closes it has all locks.
        storage._lock = _UnusableLock(EngineClosed(storage._path))
    thread.join()
    assert [type(answer) for answer in answers] == [EngineClosed]
    storage._lock = storage._mutex
    storage.close()
