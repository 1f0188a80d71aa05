"""Who may run the patterns of the exchange rates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from keyfold.designs import exchange_rates as rates
from tests.tenants.patterns.rows import Column, PatternTable, Row

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
RATE = rates.Rate(base="USD", target="EUR", rate=Decimal("0.85"), at=NOW)
DAY = timedelta(days=1)

PATTERNS = PatternTable(
    rates.table,
    columns={"publisher": Column(("publisher",)), "reader": Column(("reader",))},
    stored=lambda: [rates.save(RATE, DAY)],
    rows=[
        Row("Get", "a rate", lambda: rates.get("USD", "EUR"), may="publisher reader"),
        Row("GetByBase", "all", lambda: rates.get_by_base("USD"), may="publisher reader"),
        Row("GetStale", "a rate", lambda: rates.get_stale("USD", "EUR"), may="publisher reader"),
        Row("Save", "a rate again", lambda: rates.save(RATE, DAY), may="publisher"),
        Row("MarkStale", "a rate", lambda: rates.mark_stale("USD", "EUR"), may="publisher"),
        Row("Delete", "a rate", lambda: rates.delete("USD", "EUR"), may="publisher"),
    ],
    now=NOW,
)
