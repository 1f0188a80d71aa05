"""Mutated requests of every operation: whatever they are, they get a proper answer.

The server never answers 500 to them, but for a body that is not what its Content-Encoding
says, where the service does so too. Afterwards it answers a healthy request, and the engine's
invariants hold.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.api import OPERATIONS
from tests.examples import examples
from tests.fuzz.heads import (
    DISHONEST,
    HONEST,
    Headers,
    first_lines,
    mutated_bytes,
    mutated_headers,
)
from tests.fuzz.mutations import mutated_json
from tests.fuzz.seeds import prepare, seeds_of
from tests.fuzz.talking import check_answers, serving
from tests.unit.wire.server.http import head

Check = Callable[[st.DataObject, str], None]

every_operation = pytest.mark.parametrize("operation", sorted(OPERATIONS))


def check_mutated_json(data: st.DataObject, operation: str) -> None:
    """Have a request answered whose JSON has gone wrong."""
    seed = data.draw(st.sampled_from(seeds_of(operation)))
    with serving() as live:
        body = data.draw(mutated_json(prepare(live.engine, seed)))
        headers = list(head(operation).items())
        (answer,) = check_answers(live.exchange(_write("POST / HTTP/1.1", headers, body)))
    assert answer.status in {200, 400}
    assert answer.body == b"" or isinstance(answer.json, dict)


def check_mutated_headers(data: st.DataObject, operation: str) -> None:
    """Have a request answered whose head has gone wrong."""
    seed = data.draw(st.sampled_from(seeds_of(operation)))
    with serving() as live:
        body = json.dumps(prepare(live.engine, seed)).encode()
        headers = data.draw(mutated_headers(list(head(operation).items())))
        first = data.draw(first_lines)
        received = live.exchange(_write(first, headers, body))
    for answer in check_answers(received, may_lack_bodies=first.startswith("HEAD ")):
        assert answer.status != 500


def check_mutated_encodings(data: st.DataObject, operation: str) -> None:
    """Have a request answered that is compressed, or says so."""
    seed = data.draw(st.sampled_from(seeds_of(operation)))
    encoding = data.draw(st.sampled_from([*HONEST, *DISHONEST]))
    is_honest = encoding in HONEST and data.draw(st.booleans(), label="honest")
    with serving() as live:
        body = data.draw(mutated_json(prepare(live.engine, seed)))
        encoded = HONEST[encoding](body) if is_honest else data.draw(mutated_bytes(body))
        headers = [*head(operation).items(), ("Content-Encoding", encoding)]
        (answer,) = check_answers(live.exchange(_write("POST / HTTP/1.1", headers, encoded)))
    names = [each.strip().lower() for each in encoding.split(",")]
    if len([each for each in names if each != "identity"]) > 1:
        # At most one is taken, whatever the body is.
        assert answer.status == 415
    elif is_honest or encoding == "identity":
        assert answer.status in {200, 400}
    else:
        # As on the service, though the fault is the client's.
        assert answer.status == 500


def check_mutated_bytes(data: st.DataObject, operation: str) -> None:
    """Have a connection answered on which some bytes are wrong."""
    seed = data.draw(st.sampled_from(seeds_of(operation)))
    with serving() as live:
        body = json.dumps(prepare(live.engine, seed)).encode()
        request = _write("POST / HTTP/1.1", list(head(operation).items()), body)
        received = live.exchange(data.draw(mutated_bytes(request * 2)))
    for answer in check_answers(received):
        assert answer.status != 500


def _write(first_line: str, headers: Headers, body: bytes) -> bytes:
    """A request as bytes; how long its body is goes first, where no header says so."""
    names = {name.lower() for name, _ in headers}
    if not names & {"content-length", "transfer-encoding"}:
        headers = [*headers, ("Content-Length", str(len(body)))]
    lines = [first_line, *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join((*lines, "", "")).encode("latin-1", "replace") + body


# What goes wrong with a connection, whatever the operation.
ANY_OPERATION = {
    "headers": check_mutated_headers,
    "encodings": check_mutated_encodings,
    "bytes": check_mutated_bytes,
}


def test_every_operation_has_seeds() -> None:
    assert [operation for operation in OPERATIONS if not seeds_of(operation)] == []


@every_operation
@examples(6, 500)
@given(data=st.data())
def test_a_request_with_mutated_json_is_answered(operation: str, data: st.DataObject) -> None:
    check_mutated_json(data, operation)


@pytest.mark.parametrize("check", ANY_OPERATION.values(), ids=ANY_OPERATION)
@examples(150, 30_000)
@given(operation=st.sampled_from(sorted(OPERATIONS)), data=st.data())
def test_a_mutated_request_is_answered(check: Check, operation: str, data: st.DataObject) -> None:
    check(data, operation)
