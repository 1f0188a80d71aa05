"""The verifier accepts what botocore and our client sign, whatever they sign, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from unittest import mock
from urllib.parse import quote

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials
from hypothesis import given
from hypothesis import strategies as st

from keyfold.errors import IncompleteSignatureException, ServiceError
from keyfold.wire.client import Credentials
from keyfold.wire.client._signing import Signer
from keyfold.wire.server import _signatures
from keyfold.wire.server._requests import HttpRequest
from keyfold.wire.server._signatures import MISMATCH, UNRECOGNIZED, Verifier
from tests.unit.wire.server.signing import ACCESS_KEY, NOW, REGION, SECRET, sign_by_botocore

texts = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=30)
access_keys = st.text("abcXYZ019_.-", min_size=1, max_size=20)


def receive(method: str, url: str, headers: list[tuple[str, str]], body: bytes) -> HttpRequest:
    """Return the request that a connection parses from these bytes."""
    received = [(name.lower().encode(), value.encode()) for name, value in headers]
    first = dict(reversed(received))
    repeated = received if len(first) != len(received) else ()
    return HttpRequest(method.encode(), url.encode(), first, body, True, None, repeated)


def verify(request: HttpRequest, now: float, keys: Credentials) -> ServiceError | None:
    verifier = Verifier(REGION)
    claim = verifier.read_claim(request, now)
    if isinstance(claim, ServiceError):
        return claim
    assert claim.scope.access_key == keys.access_key
    return verifier.find_fault(claim, request, keys.secret_key, keys.token)


segments = st.text(st.characters(max_codepoint=0x24F, categories=("L", "N", "P", "Z")), max_size=6)


@given(
    method=st.sampled_from(("GET", "POST", "PUT", "DELETE")),
    path=st.lists(segments | st.sampled_from((".", "..", "")), max_size=4),
    query=st.lists(st.tuples(segments, segments), max_size=4),
    more=st.dictionaries(
        st.text("abcxyz-", min_size=1, max_size=8).filter(lambda name: name.strip("-") == name),
        st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
        max_size=4,
    ),
    body=st.binary(max_size=200),
    keys=st.builds(Credentials, access_keys, texts, st.none() | texts),
    now=st.integers(0, 4_000_000_000),
    tamper=st.sampled_from(("", "body", "method", "header", "query", "path", "secret")),
)
def test_only_untampered_botocore_signatures_are_accepted(
    method: str,
    path: list[str],
    query: list[tuple[str, str]],
    more: dict[str, str],
    body: bytes,
    keys: Credentials,
    now: int,
    tamper: str,
) -> None:
    sent_path = "/" + "/".join(quote(each, safe="") for each in path)
    sent_query = "&".join(f"{quote(n, safe='')}={quote(v, safe='')}" for n, v in query)
    headers = {"Host": "example.com", "X-Amz-Target": "x", **more}
    url = f"https://example.com{sent_path}" + (f"?{sent_query}" if sent_query else "")
    made: Any = AWSRequest(method, url, headers, body)
    signer: Any = SigV4Auth(
        BotocoreCredentials(keys.access_key, keys.secret_key, keys.token), "dynamodb", REGION
    )
    at = datetime.fromtimestamp(now, UTC)
    with mock.patch("botocore.auth.get_current_datetime", return_value=at):
        signer.add_auth(made)
    sent = [(name, str(value)) for name, value in made.headers.items()]
    target = made.url.removeprefix("https://example.com")
    tampered: Callable[[], HttpRequest] = {
        "": lambda: receive(method, target, sent, body),
        "secret": lambda: receive(method, target, sent, body),
        "body": lambda: receive(method, target, sent, body + b"x"),
        "method": lambda: receive(method + "X", target, sent, body),
        "header": lambda: receive(
            method, target, [(n, v + "y" if n == "X-Amz-Target" else v) for n, v in sent], body
        ),
        "query": lambda: receive(
            method, target + ("&" if "?" in target else "?") + "tampered=1", sent, body
        ),
        "path": lambda: receive(
            method, target.replace(sent_path, f"{sent_path}/tampered", 1), sent, body
        ),
    }[tamper]
    if tamper == "secret":
        keys = keys._replace(secret_key=keys.secret_key + "x")
    fault = verify(tampered(), now + 0.5, keys)
    if tamper:
        assert fault is not None
        assert fault.message == MISMATCH
    else:
        assert fault is None


@given(
    st.sampled_from(("GetItem", "PutItem")),
    st.sampled_from(("", "gzip")),
    st.binary(max_size=200),
    st.builds(Credentials, access_keys, texts, st.none() | texts),
    st.integers(0, 4_000_000_000),
)
def test_signatures_of_our_client_are_accepted(
    operation: str, encoding: str, body: bytes, keys: Credentials, now: int
) -> None:
    signer = Signer("localhost:8000", REGION, agent="keyfold", accepts="gzip")
    head = signer.write_head(f"DynamoDB_20120810.{operation}", encoding, body, now, keys)
    _, *lines = head.decode().removesuffix("\r\n\r\n").split("\r\n")
    headers = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
    assert verify(receive("POST", "/", headers, body), now, keys) is None
    fault = verify(receive("POST", "/", headers, body + b" "), now, keys)
    assert fault is not None
    assert fault.message == MISMATCH


def test_a_token_is_needed_by_both_or_by_neither() -> None:
    for held, sent in ((None, "XXXX"), ("XXXX", None), ("a", "b"), ("a", "A")):
        signed = sign_by_botocore(token=sent)
        request = receive("POST", "/", signed.headers, signed.body)
        fault = verify(request, NOW, Credentials(ACCESS_KEY, SECRET, held))
        assert fault is not None, (held, sent)
        assert fault.message == UNRECOGNIZED


@pytest.mark.parametrize("host", ["localhost", "[::1]"])
def test_a_host_may_be_signed_without_its_port(host: str) -> None:
    signed = sign_by_botocore(Host=host).set("Host", f"{host}:8000")
    request = receive("POST", "/", signed.headers, signed.body)
    assert verify(request, NOW, Credentials(ACCESS_KEY, SECRET, None)) is None


def test_a_signed_header_that_is_absent_counts_as_empty() -> None:
    signed = sign_by_botocore(note="").set("note", None)
    request = receive("POST", "/", signed.headers, signed.body)
    assert verify(request, NOW, Credentials(ACCESS_KEY, SECRET, None)) is None
    signed = sign_by_botocore(note="x").set("note", None)
    request = receive("POST", "/", signed.headers, signed.body)
    assert verify(request, NOW, Credentials(ACCESS_KEY, SECRET, None)) is not None


def test_a_signing_key_is_derived_once_a_day() -> None:
    signed = sign_by_botocore()
    request, verifier = receive("POST", "/", signed.headers, signed.body), Verifier(REGION)
    claim = verifier.read_claim(request, NOW)
    assert not isinstance(claim, ServiceError)
    with mock.patch.object(_signatures, "derive_key", wraps=_signatures.derive_key) as derive:
        for _ in range(3):
            assert verifier.find_fault(claim, request, SECRET, None) is None
        assert derive.call_count == 1


@pytest.mark.parametrize(
    ("authorization", "part"),
    [("AWS4-HMAC-SHA256 Credential=a", "requires"), ("AWS4-HMAC-SHA256 a", "requires")],
)
def test_an_incomplete_authorization_has_no_date(authorization: str, part: str) -> None:
    headers = [("Host", "localhost"), ("Authorization", authorization)]
    fault = _signatures.find_date_fault(receive("POST", "/", headers, b"{}"), NOW)
    assert isinstance(fault, IncompleteSignatureException)
    assert part in fault.message


def test_the_cache_of_signing_keys_is_bounded() -> None:
    verifier = Verifier(REGION)
    largest = 0
    for number in range(2_500):
        verifier._derive_key(f"secret {number}", "20261115")
        largest = max(largest, len(verifier._keys))
    assert largest == 1_000
