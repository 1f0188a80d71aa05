"""Secrets that a store derives from its key."""

from __future__ import annotations

import pytest

from keyfold.engine import Engine
from keyfold.errors import AccessDenied, OptionInvalid
from keyfold.store import Store, StoreSettings
from keyfold.store._sealing import SealBroken, derive_key, seal, unseal
from tests.unit.policy.clinic import clinic

KEY = b"k" * 32


def test_a_secret_depends_on_the_key_and_the_purpose() -> None:
    with Engine.open(":memory:") as engine:

        def derive(key: bytes, purpose: str) -> bytes:
            return Store(engine, StoreSettings([clinic], cursor_key=key)).derive_secret(purpose)

        assert derive(KEY, "a") == derive(KEY, "a")
        assert len({derive(KEY, "a"), derive(KEY, "b"), derive(b"x" * 32, "a")}) == 3
        assert derive(KEY, "cursor") != derive_key(KEY, "cursor")


def test_only_a_whole_store_with_a_key_has_secrets() -> None:
    with Engine.open(":memory:") as engine:
        store = Store(engine, StoreSettings([clinic], cursor_key=KEY))
        with pytest.raises(AccessDenied, match="has no secrets"):
            store.as_principal("patient", user="ada").derive_secret("a")
        with pytest.raises(OptionInvalid, match="cursor_key"):
            Store(engine, StoreSettings([clinic])).derive_secret("a")


def test_a_seal_opens_with_the_same_key_and_data_only() -> None:
    sealed = seal(KEY, b"text", b"for ada")
    assert unseal(KEY, sealed, b"for ada") == b"text"
    assert b"text" not in sealed
    assert sealed != seal(KEY, b"text", b"for ada")
    changed = sealed[:-1] + bytes([sealed[-1] ^ 1])
    for key, data, associated in (
        (b"x" * 32, sealed, b"for ada"),
        (KEY, sealed, b"for bob"),
        (KEY, changed, b"for ada"),
        (KEY, sealed[:10], b"for ada"),
        (KEY, b"\x02" + sealed[1:], b"for ada"),
        (KEY, b"", b"for ada"),
    ):
        with pytest.raises(SealBroken):
            unseal(key, data, associated)
