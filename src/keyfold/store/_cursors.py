"""Cursors: the position at which a page ended, encrypted and authenticated."""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode, urlsafe_b64encode
from binascii import b2a_base64
from typing import Any

import orjson

from keyfold.errors import CursorInvalid
from keyfold.store._sealing import SealBroken, is_sealed, seal, unseal
from keyfold.values import Item

_URL_SAFE = bytes.maketrans(b"+/", b"-_")


class CursorBox:
    """Seals and opens cursors with one key, for one principal."""

    def __init__(self, key: bytes, principal: str = "") -> None:
        self._key = key
        self._principal = principal

    def of(self, principal: str) -> CursorBox:
        """Return a box with the same key for another principal."""
        return CursorBox(self._key, principal)

    def seal(self, position: Item, binding: str) -> str:
        """Return the sealed cursor of a position; it opens only with the same binding."""
        # Binaries are written as base64 where there are any.
        return self.seal_bytes(orjson.dumps(position, _write_binary), binding)

    def open(self, cursor: str, binding: str) -> Item:
        """Return the position of a cursor; raises CursorInvalid."""
        return _from_text(orjson.loads(self.open_bytes(cursor, binding)))

    def seal_bytes(self, data: bytes, binding: str) -> str:
        """Return data as a sealed text, which opens only with the same binding."""
        sealed = seal(self._key, data, self._associated_data(binding))
        return b2a_base64(sealed, newline=False).translate(_URL_SAFE, b"=").decode()

    def open_bytes(self, cursor: str, binding: str) -> bytes:
        """Return the data of a sealed text; raises CursorInvalid."""
        try:
            padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
            raw = b64decode(padded, b"-_", validate=True)
        except (AttributeError, UnicodeEncodeError, ValueError):
            raise CursorInvalid("it is not a cursor") from None
        # The last base64 character may have unused bits, which could be changed unnoticed.
        if urlsafe_b64encode(raw).rstrip(b"=").decode() != cursor or not is_sealed(raw):
            raise CursorInvalid("it is not a cursor")
        try:
            return unseal(self._key, raw, self._associated_data(binding))
        except SealBroken:
            fact = "it was changed, cut short, or made by another query, principal or key"
            raise CursorInvalid(fact) from None

    def _associated_data(self, binding: str) -> bytes:
        return hashlib.sha256(f"{self._principal}\0{binding}".encode()).digest()


def _write_binary(value: object) -> str:
    assert isinstance(value, bytes)  # keys have texts, numbers, which are text, and binaries
    return b64encode(value).decode()


def _from_text(item: dict[str, Any]) -> Item:
    return {
        name: {kind: b64decode(data) if kind == "B" else data for kind, data in value.items()}
        for name, value in item.items()
    }
