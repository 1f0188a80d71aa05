"""Clients against a real server: what they send, and how they read responses."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from keyfold.engine import Engine
from keyfold.errors import (
    ConditionalCheckFailedException,
    CredentialsMissing,
    ResourceNotFoundException,
    TransactionCanceledException,
    Unreachable,
)
from keyfold.wire.client import AsyncClient, Client, Credentials, Retries
from keyfold.wire.client._endpoints import Endpoint
from keyfold.wire.server import Server, _requests
from tests.unit.wire.client.client_kinds import AnyClient, Kind, ScriptedServer, ok
from tests.unit.wire.server.http import TABLE, make_table

TLS = Path(__file__).parents[1] / "server" / "tls"


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        make_table(engine)
        yield engine


def test_responses_and_errors_are_those_of_the_engine(kind: Kind, engine: Engine) -> None:
    key = engine.execute("DescribeTable", {"TableName": TABLE})["Table"]["KeySchema"]
    names = [each["AttributeName"] for each in key]
    item: dict[str, Any] = {name: {"S": "a"} for name in names}
    item |= {"b": {"B": b"\0"}, "l": {"L": [{"BS": [b"\1", b"\2"]}]}}
    with Server(engine).running() as url, AnyClient(kind, url) as client:
        assert client.execute("PutItem", {"TableName": TABLE, "Item": item}) == {}
        get = {"TableName": TABLE, "Key": {name: {"S": "a"} for name in names}}
        assert client.execute("GetItem", get) == engine.execute("GetItem", get) == {"Item": item}
        described = client.execute("DescribeTable", {"TableName": TABLE})
        assert described == engine.execute("DescribeTable", {"TableName": TABLE})
        with pytest.raises(ResourceNotFoundException) as missing:
            client.execute("Scan", {"TableName": "Nowhere"})
        assert (missing.value.status, missing.value.message) == (
            400,
            "Requested resource not found",
        )
        put = {
            "TableName": TABLE,
            "Item": item,
            "ConditionExpression": f"attribute_not_exists({names[0]})",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        with pytest.raises(ConditionalCheckFailedException) as unmet:
            client.execute("PutItem", put)
        assert unmet.value.fields == {"Item": item}
        with pytest.raises(TransactionCanceledException) as cancelled:
            client.execute("TransactWriteItems", {"TransactItems": [{"Put": put}]})
        reasons = cancelled.value.fields["CancellationReasons"]
        assert [(reason["Code"], reason["Item"]) for reason in reasons] == [
            ("ConditionalCheckFailed", item)
        ]


def test_long_responses_are_compressed_if_the_client_asks_for_it(kind: Kind) -> None:
    body = b'{"Items":[%b]}' % b",".join([b'{"pk":{"S":"a"}}'] * 500)
    packed = gzip.compress(body)
    headers = (b"Content-Encoding: gzip", b"x-amz-crc32: %d" % crc32(packed))
    for accepts, line in ((None, "identity"), (False, "identity"), (True, "gzip")):
        answer = ok(packed, *headers) if accepts else ok(body)
        with (
            ScriptedServer([answer]) as server,
            AnyClient(kind, server.url, accepts_gzip=accepts) as client,
        ):
            assert len(client.execute("Scan", {"TableName": "Music"})["Items"]) == 500
            assert f"Accept-Encoding: {line}\r\n".encode() in server.requests[0]


def test_our_server_sends_gzip_that_the_client_reads(kind: Kind, engine: Engine) -> None:
    key = engine.execute("DescribeTable", {"TableName": TABLE})["Table"]["KeySchema"]
    item = {**{each["AttributeName"]: {"S": "a"} for each in key}, "t": {"S": "x" * 10_000}}
    engine.execute("PutItem", {"TableName": TABLE, "Item": item})
    with Server(engine).running() as url, AnyClient(kind, url, accepts_gzip=True) as client:
        assert client.execute("Scan", {"TableName": TABLE})["Items"] == [item]


def test_our_server_accepts_compressed_requests(
    kind: Kind, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default after it has agreed, and not over loopback; with `sends_gzip`, from the start."""
    key = engine.execute("DescribeTable", {"TableName": TABLE})["Table"]["KeySchema"]
    item = {**{each["AttributeName"]: {"S": "a"} for each in key}, "t": {"S": "x" * 20_000}}
    put = {"TableName": TABLE, "Item": item}
    sent: list[tuple[bytes | None, int]] = []
    inner = _requests.read_call

    def record_request(request: _requests.HttpRequest, *limits: Any, **options: Any) -> Any:
        sent.append((request.headers.get(b"content-encoding"), len(request.body)))
        return inner(request, *limits, **options)

    monkeypatch.setattr("keyfold.wire.server._state.read_call", record_request)
    with Server(engine).running() as url:
        for is_near, sends, expected in (
            (True, None, [None, None]),
            (False, None, [None, b"gzip"]),
            (True, True, [b"gzip", b"gzip"]),
            (False, False, [None, None]),
        ):
            monkeypatch.setattr(Endpoint, "is_loopback", is_near)
            sent.clear()
            with AnyClient(kind, url, sends_gzip=sends) as client:
                for _ in range(2):
                    client.execute("PutItem", put)
            assert [encoding for encoding, _ in sent] == expected
            assert all((size < 1_000) is (encoding is not None) for encoding, size in sent)
    assert engine.execute("Scan", {"TableName": TABLE})["Items"] == [item]


def test_tls_is_verified(kind: Kind, engine: Engine) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
    trusting = ssl.create_default_context(cafile=str(TLS / "cert.pem"))
    with Server(engine, tls=context).running() as url:
        with AnyClient(kind, url, tls=trusting) as client:
            for _ in range(2):
                assert client.execute("ListTables", {})["TableNames"] == [TABLE]
        with (
            AnyClient(kind, url, retries=Retries(attempts=1)) as client,
            pytest.raises(Unreachable, match=r"(?i)certificate.verify.failed"),
        ):
            client.execute("ListTables", {})


def test_a_bundle_of_certificates_can_be_named(
    kind: Kind, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", str(TLS / "cert.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
    with Server(engine, tls=context).running() as url, AnyClient(kind, url) as client:
        assert client.execute("ListTables", {})["TableNames"] == [TABLE]


def test_nothing_is_sent_to_aws_without_credentials(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with AnyClient(kind, "dynamodb://eu-west-1") as client, pytest.raises(CredentialsMissing):
        client.execute("ListTables", {})


def test_session_tokens_are_sent(kind: Kind) -> None:
    credentials = Credentials("key", "secret", "the token")
    with (
        pytest.raises(CredentialsMissing),
        AnyClient(kind, "http://x", credentials=credentials) as bad,
    ):
        bad.execute("ListTables", {})
    credentials = Credentials("key", "secret", "token")
    with (
        ScriptedServer([ok()]) as server,
        AnyClient(kind, server.url, credentials=credentials) as client,
    ):
        client.execute("ListTables", {})
        (request,) = server.requests
    assert b"\r\nx-amz-security-token: token\r\n" in request
    assert b"x-amz-date;x-amz-security-token;x-amz-target, Signature=" in request


@pytest.mark.parametrize(
    ("operation", "service"),
    [("ListTables", b"DynamoDB_20120810"), ("ListStreams", b"DynamoDBStreams_20120810")],
)
def test_stream_operations_use_the_target_of_the_streams_service(
    kind: Kind, operation: str, service: bytes
) -> None:
    with ScriptedServer([ok()]) as server, AnyClient(kind, server.url) as client:
        client.execute(operation, {})
        assert b"x-amz-target: %b.%b\r\n" % (service, operation.encode()) in server.requests[0]


def test_streams_of_aws_have_a_separate_host() -> None:
    client = Client("dynamodb://eu-west-1", credentials=Credentials("key", "secret"))
    assert client._streams.endpoint.host == "streams.dynamodb.eu-west-1.amazonaws.com"
    assert client._tables.endpoint.host == "dynamodb.eu-west-1.amazonaws.com"
    assert len(client._pools) == 2
    client.close()


def test_sixteen_calls_run_at_once(engine: Engine) -> None:
    async def main(url: str) -> None:
        async with AsyncClient(url) as client:
            calls = (client.execute("ListTables", {}) for _ in range(64))
            assert await asyncio.gather(*calls) == [{"TableNames": [TABLE]}] * 64

    with Server(engine).running() as url:
        asyncio.run(main(url))


def test_slow_imports_are_deferred_until_needed() -> None:
    code = (
        "import sys, keyfold.wire.client\n"
        "keyfold.wire.client.Client('http://localhost:1')\n"
        "late = {'asyncio', 'configparser', 'email.utils', 'pathlib', 'random', 'ssl'}\n"
        "print(*(late & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == ""


def test_repr_shows_the_url(kind: Kind) -> None:
    with AnyClient(kind, "http://localhost:1") as client:
        shown: Any = client._client
        name = "Client" if kind == "sync" else "AsyncClient"
        assert repr(shown) == f"<{name} http://localhost:1>"
