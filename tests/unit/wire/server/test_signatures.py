"""Signature verification: accepts what botocore and our client sign, refuses tampering.

The wording and precedence of errors are those of responses that users of DynamoDB have
published, and those that Alternator's authorization tests expect.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock
from urllib.parse import quote

import pytest
from botocore.auth import SigV4Auth

from keyfold.engine import Engine
from keyfold.wire.server._requests import HttpRequest
from keyfold.wire.server._signatures import MISMATCH, UNRECOGNIZED
from keyfold.wire.server._state import PreparedRequest
from tests.unit.wire.server.http import TABLE, Response, Wire, get, make_table
from tests.unit.wire.server.signing import (
    ACCESS_KEY,
    NOW,
    SECRET,
    TIMESTAMP,
    Signed,
    block,
    make_gate,
    sign_by_botocore,
    write_keys,
)

TOKEN = "session/token=="
WITH_TOKEN = "ASIDEXAMPLE"


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    """Yield connections through a gate with two keys, one of them with a session token."""
    path = write_keys(
        tmp_path / "keys.toml",
        block(),
        block(WITH_TOKEN, more=f'admin = true\ntoken = "{TOKEN}"'),
        block("AKIDDISABLED", more="admin = true\ndisabled = true"),
    )
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        make_table(engine)
        wire = Wire(engine, gate=make_gate(path))
        yield wire
        wire.close()


def exchange(wire: Wire, sent: Signed) -> Response:
    (response,) = wire.exchange(sent.write())
    return response


def refusal(wire: Wire, sent: Signed) -> tuple[str, str]:
    response = exchange(wire, sent)
    assert response.status == 400, response
    assert response.json["__type"].startswith("com.amazon.coral.service#")
    return response.json["__type"].partition("#")[2], response.json["message"]


def assert_mismatch(wire: Wire, sent: Signed) -> None:
    assert refusal(wire, sent) == ("InvalidSignatureException", MISMATCH)


def test_a_signed_request_is_accepted(wire: Wire) -> None:
    assert exchange(wire, sign_by_botocore()).json == {"TableNames": [TABLE]}


def test_fast_path_reads_and_writes_pass_the_gate(wire: Wire) -> None:
    key = {"pk": {"S": "a"}}
    written = exchange(wire, sign_by_botocore("PutItem", {"TableName": TABLE, "Item": key}))
    assert (written.status, written.json) == (200, {})
    read = exchange(wire, sign_by_botocore("GetItem", {"TableName": TABLE, "Key": key}))
    assert read.json == {"Item": key}
    assert wire.exchange(get("a"))[0].status == 400, "signed with an unknown key"


def test_a_session_token_belongs_to_its_key(wire: Wire) -> None:
    signed = sign_by_botocore(access_key=WITH_TOKEN, token=TOKEN)
    assert exchange(wire, signed).status == 200


@pytest.mark.parametrize(
    "sent",
    [
        sign_by_botocore(access_key="AKIDNOBODY"),
        sign_by_botocore(access_key="AKIDDISABLED"),
        sign_by_botocore(access_key=ACCESS_KEY.lower()),
        # A token that the key does not have, a missing one, a wrong one, a truncated one.
        sign_by_botocore(token=TOKEN),
        sign_by_botocore(access_key=WITH_TOKEN),
        sign_by_botocore(access_key=WITH_TOKEN, token="another"),
        sign_by_botocore(access_key=WITH_TOKEN, token=TOKEN[:-1]),
        sign_by_botocore(access_key=WITH_TOKEN, token=TOKEN).change(
            "X-Amz-Security-Token", TOKEN, TOKEN.upper()
        ),
    ],
)
def test_an_unknown_key_or_wrong_token_is_refused(wire: Wire, sent: Signed) -> None:
    assert refusal(wire, sent) == ("UnrecognizedClientException", UNRECOGNIZED)


signed = sign_by_botocore("GetItem", {"TableName": TABLE, "Key": {"pk": {"S": "a"}}})
SIGNATURE = signed.get("Authorization").rpartition("=")[2]

TAMPERED: dict[str, Signed] = {
    "another secret": sign_by_botocore(secret=SECRET[:-1] + "y"),
    "no secret": sign_by_botocore(secret=""),
    "another body": replace(signed, body=signed.body.replace(b'"a"', b'"b"')),
    "a body with a space more": replace(signed, body=signed.body + b" "),
    "no body": replace(signed, body=b""),
    "another target": signed.change("X-Amz-Target", "GetItem", "DeleteItem"),
    "another date within the window": signed.set("X-Amz-Date", "20261115T120001Z"),
    "another host": signed.set("Host", "localhost:8001"),
    "no host": signed.set("Host", None),
    "another type": signed.set("Content-Type", "application/json"),
    "a query": replace(signed, url="/?a=b"),
    "a query with two question marks": replace(signed, url="/?a=b?X-Amz-Algorithm=x"),
    "a signature in the query": replace(signed, url="/?X-Amz-Signature=x"),
    "an empty signature of the right length": signed.change("Authorization", SIGNATURE, "0" * 64),
    "a truncated signature": signed.change("Authorization", SIGNATURE, SIGNATURE[:-1]),
    "one character of it": signed.change("Authorization", SIGNATURE, SIGNATURE[0]),
    "a longer signature": signed.change("Authorization", SIGNATURE, SIGNATURE + "0"),
    "a signature in capitals": signed.change("Authorization", SIGNATURE, SIGNATURE.upper()),
    "one signed header less": signed.change("Authorization", "content-type;", ""),
    "one signed header more": signed.change(
        "Authorization", "content-type;", "accept;content-type;"
    ),
    "another order of a query": replace(
        signed, url="/?" + "&".join(reversed(("X-Amz-Date=1", "b=2")))
    ),
    # Of two headers, an implementation might use the first or the last.
    "a second target": signed.add("X-Amz-Target", "DynamoDB_20120810.DeleteItem"),
    "a target before": signed.add("X-Amz-Target", "DynamoDB_20120810.DeleteItem", first=True),
    "a target in other letters": signed.add("x-amz-target", "DynamoDB_20120810.DeleteItem"),
    "the same target twice": signed.add("X-Amz-Target", "DynamoDB_20120810.GetItem"),
    "a second host": signed.add("host", "localhost:8000"),
    "a second date": signed.add("X-AMZ-DATE", TIMESTAMP),
    "a second authorization": signed.add("Authorization", signed.get("Authorization")),
    "a second type": signed.add("content-type", "application/x-amz-json-1.0"),
}


@pytest.mark.parametrize("sent", TAMPERED.values(), ids=TAMPERED.keys())
def test_a_tampered_request_is_refused(wire: Wire, sent: Signed) -> None:
    assert_mismatch(wire, sent)
    # Also after the original request, parts of which are cached.
    assert exchange(wire, signed).json == {}
    assert_mismatch(wire, sent)


def test_cached_signatures_are_still_checked_for_date_and_headers(wire: Wire) -> None:
    assert exchange(wire, signed).status == 200
    assert "expired" in refusal(wire, signed.set("X-Amz-Date", moved(-301)))[1]
    assert "not yet current" in refusal(wire, signed.set("X-Amz-Date", moved(301)))[1]
    yesterday = signed.change("Authorization", "20261115", "20261114")
    assert "Date in Credential scope" in refusal(wire, yesterday)[1]
    assert "must be a 'SignedHeader'" in refusal(wire, signed.add("X-Amz-Note", "x"))[1]
    token = signed.add("X-Amz-Security-Token", "x")
    assert refusal(wire, token)[0] == "UnrecognizedClientException"


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("x-amz-content-sha256", "UNSIGNED-PAYLOAD", "X-Amz-Content-Sha256"),
        ("X-Amz-Meta-Note", "", "X-Amz-Meta-Note"),
        ("Content-Encoding", "identity", "Content-Encoding"),
    ],
)
def test_headers_that_change_a_request_have_to_be_signed(
    wire: Wire, name: str, value: str, shown: str
) -> None:
    kind, message = refusal(wire, signed.add(name, value))
    assert kind == "InvalidSignatureException"
    assert message == f"'{shown}' must be a 'SignedHeader' in the AWS Authorization."


def test_the_session_token_need_not_be_signed(wire: Wire) -> None:
    """The token is compared; aiodynamo, which works with the service, does not sign it."""
    plain = sign_by_botocore(access_key=WITH_TOKEN)
    assert exchange(wire, plain.add("X-Amz-Security-Token", TOKEN)).status == 200
    for sent in (plain, plain.add("X-Amz-Security-Token", "another")):
        assert refusal(wire, sent)[0] == "UnrecognizedClientException"
    signed_too = sign_by_botocore(access_key=WITH_TOKEN, token=TOKEN)
    assert_mismatch(wire, signed_too.add("X-Amz-Security-Token", TOKEN))


def test_the_host_may_be_signed_without_its_port(wire: Wire) -> None:
    """The scope of a key does not include the port, and aiodynamo signs without it."""
    bare = sign_by_botocore(Host="localhost")
    assert exchange(wire, bare.set("Host", "localhost:8000")).status == 200
    for host in ("otherhost:8000", "localhost:port", ":8000", "localhost.:8000"):
        assert_mismatch(wire, bare.set("Host", host))


def test_the_target_has_to_be_signed(wire: Wire) -> None:
    unsigned = replace(signed, headers=[(n, v) for n, v in signed.headers])
    sent = unsigned.change("Authorization", ";x-amz-target", "")
    assert refusal(wire, sent)[1] == (
        "'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization."
    )


def test_the_host_has_to_be_signed(wire: Wire) -> None:
    assert refusal(wire, signed.change("Authorization", "host;", "")) == (
        "InvalidSignatureException",
        "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.",
    )


def test_other_headers_need_not_be_signed(wire: Wire) -> None:
    sent = signed.add("User-Agent", "x").add("X-Amzn-Trace-Id", "y").add("Accept", "*/*")
    assert exchange(wire, sent).status == 200


def test_header_names_are_case_insensitive_and_values_are_trimmed(wire: Wire) -> None:
    sent = replace(
        sign_by_botocore(Meerkat="Hello world"),
        headers=[
            (name.swapcase(), value.replace(" world", "    world  "))
            for name, value in reversed(sign_by_botocore(Meerkat="Hello world").headers)
        ],
    )
    assert exchange(wire, sent).status == 200
    plain = sign_by_botocore()
    algorithm, _, parts = plain.get("Authorization").partition(" ")
    for parts_ in (parts.replace(", ", ","), parts.replace(", ", " ")):
        assert exchange(wire, plain.set("Authorization", f"{algorithm} {parts_}")).status == 200


def test_a_header_may_have_several_values(wire: Wire) -> None:
    one = sign_by_botocore(Note="a,b")
    sent = one.set("Note", None).add("Note", "a").add("note", " b ")
    assert exchange(wire, sent).status == 200
    assert_mismatch(wire, one.set("Note", None).add("Note", "b").add("Note", "a"))


def test_repeated_headers_are_counted_once(wire: Wire) -> None:
    item = {"pk": {"S": "a"}, "text": {"S": "y" * 9_000}}
    sent = sign_by_botocore("PutItem", {"TableName": TABLE, "Item": item}).add("X-Pad", "z" * 9_000)
    data = sent.add("Via", "a").add("Via", "b").write()
    (response,) = wire.exchange(data)
    assert response.status == 200


def test_headers_of_one_request_are_not_those_of_the_next(wire: Wire) -> None:
    connection, _ = wire.connect()
    connection.data_received(sign_by_botocore().add("Via", "a").add("Via", "b").write())
    wire.run_until_idle()
    requests: list[HttpRequest] = []
    prepare = wire.state.prepare

    def note(request: HttpRequest) -> PreparedRequest:
        requests.append(request)
        return prepare(request)

    with mock.patch.object(wire.state, "prepare", note):
        connection.data_received(b"POST / HTTP/1.1\r\n\r\n")
    assert [request.repeated for request in requests] == [()]


def test_trailers_of_a_chunked_body_are_not_headers(wire: Wire) -> None:
    body = b'{"TableName": "Things", "Key": {"pk": {"S": "a"}}}'
    chunked = sign_by_botocore("GetItem", body)
    trailed = replace(
        chunked.add("Transfer-Encoding", "chunked"),
        body=b"%x\r\n%b\r\n0\r\n" % (len(body), body),
        trailer=b"X-Amz-Target: DynamoDB_20120810.DeleteTable\r\n\r\n",
    )
    # Neither of this request nor of the next on the same connection.
    sent = trailed.write() + signed.set("X-Amz-Target", None).write() + signed.write()
    answers = wire.exchange(sent)
    assert [answer.status for answer in answers] == [200, 400, 200]
    assert answers[1].json["__type"].endswith("#UnknownOperationException")


def test_the_signature_covers_the_compressed_body(wire: Wire) -> None:
    packed = gzip.compress(b"{}")
    sent = sign_by_botocore("ListTables", packed, Content_Encoding="gzip")
    assert exchange(wire, sent).json == {"TableNames": [TABLE]}
    assert_mismatch(wire, replace(sent, body=gzip.compress(b'{"Limit": 1}')))


@pytest.mark.parametrize("claimed", ["UNSIGNED-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"])
def test_a_body_has_to_be_signed(wire: Wire, claimed: str) -> None:
    with mock.patch.object(SigV4Auth, "payload", return_value=claimed):
        sent = sign_by_botocore(X_Amz_Content_SHA256=claimed)
    assert_mismatch(wire, sent)


def moved(seconds: int) -> str:
    return datetime.fromtimestamp(NOW + seconds, UTC).strftime("%Y%m%dT%H%M%SZ")


@pytest.mark.parametrize("seconds", [-300, -1, 0, 1, 300])
def test_a_signature_is_valid_for_five_minutes(wire: Wire, seconds: int) -> None:
    assert exchange(wire, sign_by_botocore(timestamp=moved(seconds))).status == 200


def test_a_replay_after_the_window_is_refused(wire: Wire) -> None:
    assert refusal(wire, sign_by_botocore(timestamp=moved(-301))) == (
        "InvalidSignatureException",
        "Signature expired: 20261115T115459Z is now earlier than 20261115T115500Z (20261115T120000Z - 5 min.)",
    )


def test_a_signature_from_the_future_is_refused(wire: Wire) -> None:
    assert refusal(wire, sign_by_botocore(timestamp=moved(301))) == (
        "InvalidSignatureException",
        "Signature not yet current: 20261115T120501Z is still later than 20261115T120500Z (20261115T120000Z + 5 min.)",
    )


def test_the_date_is_checked_first(wire: Wire) -> None:
    """Alternator's test of an expired signature expects this order."""
    nonsense = "AWS4-HMAC-SHA256 Credential=x/2/3/4/aws4_request SignedHeaders=x-amz-date;host"
    sent = signed.set("Authorization", f"{nonsense} Signature=123")
    assert "Signature expired" in refusal(wire, sent.set("X-Amz-Date", "20170101T010101Z"))[1]
    assert "not yet current" in refusal(wire, sent.set("X-Amz-Date", "30200101T010101Z"))[1]


@pytest.mark.parametrize(
    "date",
    [
        "201",
        "yesterday",
        "Sun, 15 Nov 2026 12:00:00 GMT",
        "2026-11-15T12:00:00Z",
        "20261115T120000",
        "20261315T120000Z",
        "20261115T250000Z",
        "\N{SUPERSCRIPT TWO}0261115T120000Z",
    ],
)
def test_only_one_date_format_is_accepted(wire: Wire, date: str) -> None:
    assert refusal(wire, signed.set("X-Amz-Date", date)) == (
        "IncompleteSignatureException",
        f"Date must be in ISO-8601 'basic format'. Got '{date}'. See http://en.wikipedia.org/wiki/ISO_8601",
    )


def test_the_date_header_is_used_if_there_is_no_x_amz_date(wire: Wire) -> None:
    sent = signed.set("X-Amz-Date", None).set("Date", TIMESTAMP)
    # X-Amz-Date is in the signed headers, so this is as invalid as another date would be.
    assert_mismatch(wire, sent)
    assert "ISO-8601" in refusal(wire, sent.set("Date", "Sun, 15 Nov 2026 12:00:00 GMT"))[1]


def test_the_credential_scope_must_match_the_day_region_and_service(wire: Wire) -> None:
    def say(sent: Signed) -> str:
        kind, message = refusal(wire, sent)
        assert kind == "InvalidSignatureException"
        return message

    assert say(sign_by_botocore(region="eu-east-2")) == (
        "Credential should be scoped to a valid region, not 'eu-east-2'. "
    )
    assert say(sign_by_botocore(service="execute-api")) == (
        "Credential should be scoped to correct service: 'dynamodb'. "
    )
    assert say(signed.change("Authorization", "aws4_request", "aws4_reques")) == (
        "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws4_reques'. "
    )
    assert say(signed.change("Authorization", "/20261115/", "/20261114/")) == (
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from "
        "HTTP: '20261114' != '20261115', from '20261115T120000Z'."
    )
    every = signed.change("Authorization", "20261115/us-east-1/dynamodb/aws4_request", "b/c/d/e")
    assert say(every) == (
        "Credential should be scoped to a valid region, not 'c'. "
        "Credential should be scoped to correct service: 'dynamodb'. "
        "Credential should be scoped with a valid terminator: 'aws4_request', not 'e'. "
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from "
        "HTTP: 'b' != '20261115', from '20261115T120000Z'."
    )
    assert "valid region, not 'US-EAST-1'" in say(
        signed.change("Authorization", "us-east-1", "US-EAST-1")
    )


def test_the_error_lists_what_an_incomplete_authorization_lacks(wire: Wire) -> None:
    def say(sent: Signed) -> str:
        kind, message = refusal(wire, sent)
        assert kind == "IncompleteSignatureException"
        return message

    whole = signed.get("Authorization")
    assert say(signed.change("Authorization", f"Signature={SIGNATURE}", "Signature=")) == (
        "Authorization header requires 'Signature' parameter. "
        f"Authorization={whole.replace(SIGNATURE, '')}"
    )
    odd = signed.change("Authorization", "Credential=", "Credential=x, ")
    assert say(odd) == (
        f"'{ACCESS_KEY}/20261115/us-east-1/dynamodb/aws4_request' not a valid key=value pair "
        f"(missing equal-sign) in Authorization header: '{odd.get('Authorization')}'."
    )
    assert say(signed.change("Authorization", f"{ACCESS_KEY}/", f"{ACCESS_KEY}/x/")) == (
        "Credential must have exactly 5 slash-delimited elements, e.g. "
        f"keyid/date/region/service/term, got '{ACCESS_KEY}/x/20261115/us-east-1/dynamodb/"
        "aws4_request'"
    )
    assert say(signed.change("Authorization", "AWS4-HMAC-SHA256", "AWS4-HMAC-SHA25")) == (
        "Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA25' (only AWS4-HMAC-SHA256 for now). "
    )
    assert "existence of either a 'X-Amz-Date'" in say(signed.set("X-Amz-Date", None))


def test_a_request_without_an_authorization_is_refused(wire: Wire) -> None:
    assert refusal(wire, signed.set("Authorization", None)) == (
        "MissingAuthenticationTokenException",
        "Request is missing Authentication Token",
    )


# Presigned URLs.


@pytest.mark.parametrize("token", [None, TOKEN])
def test_a_presigned_url_is_accepted(wire: Wire, token: str | None) -> None:
    access_key = ACCESS_KEY if token is None else WITH_TOKEN
    sent = sign_by_botocore(in_query=True, access_key=access_key, token=token)
    assert exchange(wire, sent).json == {"TableNames": [TABLE]}


presigned = sign_by_botocore("ListTables", in_query=True)


@pytest.mark.parametrize(
    "sent",
    [
        replace(presigned, body=b'{"Limit": 1}'),
        replace(presigned, url=presigned.url + "&a=b"),
        replace(presigned, url=presigned.url.replace("X-Amz-Expires=3600", "X-Amz-Expires=3601")),
        replace(presigned, url=presigned.url[:-1]),
        presigned.change("X-Amz-Target", "ListTables", "DescribeLimits"),
        presigned.set("Host", "localhost"),
    ],
)
def test_a_tampered_presigned_url_is_refused(wire: Wire, sent: Signed) -> None:
    assert_mismatch(wire, sent)


def test_a_presigned_url_is_valid_no_longer_than_a_header(wire: Wire) -> None:
    assert "X-Amz-Expires=3600" in presigned.url
    sent = sign_by_botocore(in_query=True, timestamp=moved(-301))
    assert "Signature expired" in refusal(wire, sent)[1]
    shorter = replace(presigned, url=presigned.url.replace("=3600", "=90"))
    assert_mismatch(wire, shorter)
    late = sign_by_botocore(in_query=True, timestamp=moved(-91))
    late = replace(late, url=late.url.replace("=3600", "=90"))
    assert refusal(wire, late)[1].endswith("20261115T115830Z (20261115T120000Z - 90 sec.)")
    for nonsense in ("", "x", "-1", "1e3", "٣"):
        odd = replace(presigned, url=presigned.url.replace("=3600", "=" + quote(nonsense)))
        assert refusal(wire, odd) == (
            "IncompleteSignatureException",
            "X-Amz-Expires should be a number",
        )
