"""Connections: requests in pieces, pipelined, too large, too slow, or invalid."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from keyfold.engine import Engine
from keyfold.wire.server import Limits
from tests.unit.wire.server.http import (
    TABLE,
    FakeTransport,
    Response,
    Wire,
    ask,
    get,
    head,
    make_table,
    put,
    read_responses,
    write_request,
)

LIMITS = Limits(
    head_bytes=2_000,
    body_bytes=3_000,
    connections=3,
    waiting=2,
    buffered_bytes=50_000,
    pipelined=4,
    receive_seconds=10.0,
    send_seconds=20.0,
    idle_seconds=30.0,
)


@pytest.fixture
def strict() -> Iterator[Wire]:
    """Yield connections with small limits and short timeouts."""
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        make_table(engine)
        wire = Wire(engine, LIMITS)
        yield wire
        wire.close()


def names(responses: list[Response]) -> list[str | None]:
    """Return the key of the item in each response."""
    return [response.json.get("Item", {}).get("pk", {}).get("S") for response in responses]


def test_a_request_may_come_byte_by_byte(wire: Wire) -> None:
    wire.exchange(put("a"))
    connection, transport = wire.connect()
    for byte in get("a"):
        connection.data_received(bytes((byte,)))
    assert names(read_responses(transport.written)) == ["a"]


def test_a_connection_serves_many_requests(wire: Wire) -> None:
    connection, transport = wire.connect()
    for number in range(20):
        connection.data_received(put(str(number)))
        wire.run_until_idle()
    assert [response.status for response in read_responses(transport.written)] == [200] * 20
    assert not transport.is_closed


def test_pipelined_requests_are_answered_in_their_order(wire: Wire) -> None:
    # A write waits for its commit and a read does not, but the read must not overtake it.
    responses = wire.exchange(put("a") + get("a") + put("b") + get("b") + get("c"))
    assert [response.status for response in responses] == [200] * 5
    assert names(responses) == [None, "a", None, "b", None]


def test_a_client_that_pipelines_too_many_requests_is_paused(strict: Wire) -> None:
    connection, transport = strict.connect()
    for _ in range(LIMITS.pipelined + 2):
        connection.data_received(put("a"))
    assert transport.is_paused
    strict.run_until_idle()
    assert not transport.is_paused
    assert len(read_responses(transport.written)) == LIMITS.pipelined + 2


@pytest.mark.parametrize(
    ("version", "header", "keeps_alive"),
    [
        ("1.1", None, True),
        ("1.1", "close", False),
        ("1.0", None, False),
        ("1.0", "keep-alive", True),
    ],
)
def test_the_client_decides_whether_the_connection_is_kept(
    wire: Wire, version: str, header: str | None, keeps_alive: bool
) -> None:
    connection, transport = wire.connect()
    connection.data_received(write_request(head("GetItem", Connection=header), version=version))
    (response,) = read_responses(transport.written)
    assert response.headers["connection"] == ("keep-alive" if keeps_alive else "close")
    assert transport.is_closed is not keeps_alive


def test_requests_after_connection_close_are_not_answered(wire: Wire) -> None:
    last = write_request(head("GetItem", Connection="close"))
    assert len(wire.exchange(last + get("a"))) == 1


def test_a_client_may_half_close_the_connection_and_still_get_its_response(wire: Wire) -> None:
    connection, transport = wire.connect()
    connection.data_received(put("a"))
    assert connection.eof_received(), "a complete request is still to be answered"
    wire.run_until_idle()
    assert [response.status for response in read_responses(transport.written)] == [200]
    assert transport.is_closed


def test_a_client_that_disconnects_mid_request_is_forgotten(wire: Wire) -> None:
    connection, _ = wire.connect()
    connection.data_received(put("a")[:-5])
    assert not connection.eof_received()
    connection.connection_lost(None)
    assert (wire.state.memory.pooled_bytes, wire.state.clients) == (0, set())


def test_a_write_is_completed_even_if_its_client_disconnects(wire: Wire) -> None:
    connection, transport = wire.connect()
    connection.data_received(put("a"))
    transport.abort()
    connection.connection_lost(ConnectionResetError())
    wire.run_until_idle()
    assert transport.written == b""
    assert names(wire.exchange(get("a"))) == ["a"]


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in (*chunks, b""))


def test_a_body_may_come_in_chunks(wire: Wire) -> None:
    headers = head("ListTables", Transfer_Encoding="chunked")
    (response,) = wire.exchange(write_request(headers, chunked(b"{", b'"Limit":', b"1}")))
    assert response.status == 200


def test_trailers_of_a_chunked_body_are_ignored(wire: Wire) -> None:
    headers = head("ListTables", Transfer_Encoding="chunked")
    trailer = b"X-Amz-Target: DynamoDB_20120810.DescribeLimits\r\n\r\n"
    sent = write_request(headers, chunked(b"{}").removesuffix(b"\r\n") + trailer)
    first, second = wire.exchange(sent + ask("ListTables", {}))
    assert first.json == second.json == {"TableNames": [TABLE]}


def test_expect_100_continue_is_answered_before_the_body(wire: Wire) -> None:
    connection, transport = wire.connect()
    sent = get("a", Expect="100-continue")
    connection.data_received(sent[:-2])
    assert transport.written == b"HTTP/1.1 100 Continue\r\n\r\n"
    transport.written = b""
    connection.data_received(sent[-2:])
    assert [response.status for response in read_responses(transport.written)] == [200]


def test_an_upgrade_to_another_protocol_is_ignored(wire: Wire) -> None:
    offer = get("a", Connection="Upgrade, HTTP2-Settings", Upgrade="h2c", HTTP2_Settings="AAA")
    assert [response.status for response in wire.exchange(offer)] == [200]
    # Bodies are not modified.
    text = {"S": "\r\nUpgrade: h2c"}
    wire.exchange(put("a", text=text))
    (response,) = wire.exchange(get("a"))
    assert response.json["Item"]["text"] == text


def refused_status(transport: FakeTransport) -> int:
    """Return the status of the response that ended the connection."""
    response = read_responses(transport.written)[-1]
    assert response.headers["connection"] == "close"
    assert transport.has_eof or transport.is_closed
    return response.status


LONG = "x" * 2_001


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"garbage\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 50, 400),
        (b"GET / HTTP/9.9\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (write_request(head(), url=f"/{LONG}"), 400),
        (write_request(head(Extra=LONG)), 400),
        (b"GET /" + LONG.encode(), 400),
        (b"GET / HTTP/1.1\r\nExtra: " + LONG.encode(), 400),
        (write_request(head(), b" " * 3_001), 413),
        (write_request(head(Content_Length="3001"), b""), 413),
        (write_request(head(Transfer_Encoding="chunked"), chunked(b" " * 3_001)), 413),
        (write_request(head(Expect="100-continue", Content_Length="3001"), b""), 413),
        (write_request(head(Expect="the unexpected")), 417),
        # Split so that it is not recognised as an upgrade: refused instead of ignored.
        (b"POST / HTTP/1.1\r\nConnection: upgrade\r\n upgrade: h2c\r\n\r\n", 400),
    ],
)
def test_invalid_or_oversized_requests_are_refused(strict: Wire, sent: bytes, status: int) -> None:
    connection, transport = strict.connect()
    connection.data_received(sent)
    assert refused_status(transport) == status
    assert strict.state.memory.pooled_bytes == 0
    # What follows is read and discarded, so that the client can read the response.
    connection.data_received(get("a") * 10)
    assert len(read_responses(transport.written)) == 1
    assert [response.status for response in strict.exchange(get("a"))] == [200]


def test_a_refused_head_request_gets_no_body(strict: Wire) -> None:
    connection, transport = strict.connect()
    connection.data_received(write_request(head(Extra=LONG), b"", method="HEAD"))
    (response,) = read_responses(transport.written, has_bodies=False)
    assert (response.status, response.body) == (400, b"")


def test_a_refused_client_that_keeps_sending_is_disconnected(strict: Wire) -> None:
    connection, transport = strict.connect()
    connection.data_received(b"garbage\r\n\r\n")
    for _ in range(65):
        connection.data_received(b" " * (1 << 20))
    assert transport.is_aborted


def test_earlier_requests_are_answered_before_a_refusal(strict: Wire) -> None:
    connection, transport = strict.connect()
    connection.data_received(put("a") + put("b") + b"garbage\r\n\r\n")
    assert transport.written == b""
    strict.run_until_idle()
    assert [each.status for each in read_responses(transport.written)] == [200, 200, 400]
    assert transport.has_eof


def test_the_number_of_waiting_requests_is_limited(strict: Wire) -> None:
    clients = [strict.connect() for _ in range(3)]
    for connection, _ in clients:
        connection.data_received(put("a"))
    strict.run_until_idle()
    responses = [read_responses(transport.written)[0] for _, transport in clients]
    assert [response.status for response in responses] == [200, 200, 503]
    assert responses[2].json["__type"].endswith("#ServiceUnavailable")
    # This header tells our clients that the request was not executed.
    undone = [response.headers.get("x-keyfold-undone") for response in responses]
    assert undone == [None, None, "true"]
    # The refused client may retry on the same connection.
    connection, transport = clients[2]
    transport.written = b""
    connection.data_received(put("a"))
    strict.run_until_idle()
    assert [response.status for response in read_responses(transport.written)] == [200]


def test_an_idle_connection_is_closed(strict: Wire) -> None:
    _, transport = strict.connect()
    strict.wait(LIMITS.idle_seconds)
    assert not transport.is_closed
    strict.wait(1.0)
    assert transport.is_closed


@pytest.mark.parametrize("start", [10, -20], ids=["head", "body"])
def test_a_request_has_to_arrive_in_time(strict: Wire, start: int) -> None:
    connection, transport = strict.connect()
    sent = get("a")
    connection.data_received(sent[:start])
    for byte in sent[start:][:10]:
        # A byte now and then, as in a slowloris attack.
        strict.wait(1.0)
        assert not transport.is_closed
        connection.data_received(bytes((byte,)))
    strict.wait(1.0)
    assert refused_status(transport) == 408


def test_a_response_has_to_be_read_in_time(strict: Wire) -> None:
    connection, transport = strict.connect()
    connection.pause_writing()
    connection.data_received(get("a"))
    assert transport.written == b"", "nothing more is begun while the client does not read"
    strict.wait(LIMITS.send_seconds)
    connection.resume_writing()
    assert len(read_responses(transport.written)) == 1
    connection.pause_writing()
    strict.wait(LIMITS.send_seconds + 1.0)
    assert transport.is_aborted


def test_a_connection_that_waits_for_a_response_is_not_idle(strict: Wire) -> None:
    connection, transport = strict.connect()
    connection.data_received(put("a"))
    strict.wait(1_000.0)
    assert not transport.is_closed
    strict.run_until_idle()
    assert len(read_responses(transport.written)) == 1


def test_stopping_finishes_complete_requests(wire: Wire) -> None:
    idle, busy = wire.connect(), wire.connect()
    busy[0].data_received(put("a") + put("b"))
    wire.state.stop()
    assert idle[1].is_closed
    assert not busy[1].is_closed
    wire.run_until_idle()
    (first, *_) = read_responses(busy[1].written)
    assert (first.status, first.headers["connection"]) == (200, "close")
    assert busy[1].is_closed
