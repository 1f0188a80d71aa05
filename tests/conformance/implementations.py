"""What the cases can be put to: the embedded engine by each of its entries, or an endpoint."""

from __future__ import annotations

import base64
import binascii
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol, cast

from keyfold.engine import Engine
from keyfold.errors import ServiceError
from keyfold.wire.client import Client
from keyfold.wire.server import Server
from tests.oracle.local import target_of
from tests.unit.wire.server.http import Wire
from tests.unit.wire.server.http import ask as wire_request

OK = 200

Answer = dict[str, Any]  # {"response": …} or {"error": {"type", "status", "message", …}}


class Implementation(Protocol):
    """Answers requests."""

    def ask(self, operation: str, request: dict[str, Any]) -> Answer:
        """The answer to one request, in the form in which cases expect it."""
        ...

    def settle(self) -> None:
        """Wait until what goes on in the background, such as a new index, is done."""
        ...

    def close(self) -> None:
        """Release what this one has opened itself, such as a server."""
        ...


@dataclass(slots=True)
class EngineByJson:
    """The engine through its entry for the wire."""

    engine: Engine

    def ask(self, operation: str, request: dict[str, Any]) -> Answer:
        body = json.dumps(request).encode()
        return _answer(lambda: json.loads(self.engine.execute_json(operation, body)))

    def settle(self) -> None:
        self.engine.run_upkeep()

    def close(self) -> None:
        """Leave the engine open: it is the caller's."""


@dataclass(slots=True)
class EngineByDict:
    """The engine through its entry for Python, where binaries are bytes."""

    engine: Engine

    def ask(self, operation: str, request: dict[str, Any]) -> Answer:
        return to_wire(_answer(lambda: self.engine.execute(operation, from_wire(request))))

    def settle(self) -> None:
        self.engine.run_upkeep()

    def close(self) -> None:
        """Leave the engine open: it is the caller's."""


class EngineByWire:
    """The engine behind the server, by a connection without a network."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._wire = Wire(engine)

    def ask(self, operation: str, request: dict[str, Any]) -> Answer:
        (response,) = self._wire.exchange(wire_request(operation, request))
        body = json.loads(response.body or b"{}")
        if response.status == OK:
            return {"response": body}
        return {"error": read_error(response.status, body)}

    def settle(self) -> None:
        self._engine.run_upkeep()

    def close(self) -> None:
        """End the server's threads."""
        self._wire.close()


class EngineByClient:
    """The engine behind the server, by our own client, where binaries are bytes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stack = ExitStack()
        url = self._stack.enter_context(Server(engine).running())
        self._client = self._stack.enter_context(Client(url))

    def ask(self, operation: str, request: dict[str, Any]) -> Answer:
        return to_wire(_answer(lambda: self._client.execute(operation, from_wire(request))))

    def settle(self) -> None:
        self._engine.run_upkeep()

    def close(self) -> None:
        """End the server."""
        self._stack.close()


@dataclass(slots=True)
class Endpoint:
    """A server that speaks the protocol. Tables in the way of a case are deleted first."""

    url: str

    def ask(self, operation: str, request: dict[str, Any]) -> Answer:
        headers = {
            "X-Amz-Target": target_of(operation),
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Date": "20260101T000000Z",
            "Authorization": "AWS4-HMAC-SHA256 Credential=conformance/20260101/us-east-1/dynamodb/"
            "aws4_request, SignedHeaders=host, Signature=0",
        }
        sent = urllib.request.Request(self.url, json.dumps(request).encode(), headers)
        try:
            with urllib.request.urlopen(sent, timeout=60) as response:
                return {"response": json.load(response)}
        except urllib.error.HTTPError as error:
            return {"error": read_error(error.code, json.load(error))}

    def settle(self) -> None:
        """What a server does in the background is its own; it answers when it is done."""

    def close(self) -> None:
        """Do nothing: each call had its own connection."""


def read_error(status: int, body: dict[str, Any]) -> Answer:
    """The error of a response's body, with its type's short name."""
    rest = {name: value for name, value in body.items() if name != "__type"}
    message = rest.pop("Message", rest.pop("message", ""))
    kind = body.get("__type", "").rpartition("#")[2]
    return {"type": kind, "status": status, "message": message, **rest}


def _answer(run: Callable[[], dict[str, Any]]) -> Answer:
    try:
        return {"response": run()}
    except ServiceError as error:
        return {
            "error": {
                "type": error.type,
                "status": error.status,
                "message": error.message,
                **error.fields,
            }
        }


def from_wire(value: Any) -> Any:
    """The request with its binaries as bytes; what is no base64 stays as it is.

    >>> from_wire({"Key": {"id": {"B": "YQ=="}}})
    {'Key': {'id': {'B': b'a'}}}
    """
    if isinstance(value, list):
        return [from_wire(one) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    entries = cast("dict[str, Any]", value)
    match entries:
        case {"B": str(text)} if len(entries) == 1:
            return {"B": _decoded(text)}
        case {"BS": list()} if len(entries) == 1:
            return {"BS": [_decoded(text) for text in entries["BS"]]}
        case _:
            return {name: from_wire(one) for name, one in entries.items()}


def to_wire(value: Any) -> Any:
    """The answer with its binaries as base64."""
    if isinstance(value, list):
        return [to_wire(one) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {name: to_wire(one) for name, one in cast("dict[str, Any]", value).items()}
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _decoded(text: Any) -> Any:
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        return text
    return decoded if base64.b64encode(decoded).decode() == text else text
