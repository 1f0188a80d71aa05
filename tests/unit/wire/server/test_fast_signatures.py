"""The fast path of signatures accepts only what full verification accepts, and is met by clients."""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from botocore.auth import SigV4Auth
from hypothesis import given
from hypothesis import strategies as st

from keyfold.engine import Engine
from keyfold.errors import ServiceError
from keyfold.wire._sigv4 import (
    BegunSignature,
    begin_canonical_request,
    begin_string_to_sign,
    derive_key,
)
from keyfold.wire.server import _keyring
from keyfold.wire.server._authorizers import AdminAuthorizer, Authorizer
from keyfold.wire.server._fast_signatures import FastVerifier
from keyfold.wire.server._gate import KeyGate
from keyfold.wire.server._key_file import AccessKey, changing_keys
from keyfold.wire.server._keyring import Entry, Keyring
from keyfold.wire.server._requests import Headers
from keyfold.wire.server._signatures import MISMATCH, UNRECOGNIZED, Verifier
from tests.unit.wire.server.http import TABLE, Response, Wire, make_table, read_responses
from tests.unit.wire.server.signing import (
    ACCESS_KEY,
    NOW,
    REGION,
    SECRET,
    TIMESTAMP,
    Signed,
    admit_all,
    block,
    sign_by_botocore,
    write_keys,
)
from tests.unit.wire.server.test_verifier import receive

TOKEN, WITH_TOKEN = "session/token==", "ASIDEXAMPLE"
KEY = {"TableName": TABLE, "Key": {"pk": {"S": "a"}}}
ANOTHER_SECRET = "x" * 40


class Clock:
    now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    token = block(WITH_TOKEN, more=f'admin = true\ntoken = "{TOKEN}"')
    return Path(write_keys(tmp_path / "keys.toml", block(), token))


@pytest.fixture
def wire(path: Path, clock: Clock) -> Iterator[Wire]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        make_table(engine)
        # As if the file had not changed for long: one check is one call of `stat`.
        keyring = Keyring(str(path), admit_all, clock=lambda: inf)
        wire = Wire(engine, gate=KeyGate(keyring, REGION, clock=clock))
        yield wire
        wire.close()


def sign_get(**options: Any) -> Signed:
    return sign_by_botocore("GetItem", KEY, **options)


def exchange(wire: Wire, sent: Signed) -> Response:
    (response,) = wire.exchange(sent.write())
    return response


def exchange_fast(wire: Wire, sent: Signed) -> Response:
    """Return the response to a request, which must not be verified in full."""
    with mock.patch.object(Verifier, "read_claim", side_effect=AssertionError):
        return exchange(wire, sent)


JAVASCRIPT = {"amz-sdk-request": "attempt=1; max=3", "x-amz-user-agent": "aws-sdk-js/3.1 ua/2.1"}

CLIENTS: dict[str, tuple[Signed, Signed]] = {
    "the same request": (sign_get(), sign_get()),
    "another second": (sign_get(), sign_get(timestamp="20261115T120001Z")),
    "another body": (sign_get(), sign_by_botocore("GetItem", {**KEY, "ConsistentRead": True})),
    "another operation": (sign_get(), sign_by_botocore("ListTables")),
    "another unsigned header": (sign_get(), sign_get().add("Via", "proxy")),
    "values with spaces": (sign_get(**JAVASCRIPT), sign_get(**JAVASCRIPT)),
    "values with more spaces": (
        sign_get(note="a b"),
        sign_get(note="a b").set("note", " a \t b "),
    ),
    "a header with a percent sign": (sign_get(**{"a%b": "c%d"}), sign_get(**{"a%b": "c%d"})),
    "a session token": (
        sign_get(access_key=WITH_TOKEN, token=TOKEN),
        sign_get(access_key=WITH_TOKEN, token=TOKEN),
    ),
    "a token that is not signed": (
        sign_get(access_key=WITH_TOKEN).add("X-Amz-Security-Token", TOKEN),
        sign_get(access_key=WITH_TOKEN).add("X-Amz-Security-Token", f" {TOKEN} "),
    ),
    "a host without its port": (
        sign_get(Host="localhost").set("Host", "localhost:8000"),
        sign_get(Host="localhost").set("Host", "localhost:8001"),
    ),
    "a host with colons without its port": (
        sign_get(Host="[::1]").set("Host", "[::1]:8000"),
        sign_get(Host="[::1]").set("Host", "[::1]:8001"),
    ),
    "an authorization without spaces": (
        sign_get().change("Authorization", ", ", ","),
        sign_get().change("Authorization", ", ", ","),
    ),
}


@pytest.mark.parametrize(("first", "second"), CLIENTS.values(), ids=CLIENTS.keys())
def test_the_second_request_of_a_client_is_verified_fast(
    wire: Wire, first: Signed, second: Signed
) -> None:
    assert exchange(wire, first).status == 200
    assert exchange_fast(wire, second).status == 200


def test_writes_are_verified_fast(wire: Wire) -> None:
    sent = sign_by_botocore("PutItem", {"TableName": TABLE, "Item": KEY["Key"]})
    assert exchange(wire, sent).status == 200
    assert exchange_fast(wire, sent).status == 200


def test_a_renewed_secret_replaces_the_cached_one(wire: Wire, path: Path) -> None:
    assert exchange(wire, sign_get()).status == 200
    with changing_keys(str(path)) as keys:
        keys[ACCESS_KEY] = replace(keys[ACCESS_KEY], secret=ANOTHER_SECRET)
    assert exchange(wire, sign_get()).json["message"] == MISMATCH
    assert exchange_fast(wire, sign_get(secret=ANOTHER_SECRET)).status == 200
    assert exchange(wire, sign_get()).json["message"] == MISMATCH


def test_a_key_that_gets_a_token_needs_it_at_once(wire: Wire, path: Path) -> None:
    assert exchange(wire, sign_get()).status == 200
    with changing_keys(str(path)) as keys:
        keys[ACCESS_KEY] = replace(keys[ACCESS_KEY], token=TOKEN)
    assert exchange(wire, sign_get()).status == 400
    assert exchange(wire, sign_get().add("X-Amz-Security-Token", TOKEN)).status == 200


@pytest.mark.parametrize("is_disabled", [True, False])
def test_a_revoked_key_is_refused_although_its_client_is_known(
    wire: Wire, path: Path, is_disabled: bool
) -> None:
    assert exchange(wire, sign_get()).status == 200
    with changing_keys(str(path)) as keys:
        if is_disabled:
            keys[ACCESS_KEY] = replace(keys[ACCESS_KEY], is_disabled=True)
        else:
            del keys[ACCESS_KEY]
    response = exchange(wire, sign_get())
    assert response.json["__type"].endswith("#UnrecognizedClientException")


def test_a_replay_is_refused_after_the_window(wire: Wire, clock: Clock) -> None:
    assert exchange(wire, sign_get()).status == 200
    for seconds in (300, -300):
        clock.now = NOW + seconds
        assert exchange_fast(wire, sign_get()).status == 200
    for seconds, word in ((301, "expired"), (-301, "not yet current")):
        clock.now = NOW + seconds
        assert word in exchange(wire, sign_get()).json["message"]


TAMPERED = {
    "another region": sign_get(region="eu-west-1"),
    "another day": sign_get().change("Authorization", "20261115", "20261116"),
    "fewer signed headers": sign_get().change("Authorization", "content-type;", ""),
    "an unsigned header that matters": sign_get().add("X-Amz-Note", "x"),
    "a repeated target": sign_get().add("X-Amz-Target", "DynamoDB_20120810.GetItem"),
    "another target": sign_get().change("X-Amz-Target", "GetItem", "Query"),
    "another host": sign_get().set("Host", "example.com"),
    "a value with spaces": sign_get().set("Host", "local host:8000"),
    "another body": replace(sign_get(), body=sign_get().body.replace(b'"a"', b'"b"')),
    "capitals": sign_get().change(
        "Authorization",
        sign_get().get("Authorization")[-64:],
        sign_get().get("Authorization")[-64:].upper(),
    ),
}


@pytest.mark.parametrize("sent", TAMPERED.values(), ids=TAMPERED.keys())
def test_a_tampered_request_of_a_known_client_gets_the_same_error(wire: Wire, sent: Signed) -> None:
    before = exchange(wire, sent)
    assert before.status == 400
    assert exchange(wire, sign_get()).status == 200
    after = exchange(wire, sent)
    assert (after.status, after.body) == (before.status, before.body)
    assert exchange_fast(wire, sign_get()).status == 200


def test_requests_of_one_operation_in_a_second_share_what_they_sign(wire: Wire) -> None:
    assert exchange(wire, sign_get()).status == 200
    with mock.patch.object(Verifier, "begin", autospec=True, side_effect=Verifier.begin) as begin:
        assert exchange_fast(wire, sign_get()).status == 200
        assert begin.call_count == 0
        later = sign_get(timestamp="20261115T120001Z")
        for _ in range(2):
            assert exchange_fast(wire, later).status == 200
        assert begin.call_count == 1


def test_a_token_that_the_key_does_not_have_is_refused(wire: Wire) -> None:
    assert exchange(wire, sign_get()).status == 200
    # The header is not signed, so the client is a known one.
    response = exchange(wire, sign_get().add("X-Amz-Security-Token", "XXXX"))
    assert response.json["message"] == UNRECOGNIZED


def test_a_known_client_needs_its_token(wire: Wire, path: Path) -> None:
    write_keys(path, block(more='admin = true\ntoken = "XXXX"'))
    known = sign_get().add("X-Amz-Security-Token", "XXXX")
    assert exchange(wire, known).status == 200
    assert exchange(wire, sign_get()).json["message"] == UNRECOGNIZED


def test_a_request_in_an_unusual_form_is_verified_each_time(wire: Wire) -> None:
    absent = sign_get(note="").set("note", None)
    dated = sign_get().set("X-Amz-Date", None).set("Date", TIMESTAMP)
    canonical, names = begin_canonical_request(
        [
            (b"date", TIMESTAMP.encode()),
            (b"host", b"localhost:8000"),
            (b"x-amz-target", dated.get("X-Amz-Target").encode()),
        ]
    )
    scope = f"{TIMESTAMP[:8]}/{REGION}/dynamodb/aws4_request"
    key = derive_key(SECRET, TIMESTAMP[:8], REGION, "dynamodb")
    signature = BegunSignature(key, begin_string_to_sign(TIMESTAMP, scope), canonical)
    dated = dated.set(
        "Authorization",
        f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope}, SignedHeaders={names.decode()}, "
        f"Signature={signature.finish(dated.body)}",
    )
    authorization = sign_get().get("Authorization")
    named = f"Signature={authorization[-64:]}"
    # Named before the end of the header, and named twice.
    earlier = sign_get().set("Authorization", f"{authorization}, Note={authorization[-64:]}")
    twice = sign_get().set("Authorization", f"{authorization}, {named}")
    for sent in (absent, dated, earlier, twice):
        for _ in range(2):
            assert exchange(wire, sent).status == 200
    gate = wire.state.gate
    assert isinstance(gate, KeyGate)
    assert not gate._fast._clients


def test_the_port_may_only_be_omitted_if_it_is_one(wire: Wire) -> None:
    bare = sign_get(Host="localhost")
    assert exchange(wire, bare.set("Host", "localhost:8000")).status == 200
    for host in ("localhost:port", "localhost:", ":8000"):
        assert exchange(wire, bare.set("Host", host)).json["message"] == MISMATCH


def sign_with_key_of(day: str, timestamp: str, scope: str | None = None) -> Signed:
    """Return a request that is signed with the key of a day, whatever its date and scope say."""

    def sign(_: object, to_sign: str, __: object) -> str:
        key = f"AWS4{SECRET}".encode()
        for part in (day, REGION, "dynamodb", "aws4_request", to_sign):
            key = hmac.digest(key, part.encode(), "sha256")
        return key.hex()

    days = f"{scope or timestamp[:8]}/{REGION}/dynamodb/aws4_request"

    with (
        mock.patch.object(SigV4Auth, "signature", sign),
        mock.patch.object(SigV4Auth, "credential_scope", return_value=days),
        mock.patch.object(SigV4Auth, "scope", return_value=f"{ACCESS_KEY}/{days}"),
    ):
        return sign_get(timestamp=timestamp)


def test_each_day_has_its_own_signing_key(wire: Wire, clock: Clock) -> None:
    """The secret and the client are the same; only the date in the scope is another."""
    midnight = NOW + 12 * 3600
    before, after = "20261115T235959Z", "20261116T000000Z"
    clock.now = midnight
    for timestamp in (before, after):
        assert sign_with_key_of(timestamp[:8], timestamp) == sign_get(timestamp=timestamp)
        assert exchange(wire, sign_get(timestamp=timestamp)).status == 200
        # Both days are known now, and neither takes the key of the other.
        assert exchange_fast(wire, sign_get(timestamp=timestamp)).status == 200
    assert exchange_fast(wire, sign_get(timestamp=before)).status == 200
    # The key of one day is not good for another: somebody may have kept yesterday's.
    for day, timestamp in (("20261115", after), ("20261116", before), ("20261117", after)):
        forged = sign_with_key_of(day, timestamp)
        assert exchange(wire, forged).json["message"] == MISMATCH
    # All of it is yesterday's but the date.
    forged = sign_with_key_of(before[:8], after, scope=before[:8])
    assert forged.get("Authorization").startswith(sign_get().get("Authorization")[:60])
    assert "Date in Credential scope does not match" in exchange(wire, forged).json["message"]


# Sharing of one check of the files.


def count_checks(wire: Wire, *chunks: bytes) -> int:
    """Return how often the file of keys is checked for data on new connections."""
    with mock.patch.object(_keyring, "find_file_state", wraps=_keyring.find_file_state) as check:
        for data in chunks:
            connection, transport = wire.connect()
            connection.data_received(data)
            assert {each.status for each in read_responses(transport.written)} == {200}
        wire.run_until_idle()
    return check.call_count


def test_reads_of_a_loop_iteration_share_one_check_of_a_key(wire: Wire) -> None:
    one, other = sign_get(), sign_get(access_key=WITH_TOKEN, token=TOKEN)
    for each in (one, other):
        assert exchange(wire, each).status == 200
    wire.scheduler._unshared_reads = 0
    assert count_checks(wire, *[one.write()] * 4, *[other.write()] * 4) == 2
    assert count_checks(wire, one.write()) == 1, "the next iteration checks again"
    # After an iteration with a single read, reads do not share anything for a while.
    assert count_checks(wire, *[one.write()] * 4) == 4


def test_writes_do_not_share_a_check(wire: Wire) -> None:
    put = sign_by_botocore("PutItem", {"TableName": TABLE, "Item": KEY["Key"]})
    for each in (sign_get(), put):
        assert exchange(wire, each).status == 200
    wire.scheduler._unshared_reads = 0
    connection, _ = wire.connect()
    connection.data_received(sign_get().write())
    with mock.patch.object(_keyring, "find_file_state", wraps=_keyring.find_file_state) as check:
        assert exchange_fast(wire, put).status == 200
    assert check.call_count == 1


def test_pipelined_requests_check_the_keys_again(wire: Wire) -> None:
    """The second may have been sent after a revocation, although its iteration began before."""
    sent = sign_get().write()
    assert exchange(wire, sign_get()).status == 200
    wire.scheduler._unshared_reads = 0
    assert count_checks(wire, sent + sent + sent) == 3


def test_a_request_that_arrives_in_parts_checks_the_keys_again(wire: Wire, path: Path) -> None:
    sent = sign_get().write()
    assert exchange(wire, sign_get()).status == 200
    wire.scheduler._unshared_reads = 0
    connection, transport = wire.connect()
    other, _ = wire.connect()
    connection.data_received(sent[:300])
    other.data_received(sent)
    with changing_keys(str(path)) as keys:
        del keys[ACCESS_KEY]
    connection.data_received(sent[300:])
    (response,) = read_responses(transport.written)
    assert response.json["__type"].endswith("#UnrecognizedClientException")
    wire.run_until_idle()


# Bounds.


class Keys(dict[str, Entry[Authorizer]]):
    def find(self, access_key: str, *, is_shared: bool = False) -> Entry[Authorizer] | None:
        return self.get(access_key)

    def put(self, access_key: str, token: str | None = None) -> None:
        key = AccessKey(access_key, SECRET, "ada", token=token)
        self[access_key] = Entry(key, AdminAuthorizer(), ())


def keep(fast: FastVerifier, verifier: Verifier, sent: Signed) -> Headers:
    request = receive("POST", "/", sent.headers, sent.body)
    claim = verifier.read_claim(request, NOW)
    assert not isinstance(claim, ServiceError)
    fast.keep(claim, request.headers, sent.body, SECRET)
    return request.headers


def test_the_caches_are_bounded() -> None:
    verifier, keys = Verifier(REGION), Keys()
    fast = FastVerifier(verifier, keys, lambda: NOW)
    largest = 0
    for number in range(1_100):
        keep(fast, verifier, sign_get(access_key=f"{ACCESS_KEY}{number}"))
        largest = max(largest, len(fast._clients))
    assert largest == 1_000
    (*_, client) = fast._clients.values()
    keys.put(client.access_key)
    for number in range(100):
        sent = sign_get(
            access_key=client.access_key, timestamp=f"20261115T120{number // 60}{number % 60:02}Z"
        )
        headers = receive("POST", "/", sent.headers, sent.body).headers
        assert fast.find_authorizer(headers, sent.body) is not None
        largest = max(number and largest, len(client.begun))
    assert largest == 16


def test_oversized_requests_are_not_cached() -> None:
    verifier, keys = Verifier(REGION), Keys()
    fast = FastVerifier(verifier, keys, lambda: NOW)
    keep(fast, verifier, sign_get(**{f"header-{number}": "" for number in range(200)}))
    assert not fast._clients
    keep(fast, verifier, sign_get(note="x" * 2_000))
    (client,) = fast._clients.values()
    assert not client.begun


def test_invalid_requests_are_not_cached(wire: Wire) -> None:
    gate = wire.state.gate
    assert isinstance(gate, KeyGate)
    for sent in (sign_get(secret="wrong"), sign_get(access_key="AKIDNOBODY")):
        assert exchange(wire, sent).status == 400
    assert not gate._fast._clients


# Agreement with full verification.


names = st.sampled_from(
    ["Host", "X-Amz-Date", "X-Amz-Target", "X-Amz-Security-Token", "Note", "X-Amz-Note", "Accept"]
)
header_values = st.sampled_from(
    [
        *("", "a b", " a  b ", "a\tb", "localhost", "localhost:8000", "localhost:x", TOKEN),
        *(TIMESTAMP, "20261115T120400Z", "20261115T110000Z", "20261116T120000Z"),
        "DynamoDB_20120810.Query",
    ]
)


@given(
    known=st.lists(st.sampled_from([sign_get(), sign_get(note="a b"), sign_get(Host="localhost")])),
    sent=st.sampled_from(
        [
            sign_get(),
            sign_get(note="a b"),
            sign_get(Host="localhost"),
            sign_get(token=TOKEN),
            sign_get(timestamp="20261115T120400Z"),
            sign_get(secret="wrong"),
        ]
    ),
    changes=st.lists(st.tuples(names, st.none() | header_values), max_size=2),
    token=st.sampled_from([None, TOKEN]),
    seconds=st.sampled_from([0.0, 0.5, 299.5, 300.5, 301.0, -300.0, -300.5]),
)
def test_the_fast_path_accepts_only_what_full_verification_accepts(
    known: list[Signed],
    sent: Signed,
    changes: list[tuple[str, str | None]],
    token: str | None,
    seconds: float,
) -> None:
    verifier, keys = Verifier(REGION), Keys()
    fast = FastVerifier(verifier, keys, lambda: NOW + seconds)
    for each in (*known, sent):
        keep(fast, verifier, each)
    for name, value in changes:
        sent = sent.set(name, value)
    request, now = receive("POST", "/", sent.headers, sent.body), NOW + seconds
    keys.put(ACCESS_KEY, token)
    found = fast.find_authorizer(request.headers, sent.body)
    claim = verifier.read_claim(request, now)
    fault: ServiceError | None = (
        claim
        if isinstance(claim, ServiceError)
        else verifier.find_fault(claim, request, SECRET, token)
    )
    if found is not None:
        assert fault is None
    if not changes and seconds in (0.0, 299.5, -300.0) and fault is None:
        assert found is not None
