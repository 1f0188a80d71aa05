"""Encoding of keys as bytes that sort in DynamoDB's order.

Strings sort by their UTF-8 bytes, binaries as unsigned bytes, numbers by value. A row's
key starts with a hash of its partition key, so a scan visits the partitions in an order
that is stable but unrelated to their keys, as on DynamoDB.
"""

from __future__ import annotations

from binascii import a2b_base64
from struct import Struct
from zlib import crc32

# A four-byte hash and a two-byte length, both big-endian.
_pack_prefix = Struct(">IH").pack
# -12 must sort after -123: the digits of a negative number are inverted and terminated by a
# byte greater than any of them.
_MIRRORED = bytes(range(254, -1, -1)) + b"\xff"


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
        digits = fraction.lstrip("0")
        exponent = len(digits) - len(fraction) - 1
    else:
        exponent = len(whole) - 1
        digits = (whole + fraction).rstrip("0")
    body = bytes.fromhex(digits if len(digits) % 2 == 0 else digits + "0")
    # Exponents run from -130 to 125, so this fits a byte.
    biased = exponent + 130
    if negative:
        return b"\x40" + bytes((255 - biased,)) + body.translate(_MIRRORED) + b"\xff"
    return b"\xc0" + bytes((biased,)) + body


def encode_scalar(kind: str, data: str) -> bytes:
    """Encode the value of a key attribute; `kind` is S, N or B."""
    if kind == "S":
        return data.encode()
    if kind == "N":
        return encode_number(data)
    return a2b_base64(data)


def encode_partition(partition: bytes) -> bytes:
    """Return the row key prefix that all rows of a partition share, and no other rows have."""
    return _pack_prefix(crc32(partition), len(partition)) + partition


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
