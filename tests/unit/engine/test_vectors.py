"""Vector indexes and searches, checked against plain Python."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.engine import Engine
from keyfold.engine.vectors.float32 import as_float32, float32_text
from keyfold.errors import (
    LimitExceededException,
    ResourceNotFoundException,
    ValidationException,
)
from tests.unit.engine.vectors import INDEX, SEARCHED, TABLE, create, ids, numbers, put, search


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        yield engine
        assert engine.verify() == []


# Numbers that DynamoDB and 32-bit floats represent precisely enough to compare.
_COORDINATES = st.floats(-1_000, 1_000, width=32).map(lambda value: round(value, 3))
_VECTORS = st.tuples(_COORDINATES, _COORDINATES, _COORDINATES)


def _f32(values: tuple[float, ...]) -> tuple[float, ...]:
    return struct.unpack(f"{len(values)}f", struct.pack(f"{len(values)}f", *values))


def _reference(function: str, one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Return the distance by its definition, in the precision of the index."""
    one, other = _f32(one), _f32(other)
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    if function == "DOT_PRODUCT":
        return dot
    if function == "EUCLIDEAN":
        return math.sqrt(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)))
    lengths = math.sqrt(sum(a * a for a in one)) * math.sqrt(sum(b * b for b in other))
    return 1 - dot / lengths if lengths else 1.0


@pytest.mark.parametrize("function", ["COSINE", "DOT_PRODUCT", "EUCLIDEAN"])
@given(
    vectors=st.lists(_VECTORS, max_size=12),
    wanted=_VECTORS,
    top=st.integers(1, 15),
    shops=st.lists(st.sampled_from("ab"), min_size=12, max_size=12),
)
def test_a_search_finds_what_plain_python_finds(
    function: str,
    vectors: list[tuple[float, ...]],
    wanted: tuple[float, ...],
    top: int,
    shops: list[str],
) -> None:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", create({**SEARCHED, "DistanceFunction": function}))
        for place, vector in enumerate(vectors):
            put(engine, str(place), *vector, shop={"S": shops[place]})
        found = search(
            engine,
            *wanted,
            top=top,
            SearchConditionExpression="shop = :s",
            ExpressionAttributeValues={":s": {"S": "a"}},
        )
    distances = [
        _reference(function, wanted, vector)
        for vector, shop in zip(vectors, shops, strict=False)
        if shop == "a"
    ]
    expected = sorted(distances, reverse=function == "DOT_PRODUCT")[:top]
    scores = [result["Score"] for result in found]
    assert scores == pytest.approx(expected, rel=1e-6, abs=1e-6)
    for result in found:
        own = vectors[int(result["Item"]["id"]["S"])]
        assert result["Score"] == pytest.approx(
            _reference(function, wanted, own), rel=1e-6, abs=1e-6
        )


def test_magnitude_matters_to_some_distances_only(engine: Engine) -> None:
    """The service's documentation compares [10, 0, 0] with a search for [1, 0, 0]."""
    functions = ("COSINE", "EUCLIDEAN", "DOT_PRODUCT")
    indexes = [{**INDEX, "IndexName": each, "DistanceFunction": each} for each in functions]
    engine.execute("CreateTable", create(*indexes))
    put(engine, "far", 10, 0, 0)
    put(engine, "aslant", 1, 1, 0)
    scores = {
        function: {
            result["Item"]["id"]["S"]: result["Score"]
            for result in search(engine, 1, 0, 0, IndexName=function)
        }
        for function in functions
    }
    assert scores["COSINE"]["far"] == 0.0
    assert scores["EUCLIDEAN"] == {"aslant": 1.0, "far": 9.0}
    assert scores["DOT_PRODUCT"] == {"far": 10.0, "aslant": 1.0}
    assert ids(search(engine, 1, 0, 0, IndexName="DOT_PRODUCT")) == ["far", "aslant"]


def test_a_search_over_more_than_one_batch_misses_nothing(engine: Engine) -> None:
    engine.execute("CreateTable", create({**INDEX, "DistanceFunction": "EUCLIDEAN"}))
    for place in range(12):
        put(engine, str(place), place, 0, 0, text={"S": "x" * 200_000})
    assert ids(search(engine, 5.2, 0, 0, top=3, ProjectionExpression="id")) == ["5", "6", "4"]
    assert len(search(engine, 0, 0, 0, top=12, ProjectionExpression="id")) == 12


def test_filters_use_the_attributes_of_the_search_schema(engine: Engine) -> None:
    engine.execute("CreateTable", create(SEARCHED))
    put(engine, "small", 1, 0, 0, shop={"S": "a"}, size={"N": "1"})
    put(engine, "large", 0, 1, 0, shop={"S": "a"}, size={"N": "2"})
    put(engine, "unsized", 0, 0, 1, shop={"S": "a"})
    put(engine, "other", 1, 0, 0, shop={"S": "b"}, size={"N": "1"})
    put(engine, "nowhere", 1, 0, 0)
    values = {":s": {"S": "a"}, ":n": {"N": "2.0"}}
    condition = "#s = :s AND :n = size"
    with_names: dict[str, Any] = {"ExpressionAttributeNames": {"#s": "shop", "#z": "size"}}
    found = search(
        engine,
        1,
        0,
        0,
        SearchConditionExpression=condition.replace("size", "#z"),
        ExpressionAttributeValues=values,
        **with_names,
    )
    assert ids(found) == ["large"]
    everything = search(
        engine,
        1,
        0,
        0,
        SearchConditionExpression="shop = :s",
        ExpressionAttributeValues={":s": {"S": "a"}},
    )
    # An item without the filtered attribute is in the index; one without the partition is not.
    assert ids(everything)[0] == "small"
    assert sorted(ids(everything)) == ["large", "small", "unsized"]


def test_removing_the_vector_or_partition_removes_an_item_from_the_index(engine: Engine) -> None:
    engine.execute("CreateTable", create(SEARCHED))
    parameters: dict[str, Any] = {
        "SearchConditionExpression": "shop = :s",
        "ExpressionAttributeValues": {":s": {"S": "a"}},
    }
    for id, removed in (("one", "look"), ("two", "shop")):  # noqa: A001 - the attribute
        put(engine, id, 1, 0, 0, shop={"S": "a"})
        assert ids(search(engine, 1, 0, 0, **parameters)) == [id]
        engine.execute(
            "UpdateItem",
            {
                "TableName": TABLE,
                "Key": {"id": {"S": id}},
                "UpdateExpression": f"REMOVE {removed}",
            },
        )
        assert search(engine, 1, 0, 0, **parameters) == []


@pytest.mark.parametrize(
    ("projection", "expected"),
    [
        ({"ProjectionType": "KEYS_ONLY"}, {"id"}),
        ({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["title"]}, {"id", "title"}),
        ({"ProjectionType": "ALL"}, {"id", "title", "body"}),
    ],
)
def test_results_have_the_projected_attributes_without_the_vector(
    engine: Engine, projection: dict[str, Any], expected: set[str]
) -> None:
    engine.execute("CreateTable", create({**INDEX, "Projection": projection}))
    put(engine, "one", 1, 0, 0, title={"S": "t"}, body={"S": "x"})
    (result,) = search(engine, 1, 0, 0)
    assert set(result["Item"]) == expected
    # Attributes that are not projected are left out silently; the vector is returned if named.
    (named,) = search(engine, 1, 0, 0, ProjectionExpression="look[0], id, body")
    assert set(named["Item"]) == {"look", "id"} | (expected & {"body"})
    assert named["Item"]["look"] == {"L": [{"N": "1.0"}]}


def test_the_index_has_32_bit_floats_and_the_table_what_was_written(engine: Engine) -> None:
    engine.execute("CreateTable", create(INDEX))
    written = ["0.1", "16777217", "1.000000059604644775390625"]
    item = {"id": {"S": "one"}, "look": {"L": [{"N": each} for each in written]}}
    engine.execute("PutItem", {"TableName": TABLE, "Item": item})
    found = engine.execute("GetItem", {"TableName": TABLE, "Key": {"id": {"S": "one"}}})
    assert found["Item"] == item
    (result,) = search(engine, 1, 0, 0, ProjectionExpression="look")
    assert result["Item"]["look"] == {"L": [{"N": "0.1"}, {"N": "16777216.0"}, {"N": "1.0"}]}


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_the_text_of_a_32_bit_float_is_its_shortest_decimal(value: float) -> None:
    text = float32_text(repr(value))
    assert as_float32(float(text)) == value
    digits = len(Decimal(text).normalize().as_tuple().digits)
    assert digits <= 9
    if digits > 6:
        assert as_float32(float(f"{value:.{digits - 1}g}")) != value


def test_capacity_is_reported_in_bytes_and_at_least_a_kilobyte(engine: Engine) -> None:
    index = {**INDEX, "Dimensions": 300}
    engine.execute("CreateTable", create(index))
    request = {
        "TableName": TABLE,
        "Item": {"id": {"S": "1"}, "look": {"L": numbers([0.5] * 300)}},
        "ReturnConsumedCapacity": "INDEXES",
    }
    consumed = engine.execute("PutItem", request)["ConsumedCapacity"]
    assert consumed["VectorIndexes"] == {"ByLook": {"VectorWriteRequestBytes": 1_203.0}}
    again = engine.execute("PutItem", request)["ConsumedCapacity"]
    assert "VectorIndexes" not in again
    search = {
        "TableName": TABLE,
        "IndexName": "ByLook",
        "SearchVector": numbers([0.5] * 300),
        "TopK": 1,
        "ReturnConsumedCapacity": "TOTAL",
    }
    answer = engine.execute("SearchVectors", search)
    assert answer["ConsumedCapacity"] == {"VectorSearchRequestBytes": 1_200.0}
    engine.execute("DeleteItem", {"TableName": TABLE, "Key": {"id": {"S": "1"}}})
    answer = engine.execute("SearchVectors", search)
    assert answer["ConsumedCapacity"] == {"VectorSearchRequestBytes": 1_024.0}


@pytest.mark.parametrize(
    ("look", "words"),
    [
        ({"S": "x"}, "Invalid type for parameter look, Expected: 32-bit .* list IndexName: ByLook"),
        (
            {"NS": ["1", "2", "3"]},
            "Invalid type for parameter look, Expected: 32-bit .* list IndexName: ByLook",
        ),
        ({"L": [{"N": "1"}]}, "Invalid size for parameter look, Expected: 3, Actual: 1"),
        (
            {"L": [{"N": "1"}, {"S": "2"}, {"N": "3"}]},
            r"Invalid type for parameter look\[1\], Expected: 32-bit .*, Actual: S\. IndexName",
        ),
        ({"L": numbers([1, 2, 1e60])}, r"Invalid value for parameter look\[2\]"),
    ],
)
def test_an_invalid_vector_is_refused_before_anything_is_written(
    engine: Engine, look: dict[str, Any], words: str
) -> None:
    engine.execute("CreateTable", create(INDEX))
    item = {"id": {"S": "1"}, "look": look}
    key = {"id": {"S": "1"}}
    update = {
        "TableName": TABLE,
        "Key": key,
        "UpdateExpression": "SET look = :v",
        "ExpressionAttributeValues": {":v": look},
    }
    for operation, request in (
        ("PutItem", {"TableName": TABLE, "Item": item}),
        ("UpdateItem", update),
        ("BatchWriteItem", {"RequestItems": {TABLE: [{"PutRequest": {"Item": item}}]}}),
    ):
        with pytest.raises(ValidationException, match=words):
            engine.execute(operation, request)
    put(engine, "1", 1, 2, 3)
    with pytest.raises(ValidationException, match=words):
        engine.execute("UpdateItem", update)
    assert len(search(engine, 1, 2, 3)) == 1


def test_a_search_key_of_the_wrong_type_is_refused(engine: Engine) -> None:
    engine.execute("CreateTable", create(SEARCHED))
    with pytest.raises(ValidationException, match="Attribute 'shop' type mismatch"):
        put(engine, "1", 1, 2, 3, shop={"N": "1"})
    with pytest.raises(ValidationException, match="cannot contain an empty string"):
        put(engine, "1", 1, 2, 3, shop={"S": ""})
    with pytest.raises(ValidationException, match="Attribute 'size' type mismatch"):
        put(engine, "1", 1, 2, 3, shop={"S": "a"}, size={"S": "1"})


def test_an_index_may_be_added_to_a_table_with_items_and_removed(engine: Engine) -> None:
    engine.execute("CreateTable", create())
    put(engine, "fit", 1, 0, 0, shop={"S": "a"})
    put(engine, "short", 1, 0, shop={"S": "a"})
    engine.execute("PutItem", {"TableName": TABLE, "Item": {"id": {"S": "none"}}})
    updated = engine.execute(
        "UpdateTable",
        {
            "TableName": TABLE,
            "AttributeDefinitions": [
                {"AttributeName": "shop", "AttributeType": "S"},
                {"AttributeName": "size", "AttributeType": "N"},
            ],
            "VectorIndexUpdates": [{"Create": SEARCHED}],
        },
    )
    (described,) = updated["TableDescription"]["VectorIndexes"]
    assert (described["IndexStatus"], described["Backfilling"]) == ("CREATING", True)
    table = engine.execute("DescribeTable", {"TableName": TABLE})["Table"]
    arn = f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}/index/ByLook"
    assert table["VectorIndexes"] == [
        {
            **SEARCHED,
            "IndexStatus": "ACTIVE",
            "IndexSizeBytes": table["VectorIndexes"][0]["IndexSizeBytes"],
            "ItemCount": 1,
            "IndexArn": arn,
        }
    ]
    assert {each["AttributeName"] for each in table["AttributeDefinitions"]} == {
        "id",
        "shop",
        "size",
    }
    parameters: dict[str, Any] = {
        "SearchConditionExpression": "shop = :s",
        "ExpressionAttributeValues": {":s": {"S": "a"}},
    }
    assert ids(search(engine, 1, 0, 0, **parameters)) == ["fit"]
    # Items from before the index may be changed as long as their vector is not.
    change = {"TableName": TABLE, "Key": {"id": {"S": "short"}}, "UpdateExpression": "SET n = :n"}
    values = {"ExpressionAttributeValues": {":n": {"N": "1"}}}
    engine.execute("UpdateItem", {**change, **values})
    removal = {"TableName": TABLE, "VectorIndexUpdates": [{"Delete": {"IndexName": "ByLook"}}]}
    engine.execute("UpdateTable", removal)
    with pytest.raises(ResourceNotFoundException):
        engine.execute("UpdateTable", removal)
    table = engine.execute("DescribeTable", {"TableName": TABLE})["Table"]
    assert "VectorIndexes" not in table
    assert [each["AttributeName"] for each in table["AttributeDefinitions"]] == ["id"]
    with pytest.raises(ValidationException, match="does not have the specified index: ByLook"):
        search(engine, 1, 0, 0)


def test_vectors_are_kept_when_a_file_is_reopened(tmp_path: Path) -> None:
    path = tmp_path / "products.db"
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", create(INDEX))
        put(engine, "one", 1, 0, 0)
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        assert ids(search(engine, 1, 0, 0)) == ["one"]
        assert engine.verify() == []


def test_one_index_at_a_time_is_added_or_removed(engine: Engine) -> None:
    engine.execute("CreateTable", create())
    second = {**INDEX, "IndexName": "Second"}
    with pytest.raises(LimitExceededException, match="Only 1 online index can be created"):
        engine.execute(
            "UpdateTable",
            {"TableName": TABLE, "VectorIndexUpdates": [{"Create": INDEX}, {"Create": second}]},
        )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"Dimensions": 4_097}, "dimensions must be between 1 and 4096"),
        (
            {"SearchSchema": [{"AttributeName": "x", "SearchSchemaElementType": "HASH"}]},
            "One element in SearchSchema is not defined in attribute definitions",
        ),
        (
            {
                "SearchSchema": [
                    {"AttributeName": name, "SearchSchemaElementType": "HASH"}
                    for name in ("id", "shop")
                ]
            },
            "more than one HASH element",
        ),
        (
            {
                "SearchSchema": [
                    {"AttributeName": "shop", "SearchSchemaElementType": kind}
                    for kind in ("HASH", "INLINE_FILTER")
                ]
            },
            "used more than once",
        ),
        ({"VectorAttribute": {"AttributeName": "id"}}, "cannot be in AttributeDefinitions"),
        ({"Projection": {"ProjectionType": "INCLUDE"}}, "NonKeyAttributes is not specified"),
        (
            {
                "Projection": {
                    "ProjectionType": "INCLUDE",
                    "NonKeyAttributes": [f"a{place}" for place in range(20)],
                }
            },
            "exceeds the limit of 20",
        ),
    ],
)
def test_an_invalid_definition_is_refused(
    engine: Engine, change: dict[str, Any], words: str
) -> None:
    request = create(SEARCHED)
    request["VectorIndexes"] = [{**SEARCHED, **change}]
    with pytest.raises(ValidationException, match=words):
        engine.execute("CreateTable", request)
    engine.execute("CreateTable", create(SEARCHED))
    added = {**SEARCHED, **change, "IndexName": "Another"}
    with pytest.raises(ValidationException, match=words):
        engine.execute(
            "UpdateTable", {"TableName": TABLE, "VectorIndexUpdates": [{"Create": added}]}
        )


def test_indexes_of_one_attribute_must_agree_on_its_dimensions(engine: Engine) -> None:
    other = {**INDEX, "IndexName": "Other", "Dimensions": 4}
    with pytest.raises(ValidationException, match="must use the same dimensions"):
        engine.execute("CreateTable", create(INDEX, other))
    six = [{**INDEX, "IndexName": f"Index{place}"} for place in range(6)]
    with pytest.raises(ValidationException, match="VectorIndex count exceeds"):
        engine.execute("CreateTable", create(*six))
    with pytest.raises(ValidationException, match="Duplicate index name: ByLook"):
        engine.execute("CreateTable", create(INDEX, INDEX))


def test_vector_indexes_need_an_on_demand_table(engine: Engine) -> None:
    provisioned = {
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
    }
    words = "only supported for PAY_PER_REQUEST tables"
    with pytest.raises(ValidationException, match=words):
        engine.execute("CreateTable", {**create(INDEX), **provisioned})
    engine.execute("CreateTable", create(INDEX))
    with pytest.raises(ValidationException, match=words):
        engine.execute("UpdateTable", {"TableName": TABLE, **provisioned})


@pytest.mark.parametrize("number", ["1e39", "-3.5e38"])
def test_a_search_for_an_unrepresentable_number_is_refused(engine: Engine, number: str) -> None:
    engine.execute("CreateTable", create(INDEX))
    vector = [{"N": "1"}, {"N": number}, {"N": "0"}]
    parameters = {"TableName": TABLE, "IndexName": "ByLook", "SearchVector": vector, "TopK": 1}
    with pytest.raises(ValidationException, match="Search vector contains invalid values"):
        engine.execute("SearchVectors", parameters)
