"""Stale reads and index lag: reads are answered by a replica that lags behind writes."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.errors import ConditionalCheckFailedException, ServiceError, ValidationException
from keyfold.testing import FaultProfile, Service
from tests.unit.testing.tables import CREATE, TABLE, get, key_of, make_client, make_item, put

STALE = FaultProfile(stale_reads=1.0)
LAGGING = FaultProfile(index_lag=1.0)


def names(service: Service, operation: str, **more: Any) -> list[str]:
    """Return the songs that a query or scan finds."""
    request: dict[str, Any] = {"TableName": TABLE, **more}
    if operation == "Query":
        attribute = "genre" if more.get("IndexName") == "ByGenre" else "artist"
        value = "jazz" if attribute == "genre" else "Nina"
        request["KeyConditionExpression"] = f"{attribute} = :v"
        request["ExpressionAttributeValues"] = {":v": {"S": value}}
    return sorted(item["song"]["S"] for item in service.execute(operation, request)["Items"])


def test_a_read_right_after_a_write_is_stale(service: Service) -> None:
    service.faults = STALE
    put(service, "a")
    assert get(service, "a") is None
    assert get(service, "a") == make_item("a"), "the next read sees it"


def test_a_consistent_read_is_never_stale(service: Service) -> None:
    service.faults = STALE
    put(service, "a")
    assert get(service, "a", consistent=True) == make_item("a")
    assert names(service, "Query", ConsistentRead=True) == ["a"]
    assert names(service, "Scan", ConsistentRead=True) == ["a"]
    wanted = {"Keys": [key_of("a")], "ConsistentRead": True}
    answer = service.execute("BatchGetItem", {"RequestItems": {TABLE: wanted}})
    assert answer["Responses"][TABLE] == [make_item("a")]
    transaction = {"TransactItems": [{"Get": {"TableName": TABLE, "Key": key_of("a")}}]}
    assert service.execute("TransactGetItems", transaction)["Responses"][0]["Item"]


@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_queries_and_scans_can_be_stale(service: Service, operation: str) -> None:
    put(service, "before")
    service.faults = STALE
    put(service, "after")
    assert names(service, operation) == ["before"]
    assert names(service, operation) == ["after", "before"]


def test_batch_reads_can_be_stale(service: Service) -> None:
    service.faults = STALE
    put(service, "a")
    request = {"RequestItems": {TABLE: {"Keys": [key_of("a")]}}}
    assert service.execute("BatchGetItem", request)["Responses"] == {TABLE: []}
    assert service.execute("BatchGetItem", request)["Responses"] == {TABLE: [make_item("a")]}


def test_statements_write_and_read_like_requests(service: Service) -> None:
    service.faults = STALE
    where = f"FROM {TABLE} WHERE artist = 'Nina' AND song = 'a'"
    select = {"Statement": f"SELECT * {where}"}
    insert = {
        "Statement": f"INSERT INTO {TABLE} VALUE {{'artist': 'Nina', 'song': 'a', 'genre': 'jazz'}}"
    }
    service.execute("ExecuteStatement", insert)
    assert service.execute("ExecuteStatement", select)["Items"] == []
    assert service.execute("ExecuteStatement", select)["Items"] == [make_item("a")]
    service.execute("BatchExecuteStatement", {"Statements": [{"Statement": f"DELETE {where}"}]})
    batch = {"Statements": [{**select, "ConsistentRead": True}]}
    assert service.execute("BatchExecuteStatement", batch)["Responses"] == [{"TableName": TABLE}]
    batch = {"Statements": [select]}
    assert "Item" in service.execute("BatchExecuteStatement", batch)["Responses"][0]
    service.execute("ExecuteTransaction", {"TransactStatements": [insert]})
    transaction = {"TransactStatements": [select]}
    assert "Item" in service.execute("ExecuteTransaction", transaction)["Responses"][0]


def test_a_stale_read_returns_the_old_version_of_an_item(service: Service) -> None:
    put(service, "a", plays={"N": "1"})
    service.faults = STALE
    put(service, "a", plays={"N": "2"})
    assert get(service, "a") == make_item("a", plays={"N": "1"})
    service.execute("DeleteItem", {"TableName": TABLE, "Key": key_of("a")})
    assert get(service, "a") == make_item("a", plays={"N": "2"})
    assert get(service, "a") is None


def test_a_stale_read_misses_the_configured_number_of_writes(service: Service) -> None:
    service.faults = FaultProfile(stale_reads=1.0, lag_writes=3)
    for song in "abcde":
        put(service, song)
    assert names(service, "Scan") == ["a", "b"]
    assert names(service, "Scan") == ["a", "b", "c"]
    assert names(service, "Scan") == ["a", "b", "c", "d"]
    assert names(service, "Scan") == ["a", "b", "c", "d", "e"]
    assert names(service, "Scan") == ["a", "b", "c", "d", "e"]


def test_only_some_reads_are_stale(service: Service) -> None:
    service.faults = FaultProfile(stale_reads=0.5, seed=4)
    missed = 0
    for number in range(100):
        put(service, str(number))
        missed += get(service, str(number)) is None
    assert 30 < missed < 70


def test_global_indexes_lag(service: Service) -> None:
    service.faults = LAGGING
    put(service, "a")
    assert get(service, "a") == make_item("a")
    assert names(service, "Query", IndexName="ByGenre") == []
    assert names(service, "Query", IndexName="ByGenre") == ["a"]
    put(service, "b")
    assert names(service, "Scan", IndexName="ByGenre") == ["a"]
    assert names(service, "Scan", IndexName="ByGenre") == ["a", "b"]


def test_global_indexes_lag_for_statements(service: Service) -> None:
    service.faults = LAGGING
    put(service, "a")
    by_genre = {"Statement": f'SELECT * FROM "{TABLE}"."ByGenre" WHERE genre = \'jazz\''}
    of_table = {"Statement": f"SELECT * FROM \"{TABLE}\" WHERE artist = 'Nina'"}
    assert service.execute("ExecuteStatement", of_table)["Items"] == [make_item("a")]
    assert service.execute("ExecuteStatement", by_genre)["Items"] == []
    assert service.execute("ExecuteStatement", by_genre)["Items"] == [make_item("a")]
    with pytest.raises(ValidationException, match="Statement"):
        service.execute("ExecuteStatement", {"Statement": "SELECT nothing"})


def test_local_indexes_and_tables_do_not_lag(service: Service) -> None:
    service.faults = LAGGING
    put(service, "a")
    assert names(service, "Query", IndexName="ByArtistAndGenre") == ["a"]
    assert names(service, "Query") == names(service, "Scan") == ["a"]


def test_local_indexes_can_be_stale(service: Service) -> None:
    service.faults = STALE
    put(service, "a")
    assert names(service, "Query", IndexName="ByArtistAndGenre") == []


def test_moving_the_clock_brings_the_replica_up_to_date(service: Service) -> None:
    service.faults = FaultProfile(stale_reads=1.0, lag_writes=10)
    for song in "abc":
        put(service, song)
    service.clock.advance(1)
    assert names(service, "Scan") == ["a", "b", "c"]


def test_a_refused_write_never_reaches_the_replica(service: Service) -> None:
    put(service, "a")
    service.faults = STALE
    condition = {"ConditionExpression": "attribute_not_exists(artist)"}
    with pytest.raises(ConditionalCheckFailedException):
        service.execute(
            "PutItem", {"TableName": TABLE, "Item": make_item("a", x={"S": "x"}), **condition}
        )
    assert get(service, "a") == make_item("a")
    assert get(service, "a") == make_item("a")


def test_every_kind_of_write_reaches_the_replica(service: Service) -> None:
    service.faults = FaultProfile(stale_reads=1.0, lag_writes=10)
    put(service, "a")
    update = {
        "TableName": TABLE,
        "Key": key_of("a"),
        "UpdateExpression": "ADD plays :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    service.execute("UpdateItem", update)
    service.execute("TransactWriteItems", {"TransactItems": [{"Update": update}]})
    puts = [{"PutRequest": {"Item": make_item(song, raw={"B": b"\x00"})}} for song in "bc"]
    service.execute("BatchWriteItem", {"RequestItems": {TABLE: puts}})
    service.execute("DeleteItem", {"TableName": TABLE, "Key": key_of("c")})
    service.clock.advance(1)
    put(service, "later")
    stale = service.execute("Scan", {"TableName": TABLE})["Items"]
    assert stale == [make_item("a", plays={"N": "2"}), make_item("b", raw={"B": b"\x00"})]


def test_only_processed_members_of_a_batch_reach_the_replica(service: Service) -> None:
    service.faults = FaultProfile(stale_reads=1.0, unprocessed=1.0)
    puts = [{"PutRequest": {"Item": make_item(song)}} for song in "abc"]
    service.execute("BatchWriteItem", {"RequestItems": {TABLE: puts}})
    assert names(service, "Scan") == []
    assert names(service, "Scan") == ["a"]


def test_a_request_may_be_changed_after_it_was_made(service: Service) -> None:
    service.faults = STALE
    request: dict[str, Any] = {"TableName": TABLE, "Item": make_item("a")}
    service.execute("PutItem", request)
    request["Item"]["song"]["S"] = "changed"
    names(service, "Scan")
    put(service, "b")
    assert names(service, "Scan") == ["a"]


def test_tables_themselves_are_never_stale(service: Service) -> None:
    service.faults = FaultProfile(stale_reads=1.0, lag_writes=10)
    put(service, "a")
    service.execute("CreateTable", {**CREATE, "TableName": "Another"})
    service.execute("PutItem", {"TableName": "Another", "Item": make_item("b")})
    scan = {"TableName": "Another"}
    assert service.execute("Scan", scan)["Items"] == []
    assert service.execute("Scan", scan)["Items"] == [make_item("b")]
    service.execute("DeleteTable", {"TableName": "Another"})
    with pytest.raises(ServiceError, match="resource not found"):
        service.execute("Scan", scan)


def test_the_replica_has_the_data_from_before_it_was_enabled(service: Service) -> None:
    """Many items, several tables, both billing modes and expiry are copied at the start."""
    capacity = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4}
    provisioned: dict[str, Any] = {
        **CREATE,
        "TableName": "Provisioned",
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": capacity,
    }
    provisioned["GlobalSecondaryIndexes"] = [
        {**index, "ProvisionedThroughput": capacity} for index in CREATE["GlobalSecondaryIndexes"]
    ]
    service.execute("CreateTable", provisioned)
    filling = "x" * 20_000
    for number in range(120):
        put(service, f"{number:03}", filling={"S": filling}, raw={"BS": [b"\x00", b"\x01"]})
    service.execute("PutItem", {"TableName": "Provisioned", "Item": make_item("p")})
    service.faults = STALE
    put(service, "new")
    found = service.execute(
        "Query",
        {
            "TableName": TABLE,
            "KeyConditionExpression": "artist = :a AND song > :s",
            "ExpressionAttributeValues": {":a": {"S": "Nina"}, ":s": {"S": "100"}},
        },
    )
    assert [item["song"]["S"] for item in found["Items"]] == [f"{n}" for n in range(101, 120)]
    assert found["Items"][0]["raw"] == {"BS": [b"\x00", b"\x01"]}
    more = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
    service.execute("UpdateTable", {"TableName": "Provisioned", "ProvisionedThroughput": more})
    put(service, "newer")
    assert service.execute("Scan", {"TableName": "Provisioned"})["Count"] == 1


def test_expired_items_are_deleted_from_both(service: Service) -> None:
    specification = {"AttributeName": "expires", "Enabled": True}
    service.execute(
        "UpdateTimeToLive", {"TableName": TABLE, "TimeToLiveSpecification": specification}
    )
    soon = {"N": str(int(service.clock() + 60))}
    put(service, "a", expires=soon)
    service.faults = FaultProfile(stale_reads=1.0, expiry_grace=100)
    put(service, "b", expires=soon)
    service.clock.advance(120)
    put(service, "c")
    assert names(service, "Scan") == ["a", "b"], "the lag applies to both"
    service.clock.advance(120)
    put(service, "d")
    assert names(service, "Scan") == ["c"]


def test_more_than_a_hundred_tables_are_copied(service: Service) -> None:
    for number in range(101):
        service.execute("CreateTable", {**CREATE, "TableName": f"Table{number:03}"})
    service.execute("PutItem", {"TableName": "Table100", "Item": make_item("a")})
    service.faults = STALE
    put(service, "b")
    assert service.execute("Scan", {"TableName": "Table100"})["Count"] == 1


def test_writes_to_the_engine_itself_reach_the_replica(service: Service) -> None:
    service.faults = STALE
    service.engine.execute("CreateTable", {**CREATE, "TableName": "Direct"})
    put(service, "a")
    scan = {"TableName": "Direct"}
    assert service.execute("Scan", scan)["Items"] == []
    service.execute("PutItem", {"TableName": "Direct", "Item": make_item("b")})
    service.execute("PutItem", {"TableName": "Direct", "Item": make_item("c")})
    service.execute("PutItem", {"TableName": "Direct", "Item": make_item("d")})
    assert service.execute("Scan", scan)["Count"] == 2
    assert service.execute("Scan", scan)["Count"] == 3


def test_an_invalid_read_is_refused_as_usual(service: Service) -> None:
    service.faults = STALE
    put(service, "a")
    with pytest.raises(ValidationException, match="at 'limit'"):
        service.execute("Scan", {"TableName": TABLE, "Limit": 0})
    with pytest.raises(ServiceError, match="resource not found"):
        service.execute("Scan", {"TableName": "Nowhere", "IndexName": "any"})


def test_resetting_empties_the_replica_too(service: Service) -> None:
    service.faults = STALE
    put(service, "a")
    service.reset()
    service.execute("CreateTable", CREATE)
    put(service, "b")
    assert names(service, "Scan") == []
    assert names(service, "Scan") == ["b"]


def test_without_faults_every_read_is_current_again(service: Service) -> None:
    with service.under(STALE):
        put(service, "a")
    assert get(service, "a") == make_item("a")


def test_clients_get_stale_responses_too(service: Service) -> None:
    client = make_client()
    service.faults = FaultProfile(stale_reads=1.0, index_lag=1.0)
    client.put_item(TableName=TABLE, Item=make_item("a", raw={"B": b"\xff"}))
    assert "Item" not in client.get_item(TableName=TABLE, Key=key_of("a"))
    found = client.get_item(TableName=TABLE, Key=key_of("a"))
    assert found["Item"]["raw"] == {"B": b"\xff"}


def test_reads_of_a_restored_table_can_be_stale(service: Service) -> None:
    put(service, "a")
    service.faults = STALE
    backup = service.execute("CreateBackup", {"TableName": TABLE, "BackupName": "before"})
    arn = backup["BackupDetails"]["BackupArn"]
    service.execute("RestoreTableFromBackup", {"BackupArn": arn, "TargetTableName": "Again"})
    assert len(service.execute("Scan", {"TableName": "Again"})["Items"]) == 1
    service.execute("PutItem", {"TableName": "Again", "Item": make_item("b")})
    assert len(service.execute("Scan", {"TableName": "Again"})["Items"]) == 1
    assert len(service.execute("Scan", {"TableName": "Again"})["Items"]) == 2
    assert len(service.execute("ListBackups", {})["BackupSummaries"]) == 1
