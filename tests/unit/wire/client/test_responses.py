"""HTTP responses in any number of pieces, and bytes that are not a response."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.wire.client import _responses
from keyfold.wire.client._bodies import ResponseGarbled
from keyfold.wire.client._responses import Response, ResponseReader

HEAD = b"HTTP/1.1 200 OK\r\nDate: now\r\nx-amz-crc32:  7 \r\nX-Else: a\r\n"


def write_plain(body: bytes) -> bytes:
    return HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def write_chunks(body: bytes, sizes: list[int]) -> bytes:
    lines: list[bytes] = []
    for size in sizes:
        chunk, body = body[:size], body[size:]
        if chunk:
            lines.append(b"%X;note=1\r\n%b\r\n" % (len(chunk), chunk))
    if body:
        lines.append(b"%x\r\n%b\r\n" % (len(body), body))
    trailer = b"0\r\nX-Trailer: 1\r\n\r\n"
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(lines) + trailer


def feed(parts: list[bytes]) -> Response | None:
    reader = ResponseReader()
    response: Response | None = None
    for part in parts:
        assert response is None, "it was complete before the end"
        response = reader.feed(part)
    return response


def split(data: bytes, places: list[int]) -> list[bytes]:
    cuts = sorted({place % len(data) for place in places} - {0})
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@given(
    st.binary(max_size=300),
    st.lists(st.integers(1, 100), max_size=5),
    st.lists(st.integers(1, 2_000), max_size=8),
    st.booleans(),
    st.booleans(),
)
def test_a_response_may_arrive_in_any_number_of_pieces(
    body: bytes, sizes: list[int], places: list[int], is_chunked: bool, has_word: bool
) -> None:
    data = write_chunks(body, sizes) if is_chunked else write_plain(body)
    if has_word:
        data = b"HTTP/1.1 100 Continue\r\n\r\n" + data
    response = feed(split(data, places))
    assert response is not None
    assert (response.status, response.body, response.keeps_alive) == (200, body, True)
    assert response.headers[b"x-amz-crc32"] == b"7"


@pytest.mark.parametrize(
    ("data", "keeps_alive"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", True),
        (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", True),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nCONNECTION: Close\r\nContent-Length: 0\r\n\r\n", False),
        # Extra bytes after the body; both Content-Length and chunked encoding.
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200", False),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            False,
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nmore", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n", True),
    ],
)
def test_whether_a_connection_can_be_reused(data: bytes, keeps_alive: bool) -> None:
    response = feed([data])
    assert response is not None
    assert (response.body, response.keeps_alive) == (b"", keeps_alive)


def test_a_body_may_end_with_the_connection() -> None:
    reader = ResponseReader()
    assert reader.feed(b"HTTP/1.1 200 OK\r\n\r\nhal") is None
    assert reader.feed(b"f") is None
    assert reader.end() == Response(200, {}, b"half", keeps_alive=False)


@pytest.mark.parametrize(
    "data",
    [b"", b"HTTP/1.1 200", write_plain(b"whole")[:-1], write_chunks(b"whole", [])[:-1]],
)
def test_a_truncated_response_is_refused(data: bytes) -> None:
    reader = ResponseReader()
    assert reader.has_begun is False
    assert reader.feed(data) is None
    assert reader.has_begun is bool(data)
    assert reader.end() is None


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (b"SSH-2.0-OpenSSH\r\n\r\n", "is not HTTP"),
        (b"HTTP/2 200 OK\r\n\r\n", "is not HTTP"),
        (b"HTTP/1.1 2000 OK\r\n\r\n", "is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "the content length is b'many'"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "the content length is"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "the content length is",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "two different content lengths",
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "the transfer encoding is"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "size of a chunk is"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", "longer than it"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * 2_000, "is too long"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n", "more than"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000, "the head has more than"),
    ],
)
def test_invalid_responses_are_refused(data: bytes, fact: str) -> None:
    with pytest.raises(ResponseGarbled, match=fact):
        feed([data])


def test_the_length_of_a_body_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_responses, "MOST_BODY_BYTES", 10)
    reader = ResponseReader()
    assert reader.feed(b"HTTP/1.1 200 OK\r\n\r\n0123456789") is None
    with pytest.raises(ResponseGarbled, match="more than 10 bytes"):
        reader.feed(b"0")
