"""Scopes the client request tokens of transactions to principals."""

from __future__ import annotations

from hashlib import sha256

from keyfold.api import names_where
from keyfold.wire.server._requests import WireCall

_PARAMETER = "ClientRequestToken"
_MAX_TOKEN_LENGTH = 36

TOKENED = names_where(lambda each: each.takes_token)


def scope_token_to_principal(call: WireCall, principal: str) -> None:
    """Replace the token of a call by a hash of the token and the principal.

    Without this, a principal that uses another one's token would find out that it is in use.
    """
    request = call.request
    token = request.get(_PARAMETER) if request.__class__ is dict else None
    # The engine rejects invalid tokens with the service's error.
    if not isinstance(token, str) or not 1 <= len(token) <= _MAX_TOKEN_LENGTH:
        return
    request[_PARAMETER] = sha256(f"{principal}\0{token}".encode()).hexdigest()[:_MAX_TOKEN_LENGTH]
