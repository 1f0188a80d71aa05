"""Bearer tokens (JWT): signed by an issuer, for an audience, until a time.

Nothing in a token is believed before its signature is verified, except for two questions: which of the
configured issuers it names, and which of that issuer's keys. What a token brings along to be verified
with (`jwk`, `jku`, `x5u`) is ignored.
"""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64decode
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from typing import Any, NamedTuple, cast

from keyfold.clocks import Clock
from keyfold.errors import Unauthenticated
from keyfold.policy import RuledTable
from keyfold.service._callers import Caller
from keyfold.service._claims import ClaimMapping, RefusalLog, make_caller
from keyfold.service._jwks import KeySet, import_jwt
from keyfold.service._key_rotation import RotatingKeys

_MOST_TOKEN_CHARACTERS = 8_192
_MOST_KID_CHARACTERS = 256
# Tokens that were verified. One takes about a kilobyte, with its caller.
_MOST_CACHED = 2_000
_SCHEME = "bearer "
_DOTS = 2
_INVALID = 'Bearer error="invalid_token"'


@dataclass(frozen=True, slots=True)
class TokenIssuer:
    """Who signs tokens, what they have to say, and what their claims mean."""

    issuer: str
    audiences: frozenset[str]
    algorithms: frozenset[str]
    keys: RotatingKeys
    mapping: ClaimMapping
    leeway_seconds: float = 30.0


class _Verified(NamedTuple):
    """The caller of a token, the keys it was verified with, and until when it is valid."""

    caller: Caller
    issuer: TokenIssuer
    keys: KeySet
    until: float


class BearerTokens:
    """Authenticates requests by `Authorization: Bearer TOKEN`, with the tokens of some issuers.

    Verified tokens are remembered until they expire, or until the issuer's keys change. Raises
    ExtraMissing without PyJWT.
    """

    def __init__(
        self,
        issuers: Iterable[TokenIssuer],
        tables: Collection[RuledTable],
        *,
        clock: Clock = time.time,
    ) -> None:
        self._jwt = import_jwt()
        self._verifier = self._jwt.PyJWS()
        self._issuers = {each.issuer: each for each in issuers}
        self._tables = tuple(tables)
        self._clock = clock
        self._verified: OrderedDict[bytes, _Verified] = OrderedDict()
        self._refusals = RefusalLog()

    def recognizes(self, headers: Mapping[str, str]) -> bool:
        """Return whether a request has a bearer token that looks like a JWT."""
        token = find_bearer(headers)
        return token is not None and is_like_jwt(token)

    async def authenticate(self, headers: Mapping[str, str]) -> Caller:
        """Return the caller that the token stands for; raises as `Authenticator` says."""
        token = find_bearer(headers)
        if token is None:
            raise Unauthenticated("The request has no token", "Send `Authorization: Bearer TOKEN`.")
        if len(token) > _MOST_TOKEN_CHARACTERS:
            raise _refuse(f"The token has more than {_MOST_TOKEN_CHARACTERS} characters")
        if not token.isascii():
            raise _refuse("The token is not a JWT")
        digest = sha256(token.encode()).digest()
        known = self._verified.get(digest)
        if known is not None and known.issuer.keys.find_current() is known.keys:
            if self._clock() < known.until:
                self._verified.move_to_end(digest)
                return known.caller
            raise _refuse("The token has expired")
        return await self._verify(token, digest)

    async def _verify(self, token: str, digest: bytes) -> Caller:
        header, claims, payload = _parse(token)
        issuer = self._find_issuer(claims)
        algorithm, kid = _read_header(header, issuer)
        key = await issuer.keys.find(kid, algorithm)
        keys = issuer.keys.find_current()
        if key is None or keys is None:
            raise _refuse("The token is signed with a key that its issuer does not have")
        self._check_signature(token, key, algorithm, payload)
        until = _check_claims(claims, issuer, self._clock())
        caller = make_caller(issuer.mapping, claims, self._tables, until, self._refusals)
        self._verified[digest] = _Verified(caller, issuer, keys, until)
        if len(self._verified) > _MOST_CACHED:
            self._verified.popitem(last=False)
        return caller

    def _find_issuer(self, claims: Mapping[str, Any]) -> TokenIssuer:
        name = claims.get("iss")
        issuer = self._issuers.get(name) if isinstance(name, str) else None
        if issuer is None:
            raise _refuse("The token's issuer (iss) is not accepted here")
        return issuer

    def _check_signature(self, token: str, key: Any, algorithm: str, payload: bytes) -> None:
        try:
            verified = self._verifier.decode_complete(token, key=key, algorithms=[algorithm])
        except (self._jwt.PyJWTError, ValueError, TypeError):
            raise _refuse("The token's signature is wrong") from None
        if verified["payload"] != payload:
            raise _refuse("The token is not a JWT")


def find_bearer(headers: Mapping[str, str]) -> str | None:
    """Return the bearer token of a request; None if it has none.

    >>> find_bearer({"authorization": "Bearer abc"}), find_bearer({"authorization": "Basic abc"})
    ('abc', None)
    """
    given = headers.get("authorization", "")
    if given[: len(_SCHEME)].lower() != _SCHEME:
        return None
    return given[len(_SCHEME) :].strip(" ")


def is_like_jwt(token: str) -> bool:
    """Return whether a bearer token looks like a JWT: three parts, the first of which is an object.

    >>> is_like_jwt("eyJhbGciOiJFUzI1NiJ9.e30.c2ln"), is_like_jwt("AKIA5EXAMPLE.secret")
    (True, False)
    """
    # Base64 of text that begins with a brace begins with an e.
    return token.count(".") == _DOTS and token.startswith("e")


def _parse(token: str) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Return the header and the claims of a token, unverified, and the bytes of the claims."""
    head, body, _ = token.split(".") if token.count(".") == _DOTS else ("", "", "")
    try:
        payload = _decode(body)
        return _parse_object(_decode(head)), _parse_object(payload), payload
    # A RecursionError if it is nested too deep.
    except (ValueError, RecursionError) as error:
        fact = str(error) if isinstance(error, _RepeatedMember) else "The token is not a JWT"
        raise _refuse(fact) from None


class _RepeatedMember(ValueError):
    """An object has a member twice: readers would differ on which one counts."""


def _decode(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _parse_object(content: bytes) -> dict[str, Any]:
    read = json.loads(content.decode(), object_pairs_hook=_collect, parse_constant=_refuse_constant)
    if not isinstance(read, dict):
        raise ValueError("not an object")  # noqa: TRY004 - the same as for what is not JSON
    return cast(dict[str, Any], read)


def _collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    collected = dict(pairs)
    if len(collected) != len(pairs):
        raise _RepeatedMember("The token has a claim or a header twice")
    return collected


def _refuse_constant(text: str) -> Any:
    raise ValueError(text)


def _read_header(header: Mapping[str, Any], issuer: TokenIssuer) -> tuple[str, str | None]:
    """Return the algorithm and the key id that a token names."""
    algorithm, kid = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in issuer.algorithms:
        accepted = ", ".join(sorted(issuer.algorithms))
        raise _refuse("The token's algorithm (alg) is not accepted", f"Sign it with {accepted}.")
    if kid is not None and (not isinstance(kid, str) or len(kid) > _MOST_KID_CHARACTERS):
        raise _refuse("The token's key id (kid) is no short text")
    if "crit" in header:
        raise _refuse("The token needs extensions (crit) that are not supported")
    return algorithm, kid


def _check_claims(claims: Mapping[str, Any], issuer: TokenIssuer, now: float) -> float:
    """Return until when a token is valid; raises Unauthenticated unless it is so now, and here."""
    if not _is_meant_for(claims.get("aud"), issuer.audiences):
        raise _refuse("The token is for another audience (aud)")
    expires = _read_time(claims, "exp")
    if expires is None:
        raise _refuse("The token has no time of expiry (exp)")
    until = expires + issuer.leeway_seconds
    if now >= until:
        raise _refuse("The token has expired")
    for name in ("nbf", "iat"):
        begins = _read_time(claims, name)
        if begins is not None and now < begins - issuer.leeway_seconds:
            raise _refuse(f"The token is not valid yet ({name})")
    return until


def _is_meant_for(given: Any, audiences: frozenset[str]) -> bool:
    listed = cast(list[Any], given) if isinstance(given, list) else [given]
    return any(isinstance(each, str) and each in audiences for each in listed)


def _read_time(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        seconds = float(value) if is_number else float("nan")
    except OverflowError:
        seconds = float("nan")
    if not isfinite(seconds):
        raise _refuse(f"The token's {name} is no time")
    return seconds


def _refuse(fact: str, advice: str = "") -> Unauthenticated:
    return Unauthenticated(fact, advice, _INVALID)
