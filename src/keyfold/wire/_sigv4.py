"""AWS Signature Version 4, shared by the client, which signs, and the server, which verifies.

Everything is bytes, as sent on the wire: a signature covers bytes, whatever they mean.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256
from urllib.parse import quote_from_bytes, unquote_to_bytes

ALGORITHM = "AWS4-HMAC-SHA256"
TERMINATOR = "aws4_request"

# Copying a new hash is cheaper than creating one, for which OpenSSL looks up the algorithm.
_new_hash = sha256().copy


class SigningKey:
    """The key that signs the requests of one day to one service in one region.

    It keeps the two states of HMAC that depend on the key alone.
    """

    __slots__ = ("inner", "outer")

    def __init__(self, key: bytes) -> None:
        padded = key.ljust(sha256().block_size, b"\0")
        self.inner = sha256(bytes(byte ^ 0x36 for byte in padded))
        self.outer = sha256(bytes(byte ^ 0x5C for byte in padded))


class BegunSignature:
    """The signature of requests that differ only in their bodies.

    It keeps the states of the hash and the HMAC before the first byte that depends on the body.
    `to_sign` and `canonical` lack only their hashes.
    """

    __slots__ = ("_inner", "_outer", "_request")

    def __init__(self, key: SigningKey, to_sign: bytes, canonical: bytes) -> None:
        self._request = sha256(canonical)
        self._inner = key.inner.copy()
        self._inner.update(to_sign)
        self._outer = key.outer

    def finish(self, body: bytes) -> str:
        """Return the signature of a request with this body, in hexadecimal."""
        hashed, request = _new_hash(), self._request.copy()
        hashed.update(body)
        request.update(hashed.hexdigest().encode())
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(request.hexdigest().encode())
        outer.update(inner.digest())
        return outer.hexdigest()


def derive_key(secret_key: str, day: str, region: str, service: str) -> SigningKey:
    """Return the signing key of one day, region and service."""
    key = f"AWS4{secret_key}".encode()
    for part in (day, region, service, TERMINATOR):
        key = hmac.digest(key, part.encode(), "sha256")
    return SigningKey(key)


def begin_canonical_request(
    headers: Iterable[tuple[bytes, bytes]],
    *,
    method: bytes = b"POST",
    path: bytes = b"/",
    query: bytes = b"",
) -> tuple[bytes, bytes]:
    """Return a canonical request up to the hash of its body, and the signed header names.

    `headers` must be sorted, with names in lower case; all arguments must be canonical already.
    """
    pairs = list(headers)
    names = b";".join(name for name, _ in pairs)
    lines = b"".join(b"%b:%b\n" % pair for pair in pairs)
    return b"%b\n%b\n%b\n%b\n%b\n" % (method, path, query, lines, names), names


def begin_string_to_sign(timestamp: str, scope: str) -> bytes:
    """Return the string to sign, up to the hash of the canonical request."""
    return f"{ALGORITHM}\n{timestamp}\n{scope}\n".encode()


def canonicalize_path(path: bytes) -> bytes:
    """Return the canonical form of a path as sent: normalised, and percent-encoded once more.

    >>> canonicalize_path(b"/a/./b/../c%20d//")
    b'/a/c%2520d/'
    """
    if path == b"/":
        return path
    steps: list[bytes] = []
    for step in path.split(b"/"):
        if step == b"..":
            del steps[-1:]
        elif step not in (b"", b"."):
            steps.append(step)
    plain = b"/" + b"/".join(steps)
    if steps and path.endswith(b"/"):
        plain += b"/"
    return quote_from_bytes(plain, safe="/").encode()


def canonicalize_query(query: bytes) -> bytes:
    """Return the canonical form of a query as sent: encoded uniformly, and sorted.

    >>> canonicalize_query(b"b=2&a=%7e&a=!&c")
    b'a=%21&a=~&b=2&c='
    """
    if not query:
        return query
    pairs = [part.partition(b"=") for part in query.split(b"&") if part]
    encoded = sorted((_encode(name), _encode(value)) for name, _, value in pairs)
    return b"&".join(b"%b=%b" % pair for pair in encoded)


def canonicalize_value(value: bytes) -> bytes:
    """Return the canonical form of a header's value: trimmed, with runs of spaces collapsed.

    >>> canonicalize_value(b"  a   b ")
    b'a b'
    """
    return b" ".join(value.split())


def _encode(text: bytes) -> bytes:
    return quote_from_bytes(unquote_to_bytes(text), safe="").encode()
