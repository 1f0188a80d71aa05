"""Storages whose file is lost or damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from keyfold.engine.storage import SqliteStorage
from keyfold.engine.storage import sqlite as sqlite_module
from keyfold.errors import FileDamaged, FileReplaced
from tests.crash.faulty_vfs import faulty_vfs


@pytest.mark.parametrize(
    ("failure", "raised", "said"),
    [
        (apsw.CorruptError("CorruptError: torn"), FileDamaged, "torn"),
        (FileNotFoundError(2, "No such file"), FileReplaced, ": it was deleted or moved"),
        (KeyboardInterrupt(), KeyboardInterrupt, ""),
    ],
)
def test_a_file_that_cannot_be_watched_is_closed_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    raised: type[BaseException],
    said: str,
) -> None:
    path = str(tmp_path / "rows.db")
    asked: list[tuple[Any, ...]] = []

    def fail(*arguments: Any) -> None:
        asked.append(arguments)
        raise failure

    monkeypatch.setattr(sqlite_module, "FileWatch", fail)
    with faulty_vfs() as vfs, pytest.raises(raised) as error:
        SqliteStorage(path, "process", vfs=vfs.name)
    if said:
        assert path in str(error.value)
        assert said in str(error.value)
    ((watched, name, connection, durability),) = asked
    assert (watched, name, durability) == (path, vfs.name, "process")
    with pytest.raises(apsw.ConnectionClosedError):
        connection.execute("SELECT 1")


def test_a_name_that_is_not_a_text_is_damage(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.db")
    storage = SqliteStorage(path, "process")
    storage.write(lambda writer: writer.set_record("kind", "name", b"x"))
    storage._connection.execute("UPDATE metadata SET name = CAST(x'ff' AS TEXT)")
    with pytest.raises(FileDamaged) as error:
        storage.read(lambda reader: reader.list_records("kind"))
    assert str(error.value) == str(FileDamaged(path, "a name is not valid UTF-8"))
    storage.close()
