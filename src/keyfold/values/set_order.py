"""The order of a set's members.

DynamoDB leaves it open. DynamoDB Local sorts them, and tests of clients rely on that. Since equal sets
are then equal as stored, `==` compares items.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Iterable
from decimal import Decimal


def sort_members(kind: str, members: Iterable[str]) -> list[str]:
    """Return members of a set in their order; each is in canonical form, and `kind` is SS, NS or BS.

    Numbers are sorted by value, strings by their UTF-8 bytes, and binaries by their bytes.

    >>> sort_members("NS", ["10", "9", "-1"])
    ['-1', '9', '10']
    """
    if kind == "NS":
        return sorted(members, key=Decimal)
    # Python compares strings by code points, whose order is that of their UTF-8 bytes.
    return sorted(members, key=a2b_base64 if kind == "BS" else None)
