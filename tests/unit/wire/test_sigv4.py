"""Signature Version 4, checked against the examples that AWS publishes."""

from __future__ import annotations

import hmac

import pytest

from keyfold.wire._sigv4 import (
    BegunSignature,
    begin_canonical_request,
    begin_string_to_sign,
    canonicalize_path,
    canonicalize_query,
    canonicalize_value,
    derive_key,
)

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TIMESTAMP = "20150830T123600Z"


def test_the_signing_key_is_that_of_awss_example() -> None:
    key = derive_key(SECRET, "20150830", "us-east-1", "iam")
    expected = "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9"
    for text in (b"", b"text", b"x" * 1_000):
        inner, outer = key.inner.copy(), key.outer.copy()
        inner.update(text)
        outer.update(inner.digest())
        assert outer.hexdigest() == hmac.digest(bytes.fromhex(expected), text, "sha256").hex()


def test_the_signature_is_that_of_awss_example() -> None:
    headers = [
        (b"content-type", b"application/x-www-form-urlencoded; charset=utf-8"),
        (b"host", b"iam.amazonaws.com"),
        (b"x-amz-date", TIMESTAMP.encode()),
    ]
    canonical, names = begin_canonical_request(
        headers, method=b"GET", query=canonicalize_query(b"Action=ListUsers&Version=2010-05-08")
    )
    assert names == b"content-type;host;x-amz-date"
    key = derive_key(SECRET, "20150830", "us-east-1", "iam")
    to_sign = begin_string_to_sign(TIMESTAMP, "20150830/us-east-1/iam/aws4_request")
    assert BegunSignature(key, to_sign, canonical).finish(b"") == (
        "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
    )


# AWS's test suite, by its case names: method, URL as sent, extra headers, body and signature.
SUITE: dict[str, tuple[bytes, bytes, dict[bytes, bytes], bytes, str]] = {
    "get-vanilla": (
        b"GET",
        b"/",
        {},
        b"",
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    ),
    "get-vanilla-query-order-key-case": (
        b"GET",
        b"/?Param2=value2&Param1=value1",
        {},
        b"",
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ),
    "get-header-key-duplicate": (
        b"GET",
        b"/",
        {b"my-header1": b"value2,value2,value1"},
        b"",
        "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
    ),
    "get-header-value-trim": (
        b"GET",
        b"/",
        {b"my-header1": b" value1", b"my-header2": b' "a   b   c"'},
        b"",
        "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
    ),
    "get-utf8": (
        b"GET",
        "/ሴ".encode(),
        {},
        b"",
        "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
    ),
    "get-unreserved": (
        b"GET",
        b"/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        {},
        b"",
        "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
    ),
    "get-slashes": (
        b"GET",
        b"//example//",
        {},
        b"",
        "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84",
    ),
    "get-space": (
        b"GET",
        b"/example space/",
        {},
        b"",
        "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741",
    ),
    "get-relative-relative": (
        b"GET",
        b"/example1/example2/../..",
        {},
        b"",
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    ),
    "post-vanilla": (
        b"POST",
        b"/",
        {},
        b"",
        "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
    ),
    "post-x-www-form-urlencoded": (
        b"POST",
        b"/",
        {b"content-type": b"application/x-www-form-urlencoded"},
        b"Param1=value1",
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    ),
}


@pytest.mark.parametrize(
    ("method", "url", "headers", "body", "expected"), SUITE.values(), ids=SUITE.keys()
)
def test_signatures_are_those_of_awss_test_suite(
    method: bytes, url: bytes, headers: dict[bytes, bytes], body: bytes, expected: str
) -> None:
    path, _, query = url.partition(b"?")
    signed = {b"host": b"example.amazonaws.com", b"x-amz-date": TIMESTAMP.encode(), **headers}
    canonical, _ = begin_canonical_request(
        sorted((name, canonicalize_value(value)) for name, value in signed.items()),
        method=method,
        path=canonicalize_path(path),
        query=canonicalize_query(query),
    )
    key = derive_key(SECRET, "20150830", "us-east-1", "service")
    to_sign = begin_string_to_sign(TIMESTAMP, "20150830/us-east-1/service/aws4_request")
    begun = BegunSignature(key, to_sign, canonical)
    assert begun.finish(b"another body") != expected
    assert begun.finish(body) == expected


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        (b"/", b"/"),
        (b"", b"/"),
        (b"/a/./b/../c%20d//", b"/a/c%2520d/"),
        (b"/a/b/c/../d", b"/a/b/d"),
        (b"/../../a", b"/a"),
        (b"/X/x~-._", b"/X/x~-._"),
        (b"/a/b/.", b"/a/b"),
    ],
)
def test_a_path_is_normalised_and_encoded_once_more(path: bytes, canonical: bytes) -> None:
    assert canonicalize_path(path) == canonical


@pytest.mark.parametrize(
    ("query", "canonical"),
    [
        (b"", b""),
        (b"b=2&a=%7e&a=!&c", b"a=%21&a=~&b=2&c="),
        (b"a=b=c&&", b"a=b%3Dc"),
        (b"a=/&A=+", b"A=%2B&a=%2F"),
    ],
)
def test_a_query_is_encoded_uniformly_and_sorted(query: bytes, canonical: bytes) -> None:
    assert canonicalize_query(query) == canonical
