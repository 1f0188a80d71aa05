"""The cost of a principal's store compared with a plain one, for the same requests.

python -m benchmarks.bench_guard
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import keyfold
from benchmarks._report import Report, describe_machine, make_case_table, make_parser, to_json
from benchmarks._rounds import Row, Stopwatch, Target, take_rounds
from keyfold.designs import market

TARGET = Target(1.10)

_CALLS = 40
_WARM_UP_CALLS = 5
_USERS = 20
_ORDERS = 20
_OWN_USER = "user00"
# The number of things of each user. They are overwritten, so that neither store creates new items.
_THINGS = 20

# Makes a request from a number that differs from call to call.
Make = Callable[[int], Any]


@dataclass(frozen=True, slots=True)
class GuardCase:
    """What is measured: requests of one kind, on the plain store and on a principal's."""

    row: Row
    make: Make
    stores: dict[str, keyfold.Store]


def main() -> None:
    """Measure, and print a table or JSON."""
    options = make_parser("bench_guard", __doc__, rounds=200).parse_args()
    print(f"{options.rounds} rounds", file=sys.stderr)
    with _open_cases() as cases:
        _measure(cases, options.rounds)
    rows = [case.row for case in cases]
    columns = {"role": "role", "name": "request", "plain": "plain µs", "guarded": "guarded µs"}
    tables = [make_case_table(rows, columns, "guarded / plain")]
    data = {"cases": [to_json(row) for row in rows]}
    Report("bench_guard", describe_machine(), tables, data).publish(options)


@contextmanager
def _open_cases() -> Generator[list[GuardCase]]:
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
            GuardCase(
                Row({"role": role, "name": name}, ("guarded", "plain"), TARGET),
                make,
                {"plain": store, "guarded": guarded},
            )
            for role, guarded, requests in roles
            for name, make in requests
        ]
        for case in cases:
            plain, guarded = (each.run(case.make(7)) for each in case.stores.values())
            assert plain == guarded, case.row.labels
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


def _measure(cases: list[GuardCase], rounds: int) -> None:
    source = random.Random(1)
    for number in take_rounds(rounds):
        for case in cases:
            draws = [source.randrange(1_000_000) for _ in range(_WARM_UP_CALLS + _CALLS)]
            timers = {name: _timer(store, case.make, draws) for name, store in case.stores.items()}
            case.row.measure(number, timers)


def _timer(store: keyfold.Store, make: Make, draws: list[int]) -> Callable[[Stopwatch], float]:
    """Return a function that times calls, including making their requests."""
    run = store.run
    return lambda stopwatch: stopwatch.time_calls(lambda n: run(make(n)), draws, _WARM_UP_CALLS)


if __name__ == "__main__":
    main()
