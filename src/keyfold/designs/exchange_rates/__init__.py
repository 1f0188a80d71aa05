"""Exchange rates: a table of rates that expire, looked up by currency pair or base currency.

>>> from datetime import UTC, datetime, timedelta
>>> from decimal import Decimal
>>> import keyfold
>>> from keyfold.designs import exchange_rates
>>> noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
>>> rate = exchange_rates.Rate(base="USD", target="EUR", rate=Decimal("0.85"), at=noon)
>>> with keyfold.open(exchange_rates.table, ":memory:") as store:
...     _ = store.run(exchange_rates.save(rate, timedelta(days=1)))
...     [found] = store.run(exchange_rates.get_by_base("USD"))
>>> found.target, found.rate
('EUR', Decimal('0.85'))
"""

from __future__ import annotations

from keyfold.designs.exchange_rates._currencies import ISO_4217
from keyfold.designs.exchange_rates._examples import make_examples
from keyfold.designs.exchange_rates._items import Currency, Rate, by_base, table
from keyfold.designs.exchange_rates._patterns import (
    delete,
    get,
    get_by_base,
    get_stale,
    mark_stale,
    save,
)
from keyfold.designs.exchange_rates._repository import ExchangeRates
from keyfold.designs.exchange_rates._roles import publisher, reader

__all__ = [
    "ISO_4217",
    "Currency",
    "ExchangeRates",
    "Rate",
    "by_base",
    "delete",
    "get",
    "get_by_base",
    "get_stale",
    "make_examples",
    "mark_stale",
    "publisher",
    "reader",
    "save",
    "table",
]
