"""Raw HTTP requests, a fake transport, and server connections without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keyfold.engine import Engine
from keyfold.wire.server import Limits
from keyfold.wire.server._browsers import BrowserRules
from keyfold.wire.server._connection import ServerConnection
from keyfold.wire.server._gate import Gate
from keyfold.wire.server._scheduler import Scheduler, ServedEngine
from keyfold.wire.server._state import ServerState
from tests.oracle.local import target_of

AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=key/20261115/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date;x-amz-target, Signature=0123456789abcdef"
)


def head(operation: str = "ListTables", **changes: str | None) -> dict[str, str]:
    """Return the headers that clients send; a change to None removes a header."""
    headers: dict[str, str | None] = {
        "Host": "localhost:8000",
        "X-Amz-Target": target_of(operation),
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Date": "20261115T120000Z",
        "Authorization": AUTHORIZATION,
    }
    headers |= {name.replace("_", "-"): value for name, value in changes.items()}
    return {name: value for name, value in headers.items() if value is not None}


def write_request(
    headers: dict[str, str],
    body: bytes = b"{}",
    *,
    method: str = "POST",
    url: str = "/",
    version: str = "1.1",
) -> bytes:
    """Return a request as a client sends it."""
    lines = [f"{method} {url} HTTP/{version}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if not any(name.lower() in ("content-length", "transfer-encoding") for name in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join((*lines, "", "")).encode("latin-1") + body


def ask(operation: str, request: dict[str, Any], **changes: str | None) -> bytes:
    """Return the request for an operation."""
    return write_request(head(operation, **changes), json.dumps(request).encode())


@dataclass(frozen=True, slots=True)
class Response:
    """A response as a client reads it."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def read_responses(received: bytes, *, has_bodies: bool = True) -> list[Response]:
    """Parse the bytes that a client received; they must consist of responses only."""
    responses: list[Response] = []
    while received:
        block, _, received = received.partition(b"\r\n\r\n")
        first, *lines = block.decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in lines)
        }
        length = int(headers.get("content-length", "0")) if has_bodies else 0
        responses.append(Response(int(first.split()[1]), headers, received[:length]))
        received = received[length:]
    return responses


class FakeTransport(asyncio.Transport):
    """Collects what is written instead of sending it."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 4711)})
        self.written = b""
        self.is_paused = self.has_eof = self.is_closed = self.is_aborted = False
        # What the client has not read, if it does not read, and the limit for it.
        self.is_read = True
        self.unread = bytearray()
        self.high_water = 0
        self.is_full = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.is_closed
        assert not self.has_eof
        if self.is_read:
            self.written += bytes(data)
            return
        self.unread += data
        if len(self.unread) > self.high_water and not self.is_full:
            self.is_full = True
            self._protocol.pause_writing()

    def read(self) -> None:
        """Read everything that is written, and may be written then."""
        while self.unread or self.is_full:
            self.written += bytes(self.unread)
            self.unread.clear()
            if self.is_full:
                self.is_full = False
                self._protocol.resume_writing()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        assert isinstance(protocol, asyncio.Protocol)
        self._protocol = protocol

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high is not None
        self.high_water = high

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.has_eof = True

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def is_closing(self) -> bool:
        return self.is_closed or self.is_aborted

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_aborted = True


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Wire:
    """Server state and connections without a network, on an event loop that does not run."""

    def __init__(
        self,
        service: ServedEngine,
        limits: Limits | None = None,
        gate: Gate | None = None,
        browsers: BrowserRules | None = None,
        date_clock: Callable[[], float] | None = None,
    ) -> None:
        self.clock = Clock()
        self.loop = asyncio.new_event_loop()
        self.scheduler = Scheduler(
            service, self.loop, waiting=(limits or Limits()).waiting, monotonic=self.clock
        )
        self.state = ServerState(
            self.scheduler,
            limits or Limits(),
            metrics=None,
            access_log=None,
            gate=gate,
            browsers=browsers or BrowserRules(any_host=True),
            date_clock=date_clock,
            monotonic=self.clock,
        )

    def connect(self) -> tuple[ServerConnection, FakeTransport]:
        """Return a new connection and its transport."""
        connection, transport = ServerConnection(self.state), FakeTransport()
        transport.set_protocol(connection)
        connection.connection_made(transport)
        return connection, transport

    def exchange(self, sent: bytes) -> list[Response]:
        """Send bytes over a new connection and return the responses."""
        connection, transport = self.connect()
        connection.data_received(sent)
        self.run_until_idle()
        return read_responses(transport.written)

    def run_until_idle(self) -> None:
        """Run everything that the scheduler has queued."""
        self.loop.run_until_complete(self.scheduler.drain())

    async def next_turn(self) -> None:
        """Let the loop run one iteration."""
        await asyncio.sleep(0)

    def wait(self, seconds: float) -> None:
        """Let time pass and run the server's periodic sweep."""
        self.clock.now += seconds
        self.state.sweep()

    def close(self) -> None:
        self.scheduler.close()
        self.loop.close()


TABLE = "Things"
CREATE = {
    "TableName": TABLE,
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def make_table(engine: Engine) -> None:
    engine.execute("CreateTable", CREATE)


def put(name: str, **more: dict[str, Any]) -> bytes:
    """Return a request that writes an item."""
    return ask("PutItem", {"TableName": TABLE, "Item": {"pk": {"S": name}, **more}})


def get(name: str, **changes: str | None) -> bytes:
    """Return a request that reads an item."""
    return ask("GetItem", {"TableName": TABLE, "Key": {"pk": {"S": name}}}, **changes)
