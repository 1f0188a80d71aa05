"""Items that expire: which ones upkeep deletes, and when."""

from __future__ import annotations

import threading
from collections.abc import Iterator
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
    with Engine.open(
        ":memory:", clock=clock, upkeep_seconds=None, ttl_grace_seconds=GRACE
    ) as engine:
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


def _at(moment: float) -> dict[str, str]:
    return {"N": str(int(moment))}


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


def test_nothing_expires_unless_it_is_switched_on(engine: Engine, clock: Clock) -> None:
    put(engine, "old", ttl=_at(clock.now - 1_000))
    assert engine.run_upkeep() == 0
    assert _status(engine) == {"TimeToLiveStatus": "DISABLED"}
    _switch(engine)
    assert _status(engine) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}
    assert engine.run_upkeep() == 1


def test_what_is_more_than_five_years_old_is_taken_for_a_mistake(
    engine: Engine, clock: Clock
) -> None:
    _switch(engine)
    put(engine, "just", ttl=_at(clock.now - FIVE_YEARS))
    put(engine, "too old", ttl=_at(clock.now - FIVE_YEARS - 1))
    put(engine, "zero", ttl={"N": "0"})
    assert engine.run_upkeep() == 1
    assert names(engine) == {"too old", "zero"}


def test_what_is_no_time_never_expires(engine: Engine, clock: Clock) -> None:
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


def test_parts_of_a_second_are_left_away(engine: Engine, clock: Clock) -> None:
    _switch(engine)
    put(engine, "part", ttl={"N": f"{int(clock.now) - GRACE - 1}.999"})
    assert engine.run_upkeep() == 1


def test_a_time_that_is_changed_or_removed_counts_no_more(engine: Engine, clock: Clock) -> None:
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


def test_switched_off_nothing_expires_and_switched_on_by_another_attribute_that_one_counts(
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


def test_one_attribute_at_a_time_decides(engine: Engine) -> None:
    with pytest.raises(ValidationException, match="TimeToLive is already disabled"):
        _switch(engine, on=False)
    _switch(engine)
    with pytest.raises(ValidationException, match="TimeToLive is already enabled"):
        _switch(engine)
    for on in (True, False):
        with pytest.raises(ValidationException, match="current AttributeName is ttl"):
            _switch(engine, "other", on=on)
    assert _status(engine)["AttributeName"] == "ttl"


def test_expired_items_leave_their_indexes_too(engine: Engine, clock: Clock) -> None:
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


def test_one_upkeep_deletes_however_many_have_expired(engine: Engine, clock: Clock) -> None:
    _switch(engine)
    for number in range(350):
        put(engine, f"old-{number}", ttl=_at(clock.now - 100 - number))
        put(engine, f"new-{number}", ttl=_at(clock.now + 100 + number))
    assert engine.run_upkeep() == 350
    assert names(engine) == {f"new-{number}" for number in range(350)}


def test_one_upkeep_deletes_however_large_they_are(engine: Engine, clock: Clock) -> None:
    _switch(engine)
    for number in range(12):
        put(engine, f"large-{number}", ttl=_at(clock.now - 100), x={"S": "x" * 390_000})
    assert engine.run_upkeep() == 12
    assert names(engine) == set()


def test_items_from_before_the_switch_expire_however_many_they_are(
    engine: Engine, clock: Clock
) -> None:
    for number in range(600):
        put(engine, f"old-{number}", ttl=_at(clock.now - 100))
    _switch(engine)
    assert engine.run_upkeep() == 600
    assert names(engine) == set()


def test_every_table_has_its_turn(engine: Engine, clock: Clock) -> None:
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


class _WatchedClock(Clock):
    """Counts how often the thread of upkeep asks the time, and may refuse it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.refusals = 0
        self.often = threading.Event()

    def __call__(self) -> float:
        if threading.current_thread() is not threading.main_thread():
            self.asked += 1
            if self.asked >= 10:
                self.often.set()
            if self.asked <= self.refusals:
                raise ZeroDivisionError
        return super().__call__()


@pytest.mark.parametrize("refusals", [0, 3])
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_expired_items_go_by_themselves_whatever_the_thread_meets(
    tmp_path: Path, kind: str, refusals: int
) -> None:
    path = ":memory:" if kind == "memory" else tmp_path / "things.db"
    clock = _WatchedClock()
    clock.refusals = refusals
    with Engine.open(
        path, durability=None if kind == "memory" else "process", clock=clock, upkeep_seconds=0.001
    ) as engine:
        create(engine)
        put(engine, "old", ttl=_at(clock.now - 100))
        put(engine, "new", ttl=_at(clock.now + 100))
        _switch(engine)
        # Each round asks the time before it looks: the tenth comes after several have ended.
        assert clock.often.wait(120)
        assert names(engine) == {"new"}
        assert engine.verify() == []


def test_a_file_with_expiry_is_swept_again_when_it_is_opened(tmp_path: Path) -> None:
    path, clock = tmp_path / "things.db", _WatchedClock()
    with Engine.open(path, clock=clock, upkeep_seconds=None) as engine:
        create(engine)
        _switch(engine)
        put(engine, "old", ttl=_at(clock.now - 100))
    with Engine.open(path, clock=clock, upkeep_seconds=0.001) as engine:
        assert clock.often.wait(120)
        assert names(engine) == set()
