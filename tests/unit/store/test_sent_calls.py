from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pydantic import Secret, SecretStr

import keyfold
from keyfold import Entity, Key, Request, Table, batch, part, transaction
from keyfold.designs.exchange_rates import Rate, by_base, save, table
from keyfold.store._sent_calls import CallLog, show_calls

RATE = Rate(base="USD", target="EUR", rate=Decimal(1), at=datetime(2026, 1, 1, tzinfo=UTC))
GET = Rate.get(base="USD", target="EUR")


@pytest.mark.parametrize(
    ("request_", "line"),
    [
        (GET, ("GetItem", "", "PK = RATE#USD#EUR")),
        (Rate.query(by_base, base="USD"), ("Query", "BaseCurrencyIndex", "Base = USD")),
        (Rate.scan(), ("Scan", "", "")),
        (
            Rate.scan().where(Rate.f.rate > Decimal("0.5")),
            ("Scan", "", "filter Rate > 0.5"),
        ),
        (save(RATE, timedelta(days=1)), ("PutItem", "", "PK = RATE#USD#EUR")),
        (
            Rate.update(base="USD", target="EUR").set(Rate.f.rate, Decimal(2)),
            ("UpdateItem", "", "PK = RATE#USD#EUR"),
        ),
        (Rate.delete(base="USD", target="EUR"), ("DeleteItem", "", "PK = RATE#USD#EUR")),
        (batch([GET, Rate.get(base="USD", target="GBP")]), ("BatchGetItem", "", "2 keys")),
        (batch([RATE.put()]), ("BatchWriteItem", "", "1 write")),
        (
            transaction(RATE.put(), Rate.delete(base="USD", target="GBP")),
            ("TransactWriteItems", "", "1 Put, 1 Delete in RATE#USD#EUR, RATE#USD#GBP"),
        ),
        (transaction(GET), ("TransactGetItems", "", "1 Get in RATE#USD#EUR")),
    ],
)
def test_a_call_is_shown_as_it_was_sent(request_: Request[Any], line: tuple[str, str, str]) -> None:
    log = CallLog([table])
    with keyfold.open(table, ":memory:", on_call=[log]) as store:
        store.run(RATE.put())
        log.take()
        store.run(request_)
        calls = log.take()
    assert show_calls(calls) == [line]
    assert log.take() == []


def test_consecutive_similar_calls_are_counted() -> None:
    log = CallLog([table])
    with keyfold.open(table, ":memory:", on_call=[log]) as store:
        log.take()
        for request in (GET, GET, Rate.get(base="GBP", target="JPY"), GET):
            store.run(request)
        calls = log.take()
    assert [key for _, _, key in show_calls(calls)] == [
        "PK = RATE#USD#EUR (2 calls)",
        "PK = RATE#GBP#JPY",
        "PK = RATE#USD#EUR",
    ]


def test_secrets_in_conditions_are_masked() -> None:
    accounts = Table("Accounts", key=Key("pk"))

    class Account(Entity, table=accounts, key="ACCOUNT#{name}"):
        name: str = part()
        password: SecretStr
        pin: Secret[int] | None = None

    log = CallLog([accounts])
    with keyfold.open(accounts, ":memory:", on_call=log) as store:
        log.take()
        has_secrets = Account.f.password.eq(SecretStr("hunter2")) & Account.f.pin.eq(
            Secret[int](70077)
        )
        store.run(Account.scan().where(has_secrets))
        (call,) = log.take()
    assert call.brief == "filter password = ********** AND pin = **********"
    assert "hunter2" not in call.key
    assert "70077" not in call.key
