"""Requests signed by botocore, a gate with test keys, and ways to tamper with a request."""

from __future__ import annotations

import json
from calendar import timegm
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest import mock

from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from keyfold.wire.server._authorizers import AdminAuthorizer, Authorizer
from keyfold.wire.server._gate import KeyGate
from keyfold.wire.server._key_file import AccessKey
from keyfold.wire.server._keyring import Keyring
from tests.oracle.local import target_of

ACCESS_KEY = "AKIDEXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
REGION = "us-east-1"
TIMESTAMP = "20261115T120000Z"
NOW = float(timegm((2026, 11, 15, 12, 0, 0)))

Headers = list[tuple[str, str]]


def write_keys(path: Path, *blocks: str) -> str:
    """Write a keys file that only its owner can read; return its path."""
    path.touch(0o600)
    path.write_text("\n".join(blocks), "utf-8")
    return str(path)


def block(access_key: str = ACCESS_KEY, secret: str = SECRET, more: str = "admin = true") -> str:
    return f'[keys."{access_key}"]\nsecret = "{secret}"\nname = "ada"\n{more}\n'


def admit_all(key: AccessKey, policy: str | None) -> Authorizer:
    return AdminAuthorizer()


def make_gate(path: str, now: float = NOW) -> KeyGate:
    return KeyGate(Keyring(path, admit_all), REGION, clock=lambda: now)


@dataclass(frozen=True, slots=True)
class Signed:
    """A signed HTTP request that a test can tamper with."""

    headers: Headers
    body: bytes
    method: str = "POST"
    url: str = "/"
    trailer: bytes = field(default=b"", repr=False)

    def set(self, name: str, value: str | None) -> Signed:
        """Return it with a header replaced; None removes the header."""
        kept = [one for one in self.headers if one[0].lower() != name.lower()]
        return replace(self, headers=kept if value is None else [*kept, (name, value)])

    def add(self, name: str, value: str, *, first: bool = False) -> Signed:
        """Return it with a header added."""
        added = [(name, value)]
        return replace(self, headers=added + self.headers if first else self.headers + added)

    def get(self, name: str) -> str:
        (value,) = [value for each, value in self.headers if each.lower() == name.lower()]
        return value

    def change(self, name: str, old: str, new: str) -> Signed:
        """Return it with `old` replaced in a header, which must contain it."""
        value = self.get(name)
        assert old in value
        return self.set(name, value.replace(old, new))

    def write(self) -> bytes:
        lines = [f"{self.method} {self.url} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if not any(name.lower() == "transfer-encoding" for name, _ in self.headers):
            lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join((*lines, "", "")).encode("latin-1", "replace") + self.body + self.trailer


def sign_by_botocore(
    operation: str = "ListTables",
    request: dict[str, Any] | bytes | None = None,
    *,
    access_key: str = ACCESS_KEY,
    secret: str = SECRET,
    token: str | None = None,
    region: str = REGION,
    service: str = "dynamodb",
    timestamp: str = TIMESTAMP,
    in_query: bool = False,
    **more: str,
) -> Signed:
    """Return the request for an operation, as boto3 would sign it."""
    body = request if isinstance(request, bytes) else json.dumps(request or {}).encode()
    headers = {
        "Host": "localhost:8000",
        "X-Amz-Target": target_of(operation),
        "Content-Type": "application/x-amz-json-1.0",
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    made: Any = AWSRequest("POST", "http://localhost:8000/", headers, body)
    keys = Credentials(access_key, secret, token)
    signer: Any = (SigV4QueryAuth if in_query else SigV4Auth)(keys, service, region)
    at = datetime.strptime(timestamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    with mock.patch("botocore.auth.get_current_datetime", return_value=at):
        if in_query:
            # Unpatched, botocore would move the body to the query, as other services expect it.
            assert body == b"{}"
            hashed = sha256(body).hexdigest()
            with mock.patch.object(SigV4QueryAuth, "payload", return_value=hashed):
                signer.add_auth(made)
        else:
            signer.add_auth(made)
    url = made.url.removeprefix("http://localhost:8000")
    return Signed([(name, str(value)) for name, value in made.headers.items()], body, url=url)
