"""The JSON of requests: valid, and not too deep."""

from __future__ import annotations

import pytest

from keyfold.api.large_bodies import MAX_DEPTH
from keyfold.errors import SerializationException
from keyfold.service._bodies import parse_json


def nest(depth: int) -> bytes:
    return (
        b'{"a":' * (depth // 2)
        + b"[" * (depth % 2 + depth // 2)
        + b"]" * (depth % 2 + depth // 2)
        + b"}" * (depth // 2)
    )


def test_json_is_returned() -> None:
    assert parse_json(b'{"a": [1, "x"], "b": null}') == {"a": [1, "x"], "b": None}
    many = b"[" + b",".join([b"{}"] * 1_000) + b"]"
    assert parse_json(many) == [{}] * 1_000


@pytest.mark.parametrize("body", [b"", b"{", b"nope", b'{"a":1}}', b"\xff", b'"\xed\xa0\x80"'])
def test_what_is_not_json_is_refused(body: bytes) -> None:
    with pytest.raises(SerializationException):
        parse_json(body)


def test_depth_is_bounded() -> None:
    assert parse_json(nest(MAX_DEPTH))
    for depth in (MAX_DEPTH + 1, 1_000, 100_000):
        with pytest.raises(SerializationException):
            parse_json(nest(depth))
