"""Puts with and without a check of the file before them: their conditions decide in either case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from keyfold.engine.storage import SqliteStorage
from tests.unit.engine.storage.test_protocol import ROWS, fill


@pytest.fixture(params=["always", "never"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteStorage]:
    """Return a storage whose file is checked before each put, or before none."""
    opened = SqliteStorage(str(tmp_path / "rows.db"), "durable")
    fill(opened, b"a1")
    assert opened._watch is not None
    opened._watch.due_at = 0.0 if request.param == "always" else float("inf")
    yield opened
    opened.close()


def test_a_put_whose_condition_does_not_hold_changes_nothing(storage: SqliteStorage) -> None:
    assert not storage.put(ROWS, b"a1", b"new", 3, (b"1", None), lambda value: value is None)
    assert storage.get(ROWS, b"a1") == (b"a1", 2)
    assert not storage.put(ROWS, b"b2", b"new", 3, (b"2", None), lambda value: value is not None)
    assert storage.get(ROWS, b"b2") is None


def test_a_put_whose_condition_holds_is_written(storage: SqliteStorage) -> None:
    assert storage.put(ROWS, b"a1", b"new", 3, (b"2", None), lambda value: value == b"a1")
    (row,) = storage.read(lambda reader: reader.read_entries(ROWS, b"", limit=9))
    assert (row.key, row.row, row.entries) == (b"a1", (b"new", 3), (b"2", None))
