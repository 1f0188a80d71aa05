"""What follows from each try of a call; no call is made."""

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


class World:
    """A conduct whose clocks stand, and whose draws are the greatest."""

    def __init__(self, *, sends_gzip: bool | None = None, **retries: Any) -> None:
        self.now, self.passed = START, 0.0
        self.keys = [Credentials("first", "s"), Credentials("second", "s")]
        endpoint = Endpoint("http", "db.example", 8000)
        chosen = Retries(**retries)
        self.conduct = CallPolicy(
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
        call = self.conduct.begin(operation, request or {})
        self.send(call)
        return call

    def send(self, call: ClientCall) -> dict[str, str]:
        keys = self.conduct.find_credentials() or self.conduct.renew_credentials()
        head, _, body = self.conduct.render(call, keys).partition(b"\r\n\r\n")
        assert body == call.body
        return dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])


def answer(
    body: Any,
    status: int = 200,
    change: Callable[[bytes], bytes] = lambda body: body,
    **headers: Any,
) -> Response:
    data = orjson.dumps(body)
    given = {b"x-amz-crc32": b"%d" % crc32(data)}
    given |= {name.encode(): str(value).encode() for name, value in headers.items()}
    return Response(status, given, change(data), keeps_alive=True)


def refusal(kind: str, status: int = 400, **members: Any) -> Response:
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{kind}", "message": "no", **members}
    return answer(body, status, date=formatdate(START, usegmt=True))


ARRIVED = NoResponse("it got lost", may_have_arrived=True)
UNSENT = NoResponse("nobody is there", may_have_arrived=False)


def test_an_answer_is_returned() -> None:
    world = World()
    assert world.conduct.handle_response(world.begin("GetItem"), answer({"Item": {}})) == {
        "Item": {}
    }


def test_a_refusal_is_raised_with_all_that_it_says() -> None:
    world = World()
    reasons = [{"Code": "ConditionalCheckFailed", "Item": {"b": {"B": "aGk="}}}]
    with pytest.raises(TransactionCanceledException) as caught:
        world.conduct.handle_response(
            world.begin("TransactWriteItems"),
            refusal("TransactionCanceledException", CancellationReasons=reasons),
        )
    assert caught.value.message == "no"
    assert caught.value.fields["CancellationReasons"][0]["Item"] == {"b": {"B": b"hi"}}
    with pytest.raises(ValidationException, match="ValidationException"):
        world.conduct.handle_response(
            world.begin("GetItem"),
            answer({"__type": "com.amazon.coral.validate#ValidationException"}, 400),
        )
    with pytest.raises(OtherServiceError) as other:
        world.conduct.handle_response(world.begin("GetItem"), refusal("KMSAccessDeniedException"))
    assert (other.value.type, other.value.status) == ("KMSAccessDeniedException", 400)


def test_what_is_no_dynamodb_is_named() -> None:
    world = World()
    page = Response(404, {}, b"<html>", keeps_alive=True)
    with pytest.raises(
        AnswerInvalid, match=r"http://db\.example:8000: it answered with status 404"
    ):
        world.conduct.handle_response(world.begin("GetItem"), page)


@pytest.mark.parametrize("operation", ["GetItem", "PutItem", "UpdateItem"])
@pytest.mark.parametrize("kind", ["ProvisionedThroughputExceededException", "ThrottlingException"])
def test_throttled_calls_are_made_again_with_longer_pauses(operation: str, kind: str) -> None:
    world = World(attempts=4, first_pause_seconds=1, longest_pause_seconds=3)
    call = world.begin(operation, ADD)
    for pause in (1.0, 2.0, 3.0):
        assert world.conduct.handle_response(call, refusal(kind)) == pause
        world.send(call)
    with pytest.raises(Unavailable, match=f"{operation}: tried 4 times; {kind}"):
        world.conduct.handle_response(call, refusal(kind))


def test_what_did_not_arrive_is_sent_again_whatever_it_is() -> None:
    world = World(attempts=2)
    call = world.begin("UpdateItem", ADD)
    assert world.conduct.handle_no_response(call, UNSENT) > 0
    world.send(call)
    with pytest.raises(Unreachable) as caught:
        world.conduct.handle_no_response(call, UNSENT)
    assert str(caught.value) == (
        "cannot reach http://db.example:8000: UpdateItem was tried 2 times; nobody is there. "
        "Nothing was changed. [unreachable]"
    )


@pytest.mark.parametrize("attempts", [2, 8])
def test_where_nobody_listens_is_known_soon(attempts: int) -> None:
    world = World(attempts=attempts)
    nowhere = NoResponse("connection refused", may_have_arrived=False, is_nowhere=True)
    call = world.begin("UpdateItem", ADD)
    for _ in range(min(attempts, 3) - 1):
        assert world.conduct.handle_no_response(call, nowhere) > 0
        world.send(call)
    with pytest.raises(Unreachable, match=f"tried {min(attempts, 3)} times; connection refused"):
        world.conduct.handle_no_response(call, nowhere)


def test_what_our_server_has_no_room_for_is_made_again_whatever_it_is() -> None:
    """By a header that only our server sends: the service's own 503 leaves it open."""
    world = World(attempts=2)
    undone = refusal("ServiceUnavailable", 503)
    undone.headers[b"x-keyfold-undone"] = b"true"
    call = world.begin("UpdateItem", ADD)
    assert world.conduct.handle_response(call, undone) == 0.05
    world.send(call)
    with pytest.raises(Unavailable, match="UpdateItem: tried 2 times; ServiceUnavailable"):
        world.conduct.handle_response(call, undone)
    with pytest.raises(OutcomeUnknown):
        world.conduct.handle_response(
            world.begin("UpdateItem", ADD), refusal("ServiceUnavailable", 503)
        )


def test_a_try_that_is_made_again_is_explained() -> None:
    world = World()
    call = world.begin("PutItem")
    world.conduct.handle_no_response(call, UNSENT)
    assert isinstance(world.conduct.explain(call), Unreachable)
    world.send(call)
    world.conduct.handle_response(call, refusal("ThrottlingException"))
    assert "ThrottlingException" in str(world.conduct.explain(call))
    world.send(call)
    world.conduct.handle_no_response(call, ARRIVED)
    told = world.conduct.explain(call)
    assert isinstance(told, OutcomeUnknown)
    assert "tried 3 times; it got lost" in str(told)


LARGE = {"Item": {"t": {"S": "some text " * 2_000}}}
PLAIN = orjson.dumps(LARGE)


@pytest.mark.parametrize(
    ("accepted", "packs"),
    [(b"gzip", True), (b"deflate, GZIP", True), (b"br", False), (b"", False), (None, False)],
)
def test_requests_are_compressed_once_the_endpoint_agrees(
    accepted: bytes | None, packs: bool
) -> None:
    world = World()
    call = world.begin("PutItem", LARGE)
    assert call.body == PLAIN
    agreeing = answer({})
    if accepted is not None:
        agreeing.headers[b"accept-encoding"] = accepted
    world.conduct.handle_response(call, agreeing)
    again = world.conduct.begin("PutItem", LARGE)
    sent = world.send(again)
    assert sent.get("content-encoding") == ("gzip" if packs else None)
    assert (gzip.decompress(again.body) if packs else again.body) == PLAIN
    assert sent["Content-Length"] == str(len(again.body))
    assert ("SignedHeaders=content-encoding;" in sent["Authorization"]) is packs


def test_only_what_is_large_is_compressed_and_only_if_that_is_wanted() -> None:
    world = World(sends_gzip=True)
    for size, packs in ((10_240, True), (10_239, False)):
        call = world.conduct.begin("PutItem", {"k": "x" * (size - 8)})
        assert ("content-encoding" in world.send(call)) is packs
        assert (len(call.body) < size) is packs
    refusing = World(sends_gzip=False)
    agreeing = answer({})
    agreeing.headers[b"accept-encoding"] = b"gzip"
    refusing.conduct.handle_response(refusing.begin("GetItem"), agreeing)
    assert "content-encoding" not in refusing.send(refusing.conduct.begin("PutItem", LARGE))


def test_a_large_error_may_claim_to_be_compressed() -> None:
    world = World()
    said = refusal("ConditionalCheckFailedException", Item={"t": {"S": "x" * 5_000}})
    said.headers[b"content-encoding"] = b"gzip"
    with pytest.raises(ConditionalCheckFailedException) as caught:
        world.conduct.handle_response(world.begin("UpdateItem", ADD), said)
    assert caught.value.fields["Item"] == {"t": {"S": "x" * 5_000}}
    packed = gzip.compress(said.body)
    crc = {b"x-amz-crc32": b"%d" % crc32(packed)}
    with pytest.raises(ConditionalCheckFailedException):
        world.conduct.handle_response(
            world.begin("UpdateItem", ADD),
            said._replace(body=packed, headers={**said.headers, **crc}),
        )


@pytest.mark.parametrize("how", ["lost", "failed", "gateway", "garbled"])
def test_what_may_have_arrived_is_not_done_twice(how: str) -> None:
    world = World()
    call = world.begin("UpdateItem", ADD)
    with pytest.raises(OutcomeUnknown, match="may have been carried out or not: tried once; "):
        spoil(world, call, how)
    for operation in ("GetItem", "PutItem"):
        assert isinstance(spoil(world, world.begin(operation), how), float)


def spoil(world: World, call: ClientCall, how: str) -> object:
    match how:
        case "lost":
            return world.conduct.handle_no_response(call, ARRIVED)
        case "failed":
            return world.conduct.handle_response(call, refusal("InternalServerError", 500))
        case "gateway":
            return world.conduct.handle_response(
                call, Response(502, {}, b"<html>", keeps_alive=True)
            )
        case _:
            return world.conduct.handle_response(call, answer({}, change=lambda body: body + b" "))


def test_a_repeated_condition_that_fails_says_that_the_first_may_have_held() -> None:
    world = World()
    call = world.begin("PutItem", {"ConditionExpression": "attribute_not_exists(pk)"})
    world.conduct.handle_no_response(call, ARRIVED)
    world.send(call)
    with pytest.raises(OutcomeUnknown) as caught:
        world.conduct.handle_response(call, refusal("ConditionalCheckFailedException", Item={}))
    assert isinstance(caught.value.error, ConditionalCheckFailedException)
    assert "tried 2 times; it got lost, and a later one was answered" in str(caught.value)
    fresh = world.begin("PutItem")
    with pytest.raises(ConditionalCheckFailedException):
        world.conduct.handle_response(fresh, refusal("ConditionalCheckFailedException"))


def test_a_transaction_carries_a_token_and_is_repeated() -> None:
    world = World()
    call = world.begin("TransactWriteItems", {"TransactItems": []})
    assert len(orjson.loads(call.body)["ClientRequestToken"]) == 36
    world.conduct.handle_no_response(call, ARRIVED)
    world.send(call)
    assert world.conduct.handle_response(call, refusal("TransactionInProgressException")) > 0  # type: ignore[operator]
    world.send(call)
    with pytest.raises(TransactionCanceledException):
        world.conduct.handle_response(call, refusal("TransactionCanceledException"))
    own = world.begin("TransactWriteItems", {"ClientRequestToken": "mine"})
    assert orjson.loads(own.body) == {"ClientRequestToken": "mine"}


def test_giving_up_tells_whether_anything_may_have_been_done() -> None:
    world = World(attempts=2)
    call = world.begin("PutItem")
    world.conduct.handle_no_response(call, ARRIVED)
    world.send(call)
    with pytest.raises(
        OutcomeUnknown, match="it got lost, and a later one was answered Throttling"
    ):
        world.conduct.handle_response(call, refusal("ThrottlingException"))
    read = world.begin("GetItem")
    world.conduct.handle_no_response(read, ARRIVED)
    world.send(read)
    with pytest.raises(Unreachable):
        world.conduct.handle_no_response(read, ARRIVED)


def test_no_try_begins_after_its_time() -> None:
    world = World(first_pause_seconds=10, longest_pause_seconds=10)
    call = world.begin("GetItem")
    world.passed = 49.9
    assert world.conduct.handle_no_response(call, UNSENT) == 10.0
    world = World(first_pause_seconds=10, longest_pause_seconds=10)
    call = world.begin("GetItem")
    world.passed = 50.0
    with pytest.raises(Unreachable, match="tried once"):
        world.conduct.handle_no_response(call, UNSENT)


def test_the_budget_is_of_all_calls_together() -> None:
    world = World(budget=10)
    for _ in range(2):
        world.conduct.handle_no_response(world.begin("GetItem"), UNSENT)
    with pytest.raises(Unreachable, match="nobody is there, and the retry budget is used up"):
        world.conduct.handle_no_response(world.begin("GetItem"), UNSENT)
    for _ in range(5):
        world.conduct.handle_response(world.begin("GetItem"), answer({}))
    assert world.conduct.handle_no_response(world.begin("GetItem"), UNSENT) > 0


def test_a_clock_that_is_wrong_is_mended() -> None:
    world = World()
    world.now = START - 3_600
    call = world.conduct.begin("GetItem", {})
    assert world.send(call)["x-amz-date"] == "20231114T211320Z"
    assert world.conduct.handle_response(call, refusal("InvalidSignatureException")) == 0.0
    assert world.send(call)["x-amz-date"] == "20231114T221320Z"
    # It is no secret that is wrong, if it is refused again.
    with pytest.raises(InvalidSignatureException):
        world.conduct.handle_response(call, refusal("InvalidSignatureException"))
    assert world.send(world.conduct.begin("GetItem", {}))["x-amz-date"] == "20231114T221320Z"


def test_a_clock_that_is_right_is_left_alone() -> None:
    world = World()
    world.now = START - 30
    with pytest.raises(InvalidSignatureException):
        world.conduct.handle_response(world.begin("GetItem"), refusal("InvalidSignatureException"))
    undated = refusal("InvalidSignatureException")
    undated.headers.pop(b"date")
    world.now = 0.0
    with pytest.raises(InvalidSignatureException):
        world.conduct.handle_response(world.begin("GetItem"), undated)


def test_expired_credentials_are_renewed_once() -> None:
    world = World()
    call = world.conduct.begin("GetItem", {})
    assert "Credential=first/" in world.send(call)["Authorization"]
    assert world.conduct.handle_response(call, refusal("ExpiredTokenException")) == 0.0
    assert "Credential=second/" in world.send(call)["Authorization"]
    with pytest.raises(OtherServiceError, match="ExpiredTokenException"):
        world.conduct.handle_response(call, refusal("ExpiredTokenException"))


def test_what_cannot_be_sent_is_refused_before() -> None:
    world = World()
    for operation in ("", "Get Item", "GetItem\r\nX: y", "Gët", None, 7):
        with pytest.raises(UnknownOperationException):
            world.conduct.begin(operation, {})  # type: ignore[arg-type]
    with pytest.raises(SerializationException):
        world.conduct.begin("GetItem", {"Key": object()})
