"""Replaying a table's stream into an empty table gives the same table, however it was written."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.engine import Engine
from keyfold.errors import ConditionalCheckFailedException, TransactionCanceledException
from tests.property.stream_consumer import Consumer, Item, read_table
from tests.unit.engine.clocks import Clock

TABLE = "Followed"
KEYS = [(pk, sk) for pk in "abcde" for sk in "xyz"]
WRITES = 120

CREATE: dict[str, Any] = {
    "TableName": TABLE,
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "holder")
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-holder",
            "KeySchema": [{"AttributeName": "holder", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
FOLLOWED = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
TTL = {"AttributeName": "ttl", "Enabled": True}


def create(engine: Engine) -> None:
    engine.execute("CreateTable", {**CREATE, "StreamSpecification": FOLLOWED})
    engine.execute("UpdateTimeToLive", {"TableName": TABLE, "TimeToLiveSpecification": TTL})


def key(place: int) -> Item:
    pk, sk = KEYS[place % len(KEYS)]
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def item(place: int, value: int, ttl: int | None = None) -> Item:
    # Some items are in the index, and move in it.
    more: Item = {"holder": {"S": str(value % 3)}} if value % 2 else {}
    if ttl is not None:
        more["ttl"] = {"N": str(ttl)}
    return {**key(place), "n": {"N": str(value)}, "tags": {"SS": ["a", f"b{value}"]}, **more}


def check_copy(engine: Engine, copy: Engine) -> None:
    assert read_table(copy, TABLE) == read_table(engine, TABLE)
    assert engine.verify() == []


places = st.integers(0, len(KEYS) - 1)
values = st.integers(0, 3)
steps = st.one_of(
    st.tuples(st.just("put"), places, values),
    st.tuples(st.just("put in another order"), places, values),
    st.tuples(st.just("put if absent"), places, values),
    st.tuples(st.just("put and ask"), places, values),
    st.tuples(st.just("expiring"), places, values),
    st.tuples(st.just("add"), places, values),
    st.tuples(st.just("remove"), places, values),
    st.tuples(st.just("delete"), places, values),
    st.tuples(st.just("batch"), places, values),
    st.tuples(st.just("transact"), places, values),
    st.tuples(st.just("pass"), places, st.sampled_from([0, 1, 60, 5 * 3_600])),
    st.tuples(st.just("upkeep"), places, values),
    st.tuples(st.just("read"), places, values),
)


def take_step(engine: Engine, clock: Clock, kind: str, place: int, value: int) -> None:
    about = {"TableName": TABLE}
    match kind:
        case "put":
            engine.execute("PutItem", {**about, "Item": item(place, value)})
        case "put in another order":
            engine.execute("PutItem", {**about, "Item": in_another_order(item(place, value))})
        case "put if absent":
            condition = "attribute_not_exists(pk)"
            engine.execute(
                "PutItem", {**about, "Item": item(place, value), "ConditionExpression": condition}
            )
        case "put and ask":
            engine.execute(
                "PutItem", {**about, "Item": item(place, value), "ReturnValues": "ALL_OLD"}
            )
        case "expiring":
            ttl = int(clock.now) + value
            engine.execute("PutItem", {**about, "Item": item(place, value, ttl)})
        case "add":
            engine.execute("UpdateItem", {**about, **add_to(place, value)})
        case "remove":
            engine.execute(
                "UpdateItem", {**about, "Key": key(place), "UpdateExpression": "REMOVE holder"}
            )
        case "delete":
            engine.execute("DeleteItem", {**about, "Key": key(place)})
        case "batch":
            puts = [{"PutRequest": {"Item": item(place + each, value)}} for each in range(3)]
            gone = {"DeleteRequest": {"Key": key(place + 3)}}
            engine.execute("BatchWriteItem", {"RequestItems": {TABLE: [*puts, gone]}})
        case "transact":
            engine.execute("TransactWriteItems", {"TransactItems": members(place, value)})
        case "pass":
            clock.let_pass(value)
        case _:
            engine.run_upkeep()


def in_another_order(of: Item) -> Item:
    """Return an equal item: neither attributes nor sets have an order."""
    return {**dict(reversed(of.items())), "tags": {"SS": of["tags"]["SS"][::-1]}}


def add_to(place: int, value: int) -> dict[str, Any]:
    return {
        "Key": key(place),
        "UpdateExpression": "ADD n :n, tags :t",
        "ExpressionAttributeValues": {":n": {"N": str(value)}, ":t": {"SS": [f"b{value}"]}},
    }


def members(place: int, value: int) -> list[dict[str, Any]]:
    # Every second transaction is cancelled if the first item exists.
    condition = {"ConditionExpression": "attribute_not_exists(pk)"} if value % 2 else {}
    return [
        {"Put": {"TableName": TABLE, "Item": item(place, value), **condition}},
        {"Delete": {"TableName": TABLE, "Key": key(place + 1)}},
        {"Update": {"TableName": TABLE, **add_to(place + 2, value)}},
    ]


@given(st.lists(steps, max_size=60))
def test_a_replayed_stream_gives_the_same_table(taken: list[tuple[str, int, int]]) -> None:
    clock = Clock()
    with (
        Engine.open(
            ":memory:", clock=clock, shard_records=5, expiry_grace=0, upkeep_seconds=None
        ) as engine,
        Engine.open(":memory:", upkeep_seconds=None) as copy,
    ):
        create(engine)
        copy.execute("CreateTable", CREATE)
        consumer = Consumer(engine, TABLE, copy)
        changes, before = 0, read_table(engine, TABLE)
        for kind, place, value in taken:
            try:
                take_step(engine, clock, kind, place, value)
            except (ConditionalCheckFailedException, TransactionCanceledException):
                continue
            after = read_table(engine, TABLE)
            changes += count_changes(before, after)
            before = after
            if kind in ("read", "pass"):
                # A consumer that is away for a day misses records; this one is not.
                consumer.read_all()
        consumer.read_all()
        check_copy(engine, copy)
        assert len(consumer.records) == changes


def count_changes(before: list[Item], after: list[Item]) -> int:
    """Count the items that differ; the order of set members does not matter."""

    def by_key(items: list[Item]) -> dict[tuple[str, str], Any]:
        return {
            (each["pk"]["S"], each["sk"]["S"]): {
                name: {"SS": sorted(value["SS"])} if "SS" in value else value
                for name, value in each.items()
            }
            for each in items
        }

    old, new = by_key(before), by_key(after)
    return sum(old.get(place) != new.get(place) for place in old.keys() | new.keys())


@pytest.mark.parametrize("where", ["memory", "file"])
def test_a_stream_is_followed_while_many_write(tmp_path: Path, where: str) -> None:
    path = ":memory:" if where == "memory" else tmp_path / "followed.db"
    durability = None if where == "memory" else "process"
    clock = Clock()
    with (
        Engine.open(
            path,
            durability=durability,
            clock=clock,
            shard_records=40,
            expiry_grace=0,
            upkeep_seconds=0.005,
        ) as engine,
        Engine.open(":memory:", upkeep_seconds=None) as copy,
    ):
        create(engine)
        copy.execute("CreateTable", CREATE)
        consumer = Consumer(engine, TABLE, copy)
        _run_threads([lambda seed=seed: _write(engine, clock, seed) for seed in range(4)], consumer)
        _fill_shards(engine, clock)
        take_step(engine, clock, "expiring", 0, 0)
        clock.let_pass(1)
        engine.run_upkeep()
        consumer.read_all()
        check_copy(engine, copy)
        expired = [record for record in consumer.records if "userIdentity" in record]
        assert expired
        assert all(record["eventName"] == "REMOVE" for record in expired)
        assert consumer.shards > 5


def test_a_stream_is_followed_by_one_engine_while_others_write_the_file(tmp_path: Path) -> None:
    path, clock = tmp_path / "followed.db", Clock()
    options: dict[str, Any] = {
        "durability": "process",
        "clock": clock,
        "shard_records": 40,
        "expiry_grace": 0,
        "upkeep_seconds": 0.005,
        "busy_seconds": 60.0,
    }
    with (
        Engine.open(path, **options) as one,
        Engine.open(path, **options) as other,
        Engine.open(path, **options) as reader,
        Engine.open(":memory:", upkeep_seconds=None) as copy,
    ):
        create(one)
        copy.execute("CreateTable", CREATE)
        consumer = Consumer(reader, TABLE, copy)
        writers = [
            lambda engine=engine, seed=seed: _write(engine, clock, seed)
            for seed, engine in enumerate((one, other))
        ]
        _run_threads(writers, consumer)
        _fill_shards(reader, clock)
        consumer.read_all()
        check_copy(other, copy)
        assert consumer.shards > 5


def _write(engine: Engine, clock: Clock, seed: int) -> None:
    chance = random.Random(seed)
    kinds = [
        "put",
        "put in another order",
        "put if absent",
        "put and ask",
        "expiring",
        "add",
        "delete",
        "batch",
    ]
    kinds += ["remove", "transact", "transact", "pass"]
    for _ in range(WRITES):
        kind, place = chance.choice(kinds), chance.randrange(len(KEYS))
        value = 1 if kind == "pass" else chance.randrange(3 if kind == "expiring" else 50)
        try:
            take_step(engine, clock, kind, place, value)
        except (ConditionalCheckFailedException, TransactionCanceledException):
            continue


def _fill_shards(engine: Engine, clock: Clock) -> None:
    """Write enough for several shards; how often upkeep ran between the threads is random."""
    for seed in range(3):
        _write(engine, clock, seed)
        engine.run_upkeep()


def _run_threads(works: list[Callable[[], None]], consumer: Consumer) -> None:
    """Run all work at once while the consumer reads."""
    failures: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again in the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        consumer.read_some(limit=7)
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
