"""Items that expire: which ones upkeep deletes, and when."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import ValidationException
from tests.unit.engine.clocks import Clock
from tests.unit.engine.storage.tables import (
    ADD_INDEX,
    TABLE,
    add,
    create,
    get,
    names,
    put,
    query_index,
)

GRACE = 10
FIVE_YEARS = 5 * 365 * 86_400


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None, expiry_grace=GRACE) as engine:
        create(engine)
        yield engine
        assert engine.verify() == []


def _switch(engine: Engine, attribute: str = "ttl", *, on: bool = True) -> None:
    specification = {"AttributeName": attribute, "Enabled": on}
    answer = engine.execute(
        "UpdateTimeToLive", {"TableName": TABLE, "TimeToLiveSpecification": specification}
    )
    assert answer == {"TimeToLiveSpecification": specification}


def _status(engine: Engine) -> dict[str, Any]:
    return engine.execute("DescribeTimeToLive", {"TableName": TABLE})["TimeToLiveDescription"]


def _at(seconds: float) -> dict[str, str]:
    return {"N": str(int(seconds))}


def test_an_item_expires_after_its_time_and_the_grace(engine: Engine, clock: Clock) -> None:
    _switch(engine)
    put(engine, "soon", ttl=_at(clock.now + 100))
    put(engine, "later", ttl=_at(clock.now + 200))
    put(engine, "never")
    assert engine.run_upkeep() == 0
    clock.let_pass(100 + GRACE)
    assert engine.run_upkeep() == 0
    assert get(engine, "soon") is not None, "until then it can still be read"
    clock.let_pass(1)
    assert engine.run_upkeep() == 1
    assert names(engine) == {"later", "never"}
    clock.let_pass(100)
    assert engine.run_upkeep() == 1
    assert engine.run_upkeep() == 0
    assert names(engine) == {"never"}


@pytest.mark.parametrize(
    ("kind", "given", "grace_seconds"),
    [
        ("file", None, 48 * 3_600),
        ("memory", None, 10),
        ("file", timedelta(minutes=5), 300),
        ("memory", timedelta(days=2), 48 * 3_600),
        ("file", 0, 0),
        ("memory", 1.5, 2),
    ],
)
def test_the_grace_is_two_days_in_files_and_ten_seconds_in_memory_unless_set(
    tmp_path: Path, clock: Clock, kind: str, given: float | timedelta | None, grace_seconds: int
) -> None:
    path = ":memory:" if kind == "memory" else tmp_path / "things.db"
    with Engine.open(path, clock=clock, upkeep_seconds=None, expiry_grace=given) as engine:
        create(engine)
        _switch(engine)
        put(engine, "old", ttl=_at(clock.now))
        clock.let_pass(grace_seconds)
        assert engine.run_upkeep() == 0
        clock.let_pass(1)
        assert engine.run_upkeep() == 1


def test_nothing_expires_unless_expiry_is_enabled(engine: Engine, clock: Clock) -> None:
    put(engine, "old", ttl=_at(clock.now - 1_000))
    assert engine.run_upkeep() == 0
    assert _status(engine) == {"TimeToLiveStatus": "DISABLED"}
    _switch(engine)
    assert _status(engine) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}
    assert engine.run_upkeep() == 1


def test_times_more_than_five_years_ago_are_ignored(engine: Engine, clock: Clock) -> None:
    _switch(engine)
    put(engine, "just", ttl=_at(clock.now - FIVE_YEARS))
    put(engine, "too old", ttl=_at(clock.now - FIVE_YEARS - 1))
    put(engine, "zero", ttl={"N": "0"})
    assert engine.run_upkeep() == 1
    assert names(engine) == {"too old", "zero"}


def test_items_without_a_valid_time_never_expire(engine: Engine, clock: Clock) -> None:
    _switch(engine)
    past = str(int(clock.now - 1_000))
    for name, value in {
        "text": {"S": past},
        "set": {"NS": [past]},
        "list": {"L": [{"N": past}]},
        "map": {"M": {"ttl": {"N": past}}},
        "null": {"NULL": True},
        "negative": {"N": f"-{past}"},
        "huge": {"N": "1e125"},
        "tiny": {"N": "1e-130"},
        "beyond": {"N": str(1 << 63)},
        "last": {"N": str((1 << 63) - 1)},
    }.items():
        put(engine, name, ttl=value)
    before = names(engine)
    assert engine.run_upkeep() == 0
    assert names(engine) == before


def test_fractions_of_a_second_are_ignored(engine: Engine, clock: Clock) -> None:
    _switch(engine)
    put(engine, "part", ttl={"N": f"{int(clock.now) - GRACE - 1}.999"})
    assert engine.run_upkeep() == 1


def test_a_changed_or_removed_time_no_longer_counts(engine: Engine, clock: Clock) -> None:
    _switch(engine)
    for name in ("removed", "moved", "replaced", "text", "touched", "kept"):
        put(engine, name, ttl=_at(clock.now + 5))
    for name, update, values in (
        ("removed", "REMOVE #t", None),
        ("moved", "SET #t = :v", {":v": _at(clock.now + 5_000)}),
        ("text", "SET #t = :v", {":v": {"S": "x"}}),
    ):
        request: dict[str, Any] = {
            "TableName": TABLE,
            "Key": {"pk": {"S": name}},
            "UpdateExpression": update,
            "ExpressionAttributeNames": {"#t": "ttl"},
        }
        engine.execute(
            "UpdateItem", request | ({"ExpressionAttributeValues": values} if values else {})
        )
    put(engine, "replaced")
    add(engine, "touched")
    clock.let_pass(1_000)
    assert engine.run_upkeep() == 2
    assert names(engine) == {"removed", "moved", "replaced", "text"}


def test_disabled_expiry_deletes_nothing_and_can_be_enabled_with_another_attribute(
    engine: Engine, clock: Clock
) -> None:
    _switch(engine)
    put(engine, "by ttl", ttl=_at(clock.now - 100))
    put(engine, "by end", end=_at(clock.now - 100))
    _switch(engine, on=False)
    assert engine.run_upkeep() == 0
    _switch(engine, "end")
    put(engine, "by end, later", end=_at(clock.now - 100), ttl=_at(clock.now + 100))
    assert engine.run_upkeep() == 2
    assert names(engine) == {"by ttl"}
    assert _status(engine) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "end"}
    _switch(engine, "end", on=False)
    _switch(engine)
    assert engine.run_upkeep() == 1
    assert names(engine) == set()


def test_only_one_attribute_at_a_time_can_be_the_expiry_attribute(engine: Engine) -> None:
    with pytest.raises(ValidationException, match="TimeToLive is already disabled"):
        _switch(engine, on=False)
    _switch(engine)
    with pytest.raises(ValidationException, match="TimeToLive is already enabled"):
        _switch(engine)
    for on in (True, False):
        with pytest.raises(ValidationException, match="current AttributeName is ttl"):
            _switch(engine, "other", on=on)
    assert _status(engine)["AttributeName"] == "ttl"


def test_expired_items_are_removed_from_indexes_too(engine: Engine, clock: Clock) -> None:
    engine.execute("UpdateTable", ADD_INDEX)
    _switch(engine)
    put(engine, "old", a={"S": "x"}, ttl=_at(clock.now - 100))
    put(engine, "new", a={"S": "x"}, ttl=_at(clock.now + 100))
    assert engine.run_upkeep() == 1
    assert query_index(engine, "x") == {"new"}


def test_the_attribute_may_be_the_key_of_an_index(engine: Engine, clock: Clock) -> None:
    engine.execute("UpdateTable", ADD_INDEX)
    _switch(engine, "a")
    put(engine, "text", a={"S": str(int(clock.now - 100))})
    assert engine.run_upkeep() == 0
    assert query_index(engine, str(int(clock.now - 100))) == {"text"}


def test_one_upkeep_run_deletes_any_number_of_expired_items(engine: Engine, clock: Clock) -> None:
    _switch(engine)
    for number in range(350):
        put(engine, f"old-{number}", ttl=_at(clock.now - 100 - number))
        put(engine, f"new-{number}", ttl=_at(clock.now + 100 + number))
    assert engine.run_upkeep() == 350
    assert names(engine) == {f"new-{number}" for number in range(350)}


def test_one_upkeep_run_deletes_expired_items_of_any_size(engine: Engine, clock: Clock) -> None:
    _switch(engine)
    for number in range(12):
        put(engine, f"large-{number}", ttl=_at(clock.now - 100), x={"S": "x" * 390_000})
    assert engine.run_upkeep() == 12
    assert names(engine) == set()


def test_items_written_before_expiry_was_enabled_expire_too(engine: Engine, clock: Clock) -> None:
    for number in range(600):
        put(engine, f"old-{number}", ttl=_at(clock.now - 100))
    _switch(engine)
    assert engine.run_upkeep() == 600
    assert names(engine) == set()


def test_upkeep_covers_every_table(engine: Engine, clock: Clock) -> None:
    _switch(engine)
    put(engine, "old", ttl=_at(clock.now - 100))
    for name in ("Another", "Zebras"):
        engine.execute(
            "CreateTable",
            {
                "TableName": name,
                "AttributeDefinitions": [{"AttributeName": "ttl", "AttributeType": "N"}],
                "KeySchema": [{"AttributeName": "ttl", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        engine.execute(
            "UpdateTimeToLive",
            {
                "TableName": name,
                "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True},
            },
        )
        engine.execute("PutItem", {"TableName": name, "Item": {"ttl": _at(clock.now - 50)}})
    assert engine.run_upkeep() == 3


class _CountingClock(Clock):
    """Counts the readings of the upkeep thread, and may fail for the first of them."""

    def __init__(self) -> None:
        super().__init__()
        self.readings = 0
        self.failures = 0
        self.read_ten_times = threading.Event()

    def __call__(self) -> float:
        if threading.current_thread() is not threading.main_thread():
            self.readings += 1
            if self.readings >= 10:
                self.read_ten_times.set()
            if self.readings <= self.failures:
                raise ZeroDivisionError
        return super().__call__()


@pytest.mark.parametrize("failures", [0, 3])
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_the_upkeep_thread_deletes_expired_items_despite_errors(
    tmp_path: Path, kind: str, failures: int
) -> None:
    path = ":memory:" if kind == "memory" else tmp_path / "things.db"
    clock = _CountingClock()
    clock.failures = failures
    with Engine.open(
        path,
        durability=None if kind == "memory" else "process",
        clock=clock,
        upkeep_seconds=0.001,
        expiry_grace=GRACE,
    ) as engine:
        create(engine)
        put(engine, "old", ttl=_at(clock.now - 100))
        put(engine, "new", ttl=_at(clock.now + 100))
        _switch(engine)
        # Each round reads the clock first, so the tenth reading comes after several full rounds.
        assert clock.read_ten_times.wait(120)
        assert names(engine) == {"new"}
        assert engine.verify() == []


def test_upkeep_resumes_when_a_file_with_expiry_is_opened(tmp_path: Path) -> None:
    path, clock = tmp_path / "things.db", _CountingClock()
    with Engine.open(path, clock=clock, upkeep_seconds=None) as engine:
        create(engine)
        _switch(engine)
        put(engine, "old", ttl=_at(clock.now - 100))
    with Engine.open(path, clock=clock, upkeep_seconds=0.001, expiry_grace=GRACE) as engine:
        assert clock.read_ten_times.wait(120)
        assert names(engine) == set()
