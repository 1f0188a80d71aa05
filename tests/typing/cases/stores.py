"""Both stores return the same types; one of them must be awaited."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import assert_type

import keyfold
from keyfold import AsyncStore, Key, Page, Ref, Store, Table, model
from keyfold.store import CallRecord
from keyfold.testing import Clock
from tests.typing.cases.patterns import get_by_base, order_by_id, save
from tests.typing.cases.tables import (
    Order,
    OrderId,
    OrderWithLines,
    Rate,
    RateSummary,
    by_base,
    by_key,
    market,
    rates,
)


def show(call: CallRecord) -> None:
    assert_type(call.seconds, float)


def sync() -> None:
    with keyfold.open(rates, ":memory:") as store:
        assert_type(store, Store)
        assert_type(store.run(Rate.get(base="USD", target="EUR")), Rate | None)
        assert_type(store.iterate(get_by_base("USD")), Iterator[Rate])
    with keyfold.open(
        [rates, market],
        "shop.db",
        clock=Clock(datetime(2026, 1, 1, tzinfo=UTC)),
        cursor_key=b"secret",
        on_invalid="raise",
        on_call=[show],
    ) as store:
        assert_type(store, Store)
        ada = store.as_principal("customer", user="ada")
        assert_type(ada, Store)
        assert_type(ada.run(Rate.get(base="USD", target="EUR")), Rate | None)
        store.as_principal(Rate)  # error: reportArgumentType
        store.as_principal("customer", user=7)  # error: reportArgumentType
        assert_type(store.as_principal("customer", "seller", user="ada"), Store)
        store.as_principal()  # error: reportCallIssue
    with rates.open(":memory:", clock=time.time, on_call=[show]) as store:
        assert_type(store, Store)  # mypy: error
        assert_type(store.run(Rate.get(base="USD", target="EUR")), Rate | None)  # mypy: error
    with market.open(client=object(), streams_client=object()) as store:
        assert_type(store, Store)  # mypy: error
    rates.open(":memory:", on_invalid="skip")  # error: reportArgumentType; not mypy
    rates.open(7)  # error: reportArgumentType; not mypy
    rates.open(rates, ":memory:")  # error: reportCallIssue; not mypy
    assert_type(model.Table("Rates", key=Key("pk")), Table)
    assert_type(Table.open(rates, "rates.db", durability="process"), Store)  # mypy: error
    keyfold.opne(rates, ":memory:")  # error: reportAttributeAccessIssue, reportUnknownMemberType
    keyfold.open("rates", ":memory:")  # error: reportArgumentType
    keyfold.open(rates, ":memory:", on_invalid="skip")  # error: reportArgumentType
    keyfold.open(rates, ":memory:", clock=lambda: datetime.now(UTC))  # error: reportArgumentType
    keyfold.open(rates, ":memory:", cursor_key="secret")  # error: reportArgumentType
    keyfold.open(rates, ":memory:", on_call=[print, len])  # error: reportArgumentType


async def not_sync(rate: Rate) -> None:
    async with keyfold.open_async(rates, ":memory:") as store:
        assert_type(store, AsyncStore)
        assert_type(await store.run(Rate.get(base="USD", target="EUR")), Rate | None)
        assert_type(store.as_principal("customer", user="ada"), AsyncStore)
        assert_type(await store.run(Rate.query(by_base, base="USD")), Page[Rate])
        assert_type(await store.run(Rate.query(by_base, base="USD").first()), Rate | None)
        assert_type(await store.run(Rate.query(by_base, base="USD").count()), int)
        assert_type(await store.run(get_by_base("USD").only(RateSummary)), Page[RateSummary])
        assert_type(await store.run(Order.query(by_key, order=OrderId.new()).refs()), Page[Ref[Order]])
        assert_type(await store.run(order_by_id("A1")), OrderWithLines | None)
        assert_type(await store.run(rate.create()), Rate)
        assert_type(await store.run(save(rate, datetime.max - datetime.min)), Rate)
        assert_type(await store.run(Rate.update(base="A", target="B").set(Rate.f.stale, True)), Rate)
        assert_type(await store.run(Rate.delete(base="A", target="B")), Rate | None)
        assert_type(store.iterate(get_by_base("USD")), AsyncIterator[Rate])
        async for each in store.iterate(get_by_base("USD")):
            assert_type(each, Rate)
        async for summary in store.iterate(Rate.scan().only(RateSummary)):
            assert_type(summary, RateSummary)
        store.run(Rate.get(base="USD", target="EUR"))  # error: reportUnusedCoroutine
        found: Rate | None = store.run(Rate.get(base="A", target="B"))  # error: reportAssignmentType
        for each in store.iterate(get_by_base("USD")):  # error: reportGeneralTypeIssues, reportUnknownVariableType
            pass
    async with rates.open_async("dynamodb://eu-west-1", on_invalid="raise") as store:
        assert_type(store, AsyncStore)  # mypy: error
        assert_type(await store.run(Rate.get(base="USD", target="EUR")), Rate | None)  # mypy: error
    rates.open_async(":memory:", cursor_key="secret")  # error: reportArgumentType; not mypy
    with keyfold.open_async(rates, ":memory:") as store:  # error: reportGeneralTypeIssues, reportUnknownVariableType
        pass
