"""`keyfold serve --record` and `--throttling`, in a separate process."""

from __future__ import annotations

from pathlib import Path

import pytest

from keyfold.engine import read_traffic
from tests.unit.cli.program import Run
from tests.unit.cli.test_serve import exchange, serving
from tests.unit.wire.server.http import CREATE, TABLE, ask, get, put


def test_a_server_records_keys_and_units(tmp_path: Path) -> None:
    file = tmp_path / "traffic.jsonl"
    with serving(tmp_path / "shop.db", "--workers", 2, "--record", file) as (server, ready):
        exchange(ready["url"], ask("CreateTable", CREATE))
        for number in range(10):
            exchange(ready["url"], put(str(number)))
            exchange(ready["url"], get(str(number)))
        server.terminate()
        assert server.wait() == 0
    records = list(read_traffic(file))
    assert [each.operation for each in records] == ["PutItem", "GetItem"] * 10
    assert {each.table for each in records} == {TABLE}


def test_a_server_throttles_hot_keys() -> None:
    create = {
        "TableName": TABLE,
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")
        ],
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }
    with serving("--memory", "--throttling", "partitions") as (_, ready):
        exchange(ready["url"], ask("CreateTable", create))
        # Each takes 390 units: a second's worth is gone before the last.
        puts = [
            {
                "PutRequest": {
                    "Item": {"pk": {"S": "a"}, "sk": {"S": str(number)}, "t": {"S": "x" * 399_000}}
                }
            }
            for number in range(10)
        ]
        response = exchange(ready["url"], ask("BatchWriteItem", {"RequestItems": {TABLE: puts}}))
        assert response["UnprocessedItems"][TABLE]


@pytest.mark.parametrize(
    ("option", "value", "fact"),
    [("--throttling", "shards", "throttling"), ("--record", "/missing/file", "record")],
)
def test_wrong_options_are_refused(run: Run, option: str, value: str, fact: str) -> None:
    done = run("serve", "--memory", "--port", "0", option, value)
    assert done.code == 2
    assert fact in done.err
