"""Idempotency tokens: within ten minutes a transaction is executed once; then its token expires."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import IdempotentParameterMismatchException, TransactionCanceledException
from tests.unit.engine.clocks import Clock
from tests.unit.engine.storage.tables import TABLE, create, get

TEN_MINUTES = 600


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None) as engine:
        create(engine)
        yield engine
        assert engine.verify() == []


def _add(engine: Engine, token: str | None, amount: int = 1, **more: Any) -> dict[str, Any]:
    """Add to the sum in a transaction."""
    update = {
        "TableName": TABLE,
        "Key": {"pk": {"S": "sum"}},
        "UpdateExpression": "ADD n :amount",
        "ExpressionAttributeValues": {":amount": {"N": str(amount)}},
    }
    request = {"TransactItems": [{"Update": update}], "ClientRequestToken": token, **more}
    return engine.execute("TransactWriteItems", request)


def _sum(engine: Engine) -> int:
    return int((get(engine, "sum") or {"n": {"N": "0"}})["n"]["N"])


def test_without_a_token_a_transaction_is_executed_each_time(engine: Engine) -> None:
    _add(engine, None)
    _add(engine, None)
    assert _sum(engine) == 2


def test_with_the_same_token_a_transaction_is_executed_once(engine: Engine, clock: Clock) -> None:
    assert _add(engine, "token") == _add(engine, "token") == {}
    clock.let_pass(TEN_MINUTES - 1)
    _add(engine, "token")
    assert _sum(engine) == 1


def test_parameters_other_than_the_writes_may_differ(engine: Engine) -> None:
    _add(engine, "token")
    _add(engine, "token", ReturnConsumedCapacity="TOTAL")
    _add(engine, "token", Unknown=1)
    assert _sum(engine) == 1


def test_a_token_is_refused_for_another_transaction(engine: Engine, clock: Clock) -> None:
    _add(engine, "token")
    with pytest.raises(IdempotentParameterMismatchException):
        _add(engine, "token", amount=2)
    assert _sum(engine) == 1
    clock.let_pass(TEN_MINUTES)
    _add(engine, "token", amount=2)
    assert _sum(engine) == 3


def test_after_ten_minutes_the_transaction_is_executed_once_more(
    engine: Engine, clock: Clock
) -> None:
    # Tokens are removed a few at a time, and these come before it.
    for number in range(10):
        _add(engine, f"older-{number}", amount=0)
    clock.let_pass(1)
    _add(engine, "token")
    clock.let_pass(TEN_MINUTES + 1)
    _add(engine, "token")
    assert _sum(engine) == 2
    # Removing old tokens does not remove the renewed one.
    for number in range(10):
        clock.let_pass(1)
        _add(engine, f"newer-{number}", amount=100)
        _add(engine, "token")
    assert _sum(engine) == 1_002


def test_a_token_used_every_eleven_minutes_counts_every_time(engine: Engine, clock: Clock) -> None:
    for time in range(1, 6):
        clock.let_pass(11 * 60)
        for _ in range(3):
            clock.let_pass(1)
            _add(engine, "token")
        assert _sum(engine) == time


def test_old_tokens_are_removed(engine: Engine, clock: Clock) -> None:
    for number in range(40):
        _add(engine, f"token-{number}")
    clock.let_pass(TEN_MINUTES + 1)
    for number in range(20):
        _add(engine, f"late-{number}")

    def count(kind: str) -> int:
        return len(engine._storage.read(lambda reader: reader.list_records(kind)))

    assert count("token") == count("token-age") == 20
    assert _sum(engine) == 60


def test_a_cancelled_transaction_leaves_no_token(engine: Engine) -> None:
    def put_new() -> None:
        put = {
            "TableName": TABLE,
            "Item": {"pk": {"S": "new"}},
            "ConditionExpression": "attribute_exists(pk)",
        }
        engine.execute(
            "TransactWriteItems", {"TransactItems": [{"Put": put}], "ClientRequestToken": "token"}
        )

    for _ in range(2):
        with pytest.raises(TransactionCanceledException):
            put_new()
    # Had the token been kept, these parameters would not match it.
    _add(engine, "token")
    assert _sum(engine) == 1


def test_tokens_are_shared_with_other_and_later_processes(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "things.db"
    with Engine.open(path, clock=clock) as one, Engine.open(path, clock=clock) as other:
        create(one)
        _add(one, "token")
        _add(other, "token")
        assert _sum(other) == 1
    clock.let_pass(TEN_MINUTES - 1)
    with Engine.open(path, clock=clock) as later:
        _add(later, "token")
        assert _sum(later) == 1
