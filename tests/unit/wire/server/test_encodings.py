from __future__ import annotations

import gzip
import zlib

import pytest

from keyfold.wire.server._encodings import (
    BodyTooLong,
    EncodingInvalid,
    choose_encoding,
    decode,
    encode,
)


@pytest.mark.parametrize(
    ("accepted", "chosen"),
    [
        ("identity", None),
        ("", None),
        ("br", None),
        ("x-gzip", None),
        ("gzip, deflate", "gzip"),
        ("br, identity, deflate, gzip", "deflate"),
        ("GZIP, identity", "gzip"),
        ("dog, gzip ,, cat", "gzip"),
        ("gzip;q=0.5, deflate;q=0.8", "deflate"),
        ("br, gzip;q=0, deflate; q = 0.5 , identity;q=0", "deflate"),
        ("*", "gzip"),
        ("*, deflate;q=0.5", "gzip"),
        ("*, deflate", "deflate"),
        ("*, gzip;q=0.5", "deflate"),
        ("*;q=0", None),
        ("gzip ;q=0", None),
        ('"gzip"', None),
        ("gzip br", None),
        ("gzip;q=31,deflate;q=51", "gzip"),
        ("deflate;q=0.5,gzip;q=0.x", "gzip"),
        ("deflate;q=-0.5,gzip;q=0.2", "gzip"),
        ("gzip;q=0, gzip;q=1, gzip;q=0", "gzip"),
    ],
)
def test_the_client_chooses_how_responses_are_compressed(accepted: str, chosen: str | None) -> None:
    expected = None if chosen is None else chosen.encode()
    assert choose_encoding(accepted.encode()) == expected


@pytest.mark.parametrize("encoding", [b"gzip", b"deflate"])
def test_compressed_bodies_are_restored(encoding: bytes) -> None:
    body = b"abc" * 10_000
    compressed = encode(body, encoding)
    assert len(compressed) < 1_000
    assert decode(compressed, encoding, 30_000) == body


def test_encodings_are_undone_in_the_reverse_order() -> None:
    body = gzip.compress(zlib.compress(b"abc"))
    assert decode(body, b"deflate, GZIP, identity", 100) == b"abc"


def test_a_gzip_may_have_several_members() -> None:
    assert decode(gzip.compress(b"ab") + gzip.compress(b"c"), b"gzip", 3) == b"abc"


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"{}", b"gzip"),
        (b"{}", b"deflate"),
        (b"", b"gzip"),
        (b"", b"deflate"),
        (gzip.compress(b"abc", mtime=0)[:-1], b"gzip"),
        (gzip.compress(b"abc", mtime=0) + b"junk", b"gzip"),
        (zlib.compress(b"ab") + zlib.compress(b"c"), b"deflate"),
        (b"{}", b"garbage"),
    ],
)
def test_a_body_in_another_encoding_is_refused(body: bytes, encoding: bytes) -> None:
    with pytest.raises(EncodingInvalid):
        decode(body, encoding, 1_000)


@pytest.mark.parametrize("longest", [0, 2_999_999])
def test_a_body_is_not_decompressed_beyond_the_limit(longest: int) -> None:
    bomb = gzip.compress(b" " * 1_000_000) * 3
    with pytest.raises(BodyTooLong):
        decode(bomb, b"gzip", longest)
    assert len(decode(bomb, b"gzip", 3_000_000)) == 3_000_000
