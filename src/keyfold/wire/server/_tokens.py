"""The tokens of transactions, which are each principal's own."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import orjson

from keyfold.api import names_where
from keyfold.wire.server._requests import WireCall

_PARAMETER = "ClientRequestToken"
_MOST_CHARACTERS = 36

TOKENED = names_where(lambda each: each.takes_token)


def keep_token_apart(call: WireCall, principal: str) -> WireCall:
    """Return a call whose token stands for the same transaction to nobody else.

    Otherwise whoever uses the token of somebody else would be told so.
    """
    try:
        request: Any = orjson.loads(call.body)
    except orjson.JSONDecodeError:
        return call
    token = request.get(_PARAMETER) if request.__class__ is dict else None
    # What is no token is refused by the engine, in its own words.
    if not isinstance(token, str) or not 1 <= len(token) <= _MOST_CHARACTERS:
        return call
    own = sha256(f"{principal}\0{token}".encode()).hexdigest()[:_MOST_CHARACTERS]
    return call._replace(body=orjson.dumps({**request, _PARAMETER: own}))
