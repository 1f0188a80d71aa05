"""A table's change log: what it records, in which order, and for how long."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import orjson
import pytest

from keyfold.engine import Engine
from keyfold.engine.storage import Row, RowChange, RowSet, StorageReader, view
from keyfold.engine.storage.log_statements import LogStatements, log_statements
from keyfold.engine.streams.change_log import DAY_SECONDS, list_logs, save_changed_body
from keyfold.engine.tables.table import RecoveryBody, TableBody
from keyfold.errors import FileDamaged
from tests.unit.engine.clocks import Clock
from tests.unit.engine.storage.tables import ADD_INDEX, CREATE, TABLE, add, create, put

ON = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
OFF = {"StreamEnabled": False}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None) as engine:
        engine.execute("CreateTable", {**CREATE, "StreamSpecification": ON})
        yield engine
        assert engine.verify() == []


def _switch(engine: Engine, stream: dict[str, Any]) -> None:
    engine.execute("UpdateTable", {"TableName": TABLE, "StreamSpecification": stream})


def _body(engine: Engine) -> TableBody:
    return engine._context.catalog.bodies()[0]


def _read(engine: Engine, log: int, after: int = 0, **options: Any) -> list[RowChange]:
    settings: dict[str, Any] = {"limit": -1, "max_bytes": 1 << 30, **options}
    return engine._storage.read(lambda reader: reader.read_changes(log, after=after, **settings))


def _changes(engine: Engine) -> list[RowChange]:
    return [each for log in _logs(engine) for each in _read(engine, log)]


def _logs(engine: Engine) -> list[int]:
    return [log["number"] for log in engine._storage.read(list_logs)]


def _images(engine: Engine) -> list[tuple[Any, Any]]:
    """Return the old and new images in the log."""

    def load(image: bytes | None) -> Any:
        return None if image is None else orjson.loads(image)

    return [(load(change.old), load(change.new)) for change in _changes(engine)]


def test_every_kind_of_write_is_logged_with_both_images(engine: Engine) -> None:
    one = {"pk": {"S": "one"}}
    put(engine, "one")
    put(engine, "one", a={"S": "x"})
    engine.execute(
        "PutItem",
        {
            "TableName": TABLE,
            "Item": one,
            "ConditionExpression": "attribute_exists(pk)",
        },
    )
    engine.execute("PutItem", {"TableName": TABLE, "Item": {**one, "b": {"N": "1"}}})
    add(engine, "one")
    batch = {TABLE: [{"PutRequest": {"Item": one}}, {"PutRequest": {"Item": {"pk": {"S": "two"}}}}]}
    engine.execute("BatchWriteItem", {"RequestItems": batch})
    member = {"Delete": {"TableName": TABLE, "Key": {"pk": {"S": "two"}}}}
    engine.execute("TransactWriteItems", {"TransactItems": [member]})
    engine.execute("DeleteItem", {"TableName": TABLE, "Key": one})
    assert _images(engine) == [
        (None, one),
        (one, {**one, "a": {"S": "x"}}),
        ({**one, "a": {"S": "x"}}, one),
        (one, {**one, "b": {"N": "1"}}),
        ({**one, "b": {"N": "1"}}, {**one, "b": {"N": "1"}, "n": {"N": "1"}}),
        ({**one, "b": {"N": "1"}, "n": {"N": "1"}}, one),
        (None, {"pk": {"S": "two"}}),
        ({"pk": {"S": "two"}}, None),
        (one, None),
    ]
    assert [change.sequence for change in _changes(engine)] == list(range(1, 10))


def test_a_write_that_changes_nothing_is_not_logged(engine: Engine) -> None:
    item = {"pk": {"S": "one"}, "s": {"SS": ["a", "b"]}, "m": {"M": {"x": {"N": "1"}}}}
    same = {"m": {"M": {"x": {"N": "1.0"}}}, "s": {"SS": ["b", "a"]}, "pk": {"S": "one"}}
    key = {"TableName": TABLE, "Key": {"pk": {"S": "one"}}}
    engine.execute("PutItem", {"TableName": TABLE, "Item": item})
    engine.execute("PutItem", {"TableName": TABLE, "Item": same})
    engine.execute("PutItem", {"TableName": TABLE, "Item": same, "ReturnValues": "ALL_OLD"})
    engine.execute("BatchWriteItem", {"RequestItems": {TABLE: [{"PutRequest": {"Item": same}}]}})
    engine.execute("UpdateItem", {**key, "UpdateExpression": "REMOVE nothing"})
    engine.execute("DeleteItem", {"TableName": TABLE, "Key": {"pk": {"S": "absent"}}})
    assert _images(engine) == [(None, item)]


@pytest.mark.parametrize(
    ("operation", "parameters"),
    [
        ("PutItem", {"Item": {"pk": {"S": "one"}}}),
        ("PutItem", {"Item": {"pk": {"S": "one"}}, "ReturnValues": "ALL_OLD"}),
        (
            "PutItem",
            {"Item": {"pk": {"S": "one"}}, "ConditionExpression": "attribute_exists(pk)"},
        ),
        ("UpdateItem", {"Key": {"pk": {"S": "one"}}, "UpdateExpression": "REMOVE a"}),
        ("DeleteItem", {"Key": {"pk": {"S": "one"}}}),
    ],
)
def test_a_logged_write_reads_the_stored_row_once(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, operation: str, parameters: dict[str, Any]
) -> None:
    put(engine, "one", a={"S": "x"})
    keys: list[bytes] = []
    get_row = view.View.get

    def count(self: view.View, rows: RowSet, key: bytes) -> Row | None:
        keys.append(key)
        return get_row(self, rows, key)

    monkeypatch.setattr(view.View, "get", count)
    engine.execute(operation, {"TableName": TABLE, **parameters})
    assert len(keys) == 1
    assert len(_changes(engine)) == 2


def test_a_refused_write_is_not_logged(engine: Engine) -> None:
    put(engine, "one")
    with pytest.raises(Exception, match="conditional request failed"):
        engine.execute(
            "PutItem",
            {
                "TableName": TABLE,
                "Item": {"pk": {"S": "one"}, "a": {"S": "x"}},
                "ConditionExpression": "attribute_not_exists(pk)",
            },
        )
    assert len(_changes(engine)) == 1


def test_an_expired_item_is_marked(engine: Engine, clock: Clock) -> None:
    specification = {"AttributeName": "ttl", "Enabled": True}
    engine.execute(
        "UpdateTimeToLive", {"TableName": TABLE, "TimeToLiveSpecification": specification}
    )
    put(engine, "one", ttl={"N": str(int(clock.now))})
    clock.let_pass(60)
    assert engine.run_upkeep() == 1
    assert [(change.new is None, change.is_expiry) for change in _changes(engine)] == [
        (False, False),
        (True, True),
    ]


def test_logged_times_never_go_back(engine: Engine, clock: Clock) -> None:
    start = clock.now
    for seconds in (0.25, -50, 10, 60):
        clock.let_pass(seconds)
        add(engine, "one")
    assert [change.at - start for change in _changes(engine)] == [0.25, 0.25, 0.25, 20.25]


def test_changes_are_found_by_their_time(engine: Engine, clock: Clock) -> None:
    start = clock.now
    for _ in range(20):
        clock.let_pass(1)
        add(engine, "one")
        add(engine, "two")
    log = _logs(engine)[0]

    def find(at: float) -> int:
        return engine._storage.read(lambda reader: reader.find_change(log, at))

    assert [find(start + seconds) for seconds in (-1, 0, 1, 1.5, 2, 20, 99)] == [
        *(0, 0, 2, 2, 4, 40, 40)
    ]


def test_reads_of_the_log_are_limited_by_key_sequence_count_and_bytes(engine: Engine) -> None:
    for name in ("one", "two", "one", "two"):
        add(engine, name)
    log = _logs(engine)[0]
    key = _changes(engine)[0].key
    assert [each.sequence for each in _read(engine, log, low=key, high=key + b"\0")] == [1, 3]
    assert [each.sequence for each in _read(engine, log, 1, until=3)] == [2, 3]
    assert [each.sequence for each in _read(engine, log, limit=2)] == [1, 2]
    first = len(_changes(engine)[0].new or b"")
    assert len(_read(engine, log, max_bytes=first)) == 1
    assert len(_read(engine, log, max_bytes=first + 1)) == 2


def test_sequence_numbers_continue_in_a_new_log(engine: Engine) -> None:
    add(engine, "one")
    _switch(engine, OFF)
    add(engine, "one")
    _switch(engine, ON)
    add(engine, "one")
    add(engine, "one")
    engine.execute("DeleteTable", {"TableName": TABLE})
    engine.execute("CreateTable", {**CREATE, "StreamSpecification": ON})
    put(engine, "other")
    assert [[each.sequence for each in _read(engine, log)] for log in _logs(engine)] == [
        [1],
        [2, 3],
        [4],
    ]


def test_sequence_numbers_and_times_continue_after_trimming(engine: Engine, clock: Clock) -> None:
    for _ in range(3):
        add(engine, "one")
    clock.let_pass(DAY_SECONDS + 1)
    engine.run_upkeep()
    # The newest change stays, so that the sequence numbers can continue from it.
    assert [change.sequence for change in _changes(engine)] == [3]
    clock.let_pass(-10)
    add(engine, "one")
    assert [change.sequence for change in _changes(engine)] == [3, 4]


def test_changes_are_kept_for_a_day_or_for_the_recovery_period(
    engine: Engine, clock: Clock
) -> None:
    def let_days_pass(days: float) -> list[int]:
        clock.let_pass(days * DAY_SECONDS)
        add(engine, "one")
        engine.run_upkeep()
        return [change.sequence for change in _changes(engine)]

    assert let_days_pass(0) == [1]
    assert let_days_pass(0.9) == [1, 2]
    assert let_days_pass(0.9) == [2, 3]
    body: TableBody = {**_body(engine), "recovery": RecoveryBody(days=7, since=clock.now)}
    engine._storage.write(
        lambda writer: writer.set_record("table", TABLE, orjson.dumps(body)),
    )
    assert let_days_pass(6) == [2, 3, 4]
    assert let_days_pass(6) == [4, 5]


def test_a_log_used_by_stream_and_recovery_stays_until_both_are_off(
    engine: Engine, clock: Clock
) -> None:
    def change(**settings: Any) -> None:
        before = _body(engine)
        after = cast(TableBody, {**before, **settings})
        if settings.get("recovery", ...) is None:
            del after["recovery"]
        engine._storage.write(lambda writer: save_changed_body(writer, before, after, clock.now))
        engine._context.catalog.forget()

    put(engine, "one")
    change(recovery=RecoveryBody(days=1, since=clock.now))
    _switch(engine, OFF)
    put(engine, "two")
    _switch(engine, ON)
    put(engine, "three")
    change(recovery=None)
    put(engine, "four")
    assert [each.sequence for each in _changes(engine)] == [1, 2, 3, 4]
    assert len(_logs(engine)) == 1
    _switch(engine, OFF)
    assert "log" not in _body(engine)


def test_a_closed_log_is_removed_after_a_day(engine: Engine, clock: Clock) -> None:
    add(engine, "one")
    _switch(engine, OFF)
    assert "log" not in _body(engine)
    clock.let_pass(DAY_SECONDS - 1)
    engine.run_upkeep()
    assert len(_changes(engine)) == 1
    clock.let_pass(1)
    engine.run_upkeep()
    assert _logs(engine) == []
    add(engine, "one")


def test_a_table_without_stream_and_recovery_has_no_log() -> None:
    with Engine.open(":memory:") as engine:
        create(engine)
        put(engine, "one")
        assert _logs(engine) == []
        assert engine.verify() == []


def test_a_process_logs_changes_of_a_stream_that_another_process_enabled(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "a.db") as one, Engine.open(tmp_path / "a.db") as other:
        create(one)
        put(other, "before")
        _switch(one, ON)
        put(other, "plain")
        assert [new["pk"]["S"] for _, new in _images(one)] == ["plain"]
        _switch(one, OFF)
        put(other, "after")
        assert [new["pk"]["S"] for _, new in _images(one)] == ["plain"]
        assert one.verify() == []


def test_new_indexes_are_filled_while_changes_are_logged(engine: Engine) -> None:
    put(engine, "one", a={"S": "x"})
    engine.execute("UpdateTable", ADD_INDEX)
    put(engine, "two", a={"S": "x"})
    put(engine, "one", a={"S": "x"})
    assert len(_changes(engine)) == 2


DAMAGES = {
    "UPDATE c2 SET s = 7 WHERE s = 3": "change 7 does not follow 2",
    "UPDATE c2 SET t = 5 WHERE s = 2": "change 2 is older than the previous change",
    "UPDATE c2 SET n = o WHERE s = 2": "change 2 changed nothing",
    "UPDATE c2 SET n = x'7b' WHERE s = 2": "cannot be read",
    "UPDATE c2 SET o = NULL WHERE s = 2": "change 2 has an old image that differs",
    "UPDATE c2 SET x = 1 WHERE s = 2": "change 2 is an expiry, but has a new image",
    "UPDATE c2 SET k = x'00112233' WHERE s = 3": "change 3 has an image with another key",
    "DELETE FROM c2 WHERE s = 3": "does not match the row",
    "DELETE FROM c2": "a log is empty",
    "DROP TABLE c2": "its changes are missing",
    "DELETE FROM metadata": "its records are missing, but the file has rows",
    "DELETE FROM metadata WHERE kind = 'log'": "its log 2 is missing",
    "UPDATE metadata SET body = '{}' WHERE kind = 'log'": "cannot be read",
    "DELETE FROM metadata WHERE kind = 'table'": "does not use it",
    "UPDATE metadata SET body = '{}' WHERE kind = 'stream'": "cannot be read",
    "UPDATE metadata SET body = replace(body, '\"low\":0', '\"low\":1') WHERE kind = 'stream'": (
        "do not cover every key exactly once"
    ),
    "UPDATE metadata SET body = replace(body, '\"view\":\"N', '\"view\":\"O') WHERE kind = 'stream'": (
        "not the stream of table Things"
    ),
    "UPDATE metadata SET body = replace(body, '\"start\":0', '\"start\":9') WHERE kind = 'stream'": (
        "not a range of log 2"
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_verify_finds_an_inconsistent_log(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "a.db"
    with Engine.open(path, upkeep_seconds=None) as engine:
        engine.execute("CreateTable", {**CREATE, "StreamSpecification": ON})
        for _ in range(3):
            add(engine, "one")
        assert engine.verify() == []
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(damage)
    with Engine.open(path, upkeep_seconds=None) as engine:
        assert DAMAGES[damage] in "\n".join(map(str, engine.verify()))


def test_a_change_without_a_time_is_reported_by_upkeep(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Engine.open(path, upkeep_seconds=None) as engine:
        engine.execute("CreateTable", {**CREATE, "StreamSpecification": ON})
        add(engine, "one")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE c2 SET t = x'00' WHERE s = 1")
    with (
        Engine.open(path, upkeep_seconds=None) as engine,
        pytest.raises(FileDamaged, match="a change has no time"),
    ):
        engine.run_upkeep()


def test_changes_out_of_order_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged tree may lead back to where it was: whoever follows would never come to an end."""
    statements = log_statements(2)
    backwards = statements.read.replace("ORDER BY s", "ORDER BY s DESC")
    with Engine.open(tmp_path / "a.db", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", {**CREATE, "StreamSpecification": ON})
        for _ in range(3):
            add(engine, "one")
        damaged = statements._replace(read=backwards)

        def statements_of_log(log: int) -> LogStatements:
            return damaged

        monkeypatch.setattr(view, "log_statements", statements_of_log)
        with pytest.raises(FileDamaged, match="changes are out of order"):
            _changes(engine)


def test_a_reader_sees_a_consistent_snapshot_of_a_log(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "a.db", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", {**CREATE, "StreamSpecification": ON})
        add(engine, "one")
        (log,) = _logs(engine)

        def work(reader: StorageReader) -> list[int]:
            before = reader.log_span(log)[1]
            add(engine, "one")
            return [before, reader.log_span(log)[1]]

        assert engine._storage.read(work, is_long=True) == [1, 1]
