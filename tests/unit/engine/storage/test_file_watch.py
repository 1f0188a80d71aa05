"""A watched file: what is known of it, and which changes are noticed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from keyfold.engine.storage import Durability
from keyfold.engine.storage.checkpoints import _checkpoint
from keyfold.engine.storage.connections import SqliteConnection, open_connection
from keyfold.engine.storage.epochs import (
    LogFile,
    find_epoch_page,
    new_epoch,
    read_epoch,
    render_epoch,
    write_epoch,
)
from keyfold.engine.storage.file_watch import FileWatch, _KnownEpoch
from keyfold.errors import FileReplaced
from tests.crash.faulty_vfs import faulty_vfs

OVERWRITTEN = "it was overwritten with another copy"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.db"


class Opened:
    """A connection to a file, and its watch. Each commit is the size of a page."""

    def __init__(self, path: Path, durability: Durability = "durable") -> None:
        self.path = path
        self.connection: SqliteConnection = open_connection(str(path), durability, busy_seconds=5.0)
        self.watch = FileWatch(str(path), None, self.connection, durability, monotonic=lambda: 7.0)
        self._count = 0

    def commit(self) -> None:
        self._count += 1
        body = os.urandom(3_000)
        self.connection.execute(
            "INSERT INTO metadata VALUES ('row', ?, ?)", (f"{id(self)}-{self._count}", body)
        )

    def write(self) -> None:
        """Commit as a storage does: the log gets an epoch."""
        self.watch.check(self.connection)
        self.commit()
        self.watch.stamp_log(self.connection)

    def checkpoint(self) -> None:
        _checkpoint(self.connection)

    def empty_log(self) -> None:
        self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def check(self) -> None:
        self.watch.check(self.connection)

    def epoch(self) -> bytes:
        epoch = read_epoch(self.connection)
        assert epoch is not None
        return epoch.number

    def close(self) -> None:
        self.watch.close()
        self.connection.close(True)


@pytest.fixture
def opening(path: Path) -> Iterator[Callable[[], Opened]]:
    opened: list[Opened] = []

    def open_one() -> Opened:
        opened.append(Opened(path))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()


@pytest.fixture
def one(opening: Callable[[], Opened]) -> Opened:
    return opening()


@pytest.fixture
def other(opening: Callable[[], Opened], one: Opened) -> Opened:
    assert one
    return opening()


def overwrite(path: Path, content: bytes) -> None:
    """Copy something over a file; its inode stays."""
    path.write_bytes(content)
    later(path)


def later(path: Path) -> None:
    """Make a file look changed, however coarse the clock of the file system is."""
    changed_at = path.stat().st_mtime_ns + 1_000_000_000
    os.utime(path, ns=(changed_at, changed_at))


def forget_pages(connection: SqliteConnection) -> None:
    """Make SQLite read pages from the file again."""
    connection.execute("PRAGMA shrink_memory")


def assert_noticed(opened: Opened, fact: str, *, is_found: bool = True) -> None:
    """The fault is noticed before a write, and, unless that needs a transaction, without one."""
    found = opened.watch.find_fault()
    assert (found is not None) is is_found
    with pytest.raises(FileReplaced) as noticed:
        opened.check()
    expected = str(FileReplaced(str(opened.path), fact))
    assert str(noticed.value) == expected
    assert found is None or str(found) == expected


def assert_unnoticed(opened: Opened) -> None:
    assert opened.watch.find_fault() is None
    opened.check()


def copy_of(path: Path, *, number: bytes | None = None) -> bytes:
    """Return the content of a file, in which the epoch has another number."""
    content = bytearray(path.read_bytes())
    place = content.index(b"KFEP")
    epoch = new_epoch(number)
    content[place : place + 32] = render_epoch(epoch)
    return bytes(content)


# What is known.


def test_nothing_is_known_of_an_empty_log(one: Opened) -> None:
    epoch = read_epoch(one.connection)
    assert epoch is not None
    assert one.watch._known == _KnownEpoch(b"", epoch, is_stamped=False)
    one.check()
    assert one.watch._known == _KnownEpoch(b"", epoch, is_stamped=False)


def test_a_log_gets_an_epoch_with_its_first_commit(one: Opened) -> None:
    before = one.epoch()
    one.write()
    epoch = read_epoch(one.connection)
    assert epoch is not None
    start = one.watch._log.read_start()
    assert (epoch.previous, epoch.log) == (before, start[16:24])
    assert one.watch._known == _KnownEpoch(start, epoch, is_stamped=True)
    # Only the first: the next commits are in the same log.
    one.write()
    assert one.watch._known.epoch == epoch == read_epoch(one.connection)
    one.checkpoint()
    one.write()
    assert one.watch._known.epoch == read_epoch(one.connection) != epoch


def test_the_epoch_of_another_connection_is_kept(one: Opened, other: Opened) -> None:
    other.write()
    epoch = other.watch._known
    one.commit()
    one.watch.stamp_log(one.connection)
    assert one.watch._known == epoch
    assert other.epoch() == one.epoch()


def test_a_file_that_is_opened_with_a_log_is_known(
    one: Opened, opening: Callable[[], Opened]
) -> None:
    one.commit()
    epoch, start = read_epoch(one.connection), one.watch._log.read_start()
    late = opening()
    assert late.watch._known == _KnownEpoch(start, epoch, is_stamped=False)
    late.commit()
    late.watch.stamp_log(late.connection)
    assert late.watch._known.is_stamped
    assert late.watch._known == opening().watch._known
    one.watch.stamp_log(one.connection)
    assert one.watch._known == late.watch._known


def test_a_check_learns_the_epoch_of_the_file_and_of_the_log(one: Opened) -> None:
    one.write()
    epoch, start = read_epoch(one.connection), one.watch._log.read_start()
    one.checkpoint()
    later(one.path)
    one.check()
    assert one.watch._known == _KnownEpoch(start, epoch, is_stamped=True, file_epoch=epoch)
    assert one.watch._changed_at == one.path.stat().st_mtime_ns
    assert one.watch._size_bytes == one.path.stat().st_size
    # The next log begins after the epoch of this one.
    one.write()
    after = read_epoch(one.connection)
    assert after is not None
    assert epoch is not None
    assert after.previous == epoch.number


def test_an_epoch_that_cannot_be_read_is_left_alone(one: Opened) -> None:
    one.connection.execute("UPDATE epoch SET body = x'00'")
    later(one.path)
    one.check()
    assert one.watch._known == _KnownEpoch(
        one.watch._log.read_start(), None, is_stamped=True, file_epoch=one.watch._known.file_epoch
    )
    one.write()
    one.checkpoint()
    one.write()
    assert_unnoticed(one)
    assert read_epoch(one.connection) is None


def test_a_missing_epoch_cannot_be_read(one: Opened) -> None:
    one.connection.execute("DELETE FROM epoch")
    assert read_epoch(one.connection) is None


def test_an_epoch_that_cannot_be_written_is_tried_again(one: Opened, other: Opened) -> None:
    one.connection.set_busy_handler(None)
    one.commit()
    other.connection.execute("BEGIN IMMEDIATE")
    one.watch.stamp_log(one.connection)
    assert not one.watch._known.is_stamped
    assert not one.connection.in_transaction
    other.connection.execute("ROLLBACK")
    one.watch.stamp_log(one.connection)
    assert one.watch._known.is_stamped
    assert not one.connection.in_transaction


# What is noticed.


def test_a_copy_over_a_file_without_a_log_is_noticed(one: Opened) -> None:
    assert one.path.with_name("rows.db-wal").stat().st_size == 0
    before = one.epoch()
    overwrite(one.path, copy_of(one.path))
    forget_pages(one.connection)
    assert one.epoch() != before, "SQLite shows the copy itself, so only the known epoch tells"
    assert_noticed(one, OVERWRITTEN, is_found=False)


def test_writes_of_another_connection_without_a_log_are_no_copy(one: Opened, other: Opened) -> None:
    before = one.path.read_bytes()
    for _ in range(2):
        other.write()
        other.empty_log()
        later(one.path)
        assert_unnoticed(one)
        assert one.watch._known.log_start == b""
        known = one.watch._known.epoch
        assert known is not None
        assert known.number == other.epoch()
    # A copy is noticed all the same.
    overwrite(one.path, before)
    forget_pages(one.connection)
    assert_noticed(one, OVERWRITTEN, is_found=False)


def test_a_copy_beside_the_log_of_another_connection_is_noticed(one: Opened, other: Opened) -> None:
    content = copy_of(one.path)
    other.write()
    overwrite(one.path, content)
    # The log is not the known one, so it takes a transaction.
    assert_noticed(one, OVERWRITTEN, is_found=False)
    assert_noticed(other, OVERWRITTEN)


def test_a_copy_beside_the_known_log_is_noticed(one: Opened) -> None:
    one.write()
    overwrite(one.path, copy_of(one.path))
    assert_noticed(one, OVERWRITTEN)


def test_the_file_before_a_log_is_noticed_once_its_epoch_was_copied(one: Opened) -> None:
    before = one.path.read_bytes()
    one.write()
    overwrite(one.path, before)
    # The same content: nothing of the log is in the file so far.
    assert_unnoticed(one)
    one.checkpoint()
    later(one.path)
    assert_unnoticed(one)
    overwrite(one.path, before)
    assert_noticed(one, OVERWRITTEN)


def test_a_torn_epoch_is_no_copy(one: Opened, opening: Callable[[], Opened]) -> None:
    whole = one.path.read_bytes()
    torn = bytearray(whole)
    torn[torn.index(b"KFEP")] ^= 1
    overwrite(one.path, bytes(torn))
    assert_unnoticed(one)
    assert one.watch._known.file_epoch is None
    later_one = opening()
    assert later_one.watch._known.epoch is None
    overwrite(one.path, whole)
    assert_unnoticed(one)
    assert_unnoticed(later_one)
    one.write()
    one.checkpoint()
    later(one.path)
    assert_unnoticed(one)
    torn = bytearray(one.path.read_bytes())
    torn[torn.index(b"KFEP")] ^= 1
    overwrite(one.path, bytes(torn))
    assert_unnoticed(one)


def test_what_was_cut_or_overwritten_is_said(one: Opened) -> None:
    one.write()
    one.checkpoint()
    one.check()
    content = one.path.read_bytes()
    for cut, fact in (
        (b"", "it was truncated"),
        (content[:99], "it was truncated"),
        (content[:100], "it was truncated"),
        (content[:-1], "it was truncated"),
        (bytes(100), "its header was overwritten"),
        (bytes(len(content)), "its header was overwritten"),
    ):
        overwrite(one.path, cut)
        assert_noticed(one, fact)
    overwrite(one.path, content)
    assert_unnoticed(one)


def test_a_file_that_is_growing_or_was_made_shorter_is_not_truncated(one: Opened) -> None:
    one.write()
    one.checkpoint()
    one.check()
    content = bytearray(one.path.read_bytes())
    pages = int.from_bytes(content[28:32], "big")
    # A checkpoint has written the header, and the pages are still to come.
    content[28:32] = (pages + 5).to_bytes(4, "big")
    overwrite(one.path, bytes(content))
    assert one.watch._read_file().size_bytes == len(content) + 5 * 4_096
    # VACUUM has made it shorter, and the header says so.
    content[28:32] = (pages - 1).to_bytes(4, "big")
    overwrite(one.path, bytes(content[:-4_096]))
    assert one.watch._read_file().size_bytes == len(content) - 4_096


def test_a_change_of_the_size_alone_is_looked_at(one: Opened) -> None:
    one.write()
    status = one.path.stat()
    os.truncate(one.path, status.st_size - 4_096)
    os.utime(one.path, ns=(status.st_mtime_ns, status.st_mtime_ns))
    assert one.path.stat().st_mtime_ns == one.watch._changed_at
    assert_noticed(one, "it was truncated")


@pytest.mark.parametrize(
    ("name", "shown"),
    [("rows.db", "it"), ("rows.db-wal", "rows.db-wal"), ("rows.db-shm", "rows.db-shm")],
)
def test_each_file_is_named_that_was_deleted_or_replaced(
    one: Opened, name: str, shown: str
) -> None:
    one.write()
    file = one.path.with_name(name)
    away = file.with_name("away")
    file.rename(away)
    assert_noticed(one, f"{shown} was deleted or moved")
    file.write_bytes(away.read_bytes())
    assert_noticed(one, f"{shown} was replaced by another file")
    away.replace(file)
    assert_unnoticed(one)


def test_a_folder_that_became_a_file_is_noticed(one: Opened) -> None:
    folder = one.path.parent
    moved = folder.with_name("moved")
    folder.rename(moved)
    folder.touch()
    try:
        assert_noticed(one, "it was deleted or moved")
    finally:
        folder.unlink()
        moved.rename(folder)


def test_a_file_that_cannot_be_read_is_no_fault_of_a_replacement(
    path: Path, one: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str) -> os.stat_result:
        raise PermissionError(13, "Permission denied", name)

    monkeypatch.setattr("keyfold.engine.storage.file_watch._stat", refuse)
    assert one.watch.find_fault() is None


# How it is looked at.


def test_a_check_is_due_after_a_pause(path: Path, one: Opened) -> None:
    assert one.watch.due_at == 0.0
    one.check()
    assert one.watch.due_at == 0.0, "durable: before each commit"
    each = Opened(path, "process")
    assert each.watch.due_at == 0.0
    each.check()
    assert each.watch.due_at == 7.005
    each.close()


def test_a_link_is_followed(path: Path, one: Opened) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    each = Opened(link)
    one.write()
    overwrite(path, copy_of(path))
    with pytest.raises(FileReplaced, match=r"link\.db"):
        each.check()
    each.close()


def test_a_file_is_watched_through_the_file_layer_of_its_connection(path: Path) -> None:
    with faulty_vfs() as vfs:
        connection = open_connection(str(path), "durable", busy_seconds=5.0, vfs=vfs.name)
        watch = FileWatch(str(path), vfs.name, connection, "durable")
        assert ("read", "wal") in vfs.calls
        vfs.calls.clear()
        watch._read_file()
        assert ("read", "db") in vfs.calls
        vfs.calls.clear()
        watch.check(connection)
        assert vfs.calls == [], "nothing was changed, so nothing is read"
        watch.close()
        connection.close(True)


def test_an_epoch_at_the_start_of_a_log_is_the_logs_own(
    one: Opened, other: Opened, opening: Callable[[], Opened]
) -> None:
    one.write()
    one.checkpoint()
    epoch = new_epoch(one.epoch())
    # As a process does whose commit a checkpoint has overtaken.
    write_epoch(other.connection, epoch)
    log = LogFile(f"{one.path}-wal", None)
    page = find_epoch_page(one.connection)
    assert log.has_epoch(log.read_start(), epoch, page)
    log.close()
    one.watch.stamp_log(one.connection)
    assert one.watch._known.epoch == epoch
    assert opening().watch._known == one.watch._known
