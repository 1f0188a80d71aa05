from __future__ import annotations

import gzip
import random
import zlib

import pytest

from keyfold.wire.server._encodings import (
    BodyTooLong,
    EncodingInvalid,
    SeveralCodings,
    TooManyMembers,
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


@pytest.mark.parametrize("encoding", [b"identity, GZIP ", b"gzip, identity,identity"])
def test_identity_does_not_count_as_a_coding(encoding: bytes) -> None:
    assert decode(gzip.compress(b"abc"), encoding, 100) == b"abc"
    assert decode(b"abc", b"identity, Identity", 100) == b"abc"


@pytest.mark.parametrize("encoding", [b"deflate, gzip", b"gzip, gzip", b"gzip," * 1_000])
def test_a_body_that_was_encoded_twice_is_refused(encoding: bytes) -> None:
    with pytest.raises(SeveralCodings):
        decode(gzip.compress(zlib.compress(b"abc")), encoding, 100)


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


def test_a_gzip_has_a_limited_number_of_members() -> None:
    member = gzip.compress(b"a", mtime=0)
    assert decode(member * 16, b"gzip", 16) == b"a" * 16
    assert decode(gzip.compress(b"") * 16, b"gzip", 0) == b""
    for count in (17, 10_000):
        with pytest.raises(TooManyMembers):
            decode(member * count, b"gzip", 1 << 20)


@pytest.mark.parametrize("longest", [0, 899_999])
def test_a_body_is_not_decompressed_beyond_the_limit(longest: int) -> None:
    bomb = gzip.compress(b" " * 300_000) * 3
    with pytest.raises(BodyTooLong):
        decode(bomb, b"gzip", longest)
    assert len(decode(bomb, b"gzip", 900_000)) == 900_000


def test_a_body_may_be_32_times_as_large_as_sent() -> None:
    bomb = gzip.compress(b" " * 3_000_000)
    assert 32 * len(bomb) < 3_000_000
    with pytest.raises(BodyTooLong):
        decode(bomb, b"gzip", 1 << 24)
    items = random.Random(7).randbytes(70_000)
    body = items + b" " * 2_000_000
    assert decode(gzip.compress(body), b"gzip", 1 << 24) == body


@pytest.mark.parametrize("size", [0, 1, 1 << 18, (1 << 18) + 1, (1 << 20) - 1, 3_000_001])
@pytest.mark.parametrize("kind", ["spaces", "noise", "both"])
def test_slices_do_not_show(kind: str, size: int) -> None:
    noise = random.Random(size).randbytes(size)
    spaces = b" " * min(size, 1 << 19)
    body = {"spaces": spaces, "noise": noise, "both": spaces + noise + spaces}[kind]
    for encoding in (b"gzip", b"deflate"):
        assert decode(encode(body, encoding), encoding, 1 << 24) == body
    members = gzip.compress(body) + gzip.compress(noise[:100])
    assert decode(members, b"gzip", 1 << 24) == body + noise[:100]
    for cut in (1, 9):
        with pytest.raises(EncodingInvalid):
            decode(members[:-cut], b"gzip", 1 << 24)
