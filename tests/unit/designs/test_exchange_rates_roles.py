"""Who may do what with exchange rates: in process, over the wire, and by the exported policies."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import keyfold
from keyfold import Request, Store
from keyfold.designs import exchange_rates
from keyfold.designs.exchange_rates import Rate
from keyfold.engine import Engine
from keyfold.errors import AccessDenied, AccessDeniedException
from keyfold.policy.iam import export_policy
from keyfold.wire.server import Server, make_policy_gate

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
DAY = timedelta(days=1)
RATE = Rate(base="USD", target="EUR", rate=Decimal("0.85"), at=NOW)

READS: list[Request[Any]] = [
    exchange_rates.get("USD", "EUR"),
    exchange_rates.get("USD", "EUR").consistent(),
    exchange_rates.get_by_base("USD"),
    exchange_rates.get_stale("USD", "EUR"),
]
WRITES: list[Request[Any]] = [
    exchange_rates.save(RATE, DAY),
    exchange_rates.mark_stale("USD", "EUR"),
    exchange_rates.delete("USD", "EUR"),
]


@pytest.fixture
def store() -> Iterator[Store]:
    with keyfold.open(
        exchange_rates.table, ":memory:", clock=NOW.timestamp, upkeep_seconds=None
    ) as store:
        store.run(exchange_rates.save(RATE, DAY))
        yield store


def test_the_publisher_may_run_every_pattern(store: Store) -> None:
    publisher = store.as_principal("publisher")
    for request in (*READS, *WRITES):
        publisher.run(request)
    assert store.run(exchange_rates.get("USD", "EUR")) is None


def test_a_reader_may_read_and_not_write(store: Store) -> None:
    reader = store.as_principal("reader")
    for request in READS:
        assert reader.run(request)
    for request in WRITES:
        with pytest.raises(AccessDenied):
            reader.run(request)
    assert store.run(exchange_rates.get("USD", "EUR")) is not None


@pytest.mark.parametrize("role", ["publisher", "reader"])
def test_the_exported_policies_allow_the_same_over_the_wire(tmp_path: Path, role: str) -> None:
    table, clock = exchange_rates.table, NOW.timestamp
    policy = tmp_path / "policy.json"
    policy.write_text(export_policy(table.layout, table.roles[role]).to_json())
    with (
        keyfold.open(table, tmp_path / "rates.db", clock=clock, upkeep_seconds=None) as store,
        Engine.open(tmp_path / "rates.db", clock=clock, upkeep_seconds=None) as engine,
        Server(
            engine, gate=make_policy_gate(str(policy), engine.find_key_names, region="us-east-1")
        ).running() as url,
        keyfold.open(table, url, clock=clock, cursor_key=bytes(32)) as client,
    ):
        store.run(exchange_rates.save(RATE, DAY))
        for request in READS:
            assert client.run(request)
        for request in WRITES:
            if role == "publisher":
                client.run(request)
            else:
                with pytest.raises(AccessDeniedException):
                    client.run(request)
        with pytest.raises(AccessDeniedException):
            client.run(Rate.scan())
        assert (store.run(exchange_rates.get("USD", "EUR")) is None) is (role == "publisher")
