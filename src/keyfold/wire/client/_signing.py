"""Signed requests: the heads of POST requests to DynamoDB's API.

The inputs of a signature change at different rates: with each day, second, operation or body.
What stays the same is cached, so that signing takes two hashes and one HMAC.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from keyfold.wire._sigv4 import (
    ALGORITHM,
    TERMINATOR,
    BegunSignature,
    SigningKey,
    begin_canonical_request,
    begin_string_to_sign,
    derive_key,
)

_CONTENT_TYPE = "application/x-amz-json-1.0"


class Credentials(NamedTuple):
    """AWS credentials, which requests are signed with; `expires` is in seconds since 1970."""

    access_key: str
    secret_key: str
    token: str | None = None
    expires: float | None = None

    def __repr__(self) -> str:
        return f"<Credentials {self.access_key}>"


class _Second(NamedTuple):
    """The inputs shared by all requests of one second."""

    second: int
    credentials: Credentials
    timestamp: str
    scope: str
    to_sign: bytes
    key: SigningKey
    # By target and encoding: the signature without the body, the head up to the body's length,
    # and the head from there to the signature.
    templates: dict[tuple[str, str], tuple[BegunSignature, bytes, bytes]]


class Signer:
    """Writes the signed heads of requests to one endpoint."""

    def __init__(
        self, authority: str, region: str, *, agent: str, accepts: str, service: str = "dynamodb"
    ) -> None:
        self._authority, self._region, self._service = authority, region, service
        self._unsigned = f"User-Agent: {agent}\r\nAccept-Encoding: {accepts}\r\n"
        self._day = ("", Credentials("", ""), SigningKey(b""))
        self._last: _Second | None = None

    def write_head(
        self, target: str, encoding: str, body: bytes, now: float, credentials: Credentials
    ) -> bytes:
        """Return the head of a request, with the empty line after it.

        `encoding` is the body's Content-Encoding; empty if it is not compressed.
        """
        second = int(now)
        last = self._last
        if last is None or last.second != second or last.credentials is not credentials:
            last = self._last = self._begin(second, credentials)
        template = last.templates.get((target, encoding))
        if template is None:
            template = self._make_template(target, encoding, last)
            last.templates[target, encoding] = template
        begun, before, after = template
        signature = begun.finish(body).encode()
        return b"%b%d%b%b\r\n\r\n" % (before, len(body), after, signature)

    def _begin(self, second: int, credentials: Credentials) -> _Second:
        timestamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(second))
        day, signed_for, key = self._day
        if day != timestamp[:8] or signed_for is not credentials:
            key = derive_key(credentials.secret_key, timestamp[:8], self._region, self._service)
            self._day = (timestamp[:8], credentials, key)
        scope = f"{timestamp[:8]}/{self._region}/{self._service}/{TERMINATOR}"
        to_sign = begin_string_to_sign(timestamp, scope)
        return _Second(second, credentials, timestamp, scope, to_sign, key, {})

    def _make_template(
        self, target: str, encoding: str, last: _Second
    ) -> tuple[BegunSignature, bytes, bytes]:
        token = last.credentials.token
        headers = {
            **({"content-encoding": encoding} if encoding else {}),
            "content-type": _CONTENT_TYPE,
            "host": self._authority,
            "x-amz-date": last.timestamp,
            **({} if token is None else {"x-amz-security-token": token}),
            "x-amz-target": target,
        }
        canonical, names = begin_canonical_request(
            (name.encode(), value.encode()) for name, value in headers.items()
        )
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        before = f"POST / HTTP/1.1\r\n{lines}{self._unsigned}Content-Length: "
        after = (
            f"\r\nAuthorization: {ALGORITHM} Credential={last.credentials.access_key}/{last.scope}"
            f", SignedHeaders={names.decode()}, Signature="
        )
        begun = BegunSignature(last.key, last.to_sign, canonical)
        return begun, before.encode(), after.encode()
