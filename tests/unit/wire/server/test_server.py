"""A server on a real socket: start, requests, metrics, stop."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from unittest import mock

import boto3
import pytest
from botocore.config import Config

from keyfold.engine import Engine
from keyfold.errors import AddressUnavailable, OptionInvalid
from keyfold.wire.server import Server
from keyfold.wire.server._metrics import Metrics
from keyfold.wire.server._process import ProcessSettings, load_tls
from keyfold.wire.server._state import ServerState
from tests.unit.wire.server.http import (
    TABLE,
    Response,
    ask,
    get,
    make_table,
    put,
    read_responses,
    write_request,
)

TLS = Path(__file__).parent / "tls"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        make_table(engine)
        yield engine


def address_of(url: str) -> tuple[str, int]:
    host, _, port = url.partition("://")[2].rpartition(":")
    return host.strip("[]"), int(port)


def exchange(url: str, sent: bytes) -> Response:
    """Send one request over a new connection and return its response."""
    with socket.create_connection(address_of(url)) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: client.recv(65_536), b""))
    (response,) = read_responses(received)
    return response


def test_a_client_finds_the_server(engine: Engine) -> None:
    with Server(engine).running() as url:
        assert exchange(url, put("a")).status == 200
        assert exchange(url, get("a")).json == {"Item": {"pk": {"S": "a"}}}
    assert engine.execute("Scan", {"TableName": TABLE})["Count"] == 1


def test_a_stopped_server_accepts_no_connections(engine: Engine) -> None:
    with Server(engine).running() as url:
        client = socket.create_connection(address_of(url))
        client.sendall(get("a"))
        assert client.recv(65_536)
    assert client.recv(65_536) == b"", "idle connections are closed"
    client.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address_of(url))


def test_stopping_answers_accepted_requests(engine: Engine) -> None:
    release, entered = threading.Event(), threading.Event()

    class Slow:
        def execute_parsed(self, operation: str, request: Any) -> dict[str, Any]:
            entered.set()
            release.wait()
            return engine.execute_parsed(operation, request)

    server, stop = Server(Slow()), ServerState.stop

    def stop_and_release(state: ServerState) -> None:
        stop(state)
        release.set()

    with mock.patch.object(ServerState, "stop", stop_and_release), server.running() as url:
        client = socket.create_connection(address_of(url))
        client.sendall(put("a"))
        entered.wait()
    received = b"".join(iter(lambda: client.recv(65_536), b""))
    client.close()
    (response,) = read_responses(received)
    assert (response.status, response.headers["connection"]) == (200, "close")
    assert engine.execute("Scan", {"TableName": TABLE})["Count"] == 1


def test_the_error_names_an_address_that_is_in_use(engine: Engine) -> None:
    with Server(engine).running() as url:
        _, port = address_of(url)
        with pytest.raises(AddressUnavailable) as raised:
            asyncio.run(Server(engine, port=port).start())
    assert str(raised.value) == (
        f"cannot listen on 127.0.0.1, port {port}: Address already in use. "
        "Give another port, or port 0 for any free one. [address-unavailable]"
    )


@pytest.mark.parametrize(("host", "port"), [("256.0.0.1", 0), ("127.0.0.1", 70_000)])
def test_the_error_names_an_invalid_address(engine: Engine, host: str, port: int) -> None:
    with pytest.raises(AddressUnavailable, match=f"cannot listen on {host}, port {port}"):
        asyncio.run(Server(engine, host=host, port=port).start())


def test_the_server_listens_on_other_addresses(engine: Engine) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with Server(engine, host="::1").running() as url:
        assert url.startswith("http://[::1]:")
        assert exchange(url, get("a")).status == 200


def test_boto3_connects_with_and_without_tls(engine: Engine) -> None:
    tls = load_tls(
        ProcessSettings(":memory:", tls_cert=f"{TLS}/cert.pem", tls_key=f"{TLS}/key.pem")
    )
    for server, verify in ((Server(engine), False), (Server(engine, tls=tls), f"{TLS}/cert.pem")):
        with server.running() as url:
            client = cast(Any, boto3).client(
                "dynamodb",
                endpoint_url=url,
                verify=verify,
                region_name="us-east-1",
                aws_access_key_id="any",
                aws_secret_access_key="any",
                config=Config(retries={"max_attempts": 0}),
            )
            client.put_item(TableName=TABLE, Item={"pk": {"S": url}, "b": {"B": b"\0\xff"}})
            item = client.get_item(TableName=TABLE, Key={"pk": {"S": url}})["Item"]
            assert item == {"pk": {"S": url}, "b": {"B": b"\0\xff"}}
            client.close()


def test_a_client_without_tls_does_no_harm(engine: Engine) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
    trusting = ssl.create_default_context(cafile=str(TLS / "cert.pem"))
    with Server(engine, tls=context).running() as url:
        with socket.create_connection(address_of(url)) as plain:
            plain.sendall(get("a"))
            assert b"200 OK" not in plain.recv(65_536)
        with (
            socket.create_connection(address_of(url)) as raw,
            trusting.wrap_socket(raw, server_hostname="localhost") as client,
        ):
            client.sendall(get("a"))
            assert client.recv(65_536).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize(
    ("cert", "key", "named"),
    [
        (None, "key.pem", "tls_cert"),
        ("absent.pem", "key.pem", "tls_cert"),
        ("cert.pem", "absent.pem", "tls_key"),
        ("key.pem", "key.pem", "tls_cert"),
    ],
)
def test_the_error_names_an_invalid_certificate(cert: str | None, key: str, named: str) -> None:
    path = None if cert is None else str(TLS / cert)
    with pytest.raises(OptionInvalid, match=f"^{named}: got "):
        load_tls(ProcessSettings(":memory:", tls_cert=path, tls_key=str(TLS / key)))


def test_the_access_log_has_a_line_for_each_response(engine: Engine) -> None:
    log = io.StringIO()
    with Server(engine, access_log=log).running() as url:
        response = exchange(url, get("a"))
        exchange(url, ask("GetItem", {"TableName": "absent", "Key": {}}))
        exchange(url, write_request({}, b"", method="GET", url="/" + "x" * 1_000))
    read, failed, lost = map(json.loads, log.getvalue().splitlines())
    assert read.pop("milliseconds") >= 0.0
    assert read.pop("time").endswith("+00:00")
    assert read.pop("client").startswith("127.0.0.1:")
    assert read == {
        "method": "POST",
        "url": "/",
        "operation": "GetItem",
        "status": 200,
        "request_bytes": len(get("a").partition(b"\r\n\r\n")[2]),
        "response_bytes": 2,
        "request_id": response.headers["x-amzn-requestid"],
    }
    assert (failed["status"], failed["error"]) == (400, "ResourceNotFoundException")
    assert (lost["status"], len(lost["url"])) == (404, 200)


def scrape(url: str) -> list[str]:
    response = exchange(url, write_request({}, b"", method="GET", url="/metrics"))
    assert response.status == 200
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    return response.body.decode().splitlines()


def test_metrics_count_calls_errors_time_and_capacity(engine: Engine) -> None:
    with Server(engine, metrics=Metrics()).running() as url:
        assert exchange(url, put("a")).json == {}, "capacity is reported only on request"
        for _ in range(3):
            assert exchange(url, get("a")).json == {"Item": {"pk": {"S": "a"}}}
        request = {"TableName": TABLE, "Key": {"pk": {"S": "a"}}, "ReturnConsumedCapacity": "TOTAL"}
        consumed = exchange(url, ask("GetItem", request)).json["ConsumedCapacity"]
        assert consumed == {"TableName": TABLE, "CapacityUnits": 0.5}
        exchange(url, ask("GetItem", {"TableName": "absent", "Key": {"pk": {"S": "a"}}}))
        exchange(url, write_request({}, b"", method="GET"))
        lines = scrape(url)
    assert 'keyfold_calls_total{operation="GetItem"} 5' in lines
    assert 'keyfold_calls_total{operation="PutItem"} 1' in lines
    assert 'keyfold_calls_total{operation="none"} 1' in lines
    error = 'keyfold_errors_total{operation="GetItem",type="ResourceNotFoundException"} 1'
    assert error in lines
    assert 'keyfold_latency_seconds_bucket{operation="GetItem",le="+Inf"} 5' in lines
    assert 'keyfold_latency_seconds_count{operation="GetItem"} 5' in lines
    capacity = "keyfold_capacity_units_total"
    assert f'{capacity}{{table="{TABLE}",operation="GetItem"}} 2' in lines
    assert f'{capacity}{{table="{TABLE}",operation="PutItem"}} 1' in lines


@pytest.mark.parametrize("authorization", [None, "AWS4-HMAC-SHA256 Credential=x", "Basic x"])
def test_metrics_change_nothing_for_reads_without_a_usual_authorization(
    engine: Engine, authorization: str | None
) -> None:
    sent = get("a", Authorization=authorization)
    with Server(engine).running() as plain, Server(engine, metrics=Metrics()).running() as counted:
        expected, response = exchange(plain, sent), exchange(counted, sent)
        lines = scrape(counted)
    assert (response.status, response.body) == (expected.status, expected.body)
    assert response.status == 400
    assert any(line.startswith("keyfold_errors_total{") for line in lines)


def test_metrics_of_several_processes_add_up() -> None:
    one, other = Metrics(), Metrics()
    for metrics, count in ((one, 2), (other, 3)):
        for _ in range(count):
            metrics.note_capacity("Query", {"TableName": 'a"b', "CapacityUnits": 0.5})
            metrics.note("Query", 0.001)
    one.collect = lambda own: [own, Metrics.from_json(other.to_json())]
    text = one.answer().body.decode()
    assert 'keyfold_calls_total{operation="Query"} 5' in text
    assert 'keyfold_capacity_units_total{table="a\\"b",operation="Query"} 2.5' in text


def test_metrics_are_off_by_default(engine: Engine) -> None:
    with Server(engine).running() as url:
        response = exchange(url, write_request({}, b"", method="GET", url="/metrics"))
    assert response.status == 404
