"""What calls of a pattern cost in a month, and where the money goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keyfold.analysis import PatternProfile
from keyfold.analysis.cost import Prices, read_prices
from keyfold.studio._bodies import StudioBody
from keyfold.studio.rooms._pattern_steps import OF_EACH, RequestStep

_MILLION = 1_000_000
# A share of the cost that is worth a sentence.
_LARGE_SHARE = 0.3
_MOST_CALLS = 1e15
_MOST_UNITS = 1e9


@dataclass(frozen=True, slots=True)
class CallCost:
    """A call of a pattern, with the units that it consumed."""

    operation: str
    index: str | None
    is_read: bool
    units: float


def read_spent(body: StudioBody) -> tuple[CallCost, ...]:
    """Return the calls of a run, as the browser has them from its response."""
    found: list[CallCost] = []
    for each in body.sequence("spent"):
        given = StudioBody(each)
        units = given.number("units", least=0, most=_MOST_UNITS, default=0)
        index = given.optional_text("index")
        found.append(CallCost(given.text("operation"), index, given.flag("read"), units))
    return tuple(found)


def list_profiled(profile: PatternProfile) -> tuple[CallCost, ...]:
    """Return the calls of the most telling run of a profile."""
    return tuple(
        CallCost(each.operation, each.index, each.is_read, each.units) for each in profile.calls
    )


def show_cost(
    body: StudioBody, profile: PatternProfile | None, steps: Sequence[RequestStep]
) -> dict[str, Any]:
    """Return what a number of calls costs in a month: by a run, or by the profile on examples."""
    spent = read_spent(body)
    known = profile if profile is not None and profile.problem is None else None
    source: str | None = "run" if spent else None
    if spent:
        read = sum(each.units for each in spent if each.is_read)
        write = sum(each.units for each in spent if not each.is_read)
    elif known is not None:
        source, spent = "examples", list_profiled(known)
        read, write = known.read_units, known.write_units
    else:
        read = write = 0.0
    calls = body.number("calls", least=0, most=_MOST_CALLS, default=_MILLION)
    prices = read_prices()
    rates = prices.standard
    return {
        "source": source,
        "problem": None if source else _explain_unknown(profile),
        "units": {"read": read, "write": write},
        "calls": calls,
        "usd": price_calls(prices, calls, read, write),
        "prices": {
            "mode": "on demand",
            "region": prices.region,
            "date": prices.date,
            "read": rates.million_read_requests,
            "write": rates.million_write_requests,
        },
        "sentence": describe_cost(prices, spent, steps, known) if source else None,
    }


def _explain_unknown(profile: PatternProfile | None) -> str:
    if profile is None or profile.problem is None:
        return "Run it once to know its units."
    return f"It could not run on the table's examples: {profile.problem}"


def price_calls(prices: Prices, calls: float, read: float, write: float) -> float:
    """Return what calls with these units cost on demand, in US dollars."""
    rates = prices.standard
    one = read * rates.million_read_requests + write * rates.million_write_requests
    return calls * one / _MILLION


def describe_cost(
    prices: Prices,
    spent: Sequence[CallCost],
    steps: Sequence[RequestStep],
    profile: PatternProfile | None = None,
) -> str | None:
    """Return one sentence about where the money goes; None if there is nothing to tell."""
    spent = _merge(spent)
    costs = [
        price_calls(prices, 1, each.units if each.is_read else 0, 0 if each.is_read else each.units)
        for each in spent
    ]
    whole = sum(costs)
    if not whole:
        return None
    if any(each.operation == "Scan" for each in spent):
        return "It reads the whole table or index, so it costs more with every item stored."
    entries = None if profile is None else _describe_entries(prices, profile)
    if entries is not None:
        return entries
    if len(spent) == 1:
        return None
    top = max(range(len(spent)), key=lambda place: costs[place])
    lookup = _find_lookup(spent, steps)
    if lookup is not None and costs[lookup] / whole >= _LARGE_SHARE:
        handed = [name for each in steps if each.level for name in each.handed]
        share = _say_share(costs[lookup] / whole)
        skipped = f"; a caller that knows {_join(handed)} can skip it"
        if any(name.endswith(OF_EACH) for name in handed):
            # Nobody knows the keys of a whole list.
            skipped = ""
        return f"{share} of it is the lookup in {spent[lookup].index}{skipped}."
    return f"{_say_share(costs[top] / whole)} of it is {_name_call(spent[top])}."


def _merge(spent: Sequence[CallCost]) -> tuple[CallCost, ...]:
    """Return calls with those of the same kind as one: the pages of a query."""
    units: dict[tuple[str, str | None, bool], float] = {}
    for each in spent:
        kind = (each.operation, each.index, each.is_read)
        units[kind] = units.get(kind, 0.0) + each.units
    return tuple(CallCost(*kind, found) for kind, found in units.items())


def _describe_entries(prices: Prices, profile: PatternProfile) -> str | None:
    """Return what index entries cost, if that is a large share of a pattern's writes on the examples."""
    entries: dict[str, float] = {}
    for call in profile.calls:
        if not call.is_read:
            for name, units in call.index_units.items():
                entries[name] = entries.get(name, 0.0) + units
    whole = price_calls(prices, 1, profile.read_units, profile.write_units)
    share = price_calls(prices, 1, 0, sum(entries.values())) / whole if whole else 0.0
    if share < _LARGE_SHARE:
        return None
    names = _join([name for name, units in entries.items() if units])
    return f"{_say_share(min(share, 1.0))} of it is entries in {names}."


def _name_call(call: CallCost) -> str:
    if call.operation.startswith("Transact"):
        return "the transaction"
    return f"the {call.operation} on {call.index or 'the table'}"


def _find_lookup(spent: Sequence[CallCost], steps: Sequence[RequestStep]) -> int | None:
    """Return the place of a query of an index whose result only says which items to read."""
    if len(steps) < 2 or not steps[-1].handed:  # noqa: PLR2004 - a lookup, and a read after it
        return None
    return next((place for place, each in enumerate(spent) if each.index is not None), None)


def _say_share(share: float) -> str:
    """Return a share in words.

    >>> _say_share(0.5), _say_share(0.34), _say_share(0.75), _say_share(0.6)
    ('Half', 'A third', 'Three quarters', '60 %')
    """
    for text, value in (("Half", 0.5), ("A third", 1 / 3), ("Two thirds", 2 / 3)):
        if abs(share - value) <= 0.02:  # noqa: PLR2004 - two per cent
            return text
    if abs(share - 0.75) <= 0.02:  # noqa: PLR2004 - two per cent
        return "Three quarters"
    return "Nearly all" if share > 0.9 else f"{share:.0%}".replace("%", " %")  # noqa: PLR2004 - the last tenth


def _join(names: Sequence[str]) -> str:
    unique = list(dict.fromkeys(names))
    if len(unique) < 2:  # noqa: PLR2004 - nothing to join
        return "".join(unique)
    return f"{', '.join(unique[:-1])} and {unique[-1]}"
