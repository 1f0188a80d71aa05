"""Clients of boto3: which of them use the engine, and when."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from keyfold.testing import Service, dynamodb
from tests.unit.testing.tables import CREATE, TABLE, key_of, make_client, make_item, make_resource


def base_client() -> Any:
    return import_module("botocore.client").BaseClient


def make_request_method() -> Callable[..., Any]:
    return base_client().__dict__["_make_request"]


class RawBody(BytesIO):
    """A response body as urllib3 returns it."""

    def stream(self, **_: Any) -> Any:
        return iter([self.read()])


def respond(client: Any, body: bytes) -> list[Any]:
    """Answer requests that a client sends over the network; return a list that collects them."""
    response_class = import_module("botocore.awsrequest").AWSResponse
    sent: list[Any] = []

    def answer(request: Any, **_: Any) -> Any:
        sent.append(request)
        return response_class(request.url, 200, {}, RawBody(body))

    client.meta.events.register("before-send", answer)
    return sent


def test_a_client_created_inside_uses_the_engine() -> None:
    with dynamodb() as service:
        client = make_client()
        client.create_table(**CREATE)
        client.put_item(TableName=TABLE, Item=make_item("Feeling Good"))
        found = client.get_item(TableName=TABLE, Key=key_of("Feeling Good"))
        assert found["Item"] == make_item("Feeling Good")
        assert found["ResponseMetadata"]["HTTPStatusCode"] == 200
        assert service.engine.execute("ListTables", {})["TableNames"] == [TABLE]


def test_a_client_created_before_uses_the_engine() -> None:
    client = make_client(region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")
    with dynamodb():
        assert client.list_tables()["TableNames"] == []


def test_a_resource_uses_the_engine(service: Service) -> None:
    table = make_resource().Table(TABLE)
    table.put_item(Item={"artist": "Nina", "song": "Sinnerman", "minutes": Decimal("10.3")})
    with table.batch_writer() as batch:
        for number in range(30):
            batch.put_item(Item={"artist": "Nina", "song": f"Song {number}", "raw": b"\x00"})
    condition = import_module("boto3.dynamodb.conditions").Key("artist").eq("Nina")
    items = table.query(KeyConditionExpression=condition)["Items"]
    assert len(items) == 31
    assert items[0]["minutes"] == Decimal("10.3")
    assert items[1]["raw"].value == b"\x00"
    assert table.table_status == "ACTIVE"


def test_waiters_return_at_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(seconds: float) -> None:
        pytest.fail(f"it waits {seconds} seconds")

    monkeypatch.setattr("time.sleep", refuse)
    client = make_client()
    client.get_waiter("table_exists").wait(TableName=TABLE)
    for number in range(300):
        service.execute("PutItem", {"TableName": TABLE, "Item": make_item(f"{number}")})
    index = {
        "IndexName": "BySong",
        "KeySchema": [{"AttributeName": "song", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    client.update_table(
        TableName=TABLE,
        AttributeDefinitions=CREATE["AttributeDefinitions"],
        GlobalSecondaryIndexUpdates=[{"Create": index}],
    )
    table = client.describe_table(TableName=TABLE)["Table"]
    statuses = {each["IndexName"]: each["IndexStatus"] for each in table["GlobalSecondaryIndexes"]}
    assert statuses == {"ByGenre": "ACTIVE", "BySong": "ACTIVE"}
    client.delete_table(TableName=TABLE)
    client.get_waiter("table_not_exists").wait(TableName=TABLE)


def test_paginators_read_every_page(service: Service) -> None:
    client = make_client()
    for number in range(7):
        client.put_item(TableName=TABLE, Item=make_item(f"{number}"))
    pages = client.get_paginator("scan").paginate(TableName=TABLE, PaginationConfig={"PageSize": 3})
    assert [page["Count"] for page in pages] == [3, 3, 1]


def test_errors_are_the_exceptions_of_the_client(service: Service) -> None:
    client = make_client()
    client.put_item(TableName=TABLE, Item=make_item("Four Women"))
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as caught:
        client.put_item(
            TableName=TABLE,
            Item=make_item("Four Women"),
            ConditionExpression="attribute_not_exists(artist)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    response: dict[str, Any] = caught.value.response
    assert response["Item"] == make_item("Four Women")
    assert response["Error"]["Message"] == response["message"] == "The conditional request failed"
    with pytest.raises(client.exceptions.ResourceNotFoundException, match="Requested resource"):
        client.scan(TableName="Nowhere")
    with pytest.raises(client.exceptions.ClientError, match="ValidationException"):
        client.scan(TableName=TABLE, Limit=1, Segment=0)


def test_botocore_still_validates_parameters(service: Service) -> None:
    error = import_module("botocore.exceptions").ParamValidationError
    with pytest.raises(error, match="Unknown parameter"):
        make_client().get_item(TableName=TABLE, Key=key_of("a"), Colour="blue")


def test_event_handlers_are_still_called(service: Service) -> None:
    client = make_client()
    calls: list[str] = []

    def note(event_name: str, **_: Any) -> None:
        calls.append(event_name)

    for event in ("provide-client-params", "before-parameter-build", "before-call", "after-call"):
        client.meta.events.register(event, note)
    client.list_tables()
    assert [call.partition(".")[0] for call in calls] == [
        "provide-client-params",
        "before-parameter-build",
        "before-call",
        "after-call",
    ]


def test_a_stubbed_client_still_uses_its_stub(service: Service) -> None:
    client = make_client()
    with import_module("botocore.stub").Stubber(client) as stubber:
        stubber.add_response("list_tables", {"TableNames": ["Stubbed"]})
        assert client.list_tables()["TableNames"] == ["Stubbed"]
    assert client.list_tables()["TableNames"] == [TABLE]


def test_streams_are_answered_by_the_engine_too(service: Service) -> None:
    client, streams = make_client(), import_module("boto3").client("dynamodbstreams")
    client.update_table(
        TableName=TABLE,
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )
    client.put_item(TableName=TABLE, Item=make_item("one", raw={"B": b"raw"}))
    (listed,) = streams.list_streams(TableName=TABLE)["Streams"]
    arn = listed["StreamArn"]
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    start = streams.get_shard_iterator(
        StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )
    (record,) = streams.get_records(ShardIterator=start["ShardIterator"])["Records"]
    assert record["eventName"] == "INSERT"
    assert record["dynamodb"]["NewImage"] == make_item("one", raw={"B": b"raw"})
    assert record["dynamodb"]["ApproximateCreationDateTime"].timestamp() == int(service.clock())


def test_errors_of_streams_are_the_exceptions_of_the_client(service: Service) -> None:
    client, streams = make_client(), import_module("boto3").client("dynamodbstreams")
    client.update_table(
        TableName=TABLE,
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )
    arn = client.describe_table(TableName=TABLE)["Table"]["LatestStreamArn"]
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    start = streams.get_shard_iterator(
        StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="LATEST"
    )
    service.clock.advance(15 * 60)
    with pytest.raises(streams.exceptions.ExpiredIteratorException):
        streams.get_records(ShardIterator=start["ShardIterator"])


def test_other_services_are_left_alone(service: Service) -> None:
    queues = import_module("boto3").client(
        "sqs", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    sent = respond(queues, b'{"QueueUrls":["there"]}')
    assert queues.list_queues()["QueueUrls"] == ["there"]
    assert sent[0].url == "https://sqs.eu-west-1.amazonaws.com/"
    assert b"Boto3" in sent[0].headers["User-Agent"]


def test_other_services_get_neither_keys_nor_region(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The last place where botocore would look for keys.
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    boto3, exceptions = import_module("boto3"), import_module("botocore.exceptions")
    with pytest.raises(exceptions.NoRegionError):
        boto3.client("sqs")
    with pytest.raises(exceptions.NoCredentialsError):
        boto3.client("sqs", region_name="eu-west-1").list_queues()


def test_after_leaving_clients_use_the_network_again() -> None:
    before: dict[str, Any] = {
        name: vars(base_client())[name]
        for name in ("_make_request", "_resolve_endpoint_ruleset", "_convert_to_request_dict")
    }
    with dynamodb():
        client = make_client()
        assert vars(base_client())["_make_request"] is not before["_make_request"]
    assert {name: vars(base_client())[name] for name in before} == before
    sent = respond(client, b'{"TableNames":["real"]}')
    assert client.list_tables()["TableNames"] == ["real"]
    assert sent[0].url == "https://dynamodb.us-east-1.amazonaws.com/"


def test_the_innermost_service_is_used() -> None:
    client = make_client(region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")
    with dynamodb() as outer:
        client.create_table(**CREATE)
        with dynamodb():
            assert client.list_tables()["TableNames"] == []
            client.create_table(**{**CREATE, "TableName": "Inner"})
        assert client.list_tables()["TableNames"] == [TABLE]
        assert outer.engine.execute("ListTables", {})["TableNames"] == [TABLE]


def test_services_may_be_left_in_any_order() -> None:
    first, second = dynamodb(), dynamodb()
    first.__enter__()
    second.__enter__().execute("CreateTable", CREATE)
    client = make_client()
    first.__exit__(None, None, None)
    assert client.list_tables()["TableNames"] == [TABLE]
    second.__exit__(None, None, None)
    sent = respond(client, b'{"TableNames":["real"]}')
    client.list_tables()
    assert len(sent) == 1


def test_a_later_patch_of_the_same_method_is_not_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def wrap(inner: Callable[..., Any]) -> Callable[..., Any]:
        def traced(*arguments: Any) -> Any:
            calls.append("traced")
            return inner(*arguments)

        return traced

    original = make_request_method()
    with dynamodb():
        monkeypatch.setattr(base_client(), "_make_request", wrap(base_client()._make_request))
        client = make_client()
        client.list_tables()
    respond(client, b'{"TableNames":["real"]}')
    assert client.list_tables()["TableNames"] == ["real"]
    assert calls == ["traced", "traced"]
    monkeypatch.undo()
    monkeypatch.setattr(base_client(), "_make_request", original)


def test_an_exception_inside_ends_the_service() -> None:
    original = make_request_method()
    with pytest.raises(ZeroDivisionError), dynamodb():
        _ = 1 / 0
    assert make_request_method() is original


def test_threads_share_the_service(service: Service) -> None:
    client = make_client()
    start = threading.Barrier(8)

    def work(worker: int) -> int:
        start.wait()
        own = make_client()
        for number in range(20):
            chosen = client if number % 2 else own
            chosen.put_item(TableName=TABLE, Item=make_item(f"{worker}-{number}"))
            chosen.update_item(
                TableName=TABLE,
                Key=key_of("plays"),
                UpdateExpression="ADD plays :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
            )
        return worker

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(work, range(8))) == list(range(8))
    assert client.scan(TableName=TABLE)["Count"] == 161
    plays = client.get_item(TableName=TABLE, Key=key_of("plays"))["Item"]["plays"]
    assert plays == {"N": "160"}


def keys_of(client: Any) -> str:
    return client._request_signer._credentials.access_key


def test_a_client_without_settings_gets_defaults() -> None:
    with dynamodb(region="eu-north-1") as service:
        client = make_client()
        assert (client.meta.region_name, keys_of(client)) == ("eu-north-1", "keyfold")
        service.execute("CreateTable", CREATE)
        arn = client.describe_table(TableName=TABLE)["Table"]["TableArn"]
        assert arn.startswith("arn:aws:dynamodb:eu-north-1:")


def test_explicit_client_settings_are_kept() -> None:
    with dynamodb():
        client = make_client(
            region_name="eu-west-1", aws_access_key_id="mine", aws_secret_access_key="x"
        )
        assert (client.meta.region_name, keys_of(client)) == ("eu-west-1", "mine")
        config = import_module("botocore.config").Config(region_name="eu-west-3")
        assert make_client(config=config).meta.region_name == "eu-west-3"
        session = import_module("boto3").Session("ours", "y", region_name="eu-west-2")
        client = session.client("dynamodb")
        assert (client.meta.region_name, keys_of(client)) == ("eu-west-2", "ours")


def test_settings_from_the_environment_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "sa-east-1")
    with dynamodb():
        client = make_client()
        assert (client.meta.region_name, keys_of(client)) == ("sa-east-1", "environment")


def test_settings_from_files_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / ".aws"
    folder.mkdir()
    (folder / "config").write_text("[default]\nregion = ca-west-1\n")
    (folder / "credentials").write_text(
        "[default]\naws_access_key_id = file\naws_secret_access_key = x\n"
    )
    with dynamodb():
        client = make_client()
        assert (client.meta.region_name, keys_of(client)) == ("ca-west-1", "file")


@pytest.mark.parametrize(
    "settings",
    [
        "credential_process = /bin/false",
        "sso_start_url = https://example.com\nsso_region = x\nsso_account_id = 1\nsso_role_name = x",
        "role_arn = arn:aws:iam::1:role/x\ncredential_source = Ec2InstanceMetadata",
    ],
)
def test_external_credential_providers_are_not_called(settings: str, tmp_path: Path) -> None:
    folder = tmp_path / ".aws"
    folder.mkdir()
    (folder / "config").write_text(f"[default]\n{settings}\n")
    with dynamodb():
        client = make_client()
        assert keys_of(client) == "keyfold"
        assert client.list_tables()["TableNames"] == []


def test_service_models_are_still_loaded() -> None:
    loaders = import_module("botocore.loaders")
    expected = loaders.Loader().load_service_model("dynamodb", "service-2")
    with dynamodb():
        assert loaders.Loader().load_service_model("dynamodb", "service-2") == expected
        with pytest.raises(import_module("botocore.exceptions").UnknownServiceError):
            loaders.Loader().load_service_model("nothing", "service-2")


def test_sessions_still_list_all_services() -> None:
    session = import_module("botocore.session").get_session()
    session.set_credentials("key", "secret")
    with dynamodb():
        session.create_client("dynamodb", region_name="eu-west-1")
        assert "s3" in session.get_available_services()
        unknown = import_module("botocore.exceptions").UnknownServiceError
        with pytest.raises(unknown, match="dynamodbx"):
            session.create_client("dynamodbx", region_name="eu-west-1")


@pytest.mark.parametrize("is_on", [True, False])
def test_the_state_of_garbage_collection_is_kept(is_on: bool) -> None:
    was_on = gc.isenabled()
    try:
        (gc.enable if is_on else gc.disable)()
        with dynamodb():
            make_client()
        assert gc.isenabled() is is_on
    finally:
        (gc.enable if was_on else gc.disable)()


def test_without_botocore_the_service_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.client", None)
    with dynamodb() as service:
        assert service.execute("ListTables", {}) == {"TableNames": []}


def test_presigned_urls_can_still_be_created(service: Service) -> None:
    url = make_client().generate_presigned_url("list_tables")
    assert url.startswith("https://dynamodb.us-east-1.amazonaws.com/?")
