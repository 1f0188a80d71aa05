"""Streams: the contents of records, their retention, and how shards split and end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from keyfold.engine import Engine
from keyfold.engine.streams.shards import SHARD_SECONDS
from keyfold.errors import (
    ExpiredIteratorException,
    OptionInvalid,
    ResourceNotFoundException,
    TrimmedDataAccessException,
    ValidationException,
)
from tests.unit.engine.clocks import Clock
from tests.unit.engine.storage.tables import CREATE, TABLE, add, put
from tests.unit.engine.stream_reading import (
    get_iterator,
    list_shards,
    open_shards,
    read_on,
    read_stream,
)

DAY = 86_400
QUARTER = 15 * 60
OFF = {"StreamEnabled": False}


def on(view: str = "NEW_AND_OLD_IMAGES") -> dict[str, Any]:
    return {"StreamEnabled": True, "StreamViewType": view}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    with Engine.open(
        ":memory:", clock=clock, upkeep_seconds=None, shard_records=8, expiry_grace=0
    ) as engine:
        engine.execute("CreateTable", {**CREATE, "StreamSpecification": on()})
        yield engine
        assert engine.verify() == []


def arn_of(engine: Engine) -> str:
    return engine.execute("DescribeTable", {"TableName": TABLE})["Table"]["LatestStreamArn"]


def first_shard(engine: Engine) -> str:
    return list_shards(engine, arn_of(engine))[0]["ShardId"]


def switch(engine: Engine, stream: dict[str, Any]) -> None:
    engine.execute("UpdateTable", {"TableName": TABLE, "StreamSpecification": stream})


def key_names(records: list[dict[str, Any]]) -> list[str]:
    """Return the key of each record's item."""
    return [record["dynamodb"]["Keys"]["pk"]["S"] for record in records]


def test_a_record_has_the_event_its_time_and_its_region(engine: Engine, clock: Clock) -> None:
    clock.let_pass(0.75)
    put(engine, "one", b={"B": b"raw"}, n={"N": "12"})
    (record,) = read_stream(engine, arn_of(engine))
    assert record == {
        "eventID": record["eventID"],
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_700_000_000.0,
            "Keys": {"pk": {"S": "one"}},
            "NewImage": {"pk": {"S": "one"}, "b": {"B": b"raw"}, "n": {"N": "12"}},
            "SequenceNumber": "100000000000000000004",
            # The key, then the item: pk and "one", b and three bytes, n and two.
            "SizeBytes": 5 + (5 + 4 + 3),
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
    }
    assert len(record["eventID"]) == 32


def test_binaries_are_base64_in_json(engine: Engine) -> None:
    put(engine, "one", b={"B": b"raw"})
    iterator = get_iterator(engine, arn_of(engine), first_shard(engine))
    answer = engine.execute_json("GetRecords", orjson.dumps({"ShardIterator": iterator}))
    (record,) = orjson.loads(answer)["Records"]
    assert record["dynamodb"]["NewImage"]["b"] == {"B": "cmF3"}


def test_a_record_has_the_same_id_for_every_reader(engine: Engine) -> None:
    for _ in range(5):
        add(engine, "one")
    ids = [record["eventID"] for record in read_stream(engine, arn_of(engine))]
    assert len(set(ids)) == 5
    assert ids == [record["eventID"] for record in read_stream(engine, arn_of(engine), limit=1)]


def test_expired_items_are_recorded_as_removed_by_the_service(engine: Engine, clock: Clock) -> None:
    specification = {"AttributeName": "ttl", "Enabled": True}
    engine.execute(
        "UpdateTimeToLive", {"TableName": TABLE, "TimeToLiveSpecification": specification}
    )
    put(engine, "one", ttl={"N": str(int(clock.now))})
    put(engine, "two")
    engine.execute("DeleteItem", {"TableName": TABLE, "Key": {"pk": {"S": "two"}}})
    clock.let_pass(5)
    engine.run_upkeep()
    records = list(read_stream(engine, arn_of(engine)))
    assert [(each["eventName"], each.get("userIdentity")) for each in records] == [
        ("INSERT", None),
        ("INSERT", None),
        ("REMOVE", None),
        ("REMOVE", {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}),
    ]


def test_a_page_has_a_megabyte_at_most_and_one_more_record(engine: Engine) -> None:
    for name in "abcdef":
        put(engine, name, text={"S": "x" * 300_000})
    iterator = get_iterator(engine, arn_of(engine), first_shard(engine))
    answer = engine.execute("GetRecords", {"ShardIterator": iterator})
    assert key_names(answer["Records"]) == ["a", "b", "c", "d"]
    records, _ = read_on(engine, answer["NextShardIterator"])
    assert key_names(records) == ["e", "f"]


def test_each_iterator_type_starts_at_its_position(engine: Engine, clock: Clock) -> None:
    arn, shard = arn_of(engine), first_shard(engine)
    for name in "abcd":
        clock.let_pass(10)
        put(engine, name)
    numbers = [each["dynamodb"]["SequenceNumber"] for each in read_stream(engine, arn)]
    assert sorted(numbers) == numbers

    def read(kind: str, **more: Any) -> list[str]:
        return key_names(read_on(engine, get_iterator(engine, arn, shard, kind, **more))[0])

    assert read("TRIM_HORIZON") == ["a", "b", "c", "d"]
    assert read("LATEST") == []
    assert read("AT_SEQUENCE_NUMBER", SequenceNumber=numbers[1]) == ["b", "c", "d"]
    assert read("AFTER_SEQUENCE_NUMBER", SequenceNumber=numbers[1]) == ["c", "d"]
    assert read("AFTER_SEQUENCE_NUMBER", SequenceNumber=numbers[3]) == []
    start = clock.now - 40
    assert read("AT_TIMESTAMP", Timestamp=start) == ["a", "b", "c", "d"]
    assert read("AT_TIMESTAMP", Timestamp=start + 20) == ["b", "c", "d"]
    assert read("AT_TIMESTAMP", Timestamp=start + 20.001) == ["c", "d"]
    assert read("AT_TIMESTAMP", Timestamp=start + 40) == ["d"]


def test_a_latest_iterator_reads_what_comes_after_it(engine: Engine) -> None:
    arn = arn_of(engine)
    put(engine, "before")
    iterator = get_iterator(engine, arn, first_shard(engine), "LATEST")
    put(engine, "after")
    records, place = read_on(engine, iterator)
    assert key_names(records) == ["after"]
    put(engine, "later")
    assert place is not None
    assert key_names(read_on(engine, place)[0]) == ["later"]


@pytest.mark.parametrize("change", [-1, 10])
def test_a_sequence_number_outside_the_shard_is_refused(engine: Engine, change: int) -> None:
    put(engine, "one")
    shard = list_shards(engine, arn_of(engine))[0]
    number = int(shard["SequenceNumberRange"]["StartingSequenceNumber"]) + change
    with pytest.raises(ValidationException, match="Invalid SequenceNumber"):
        get_iterator(
            engine,
            arn_of(engine),
            shard["ShardId"],
            "AT_SEQUENCE_NUMBER",
            SequenceNumber=str(number),
        )


def test_an_iterator_expires_after_fifteen_minutes(engine: Engine, clock: Clock) -> None:
    iterator = get_iterator(engine, arn_of(engine), first_shard(engine))
    clock.let_pass(QUARTER - 1)
    _, place = read_on(engine, iterator)
    clock.let_pass(1)
    with pytest.raises(ExpiredIteratorException, match="exceeds the maximum age"):
        read_on(engine, iterator)
    assert place is not None
    read_on(engine, place)


def test_a_clock_may_return_whole_seconds() -> None:
    with Engine.open(":memory:", clock=lambda: 1_700_000_000, upkeep_seconds=None) as engine:
        engine.execute("CreateTable", {**CREATE, "StreamSpecification": on()})
        put(engine, "one")
        assert key_names(list(read_stream(engine, arn_of(engine)))) == ["one"]


def test_a_damaged_iterator_is_refused(engine: Engine) -> None:
    iterator = get_iterator(engine, arn_of(engine), first_shard(engine))
    stream, kind, place = iterator.rsplit("|", 2)
    for damaged in (
        f"{stream}|2|{place}",
        f"{stream}|{kind}|{place[:-4]}",
        f"{stream}|{kind}|!",
        f"{stream}|{kind}|W10=",
        f"{stream}|{kind}|WzEsMiwzXQ==",
        f"{stream}|{kind}|WyJhIiwiYiIsMV0=",
        "no place at all",
    ):
        with pytest.raises(ValidationException, match="Invalid ShardIterator"):
            read_on(engine, damaged)
    with pytest.raises(ValidationException, match="Invalid StreamArn"):
        read_on(engine, f"x|{kind}|{place}")


def test_records_are_kept_for_a_day(engine: Engine, clock: Clock) -> None:
    arn = arn_of(engine)
    put(engine, "old")
    clock.let_pass(60)
    put(engine, "young")
    clock.let_pass(DAY - 60 - 1)
    assert key_names(list(read_stream(engine, arn))) == ["old", "young"]
    clock.let_pass(1)
    # With or without upkeep.
    assert key_names(list(read_stream(engine, arn))) == ["young"]
    engine.run_upkeep()
    assert key_names(list(read_stream(engine, arn))) == ["young"]


def test_reading_trimmed_records_is_refused(engine: Engine, clock: Clock) -> None:
    arn, shard = arn_of(engine), first_shard(engine)
    put(engine, "old")
    clock.let_pass(60)
    put(engine, "young")
    (first, second) = [each["dynamodb"]["SequenceNumber"] for each in read_stream(engine, arn)]
    clock.let_pass(DAY - 60 - 1)
    iterator = get_iterator(engine, arn, shard)
    clock.let_pass(1)
    for _ in range(2):
        with pytest.raises(TrimmedDataAccessException, match="has been trimmed"):
            read_on(engine, iterator)
        with pytest.raises(TrimmedDataAccessException, match="has been trimmed"):
            get_iterator(engine, arn, shard, "AT_SEQUENCE_NUMBER", SequenceNumber=first)
        after = get_iterator(engine, arn, shard, "AFTER_SEQUENCE_NUMBER", SequenceNumber=first)
        assert key_names(read_on(engine, after)[0]) == ["young"]
        at = get_iterator(engine, arn, shard, "AT_SEQUENCE_NUMBER", SequenceNumber=second)
        assert key_names(read_on(engine, at)[0]) == ["young"]
        engine.run_upkeep()


def test_trimming_one_shard_does_not_affect_iterators_of_another(
    engine: Engine, clock: Clock
) -> None:
    arn = arn_of(engine)
    for number in range(8):
        put(engine, str(number))
    left, right = open_shards(engine, arn)
    put(engine, "a")
    (busy,) = [
        each["ShardId"]
        for each in (left, right)
        if read_on(engine, get_iterator(engine, arn, each["ShardId"]))[0]
    ]
    (idle,) = {left["ShardId"], right["ShardId"]} - {busy}
    clock.let_pass(DAY - 60)
    iterators = [get_iterator(engine, arn, shard) for shard in (busy, idle)]
    clock.let_pass(60)
    with pytest.raises(TrimmedDataAccessException):
        read_on(engine, iterators[0])
    assert read_on(engine, iterators[1]) == ([], None)


def test_a_shard_with_many_records_is_split(engine: Engine) -> None:
    arn = arn_of(engine)
    for number in range(7):
        put(engine, str(number))
    assert len(list_shards(engine, arn)) == 1
    # The size is not checked at every record, but a few times while a shard fills.
    for number in (7, 8):
        put(engine, str(number))
    parent, *children = list_shards(engine, arn)
    assert [each["ParentShardId"] for each in children] == [parent["ShardId"]] * 2
    assert "EndingSequenceNumber" in parent["SequenceNumberRange"]
    for number in range(9, 16):
        put(engine, str(number))
    assert sorted(key_names(list(read_stream(engine, arn))), key=int) == [str(n) for n in range(16)]
    for child in children:
        assert read_on(engine, get_iterator(engine, arn, child["ShardId"]))[0]


def test_all_changes_of_an_item_are_in_one_lineage_of_shards(engine: Engine) -> None:
    arn = arn_of(engine)
    for _ in range(20):
        for name in "abcdef":
            add(engine, name)
        list_shards(engine, arn)
    assert len(list_shards(engine, arn)) > 10
    seen: dict[str, list[int]] = {}
    for record in read_stream(engine, arn, limit=3):
        image = record["dynamodb"]["NewImage"]
        seen.setdefault(image["pk"]["S"], []).append(int(image["n"]["N"]))
    assert seen == {name: list(range(1, 21)) for name in "abcdef"}


def test_numbers_of_a_child_come_after_those_of_its_parent(engine: Engine) -> None:
    arn = arn_of(engine)
    for number in range(40):
        put(engine, str(number))
        list_shards(engine, arn)
    shards = {each["ShardId"]: each["SequenceNumberRange"] for each in list_shards(engine, arn)}
    for shard in list_shards(engine, arn):
        span = shard["SequenceNumberRange"]
        assert span["StartingSequenceNumber"] < span.get("EndingSequenceNumber", "9")
        if "ParentShardId" in shard:
            parent = shards[shard["ParentShardId"]]
            assert parent["EndingSequenceNumber"] < span["StartingSequenceNumber"]
        records, _ = read_on(engine, get_iterator(engine, arn, shard["ShardId"]))
        for record in records:
            number = record["dynamodb"]["SequenceNumber"]
            assert span["StartingSequenceNumber"] <= number
            assert number <= span.get("EndingSequenceNumber", number)


def test_a_shard_with_one_busy_key_is_not_split_forever(engine: Engine) -> None:
    arn = arn_of(engine)
    for _ in range(200):
        add(engine, "one")
        engine.run_upkeep()
    assert len(open_shards(engine, arn)) <= 9
    numbers = [int(each["dynamodb"]["NewImage"]["n"]["N"]) for each in read_stream(engine, arn)]
    assert numbers == list(range(1, 201))


def test_a_shard_is_closed_after_four_hours(engine: Engine, clock: Clock) -> None:
    arn = arn_of(engine)
    put(engine, "one")
    iterator = get_iterator(engine, arn, first_shard(engine))
    clock.let_pass(QUARTER - 1)
    _, place = read_on(engine, iterator)
    assert place is not None
    clock.let_pass(SHARD_SECONDS - QUARTER)
    assert len(list_shards(engine, arn)) == 1
    clock.let_pass(1)
    parent, child = list_shards(engine, arn)
    assert child["ParentShardId"] == parent["ShardId"]
    put(engine, "two")
    records, place = read_on(engine, get_iterator(engine, arn, parent["ShardId"]))
    assert (key_names(records), place) == (["one"], None)
    records, place = read_on(engine, get_iterator(engine, arn, child["ShardId"]))
    assert key_names(records) == ["two"]
    assert place is not None


def test_upkeep_closes_shards_too(engine: Engine, clock: Clock) -> None:
    arn = arn_of(engine)
    iterator = get_iterator(engine, arn, first_shard(engine), "LATEST")
    clock.let_pass(QUARTER - 1)
    _, place = read_on(engine, iterator)
    assert place is not None
    clock.let_pass(SHARD_SECONDS)
    engine.run_upkeep()
    clock.let_pass(-SHARD_SECONDS)
    assert read_on(engine, place) == ([], None)


def test_a_shard_is_removed_a_day_after_it_was_closed(engine: Engine, clock: Clock) -> None:
    arn = arn_of(engine)
    shard = first_shard(engine)
    clock.let_pass(SHARD_SECONDS)
    assert len(list_shards(engine, arn)) == 2
    clock.let_pass(DAY)
    listed = list_shards(engine, arn)
    assert shard not in [each["ShardId"] for each in listed]
    with pytest.raises(ResourceNotFoundException, match="Shard does not exist"):
        get_iterator(engine, arn, shard)
    clock.let_pass(-QUARTER)
    iterator = get_iterator(engine, arn, listed[0]["ShardId"])
    clock.let_pass(QUARTER - 1)
    assert read_on(engine, iterator) == ([], None)


def test_the_children_of_a_shard_can_be_requested(engine: Engine) -> None:
    arn = arn_of(engine)
    for number in range(30):
        put(engine, str(number))
        list_shards(engine, arn)
    shards = list_shards(engine, arn)
    for shard in shards:
        parameters = {"Type": "CHILD_SHARDS", "ShardId": shard["ShardId"]}
        answer = engine.execute("DescribeStream", {"StreamArn": arn, "ShardFilter": parameters})
        assert answer["StreamDescription"]["Shards"] == [
            each for each in shards if each.get("ParentShardId") == shard["ShardId"]
        ]


def test_a_disabled_stream_can_be_read_for_a_day(engine: Engine, clock: Clock) -> None:
    arn = arn_of(engine)
    put(engine, "one")
    switch(engine, OFF)
    put(engine, "two")
    clock.let_pass(DAY - 1)
    assert key_names(list(read_stream(engine, arn))) == ["one"]
    assert open_shards(engine, arn) == []
    clock.let_pass(1)
    with pytest.raises(ResourceNotFoundException, match="not found"):
        list_shards(engine, arn)
    assert engine.execute("ListStreams", {}) == {"Streams": []}
    engine.run_upkeep()
    assert engine._storage.read(lambda reader: reader.list_records("stream")) == []


def test_a_stream_that_is_enabled_again_is_a_new_stream(engine: Engine, clock: Clock) -> None:
    first = arn_of(engine)
    put(engine, "one")
    switch(engine, OFF)
    put(engine, "between")
    switch(engine, on("KEYS_ONLY"))
    second = arn_of(engine)
    put(engine, "two")
    assert second != first
    assert key_names(list(read_stream(engine, first))) == ["one"]
    assert key_names(list(read_stream(engine, second))) == ["two"]
    listed = engine.execute("ListStreams", {"TableName": TABLE})["Streams"]
    assert [each["StreamArn"] for each in listed] == [first, second]


def test_a_deleted_tables_stream_can_be_read_for_a_day(engine: Engine, clock: Clock) -> None:
    arn = arn_of(engine)
    put(engine, "one")
    engine.execute("DeleteTable", {"TableName": TABLE})
    clock.let_pass(60)
    engine.execute("CreateTable", {**CREATE, "StreamSpecification": on()})
    put(engine, "other")
    clock.let_pass(DAY - 61)
    engine.run_upkeep()
    assert key_names(list(read_stream(engine, arn))) == ["one"]
    clock.let_pass(1)
    with pytest.raises(ResourceNotFoundException):
        list_shards(engine, arn)
    assert key_names(list(read_stream(engine, arn_of(engine)))) == ["other"]


def test_streams_are_listed_by_table_and_age(engine: Engine) -> None:
    for name in ("Things.more", "Things-more", "Thing"):
        engine.execute("CreateTable", {**CREATE, "TableName": name, "StreamSpecification": on()})
    found: list[str] = []
    request: dict[str, Any] = {"Limit": 1}
    while True:
        answer = engine.execute("ListStreams", request)
        found += [each["TableName"] for each in answer["Streams"]]
        if "LastEvaluatedStreamArn" not in answer:
            break
        request["ExclusiveStartStreamArn"] = answer["LastEvaluatedStreamArn"]
    assert found == ["Thing", TABLE, "Things-more", "Things.more"]


def test_an_iterator_can_be_used_by_another_process(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    # Upkeep might close the shard halfway through the test.
    options: dict[str, Any] = {"shard_records": 4, "upkeep_seconds": None}
    with Engine.open(path, **options) as one, Engine.open(path, **options) as other:
        one.execute("CreateTable", {**CREATE, "StreamSpecification": on()})
        arn = arn_of(one)
        iterator = get_iterator(one, arn, first_shard(one))
        for name in "abcdefgh":
            put(other, name)
        records, place = read_on(other, iterator, limit=3)
        assert sorted(key_names(list(read_stream(one, arn)))) == list("abcdefgh")
        assert key_names(records) == list("abcdefgh")
        assert place is None
        assert len(list_shards(other, arn)) == 3
        assert one.verify() == []


@pytest.mark.parametrize("number", [0, -1, 1.5, "8", True])
def test_an_invalid_shard_size_is_refused(number: Any) -> None:
    with pytest.raises(OptionInvalid, match="shard_records"):
        Engine.open(":memory:", shard_records=number)
