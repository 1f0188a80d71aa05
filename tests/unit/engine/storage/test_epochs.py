"""Epochs: what is stored, what a file says by itself, and which log belongs to it."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import pytest

from keyfold.engine.storage.epochs import (
    Epoch,
    FileStart,
    LogFile,
    belongs,
    new_epoch,
    parse_epoch,
    read_file_start,
    render_epoch,
)
from tests.crash.faulty_vfs import faulty_vfs

APPLICATION_ID = 0x01020304
EPOCH = Epoch(b"number 1", b"number 0", b"the salt")


def write_file(
    path: Path,
    *,
    magic: bytes = b"SQLite format 3\0",
    page_bytes: int = 4_096,
    shown_page_bytes: bytes | None = None,
    pages: int = 3,
    application_id: int = APPLICATION_ID,
    epoch: bytes = render_epoch(EPOCH),
) -> str:
    """Write a file with nothing but a header, and an epoch at the end of the third page."""
    content = bytearray(3 * page_bytes)
    content[:16] = magic
    content[16:18] = page_bytes.to_bytes(2, "big") if shown_page_bytes is None else shown_page_bytes
    content[28:32] = pages.to_bytes(4, "big")
    content[68:72] = application_id.to_bytes(4, "big")
    content[-len(epoch) :] = epoch
    path.write_bytes(content)
    return str(path)


def read(path: str) -> FileStart:
    return read_file_start(path, None, 3, APPLICATION_ID)


@pytest.mark.parametrize(
    ("page_bytes", "shown"),
    [(512, b"\2\0"), (4_096, b"\x10\0"), (32_768, b"\x80\0"), (65_536, b"\0\1"), (4_096, b"\0\0")],
)
def test_an_epoch_is_read_whatever_the_size_of_a_page(
    tmp_path: Path, page_bytes: int, shown: bytes
) -> None:
    path = write_file(tmp_path / "a.db", page_bytes=page_bytes, shown_page_bytes=shown)
    assert read(path) == FileStart(True, 3 * page_bytes, EPOCH)


def test_the_size_of_a_large_file_is_read(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.db", pages=0x01020304)
    assert read(path).size_bytes == 0x01020304 * 4_096


def test_a_file_is_ours_by_its_first_bytes_and_its_application_id(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    assert read(write_file(path)).is_ours
    assert not read(write_file(path, magic=b"SQLite format 2\0")).is_ours
    for application_id in (APPLICATION_ID + 1, APPLICATION_ID + (1 << 24), 0):
        assert not read(write_file(path, application_id=application_id)).is_ours


def test_a_file_is_read_through_the_file_layer_of_its_connection(tmp_path: Path) -> None:
    path, log = write_file(tmp_path / "a.db"), tmp_path / "a.db-wal"
    log.write_bytes(bytes(range(40)))
    with faulty_vfs() as vfs:
        assert read_file_start(path, vfs.name, 3, APPLICATION_ID).epoch == EPOCH
        assert set(vfs.calls) == {("open", "db"), ("read", "db")}
        file = LogFile(str(log), vfs.name)
        assert file.read_start() == bytes(range(36))
        file.close()
        assert set(vfs.calls[-2:]) == {("open", "wal"), ("read", "wal")}


@pytest.mark.parametrize("place", range(32))
def test_an_epoch_with_any_byte_changed_is_none(place: int) -> None:
    body = bytearray(render_epoch(EPOCH))
    assert len(body) == 32
    assert parse_epoch(bytes(body)) == EPOCH
    body[place] ^= 1
    assert parse_epoch(bytes(body)) is None


def with_sum(body: bytes) -> bytes:
    return body + crc32(body).to_bytes(4, "big")


@pytest.mark.parametrize(
    "body",
    [
        *(None, "text", b"", bytes(32), render_epoch(EPOCH)[:-1], render_epoch(EPOCH) + b"x"),
        # Of another length, and with another beginning, but with the right sum.
        with_sum(render_epoch(EPOCH)[:-4] + b"x"),
        with_sum(render_epoch(EPOCH)[:-5]),
        with_sum(b"KFEQ" + render_epoch(EPOCH)[4:-4]),
    ],
)
def test_anything_else_is_no_epoch(body: object) -> None:
    assert parse_epoch(body) is None


def test_a_new_epoch_has_a_number_of_its_own() -> None:
    first = new_epoch()
    assert first == Epoch(first.number, first.number, bytes(8)), "no log but its own belongs to it"
    second = new_epoch(first.number, b"the salt")
    assert second == Epoch(second.number, first.number, b"the salt")
    assert second.number != first.number
    assert len(second.number) == 8


def test_a_log_belongs_to_the_file_of_its_epoch_and_of_the_one_before() -> None:
    before, other = Epoch(b"number 0", b"number a", b""), Epoch(b"number 2", b"number 0", b"")
    assert belongs(EPOCH, EPOCH)
    assert belongs(before, EPOCH)
    assert not belongs(EPOCH, before)
    assert not belongs(other, EPOCH)
    assert not belongs(EPOCH, other)


def test_a_log_belongs_to_a_file_if_nobody_can_tell() -> None:
    assert belongs(None, EPOCH)
    assert belongs(EPOCH, None)
    assert belongs(None, None)


def test_a_log_has_an_epoch_if_it_names_its_salts_or_begins_the_log(tmp_path: Path) -> None:
    # SQLite looks at the file when it opens a log.
    for name in ("a.db", "a.db-wal"):
        (tmp_path / name).touch()
    log = LogFile(str(tmp_path / "a.db-wal"), None)
    start = bytes(16) + b"the salt" + bytes(8) + (3).to_bytes(4, "big")
    assert log.has_epoch(start, EPOCH, 4), "it names the salts of the log"
    assert not log.has_epoch(start.replace(b"salt", b"mint"), EPOCH, 4)
    assert log.has_epoch(start.replace(b"salt", b"mint"), EPOCH, 3), "its page is the first"
    large = start[:32] + (0x01000003).to_bytes(4, "big")
    assert log.has_epoch(large.replace(b"salt", b"mint"), EPOCH, 0x01000003)
    assert not log.has_epoch(large.replace(b"salt", b"mint"), EPOCH, 3)
    assert not log.has_epoch(b"", EPOCH, 3)
    assert log.find_salts(start) == b"the salt"
    assert log.find_salts(start[:20]) == b"the \0\0\0\0"
    assert log.find_salts(b"") == bytes(8)
    log.close()
