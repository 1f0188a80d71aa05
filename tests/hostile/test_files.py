"""Files under our feet: deleted, replaced, truncated, overwritten, and copied beside an old log."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

import keyfold.engine.storage.file_watch as watch_module
from keyfold.engine import Engine
from keyfold.engine.storage import checkpoints, epochs
from keyfold.errors import EngineClosed, FileReplaced, KeyfoldError, LogMismatch
from keyfold.wire.server import Server
from tests.unit.engine.storage.tables import create, get, names, put

ROOT = Path(__file__).parents[2]
LONG = {"S": "x" * 3_000}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "shop.db"


@pytest.fixture(params=["durable", "process"])
def engine(
    request: pytest.FixtureRequest, path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Engine]:
    """Return an engine on a file with some items, of which a checkpoint has seen a part."""
    # In `process`, files are checked at intervals: here, before every commit.
    monkeypatch.setitem(watch_module._PAUSE_SECONDS, "process", 0.0)
    with Engine.open(path, durability=request.param, upkeep_seconds=None) as engine:
        create(engine)
        for number in range(20):
            put(engine, f"old-{number}", text=LONG)
        yield engine


def side(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def checkpoint(engine: Engine) -> None:
    """Fold the log into the file; the next write begins another log."""
    checkpoints._checkpoint(engine._storage._connection)


def delete(path: Path) -> None:
    path.unlink()


def delete_all(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        side(path, ending).unlink()


def delete_log(path: Path) -> None:
    side(path, "-wal").unlink()


def delete_index(path: Path) -> None:
    side(path, "-shm").unlink()


def move_away(path: Path) -> None:
    path.rename(path.with_name("moved.db"))


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))


def replace(path: Path) -> None:
    """Put another file in place by a rename, as editors and `mv` do."""
    other = path.with_name("other.db")
    Engine.open(other).close()
    other.replace(path)


def replace_with_same(path: Path) -> None:
    copy = path.with_name("copy.db")
    shutil.copyfile(path, copy)
    copy.replace(path)


def replace_log(path: Path) -> None:
    log = side(path, "-wal")
    copy = path.with_name("copy-wal")
    shutil.copyfile(log, copy)
    copy.replace(log)


def empty(path: Path) -> None:
    path.open("wb").close()


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 4_096)


def overwrite(path: Path) -> None:
    """Copy another database over the file, as `cp` does: its inode stays."""
    other = path.with_name("other.db")
    Engine.open(other).close()
    shutil.copyfile(other, path)


def overwrite_with_text(path: Path) -> None:
    path.write_bytes(b"Dear reader, " * 4_000)


DEEDS = [
    delete,
    delete_all,
    delete_log,
    delete_index,
    move_away,
    move_folder,
    replace,
    replace_with_same,
    replace_log,
    empty,
    cut,
    overwrite,
    overwrite_with_text,
]


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
def test_the_next_write_notices(
    engine: Engine, path: Path, deed: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    checkpoint(engine)
    put(engine, "after the checkpoint")
    deed(path)
    with caplog.at_level(logging.ERROR), pytest.raises(FileReplaced) as noticed:
        put(engine, "lost")
    assert str(path) in str(noticed.value)
    assert str(noticed.value).endswith("[file-replaced]")
    assert [record.name for record in caplog.records] == ["keyfold.engine"], "said once"
    assert caplog.records[0].getMessage() == str(noticed.value)
    for use in (lambda: get(engine, "old-1"), lambda: put(engine, "more"), engine.check_file):
        with pytest.raises(FileReplaced):
            use()
    with pytest.raises(FileReplaced):
        engine.execute("Scan", {"TableName": "Things"})


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
def test_a_program_that_only_reads_can_check(
    engine: Engine, path: Path, deed: Callable[[Path], None]
) -> None:
    checkpoint(engine)
    put(engine, "after the checkpoint")
    engine.check_file()
    deed(path)
    with pytest.raises(FileReplaced):
        engine.check_file()
    with pytest.raises(FileReplaced):
        get(engine, "old-1")


def update(engine: Engine) -> None:
    engine.execute(
        "UpdateItem",
        {
            "TableName": "Things",
            "Key": {"pk": {"S": "old-1"}},
            "UpdateExpression": "SET a = :a",
            "ExpressionAttributeValues": {":a": {"S": "1"}},
        },
    )


def write_several(engine: Engine) -> None:
    request = {"TableName": "Things", "Item": {"pk": {"S": "several"}}}
    outcomes = engine.execute_together([("PutItem", request), ("PutItem", request)])
    for outcome in outcomes:
        if isinstance(outcome, KeyfoldError):
            raise outcome


def keep_secret(engine: Engine) -> None:
    engine.keep_secret("name")


@pytest.mark.parametrize("write", [update, write_several, keep_secret])
def test_every_kind_of_write_notices(
    engine: Engine, path: Path, write: Callable[[Engine], Any]
) -> None:
    delete(path)
    with pytest.raises(FileReplaced):
        write(engine)


def write_from_the_queue(engine: Engine) -> None:
    storage = engine._storage
    thread = threading.Thread(target=update, args=(engine,))
    with storage._mutex:
        thread.start()
        while not storage._waiting:
            pass
    thread.join()


@pytest.mark.parametrize("write", [update, write_several, keep_secret, write_from_the_queue])
def test_every_kind_of_write_gives_a_new_log_its_epoch(
    engine: Engine, write: Callable[[Engine], Any]
) -> None:
    watch = engine._storage._watch
    assert watch is not None
    checkpoint(engine)
    before = watch._log.read_start()
    write(engine)
    assert watch._log.read_start() != before, "it has begun another log"
    assert watch._known.is_stamped
    assert watch._known.log_start == watch._log.read_start()


def test_a_snapshot_fails_with_the_file(engine: Engine, path: Path) -> None:
    with engine._storage.hold_snapshot() as snapshot:
        delete(path)
        with pytest.raises(FileReplaced):
            put(engine, "lost")
        with pytest.raises(FileReplaced):
            snapshot.read(lambda reader: reader.list_records("table"))


def test_a_replaced_file_is_left_as_it_is(engine: Engine, path: Path) -> None:
    put(engine, "in the log")
    overwrite(path)
    content = path.read_bytes()
    with pytest.raises(FileReplaced):
        put(engine, "lost")
    engine.close()
    assert path.read_bytes() == content
    with pytest.raises(EngineClosed):
        get(engine, "old-1")


def test_closing_does_not_fold_a_log_into_another_file(engine: Engine, path: Path) -> None:
    put(engine, "in the log")
    overwrite(path)
    content = path.read_bytes()
    engine.close()
    assert path.read_bytes() == content
    # The log is still there, and does not belong to the file.
    with pytest.raises(LogMismatch):
        Engine.open(path)


def test_closing_leaves_the_log_of_a_file_put_in_place_alone(engine: Engine, path: Path) -> None:
    put(engine, "in the log")
    delete_all(path)
    with Engine.open(path) as other:
        create(other)
        put(other, "new")
        engine.close()
        assert side(path, "-wal").exists()
        put(other, "newer")
        assert names(other) == {"new", "newer"}


def test_reopening_helps(engine: Engine, path: Path) -> None:
    replace(path)
    with pytest.raises(FileReplaced):
        put(engine, "lost")
    engine.close()
    for ending in ("-wal", "-shm"):
        side(path, ending).unlink()
    with Engine.open(path) as again:
        create(again)
        put(again, "kept")
        assert names(again) == {"kept"}


def test_checkpoints_and_other_processes_are_no_replacement(path: Path) -> None:
    with (
        Engine.open(path, upkeep_seconds=None) as first,
        Engine.open(path, upkeep_seconds=None) as second,
    ):
        create(first)
        for number in range(60):
            put(first if number % 3 else second, f"thing-{number}", text=LONG)
            if number % 7 == 0:
                checkpoint(second if number % 2 else first)
            first.check_file()
            second.check_file()
        assert len(names(first)) == 60


OTHER = """
import sys
from keyfold.engine import Engine
from keyfold.engine.storage import checkpoints, epochs
from tests.unit.engine.storage.tables import put
with Engine.open(sys.argv[1], upkeep_seconds=None) as engine:
    for number in range(int(sys.argv[2])):
        put(engine, f"{sys.argv[3]}-{number}", text={"S": "y" * 2_000})
        if number % 5 == 0:
            checkpoints._checkpoint(engine._storage._connection)
"""


def run_other(path: Path, count: int, name: str, program: str = OTHER) -> None:
    subprocess.run(
        [sys.executable, "-c", program, str(path), str(count), name], cwd=ROOT, check=True
    )


def test_an_engine_that_was_idle_while_others_wrote_goes_on(path: Path) -> None:
    with Engine.open(path, upkeep_seconds=None) as idle:
        create(idle)
        put(idle, "first")
        for round_ in range(3):
            run_other(path, 30, f"round-{round_}")
            put(idle, f"idle-{round_}")
            idle.check_file()
        assert len(names(idle)) == 94


VACUUM = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("VACUUM")
connection.execute("PRAGMA wal_checkpoint")
connection.close()
"""


def test_vacuum_is_no_replacement(path: Path) -> None:
    with Engine.open(path, upkeep_seconds=None) as engine:
        create(engine)
        for number in range(40):
            put(engine, f"thing-{number}", text=LONG)
        for number in range(40):
            engine.execute(
                "DeleteItem", {"TableName": "Things", "Key": {"pk": {"S": f"thing-{number}"}}}
            )
        checkpoint(engine)
        put(engine, "before")
        before = path.stat().st_size
        # In another process: a second SQLite in this one would drop the locks of the first.
        run_other(path, 0, "", VACUUM)
        assert path.stat().st_size < before
        put(engine, "after")
        checkpoint(engine)
        put(engine, "and after that")
        assert names(engine) == {"before", "after", "and after that"}
        assert engine.verify() == []


def test_nothing_is_checked_in_memory() -> None:
    with Engine.open(":memory:") as engine:
        create(engine)
        assert engine._storage._watch is None
        engine.check_file()


def test_in_process_durability_files_are_checked_at_intervals(path: Path) -> None:
    now = 100.0
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        create(engine)
        watch = engine._storage._watch
        assert watch is not None
        watch._monotonic = lambda: now
        put(engine, "checked")
        checked: list[float] = []
        watch.check = lambda connection: checked.append(now)
        watch.due_at = float("inf")
        put(engine, "not due")
        assert checked == []
        watch.due_at = 0.0
        put(engine, "due")
        assert checked == [now]


# Over HTTP.


def send(url: str, operation: str, request: dict[str, Any]) -> tuple[int, str]:
    """Send one request, and do not retry it; return the status and the body."""
    connection = HTTPConnection(url.removeprefix("http://"))
    headers = {
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "Content-Type": "application/x-amz-json-1.0",
        "Authorization": "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/dynamodb/aws4_request, "
        "SignedHeaders=host, Signature=00",
    }
    with closing(connection):
        connection.request("POST", "/", json.dumps(request), headers)
        response = connection.getresponse()
        return response.status, response.read().decode()


def test_a_server_answers_503_and_acknowledges_nothing(path: Path) -> None:
    item = {"TableName": "Things", "Item": {"pk": {"S": "one"}}}
    with Engine.open(path, upkeep_seconds=None) as engine, Server(engine).running() as url:
        create(engine)
        assert send(url, "PutItem", item)[0] == 200
        delete(path)
        for operation, request in (
            ("PutItem", item),
            ("GetItem", {"TableName": "Things", "Key": {"pk": {"S": "one"}}}),
            ("Scan", {"TableName": "Things"}),
        ):
            status, body = send(url, operation, request)
            assert (status, "replaced" in body, str(path) in body) == (503, True, False)


def test_a_server_that_is_only_read_notices_at_its_next_sweep(path: Path) -> None:
    with Engine.open(path, upkeep_seconds=None) as engine:
        create(engine)
        server = Server(engine)
        with server.running() as url:
            delete(path)
            assert server._state is not None
            server._state.sweep()
            request = {"TableName": "Things", "Key": {"pk": {"S": "one"}}}
            assert send(url, "GetItem", request)[0] == 503


def test_an_epoch_that_begins_a_log_is_the_logs_own(path: Path) -> None:
    with Engine.open(path, upkeep_seconds=None) as engine:
        create(engine)
        storage = engine._storage
        watch = storage._watch
        assert watch is not None
        for number in range(5):
            # A checkpoint between a commit and its epoch, as another process may run one.
            checkpoint(engine)
            watch._known = watch._known._replace(is_stamped=False)
            before = watch._log.read_start()
            epochs.write_epoch(storage._connection, epochs.new_epoch(_number(engine)))
            assert watch._log.read_start() != before
            put(engine, f"thing-{number}")
            checkpoint(engine)
            engine.check_file()
            put(engine, f"more-{number}")
            engine.check_file()
        content, log = path.read_bytes(), side(path, "-wal").read_bytes()
    copy = path.with_name("copy.db")
    copy.write_bytes(content)
    side(copy, "-wal").write_bytes(log)
    with Engine.open(copy, upkeep_seconds=None) as engine:
        assert len(names(engine)) == 10


def _number(engine: Engine) -> bytes:
    epoch = epochs.read_epoch(engine._storage._connection)
    assert epoch is not None
    return epoch.number
