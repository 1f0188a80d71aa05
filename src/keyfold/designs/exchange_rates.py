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

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Self

from pydantic import AfterValidator, StringConstraints

from keyfold import (
    Delete,
    Entity,
    Expiry,
    Get,
    Index,
    Key,
    Page,
    Put,
    Query,
    Store,
    Table,
    UnixTime,
    Update,
    attr,
)
from keyfold.errors import ValueInvalid
from keyfold.requests import Mapped

__all__ = [
    "Currency",
    "ExchangeRates",
    "Rate",
    "by_base",
    "delete",
    "get",
    "get_by_base",
    "get_stale",
    "mark_stale",
    "save",
    "table",
]


def _drop_fraction(time: datetime) -> datetime:
    return time.replace(microsecond=0)


Currency = Annotated[str, StringConstraints(pattern="^[A-Z]{3}$")]
# The table stores whole seconds. Dropping fractions on validation makes a rate equal to itself
# after it was stored and read.
_WholeSeconds = Annotated[UnixTime, AfterValidator(_drop_fraction)]

by_base = Index("BaseCurrencyIndex", key=Key("Base"))
table = Table("ExchangeRates", key=Key("PK"), indexes=[by_base], ttl="ttl")


class Rate(Entity, table=table, key="RATE#{base}#{target}"):
    """The price of one unit of `base` in `target`, with the time of the quote and its expiry."""

    base: Currency = attr("Base")
    target: Currency = attr("Target")
    rate: Decimal = attr("Rate", gt=0)
    at: _WholeSeconds = attr("Timestamp")
    stale: bool = attr("Stale", default=False)
    expires: Expiry | None = attr("ttl", default=None)

    def seen_at(self, time: datetime) -> Self:
        """Return the rate as of `time`: stale if it is flagged as stale or has expired by then."""
        if self.stale or self.expires is None or time < self.expires:
            return self
        return self.model_copy(update={"stale": True})


# The access patterns, named as in the design document.


@table.pattern("Get")
def get(base: Currency, target: Currency) -> Get[Rate]:
    """Get the rate of one currency pair; None once it has expired."""
    return Rate.get(base=base, target=target)


@table.pattern("GetByBase")
def get_by_base(base: Currency) -> Query[Rate]:
    """Query all rates of one base currency that have not expired, in no particular order."""
    return Rate.query(by_base, base=base)


@table.pattern("Save", example={"ttl": timedelta(days=1)})
def save(rate: Rate, ttl: timedelta) -> Put[Rate]:
    """Upsert the rate of a pair; it expires `ttl` after the request runs."""
    if ttl <= timedelta():
        raise ValueInvalid(f"ttl {ttl}", "it must be positive", "Pass a longer time.")
    return rate.put().expiring_in(ttl)


@table.pattern("Delete")
def delete(base: Currency, target: Currency) -> Delete[Rate]:
    """Delete the rate of one pair; does nothing if there is none."""
    return Rate.delete(base=base, target=target)


@table.pattern("GetStale")
def get_stale(base: Currency, target: Currency) -> Mapped[Rate | None]:
    """Get the rate of one pair while it is still stored: stale if flagged as stale or expired."""
    stored = Rate.get(base=base, target=target).include_expired()
    return stored.map(lambda rate, now: None if rate is None else rate.seen_at(now))


@table.pattern("MarkStale")
def mark_stale(base: Currency, target: Currency) -> Update[Rate]:
    """Flag the rate of one pair as stale; raises NotFound if there is none, or it has expired."""
    return Rate.update(base=base, target=target).set(Rate.f.stale, True)  # noqa: FBT003 - the flag itself


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
