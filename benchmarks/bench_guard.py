"""The cost of a principal's store compared with a plain one, for the same requests.

python -m benchmarks.bench_guard
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from statistics import median, quantiles
from time import perf_counter_ns
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

import keyfold
from benchmarks._readme import WIDTH, describe_machine, write_readme
from keyfold.designs import market

TARGET = 1.10

_CALLS = 40
_WARM_UP_CALLS = 5
_USERS = 20
_ORDERS = 20
_OWN_USER = "user00"
# So many things of each user are overwritten repeatedly, so that neither store creates new items.
_THINGS = 20

# Makes a request from a number that differs from call to call.
Make = Callable[[int], Any]


@dataclass(slots=True)
class Result:
    """One case of one role: the median microseconds of a call in each round, plain and guarded."""

    role: str
    name: str
    plain: list[float] = field(default_factory=list[float])
    guarded: list[float] = field(default_factory=list[float])

    @property
    def ratio(self) -> float:
        """How many times as long a guarded call takes."""
        return median(self.guarded) / median(self.plain)

    @property
    def ratio_quartiles(self) -> tuple[float, float]:
        """The quartiles of the ratios of single rounds."""
        pairs = zip(self.plain, self.guarded, strict=True)
        low, _, high = quantiles([guarded / plain for plain, guarded in pairs], n=4)
        return low, high

    @property
    def is_met(self) -> bool:
        """Whether a guarded call costs at most a tenth more."""
        return self.ratio <= TARGET


@dataclass(frozen=True, slots=True)
class Case:
    """What is measured: requests of one kind, on the plain store and on a principal's."""

    role: str
    name: str
    make: Make
    plain: keyfold.Store
    guarded: keyfold.Store


def main() -> None:
    """Measure, and print a table or JSON."""
    options = _parse_options()
    Console(stderr=True).print(f"{options.rounds} rounds", style="dim")
    with _open_cases() as cases:
        results = _measure(cases, options.rounds)
    if options.json:
        print(json.dumps(_to_json(results), indent=2))
    else:
        _show(Console(width=None if sys.stdout.isatty() else WIDTH), results)
    if options.write_readme:
        write_readme("bench_guard", lambda console: _show(console, results))


@contextmanager
def _open_cases() -> Generator[list[Case]]:
    """Fill the market in memory, and yield the cases that are measured on it."""
    with keyfold.open(market.table, ":memory:", upkeep_seconds=None) as store:
        for user in map(_any_user, range(_USERS)):
            store.run(market.User(user=user, name=user).create())
            for _ in range(_ORDERS):
                order = market.OrderId.new()
                store.run(market.Order(user=user, order=order, total=Decimal("9.99")).create())
            for number in range(_THINGS):
                store.run(
                    keyfold.transaction(_home(user, number).put(), _order(user, number).put())
                )
        customer = store.as_principal("customer", user=_OWN_USER)
        fulfilment = store.as_principal("fulfilment")
        roles = (
            ("customer", customer, _make_requests(_own_user, _home)),
            ("fulfilment", fulfilment, _make_requests(_any_user, _order)),
        )
        cases = [
            Case(role, name, make, store, guarded)
            for role, guarded, requests in roles
            for name, make in requests
        ]
        for case in cases:
            assert case.plain.run(case.make(7)) == case.guarded.run(case.make(7)), case.name
        yield cases


# A customer uses one user's partitions, which are known beforehand; fulfilment uses everybody's.


def _own_user(number: int) -> str:  # noqa: ARG001 - one signature for both
    return _OWN_USER


def _any_user(number: int) -> str:
    return f"user{number % _USERS:02}"


def _home(user: str, number: int) -> Any:
    """Return an entity that a customer may write."""
    place = number % _THINGS + 1
    return market.Address(user=user, number=place, street="x" * 20, city="Odesa", country="UA")


def _order(user: str, number: int) -> Any:
    """Return an entity that fulfilment may write."""
    order = market.OrderId(f"O#{number % _THINGS:026}")
    return market.Order(user=f"{user}-new", order=order, total=Decimal(number))


def _make_requests(
    user_of: Callable[[int], str], thing: Callable[[str, int], Any]
) -> list[tuple[str, Make]]:
    def make_puts(number: int) -> Any:
        user = user_of(number)
        return keyfold.transaction(*(thing(user, number + each).put() for each in range(4)))

    return [
        ("get", lambda number: market.User.get(user=user_of(number))),
        ("put", lambda number: thing(user_of(number), number).put()),
        ("query of 20", lambda number: market.Order.query(user=user_of(number))),
        ("transaction of 4", make_puts),
    ]


def _measure(cases: list[Case], rounds: int) -> list[Result]:
    results = [Result(case.role, case.name) for case in cases]
    source = random.Random(1)
    gc.disable()
    try:
        for number in range(rounds):
            gc.collect()
            for case, result in zip(cases, results, strict=True):
                draws = [source.randrange(1_000_000) for _ in range(_WARM_UP_CALLS + _CALLS)]
                stores = [(case.plain, result.plain), (case.guarded, result.guarded)]
                # In turn, so that other load on the machine affects both equally.
                for store, taken in stores if number % 2 else stores[::-1]:
                    taken.append(_time(store, case.make, draws))
    finally:
        gc.enable()
    return results


def _time(store: keyfold.Store, make: Make, draws: list[int]) -> float:
    """Return the median microseconds of one call, including making its request."""
    run, taken = store.run, list[int]()
    for each in draws:
        start = perf_counter_ns()
        run(make(each))
        taken.append(perf_counter_ns() - start)
    return median(taken[_WARM_UP_CALLS:]) / 1_000


def _to_json(results: list[Result]) -> dict[str, Any]:
    return {
        "machine": describe_machine(),
        "cases": [
            {
                "role": result.role,
                "name": result.name,
                "plain_us": round(median(result.plain), 1),
                "guarded_us": round(median(result.guarded), 1),
                "ratio": round(result.ratio, 3),
                "ratio_quartiles": [round(each, 3) for each in result.ratio_quartiles],
                "rounds": len(result.plain),
                "target": TARGET,
                "is_met": result.is_met,
            }
            for result in results
        ],
    }


def _show(console: Console, results: list[Result]) -> None:
    for name, value in describe_machine().items():
        console.print(f"- {name}: {value}", highlight=False)
    table = Table(box=box.MARKDOWN)
    for column in ("role", "request"):
        table.add_column(column, header_style="", no_wrap=True)
    for column in ("plain µs", "guarded µs", "ratio", "middle half", "target", ""):
        table.add_column(column, justify="right", header_style="", no_wrap=True)
    for result in results:
        low, high = result.ratio_quartiles
        table.add_row(
            result.role,
            result.name,
            f"{median(result.plain):,.1f}",
            f"{median(result.guarded):,.1f}",
            f"{result.ratio:.3f}",
            f"{low:.3f} to {high:.3f}",
            f"{TARGET:.2f}",
            "[green]met[/]" if result.is_met else "[red]missed[/]",
        )
    console.print()
    console.print(table)


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench_guard", description=__doc__)
    parser.add_argument(
        "--rounds",
        type=int,
        default=200,
        help="how often each case is measured (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write-readme", action="store_true", help="put the table into README.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
