"""Authorizations that have gone wrong: each is refused properly, and none lets anybody in.

The requests that they came from were signed well, so a 200 would be somebody let in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from keyfold.engine import Engine
from keyfold.wire._sigv4 import canonicalize_query
from tests.examples import examples
from tests.fuzz.heads import first_lines, mutated_bytes, mutated_headers
from tests.fuzz.talking import check_answers
from tests.unit.wire.server.http import Wire, make_table
from tests.unit.wire.server.signing import (
    ACCESS_KEY,
    Signed,
    block,
    make_gate,
    sign_by_botocore,
    write_keys,
)

QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
MANY = examples(150, 20_000, suppress_health_check=QUIET)

SIGNED = sign_by_botocore()
PRESIGNED = sign_by_botocore(in_query=True)
SIGNATURE = SIGNED.get("Authorization").rpartition("=")[2]


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    folder: Path = tmp_path_factory.mktemp("keys")
    path = write_keys(folder / "keys.toml", block())
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        make_table(engine)
        wire = Wire(engine, gate=make_gate(path))
        yield wire
        wire.close()


def send(wire: Wire, data: bytes, *, may_lack_bodies: bool = False) -> list[int]:
    """Return the statuses of what is answered."""
    connection, transport = wire.connect()
    connection.data_received(data)
    wire.run_until_idle()
    connection.connection_lost(None)
    answers = check_answers(transport.written, may_lack_bodies=may_lack_bodies)
    return [each.status for each in answers]


pieces = st.sampled_from(
    [
        *("AWS4-HMAC-SHA256", "AWS4-", "AWS3", " ", ",", ", ", "=", ";", "/", "\t", "\xff", "%00"),
        *("Credential=", "SignedHeaders=", "Signature=", "Credential", "Signature", SIGNATURE),
        *(f"{ACCESS_KEY}/20261115/us-east-1/dynamodb/aws4_request", ACCESS_KEY, "aws4_request"),
        *("content-type;host;x-amz-date;x-amz-target", "host", "Host;HOST", "x-amz-date;host"),
        *("/" * 50, "x" * 3_000, "dynamodb", "us-east-1", "20261115", SIGNATURE[:10], "é"),
    ]
)
values = st.one_of(
    st.lists(pieces, max_size=14).map("".join),
    st.lists(pieces, max_size=8).map(lambda parts: "AWS4-HMAC-SHA256 " + "".join(parts)),
    mutated_bytes(SIGNED.get("Authorization").encode()).map(
        lambda data: data.decode("latin-1").replace("\r", "").replace("\n", "").replace("\0", "")
    ),
)


@MANY
@given(values)
def test_an_authorization_that_went_wrong_is_refused(wire: Wire, value: str) -> None:
    statuses = send(wire, SIGNED.set("Authorization", value).write())
    if statuses == [200]:
        # Only what says the same in other spaces.
        assert SIGNATURE in value
        assert f"{ACCESS_KEY}/20261115/us-east-1/dynamodb/aws4_request" in value
    else:
        assert statuses == [400]


@MANY
@given(mutated_bytes(PRESIGNED.url.encode()))
def test_a_query_that_went_wrong_is_refused(wire: Wire, url: bytes) -> None:
    plain = url.decode("latin-1").translate({10: None, 13: None, 32: None, 0: None})
    statuses = send(wire, replace(PRESIGNED, url=plain).write())
    assert 500 not in statuses
    if statuses == [200]:
        # Only what says the same in another encoding.
        sent, signed = (each.encode("latin-1").partition(b"?") for each in (plain, PRESIGNED.url))
        assert (sent[0], canonicalize_query(sent[2])) == (signed[0], canonicalize_query(signed[2]))


@MANY
@given(st.data())
def test_a_head_that_went_wrong_is_answered(wire: Wire, data: st.DataObject) -> None:
    headers = data.draw(mutated_headers(SIGNED.headers))
    first = data.draw(first_lines)
    sent = Signed(headers, SIGNED.body).write().partition(b"\r\n")[2]
    written = first.encode("latin-1", "replace") + b"\r\n" + sent
    assert 500 not in send(wire, written, may_lack_bodies=first.startswith("HEAD "))
