"""Cursors by themselves: what opens one, and what does not."""

from __future__ import annotations

import base64
import hashlib
import os
import random
from unittest import mock

import orjson
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from keyfold.errors import CursorInvalid
from keyfold.store._cursors import CursorBox
from keyfold.store._sealing import derive_key
from keyfold.values import Item

KEY = bytes(range(32))
POSITION: Item = {"pk": {"S": "a"}, "n": {"N": "1"}, "b": {"B": b"\0\xff"}}
NOT_A_CURSOR = "it is not a cursor"
CHANGED = "it was changed, cut short, or made by another query, principal or key"


def seal_raw(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def read_raw(cursor: str) -> bytes:
    return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))


def fact_of(cursor: object, box: CursorBox | None = None, binding: str = "q") -> str:
    with pytest.raises(CursorInvalid) as refused:
        (box or CursorBox(KEY)).open(cursor, binding)  # pyright: ignore[reportArgumentType]
    return refused.value.fact


def test_a_cursor_opens_to_the_position_it_was_made_of() -> None:
    box = CursorBox(KEY)
    assert box.open(box.seal(POSITION, "q"), "q") == POSITION
    assert CursorBox(KEY, "ada").of("").open(box.seal(POSITION, "q"), "q") == POSITION


def test_every_cursor_opens_whatever_it_ends_in() -> None:
    box, nonces = CursorBox(KEY), random.Random(1)
    with mock.patch.object(os, "urandom", nonces.randbytes):
        cursors = [box.seal({"pk": {"S": "a" * (n % 3)}}, "q") for n in range(400)]
    assert "X" in {each[-1] for each in cursors}
    for number, cursor in enumerate(cursors):
        assert box.open(cursor, "q") == {"pk": {"S": "a" * (number % 3)}}


def test_a_cursor_is_encrypted_and_authenticated_with_everything_that_it_is_bound_to() -> None:
    """The format is fixed: cursors outlive the process that made them."""
    with mock.patch.object(os, "urandom", side_effect=_repeat):
        cursor = CursorBox(KEY, "ada").seal(POSITION, "q")
    raw = read_raw(cursor)
    assert raw[:13] == b"\x01" + b"n" * 12
    bound = hashlib.sha256(b"ada\0q").digest()
    plain = orjson.loads(AESGCM(KEY).decrypt(raw[1:13], raw[13:], bound))
    assert plain == {"pk": {"S": "a"}, "n": {"N": "1"}, "b": {"B": "AP8="}}


def _repeat(count: int) -> bytes:
    return b"n" * count


def test_each_cursor_has_a_nonce_of_its_own() -> None:
    box = CursorBox(KEY)
    assert len({read_raw(box.seal(POSITION, "q"))[1:13] for _ in range(100)}) == 100


def test_a_cursor_opens_only_for_its_query_principal_and_key() -> None:
    box = CursorBox(KEY, "ada")
    cursor = box.seal(POSITION, "q")
    assert box.of("ada").open(cursor, "q") == POSITION
    assert fact_of(cursor, box, "r") == CHANGED
    assert fact_of(cursor, box.of("bob")) == CHANGED
    assert fact_of(cursor, box.of("")) == CHANGED
    assert fact_of(cursor, CursorBox(KEY[::-1], "ada")) == CHANGED
    # The principal and the binding are not simply joined.
    assert fact_of(CursorBox(KEY, "a").seal(POSITION, "bq"), CursorBox(KEY, "ab"), "q") == CHANGED


@pytest.mark.parametrize(
    "cursor", ["", "x", "äöü", "AA==", "A A", "A+/A", "AQ", None, b"AQ", 7, "\ud800"]
)
def test_something_else_is_not_a_cursor(cursor: object) -> None:
    assert fact_of(cursor) == NOT_A_CURSOR


def test_a_cursor_has_one_spelling() -> None:
    cursor = CursorBox(KEY).seal({"pk": {"S": "ab"}}, "q")
    assert len(cursor) % 4, "its last character has unused bits"
    for other in (
        f"{cursor}=",
        f"{cursor}\n",
        f" {cursor}",
        f"{cursor[:-1]}{chr(ord(cursor[-1]) + 1)}",
    ):
        assert fact_of(other) in (NOT_A_CURSOR, CHANGED)
    assert fact_of(f"{cursor}=") == NOT_A_CURSOR


@pytest.mark.parametrize("length", range(14))
def test_a_cursor_that_ends_before_its_content_is_not_one(length: int) -> None:
    assert fact_of(seal_raw((b"\x01" + bytes(13))[:length])) == NOT_A_CURSOR


def test_a_cursor_of_another_format_is_not_one() -> None:
    raw = read_raw(CursorBox(KEY).seal(POSITION, "q"))
    assert fact_of(seal_raw(raw[:14])) == CHANGED
    assert fact_of(seal_raw(b"\x02" + raw[1:])) == NOT_A_CURSOR


@given(st.data())
def test_no_changed_bit_goes_unnoticed(data: st.DataObject) -> None:
    raw = bytearray(read_raw(CursorBox(KEY).seal(POSITION, "q")))
    place = data.draw(st.integers(0, 8 * len(raw) - 1))
    raw[place // 8] ^= 1 << place % 8
    assert fact_of(seal_raw(bytes(raw))) == (NOT_A_CURSOR if place < 8 else CHANGED)


def test_the_key_of_cursors_is_derived_from_a_secret_of_any_length() -> None:
    assert derive_key(b"secret", "cursor") == hashlib.sha256(b"keyfold cursor\0secret").digest()
    assert derive_key(b"secret", "cursor") != derive_key(b"secret\0", "cursor")
