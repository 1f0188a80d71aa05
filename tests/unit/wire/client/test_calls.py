"""What the call policy decides after each attempt of a call; nothing is sent."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from email.utils import formatdate
from typing import Any
from zlib import crc32

import orjson
import pytest

from keyfold.errors import (
    AnswerInvalid,
    ConditionalCheckFailedException,
    InvalidSignatureException,
    OtherServiceError,
    OutcomeUnknown,
    SerializationException,
    TransactionCanceledException,
    Unavailable,
    UnknownOperationException,
    Unreachable,
    ValidationException,
)
from keyfold.wire.client import Credentials, Retries
from keyfold.wire.client._calls import CallPolicy, ClientCall, NoResponse
from keyfold.wire.client._credentials import CredentialSource, Loaded
from keyfold.wire.client._endpoints import Endpoint
from keyfold.wire.client._responses import Response
from keyfold.wire.client._retries import RetryBudget
from keyfold.wire.client._signing import Signer

START = 1_700_000_000.0
ADD = {
    "UpdateExpression": "ADD n :n",
    "ExpressionAttributeValues": {":n": {"N": "1"}},
}


class PolicyHarness:
    """A call policy with stopped clocks and maximal jitter."""

    def __init__(self, *, sends_gzip: bool | None = None, **retries: Any) -> None:
        self.now, self.passed = START, 0.0
        self.keys = [Credentials("first", "s"), Credentials("second", "s")]
        endpoint = Endpoint("http", "db.example", 8000)
        chosen = Retries(**retries)
        self.policy = CallPolicy(
            endpoint,
            Signer(endpoint.authority, "us-east-1", agent="a", accepts="gzip"),
            CredentialSource(lambda: Loaded(self.keys.pop(0), START * 2)),
            retries=chosen,
            budget=RetryBudget(chosen.budget),
            total_seconds=60,
            sends_gzip=sends_gzip,
            clock=lambda: self.now,
            monotonic=lambda: self.passed,
            jitter=lambda: 1.0,
        )

    def begin(self, operation: str, request: dict[str, Any] | None = None) -> ClientCall:
        call = self.policy.begin(operation, request or {})
        self.send(call)
        return call

    def send(self, call: ClientCall) -> dict[str, str]:
        keys = self.policy.find_credentials() or self.policy.renew_credentials()
        head, _, body = self.policy.render(call, keys).partition(b"\r\n\r\n")
        assert body == call.body
        return dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])


def response(
    body: Any,
    status: int = 200,
    change: Callable[[bytes], bytes] = lambda body: body,
    **headers: Any,
) -> Response:
    data = orjson.dumps(body)
    given = {b"x-amz-crc32": b"%d" % crc32(data)}
    given |= {name.encode(): str(value).encode() for name, value in headers.items()}
    return Response(status, given, change(data), keeps_alive=True)


def error_response(kind: str, status: int = 400, **members: Any) -> Response:
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{kind}", "message": "no", **members}
    return response(body, status, date=formatdate(START, usegmt=True))


ARRIVED = NoResponse("it got lost", may_have_arrived=True)
UNSENT = NoResponse("nobody is there", may_have_arrived=False)


def test_a_successful_response_is_returned() -> None:
    harness = PolicyHarness()
    assert harness.policy.handle_response(harness.begin("GetItem"), response({"Item": {}})) == {
        "Item": {}
    }


def test_a_service_error_is_raised_with_all_its_fields() -> None:
    harness = PolicyHarness()
    reasons = [{"Code": "ConditionalCheckFailed", "Item": {"b": {"B": "aGk="}}}]
    with pytest.raises(TransactionCanceledException) as caught:
        harness.policy.handle_response(
            harness.begin("TransactWriteItems"),
            error_response("TransactionCanceledException", CancellationReasons=reasons),
        )
    assert caught.value.message == "no"
    assert caught.value.fields["CancellationReasons"][0]["Item"] == {"b": {"B": b"hi"}}
    with pytest.raises(ValidationException, match="ValidationException"):
        harness.policy.handle_response(
            harness.begin("GetItem"),
            response({"__type": "com.amazon.coral.validate#ValidationException"}, 400),
        )
    with pytest.raises(OtherServiceError) as other:
        harness.policy.handle_response(
            harness.begin("GetItem"), error_response("KMSAccessDeniedException")
        )
    assert (other.value.type, other.value.status) == ("KMSAccessDeniedException", 400)


def test_a_response_that_is_not_dynamodbs_is_reported_with_the_url() -> None:
    harness = PolicyHarness()
    page = Response(404, {}, b"<html>", keeps_alive=True)
    with pytest.raises(
        AnswerInvalid, match=r"http://db\.example:8000: it responded with status 404"
    ):
        harness.policy.handle_response(harness.begin("GetItem"), page)


@pytest.mark.parametrize("operation", ["GetItem", "PutItem", "UpdateItem"])
@pytest.mark.parametrize("kind", ["ProvisionedThroughputExceededException", "ThrottlingException"])
def test_throttled_calls_are_retried_with_longer_pauses(operation: str, kind: str) -> None:
    harness = PolicyHarness(attempts=4, first_pause_seconds=1, longest_pause_seconds=3)
    call = harness.begin(operation, ADD)
    for pause in (1.0, 2.0, 3.0):
        assert harness.policy.handle_response(call, error_response(kind)) == pause
        harness.send(call)
    with pytest.raises(Unavailable, match=f"{operation}: tried 4 times; {kind}"):
        harness.policy.handle_response(call, error_response(kind))


def test_a_request_that_did_not_arrive_is_retried_even_if_not_idempotent() -> None:
    harness = PolicyHarness(attempts=2)
    call = harness.begin("UpdateItem", ADD)
    assert harness.policy.handle_no_response(call, UNSENT) > 0
    harness.send(call)
    with pytest.raises(Unreachable) as caught:
        harness.policy.handle_no_response(call, UNSENT)
    assert str(caught.value) == (
        "cannot reach http://db.example:8000: UpdateItem was tried 2 times; nobody is there. "
        "Nothing was changed. [unreachable]"
    )


@pytest.mark.parametrize("attempts", [2, 8])
def test_an_unreachable_endpoint_gets_at_most_three_attempts(attempts: int) -> None:
    harness = PolicyHarness(attempts=attempts)
    nowhere = NoResponse("connection refused", may_have_arrived=False, is_unreachable=True)
    call = harness.begin("UpdateItem", ADD)
    for _ in range(min(attempts, 3) - 1):
        assert harness.policy.handle_no_response(call, nowhere) > 0
        harness.send(call)
    with pytest.raises(Unreachable, match=f"tried {min(attempts, 3)} times; connection refused"):
        harness.policy.handle_no_response(call, nowhere)


def test_a_request_that_our_server_rejects_as_undone_is_retried_even_if_not_idempotent() -> None:
    """Only our server sends this header: after a 503 of the service the outcome is unknown."""
    harness = PolicyHarness(attempts=2)
    undone = error_response("ServiceUnavailable", 503)
    undone.headers[b"x-keyfold-undone"] = b"true"
    call = harness.begin("UpdateItem", ADD)
    assert harness.policy.handle_response(call, undone) == 0.05
    harness.send(call)
    with pytest.raises(Unavailable, match="UpdateItem: tried 2 times; ServiceUnavailable"):
        harness.policy.handle_response(call, undone)
    with pytest.raises(OutcomeUnknown):
        harness.policy.handle_response(
            harness.begin("UpdateItem", ADD), error_response("ServiceUnavailable", 503)
        )


def test_last_error_explains_why_a_call_is_retried() -> None:
    harness = PolicyHarness()
    call = harness.begin("PutItem")
    harness.policy.handle_no_response(call, UNSENT)
    assert isinstance(harness.policy.last_error(call), Unreachable)
    harness.send(call)
    harness.policy.handle_response(call, error_response("ThrottlingException"))
    assert "ThrottlingException" in str(harness.policy.last_error(call))
    harness.send(call)
    harness.policy.handle_no_response(call, ARRIVED)
    error = harness.policy.last_error(call)
    assert isinstance(error, OutcomeUnknown)
    assert "tried 3 times; it got lost" in str(error)


LARGE = {"Item": {"t": {"S": "some text " * 2_000}}}
PLAIN = orjson.dumps(LARGE)


@pytest.mark.parametrize(
    ("accepted", "packs"),
    [(b"gzip", True), (b"deflate, GZIP", True), (b"br", False), (b"", False), (None, False)],
)
def test_requests_are_compressed_once_the_endpoint_agrees(
    accepted: bytes | None, packs: bool
) -> None:
    harness = PolicyHarness()
    call = harness.begin("PutItem", LARGE)
    assert call.body == PLAIN
    agreeing = response({})
    if accepted is not None:
        agreeing.headers[b"accept-encoding"] = accepted
    harness.policy.handle_response(call, agreeing)
    again = harness.policy.begin("PutItem", LARGE)
    sent = harness.send(again)
    assert sent.get("content-encoding") == ("gzip" if packs else None)
    assert (gzip.decompress(again.body) if packs else again.body) == PLAIN
    assert sent["Content-Length"] == str(len(again.body))
    assert ("SignedHeaders=content-encoding;" in sent["Authorization"]) is packs


def test_only_large_requests_are_compressed_and_only_if_enabled() -> None:
    harness = PolicyHarness(sends_gzip=True)
    for size, packs in ((10_240, True), (10_239, False)):
        call = harness.policy.begin("PutItem", {"k": "x" * (size - 8)})
        assert ("content-encoding" in harness.send(call)) is packs
        assert (len(call.body) < size) is packs
    refusing = PolicyHarness(sends_gzip=False)
    agreeing = response({})
    agreeing.headers[b"accept-encoding"] = b"gzip"
    refusing.policy.handle_response(refusing.begin("GetItem"), agreeing)
    assert "content-encoding" not in refusing.send(refusing.policy.begin("PutItem", LARGE))


def test_a_request_that_compresses_too_well_for_the_server_is_sent_as_it_is() -> None:
    harness = PolicyHarness(sends_gzip=True)
    call = harness.policy.begin("PutItem", {"Item": {"t": {"S": "x" * 2_000_000}}})
    assert "content-encoding" not in harness.send(call)
    assert len(call.body) > 2_000_000


def test_an_error_body_is_read_even_if_wrongly_marked_as_compressed() -> None:
    harness = PolicyHarness()
    refused = error_response("ConditionalCheckFailedException", Item={"t": {"S": "x" * 5_000}})
    refused.headers[b"content-encoding"] = b"gzip"
    with pytest.raises(ConditionalCheckFailedException) as caught:
        harness.policy.handle_response(harness.begin("UpdateItem", ADD), refused)
    assert caught.value.fields["Item"] == {"t": {"S": "x" * 5_000}}
    packed = gzip.compress(refused.body)
    crc = {b"x-amz-crc32": b"%d" % crc32(packed)}
    with pytest.raises(ConditionalCheckFailedException):
        harness.policy.handle_response(
            harness.begin("UpdateItem", ADD),
            refused._replace(body=packed, headers={**refused.headers, **crc}),
        )


@pytest.mark.parametrize("how", ["lost", "failed", "gateway", "garbled"])
def test_a_request_that_may_have_arrived_is_retried_only_if_idempotent(how: str) -> None:
    harness = PolicyHarness()
    call = harness.begin("UpdateItem", ADD)
    with pytest.raises(OutcomeUnknown, match="may or may not have been carried out: tried once; "):
        fail_attempt(harness, call, how)
    for operation in ("GetItem", "PutItem"):
        assert isinstance(fail_attempt(harness, harness.begin(operation), how), float)


def fail_attempt(harness: PolicyHarness, call: ClientCall, how: str) -> object:
    match how:
        case "lost":
            return harness.policy.handle_no_response(call, ARRIVED)
        case "failed":
            return harness.policy.handle_response(call, error_response("InternalServerError", 500))
        case "gateway":
            return harness.policy.handle_response(
                call, Response(502, {}, b"<html>", keeps_alive=True)
            )
        case _:
            return harness.policy.handle_response(
                call, response({}, change=lambda body: body + b" ")
            )


def test_a_failed_condition_after_a_lost_attempt_is_an_unknown_outcome() -> None:
    harness = PolicyHarness()
    call = harness.begin("PutItem", {"ConditionExpression": "attribute_not_exists(pk)"})
    harness.policy.handle_no_response(call, ARRIVED)
    harness.send(call)
    with pytest.raises(OutcomeUnknown) as caught:
        harness.policy.handle_response(
            call, error_response("ConditionalCheckFailedException", Item={})
        )
    assert isinstance(caught.value.error, ConditionalCheckFailedException)
    assert "tried 2 times; it got lost, and a later attempt got" in str(caught.value)
    fresh = harness.begin("PutItem")
    with pytest.raises(ConditionalCheckFailedException):
        harness.policy.handle_response(fresh, error_response("ConditionalCheckFailedException"))


def test_a_transaction_gets_a_token_and_is_retried() -> None:
    harness = PolicyHarness()
    call = harness.begin("TransactWriteItems", {"TransactItems": []})
    assert len(orjson.loads(call.body)["ClientRequestToken"]) == 36
    harness.policy.handle_no_response(call, ARRIVED)
    harness.send(call)
    assert (
        harness.policy.handle_response(call, error_response("TransactionInProgressException")) > 0
    )  # type: ignore[operator]
    harness.send(call)
    with pytest.raises(TransactionCanceledException):
        harness.policy.handle_response(call, error_response("TransactionCanceledException"))
    own = harness.begin("TransactWriteItems", {"ClientRequestToken": "mine"})
    assert orjson.loads(own.body) == {"ClientRequestToken": "mine"}


def test_giving_up_raises_outcome_unknown_only_for_writes_that_may_have_arrived() -> None:
    harness = PolicyHarness(attempts=2)
    call = harness.begin("PutItem")
    harness.policy.handle_no_response(call, ARRIVED)
    harness.send(call)
    with pytest.raises(OutcomeUnknown, match="it got lost, and a later attempt got Throttling"):
        harness.policy.handle_response(call, error_response("ThrottlingException"))
    read = harness.begin("GetItem")
    harness.policy.handle_no_response(read, ARRIVED)
    harness.send(read)
    with pytest.raises(Unreachable):
        harness.policy.handle_no_response(read, ARRIVED)


def test_no_attempt_begins_after_the_total_timeout() -> None:
    harness = PolicyHarness(first_pause_seconds=10, longest_pause_seconds=10)
    call = harness.begin("GetItem")
    harness.passed = 49.9
    assert harness.policy.handle_no_response(call, UNSENT) == 10.0
    harness = PolicyHarness(first_pause_seconds=10, longest_pause_seconds=10)
    call = harness.begin("GetItem")
    harness.passed = 50.0
    with pytest.raises(Unreachable, match="tried once"):
        harness.policy.handle_no_response(call, UNSENT)


def test_all_calls_share_one_retry_budget() -> None:
    harness = PolicyHarness(budget=10)
    for _ in range(2):
        harness.policy.handle_no_response(harness.begin("GetItem"), UNSENT)
    with pytest.raises(Unreachable, match="nobody is there, and the retry budget is used up"):
        harness.policy.handle_no_response(harness.begin("GetItem"), UNSENT)
    for _ in range(5):
        harness.policy.handle_response(harness.begin("GetItem"), response({}))
    assert harness.policy.handle_no_response(harness.begin("GetItem"), UNSENT) > 0


def test_a_wrong_clock_is_corrected_once() -> None:
    harness = PolicyHarness()
    harness.now = START - 3_600
    call = harness.policy.begin("GetItem", {})
    assert harness.send(call)["x-amz-date"] == "20231114T211320Z"
    assert harness.policy.handle_response(call, error_response("InvalidSignatureException")) == 0.0
    assert harness.send(call)["x-amz-date"] == "20231114T221320Z"
    # Refused again with the right time: the clock was not the reason.
    with pytest.raises(InvalidSignatureException):
        harness.policy.handle_response(call, error_response("InvalidSignatureException"))
    assert harness.send(harness.policy.begin("GetItem", {}))["x-amz-date"] == "20231114T221320Z"


def test_a_right_clock_is_not_corrected() -> None:
    harness = PolicyHarness()
    harness.now = START - 30
    with pytest.raises(InvalidSignatureException):
        harness.policy.handle_response(
            harness.begin("GetItem"), error_response("InvalidSignatureException")
        )
    undated = error_response("InvalidSignatureException")
    undated.headers.pop(b"date")
    harness.now = 0.0
    with pytest.raises(InvalidSignatureException):
        harness.policy.handle_response(harness.begin("GetItem"), undated)


def test_expired_credentials_are_renewed_once() -> None:
    harness = PolicyHarness()
    call = harness.policy.begin("GetItem", {})
    assert "Credential=first/" in harness.send(call)["Authorization"]
    assert harness.policy.handle_response(call, error_response("ExpiredTokenException")) == 0.0
    assert "Credential=second/" in harness.send(call)["Authorization"]
    with pytest.raises(OtherServiceError, match="ExpiredTokenException"):
        harness.policy.handle_response(call, error_response("ExpiredTokenException"))


def test_invalid_requests_are_refused_before_they_are_sent() -> None:
    harness = PolicyHarness()
    for operation in ("", "Get Item", "GetItem\r\nX: y", "Gët", None, 7):
        with pytest.raises(UnknownOperationException):
            harness.policy.begin(operation, {})  # type: ignore[arg-type]
    with pytest.raises(SerializationException):
        harness.policy.begin("GetItem", {"Key": object()})
