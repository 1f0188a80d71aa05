"""Clients that misbehave, over real sockets: none of them is in another's way.

Time limits are not met here: unit tests move the clock for those.
"""

from __future__ import annotations

import gzip
import json
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.wire.server import Limits, Server
from tests.examples import examples
from tests.fuzz.mutations import Sent
from tests.fuzz.talking import Line, Live, check_answers, serving
from tests.unit.wire.server.http import ask, get, head, make_table, put, write_request

KIB, MIB = 1 << 10, 1 << 20

HEALTH = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

_UNIT = Path(__file__).parents[1] / "unit/wire/server"


@pytest.fixture
def live() -> Iterator[Live]:
    """A server with one table."""
    with serving() as live:
        make_table(live.engine)
        yield live


@pytest.fixture
def strict() -> Iterator[Live]:
    """A server with one table that takes little."""
    limits = Limits(
        head_bytes=4 * KIB, body_bytes=64 * KIB, connections=8, buffered_bytes=256 * KIB
    )
    with serving(limits) as live:
        make_table(live.engine)
        yield live


def statuses(received: bytes) -> list[int]:
    return [answer.status for answer in check_answers(received)]


# Slow clients.


def test_slow_clients_are_answered_and_hold_nobody_up(live: Live) -> None:
    requests = [put(f"slow {i}") for i in range(20)]
    lines = [live.call() for _ in requests]
    for at in range(0, max(map(len, requests)), 7):
        for line, request in zip(lines, requests, strict=True):
            line.send(request[at : at + 7])
        if at % 70 == 0:
            live.check_health()
    assert [line.read_response().status for line in lines] == [200] * 20
    for line in lines:
        line.close()


def test_a_client_that_does_not_read_holds_up_nobody_but_itself(live: Live) -> None:
    assert statuses(live.exchange(put("large", text={"S": "x" * 300 * KIB}))) == [200]
    with live.call() as line:
        # Far more than fits between the two.
        sender = threading.Thread(target=line.send, args=(get("large") * 200,))
        sender.start()
        live.check_health()
        for _ in range(200):
            answer = line.read_response()
            assert answer.status == 200
            assert len(answer.json["Item"]["text"]["S"]) == 300 * KIB
        sender.join()


# Half-closed connections, and those that break.


def test_who_has_said_everything_may_close_that_half(live: Live) -> None:
    sent = put("a") + get("a") + ask("ListTables", {}) + HEALTH
    assert statuses(live.exchange(sent)) == [200] * 4


@pytest.mark.parametrize("end", [1, 30, 200, -1])
def test_a_request_that_is_cut_off_gets_no_answer_and_the_one_before_does(
    live: Live, end: int
) -> None:
    assert statuses(live.exchange(put("a") + put("b")[:end])) == [200]
    assert statuses(live.exchange(get("b"))) == [200]
    assert check_answers(live.exchange(get("b")))[0].json == {}


def test_connections_that_break_leave_nothing_behind(live: Live) -> None:
    large = put("large", text={"S": "x" * 300 * KIB})
    sends = [b"", HEALTH, get("large"), large[:-1], large * 3, get("large") * 50, b"\x16\x03"]
    for data in sends * 3:
        line = live.call()
        line.send(data)
        line.reset()
    assert statuses(live.exchange(large)) == [200]


# Too much.


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"x" * 8 * KIB, id="a line without an end"),
        pytest.param(b"POST /" + b"x" * 8 * KIB, id="a URL without an end"),
        pytest.param(b"POST / HTTP/1.1\r\nX: " + b"x" * 8 * KIB, id="a header without an end"),
        pytest.param(b"POST / HTTP/1.1\r\n" + b"X: y\r\n" * 2_000, id="headers without an end"),
        pytest.param(
            b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: y\r\n" % i for i in range(2_000)) + b"\r\n",
            id="many headers",
        ),
        pytest.param(b"\r\n" * 8 * KIB, id="empty lines"),
    ],
)
def test_a_head_that_is_too_long_is_refused(strict: Live, sent: bytes) -> None:
    with strict.call() as line:
        line.send(sent)
        assert statuses(line.read_rest()) == [400]


def test_a_body_that_is_too_long_is_refused_before_it_comes(strict: Live) -> None:
    with strict.call() as line:
        line.send(write_request({**head(), "Content-Length": str(64 * KIB + 1)}, b""))
        assert statuses(line.read_rest()) == [413]


def test_a_body_of_any_length_is_refused_once_it_is_too_long(strict: Live) -> None:
    with strict.call() as line:
        line.send(write_request({**head(), "Transfer-Encoding": "chunked"}, b""))
        for _ in range(65):
            line.send(b"400\r\n" + b" " * KIB + b"\r\n")
        assert statuses(line.read_rest()) == [413]


def test_a_body_of_just_the_longest_is_taken(strict: Live) -> None:
    body = json.dumps({"ExclusiveStartTableName": "xxx"}).encode().ljust(64 * KIB)
    assert statuses(strict.exchange(write_request(head(), body))) == [200]


def test_a_body_that_grows_too_long_is_refused(strict: Live) -> None:
    once = gzip.compress(b" " * 64 * MIB)
    bombs = (("gzip", once[: 60 * KIB], 413), ("gzip, gzip", gzip.compress(once), 415))
    for encoding, bomb, status in bombs:
        assert len(bomb) <= 64 * KIB
        sent = write_request({**head(), "Content-Encoding": encoding}, bomb)
        assert statuses(strict.exchange(sent)) == [status]


def test_who_goes_on_after_a_refusal_is_cut_off(strict: Live) -> None:
    with strict.call() as line:
        line.send(write_request({**head(), "Content-Length": str(1 << 40)}, b""))
        assert line.read_response().status == 413
        for _ in range(300):
            line.send(b" " * MIB)
        assert line.is_cut_off


def test_bodies_that_are_too_much_together_are_refused(strict: Live) -> None:
    whole = put("a", text={"S": "x" * 60 * KIB})
    lines = [strict.call() for _ in range(2)]
    for line in lines:
        line.send(whole[:-1])
    # When another connection is answered, the server has read what came before.
    strict.check_health()
    with strict.call() as late:
        late.send(whole[:-1])
        assert statuses(late.read_rest()) == [503]
    for line in lines:
        line.send(whole[-1:])
        assert line.read_response().status == 200
        line.close()


@pytest.mark.parametrize("body_bytes", [16 * MIB, 16 * MIB + 1])
def test_sixteen_mebibytes_are_the_most_unless_told_otherwise(live: Live, body_bytes: int) -> None:
    sent = write_request(head(), b"{}".ljust(body_bytes))
    assert statuses(live.exchange(sent)) == [200 if body_bytes == 16 * MIB else 413]


# Pipelines.


def test_a_long_pipeline_is_answered_in_order(live: Live) -> None:
    sent: list[bytes] = []
    for i in range(100):
        # The loop, a shared commit, and a thread answer these.
        sent += [put(f"k{i}", n={"N": str(i)}), get(f"k{i}"), ask("DescribeTable", {}), HEALTH]
    answers = check_answers(live.exchange(b"".join(sent)))
    assert [answer.status for answer in answers] == [200, 200, 400, 200] * 100
    assert [answer.json["Item"]["n"]["N"] for answer in answers[1::4]] == [
        str(i) for i in range(100)
    ]


def test_garbage_in_a_pipeline_ends_it(live: Live) -> None:
    assert statuses(live.exchange(put("a") + get("a") + b"\0\0\0" + put("b"))) == [200, 200, 400]
    assert check_answers(live.exchange(get("b")))[0].json == {}


def test_nothing_after_a_last_request_is_done(live: Live) -> None:
    last = get("a", Connection="close")
    assert statuses(live.exchange(put("a") + last + put("b"))) == [200, 200]
    assert check_answers(live.exchange(get("b")))[0].json == {}


# Bodies that come in pieces, or are asked for.


def test_a_client_may_ask_before_it_sends_its_body(live: Live) -> None:
    request = ask("ListTables", {}, Expect="100-continue")
    with live.call() as line:
        line.send(request[:-2])
        assert line.read_response().status == 100
        line.send(request[-2:])
        assert line.read_response().status == 200
        assert line.ask(HEALTH).status == 200


def test_who_asks_for_too_much_is_told_at_once(strict: Live) -> None:
    headers = {**head(), "Expect": "100-continue", "Content-Length": str(MIB)}
    with strict.call() as line:
        line.send(write_request(headers, b""))
        assert statuses(line.read_rest()) == [413]


@pytest.mark.parametrize(
    ("body", "answered"),
    [
        (b"2\r\n{}\r\n0\r\n\r\n", 200),
        (b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", 200),
        (b"2;name=value\r\n{}\r\n0\r\nTrailer: x\r\n\r\n", 200),
        (b"00002\r\n{}\r\n000\r\n\r\n", 200),
        (b"1000\r\n" + b"{}".ljust(4_096) + b"\r\n" + b"1\r\n \r\n" * 5_000 + b"0\r\n\r\n", 200),
        (b"zz\r\n{}\r\n0\r\n\r\n", 400),
        (b"-2\r\n{}\r\n0\r\n\r\n", 400),
        (b"\r\n{}\r\n0\r\n\r\n", 400),
        (b"2\r\n{}0\r\n\r\n", 400),
        (b"ffffffffffffffff\r\n{}", None),
        (b"fffffffffffffffff\r\n{}", 400),
        (b"2\r\n{}\r\n0\r\n" + b"X: y\r\n" * 20_000, None),
    ],
)
def test_a_body_in_chunks_is_taken_or_refused(
    live: Live, body: bytes, answered: int | None
) -> None:
    headers = {**head(), "Transfer-Encoding": "chunked"}
    received = live.exchange(write_request(headers, body))
    if answered is not None:
        assert statuses(received) == [answered]
    else:
        # It breaks off, or goes on for ever; either way nothing is carried out.
        assert set(statuses(received)) <= {400, 413}


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Length": "2", "Transfer-Encoding": "chunked"},
        {"Transfer-Encoding": "chunked", "content-length": "12"},
        {"Transfer-Encoding": "chunked, identity"},
        {"Transfer-Encoding": "xchunked"},
        {"Content-Length": "2", "content-length": "12"},
        {"Content-Length": "+2"},
        {"Content-Length": "2 2"},
        {"Content-Length": "-1"},
        {"Content-Length": "99999999999999999999"},
    ],
    ids=str,
)
def test_a_body_of_doubtful_length_is_not_taken(live: Live, headers: dict[str, str]) -> None:
    # What others would take for the start of a next request must not be carried out.
    body = b"2\r\n{}\r\n0\r\n\r\n" + put("smuggled")
    (status,) = statuses(live.exchange(write_request({**head(), **headers}, body)))
    assert status in {400, 413, 501}
    assert check_answers(live.exchange(get("smuggled")))[0].json == {}


# Floods.


def test_there_are_only_so_many_connections(strict: Live) -> None:
    lines = [strict.call() for _ in range(8)]
    assert [line.ask(HEALTH).status for line in lines] == [200] * 8
    for _ in range(50):
        with strict.call() as late:
            assert statuses(late.read_rest()) == [503]
    # Those who were first have not noticed.
    assert [line.ask(HEALTH).status for line in lines] == [200] * 8
    for line in lines:
        line.close()
    _wait_for_room(strict)


def test_a_flood_of_connections_passes(strict: Live) -> None:
    lines = [strict.call() for _ in range(300)]
    for line in lines:
        line.send(get("a"))
    answered = [line.read_rest() if i >= 8 else b"" for i, line in enumerate(lines)]
    assert {status for received in answered for status in statuses(received)} <= {503}
    for line in lines:
        line.close()
    _wait_for_room(strict)


def _wait_for_room(live: Live) -> None:
    """Ask until the server has noticed that others have hung up."""
    while statuses(live.exchange(HEALTH)) != [200]:
        pass


def test_what_finds_no_room_to_wait_is_refused() -> None:
    entered, leave = threading.Semaphore(0), threading.Event()

    class Busy:
        """A service that takes its time."""

        def execute_parsed(self, operation: str, request: object) -> dict[str, object]:
            entered.release()
            leave.wait()
            return {}

    # As many as threads run them, so that each of them begins.
    server = Server(Busy(), limits=Limits(waiting=2))
    with server.running() as url:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        lines = [Line(address) for _ in range(2)]
        for line in lines:
            line.send(get("a"))
            entered.acquire()
        with Line(address) as late:
            assert late.ask(get("a")).status == 503
            assert late.ask(HEALTH).status == 200
        leave.set()
        assert [line.read_response().status for line in lines] == [200] * 2
        for line in lines:
            line.close()


# Garbage.


def _client_hello() -> bytes:
    """What a client sends first that expects TLS."""
    context = ssl.create_default_context()
    outgoing = ssl.MemoryBIO()
    stream = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        stream.do_handshake()
    return outgoing.read()


def _garbage() -> dict[str, bytes]:
    return {
        "TLS": _client_hello(),
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0",
        "SSH": b"SSH-2.0-OpenSSH_9.9\r\n",
        "SMTP": b"EHLO example.org\r\nMAIL FROM:<a@example.org>\r\n",
        "Redis": b"*1\r\n$4\r\nPING\r\n",
        "SOCKS": b"\x05\x01\x00",
        "JSON": b'{"TableName": "Things"}\n',
        "zeros": bytes(1_000),
        "ones": b"\xff" * 1_000,
        "HTTP/0.9": b"GET /\r\n",
        "an answer": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    }


@pytest.mark.parametrize("name", _garbage())
def test_other_protocols_are_refused(live: Live, name: str) -> None:
    assert set(statuses(live.exchange(_garbage()[name]))) <= {400}


def test_whoever_says_nothing_gets_no_answer(live: Live) -> None:
    assert live.exchange(b"") == b""


def test_garbage_on_a_port_for_tls_is_no_trouble(capfd: pytest.CaptureFixture[str]) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(_UNIT / "tls/cert.pem", _UNIT / "tls/key.pem")
    trusting = ssl.create_default_context(cafile=_UNIT / "tls/cert.pem")
    with serving(tls=context) as live:
        hello = _client_hello()
        for data in (*_garbage().values(), b"", hello[:50], hello + hello, HEALTH):
            with live.call() as line:
                line.send(data)
                line.end()
                line.read_rest()
        line = live.call()
        line.send(hello)
        line.reset()
        with live.call(trusting) as line:
            assert line.ask(HEALTH).status == 200
    assert capfd.readouterr().err == ""


@examples(50, 2_000)
@given(pieces=st.lists(st.binary(min_size=1, max_size=5_000).map(Sent), max_size=20))
def test_random_bytes_are_refused(pieces: list[bytes]) -> None:
    """Have a connection refused on which only noise comes."""
    with serving() as live, live.call() as line:
        for piece in pieces:
            line.send(piece)
        line.end()
        # Noise may begin as a request for a head alone does, which gets no body.
        answers = check_answers(line.read_rest(), may_lack_bodies=True)
        assert {answer.status for answer in answers} <= {400}
