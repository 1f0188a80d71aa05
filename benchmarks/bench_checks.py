"""The cost of writes that an engine checks against a declaration, compared with plain ones.

python -m benchmarks.bench_checks
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import orjson

from benchmarks._report import Report, describe_machine, make_case_table, make_parser, to_json
from benchmarks._rounds import Row, Stopwatch, take_rounds
from keyfold import Entity, Key, Table, part
from keyfold.designs import market
from keyfold.engine import Engine
from keyfold.store import make_write_checks
from keyfold.store._guards import guard_item
from keyfold.values import Item

_CALLS = 40
_WARM_UP_CALLS = 5
# Items are overwritten, so that the tables do not grow.
_ITEMS = 200

clubs = Table("Clubs", key=Key("pk"))


class Member(Entity, table=clubs, key="MEMBER#{name}", unique="email"):
    """A member with a unique value."""

    name: str = part()
    email: str


# Returns the body of a request from a number that differs from call to call.
Make = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class WriteCase:
    """What is measured: writes of one kind, on an engine without checks and on one with them."""

    row: Row
    operation: str
    make: Make
    engines: dict[str, Engine]


def main() -> None:
    """Measure, and print a table or JSON."""
    options = make_parser("bench_checks", __doc__, rounds=200).parse_args()
    print(f"{options.rounds} rounds", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="keyfold-bench-") as folder:
        with _open_cases(Path(folder)) as cases:
            _measure(cases, options.rounds)
        rows = [case.row for case in cases]
    columns = {"storage": "storage", "name": "write", "plain": "plain µs", "checked": "checked µs"}
    tables = [make_case_table(rows, columns, "checked / plain")]
    data = {"cases": [to_json(row) for row in rows]}
    Report("bench_checks", describe_machine(), tables, data).publish(options)


@contextmanager
def _open_cases(folder: Path) -> Generator[list[WriteCase]]:
    """Open an engine of each kind, in memory and in a file, and yield what is measured on them."""
    with ExitStack() as opened:
        cases: list[WriteCase] = []
        for storage in ("memory", "file"):
            engines: dict[str, Engine] = {}
            for kind, declared in (("plain", []), ("checked", [market.table, clubs])):
                path = ":memory:" if storage == "memory" else str(folder / f"{kind}.db")
                engine = Engine.open(
                    path,
                    durability=None if storage == "memory" else "process",
                    write_checks=make_write_checks(declared),
                )
                engines[kind] = opened.enter_context(engine)
                for table in (market.table, clubs):
                    engine.execute("CreateTable", table.to_dynamodb())
            for name, operation, make in _make_writes():
                row = Row({"storage": storage, "name": name}, ("checked", "plain"))
                for engine, number in ((each, n) for each in engines.values() for n in range(50)):
                    engine.execute_json(operation, make(number))
                cases.append(WriteCase(row, operation, make, engines))
        yield cases


def _to_item(entity: Entity) -> Item:
    return type(entity).keyfold_schema().encode(entity)


def _order(number: int) -> Item:
    order = market.OrderId(f"O#{number % _ITEMS:026}")
    return _to_item(market.Order(user="ada", order=order, total=Decimal(number)))


def _home(number: int) -> Item:
    place = number % _ITEMS + 1
    return _to_item(
        market.Address(user="ada", number=place, street=f"{number}", city="Odesa", country="UA")
    )


def _put(number: int) -> bytes:
    return orjson.dumps({"TableName": "Market", "Item": _home(number)})


def _put_if(number: int) -> bytes:
    condition = "attribute_not_exists(pk) OR attribute_exists(pk)"
    request = {"TableName": "Market", "Item": _order(number), "ConditionExpression": condition}
    return orjson.dumps(request)


def _update(number: int) -> bytes:
    item = _home(number % 50)
    return orjson.dumps(
        {
            "TableName": "Market",
            "Key": {name: item[name] for name in ("pk", "sk")},
            "UpdateExpression": "SET city = :c, street = :s, country = :k",
            "ExpressionAttributeValues": {
                ":c": {"S": f"City {number}"},
                ":s": {"S": "x" * 20},
                ":k": {"S": "UA"},
            },
        }
    )


def _batch(number: int) -> bytes:
    requests = [{"PutRequest": {"Item": _order(number + each)}} for each in range(25)]
    return orjson.dumps({"RequestItems": {"Market": requests}})


def _transaction(number: int) -> bytes:
    members = [{"Put": {"TableName": "Market", "Item": _order(number + each)}} for each in range(4)]
    return orjson.dumps({"TransactItems": members})


def _unique(number: int) -> bytes:
    member = Member(name=f"n{number % _ITEMS}", email=f"{number % _ITEMS}@example.com")
    item = {**_to_item(member), "number": {"N": str(number)}}
    guard = guard_item(clubs, "Member.email", item["email"], {"pk": item["pk"]})
    members = [{"Put": {"TableName": "Clubs", "Item": each}} for each in (item, guard)]
    return orjson.dumps({"TransactItems": members})


def _make_writes() -> list[tuple[str, str, Make]]:
    return [
        ("put", "PutItem", _put),
        ("conditional put", "PutItem", _put_if),
        ("update", "UpdateItem", _update),
        ("batch of 25", "BatchWriteItem", _batch),
        ("transaction of 4", "TransactWriteItems", _transaction),
        ("unique value and guard", "TransactWriteItems", _unique),
    ]


def _measure(cases: list[WriteCase], rounds: int) -> None:
    source = random.Random(1)
    for number in take_rounds(rounds):
        for case in cases:
            draws = [source.randrange(1_000_000) for _ in range(_WARM_UP_CALLS + _CALLS)]
            timers = {name: _timer(engine, case, draws) for name, engine in case.engines.items()}
            case.row.measure(number, timers)


def _timer(engine: Engine, case: WriteCase, draws: list[int]) -> Callable[[Stopwatch], float]:
    """Return a function that times writes, from the JSON of the request to that of the response."""
    execute, operation = engine.execute_json, case.operation
    bodies = [case.make(draw) for draw in draws]
    return lambda stopwatch: stopwatch.time_calls(
        lambda body: execute(operation, body), bodies, _WARM_UP_CALLS
    )


if __name__ == "__main__":
    main()
