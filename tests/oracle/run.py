"""Compare the engine with DynamoDB Local on random tables, items and requests.

    make oracle ARGS="--seed 7 --count 2000"
    make oracle ARGS="--minutes 10"

A mismatch is shrunk, as far as possible, to the table, the writes and the one request that show
it, and printed as requests that can be sent again. Known differences, with their sources, are in
`differences.json`; `docs/internals/oracle.md` explains them.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from tests.endpoints.dynamodb_local import NAME, LocalUnavailable
from tests.oracle.compare import KnownDifferences
from tests.oracle.local import DynamoDBLocal
from tests.oracle.pair import EnginePair, Mismatch, script
from tests.oracle.random_requests import Call, random_call
from tests.oracle.random_tables import Table, random_item, random_table, reindexed
from tests.oracle.shrink import shrink

_REQUESTS_PER_ROUND = 40
_FIRST_ITEMS = 8
_REINDEXED = 0.05  # rare: DynamoDB Local takes two seconds for a new index


def main() -> int:
    """Run the comparison; return 1 if there are unknown differences."""
    options = _parse()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    deadline = time.monotonic() + options.minutes * 60 if options.minutes else None
    print(f"comparing with {NAME}, seed {seed}")
    known = KnownDifferences.load()
    requests = rounds = 0
    mismatches: list[Mismatch] = []
    try:
        with DynamoDBLocal() as local:
            while (
                _should_continue(options, requests, deadline)
                and len(mismatches) < options.mismatches
            ):
                sent, mismatch = _run_round(local, known, seed, rounds)
                requests, rounds = requests + sent, rounds + 1
                if mismatch:
                    mismatches.append(mismatch)
                    _print(local, known, mismatch, f"{seed}.{rounds - 1}")
    except LocalUnavailable as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{requests} requests to {rounds} tables: {len(mismatches) or 'no'} unknown differences")
    return 1 if mismatches else 0


def _calls(source: random.Random, table: Table) -> list[Call]:
    """Return the calls of a round: create the table, put the first items, then random requests."""
    calls = [Call("CreateTable", table.request)]
    for _ in range(_FIRST_ITEMS):
        item = random_item(source, table)
        calls.append(Call("PutItem", {"TableName": table.name, "Item": item}))
    change = source.randrange(_REQUESTS_PER_ROUND) if source.random() < _REINDEXED else None
    for number in range(_REQUESTS_PER_ROUND):
        if number == change and table.has_index_attributes:
            table, request = reindexed(source, table)
            calls.append(Call("UpdateTable", request))
            calls.append(Call("DescribeTable", {"TableName": table.name}))
        calls.append(random_call(source, table))
    return calls


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, help="repeats a run")
    parser.add_argument("--count", type=int, default=5_000, help="how many requests (5000)")
    parser.add_argument(
        "--minutes", type=float, help="how long to run, instead of how many requests"
    )
    parser.add_argument("--mismatches", type=int, default=10, help="stop after this many (10)")
    return parser.parse_args()


def _should_continue(options: argparse.Namespace, requests: int, deadline: float | None) -> bool:
    return time.monotonic() < deadline if deadline else requests < options.count


def _run_round(
    local: DynamoDBLocal, known: KnownDifferences, seed: int, number: int
) -> tuple[int, Mismatch | None]:
    source = random.Random(f"{seed}.{number}")
    table = random_table(source, f"table{number}")
    pair = EnginePair(local, f"w{seed}n{number % 50}", known)
    try:
        calls = _calls(source, table)
        for sent, call in enumerate(calls, start=1):
            mismatch = pair.send_to_both(call)
            if mismatch or pair.diverged:
                return sent, mismatch
        return len(calls), None
    finally:
        pair.close()


def _print(local: DynamoDBLocal, known: KnownDifferences, mismatch: Mismatch, label: str) -> None:
    smaller = shrink(local, known, mismatch)
    print(f"\n--- mismatch {label}: {smaller.call.operation}")
    print("\n".join(f"    {line}" for line in smaller.lines))
    print(script(smaller))


if __name__ == "__main__":
    sys.exit(main())
