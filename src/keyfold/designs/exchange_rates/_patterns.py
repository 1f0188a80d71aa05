"""The access patterns of the exchange rates, named as in the design document."""

from __future__ import annotations

from datetime import timedelta

from keyfold import Delete, Get, Put, Query, Update
from keyfold.designs.exchange_rates._items import Currency, Rate, by_base, table
from keyfold.errors import ValueInvalid
from keyfold.requests import Mapped


@table.pattern("Get")
def get(base: Currency, target: Currency) -> Get[Rate]:
    """Get the rate of one currency pair; None once it has expired."""
    return Rate.get(base=base, target=target)


@table.pattern("GetByBase")
def get_by_base(base: Currency) -> Query[Rate]:
    """Query all rates of one base currency that have not expired, in no particular order.

    The index may lag behind a write: right after `Save`, it may have the previous rate.
    """
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


@table.pattern("GetStale", lint_ignore={"S06": "it returns stale rates, flagged as such"})
def get_stale(base: Currency, target: Currency) -> Mapped[Rate | None]:
    """Get the rate of one pair while it is still stored: stale if flagged as stale or expired."""
    stored = Rate.get(base=base, target=target).include_expired()
    return stored.map(lambda rate, now: None if rate is None else rate.seen_at(now))


@table.pattern("MarkStale")
def mark_stale(base: Currency, target: Currency) -> Update[Rate]:
    """Flag the rate of one pair as stale; raises NotFound if there is none, or it has expired."""
    return Rate.update(base=base, target=target).set(Rate.f.stale, True)  # noqa: FBT003 - the flag itself
