"""Tokens of transactions are each principal's own."""

from __future__ import annotations

import json

import pytest

from keyfold.wire.server._requests import WireCall
from keyfold.wire.server._tokens import keep_token_apart


def kept(body: bytes, principal: str = "ada") -> bytes:
    call = WireCall("TransactWriteItems", body, b"application/x-amz-json-1.0")
    return keep_token_apart(call, principal).body


def test_a_token_is_another_for_each_principal() -> None:
    body = b'{"TransactItems":[],"ClientRequestToken":"token"}'
    tokens = [json.loads(kept(body, name))["ClientRequestToken"] for name in ("ada", "ada", "bob")]
    assert tokens[0] == tokens[1] != tokens[2]
    assert all(len(token) == 36 for token in tokens)
    assert json.loads(kept(body)) == {"TransactItems": [], "ClientRequestToken": tokens[0]}


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"[]",
        b"no JSON",
        b'{"ClientRequestToken":""}',
        b'{"ClientRequestToken":7}',
        b'{"ClientRequestToken":null}',
        b'{"ClientRequestToken":"%b"}' % (b"x" * 37),
    ],
)
def test_what_has_no_token_is_left_to_the_engine(body: bytes) -> None:
    assert kept(body) == body
