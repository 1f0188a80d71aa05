"""PartiQL in the engine: pages, their tokens, and batches."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import SerializationException
from tests.unit.expressions.refusals import refusal_of

TABLE: dict[str, Any] = {
    "TableName": "Songs",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": "artist", "AttributeType": "S"},
        {"AttributeName": "year", "AttributeType": "N"},
    ],
    "KeySchema": [
        {"AttributeName": "artist", "KeyType": "HASH"},
        {"AttributeName": "year", "KeyType": "RANGE"},
    ],
}
SELECT = "SELECT year FROM Songs WHERE artist IN ['b', 'a'] AND year > ?"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:") as engine:
        engine.execute("CreateTable", TABLE)
        yield engine
        assert engine.verify() == []


def fill(engine: Engine, *, blob: str = "") -> None:
    for artist in "ab":
        for year in range(1, 6):
            item = {"artist": {"S": artist}, "year": {"N": str(year)}, "blob": {"S": blob}}
            engine.execute("PutItem", {"TableName": "Songs", "Item": item})


def execute(engine: Engine, statement: str, *parameters: Any, **more: Any) -> dict[str, Any]:
    request: dict[str, Any] = {"Statement": statement, **more}
    if parameters:
        request["Parameters"] = list(parameters)
    return engine.execute("ExecuteStatement", request)


def read_all(engine: Engine, statement: str, *parameters: Any, **more: Any) -> list[list[str]]:
    """Return the years on each page."""
    pages: list[list[str]] = []
    token: dict[str, str] = {}
    while True:
        page = execute(engine, statement, *parameters, **more, **token)
        pages.append([item["year"]["N"] for item in page["Items"]])
        if "NextToken" not in page:
            return pages
        token = {"NextToken": page["NextToken"]}


@pytest.mark.parametrize(
    ("limit", "pages"),
    [
        (1, [["3"], ["4"], ["5"], ["3"], ["4"], ["5"], []]),
        (2, [["3", "4"], ["5", "3"], ["4", "5"], []]),
        (3, [["3", "4", "5"], ["3", "4", "5"], []]),
        (6, [["3", "4", "5", "3", "4", "5"], []]),
        (7, [["3", "4", "5", "3", "4", "5"]]),
    ],
)
def test_pages_continue_from_one_partition_to_the_next(
    engine: Engine, limit: int, pages: list[list[str]]
) -> None:
    fill(engine)
    found = read_all(engine, SELECT, {"N": "2"}, Limit=limit)
    assert [year for page in found for year in page] == ["3", "4", "5", "3", "4", "5"]
    assert found == pages


def test_descending_pages_continue_in_descending_order(engine: Engine) -> None:
    fill(engine)
    statement = SELECT + " ORDER BY artist DESC, year DESC"
    assert read_all(engine, statement, {"N": "3"}, Limit=3) == [["5", "4", "5"], ["4"]]


def test_a_page_reads_at_most_ten_keys_of_an_in_list(engine: Engine) -> None:
    fill(engine)
    years = ", ".join(str(year) for year in range(1, 13))
    statement = f"SELECT year FROM Songs WHERE artist IN ['a', 'b'] AND year IN [{years}]"
    pages = read_all(engine, statement)
    assert pages == [["1", "2", "3", "4", "5"], ["1", "2", "3", "4", "5"], []]
    limited = read_all(engine, statement, Limit=3)
    assert limited == [["1", "2", "3"], ["4", "5"], ["1", "2", "3"], ["4", "5"]]


def test_a_page_of_several_partitions_ends_at_one_megabyte(engine: Engine) -> None:
    fill(engine, blob="x" * 300_000)
    pages = read_all(engine, "SELECT * FROM Songs WHERE artist IN ['a', 'b']")
    assert [len(page) for page in pages] == [4, 4, 2]


def test_a_token_is_valid_only_for_its_statement_and_parameters(engine: Engine) -> None:
    fill(engine)
    token = execute(engine, SELECT, {"N": "2"}, Limit=1)["NextToken"]
    assert execute(engine, SELECT, {"N": "2"}, Limit=1, NextToken=token)["Items"]
    mismatch = "NextToken does not match request"
    for statement, parameter in ((SELECT + " ", "2"), (SELECT, "3")):
        message = refusal_of(
            lambda statement=statement, parameter=parameter: execute(
                engine, statement, {"N": parameter}, NextToken=token
            )
        )
        assert message == mismatch


def test_a_token_is_not_valid_for_a_recreated_table(engine: Engine) -> None:
    fill(engine)
    token = execute(engine, SELECT, {"N": "2"}, Limit=1)["NextToken"]
    engine.execute("DeleteTable", {"TableName": "Songs"})
    engine.execute("CreateTable", TABLE)
    message = refusal_of(lambda: execute(engine, SELECT, {"N": "2"}, NextToken=token))
    assert message == "NextToken does not match request"


def test_a_token_that_was_tampered_with_is_refused(engine: Engine) -> None:
    fill(engine)
    token: str = execute(engine, SELECT, {"N": "2"}, Limit=1)["NextToken"]
    for place in range(0, len(token), 7):
        other = "A" if token[place] != "A" else "B"
        changed = token[:place] + other + token[place + 1 :]
        if changed == token:
            continue
        message = refusal_of(
            lambda changed=changed: execute(engine, SELECT, {"N": "2"}, NextToken=changed)
        )
        assert message == "Invalid NextToken"


@pytest.mark.parametrize(
    "position", [[], [0], ["0", None], [-1, None], [True, None], [2, None], [0, 5], [0, {"a": 1}]]
)
def test_a_token_that_was_forged_is_refused(engine: Engine, position: list[Any]) -> None:
    fill(engine)
    token: str = execute(engine, SELECT, {"N": "2"}, Limit=1)["NextToken"]
    body = urlsafe_b64decode(token)[8:24] + json.dumps(position).encode()
    check = blake2b(body, digest_size=8, person=b"next-token").digest()
    forged = urlsafe_b64encode(check + body).decode()
    message = refusal_of(lambda: execute(engine, SELECT, {"N": "2"}, NextToken=forged))
    assert message == "Invalid NextToken"


@pytest.mark.parametrize("token", ["x", "é", "AAAA", "=", "!" * 40])
def test_invalid_tokens_are_refused(engine: Engine, token: str) -> None:
    message = refusal_of(lambda: execute(engine, SELECT, {"N": "2"}, NextToken=token))
    assert message == "Invalid NextToken"


def test_too_many_parameters_are_refused(engine: Engine) -> None:
    message = refusal_of(lambda: execute(engine, SELECT, {"N": "1"}, {"N": "2"}))
    assert message == "Number of parameters in request and statement don't match."


def test_an_unpaired_surrogate_is_refused(engine: Engine) -> None:
    for statement in (
        "SELECT * FROM Songs WHERE artist = '\ud800'",
        "UPDATE Songs SET \"\ud800\" = 1 WHERE artist = 'a' AND year = 1",
    ):
        with pytest.raises(SerializationException):
            execute(engine, statement)


def test_an_empty_attribute_name_is_refused(engine: Engine) -> None:
    for statement in (
        'SELECT "" FROM Songs',
        "SELECT a[''] FROM Songs",
        """UPDATE Songs SET "" = 1 WHERE artist = 'a' AND year = 1""",
    ):
        message = refusal_of(lambda statement=statement: execute(engine, statement))
        assert message == "Path component cannot be an empty string"


def test_a_column_that_is_too_deep_is_refused(engine: Engine) -> None:
    column = ".".join("a" * 33)
    message = refusal_of(lambda: execute(engine, f"SELECT {column} FROM Songs"))
    assert message == "The document path has too many nesting levels; nesting levels: 33"


def test_a_transaction_is_limited_to_four_megabytes(engine: Engine) -> None:
    members = [
        {
            "Statement": f"INSERT INTO Songs VALUE {{'artist': 'a', 'year': {year}, 'blob': ?}}",
            "Parameters": [{"S": "x" * 400_000}],
        }
        for year in range(11)
    ]
    request = {"TransactStatements": members}
    message = refusal_of(lambda: engine.execute("ExecuteTransaction", request))
    assert message.startswith("Transaction payload size cannot exceed 4MB. Payload Size: 4")


def test_ordering_several_partitions_requires_the_partition_key(engine: Engine) -> None:
    message = refusal_of(lambda: execute(engine, SELECT + " ORDER BY year", {"N": "1"}))
    assert message == (
        "Must have hash key in ORDER BY clause when more than one hash key condition "
        "specified in WHERE clause."
    )


def test_more_operators_than_300_are_refused(engine: Engine) -> None:
    clause = " OR ".join(["x = 1"] * 200)
    message = refusal_of(lambda: execute(engine, f"SELECT * FROM Songs WHERE {clause}"))
    assert message == "The expression contains too many operators; operator count: 301"


def test_each_partition_is_charged_separately(engine: Engine) -> None:
    fill(engine)
    read = execute(engine, SELECT, {"N": "2"}, ReturnConsumedCapacity="TOTAL")
    assert read["ConsumedCapacity"]["CapacityUnits"] == 1.0
    nothing = "SELECT * FROM Songs WHERE artist = 'a' AND artist = 'b'"
    read = execute(engine, nothing, ReturnConsumedCapacity="TOTAL")
    assert (read["Items"], read["ConsumedCapacity"]["CapacityUnits"]) == ([], 0.5)


def test_a_statement_notices_a_table_that_another_process_changed(tmp_path: Path) -> None:
    path = tmp_path / "songs.db"
    with Engine.open(path) as first, Engine.open(path) as second:
        first.execute("CreateTable", TABLE)
        fill(first)
        second.execute("DeleteTable", {"TableName": "Songs"})
        changed = {**TABLE, "KeySchema": TABLE["KeySchema"][:1]}
        changed["AttributeDefinitions"] = TABLE["AttributeDefinitions"][:1]
        second.execute("CreateTable", changed)
        statement = "INSERT INTO Songs VALUE {'artist': 'c'}"
        answers = first.execute("BatchExecuteStatement", {"Statements": [{"Statement": statement}]})
        assert answers["Responses"] == [{"TableName": "Songs"}]


def test_writes_of_statements_are_in_the_stream(engine: Engine) -> None:
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    engine.execute("CreateTable", {**TABLE, "TableName": "Told", "StreamSpecification": stream})
    execute(engine, "INSERT INTO Told VALUE {'artist': 'a', 'year': 1}")
    key = "artist = 'a' AND year = 1"
    batch = [{"Statement": f"UPDATE Told SET plays = 1 WHERE {key}"}]
    engine.execute("BatchExecuteStatement", {"Statements": batch})
    transaction = [{"Statement": f"DELETE FROM Told WHERE {key}"}]
    engine.execute("ExecuteTransaction", {"TransactStatements": transaction})
    described = engine.execute("DescribeTable", {"TableName": "Told"})["Table"]
    where = {"StreamArn": described["LatestStreamArn"]}
    (shard,) = engine.execute("DescribeStream", where)["StreamDescription"]["Shards"]
    start = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = engine.execute("GetShardIterator", {**where, **start})
    records = engine.execute("GetRecords", iterator)["Records"]
    assert [record["eventName"] for record in records] == ["INSERT", "MODIFY", "REMOVE"]
