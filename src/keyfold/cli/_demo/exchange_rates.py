"""Exchange rates of thirty currencies: most current, some flagged as stale, some expired."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from itertools import permutations

from keyfold.cli._demo.data_set import DataGenerator, DataSet
from keyfold.designs import exchange_rates
from keyfold.designs.exchange_rates import Rate
from keyfold.errors import NotFound

# The approximate value of one unit in US dollars.
_WORTH = {
    "AUD": "0.66", "BRL": "0.18", "CAD": "0.73", "CHF": "1.24", "CLP": "0.00105",
    "CNY": "0.14", "CZK": "0.047", "DKK": "0.156", "EUR": "1.17", "GBP": "1.35",
    "HKD": "0.128", "HUF": "0.0029", "IDR": "0.000061", "ILS": "0.3", "INR": "0.0114",
    "JPY": "0.0067", "KRW": "0.00072", "MXN": "0.054", "MYR": "0.237", "NOK": "0.1",
    "NZD": "0.59", "PHP": "0.0175", "PLN": "0.275", "RON": "0.23", "SEK": "0.106",
    "SGD": "0.78", "THB": "0.031", "TRY": "0.024", "USD": "1", "ZAR": "0.057",
}  # fmt: skip
# Pairs that the cases use: neither stale nor expired.
_FRESH = {("USD", "EUR"), ("USD", "GBP"), ("EUR", "GBP")}
_EXPIRED = ("USD", "TRY")
_DAY = timedelta(days=1)


def make_data_set(generator: DataGenerator) -> DataSet:
    """Return the rates, and the results that the patterns must return."""
    data = DataSet(exchange_rates.table, generator.now, lambda rate: rate.expires)
    data.load(_make_rates(generator))
    _expect_reads(data)
    _expect_writes(data)
    return data


def _make_rates(generator: DataGenerator) -> list[Rate]:
    rates: list[Rate] = []
    for base, target in permutations(_WORTH, 2):
        exact = Decimal(_WORTH[base]) / Decimal(_WORTH[target])
        # The cases fix the state of the pairs they use; that of the others is random.
        is_fresh = (base, target) in _FRESH
        has_expired = (base, target) == _EXPIRED or (not is_fresh and generator.happens(0.1))
        rates.append(
            Rate(
                base=base,
                target=target,
                rate=Decimal(f"{exact:.6g}"),
                at=generator.ago(_DAY),
                stale=not is_fresh and generator.happens(0.05),
                expires=generator.expired() if has_expired else generator.ahead(_DAY),
            )
        )
    return rates


def _expect_reads(data: DataSet) -> None:
    live = {(rate.base, rate.target): rate for rate in data.find(Rate)}
    gone = {(rate.base, rate.target): rate for rate in data.find_expired(Rate)}
    data.expect(exchange_rates.get, live["USD", "EUR"], base="USD", target="EUR")
    data.expect(exchange_rates.get, None, base="USD", target="TRY")
    of_dollars = [rate for rate in live.values() if rate.base == "USD"]
    data.expect_in_any_order(exchange_rates.get_by_base, of_dollars, base="USD")
    stale = gone["USD", "TRY"].model_copy(update={"stale": True})
    data.expect(exchange_rates.get_stale, stale, base="USD", target="TRY")
    data.expect(exchange_rates.get_stale, live["USD", "EUR"], base="USD", target="EUR")


def _expect_writes(data: DataSet) -> None:
    live = {(rate.base, rate.target): rate for rate in data.find(Rate)}
    given = live["USD", "EUR"].model_copy(
        update={"rate": Decimal("0.85"), "at": data.now, "expires": None}
    )
    saved = given.model_copy(update={"expires": data.now + _DAY})
    data.expect(exchange_rates.save, saved, rate=given, ttl=_DAY)
    data.put(saved)
    data.expect(exchange_rates.get, saved, base="USD", target="EUR")
    flagged = live["USD", "GBP"].model_copy(update={"stale": True})
    data.expect(exchange_rates.mark_stale, flagged, base="USD", target="GBP")
    data.expect(exchange_rates.mark_stale, NotFound, base="USD", target="TRY")
    data.put(flagged)
    removed = live["EUR", "GBP"]
    data.expect(exchange_rates.delete, removed, base="EUR", target="GBP")
    data.expect(exchange_rates.delete, None, base="EUR", target="GBP")
    data.drop(removed)
