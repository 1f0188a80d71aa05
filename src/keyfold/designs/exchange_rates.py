"""Exchange rates that expire, found by pair and by base currency.

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

import re
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
    Mapped,
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

_CODE = "[A-Z]{3}"


def _drop_fraction(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)


Currency = Annotated[str, StringConstraints(pattern=f"^{_CODE}$")]
# The table holds whole seconds, so that is what a rate has before it is stored, too.
_WholeSeconds = Annotated[UnixTime, AfterValidator(_drop_fraction)]

by_base = Index("BaseCurrencyIndex", key=Key("Base"))
table = Table("ExchangeRates", key=Key("PK"), indexes=[by_base], ttl="ttl")


class Rate(Entity, table=table, key="RATE#{base}#{target}"):
    """What one unit of `base` costs in `target`, since when, and until when that may be used."""

    base: Currency = attr("Base")
    target: Currency = attr("Target")
    rate: Decimal = attr("Rate", gt=0)
    at: _WholeSeconds = attr("Timestamp")
    stale: bool = attr("Stale", default=False)
    expires: Expiry | None = attr("ttl", default=None)

    def seen_at(self, moment: datetime) -> Self:
        """Return the rate as it is then: stale if it is flagged so, or has expired."""
        if self.stale or self.expires is None or moment < self.expires:
            return self
        return self.model_copy(update={"stale": True})


# The access patterns, by the names that the document gives them.


@table.pattern("Get")
def get(base: Currency, target: Currency) -> Get[Rate]:
    """The rate of one pair, with its flag as stored; None once it has expired."""
    _check_codes(base, target)
    return Rate.get(base=base, target=target)


@table.pattern("GetByBase")
def get_by_base(base: Currency) -> Query[Rate]:
    """Every rate of one base currency that has not expired, in no particular order."""
    _check_codes(base)
    return Rate.query(by_base, base=base)


@table.pattern("Save", example={"ttl": timedelta(days=1)})
def save(rate: Rate, ttl: timedelta) -> Put[Rate]:
    """Store a rate in place of the pair's former one, to expire `ttl` after it has run."""
    if ttl <= timedelta():
        raise ValueInvalid(f"ttl {ttl}", "a rate lasts for some time", "Give more than nothing.")
    return rate.put().expiring_in(ttl)


@table.pattern("Delete")
def delete(base: Currency, target: Currency) -> Delete[Rate]:
    """Remove the rate of one pair; none there is no error."""
    _check_codes(base, target)
    return Rate.delete(base=base, target=target)


@table.pattern("GetStale")
def get_stale(base: Currency, target: Currency) -> Mapped[Rate | None]:
    """The rate of one pair as long as it is stored: stale if it is flagged, or has expired."""
    _check_codes(base, target)
    stored = Rate.get(base=base, target=target).include_expired()
    return stored.map(lambda rate, now: None if rate is None else rate.seen_at(now))


@table.pattern("MarkStale")
def mark_stale(base: Currency, target: Currency) -> Update[Rate]:
    """Flag the rate of one pair as stale; raises NotFound without one that has not expired."""
    _check_codes(base, target)
    return Rate.update(base=base, target=target).set(Rate.f.stale, True)  # noqa: FBT003 - the flag itself


def _check_codes(*codes: object) -> None:
    # Whatever is no text stands for a code in an explanation, or is refused by the key.
    for code in codes:
        if isinstance(code, str) and re.fullmatch(_CODE, code) is None:
            fact = "a currency code is three capital letters"
            raise ValueInvalid(f"currency {code!r:.80}", fact, "Give one such as 'USD'.")


class ExchangeRates:
    """The document's repository: its operations, run on a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, base: Currency, target: Currency) -> Rate | None:
        """Return the rate of one pair; None once it has expired."""
        return self._store.run(get(base, target))

    def get_by_base(self, base: Currency, *, cursor: str | None = None) -> Page[Rate]:
        """Return rates of one base currency; the page's cursor goes on."""
        return self._store.run(get_by_base(base).after(cursor))

    def save(self, rate: Rate, ttl: timedelta) -> Rate:
        """Store a rate for as long as `ttl`; return it with its expiry."""
        return self._store.run(save(rate, ttl))

    def delete(self, base: Currency, target: Currency) -> None:
        """Remove the rate of one pair, if there is one."""
        self._store.run(delete(base, target))

    def get_stale(self, base: Currency, target: Currency) -> Rate | None:
        """Return the rate that is still stored; it is stale if it is flagged, or has expired."""
        return self._store.run(get_stale(base, target))

    def mark_stale(self, base: Currency, target: Currency) -> Rate:
        """Flag the rate of one pair as stale; raises NotFound without one."""
        return self._store.run(mark_stale(base, target))
