"""The table of exchange rates, and its entity."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Self

from pydantic import AfterValidator

from keyfold import Entity, Expiry, Index, Key, Table, UnixTime, attr
from keyfold.designs.exchange_rates._currencies import check_currency


def _drop_fraction(time: datetime) -> datetime:
    return time.replace(microsecond=0)


# A code of ISO 4217, or a private one.
Currency = Annotated[str, AfterValidator(check_currency)]
# The table stores whole seconds. Dropping fractions on validation makes a rate equal to itself
# after it was stored and read.
_WholeSeconds = Annotated[UnixTime, AfterValidator(_drop_fraction)]

by_base = Index("BaseCurrencyIndex", key=Key("Base"))
table = Table("ExchangeRates", key=Key("PK"), indexes=[by_base], ttl="ttl")


class Rate(Entity, table=table, key="RATE#{base}#{target}", checks_key=True):
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
