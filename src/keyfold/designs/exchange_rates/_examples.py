"""Example rates, as the document has them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from keyfold.designs.exchange_rates._items import Rate, table

_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@table.examples
def make_examples() -> list[Rate]:
    """Return four rates: three of the dollar, of which one is stale, and one of the euro."""
    rates = {
        ("USD", "EUR"): "0.85",
        ("USD", "GBP"): "0.74",
        ("USD", "JPY"): "149.3",
        ("EUR", "GBP"): "0.87",
    }
    return [
        Rate(
            base=base,
            target=target,
            rate=Decimal(rate),
            at=_NOON,
            stale=target == "JPY",
            expires=_NOON + timedelta(days=1),
        )
        for (base, target), rate in rates.items()
    ]
