"""AWS's Signature Version 4: what is signed and how, for those who sign and those who verify.

Everything is in bytes, as it is sent: a signature is one of bytes, whatever they mean.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256
from urllib.parse import quote_from_bytes, unquote_to_bytes

ALGORITHM = "AWS4-HMAC-SHA256"
TERMINATOR = "aws4_request"


def derive_key(secret_key: str, day: str, region: str, service: str) -> bytes:
    """Return the key of one day, region and service."""
    key = f"AWS4{secret_key}".encode()
    for part in (day, region, service, TERMINATOR):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def open_canonical_request(
    headers: Iterable[tuple[bytes, bytes]],
    *,
    method: bytes = b"POST",
    path: bytes = b"/",
    query: bytes = b"",
) -> tuple[bytes, bytes]:
    """Return a canonical request up to the hash of its body, and the names that it signs.

    `headers` are in order, their names in lower case; all is canonical already.
    """
    pairs = list(headers)
    names = b";".join(name for name, _ in pairs)
    lines = b"".join(b"%b:%b\n" % pair for pair in pairs)
    return b"%b\n%b\n%b\n%b\n%b\n" % (method, path, query, lines, names), names


def open_string_to_sign(moment: str, scope: str) -> bytes:
    """Return what is signed, up to the hash of the canonical request."""
    return f"{ALGORITHM}\n{moment}\n{scope}\n".encode()


def sign(key: bytes, to_sign: bytes, canonical: bytes, body: bytes) -> str:
    """Return the signature of a request whose opening parts are made already."""
    whole = canonical + sha256(body).hexdigest().encode()
    return hmac.digest(key, to_sign + sha256(whole).hexdigest().encode(), "sha256").hex()


def canonize_path(path: bytes) -> bytes:
    """Return a path, as it is sent, as it is signed: without detours, and encoded once more.

    >>> canonize_path(b"/a/./b/../c%20d//")
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


def canonize_query(query: bytes) -> bytes:
    """Return a query, as it is sent, as it is signed: encoded in one way, and in order.

    >>> canonize_query(b"b=2&a=%7e&a=!&c")
    b'a=%21&a=~&b=2&c='
    """
    if not query:
        return query
    pairs = [part.partition(b"=") for part in query.split(b"&") if part]
    encoded = sorted((_encode(name), _encode(value)) for name, _, value in pairs)
    return b"&".join(b"%b=%b" % pair for pair in encoded)


def canonize_value(value: bytes) -> bytes:
    """Return a header's value as it is signed: without needless spaces.

    >>> canonize_value(b"  a   b ")
    b'a b'
    """
    return b" ".join(value.split())


def _encode(text: bytes) -> bytes:
    return quote_from_bytes(unquote_to_bytes(text), safe="").encode()
