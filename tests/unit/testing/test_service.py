"""The service of a test: its engine, its clock, and resetting it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from keyfold.engine import Engine
from keyfold.errors import (
    EngineClosed,
    OptionInvalid,
    ResourceNotFoundException,
    SerializationException,
    ServiceError,
)
from keyfold.testing import Clock, FaultProfile, Service, dynamodb
from tests.unit.testing.tables import CREATE, TABLE, get, key_of, make_client, make_item, put


def expire(service: Service) -> None:
    specification = {"AttributeName": "expires", "Enabled": True}
    service.execute(
        "UpdateTimeToLive", {"TableName": TABLE, "TimeToLiveSpecification": specification}
    )


def at(service: Service, seconds: float) -> dict[str, str]:
    """Return the time in `seconds` from now, as an attribute value."""
    return {"N": str(int(service.clock() + seconds))}


def test_the_service_takes_dicts_and_bytes(service: Service) -> None:
    put(service, "Sinnerman")
    assert get(service, "Sinnerman") == make_item("Sinnerman")
    body = orjson.dumps({"TableName": TABLE, "Key": key_of("Sinnerman")})
    assert orjson.loads(service.execute_json("GetItem", body)) == {"Item": make_item("Sinnerman")}
    with pytest.raises(SerializationException):
        service.execute_json("GetItem", b"{")


def test_its_engine_has_the_same_items(service: Service) -> None:
    put(service.engine, "Sinnerman")
    assert isinstance(service.engine, Engine)
    assert get(service, "Sinnerman") == make_item("Sinnerman")


def test_resetting_removes_every_table(service: Service) -> None:
    client, former = make_client(), service.engine
    put(service, "Sinnerman")
    service.reset()
    assert client.list_tables()["TableNames"] == []
    with pytest.raises(ResourceNotFoundException):
        get(service, "Sinnerman")
    with pytest.raises(EngineClosed):
        former.execute("ListTables", {})
    client.create_table(**CREATE)
    assert get(service, "Sinnerman") is None


def test_resetting_restarts_the_random_sequence(service: Service) -> None:
    def collect_errors() -> list[str]:
        errors: list[str] = []
        for _ in range(20):
            with pytest.raises(ServiceError) as caught:
                service.execute("Scan", {"TableName": "Nowhere"})
            errors.append(caught.value.type)
        return errors

    service.faults = FaultProfile(throttling=0.5, seed=3)
    first = collect_errors()
    service.reset()
    assert collect_errors() == first
    assert set(first) == {
        "ProvisionedThroughputExceededException",
        "ResourceNotFoundException",
    }


def test_after_leaving_the_engine_is_closed() -> None:
    with dynamodb() as service:
        pass
    with pytest.raises(EngineClosed):
        service.execute("ListTables", {})


def test_expired_items_are_deleted_when_the_clock_is_moved(service: Service) -> None:
    expire(service)
    put(service, "short", expires=at(service, 60))
    put(service, "long", expires=at(service, 3_600))
    put(service, "past", expires=at(service, -60))
    assert get(service, "past") is not None, "nothing expires before the clock moves"
    service.clock.advance(timedelta(minutes=2))
    assert [get(service, song) is not None for song in ("short", "long", "past")] == [
        False,
        True,
        False,
    ]
    service.clock.set(service.clock() + 7_200)
    assert get(service, "long") is None


def test_expired_items_stay_for_the_expiry_grace(service: Service) -> None:
    expire(service)
    service.faults = FaultProfile(expiry_grace=timedelta(minutes=10))
    put(service, "short", expires=at(service, 60))
    service.clock.advance(120)
    assert get(service, "short") is not None
    service.clock.advance(600)
    assert get(service, "short") is None


def test_expired_items_are_deleted_when_the_expiry_grace_ends(service: Service) -> None:
    expire(service)
    with service.under(FaultProfile(expiry_grace=600)):
        put(service, "short", expires=at(service, 60))
        service.clock.advance(120)
        assert get(service, "short") is not None
    assert get(service, "short") is None


def test_the_expiry_grace_affects_nothing_else(service: Service) -> None:
    service.faults = FaultProfile(expiry_grace=600)
    made = service.execute("CreateTable", {**CREATE, "TableName": "Later"})["TableDescription"]
    assert made["CreationDateTime"] == service.clock()


def test_two_services_may_share_a_clock() -> None:
    clock = Clock(0.0)
    with dynamodb(clock=clock) as outer, dynamodb(clock=clock) as inner:
        assert outer.clock is inner.clock is clock
        clock.advance(5)
    clock.advance(5)
    assert clock() == 10.0


def test_faults_can_be_changed_temporarily(service: Service) -> None:
    original = service.faults
    with service.under(FaultProfile(throttling=1.0)) as nothing:
        assert nothing is None
        assert service.faults.throttling == 1.0
        with service.under(original):
            assert get(service, "any") is None
        with pytest.raises(Exception, match="throughput"):
            get(service, "any")
    assert service.faults is original
    assert get(service, "any") is None


def test_an_invalid_fault_profile_is_refused(service: Service) -> None:
    wrong: Any = {"throttling": 1.0}
    with pytest.raises(OptionInvalid, match=r"^faults: got "):
        service.faults = wrong
    with pytest.raises(OptionInvalid, match=r"^faults: got "), service.under(wrong):
        pass
    assert service.faults == FaultProfile()


def test_the_service_can_be_reset_while_threads_use_it(service: Service) -> None:
    def work(number: int) -> int:
        if number % 10 == 0:
            service.reset()
            return 0
        try:
            put(service, str(number))
        except (ResourceNotFoundException, EngineClosed):
            return 0
        return 1

    with ThreadPoolExecutor(4) as pool:
        done = sum(pool.map(work, range(200)))
    assert done >= 0
    assert service.execute("ListTables", {})["TableNames"] == []


def test_repr_shows_the_clock(service: Service) -> None:
    assert repr(service) == (
        "<Service on <Engine :memory:>, <Clock 2027-01-15T08:00:00+00:00, stopped>>"
    )


def test_bytes_and_dicts_have_the_same_faults(service: Service) -> None:
    service.faults = FaultProfile(unprocessed=1.0)
    keys = [key_of(song) for song in "abc"]
    request: dict[str, Any] = {"RequestItems": {TABLE: {"Keys": keys}}}
    by_dict = service.execute("BatchGetItem", request)
    by_json = orjson.loads(service.execute_json("BatchGetItem", orjson.dumps(request)))
    assert (
        by_dict
        == by_json
        == {
            "Responses": {TABLE: []},
            "UnprocessedKeys": {TABLE: {"Keys": keys[1:]}},
        }
    )
    with pytest.raises(SerializationException):
        service.execute_json("BatchGetItem", b"[")
    with pytest.raises(SerializationException):
        service.execute_json("BatchGetItem", b"[]")


def test_boto3_can_export_to_and_import_from_folders(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    with dynamodb(buckets=tmp_path, clock=Clock(1_800_000_000.0)) as service:
        client = make_client()
        client.create_table(**CREATE)
        client.update_continuous_backups(
            TableName=TABLE,
            PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
        )
        client.put_item(TableName=TABLE, Item=make_item("a"))
        arn = client.describe_table(TableName=TABLE)["Table"]["TableArn"]
        before = service.clock.now()
        service.clock.advance(60)
        client.put_item(TableName=TABLE, Item=make_item("b"))
        export = client.export_table_to_point_in_time(
            TableArn=arn, S3Bucket="reports", ExportTime=before
        )["ExportDescription"]
        described = client.describe_export(ExportArn=export["ExportArn"])["ExportDescription"]
        assert (described["ExportStatus"], described["ItemCount"]) == ("COMPLETED", 1)
        prefix = described["ExportManifest"].replace("manifest-summary.json", "data/")
        imported = client.import_table(
            S3BucketSource={"S3Bucket": "reports", "S3KeyPrefix": prefix},
            InputFormat="DYNAMODB_JSON",
            InputCompressionType="GZIP",
            TableCreationParameters={
                name: value
                for name, value in {**CREATE, "TableName": "Copy"}.items()
                if name != "LocalSecondaryIndexes"
            },
        )["ImportTableDescription"]
        found = client.describe_import(ImportArn=imported["ImportArn"])["ImportTableDescription"]
        assert found["ImportStatus"] == "COMPLETED"
        assert client.scan(TableName="Copy")["Items"] == [make_item("a")]
