"""Web pages cannot use a server on the machine of the developer who visits them."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from botocore.exceptions import ClientError

from keyfold.engine import Engine
from keyfold.errors import OptionInvalid
from keyfold.wire.server import Server, make_policy_gate
from keyfold.wire.server._browsers import BrowserRules
from keyfold.wire.server._metrics import Metrics
from tests.unit.wire.server.http import CREATE, TABLE, Response, Wire, ask, get, head, write_request
from tests.unit.wire.server.test_server import exchange

Connect = Callable[..., Wire]


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", CREATE)
        engine.execute("PutItem", {"TableName": TABLE, "Item": {"pk": {"S": "a"}}})
        yield engine


@pytest.fixture
def connect(engine: Engine) -> Iterator[Connect]:
    """Yield a function that takes the arguments of BrowserRules."""
    wires: list[Wire] = []

    def connect(*arguments: object, **options: object) -> Wire:
        rules = BrowserRules(*arguments, **options)  # pyright: ignore[reportArgumentType]
        wires.append(Wire(engine, browsers=rules))
        return wires[-1]

    yield connect
    for wire in wires:
        wire.close()


def status_of(wire: Wire, **headers: str | None) -> int:
    (response,) = wire.exchange(get("a", **headers))
    return response.status


def message_of(response: Response) -> str:
    assert response.json["__type"].endswith("#AccessDeniedException")
    return response.json["message"]


def assert_untouched(engine: Engine) -> None:
    assert engine.execute("Scan", {"TableName": TABLE})["Count"] == 1


DELETE = {"TableName": TABLE}

LOOPBACK = (
    *(
        "localhost",
        "localhost:8000",
        "LocalHost:8000",
        "localhost.",
        "localhost.:8000",
        "localhost:",
    ),
    *("app.localhost", "a.b.localhost:1", "127.0.0.1", "127.0.0.1:8000", "127.255.1.9"),
    *("[::1]", "[::1]:8000", "[0:0:0:0:0:0:0:1]"),
)

NOT_LOOPBACK = (
    *("", ":8000", "evil.example", "evil.example:8000", "localhost.evil.example", "notlocalhost"),
    *("127.0.0.1.evil.example", "127.0.0.1.nip.io", "128.0.0.1", "0.0.0.0", "10.0.0.1"),
    # Browsers send an address in its usual form, whatever form the URL has.
    *("127.1", "0x7f.0.0.1", "2130706433", "0177.0.0.1", "127.0.0.01", "127.0.0.1.2"),
    *("[::]", "[::2]", "[fe80::1%25lo]", "[::1%lo]", "[::1", "::1", "::1:8000", "[::1]x", "[]"),
    *("[::ffff:127.0.0.1]", "[127.0.0.1]", "[localhost]"),
    *("ada@localhost", "localhost@evil.example", "localhost/", "localhost#", "localhost evil"),
    *("localhost:80:80", "localhost:x", "localhost:123456", "localhost:-1", "localhost:\uff180"),
    *("localhost..", ".localhost", "..localhost", "a..localhost", ".", "localhost,evil.example"),
    *("l\u00f6calhost", "localhost\u00a0", "\u24db", "xn--lcalhost-n4a", "host.docker.internal"),
)


@pytest.mark.parametrize("host", LOOPBACK)
def test_loopback_names_are_accepted(connect: Connect, host: str) -> None:
    assert status_of(connect(), Host=host) == 200
    wire = connect()
    assert [status_of(wire, Host=host) for _ in range(3)] == [200, 200, 200]


@pytest.mark.parametrize("host", NOT_LOOPBACK)
def test_any_other_host_is_refused(connect: Connect, engine: Engine, host: str) -> None:
    sent = head("DeleteTable", Host=None)
    raw = write_request(sent, b'{"TableName": "Things"}')
    raw = raw.replace(b"\r\n", b"\r\nHost: " + host.encode() + b"\r\n", 1)
    (response,) = connect().exchange(raw)
    assert response.status == 403
    assert "--allow-host" in message_of(response)
    assert response.headers["connection"] == "close"
    assert_untouched(engine)


def test_the_error_names_the_option_and_the_name(connect: Connect) -> None:
    (response,) = connect().exchange(get("a", Host="host.docker.internal:8000"))
    assert message_of(response) == (
        "Host host.docker.internal:8000 is not a name of this machine, so a web page may have sent "
        "the request. If it is yours, start the server with --allow-host host.docker.internal"
    )


def test_what_an_answer_quotes_is_bounded_and_plain(connect: Connect) -> None:
    (response,) = connect().exchange(get("a", Host="x" * 9_000 + ".example"))
    assert len(response.body) < 600
    (response,) = connect().exchange(get("a", Host="evil\x9b31m<script>"))
    assert "evil?31m<script>" in message_of(response)
    assert response.headers["content-type"] == "application/x-amz-json-1.0"


def test_a_request_without_a_host_is_no_browsers(connect: Connect) -> None:
    wire = connect()
    raw = write_request({}, b"", method="GET", version="1.0")
    assert [each.status for each in wire.exchange(raw)] == [200]
    assert status_of(wire, Host=None) == 200


@pytest.mark.parametrize("url", ["/", "/metrics", "/healthz", "http://localhost/", "*"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT"])
def test_every_path_is_checked(connect: Connect, method: str, url: str) -> None:
    if method == "HEAD":
        connection, transport = connect().connect()
        connection.data_received(
            write_request({"Host": "evil.example"}, b"", method="HEAD", url=url)
        )
        assert transport.written.startswith(b"HTTP/1.1 403 ")
        assert transport.written.endswith(b"\r\n\r\n")
        return
    for headers in (
        {"Host": "evil.example"},
        {"Host": "localhost", "Origin": "http://evil.example"},
    ):
        (response,) = connect().exchange(write_request(headers, b"", method=method, url=url))
        assert response.status == 403


def test_a_url_with_a_host_does_nothing(connect: Connect, engine: Engine) -> None:
    raw = write_request(head("DeleteTable"), b'{"TableName": "Things"}', url="http://evil.example/")
    (response,) = connect().exchange(raw)
    assert response.status == 404
    assert_untouched(engine)


def test_an_accepted_host_does_not_vouch_for_the_next(connect: Connect) -> None:
    connection, transport = connect().connect()
    connection.data_received(get("a") + get("a", Host="evil.example") + get("a"))
    assert transport.written.count(b"HTTP/1.1 200 OK") == 1
    assert transport.written.count(b"HTTP/1.1 403 Forbidden") == 1
    assert transport.written.count(b"HTTP/1.1") == 2


def test_hosts_are_remembered_within_a_bound(connect: Connect) -> None:
    wire = connect()
    for number in range(200):
        assert status_of(wire, Host=f"a{number}.localhost") == 200
    assert len(wire.state.browsers.known_hosts) <= 64
    assert status_of(wire, Host="evil.example") == 403


# Origins.

ALLOWED_ORIGINS = (
    *(
        "http://localhost",
        "http://localhost:3000",
        "https://localhost:8443",
        "http://app.localhost",
    ),
    *("http://127.0.0.1:5173", "http://[::1]:80", "HTTP://LOCALHOST:3000"),
)

OTHER_ORIGINS = (
    *("null", "", "*", "http://evil.example", "https://evil.example:8000", "http://localhost.evil"),
    *("http://localhost@evil.example", "http://evil.example#localhost", "file://", "file:///x"),
    *("chrome-extension://abcdef", "tauri://localhost", "localhost", "//localhost", "http://"),
    *("http://localhost/", "http://localhost:3000/page", "http://[::1]evil", "http://10.0.0.1"),
    *("http://localhost http://evil.example", "http://localhost, http://evil.example", "\xff"),
)


@pytest.mark.parametrize("origin", ALLOWED_ORIGINS)
def test_pages_of_this_machine_may_use_the_server(connect: Connect, origin: str) -> None:
    (response,) = connect().exchange(get("a", Origin=origin))
    assert response.status == 200
    assert response.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize("any_host", [False, True])
@pytest.mark.parametrize("origin", OTHER_ORIGINS)
def test_other_pages_may_not(connect: Connect, engine: Engine, origin: str, any_host: bool) -> None:
    wire = connect(any_host=any_host)
    (response,) = wire.exchange(ask("DeleteTable", DELETE, Origin=origin))
    assert response.status == 403
    assert "--allow-origin" in message_of(response)
    assert not [name for name in response.headers if name.startswith("access-control")]
    assert_untouched(engine)


def test_a_preflight_of_another_page_is_refused(connect: Connect) -> None:
    asked = {"Host": "localhost", "Access-Control-Request-Method": "POST"}
    for origin, status in (("https://evil.example", 403), ("http://localhost:3000", 200)):
        raw = write_request({**asked, "Origin": origin}, b"", method="OPTIONS")
        (response,) = connect().exchange(raw)
        assert response.status == status
        assert ("access-control-allow-methods" in response.headers) is (status == 200)


def test_a_simple_form_of_a_page_does_nothing(connect: Connect, engine: Engine) -> None:
    """A form needs no preflight, and may send any text."""
    raw = ask("DeleteTable", DELETE, Origin="null", Content_Type="text/plain")
    (response,) = connect().exchange(raw)
    assert response.status == 403
    assert_untouched(engine)


def test_named_origins_are_allowed(connect: Connect) -> None:
    wire = connect((), ("https://App.Example", "http://10.0.0.5:3000", "tauri://localhost"))
    for origin in ("https://app.example", "https://app.example:443", "http://10.0.0.5:3000"):
        assert status_of(wire, Origin=origin) == 200
    assert status_of(wire, Origin="tauri://localhost") == 200
    for origin in ("http://app.example", "https://app.example:8443", "http://10.0.0.5"):
        assert status_of(wire, Origin=origin) == 403


def test_a_named_page_from_the_internet_may_ask_for_the_local_network(connect: Connect) -> None:
    asked = {
        "Host": "localhost",
        "Origin": "https://app.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Private-Network": "true",
    }
    raw = write_request(asked, b"", method="OPTIONS")
    (response,) = connect((), ["https://app.example"]).exchange(raw)
    assert response.headers["access-control-allow-private-network"] == "true"


# Options.


def test_named_hosts_are_accepted(connect: Connect) -> None:
    wire = connect(("Host.Docker.Internal", "*.test", "fd00::1", "b\u00fccher.example"))
    for host in ("host.docker.internal:8000", "a.test", "a.b.test", "[fd00::1]:1"):
        assert status_of(wire, Host=host) == 200
    assert status_of(wire, Host="xn--bcher-kva.example") == 200
    assert status_of(wire, Host="localhost") == 200
    for host in ("docker.internal", "test", "xtest", "internal", "[fd00::2]", "evil.example"):
        assert status_of(wire, Host=host) == 403


@pytest.mark.parametrize("name", ["", "*", "a:80", "a/b", "http://a", "*.10.0.0.1", "a b", "."])
def test_an_invalid_host_option_is_refused(name: str) -> None:
    with pytest.raises(OptionInvalid, match=r"^allow_host: got "):
        BrowserRules([name])


@pytest.mark.parametrize("origin", ["", "*", "null", "app.example", "https://a/b", "https://*.a"])
def test_an_invalid_origin_option_is_refused(origin: str) -> None:
    with pytest.raises(OptionInvalid, match=r"^allow_origin: got "):
        BrowserRules((), [origin])


def test_refusals_are_logged_within_a_bound(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    wire = connect()
    with caplog.at_level(logging.WARNING, "keyfold.server"):
        for number in range(200):
            status_of(wire, Host=f"a{number}.example")
            status_of(wire, Host="evil.example")
    assert 2 < len(caplog.records) <= 64
    assert "--allow-host a0.example" in caplog.records[0].getMessage()


# Servers on sockets.


def test_beyond_loopback_hosts_are_checked_if_some_are_named(engine: Engine) -> None:
    with Server(engine, host="0.0.0.0", insecure=True).running() as url:
        assert exchange(url, get("a", Host="db.internal")).status == 200
        assert exchange(url, get("a", Origin="http://evil.example")).status == 403
    named = Server(engine, host="0.0.0.0", insecure=True, allow_host=["db.internal"])
    with named.running() as url:
        assert exchange(url, get("a", Host="db.internal:8000")).status == 200
        assert exchange(url, get("a", Host="localhost")).status == 200
        assert exchange(url, get("a", Host="evil.example")).status == 403


def test_a_server_beyond_loopback_needs_a_gate(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(OptionInvalid, match=r"host: got '0\.0\.0\.0'\. .*--insecure"):
        asyncio.run(Server(engine, host="0.0.0.0").start())
    policy = tmp_path / "policy.json"
    policy.write_text('{"Version": "2012-10-17", "Statement": []}')
    policy.chmod(0o600)
    gate = make_policy_gate(str(policy), engine.find_key_names)
    with Server(engine, host="0.0.0.0", gate=gate).running() as url:
        assert url.startswith("http://0.0.0.0:")


def test_metrics_are_for_this_machine(engine: Engine) -> None:
    with Server(engine, metrics=Metrics()).running() as url:
        for headers, status in (
            ({"Host": "localhost"}, 200),
            ({"Host": "evil.example"}, 403),
            ({"Host": "localhost", "Origin": "http://evil.example"}, 403),
        ):
            raw = write_request(headers, b"", method="GET", url="/metrics")
            assert exchange(url, raw).status == status


def name_another_host(request: Any, **_: Any) -> None:
    request.headers["Host"] = "host.docker.internal"


def test_boto3_shows_which_option_is_missing(engine: Engine) -> None:
    with Server(engine).running() as url:
        client = cast(Any, boto3).client(
            "dynamodb",
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
        )
        client.meta.events.register("before-send.dynamodb.*", name_another_host)
        with pytest.raises(ClientError, match=r"--allow-host host\.docker\.internal"):
            client.list_tables()


# The command.


def serve(*options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "keyfold", "serve", "--memory", "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--host", "0.0.0.0"], "--host: got '0.0.0.0'."),
        (["--allow-host", "a:80"], "--allow-host: got 'a:80'."),
        (["--allow-origin", "null"], "--allow-origin: got 'null'."),
    ],
)
def test_the_command_refuses_to_start(options: list[str], message: str) -> None:
    with serve(*options) as process:
        _, errors = process.communicate()
    assert process.returncode == 2
    assert message in errors


def test_the_command_takes_the_options() -> None:
    options = ["--host", "0.0.0.0", "--insecure", "--allow-host", "db.internal"]
    with serve(*options, "--allow-origin", "https://app.example") as process:
        assert process.stdout is not None
        url = process.stdout.readline().split(" at ")[1].split()[0]
        sent = {"Host": "db.internal", "Origin": "https://app.example"}
        assert exchange(url, write_request(sent, b"", method="GET")).status == 200
        sent = {"Host": "other.internal"}
        assert exchange(url, write_request(sent, b"", method="GET")).status == 403
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate()
    assert process.returncode == 0
    assert "--allow-host other.internal" in errors
