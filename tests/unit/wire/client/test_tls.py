"""Connections by TLS: long messages, and others that keep a client waiting."""

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
from tests.unit.wire.client.client_kinds import Kind, ScriptedServer, Side, ok

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
def serving() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
    return context


@pytest.fixture
def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(TLS / "cert.pem"))


def test_long_requests_and_answers_come_whole(
    kind: Kind, serving: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    """They are many records, and more than sockets hold."""
    text = "x" * 5_000_000
    answer = ok(b'{"Items":["%b"]}' % text.encode())
    with (
        ScriptedServer([answer] * 2, tls=serving) as server,
        Side(kind, server.url, tls=trusting) as client,
    ):
        for _ in range(2):
            assert client.execute("Scan", {"TableName": text}) == {"Items": [text]}
        assert server.connections == 1
        assert text.encode() in server.requests[1]


def test_a_stale_one_is_found_before_anything_is_sent(
    kind: Kind, serving: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    ended = threading.Event()

    def end(client: socket.socket) -> None:
        client.shutdown(socket.SHUT_RDWR)
        ended.set()

    with (
        ScriptedServer([ok()] * 2, tls=serving) as server,
        Side(kind, server.url, retries=ONCE, tls=trusting) as client,
    ):
        server.after = end
        assert client.execute("UpdateItem", ADD) == {}
        assert ended.wait(60)
        assert client.execute("UpdateItem", ADD) == {}
        assert server.connections == 2


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
def test_no_answer_in_time_is_an_end(
    kind: Kind, answer: bytes, serving: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    timeouts = Timeouts(read_seconds=0.02)
    with (
        ScriptedServer([answer], tls=serving) as server,
        Side(kind, server.url, timeouts=timeouts, retries=ONCE, tls=trusting) as client,
        pytest.raises(OutcomeUnknown, match=r"took longer|in time"),
    ):
        client.execute("UpdateItem", ADD)


@contextmanager
def half_a_record(context: ssl.SSLContext) -> Generator[str]:
    """A server that answers with the beginning of a record, and then no more."""

    def serve() -> None:
        client, _ = listener.accept()
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        talking = context.wrap_bio(incoming, outgoing, server_side=True)
        with client, suppress(OSError):
            while True:
                try:
                    talking.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    client.sendall(outgoing.read())
                    incoming.write(client.recv(65_536))
            client.sendall(outgoing.read())
            client.recv(65_536)
            talking.write(ok(b"{}"))
            whole = outgoing.read()
            client.sendall(whole[: len(whole) // 2])
            client.recv(65_536)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(60)


def test_half_a_record_is_no_answer(
    kind: Kind, serving: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    timeouts = Timeouts(read_seconds=0.02)
    with (
        half_a_record(serving) as url,
        Side(kind, url, timeouts=timeouts, retries=ONCE, tls=trusting) as client,
        pytest.raises(OutcomeUnknown, match=r"took longer|in time"),
    ):
        client.execute("UpdateItem", ADD)


@pytest.mark.parametrize("is_tls", [False, True])
def test_a_request_that_nobody_takes_has_changed_nothing(
    is_tls: bool, serving: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    """What does not leave this machine has not arrived at another."""
    done = threading.Event()

    def serve() -> None:
        client, _ = listener.accept()
        with client:
            taken = serving.wrap_socket(client, server_side=True) if is_tls else client
            done.wait(60)
            taken.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        url = f"http{'s' * is_tls}://127.0.0.1:{listener.getsockname()[1]}"
        timeouts = Timeouts(read_seconds=0.02)
        with Client(url, timeouts=timeouts, retries=ONCE, tls=trusting) as client:
            with pytest.raises(Unreachable, match=r"sending took longer than 0\.02 seconds"):
                client.execute("UpdateItem", {**ADD, "TableName": "x" * 20_000_000})
            done.set()
        thread.join(60)


def test_the_shortest_wait_is_no_endless_one() -> None:
    """To the kernel, no time at all means that there is no limit."""
    with (
        ScriptedServer([b""]) as server,
        Client(server.url, timeouts=Timeouts(read_seconds=1e-9), retries=ONCE) as client,
        pytest.raises(OutcomeUnknown, match="waiting for the answer took longer than 1e-09"),
    ):
        client.execute("UpdateItem", ADD)
