"""The gate: whose a request is, and whether they may do what it asks for.

A request is decided upon by itself, before anything of it is carried out, so that an answer tells
nothing about what the tables hold.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol, cast

import orjson

from keyfold.errors import SerializationException, ServiceError, UnrecognizedClientException
from keyfold.wire.server._authorizers import Authorizer, Principal
from keyfold.wire.server._keyring import Keyring
from keyfold.wire.server._requests import Call, HttpRequest
from keyfold.wire.server._signatures import UNRECOGNIZED, Verifier


class Gate(Protocol):
    """Decides which requests a server carries out."""

    def find_refusal(self, request: HttpRequest, call: Call) -> ServiceError | None:
        """Return what is answered in place of carrying out a call; None if it may be."""
        ...


class KeyGate:
    """Lets those in who sign with a key of a file, for what the key is good for."""

    def __init__(
        self, keyring: Keyring, region: str, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._keyring = keyring
        self._verifier = Verifier(region)
        self._clock = clock

    def find_refusal(self, request: HttpRequest, call: Call) -> ServiceError | None:
        """Return what is wrong with the signature of a request, or with what it asks for."""
        claim = self._verifier.read_claim(request, self._clock())
        if isinstance(claim, ServiceError):
            return claim
        entry = self._keyring.find(claim.access_key)
        if entry is None:
            return UnrecognizedClientException(UNRECOGNIZED)
        key = entry.key
        fault = self._verifier.find_fault(claim, request, key.secret, key.token)
        if fault is not None:
            return fault
        return find_denial(entry.authorizer, Principal(key.name), call)


class PolicyGate:
    """Lets everybody in, for what one authorizer says: signatures are not looked at."""

    def __init__(self, authorizer: Authorizer, name: str) -> None:
        self._authorizer, self._principal = authorizer, Principal(name)

    def find_refusal(self, request: HttpRequest, call: Call) -> ServiceError | None:  # noqa: ARG002 - as gates are asked
        """Return the error of a call that is denied."""
        return find_denial(self._authorizer, self._principal, call)


def find_denial(authorizer: Authorizer, principal: Principal, call: Call) -> ServiceError | None:
    """Ask an authorizer about a call. What is no JSON object is refused as the engine does it."""
    request: dict[str, Any] = {}
    if authorizer.reads_requests:
        try:
            # As the engine reads it: whatever stands there twice means the same to both.
            read: Any = orjson.loads(call.body)
        except orjson.JSONDecodeError:
            return SerializationException()
        if not isinstance(read, dict):
            return SerializationException()
        request = cast(dict[str, Any], read)
    return authorizer.find_denial(principal, call.operation, request)
