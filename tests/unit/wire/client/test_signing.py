"""Signed requests, against botocore's signer."""

from __future__ import annotations

import pickle
import time
from datetime import UTC, datetime
from typing import Any
from unittest import mock

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials
from hypothesis import given
from hypothesis import strategies as st

from keyfold.wire._sigv4 import BegunSignature, SigningKey
from keyfold.wire.client import Credentials
from keyfold.wire.client._signing import Signer

GET = "DynamoDB_20120810.GetItem"


def read_head(head: bytes) -> dict[str, str]:
    lines = head.decode().removesuffix("\r\n\r\n").split("\r\n")
    assert lines[0] == "POST / HTTP/1.1"
    return dict(line.split(": ", 1) for line in lines[1:])


def sign_by_botocore(headers: dict[str, str], body: bytes, region: str, keys: Credentials) -> str:
    """Return botocore's Authorization header for the headers that our signer signs."""
    names = headers["Authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    by_name = {name.lower(): value for name, value in headers.items()}
    signed = {name: by_name[name] for name in names if name != "x-amz-security-token"}
    url = f"https://{by_name['host']}/"
    request: Any = AWSRequest("POST", url, signed, body)
    timestamp = datetime.strptime(by_name["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    given_keys = BotocoreCredentials(keys.access_key, keys.secret_key, keys.token)
    with mock.patch("botocore.auth.get_current_datetime", return_value=timestamp):
        signer: Any = SigV4Auth(given_keys, "dynamodb", region)
        signer.add_auth(request)
    return request.headers["Authorization"]


texts = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=30)
keys = st.builds(Credentials, texts, texts, st.none() | texts)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("GetItem", "PutItem")),
            st.sampled_from(("", "gzip")),
            st.binary(max_size=200),
            keys,
        )
    ),
    st.integers(0, 4_000_000_000),
    st.integers(0, 100_000),
    st.sampled_from(("us-east-1", "eu-west-1")),
)
def test_signatures_are_those_of_botocore(
    calls: list[tuple[str, str, bytes, Credentials]], start: int, step: int, region: str
) -> None:
    """One signer makes all the calls, so that its caches are used."""
    host = f"dynamodb.{region}.amazonaws.com"
    signer = Signer(host, region, agent="keyfold", accepts="identity")
    for place, (operation, encoding, body, credentials) in enumerate(calls):
        now = start + place // 2 * step + 0.9
        head = signer.write_head(f"DynamoDB_20120810.{operation}", encoding, body, now, credentials)
        headers = read_head(head)
        assert headers["Content-Length"] == str(len(body))
        assert headers.get("content-encoding") == (encoding or None)
        assert headers.get("x-amz-security-token") == credentials.token
        assert headers["Authorization"] == sign_by_botocore(headers, body, region, credentials)


def test_the_signing_key_is_derived_once_a_day() -> None:
    signer = Signer("localhost", "us-east-1", agent="keyfold", accepts="gzip")
    credentials = Credentials("key", "secret")
    with mock.patch(
        "keyfold.wire.client._signing.derive_key", return_value=SigningKey(b"key")
    ) as derive:
        for second in range(100):
            signer.write_head(GET, "", b"{}", 86_400.0 + second, credentials)
        assert derive.call_count == 1
        signer.write_head(GET, "", b"{}", 2 * 86_400.0, credentials)
        assert derive.call_count == 2


def test_what_stays_the_same_is_hashed_once() -> None:
    signer = Signer("localhost", "us-east-1", agent="keyfold", accepts="gzip")
    credentials, other = Credentials("key", "secret"), Credentials("key", "secret")
    with mock.patch("keyfold.wire.client._signing.BegunSignature", wraps=BegunSignature) as begin:

        def count(*calls: tuple[str, str, float, Credentials]) -> int:
            begin.reset_mock()
            for target, encoding, now, keys in calls:
                signer.write_head(target, encoding, b"{}", now, keys)
            return begin.call_count

        assert count((GET, "", 1.0, credentials), (GET, "", 1.9, credentials)) == 1
        assert count((GET, "", 1.5, credentials), ("x", "", 1.5, credentials)) == 1
        assert count((GET, "gzip", 1.5, credentials), (GET, "gzip", 1.5, credentials)) == 1
        assert count((GET, "", 1.5, credentials)) == 0
        assert count((GET, "", 2.0, credentials)) == 1
        assert count((GET, "", 2.0, other), (GET, "", 2.0, other)) == 1


def test_requests_after_midnight_are_signed_with_the_key_of_the_new_day() -> None:
    signer = Signer("localhost", "us-east-1", agent="keyfold", accepts="gzip")
    credentials = Credentials("key", "secret")
    midnight = 1_900_000_000 // 86_400 * 86_400
    # The last one is a request that is sent again, by a clock that was set back.
    for now in (midnight - 1, midnight, midnight + 86_400, midnight - 1):
        headers = read_head(signer.write_head(GET, "", b"{}", float(now), credentials))
        day = time.strftime("%Y%m%d", time.gmtime(now))
        assert f"Credential=key/{day}/us-east-1/dynamodb/aws4_request" in headers["Authorization"]
        assert headers["Authorization"] == sign_by_botocore(
            headers, b"{}", "us-east-1", credentials
        )


def test_secrets_are_not_shown() -> None:
    credentials = Credentials("AKID", "secret", "token")
    assert repr(credentials) == str(credentials) == "<Credentials AKID>"
    assert pickle.loads(pickle.dumps(credentials)) == credentials
