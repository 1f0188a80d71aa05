"""The tokens of transactions, which are each principal's own."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import orjson

from keyfold.api import names_where
from keyfold.wire.server._requests import WireCall

_PARAMETER = "ClientRequestToken"
_MAX_TOKEN_LENGTH = 36

TOKENED = names_where(lambda each: each.takes_token)


def scope_token_to_principal(call: WireCall, principal: str) -> WireCall:
    """Return a call whose token stands for the same transaction to nobody else.

    Otherwise whoever uses the token of somebody else would be told so.
    """
    try:
        request: Any = orjson.loads(call.body)
    except orjson.JSONDecodeError:
        return call
    token = request.get(_PARAMETER) if request.__class__ is dict else None
    # What is no token is refused by the engine, in its own words.
    if not isinstance(token, str) or not 1 <= len(token) <= _MAX_TOKEN_LENGTH:
        return call
    scoped = sha256(f"{principal}\0{token}".encode()).hexdigest()[:_MAX_TOKEN_LENGTH]
    return call._replace(body=orjson.dumps({**request, _PARAMETER: scoped}))
