"""TLS connections: long messages, and servers that keep a client waiting."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from keyfold.errors import OutcomeUnknown, Unreachable
from keyfold.wire.client import Client, Retries, Timeouts
from tests.unit.wire.client.client_kinds import AnyClient, Kind, ScriptedServer, ok

TLS = Path(__file__).parents[1] / "server" / "tls"
ONCE = Retries(attempts=1)
ADD = {
    "TableName": "Music",
    "UpdateExpression": "ADD n :n",
    "ExpressionAttributeValues": {":n": {"N": "1"}},
}


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture
def server_tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
    return context


@pytest.fixture
def client_tls() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(TLS / "cert.pem"))


def test_long_requests_and_responses_arrive_complete(
    kind: Kind, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    """They consist of many TLS records and exceed the socket buffers."""
    text = "x" * 5_000_000
    answer = ok(b'{"Items":["%b"]}' % text.encode())
    with (
        ScriptedServer([answer] * 2, tls=server_tls) as server,
        AnyClient(kind, server.url, tls=client_tls) as client,
    ):
        for _ in range(2):
            assert client.execute("Scan", {"TableName": text}) == {"Items": [text]}
        assert server.connections == 1
        assert text.encode() in server.requests[1]


def test_a_stale_connection_is_noticed_before_anything_is_sent(
    kind: Kind, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    ended = threading.Event()

    def end(client: socket.socket) -> None:
        client.shutdown(socket.SHUT_RDWR)
        ended.set()

    with (
        ScriptedServer([ok()] * 2, tls=server_tls) as server,
        AnyClient(kind, server.url, retries=ONCE, tls=client_tls) as client,
    ):
        server.after = end
        assert client.execute("UpdateItem", ADD) == {}
        assert ended.wait(60)
        assert client.execute("UpdateItem", ADD) == {}
        assert server.connections == 2


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
def test_a_response_that_is_too_late_times_out(
    kind: Kind, answer: bytes, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    timeouts = Timeouts(read_seconds=0.02)
    with (
        ScriptedServer([answer], tls=server_tls) as server,
        AnyClient(kind, server.url, timeouts=timeouts, retries=ONCE, tls=client_tls) as client,
        pytest.raises(OutcomeUnknown, match=r"took longer|in time"),
    ):
        client.execute("UpdateItem", ADD)


@contextmanager
def half_a_record(context: ssl.SSLContext) -> Generator[str]:
    """Run a server that sends half a TLS record as its response; yield its URL."""

    def serve() -> None:
        client, _ = listener.accept()
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_side=True)
        with client, suppress(OSError):
            while True:
                try:
                    tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    client.sendall(outgoing.read())
                    incoming.write(client.recv(65_536))
            client.sendall(outgoing.read())
            client.recv(65_536)
            tls.write(ok(b"{}"))
            whole = outgoing.read()
            client.sendall(whole[: len(whole) // 2])
            client.recv(65_536)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(60)


def test_half_a_tls_record_times_out(
    kind: Kind, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    timeouts = Timeouts(read_seconds=0.02)
    with (
        half_a_record(server_tls) as url,
        AnyClient(kind, url, timeouts=timeouts, retries=ONCE, tls=client_tls) as client,
        pytest.raises(OutcomeUnknown, match=r"took longer|in time"),
    ):
        client.execute("UpdateItem", ADD)


@pytest.mark.parametrize("is_tls", [False, True])
def test_a_request_that_cannot_be_sent_is_unreachable(
    is_tls: bool, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    """A request that did not leave this machine cannot have arrived."""
    done = threading.Event()

    def serve() -> None:
        client, _ = listener.accept()
        with client:
            taken = server_tls.wrap_socket(client, server_side=True) if is_tls else client
            done.wait(60)
            taken.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        url = f"http{'s' * is_tls}://127.0.0.1:{listener.getsockname()[1]}"
        timeouts = Timeouts(read_seconds=0.02)
        with Client(url, timeouts=timeouts, retries=ONCE, tls=client_tls) as client:
            with pytest.raises(Unreachable, match=r"sending took longer than 0\.02 seconds"):
                client.execute("UpdateItem", {**ADD, "TableName": "x" * 20_000_000})
            done.set()
        thread.join(60)


def test_a_tiny_timeout_does_not_become_an_endless_one() -> None:
    """To the kernel, a timeout of zero means no limit."""
    with (
        ScriptedServer([b""]) as server,
        Client(server.url, timeouts=Timeouts(read_seconds=1e-9), retries=ONCE) as client,
        pytest.raises(OutcomeUnknown, match="waiting for the response took longer than 1e-09"),
    ):
        client.execute("UpdateItem", ADD)
