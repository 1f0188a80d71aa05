"""A request is parsed once, however many parts of the server use it; a large one in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from keyfold.api import bodies
from keyfold.engine import Engine
from keyfold.errors import ServiceError
from keyfold.wire.server._metrics import Metrics
from keyfold.wire.server._requests import LARGE_BODY_BYTES, Headers, HttpRequest, WireCall
from tests.unit.wire.server.http import Wire, ask, get, make_table, put


class ReadingGate:
    """A gate that reads every request, and remembers in which thread."""

    verifies_keys = True

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []

    def end_sharing(self) -> None:
        pass

    def check_files(self) -> None:
        pass

    def find_authorizer(self, headers: Headers, body: bytes, *, is_shared: bool = False) -> None:
        return None

    def find_refusal(self, request: HttpRequest, call: WireCall) -> ServiceError | None:
        assert call.request.__class__ is dict
        self.threads.append(threading.current_thread())
        return None

    def find_principal(self, request: HttpRequest) -> str:
        return "ada"


@pytest.fixture
def gate() -> ReadingGate:
    return ReadingGate()


@pytest.fixture
def wire(gate: ReadingGate) -> Iterator[Wire]:
    with Engine.open(":memory:") as engine:
        make_table(engine)
        wire = Wire(engine, gate=gate)
        wire.state.metrics = Metrics()
        yield wire
        wire.close()


def _transaction() -> bytes:
    member = {"Put": {"TableName": "Things", "Item": {"pk": {"S": "b"}}}}
    return ask("TransactWriteItems", {"TransactItems": [member], "ClientRequestToken": "token"})


@pytest.mark.parametrize("sent", [get("a"), put("a"), _transaction()], ids=["get", "put", "token"])
def test_a_request_is_parsed_once(wire: Wire, sent: bytes) -> None:
    parsed: list[bytes] = []
    parse = bodies.orjson.loads

    def count(body: Any) -> Any:
        parsed.append(body)
        return parse(body)

    with mock.patch.object(bodies, "orjson", mock.Mock(wraps=bodies.orjson, loads=count)):
        (response,) = wire.exchange(sent)
    assert response.status == 200
    assert len(parsed) == 1


def test_a_large_body_is_parsed_and_authorized_outside_the_loop(
    wire: Wire, gate: ReadingGate
) -> None:
    text = {"S": "x" * LARGE_BODY_BYTES}
    responses = wire.exchange(put("a") + put("b", text=text) + get("b"))
    assert [response.status for response in responses] == [200, 200, 200]
    assert responses[2].json == {"Item": {"pk": {"S": "b"}, "text": text}}
    here = threading.current_thread()
    assert [thread is here for thread in gate.threads] == [True, False, True]


def test_a_large_body_that_is_not_json_gets_the_services_error(wire: Wire) -> None:
    with mock.patch.object(ReadingGate, "find_refusal", return_value=None):
        valid = put("a", text={"S": "x" * LARGE_BODY_BYTES})
        (response,) = wire.exchange(valid[:-1] + b"x")
    assert response.status == 400
    assert response.json["__type"].endswith("#SerializationException")


def test_a_request_of_some_size_is_offered_compression_behind_a_gate(wire: Wire) -> None:
    request = {"TableName": "Things", "Key": {"pk": {"S": "a"}}, "Unknown": "x" * 20_000}
    (response,) = wire.exchange(ask("GetItem", request))
    assert response.headers["accept-encoding"] == "gzip, deflate"
