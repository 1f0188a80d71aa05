"""The repository of the design document."""

from __future__ import annotations

from datetime import timedelta

from keyfold import Page, Store
from keyfold.designs.exchange_rates._items import Currency, Rate
from keyfold.designs.exchange_rates._patterns import (
    delete,
    get,
    get_by_base,
    get_stale,
    mark_stale,
    save,
)


class ExchangeRates:
    """The repository of the design document: its operations, run by a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, base: Currency, target: Currency) -> Rate | None:
        """Return the rate of one pair; None once it has expired."""
        return self._store.run(get(base, target))

    def get_by_base(self, base: Currency, *, cursor: str | None = None) -> Page[Rate]:
        """Return a page of the rates of one base currency; `cursor` continues after a page."""
        return self._store.run(get_by_base(base).after(cursor))

    def save(self, rate: Rate, ttl: timedelta) -> Rate:
        """Store a rate that expires after `ttl`; return it with its expiry."""
        return self._store.run(save(rate, ttl))

    def delete(self, base: Currency, target: Currency) -> None:
        """Delete the rate of one pair, if there is one."""
        self._store.run(delete(base, target))

    def get_stale(self, base: Currency, target: Currency) -> Rate | None:
        """Return the rate while it is still stored: stale if flagged as stale or expired."""
        return self._store.run(get_stale(base, target))

    def mark_stale(self, base: Currency, target: Currency) -> Rate:
        """Flag the rate of one pair as stale; raises NotFound if there is none, or it has expired."""
        return self._store.run(mark_stale(base, target))
