"""The cost of the model and the store, compared with PynamoDB and pydantic with boto3's converters.

python -m benchmarks.bench_store
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from importlib.util import find_spec

from benchmarks._orders import Draw
from benchmarks._report import (
    Report,
    describe_machine,
    make_case_table,
    make_parser,
    to_json,
)
from benchmarks._rounds import Stopwatch, take_rounds
from benchmarks._store_contestants import ITEMS, StoreCase, StoreContestant, open_cases

_CALLS = 25
_WARM_UP_CALLS = 5
_LIBRARY = {
    "name": "µs",
    "keyfold engine": "engine",
    "keyfold": "keyfold",
    "typed": "typed keys",
    "pynamodb": "PynamoDB",
    "pydantic": "pydantic, boto3",
}
_REQUESTS = {"name": "request", "sent": "as sent µs", "plain": "plain µs"}


def main() -> None:
    """Measure, and print tables or JSON."""
    options = make_parser("bench_store", __doc__, rounds=100).parse_args()
    if find_spec("pynamodb") is None or find_spec("boto3") is None:
        sys.exit("bench_store: PynamoDB is not installed. `make bench` installs it.")
    print(f"{options.rounds} rounds", file=sys.stderr)
    with open_cases() as (cases, requests):
        _measure([*cases, *requests], options.rounds)
    rows, sent = ([case.row for case in each] for each in (cases, requests))
    title = "The engine's part: requests as they are sent, and the plainest that do the same"
    tables = [
        make_case_table(rows, _LIBRARY, "PynamoDB / keyfold", "The library's part"),
        make_case_table(sent, _REQUESTS, "as sent / plain", title),
    ]
    facts = describe_machine("pydantic", "pynamodb", "boto3", "apsw", "orjson")
    data = {"cases": [to_json(row) for row in (*rows, *sent)]}
    Report("bench_store", facts, tables, data).publish(options)


def _measure(cases: list[StoreCase], rounds: int) -> None:
    source = random.Random(1)
    for number in take_rounds(rounds):
        for case in cases:
            draws = [Draw(source.randrange(ITEMS), number) for _ in range(_WARM_UP_CALLS + _CALLS)]
            timers: dict[str, Callable[[Stopwatch], float]] = {}
            for name, contestant in case.contestants.items():
                timers[name] = _timer(contestant, draws)
                if name in case.pairs:
                    timers[f"{name} engine"] = _timer(case.pairs[name], draws)
            measured = case.row.measure(number, timers)
            # The engine's share is shown by itself.
            for name in case.pairs:
                measured[name] -= measured[f"{name} engine"]


def _timer(contestant: StoreContestant, draws: list[Draw]) -> Callable[[Stopwatch], float]:
    """Return a function that times a contestant; what it is given is made right before."""

    def time(stopwatch: Stopwatch) -> float:
        given = [contestant.prepare(draw) for draw in draws]
        return stopwatch.time_calls(contestant.call, given, _WARM_UP_CALLS)

    return time


if __name__ == "__main__":
    main()
