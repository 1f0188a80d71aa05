"""What hostile requests cost: counted in events of the interpreter, never in seconds.

Each attack is made at two sizes, one of them four times the other. What grows with the size of the
request may cost four times as much; what was quadratic cost sixteen times as much.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import orjson
import pytest

from keyfold.engine import Engine
from keyfold.errors import ServiceError
from keyfold.expressions import conditions
from keyfold.expressions.comparison import are_equal
from keyfold.expressions.legacy import bind_attribute_updates

TABLE: dict[str, Any] = {
    "TableName": "Things",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
# What is linear may grow by four, and a little more.
LINEAR = 5.0
# The longest answer that an error may be, whatever was sent.
LONGEST_ERROR = 200_000


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", TABLE)
        yield engine


def key(number: int = 0) -> dict[str, Any]:
    return {"pk": {"S": "a"}, "sk": {"N": str(number)}}


def count_events(work: Callable[[], object]) -> int:
    """Return how many Python and C functions `work` calls."""
    count = 0

    def note(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def refusal(engine: Engine, operation: str, request: dict[str, Any]) -> ServiceError:
    """Return the error of a request that is refused."""
    with pytest.raises(ServiceError) as caught:
        engine.execute_json(operation, orjson.dumps(request))
    return caught.value


def growth(engine: Engine, make: Callable[[int], tuple[str, dict[str, Any]]], size: int) -> float:
    """Return how much more a request of four times the size costs; it may be refused."""

    def run(number: int) -> int:
        operation, request = make(number)
        body = orjson.dumps(request)

        def work() -> None:
            with contextlib.suppress(ServiceError):
                engine.execute_json(operation, body)

        return count_events(work)

    run(1)  # what is done once
    return run(size * 4) / run(size)


GET = {"Get": {"TableName": "Things", "Key": key()}}
PUT = {"PutRequest": {"Item": key()}}

QUOTING: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "a transaction of too many reads": (
        "TransactGetItems",
        lambda count: {"TransactItems": [GET] * count},
    ),
    "a transaction of nothing": (
        "TransactWriteItems",
        lambda count: {"TransactItems": [{}] * count},
    ),
    "a batch of too many writes": (
        "BatchWriteItem",
        lambda count: {"RequestItems": {"Things": [PUT] * count}},
    ),
    "a set with duplicates": (
        "PutItem",
        lambda count: {"TableName": "Things", "Item": {**key(), "s": {"SS": ["x"] * count}}},
    ),
    "placeholders that are not used": (
        "Query",
        lambda count: {
            "TableName": "Things",
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {
                ":p": {"S": "a"},
                **{f":v{number}": {"S": ""} for number in range(count)},
            },
        },
    ),
    "a long name of a table": ("DescribeTable", lambda count: {"TableName": "x" * count}),
    "a long name in a map": (
        "BatchWriteItem",
        lambda count: {"RequestItems": {"x" * count: [{"PutRequest": {}}]}},
    ),
}


@pytest.mark.parametrize("attack", QUOTING)
def test_an_error_quotes_a_bounded_part_of_the_request(engine: Engine, attack: str) -> None:
    operation, make = QUOTING[attack]
    error = refusal(engine, operation, make(60_000))
    assert len(str(error)) < LONGEST_ERROR


@pytest.mark.parametrize("attack", QUOTING)
def test_a_refusal_costs_no_more_than_its_size(engine: Engine, attack: str) -> None:
    operation, make = QUOTING[attack]
    assert growth(engine, lambda count: (operation, make(count)), 1_000) < LINEAR


def put_list(engine: Engine, count: int, number: int = 0) -> None:
    item = {**key(number), "l": {"L": [{"SS": ["x"]}] * count}}
    engine.execute("PutItem", {"TableName": "Things", "Item": item})


def query(**more: Any) -> tuple[str, dict[str, Any]]:
    values = {":p": {"S": "a"}, **more.pop("values", {})}
    return "Query", {
        "TableName": "Things",
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": values,
        **more,
    }


def many_contains(form: str) -> Callable[[int], tuple[str, dict[str, Any]]]:
    def make(count: int) -> tuple[str, dict[str, Any]]:
        return query(
            FilterExpression=" OR ".join([form] * count),
            values={":v": {"SS": ["y"]}, ":l": {"L": [{"S": "x"}] * 2_000}},
        )

    return make


@pytest.mark.parametrize("form", ["contains(l, :v) OR a = :l", "contains(:l, a) OR a = :v"])
def test_many_contains_cost_no_more_than_one_walk_of_the_list(engine: Engine, form: str) -> None:
    """60 of them over long lists took 7.8 seconds."""
    put_list(engine, 2_000)
    few, many = (
        count_events(lambda count=count: engine.execute(*many_contains(form)(count)))
        for count in (10, 70)
    )
    # Each one is bound and evaluated; none walks the list by itself.
    assert many < few + 20_000


UPDATES = {
    "appended lists": "a{0} = list_append(l, l)",
    "copied lists": "a{0} = l",
}


@pytest.mark.parametrize("attack", UPDATES)
def test_an_update_stops_when_the_item_is_too_large(engine: Engine, attack: str) -> None:
    """40 `list_append` took 7.3 seconds."""
    put_list(engine, 100_000)

    def update(count: int) -> int:
        request = {
            "TableName": "Things",
            "Key": key(),
            "UpdateExpression": "SET "
            + ", ".join(UPDATES[attack].format(number) for number in range(count)),
        }
        return count_events(lambda: refusal(engine, "UpdateItem", request))

    assert update(60) < 2.0 * update(15)


LARGE: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "attribute updates": (
        "UpdateItem",
        lambda count: {
            "TableName": "Things",
            "Key": key(),
            "AttributeUpdates": {
                f"attribute{number}": {"Value": {"S": "x" * 10}} for number in range(count)
            },
        },
    ),
    "a long list": (
        "PutItem",
        lambda count: {"TableName": "Things", "Item": {**key(), "l": {"L": [{"S": ""}] * count}}},
    ),
    "many expected attributes": (
        "PutItem",
        lambda count: {
            "TableName": "Things",
            "Item": key(),
            "Expected": {f"a{number}": {"Exists": False} for number in range(count)},
        },
    ),
    "a transaction of large puts": (
        "TransactWriteItems",
        lambda count: {
            "TransactItems": [
                {
                    "Put": {
                        "TableName": "Things",
                        "Item": {**key(number), "l": {"L": [{"N": "1"}] * (count // 50)}},
                    }
                }
                for number in range(100)
            ]
        },
    ),
}


@pytest.mark.parametrize("attack", LARGE)
def test_a_large_request_costs_no_more_than_its_size(engine: Engine, attack: str) -> None:
    operation, make = LARGE[attack]
    assert growth(engine, lambda count: (operation, make(count)), 2_000) < LINEAR


def bind_refused(updates: dict[str, Any]) -> None:
    with contextlib.suppress(ServiceError):
        bind_attribute_updates(updates)
        pytest.fail("the updates are too large")


def test_attribute_updates_beyond_an_item_are_not_translated(engine: Engine) -> None:
    """13 MB of them took 5.6 seconds."""
    operation, make = LARGE["attribute updates"]
    refusal(engine, operation, make(30_000))
    updates = [make(count)["AttributeUpdates"] for count in (20_000, 40_000)]
    fewer, more = (count_events(lambda each=each: bind_refused(each)) for each in updates)
    # A few calls differ: the garbage collector has some of its own.
    assert more < 1.01 * fewer


def test_a_batch_is_answered_with_a_bounded_part(engine: Engine) -> None:
    """16 MB of items may be 150 MB of JSON."""
    for number in range(30):
        item = {**key(number), "l": {"L": [{"S": ""}] * 390_000}}
        engine.execute("PutItem", {"TableName": "Things", "Item": item})
    keys = {"Things": {"Keys": [key(number) for number in range(30)]}}
    answer = orjson.dumps(engine.execute_parsed("BatchGetItem", {"RequestItems": keys}))
    assert len(answer) < 40 << 20
    response = orjson.loads(answer)
    left = response["UnprocessedKeys"]["Things"]["Keys"]
    assert len(response["Responses"]["Things"]) + len(left) == 30


def test_rows_of_long_items_are_not_read_beyond_their_page(engine: Engine) -> None:
    for number in range(20):
        engine.execute(
            "PutItem", {"TableName": "Things", "Item": {**key(number), "t": {"S": "x" * 300_000}}}
        )
    view = engine._storage._view
    rows: list[int] = []

    def trace(_: Any, row: Any) -> Any:
        rows.append(1)
        return row

    request = {
        "TableName": "Things",
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": "a"}},
    }
    connection: Any = view._connection
    connection.row_trace = trace
    for _ in range(2):
        rows.clear()
        page = engine.execute("Query", request)
        assert len(page["Items"]) == 4
    assert 4 <= len(rows) <= 8, "only the first query of such a table reads more than its page"


@pytest.mark.parametrize(
    "condition",
    [
        " OR ".join(["l = :v"] * 140),
        " OR ".join(["NOT l <> :v"] * 90),
        " OR ".join(["l IN (:v, :v, :v)"] * 140),
        f"l IN ({', '.join([':v'] * 100)})",
    ],
    ids=["=", "<>", "IN", "one IN"],
)
def test_a_repeated_comparison_is_made_once(
    engine: Engine, condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[int] = []

    def count(left: Any, right: Any) -> bool:
        compared.append(1)
        return are_equal(left, right)

    monkeypatch.setattr(conditions, "are_equal", count)
    stored = {"L": [{"SS": ["a", "b"]}, {"N": "1"}]}
    engine.execute("PutItem", {"TableName": "Things", "Item": {**key(), "l": stored}})
    request: dict[str, Any] = {
        "TableName": "Things",
        "Key": key(),
        "UpdateExpression": "SET n = :n",
        "ConditionExpression": condition,
        "ExpressionAttributeValues": {
            ":v": {"L": [{"SS": ["b", "a"]}, {"N": "2"}]},
            ":n": {"N": "1"},
        },
    }
    assert refusal(engine, "UpdateItem", request).type == "ConditionalCheckFailedException"
    assert 0 < len(compared) <= 20
    compared.clear()
    request["ExpressionAttributeValues"][":v"] = {"L": [{"SS": ["b", "a"]}, {"N": "1"}]}
    engine.execute("UpdateItem", request)
    assert 0 < len(compared) <= 20


def test_a_repeated_comparison_is_made_for_each_item(engine: Engine) -> None:
    for number in range(3):
        engine.execute(
            "PutItem",
            {"TableName": "Things", "Item": {**key(number), "s": {"SS": [str(number), "x"]}}},
        )
    for number in range(3):
        page = engine.execute(
            "Scan",
            {
                "TableName": "Things",
                "FilterExpression": " OR ".join(["s = :v"] * 50),
                "ExpressionAttributeValues": {":v": {"SS": ["x", str(number)]}},
            },
        )
        assert [item["sk"]["N"] for item in page["Items"]] == [str(number)]


def test_elements_that_an_update_repeats_are_measured_once(engine: Engine) -> None:
    def update(changes: int) -> int:
        appends = ", ".join(f"a{number} = list_append(l, l)" for number in range(changes))
        body = orjson.dumps(
            {"TableName": "Things", "Key": key(), "UpdateExpression": f"SET {appends}"}
        )

        def run() -> None:
            with contextlib.suppress(ServiceError):
                engine.execute_json("UpdateItem", body)

        return count_events(run)

    numbers = [{"N": str(number)} for number in range(10_000)]
    engine.execute("PutItem", {"TableName": "Things", "Item": {**key(), "l": {"L": numbers}}})
    # Forty of them make more than an item may have: both stop where that is certain.
    assert update(40) < 1.5 * update(9)
    assert update(40) < 40 * len(numbers)
