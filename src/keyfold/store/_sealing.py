"""Sealing: bytes that are encrypted and authenticated with a secret of the store (AES-GCM)."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from typing import Any

KEY_BYTES = 32
_NONCE_BYTES = 12
_FORMAT = b"\x01"


class SealBroken(ValueError):
    """What was sealed was changed or cut short, or sealed with another key or other associated data."""


def derive_key(secret: bytes, purpose: str) -> bytes:
    """Return a key for one purpose, derived from a secret of any length."""
    return hashlib.sha256(b"keyfold " + purpose.encode() + b"\0" + secret).digest()


def seal(key: bytes, data: bytes, associated: bytes) -> bytes:
    """Return the sealed data; it opens only with the same key and associated data."""
    nonce = os.urandom(_NONCE_BYTES)
    sealed: bytes = _cipher(key).encrypt(nonce, data, associated)
    return _FORMAT + nonce + sealed


def unseal(key: bytes, sealed: bytes, associated: bytes) -> bytes:
    """Return the data that was sealed; raises SealBroken."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - loaded with the first seal

    if not is_sealed(sealed):
        raise SealBroken
    nonce, data = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
    try:
        return _cipher(key).decrypt(nonce, data, associated)
    except InvalidTag:
        raise SealBroken from None


def is_sealed(data: bytes) -> bool:
    """Return whether bytes have the form of sealed data, whatever they were sealed with."""
    return data[:1] == _FORMAT and len(data) > 1 + _NONCE_BYTES


@lru_cache(maxsize=16)
def _cipher(key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - as above

    return AESGCM(key)
