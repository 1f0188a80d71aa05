"""The fast path of signatures, for clients that have sent valid requests before.

The requests of a client for one operation in one second have most of what they sign in common.
That part is hashed once. For each request, only its body and the rest are hashed and compared.

No verdict is cached. A request that is not certainly valid is verified in full, by `_signatures`,
which also finds the error to answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from hmac import compare_digest
from operator import itemgetter
from typing import Protocol

from keyfold.clocks import Clock
from keyfold.wire._sigv4 import BegunSignature, canonicalize_value
from keyfold.wire.server._authorizers import Authorizer
from keyfold.wire.server._keyring import Entry
from keyfold.wire.server._requests import Headers
from keyfold.wire.server._signatures import (
    SIGNATURE_LENGTH,
    WINDOW_SECONDS,
    Claim,
    SigningScope,
    Verifier,
    find_unsigned_name,
    parse_timestamp,
)

_MAX_CLIENTS = 1_000
# For each client: one for each operation in a second, and for a few seconds.
_MAX_BEGUN = 16
# Oversized headers must not fill the memory.
_MAX_CACHED_BYTES = 1_024

_DATE, _HOST, _TOKEN = b"x-amz-date", b"host", b"x-amz-security-token"

# Finds white space that the canonical form does not have, in values joined by line feeds.
_is_uncanonical = re.compile(rb"(?:\A|\n) |  | (?:\n|\Z)|[\t\r\v\f]").search

# Joins the names of headers, none of which can contain a line feed.
_join_names = b"\n".join

_Values = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class _BegunRequest:
    """What requests share that have the same header names, and the same values of signed ones."""

    # The names of all headers, joined.
    names: bytes
    # The secret that the signature was begun with; the file of keys may get another one.
    secret: str
    seconds: int
    has_token: bool
    signature: BegunSignature


@dataclass(frozen=True, slots=True)
class _KnownClient:
    """What the requests of a client have in common for a day, and those that it has begun."""

    scope: SigningScope
    access_key: str
    # Whether it signs the host without its port.
    omits_port: bool
    # Returns the values of the signed headers; raises KeyError if one is absent.
    read_values: Callable[[Headers], _Values]
    begun: dict[_Values, _BegunRequest] = field(default_factory=dict[_Values, _BegunRequest])


class KeyFinder(Protocol):
    """Finds the current keys, as `Keyring` does."""

    def find(self, access_key: str, *, is_shared: bool = False) -> Entry[Authorizer] | None:
        """Return the entry of an access key; None if it is unknown, disabled or revoked."""
        ...


class FastVerifier:
    """Finds the authorizers of requests in the usual form whose signatures are certainly valid.

    The usual form is the one that `find_target` recognises, without repeated headers. A client
    that is known has an Authorization in the usual form, too.
    """

    def __init__(self, verifier: Verifier, keys: KeyFinder, clock: Clock) -> None:
        self._verifier, self._keys, self._clock = verifier, keys, clock
        # By Authorization without its signature, which clients repeat all day.
        self._clients: dict[bytes, _KnownClient] = {}

    def find_authorizer(
        self, headers: Headers, body: bytes, *, is_shared: bool = False
    ) -> Authorizer | None:
        """Return the authorizer of the key that a request is signed with; None if uncertain.

        `is_shared` is that of `Keyring.find`.
        """
        authorization = headers.get(b"authorization", b"")
        client = self._clients.get(authorization[:-SIGNATURE_LENGTH])
        if client is None:
            return None
        try:
            values = client.read_values(headers)
        except KeyError:
            return None
        entry = self._keys.find(client.access_key, is_shared=is_shared)
        if entry is None:
            return None
        key = entry.key
        begun = client.begun.get(values)
        if begun is None or begun.names != _join_names(headers) or begun.secret != key.secret:
            begun = self._begin(client, headers, values, key.secret)
            if begun is None:
                return None
        if not -WINDOW_SECONDS <= self._clock() - begun.seconds <= WINDOW_SECONDS:
            return None
        if (begun.has_token or key.token is not None) and not compare_digest(
            (key.token or "").encode(), headers.get(_TOKEN, b"").strip()
        ):
            return None
        expected = begun.signature.finish(body).encode()
        if compare_digest(expected, authorization[-SIGNATURE_LENGTH:]):
            return entry.prepared
        return None

    def keep(self, claim: Claim, headers: Headers, body: bytes, secret: str) -> None:
        """Remember the client of a valid request, for its next ones."""
        scope, authorization = claim.scope, headers.get(b"authorization", b"")
        prefix, last = authorization[:-SIGNATURE_LENGTH], authorization[-SIGNATURE_LENGTH:]
        if (
            not prefix.endswith((b" Signature=", b",Signature="))
            or prefix.count(b"Signature=") != 1
            or len(prefix) > _MAX_CACHED_BYTES
            or not {_DATE, _HOST}.issubset(scope.signed)
            or not headers.keys() >= set(scope.signed)
        ):
            return
        read_values = _reader_of(scope.signed)
        for omits_port in (False, True):
            client = _KnownClient(scope, scope.access_key, omits_port, read_values)
            begun = self._begin(client, headers, read_values(headers), secret)
            if begun is not None and compare_digest(begun.signature.finish(body).encode(), last):
                if len(self._clients) >= _MAX_CLIENTS:
                    self._clients.clear()
                self._clients[prefix] = client
                return

    def _begin(
        self, client: _KnownClient, headers: Headers, values: _Values, secret: str
    ) -> _BegunRequest | None:
        """Check everything but the body and the time; return None if a request is not valid."""
        scope, canonical = client.scope, values
        if _is_uncanonical(b"\n".join(values)):
            canonical = tuple(map(canonicalize_value, values))
        timestamp = canonical[scope.signed.index(_DATE)].decode("latin-1")
        seconds = parse_timestamp(timestamp)
        if (
            seconds is None
            or timestamp[:8] != scope.day
            or find_unsigned_name(headers, scope.signed_names) is not None
        ):
            return None
        if client.omits_port:
            place = scope.signed.index(_HOST)
            host, _, port = canonical[place].rpartition(b":")
            if not host or not port.isdigit():
                return None
            canonical = (*canonical[:place], host, *canonical[place + 1 :])
        signature = self._verifier.begin(scope, timestamp, scope.template % canonical, secret)
        names = _join_names(headers)
        begun = _BegunRequest(names, secret, seconds, _TOKEN in headers, signature)
        if len(names) + sum(map(len, values)) <= _MAX_CACHED_BYTES:
            if len(client.begun) >= _MAX_BEGUN:
                client.begun.clear()
            client.begun[values] = begun
        return begun


def _reader_of(names: tuple[bytes, ...]) -> Callable[[Headers], _Values]:
    """Return a function that returns the values of two headers or more."""
    first, second, *others = names
    return itemgetter(first, second, *others)
