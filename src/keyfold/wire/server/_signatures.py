"""Verification of SigV4 signatures, over the headers and body as received.

Checks are made in the service's order: completeness of the Authorization, date, signed host,
algorithm, credential scope, access key, signature.
"""

from __future__ import annotations

import hmac
import re
import time
from calendar import timegm
from collections.abc import Iterable, Sequence
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
    BegunSignature,
    SigningKey,
    begin_canonical_request,
    begin_string_to_sign,
    canonicalize_path,
    canonicalize_query,
    canonicalize_value,
    derive_key,
)
from keyfold.wire.server._authorization import find_authorization_fault, split_parameters
from keyfold.wire.server._requests import Headers, HttpRequest

_SERVICE = "dynamodb"
WINDOW_SECONDS = 300
_MINUTE = 60
_MAX_CACHED = 1_000

_TIMESTAMP = re.compile(r"[0-9]{8}T[0-9]{6}Z")
SIGNATURE_LENGTH = 64
_TIMESTAMP_FORMAT = "%Y%m%dT%H%M%SZ"

UNRECOGNIZED = "The security token included in the request is invalid."
MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your "
    "AWS Secret Access Key and signing method. Consult the service documentation for details."
)
_HOST_UNSIGNED = "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."

# Headers whose value is used. If one were repeated, one value could be verified and the other used.
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


class SigningScope(NamedTuple):
    """What the requests of a client have in common, for a day: key, date, and signed headers."""

    access_key: str
    day: str
    signed: tuple[bytes, ...]
    # The same as a set.
    signed_names: frozenset[bytes]
    # The canonical request of a call in the usual form, with "%b" for the values of the signed
    # headers, up to the hash of its body.
    template: bytes


class Claim(NamedTuple):
    """What a request claims about its signature."""

    scope: SigningScope
    timestamp: str
    signature: str
    token: str | None
    # The signed query, without the signature itself.
    query: bytes


class _AuthorizationParts(NamedTuple):
    """The parts of an authorization, as written in the header or query."""

    algorithm: str
    credential: str
    signed: str
    signature: str
    timestamp: str
    token: str | None
    window_seconds: int = WINDOW_SECONDS


class Verifier:
    """Verifies the signatures of requests to one region, in any form."""

    def __init__(self, region: str) -> None:
        self._region = region
        self._keys: dict[tuple[str, str], SigningKey] = {}

    def read_claim(self, request: HttpRequest, now: float) -> Claim | ServiceError:
        """Return the claim of a request about its signature, or the error in it.

        Only its scope and its time are checked; `find_fault` verifies the signature.
        """
        parts = _read_parts(request)
        if isinstance(parts, ServiceError):
            return parts
        fault = _find_date_fault(parts, int(now))
        if fault is not None:
            return fault
        signed = tuple(sorted({name.encode() for name in parts.signed.lower().split(";")}))
        fault = _find_unsigned(request.headers, frozenset(signed))
        if fault is not None:
            return fault
        if parts.algorithm != ALGORITHM:
            named = f"'{parts.algorithm}' (only {ALGORITHM} for now). "
            return IncompleteSignatureException(f"Unsupported AWS 'algorithm': {named}")
        scope = parts.credential.split("/")
        if len(scope) != 5:  # noqa: PLR2004 - as the message says
            return IncompleteSignatureException(
                "Credential must have exactly 5 slash-delimited elements, "
                f"e.g. keyid/date/region/service/term, got '{parts.credential}'"
            )
        fault = self._find_scope_fault(scope, parts.timestamp)
        if fault is not None:
            return fault
        query = request.url.partition(b"?")[2]
        if b"authorization" not in request.headers:
            query = _without_signature(query)
        claimed = SigningScope(
            scope[0],
            parts.timestamp[:8],
            signed,
            frozenset(signed),
            _write_template(signed),
        )
        return Claim(claimed, parts.timestamp, parts.signature, parts.token, query)

    def find_fault(
        self, claim: Claim, request: HttpRequest, secret: str, token: str | None
    ) -> ServiceError | None:
        """Return the error of a request that is not signed with `secret`; None if it is."""
        if (claim.token or token) and not is_same(
            (claim.token or "").encode(), (token or "").encode()
        ):
            return UnrecognizedClientException(UNRECOGNIZED)
        headers = request.headers
        if request.repeated:
            joined = _join(request.repeated)
            if joined is None:
                return InvalidSignatureException(MISMATCH)
            headers = joined
        if self._matches(claim, request, headers, secret):
            return None
        host, _, port = headers.get(b"host", b"").rpartition(b":")
        if (
            host
            and port.isdigit()
            and self._matches(claim, request, {**headers, b"host": host}, secret)
        ):
            # Signed for the host without its port, as aiodynamo does.
            return None
        return InvalidSignatureException(MISMATCH)

    def _matches(self, claim: Claim, request: HttpRequest, headers: Headers, secret: str) -> bool:
        scope, timestamp = claim.scope, claim.timestamp
        canonical, _ = begin_canonical_request(
            [(name, canonicalize_value(headers.get(name, b""))) for name in scope.signed],
            method=request.method,
            path=canonicalize_path(request.url.partition(b"?")[0]),
            query=canonicalize_query(claim.query),
        )
        # Always with the hash of the actual body: x-amz-content-sha256 is not trusted, whether
        # it names another hash or UNSIGNED-PAYLOAD.
        expected = self.begin(scope, timestamp, canonical, secret).finish(request.body)
        return is_same(expected.encode(), claim.signature.encode())

    def begin(
        self, scope: SigningScope, timestamp: str, canonical: bytes, secret: str
    ) -> BegunSignature:
        """Return the signature of a canonical request without the hash of its body."""
        key = self._keys.get((secret, scope.day)) or self._derive_key(secret, scope.day)
        credential = f"{scope.day}/{self._region}/{_SERVICE}/{TERMINATOR}"
        return BegunSignature(key, begin_string_to_sign(timestamp, credential), canonical)

    def _derive_key(self, secret: str, day: str) -> SigningKey:
        if len(self._keys) >= _MAX_CACHED:
            self._keys.clear()
        key = self._keys[secret, day] = derive_key(secret, day, self._region, _SERVICE)
        return key

    def _find_scope_fault(self, scope: list[str], timestamp: str) -> ServiceError | None:
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
        if day != timestamp[:8]:
            sentences.append(
                "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date "
                f"from HTTP: '{day}' != '{timestamp[:8]}', from '{timestamp}'."
            )
        return InvalidSignatureException("".join(sentences)) if sentences else None


def _join(received: Sequence[tuple[bytes, bytes]]) -> dict[bytes, bytes] | None:
    """Return headers by name, repeated ones joined; None if a header of `_SINGLE` is repeated."""
    joined: dict[bytes, bytes] = {}
    for name, value in received:
        before = joined.get(name)
        if before is not None and name in _SINGLE:
            return None
        plain = canonicalize_value(value)
        joined[name] = plain if before is None else b"%b,%b" % (before, plain)
    return joined


def is_same(expected: bytes, received: bytes) -> bool:
    """Return whether two texts are equal, in a time that does not depend on their contents."""
    return hmac.compare_digest(expected, received)


def find_date_fault(request: HttpRequest, now: float) -> ServiceError | None:
    """Return the error of a request whose signature is incomplete, expired or not yet current.

    No key is needed: the signature itself is not verified.
    """
    parts = _read_parts(request)
    return parts if isinstance(parts, ServiceError) else _find_date_fault(parts, int(now))


def _read_parts(request: HttpRequest) -> _AuthorizationParts | ServiceError:
    query = request.url.partition(b"?")[2]
    fault = find_authorization_fault(request.headers, query)
    if fault is not None:
        return fault
    return _read_header(request) if b"authorization" in request.headers else _read_query(query)


def _read_header(request: HttpRequest) -> _AuthorizationParts | ServiceError:
    authorization = request.headers[b"authorization"].decode("latin-1")
    algorithm, _, listed = authorization.partition(" ")
    parts: dict[str, str] = {}
    for name, equals, value in split_parameters(listed):
        if equals:
            parts[name] = value
        elif name:
            return IncompleteSignatureException(
                f"'{name}' not a valid key=value pair (missing equal-sign) in Authorization "
                f"header: '{authorization}'."
            )
    headers = request.headers
    timestamp = headers.get(b"x-amz-date") or headers[b"date"]
    token = headers.get(b"x-amz-security-token")
    return _AuthorizationParts(
        algorithm,
        parts["Credential"],
        parts["SignedHeaders"],
        parts["Signature"],
        timestamp.decode("latin-1").strip(),
        None if token is None else token.decode("latin-1").strip(),
    )


def _read_query(query: bytes) -> _AuthorizationParts | ServiceError:
    asked = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
    window = WINDOW_SECONDS
    if "X-Amz-Expires" in asked:
        seconds = asked["X-Amz-Expires"]
        if not (seconds.isascii() and seconds.isdigit()):
            return IncompleteSignatureException("X-Amz-Expires should be a number")
        # It may shorten the window of other requests, but not extend it.
        window = min(window, int(seconds[:9]))
    return _AuthorizationParts(
        asked["X-Amz-Algorithm"],
        asked["X-Amz-Credential"],
        asked["X-Amz-SignedHeaders"],
        asked["X-Amz-Signature"],
        asked["X-Amz-Date"],
        asked.get("X-Amz-Security-Token"),
        window,
    )


def _find_date_fault(parts: _AuthorizationParts, now: int) -> ServiceError | None:
    timestamp = parts.timestamp
    seconds = parse_timestamp(timestamp)
    if seconds is None:
        return IncompleteSignatureException(
            f"Date must be in ISO-8601 'basic format'. Got '{timestamp}'. "
            "See http://en.wikipedia.org/wiki/ISO_8601"
        )
    window = parts.window_seconds
    if seconds < now - window:
        length = _format_duration(window)
        bound = f"{_format_timestamp(now - window)} ({_format_timestamp(now)} - {length})"
        return InvalidSignatureException(
            f"Signature expired: {timestamp} is now earlier than {bound}"
        )
    if seconds > now + WINDOW_SECONDS:
        length = _format_duration(WINDOW_SECONDS)
        bound = f"{_format_timestamp(now + WINDOW_SECONDS)} ({_format_timestamp(now)} + {length})"
        return InvalidSignatureException(
            f"Signature not yet current: {timestamp} is still later than {bound}"
        )
    return None


@lru_cache(maxsize=64)
def parse_timestamp(timestamp: str) -> int | None:
    """Return the time of an x-amz-date in seconds since 1970; None if it is not in its format."""
    if _TIMESTAMP.fullmatch(timestamp) is None:
        return None
    try:
        return timegm(time.strptime(timestamp, _TIMESTAMP_FORMAT))
    except ValueError:
        return None


def _format_timestamp(seconds: int) -> str:
    return time.strftime(_TIMESTAMP_FORMAT, time.gmtime(seconds))


def _format_duration(seconds: int) -> str:
    minutes, rest = divmod(seconds, _MINUTE)
    return f"{seconds} sec." if rest else f"{minutes} min."


def _find_unsigned(headers: Headers, signed: frozenset[bytes]) -> ServiceError | None:
    """Return the error of a header that has to be signed but is not; None if there is none."""
    if b"host" not in signed:
        return InvalidSignatureException(_HOST_UNSIGNED)
    name = find_unsigned_name(headers, signed)
    if name is None:
        return None
    shown = name.decode("latin-1").title()
    return InvalidSignatureException(
        f"'{shown}' must be a 'SignedHeader' in the AWS Authorization."
    )


def find_unsigned_name(names: Iterable[bytes], signed: frozenset[bytes]) -> bytes | None:
    """Return the name of a header that has to be signed but is not; None if there is none."""
    for name in names:
        # Headers that change what is done, or how the body is decoded. The token does neither,
        # and is compared with the key's; some clients do not sign it, and the service allows it.
        if (
            name not in signed
            and (name.startswith(b"x-amz-") or name == b"content-encoding")
            and name != b"x-amz-security-token"
        ):
            return name
    return None


def _write_template(signed: tuple[bytes, ...]) -> bytes:
    names = [(name.replace(b"%", b"%%"), b"%b") for name in signed]
    canonical, _ = begin_canonical_request(names)
    return canonical


def _without_signature(query: bytes) -> bytes:
    parts = query.split(b"&")
    return b"&".join(part for part in parts if part.partition(b"=")[0] != b"X-Amz-Signature")
