"""Requests encoded as JSON, responses decoded from it, and binaries in both directions."""

from __future__ import annotations

import gzip
from decimal import Decimal
from enum import StrEnum
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.errors import SerializationException
from keyfold.wire.client._bodies import ResponseGarbled, decode_response, decompress, encode_request


def typed(kind: str, data: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({kind: data})


def nested(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from(("B", "BS", "S", "M", "x"))
    members = st.dictionaries(names, inner, max_size=3)
    return typed("L", st.lists(inner, max_size=3)) | typed("M", members)


values = st.recursive(
    typed("S", st.text())
    | typed("B", st.binary())
    | typed("BS", st.lists(st.binary(), min_size=1, max_size=3))
    | typed("NULL", st.just(True)),
    nested,
    max_leaves=8,
)
items = st.dictionaries(st.sampled_from(("B", "BS", "L", "pk")), values, max_size=4)


@given(items)
def test_binaries_survive_encoding_and_decoding(item: dict[str, Any]) -> None:
    """This holds whatever the attribute names are."""
    for answer in ({"Item": item}, {"Items": [item]}, {"Responses": {"BSX": [item]}}):
        assert decode_response(encode_request(answer)) == answer


def test_bytes_bytearrays_and_memoryviews_are_accepted_as_binaries() -> None:
    for data in (b"hi", bytearray(b"hi"), memoryview(b"hi")):
        assert encode_request({"B": data}) == b'{"B":"aGk="}'


class Name(StrEnum):
    TABLE = "TableName"


def test_names_may_be_instances_of_a_str_subclass() -> None:
    assert encode_request({Name.TABLE: Name.TABLE}) == b'{"TableName":"TableName"}'


@pytest.mark.parametrize("value", [Decimal(1), object(), {1, 2}, 2**70, "\ud800"])
def test_values_that_are_not_json_are_refused(value: object) -> None:
    with pytest.raises(SerializationException):
        encode_request({"Key": {"n": {"N": value}}})


def test_text_that_is_not_unicode_is_named() -> None:
    with pytest.raises(SerializationException, match="a text has an unpaired surrogate"):
        encode_request({"Key": {"n": {"S": "\ud800"}}})


@pytest.mark.parametrize("body", [b"{", b"[]", b"null", b'{"B":"no base64"}', b'{"BS":["?"]}'])
def test_invalid_bodies_raise_response_garbled(body: bytes) -> None:
    with pytest.raises(ResponseGarbled):
        decode_response(body)


def test_an_empty_body_is_an_empty_response() -> None:
    assert decode_response(b"") == {}


def test_gzip_bodies_are_limited_in_size_and_must_be_complete() -> None:
    body = orjson.dumps({"Items": ["x" * 1_000]})
    packed = gzip.compress(body)
    assert decompress(packed, 2_000) == body
    for broken, fact in (
        (packed[:-1], "truncated"),
        (packed + b"x", "followed by"),
        (b"plain", "is not gzip"),
    ):
        with pytest.raises(ResponseGarbled, match=fact):
            decompress(broken, 2_000)
    with pytest.raises(ResponseGarbled, match="more than 999 bytes"):
        decompress(packed, 999)
