"""Idempotency tokens of transactions are separate for each principal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from keyfold.errors import SerializationException
from keyfold.wire.server._requests import WireCall
from keyfold.wire.server._tokens import scope_token_to_principal


def scope(body: bytes, principal: str = "ada") -> Any:
    call = WireCall("TransactWriteItems", body, b"application/x-amz-json-1.0")
    scope_token_to_principal(call, principal)
    return call.request


def test_each_principal_gets_a_different_token() -> None:
    body = b'{"TransactItems":[],"ClientRequestToken":"token"}'
    tokens = [scope(body, name)["ClientRequestToken"] for name in ("ada", "ada", "bob")]
    assert tokens[0] == tokens[1] != tokens[2]
    assert all(len(token) == 36 for token in tokens)
    assert scope(body) == {"TransactItems": [], "ClientRequestToken": tokens[0]}


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"[]",
        b'{"ClientRequestToken":""}',
        b'{"ClientRequestToken":7}',
        b'{"ClientRequestToken":null}',
        b'{"ClientRequestToken":"%b"}' % (b"x" * 37),
    ],
)
def test_bodies_without_a_valid_token_are_left_to_the_engine(body: bytes) -> None:
    assert scope(body) == json.loads(body)


def test_a_body_that_is_not_json_gets_the_engines_error() -> None:
    with pytest.raises(SerializationException):
        scope(b"no JSON")
