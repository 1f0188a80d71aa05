"""Bodies that are small to send and expensive to decode: what they cost, by count."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from keyfold.api import large_bodies
from keyfold.engine import Engine
from keyfold.errors import AccessDeniedException
from keyfold.policy.iam import parse_policy
from keyfold.wire.server import _authorizers, _encodings, _requests
from keyfold.wire.server._authorizers import PolicyAuthorizer
from tests.unit.wire.server.http import Wire, ask, get, head, make_table, write_request
from tests.unit.wire.server.signing import block, make_gate, sign_by_botocore, write_keys

EMPTY_MEMBER = gzip.compress(b"", mtime=0)


class Work:
    """Counts the bytes that go into and come out of decompression, and the parser's slices."""

    def __init__(self) -> None:
        self.streams = self.read = self.written = self.largest_call = 0
        self.largest_slice = self.slices = 0

    def open_stream(self, bits: int) -> CountedStream:
        self.streams += 1
        return CountedStream(self, zlib.decompressobj(bits))

    def loads(self, text: bytes) -> Any:
        self.slices += 1
        self.largest_slice = max(self.largest_slice, len(text))
        return orjson.loads(text)


class CountedStream:
    """A zlib stream that counts."""

    def __init__(self, work: Work, stream: Any) -> None:
        self._work, self._stream = work, stream

    def decompress(self, data: bytes, most: int) -> bytes:
        work, before = self._work, len(self._stream.unconsumed_tail)
        result: bytes = self._stream.decompress(data, most)
        work.read += len(data) - len(self._stream.unconsumed_tail) - len(self._stream.unused_data)
        work.written += len(result)
        work.largest_call = max(work.largest_call, len(result) + len(data))
        assert before in (0, len(data))
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    work = Work()

    class CountingZlib:
        decompressobj = staticmethod(work.open_stream)
        error = zlib.error

    class CountingJson:
        loads = staticmethod(work.loads)
        JSONDecodeError = orjson.JSONDecodeError

    monkeypatch.setattr(_encodings, "zlib", CountingZlib)
    monkeypatch.setattr(large_bodies, "orjson", CountingJson)
    return work


@pytest.fixture
def wire() -> Iterator[Wire]:
    with Engine.open(":memory:") as engine:
        make_table(engine)
        wire = Wire(engine)
        yield wire
        wire.close()


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[Wire]:
    with Engine.open(":memory:") as engine:
        make_table(engine)
        wire = Wire(engine, gate=make_gate(write_keys(tmp_path / "keys.toml", block())))
        yield wire
        wire.close()


def _send(wire: Wire, body: bytes, encoding: str = "gzip") -> int:
    (response,) = wire.exchange(write_request(head("ListTables", Content_Encoding=encoding), body))
    return response.status


# What stopped a server: 129 bytes that are many members, encoded once more.
NESTED = gzip.compress(gzip.compress(EMPTY_MEMBER * 100_000, mtime=0), mtime=0)

BOMBS = {
    "members": (EMPTY_MEMBER * 5_000, "gzip", 400),
    "codings": (NESTED, "gzip, gzip, gzip", 415),
    "many codings": (gzip.compress(b"{}"), ", ".join(["gzip"] * 1_000), 415),
    "spaces": (gzip.compress(b" " * (1 << 24)), "gzip", 413),
    "deflate": (zlib.compress(b" " * (1 << 24)), "deflate", 413),
    "large members": (gzip.compress(b" " * (1 << 20)) * 16, "gzip", 413),
    "arrays": (gzip.compress(b"[" + b"[]," * 5_000_000 + b"0]"), "gzip", 413),
    "truncated": (gzip.compress(b" " * (1 << 20))[:-4], "gzip", 500),
    "trailing": (gzip.compress(b"{}") + b"\0" * 100_000, "gzip", 500),
    "empty blocks": (gzip.compress(b"")[:10] + b"\0\0\0\xff\xff" * 20_000, "gzip", 500),
}


@pytest.mark.parametrize("name", BOMBS)
def test_decoding_is_bounded_by_what_was_sent(name: str, wire: Wire, work: Work) -> None:
    body, encoding, status = BOMBS[name]
    assert _send(wire, body, encoding) == status
    assert work.streams <= 16
    assert work.read <= len(body)
    slice_bytes = 1 << 19
    assert work.written <= max(1 << 20, 32 * len(body)) + slice_bytes
    assert work.largest_call <= slice_bytes


def test_two_members_are_decoded(wire: Wire, work: Work) -> None:
    assert _send(wire, gzip.compress(b"{") + gzip.compress(b"}")) == 200
    assert work.streams == 2


@pytest.mark.parametrize("name", BOMBS)
def test_nothing_is_decoded_or_parsed_before_the_signature_is_verified(
    name: str, keyed: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError

    for each in ("decode", "parse_body", "parse_in_slices"):
        monkeypatch.setattr(_requests, each, refuse)
    body, encoding, _ = BOMBS[name]
    signed = sign_by_botocore("ListTables", body, Content_Encoding=encoding)
    forgeries = (
        replace(signed, body=body + b" "),
        signed.set("Authorization", None),
        signed.set("Authorization", "AWS4-HMAC-SHA256 nothing"),
        signed.set("X-Amz-Target", None).set("Authorization", None),
        signed.set("Content-Encoding", "identity"),
    )
    for forged in forgeries:
        (response,) = keyed.exchange(forged.write())
        assert response.status in (400, 403)


def test_the_signature_covers_the_bytes_as_they_were_sent(keyed: Wire) -> None:
    packed = gzip.compress(b"{") + gzip.compress(b"}")
    signed = sign_by_botocore("ListTables", packed, Content_Encoding="gzip")
    (response,) = keyed.exchange(signed.write())
    assert response.status == 200


@pytest.mark.parametrize("member", [b"[],", b'{"M":{}},', b"0,", b'"",', b'[[[["\\""]]]],'])
def test_large_bodies_are_parsed_in_slices(member: bytes, wire: Wire, work: Work) -> None:
    for size in (1 << 18, 1 << 20):
        work.largest_slice = work.slices = 0
        body = b'{"Unknown":[' + member * (size // len(member)) + b"0]}"
        (response,) = wire.exchange(write_request(head("ListTables"), body))
        assert response.status == 200
        assert work.largest_slice < large_bodies.SLICE_BYTES + 1_000
        # In proportion to the body: nothing is parsed twice.
        assert work.slices <= len(body) // large_bodies.SLICE_BYTES * 1.1 + 2


def test_a_length_of_thousands_of_zeros_is_refused(wire: Wire) -> None:
    for zeros, status in ((10, 200), (5_000, 400)):
        request = write_request(head("ListTables", Content_Length="0" * zeros + "2"))
        (response,) = wire.exchange(request)
        assert response.status == status


@pytest.mark.parametrize(
    ("coding", "status"),
    [
        ("chunked", 200),
        ("Chunked", 200),
        ("gzip, chunked", 501),
        ("identity, chunked", 501),
        ("gzip\r\nTransfer-Encoding: chunked", 501),
        ("chunked\r\nTransfer-Encoding: gzip", 400),
        ("chunked, gzip", 400),
    ],
)
def test_a_transfer_encoding_other_than_chunked_is_refused(
    coding: str, status: int, wire: Wire
) -> None:
    request = write_request(head("ListTables", Transfer_Encoding=coding), b"2\r\n{}\r\n0\r\n\r\n")
    (response,) = wire.exchange(request)
    assert response.status == status


def test_a_folded_header_is_refused(wire: Wire) -> None:
    folded = get("a", X_Amz_Meta="one\r\n two")
    (response,) = wire.exchange(folded + ask("ListTables", {}))
    assert response.status == 400


@pytest.mark.parametrize("effect", ["Allow", "Deny"])
def test_a_key_without_statements_does_not_have_them_parsed(
    effect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(_authorizers, "read_accesses", refuse)
    rule = {"Effect": effect, "Action": "dynamodb:*Item", "Resource": "*"}
    if effect == "Deny":
        rule["Action"] = "dynamodb:PartiQL*"
    policy = parse_policy(orjson.dumps({"Version": "2012-10-17", "Statement": [rule]}))
    authorizer = PolicyAuthorizer("ada", policy, {}, lambda _: None, "us-east-1")
    statement = {"Statement": "SELECT * FROM T WHERE a = ?", "Parameters": [{"N": "1" * 100_000}]}
    for operation, request in (
        ("ExecuteStatement", statement),
        ("BatchExecuteStatement", {"Statements": [statement]}),
        ("ExecuteTransaction", {"TransactStatements": [statement]}),
    ):
        denial = authorizer.find_denial(operation, request)
        assert isinstance(denial, AccessDeniedException)
    with pytest.raises(AssertionError):
        authorizer.find_denial("GetItem", {})


def test_a_policy_with_one_kind_of_statement_has_them_parsed() -> None:
    rule = {"Effect": "Allow", "Action": "dynamodb:PartiQLSelect", "Resource": "*"}
    policy = parse_policy(orjson.dumps({"Version": "2012-10-17", "Statement": [rule]}))
    authorizer = PolicyAuthorizer("ada", policy, {}, lambda _: None, "us-east-1")
    select, delete = "SELECT * FROM T", "DELETE FROM T WHERE a = 1"
    assert authorizer.find_denial("ExecuteStatement", {"Statement": select}) is None
    denial = authorizer.find_denial("ExecuteStatement", {"Statement": delete})
    assert "table/T because" in str(denial)
