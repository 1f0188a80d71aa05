"""Encoding of keys as bytes that sort in DynamoDB's order.

Strings sort by their UTF-8 bytes, binaries as unsigned bytes, numbers by value. A row's key starts
with a hash of its partition key, so a scan visits the partitions in the order of that hash. It is
the hash that DynamoDB has been observed to use: the MD5 of "Outliers" and the encoded partition
key. `tests/unit/engine/scan_orders.json` has the orders that others recorded.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable
from functools import partial
from hashlib import md5
from importlib import import_module
from struct import Struct
from typing import Protocol


class _Digest(Protocol):
    def digest(self) -> bytes: ...


def find_md5() -> Callable[[bytes], _Digest]:
    """Return CPython's own MD5, which takes half as long for a key as OpenSSL's (0.3 µs)."""
    try:
        return import_module("_md5").md5
    except ImportError:
        return partial(md5, usedforsecurity=False)


_new_md5 = find_md5()
_SALT = b"Outliers"
# The first four bytes of the hash, and a length of two bytes, big-endian.
_pack_prefix = Struct(">4sH").pack
_HASH_BYTES, _PREFIX_BYTES = 4, 6

# A number is an exponent of 100 and digits in base 100, as in Oracle's NUMBER.
_POSITIVE_EXPONENT, _NEGATIVE_EXPONENT = 193, 62
# From a byte of two decimal digits to a digit in base 100: plus one, and its complement.
_PAIRS = [byte // 16 * 10 + byte % 16 for byte in range(256)]
_DIGITS = bytes((pair + 1) % 256 for pair in _PAIRS)
_COMPLEMENTS = bytes((101 - pair) % 256 for pair in _PAIRS)
# -12 must sort after -12.3, so a byte greater than any complement ends a negative number, unless it
# has the most digits there can be.
_NEGATIVE_END = b"\x66"
_MAX_NUMBER_BYTES = 21


def encode_number(text: str) -> bytes:
    """Encode a canonical number so that byte order is numeric order.

    >>> sorted(["10", "9", "-3", "0", "0.5", "-30"], key=encode_number)
    ['-30', '-3', '0', '0.5', '9', '10']
    """
    if text == "0":
        return b"\x80"
    negative = text[0] == "-"
    whole, _, fraction = (text[1:] if negative else text).partition(".")
    if whole == "0":
        zeros = (len(fraction) - len(fraction.lstrip("0"))) // 2
        exponent = -1 - zeros
        digits = fraction[2 * zeros :]
    else:
        exponent = (len(whole) - 1) // 2
        digits = whole + fraction if len(whole) % 2 == 0 else f"0{whole}{fraction}"
    pairs = bytes.fromhex(digits if len(digits) % 2 == 0 else digits + "0").rstrip(b"\0")
    if negative:
        body = bytes((_NEGATIVE_EXPONENT - exponent,)) + pairs.translate(_COMPLEMENTS)
        return body if len(body) == _MAX_NUMBER_BYTES else body + _NEGATIVE_END
    return bytes((_POSITIVE_EXPONENT + exponent,)) + pairs.translate(_DIGITS)


def encode_scalar(kind: str, data: str) -> bytes:
    """Encode the value of a key attribute; `kind` is S, N or B."""
    if kind == "S":
        return data.encode()
    if kind == "N":
        return encode_number(data)
    return a2b_base64(data)


def encode_partition(partition: bytes) -> bytes:
    """Return the row key prefix that all rows of a partition share, and no other rows have."""
    return _pack_prefix(_new_md5(_SALT + partition).digest(), len(partition)) + partition


def hash_row_key(key: bytes) -> bytes:
    """Return the hash by which rows with the same key in an index are ordered.

    It is made of the partition key and the sort key, without anything between them.
    """
    return _new_md5(_SALT + key[_PREFIX_BYTES:]).digest()[:_HASH_BYTES]


def terminate_part(part: bytes) -> bytes:
    """Terminate one part of a joined key, so that joined parts sort part by part.

    >>> terminate_part(b"a") + b"z" < terminate_part(b"ab") + b"a"
    True
    """
    # A zero byte ends a part; a zero byte inside a part is escaped so that it sorts after that end.
    return part.replace(b"\0", b"\0\xff") + b"\0\x01"


def prefix_end(prefix: bytes) -> bytes | None:
    r"""Return the least bytes greater than all that start with `prefix`; None if there are none.

    >>> prefix_end(b"ab"), prefix_end(b"a\xff")
    (b'ac', b'b')
    """
    stripped = prefix.rstrip(b"\xff")
    if not stripped:
        return None
    return stripped[:-1] + bytes((stripped[-1] + 1,))
