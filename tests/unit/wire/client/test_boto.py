"""A boto3 client used in place of our own client."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Self

import boto3
import pytest
from botocore.config import Config
from botocore.credentials import CredentialResolver

from keyfold.engine import Engine
from keyfold.errors import (
    ConditionalCheckFailedException,
    CredentialsMissing,
    InternalServerError,
    OptionInvalid,
    OutcomeUnknown,
    TransactionCanceledException,
    UnknownOperationException,
    Unreachable,
    ValidationException,
)
from keyfold.wire.client import Client
from keyfold.wire.client._boto import AsyncBotoClient, BotoClient
from keyfold.wire.server import Server
from tests.unit.wire.client.client_kinds import ScriptedServer

KEY = {"pk": {"S": "a"}}
ITEM = {**KEY, "b": {"B": b"\0"}}
PUT = {
    "TableName": "Music",
    "Item": ITEM,
    "ConditionExpression": "attribute_not_exists(pk)",
    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
}


def make(url: str, attempts: int = 1) -> Any:
    session: Any = boto3
    return session.client(
        "dynamodb",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
        config=Config(
            retries={"total_max_attempts": attempts, "mode": "standard"},
            connect_timeout=60,
            read_timeout=60,
        ),
    )


@pytest.fixture
def url() -> Iterator[str]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine, Server(engine).running() as url:
        yield url


def test_responses_and_errors_match_those_of_our_own_client(url: str) -> None:
    create = {
        "TableName": "Music",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    boto = make(url)
    theirs = BotoClient(boto)
    with Client(url) as ours:
        created = theirs.execute("CreateTable", create)["TableDescription"]
        described = ours.execute("DescribeTable", {"TableName": "Music"})["Table"]
        # A datetime has microseconds.
        assert created["CreationDateTime"] == pytest.approx(described["CreationDateTime"], abs=1e-5)
        assert theirs.execute("PutItem", PUT) == {}
        for operation, request in (
            ("GetItem", {"TableName": "Music", "Key": KEY}),
            ("Scan", {"TableName": "Music"}),
            ("ListTables", {}),
        ):
            assert theirs.execute(operation, request) == ours.execute(operation, request)
        for operation, request in (
            ("PutItem", PUT),
            ("TransactWriteItems", {"TransactItems": [{"Put": PUT}]}),
            ("Scan", {"TableName": "Nowhere"}),
            ("Scan", {"TableName": "Music", "Limit": 0}),
        ):
            outcomes: list[tuple[Any, ...]] = []
            for client in (theirs, ours):
                with pytest.raises(Exception) as caught:  # noqa: PT011 - both are compared
                    client.execute(operation, request)
                error: Any = caught.value
                facts: tuple[Any, ...] = (
                    error.__class__,
                    error.status,
                    error.message,
                    error.fields,
                )
                outcomes.append(facts)
            if operation == "Scan" and "Limit" in request:
                # boto3 validates it before sending.
                assert outcomes[0][0] is outcomes[1][0] is ValidationException
            else:
                assert outcomes[0] == outcomes[1]
    with pytest.raises(UnknownOperationException):
        theirs.execute("Nonsense", {})
    boto.close()


def error(kind: str, status: int = 400) -> bytes:
    body = b'{"__type":"com.amazonaws.dynamodb.v20120810#%b"}' % kind.encode()
    return b"HTTP/1.1 %d No\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


UNMET = error("ConditionalCheckFailedException")
FAILED = error("InternalServerError", 500)
CANCELLED = error("TransactionCanceledException")
WRITE = {"TransactItems": [{"Put": PUT}]}


@pytest.mark.parametrize(
    ("operation", "request_", "answers", "attempts", "expected"),
    [
        ("PutItem", PUT, [UNMET], 1, ConditionalCheckFailedException),
        # boto3 made an earlier attempt and does not report its outcome.
        ("PutItem", PUT, [FAILED, UNMET], 2, OutcomeUnknown),
        ("PutItem", PUT, [None, UNMET], 2, OutcomeUnknown),
        ("PutItem", PUT, [FAILED], 1, OutcomeUnknown),
        ("PutItem", PUT, [None], 1, OutcomeUnknown),
        ("TransactWriteItems", WRITE, [FAILED, CANCELLED], 2, TransactionCanceledException),
        ("TransactWriteItems", WRITE, [None], 1, OutcomeUnknown),
        ("Scan", {"TableName": "Music"}, [FAILED], 1, InternalServerError),
        ("Scan", {"TableName": "Music"}, [None], 1, Unreachable),
    ],
)
def test_failures_of_boto3_calls_become_the_right_errors(
    operation: str,
    request_: dict[str, Any],
    answers: list[bytes | None],
    attempts: int,
    expected: type[Exception],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)  # type: ignore[arg-type]
    with ScriptedServer(answers) as server:
        boto = make(server.url, attempts)
        with pytest.raises(expected):
            BotoClient(boto).execute(operation, request_)
        boto.close()


def test_a_refused_connection_is_unreachable_only_with_a_single_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)  # type: ignore[arg-type]
    with ScriptedServer([]) as server:
        url = server.url
    for attempts, expected in ((1, Unreachable), (2, OutcomeUnknown)):
        boto = make(url, attempts)
        with pytest.raises(expected):
            BotoClient(boto).execute("PutItem", PUT)
        boto.close()


def load_nothing(resolver: CredentialResolver) -> None:
    """Stand in for a resolver that finds no credentials."""


def test_a_client_without_credentials_raises_credentials_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CredentialResolver, "load_credentials", load_nothing)
    session: Any = boto3.Session()
    boto = session.client("dynamodb", region_name="us-east-1")
    with pytest.raises(CredentialsMissing, match="boto3 reports: Unable to locate credentials"):
        BotoClient(boto).execute("ListTables", {})
    boto.close()


def test_another_services_client_is_refused() -> None:
    session: Any = boto3
    s3 = session.client("s3", region_name="us-east-1")
    for client in (None, object(), s3, session):
        with pytest.raises(OptionInvalid, match=r"boto3\.client\('dynamodb'\)"):
            BotoClient(client)
    s3.close()


class AwaitableBoto:
    """A stand-in for an aioboto3 client: boto3's, with methods to be awaited."""

    def __init__(self, client: Any) -> None:
        self._client, self.meta = client, client.meta

    async def __aenter__(self) -> Self:
        return self

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        async def call(**request: Any) -> Any:
            await asyncio.sleep(0)
            return method(**request)

        return call


def test_an_async_boto_client_works_with_open_async_only(url: str) -> None:
    boto = make(url)
    client = AwaitableBoto(boto)
    with pytest.raises(OptionInvalid, match="Use open_async for an asynchronous client"):
        BotoClient(client)

    async def main() -> None:
        async_client = AsyncBotoClient(client)
        assert await async_client.execute("ListTables", {}) == {"TableNames": []}
        with pytest.raises(ValidationException, match="Parameter validation failed"):
            await async_client.execute("GetItem", {"TableName": "Music", "Key": 7})

    asyncio.run(main())
    boto.close()


def test_streams_need_a_separate_client(url: str) -> None:
    boto = make(url)
    session: Any = boto3
    streams = session.client(
        "dynamodbstreams",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    )
    with pytest.raises(
        OptionInvalid, match=r"also need a client from boto3\.client\('dynamodbstreams'\)"
    ):
        BotoClient(boto).execute("ListStreams", {})
    with pytest.raises(
        OptionInvalid, match=r"Give a client from boto3\.client\('dynamodbstreams'\)"
    ):
        BotoClient(boto, boto)
    assert BotoClient(boto, streams).execute("ListStreams", {}) == {"Streams": []}
    for client in (boto, streams):
        client.close()
