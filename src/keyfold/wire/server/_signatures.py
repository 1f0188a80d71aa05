"""Whose a request is: SigV4 signatures, verified over all that was received.

What is wrong is found in the order in which the service finds it: an Authorization that is not
whole, its date, the host, the algorithm, the credential's scope, the access key, the signature.
"""

from __future__ import annotations

import hmac
import re
import time
from calendar import timegm
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl

from keyfold.errors import (
    IncompleteSignatureException,
    InvalidSignatureException,
    ServiceError,
    UnrecognizedClientException,
)
from keyfold.wire._sigv4 import (
    ALGORITHM,
    TERMINATOR,
    canonize_path,
    canonize_query,
    canonize_value,
    derive_key,
    open_canonical_request,
    open_string_to_sign,
    sign,
)
from keyfold.wire.server._authorization import find_authorization_fault, split_parameters
from keyfold.wire.server._requests import HttpRequest

_SERVICE = "dynamodb"
_WINDOW_SECONDS = 300
_MINUTE = 60
_MOST_KEPT = 1_000
# Nothing of what is kept was verified: what no client sends is not to fill the memory.
_LONGEST_KEPT = 1_024

_MOMENT = re.compile(r"[0-9]{8}T[0-9]{6}Z")
_is_hex = re.compile(rb"[0-9a-f]{64}").fullmatch
_FORMAT = "%Y%m%dT%H%M%SZ"

UNRECOGNIZED = "The security token included in the request is invalid."
MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your "
    "AWS Secret Access Key and signing method. Consult the service documentation for details."
)
_HOST_UNSIGNED = "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."

# What is read for its meaning: of two, one would be verified and the other believed.
_SINGLE = frozenset(
    (
        b"authorization",
        b"content-encoding",
        b"content-type",
        b"date",
        b"host",
        b"x-amz-content-sha256",
        b"x-amz-date",
        b"x-amz-security-token",
        b"x-amz-target",
    )
)


class Claim(NamedTuple):
    """What a request says about its signature: whose it is, of when, and over what."""

    access_key: str
    moment: str
    day: str
    signed: tuple[bytes, ...]
    signature: str
    token: str | None
    # The query that is signed too; without the signature itself.
    query: bytes


class _Stated(NamedTuple):
    """The parts of an authorization, as they are written."""

    algorithm: str
    credential: str
    signed: str
    signature: str
    moment: str
    token: str | None
    window_seconds: int = _WINDOW_SECONDS


class Verifier:
    """Verifies the signatures of requests to one region."""

    def __init__(self, region: str) -> None:
        self._region = region
        self._keys: dict[tuple[str, str], bytes] = {}
        # Claims by all of an Authorization but its signature, which clients repeat all day.
        self._claims: dict[bytes, Claim] = {}

    def read_claim(self, request: HttpRequest, now: float) -> Claim | ServiceError:
        """Return what a request says about its signature, or what is wrong with that.

        Nothing of it is verified yet, save that it is meant for this service, and for now.
        """
        claim = self._recall(request, int(now))
        return self._read_closely(request, int(now)) if claim is None else claim

    def _recall(self, request: HttpRequest, now: int) -> Claim | None:
        """Return the claim of a request like one before; None if it takes a closer look."""
        headers = request.headers
        opening, _, signature = headers.get(b"authorization", b"").rpartition(b"Signature=")
        known = self._claims.get(opening)
        if known is None or request.url != b"/" or not _is_hex(signature):
            return None
        moment = headers.get(b"x-amz-date", b"").decode("latin-1")
        seconds = _read_moment(moment)
        if (
            seconds is None
            or abs(now - seconds) > _WINDOW_SECONDS
            or moment[:8] != known.day
            or _find_unsigned(request, known.signed) is not None
        ):
            return None
        token = headers.get(b"x-amz-security-token")
        return known._replace(
            moment=moment,
            signature=signature.decode(),
            token=None if token is None else token.decode("latin-1").strip(),
        )

    def _read_closely(self, request: HttpRequest, now: int) -> Claim | ServiceError:
        query = request.url.partition(b"?")[2]
        fault = find_authorization_fault(request.headers, query)
        if fault is not None:
            return fault
        authorization = request.headers.get(b"authorization")
        stated = _read_query(query) if authorization is None else _read_header(request)
        if isinstance(stated, ServiceError):
            return stated
        fault = _find_date_fault(stated, now)
        if fault is not None:
            return fault
        signed = tuple(sorted({name.encode() for name in stated.signed.lower().split(";")}))
        fault = _find_unsigned(request, signed)
        if fault is not None:
            return fault
        if stated.algorithm != ALGORITHM:
            named = f"'{stated.algorithm}' (only {ALGORITHM} for now). "
            return IncompleteSignatureException(f"Unsupported AWS 'algorithm': {named}")
        scope = stated.credential.split("/")
        if len(scope) != 5:  # noqa: PLR2004 - as the message says
            return IncompleteSignatureException(
                "Credential must have exactly 5 slash-delimited elements, "
                f"e.g. keyid/date/region/service/term, got '{stated.credential}'"
            )
        fault = self._find_scope_fault(scope, stated.moment)
        if fault is not None:
            return fault
        if authorization is None:
            query = _leave_out_signature(query)
        moment, token = stated.moment, stated.token
        claim = Claim(scope[0], moment, moment[:8], signed, stated.signature, token, query)
        if authorization is not None:
            self._keep(authorization, claim)
        return claim

    def _keep(self, authorization: bytes, claim: Claim) -> None:
        opening, mark, signature = authorization.rpartition(b"Signature=")
        is_last = mark and opening[-1:] in (b" ", b",") and signature == claim.signature.encode()
        if is_last and b"Signature=" not in opening and len(opening) <= _LONGEST_KEPT:
            if len(self._claims) >= _MOST_KEPT:
                self._claims.clear()
            self._claims[opening] = claim._replace(query=b"", token=None)

    def find_fault(
        self, claim: Claim, request: HttpRequest, secret: str, token: str | None
    ) -> ServiceError | None:
        """Return what is wrong with a request that claims to be signed with a secret."""
        if not is_same(claim.token or "", token or ""):
            return UnrecognizedClientException(UNRECOGNIZED)
        headers, received = request.headers, request.received
        if len(headers) != len(received):
            joined = _join(received)
            if joined is None:
                return InvalidSignatureException(MISMATCH)
            headers = joined
        if self._fits(claim, request, headers, secret):
            return None
        host, _, port = headers.get(b"host", b"").rpartition(b":")
        if (
            host
            and port.isdigit()
            and self._fits(claim, request, {**headers, b"host": host}, secret)
        ):
            # Signed for the host without its port, as aiodynamo does it.
            return None
        return InvalidSignatureException(MISMATCH)

    def _fits(
        self, claim: Claim, request: HttpRequest, headers: dict[bytes, bytes], secret: str
    ) -> bool:
        canonical, _ = open_canonical_request(
            [(name, canonize_value(headers.get(name, b""))) for name in claim.signed],
            method=request.method,
            path=canonize_path(request.url.partition(b"?")[0]),
            query=canonize_query(claim.query),
        )
        scope = f"{claim.day}/{self._region}/{_SERVICE}/{TERMINATOR}"
        to_sign = open_string_to_sign(claim.moment, scope)
        # The body's own hash is what is signed. A header that names another, or none, as
        # UNSIGNED-PAYLOAD does, is not what the signature was made over.
        expected = sign(self._key_of(secret, claim.day), to_sign, canonical, request.body)
        return is_same(expected, claim.signature)

    def _key_of(self, secret: str, day: str) -> bytes:
        key = self._keys.get((secret, day))
        if key is None:
            if len(self._keys) >= _MOST_KEPT:
                self._keys.clear()
            key = derive_key(secret, day, self._region, _SERVICE)
            self._keys[secret, day] = key
        return key

    def _find_scope_fault(self, scope: list[str], moment: str) -> ServiceError | None:
        _, day, region, service, terminator = scope
        sentences: list[str] = []
        if region != self._region:
            sentences.append(f"Credential should be scoped to a valid region, not '{region}'. ")
        if service != _SERVICE:
            sentences.append(f"Credential should be scoped to correct service: '{_SERVICE}'. ")
        if terminator != TERMINATOR:
            sentences.append(
                "Credential should be scoped with a valid terminator: "
                f"'{TERMINATOR}', not '{terminator}'. "
            )
        if day != moment[:8]:
            sentences.append(
                "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date "
                f"from HTTP: '{day}' != '{moment[:8]}', from '{moment}'."
            )
        return InvalidSignatureException("".join(sentences)) if sentences else None


def _join(received: Sequence[tuple[bytes, bytes]]) -> dict[bytes, bytes] | None:
    """Return headers by name, several values as one; None if one comes twice that may not."""
    joined: dict[bytes, bytes] = {}
    for name, value in received:
        before = joined.get(name)
        if before is not None and name in _SINGLE:
            return None
        plain = canonize_value(value)
        joined[name] = plain if before is None else b"%b,%b" % (before, plain)
    return joined


def is_same(expected: str, received: str) -> bool:
    """Compare two texts in a time that does not depend on what they have in common."""
    return hmac.compare_digest(expected.encode(), received.encode())


def _read_header(request: HttpRequest) -> _Stated | ServiceError:
    authorization = request.headers[b"authorization"].decode("latin-1")
    algorithm, _, listed = authorization.partition(" ")
    stated: dict[str, str] = {}
    for name, equals, value in split_parameters(listed):
        if equals:
            stated[name] = value
        elif name:
            return IncompleteSignatureException(
                f"'{name}' not a valid key=value pair (missing equal-sign) in Authorization "
                f"header: '{authorization}'."
            )
    headers = request.headers
    moment = headers.get(b"x-amz-date") or headers[b"date"]
    token = headers.get(b"x-amz-security-token")
    return _Stated(
        algorithm,
        stated["Credential"],
        stated["SignedHeaders"],
        stated["Signature"],
        moment.decode("latin-1").strip(),
        None if token is None else token.decode("latin-1").strip(),
    )


def _read_query(query: bytes) -> _Stated | ServiceError:
    asked = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
    window = _WINDOW_SECONDS
    if "X-Amz-Expires" in asked:
        seconds = asked["X-Amz-Expires"]
        if not (seconds.isascii() and seconds.isdigit()):
            return IncompleteSignatureException("X-Amz-Expires should be a number")
        # It may be for less than other requests, and not for longer.
        window = min(window, int(seconds[:9]))
    return _Stated(
        asked["X-Amz-Algorithm"],
        asked["X-Amz-Credential"],
        asked["X-Amz-SignedHeaders"],
        asked["X-Amz-Signature"],
        asked["X-Amz-Date"],
        asked.get("X-Amz-Security-Token"),
        window,
    )


def _find_date_fault(stated: _Stated, now: int) -> ServiceError | None:
    moment = stated.moment
    seconds = _read_moment(moment)
    if seconds is None:
        return IncompleteSignatureException(
            f"Date must be in ISO-8601 'basic format'. Got '{moment}'. "
            "See http://en.wikipedia.org/wiki/ISO_8601"
        )
    window = stated.window_seconds
    if seconds < now - window:
        length = _show_length(window)
        bound = f"{_show(now - window)} ({_show(now)} - {length})"
        return InvalidSignatureException(f"Signature expired: {moment} is now earlier than {bound}")
    if seconds > now + _WINDOW_SECONDS:
        length = _show_length(_WINDOW_SECONDS)
        bound = f"{_show(now + _WINDOW_SECONDS)} ({_show(now)} + {length})"
        return InvalidSignatureException(
            f"Signature not yet current: {moment} is still later than {bound}"
        )
    return None


@lru_cache(maxsize=64)
def _read_moment(moment: str) -> int | None:
    if _MOMENT.fullmatch(moment) is None:
        return None
    try:
        return timegm(time.strptime(moment, _FORMAT))
    except ValueError:
        return None


def _show(seconds: int) -> str:
    return time.strftime(_FORMAT, time.gmtime(seconds))


def _show_length(seconds: int) -> str:
    minutes, rest = divmod(seconds, _MINUTE)
    return f"{seconds} sec." if rest else f"{minutes} min."


def _find_unsigned(request: HttpRequest, signed: tuple[bytes, ...]) -> ServiceError | None:
    """Return the error of a header that has to be signed and is not."""
    if b"host" not in signed:
        return InvalidSignatureException(_HOST_UNSIGNED)
    for name, _ in request.received:
        # Whatever changes what is done, or how the body is read. The token does not: it is
        # compared with the key's own, so some clients leave it out, and the service lets them.
        has_to_be = name.startswith(b"x-amz-") or name == b"content-encoding"
        if has_to_be and name not in signed and name != b"x-amz-security-token":
            shown = name.decode("latin-1").title()
            return InvalidSignatureException(
                f"'{shown}' must be a 'SignedHeader' in the AWS Authorization."
            )
    return None


def _leave_out_signature(query: bytes) -> bytes:
    parts = query.split(b"&")
    return b"&".join(part for part in parts if part.partition(b"=")[0] != b"X-Amz-Signature")
