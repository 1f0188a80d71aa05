"""The receiving half of a connection: from bytes to requests, within the limits."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import cast

import httptools

from keyfold.wire.server._answers import Answer, answer_denied, answer_plain, answer_unavailable
from keyfold.wire.server._bodies import ReceivedBody
from keyfold.wire.server._memory import ConnectionMemory
from keyfold.wire.server._requests import Headers, HttpRequest
from keyfold.wire.server._state import ServerState

# How much is still read, and discarded, of a request that was refused while it was being sent:
# a client whose connection is closed at once would never see the answer.
_DISCARDED_BYTES = 1 << 26

_TOO_LONG = "Request head too large"
_MOST_HEADERS = 100
_TOO_MANY_HEADERS = f"Request has more than {_MOST_HEADERS} headers"
_HEAD_TOO_LONG = "Request entity too large"
NO_ROOM = "Too many large requests are in progress"

# Data of more than this may hold many requests or chunks. It is parsed in slices, for as long as the
# connection has its turn. Nothing more is read from it until the last slice is parsed.
_UNSLICED_BYTES = 4_096
# About a millisecond's work, if it consists of the shortest requests.
_SLICE_BYTES = 1_024
# After so much from one connection, others get their turn before more is read from it: some event loops read
# several megabytes at once, as long as there are any.
_TURN_BYTES = 1 << 17
# What a request takes while it waits, beside its body and the bytes of its head; and each header.
_REQUEST_BYTES = 1_024
_HEADER_BYTES = 160

# How long one connection may answer pipelined requests before others get their turn.
_TURN_SECONDS = 0.000_3

# Some clients offer a protocol upgrade with every request. The parser would accept; we do not.
_UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)
# Whether there may be such an offer. For data of this size, it is twice as fast as `in`.
_find_offer = re.compile(rb"pgrade").search
_IGNORED = b"\r\nx-offer:"


def _ignore_upgrade(data: bytes) -> bytes:
    head, end, rest = data.partition(b"\r\n\r\n")
    return _UPGRADE.sub(_IGNORED, head) + end + rest


def find_waiting_bytes(request: HttpRequest) -> int:
    """Return about how much memory a request takes while it waits."""
    headers = request.repeated or request.headers.items()
    head_bytes = len(request.url) + sum(len(name) + len(value) for name, value in headers)
    return _REQUEST_BYTES + head_bytes + _HEADER_BYTES * len(headers) + request.body_bytes


class StopParsing(Exception):
    """A request was refused; the rest of what the client sends is discarded."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class RequestInput(asyncio.Protocol):
    """Parses requests, enforces the limits, and reads no more than may be held."""

    __slots__ = (
        "_backlog",
        "_body",
        "_body_bytes",
        "_body_length",
        "_discarded",
        "_gathered",
        "_head_bytes",
        "_headers",
        "_held_body_bytes",
        "_is_parsing",
        "_is_paused",
        "_is_prompt",
        "_known_hosts",
        "_memory",
        "_parser",
        "_raw_headers",
        "_repeated",
        "_state",
        "_trailer_bytes",
        "_transport",
        "_turn_ends",
        "_uncounted_body_bytes",
        "_unparsed",
        "_url",
        "active_at",
        "is_receiving",
        "on_header",
        "received_since",
    )

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._known_hosts = state.browsers.known_hosts
        self._headers: Headers = {}
        # The parser calls `on_header` for each header; a Python method would double the cost.
        self._raw_headers: Headers = {}
        self.on_header = self._raw_headers.setdefault
        # Verifying signatures needs every header, repeated ones too.
        self._gathered: list[tuple[bytes, bytes]] = []
        self._repeated: Sequence[tuple[bytes, bytes]] = ()
        if state.gate is not None:
            self.on_header = self._make_gatherer()
        self._parser = httptools.HttpRequestParser(self)
        self._transport = cast(asyncio.Transport, None)
        self._memory = ConnectionMemory(state.memory)
        # The complete requests that wait.
        self._backlog: deque[HttpRequest] = deque()
        # Whether reading is paused, and whether data is being parsed in slices.
        self._is_paused = self._is_parsing = False
        # What was received and not parsed yet.
        self._unparsed = memoryview(b"")
        # How much has been discarded since a request was refused; None before that.
        self._discarded: int | None = None
        # When other connections get their turn; 0 before the second request of this turn.
        self._turn_ends = 0.0
        # Times by the server state's clock: of the last activity, and of the first byte of the
        # request being received.
        self.active_at = self.received_since = state.now
        self.is_receiving = False
        # Whether the request being received is the first in the data that arrived last.
        self._is_prompt = False
        self._url = b""
        # The body, as far as it has been received: the first part as it is.
        self._body: bytes | ReceivedBody = b""
        self._body_bytes = 0
        # How much of it is counted, and up to which size it need not be.
        self._held_body_bytes = 0
        self._uncounted_body_bytes = state.memory.uncounted_body_bytes
        # The Content-Length, while the body is being received.
        self._body_length = 0
        # The bytes of a head; and of what follows it without being part of the body.
        self._head_bytes = self._trailer_bytes = 0

    # The connection, which is the only subclass, overrides these two.

    def _has_work(self) -> bool:
        """Return whether there are requests to answer, or answers to send."""
        raise NotImplementedError

    def _refuse(self, answer: Answer) -> None:
        """Send an answer after those to earlier requests, and process no more of them."""
        raise NotImplementedError

    # Called by the transport.

    def data_received(self, data: bytes) -> None:
        state = self._state
        self.active_at = state.now
        if self._discarded is not None:
            self._discarded += len(data)
            if self._discarded > _DISCARDED_BYTES:
                self._transport.abort()
            elif len(data) >= _TURN_BYTES:
                self._pause_for_others()
            return
        self._turn_ends = 0.0
        if self.is_receiving:
            self._is_prompt = False
        else:
            self.is_receiving = self._is_prompt = True
            self.received_since = state.now
        if len(data) <= _UNSLICED_BYTES and not self._unparsed:
            self._parse(data)
            if self._memory.held_bytes and self._holds_enough():
                self._pause()
        else:
            # Some transports still deliver what they had read when reading was paused.
            whole = self._take_unparsed() + data if self._unparsed else data
            self._parse_in_slices(memoryview(whole))
            if len(data) >= _TURN_BYTES and not self._is_paused:
                self._pause_for_others()

    def _parse(self, data: bytes | memoryview) -> None:
        if self._head_bytes < 0:
            self._trailer_bytes += len(data)
        else:
            if self._head_bytes == 0 and _find_offer(data):
                data = _ignore_upgrade(bytes(data))
            # Counted before parsing: the parser would buffer a line without an end completely.
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
            if self._head_bytes > 0 or self._trailer_bytes:
                self._check_incomplete_head()
        except httptools.HttpParserCallbackError as error:
            if not isinstance(error.__context__, StopParsing):
                raise
            self._refuse(error.__context__.answer)
        except StopParsing as refusal:
            self._refuse(refusal.answer)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._refuse(answer_plain(400, "Bad request"))

    def _check_incomplete_head(self) -> None:
        """Refuse a head, or trailers, that are too large before they are complete."""
        most_bytes = self._state.limits.head_bytes
        if self._head_bytes > most_bytes or self._trailer_bytes > most_bytes:
            raise StopParsing(answer_plain(400, _HEAD_TOO_LONG))
        if len(self._raw_headers) > _MOST_HEADERS or len(self._gathered) > _MOST_HEADERS:
            raise StopParsing(answer_plain(400, _TOO_MANY_HEADERS))

    def _parse_in_slices(self, data: memoryview) -> None:
        """Parse data while it is this connection's turn, and keep the rest for later."""
        self._is_parsing = True
        while data and self._discarded is None:
            size = max(_SLICE_BYTES, self._body_length - self._body_bytes)
            self._parse(data[:size])
            data = data[size:]
            if data and (self._holds_enough() or self._is_turn_over()):
                self._keep_unparsed(data)
                break
        self._is_parsing = False
        if self._unparsed or self._holds_enough():
            self._pause()

    def _keep_unparsed(self, data: memoryview) -> None:
        if self._discarded is not None:
            return
        if not self._memory.hold(len(data)):
            self._refuse(answer_unavailable(NO_ROOM))
            return
        self._unparsed = data
        if not self._has_work():
            # Otherwise, `_go_on` is called when that is done.
            self._state.scheduler.run_next_turn(self._begin_reading)

    def _take_unparsed(self) -> bytes:
        rest, self._unparsed = bytes(self._unparsed), memoryview(b"")
        self._memory.release(len(rest))
        return rest

    def _begin_reading(self) -> None:
        self._turn_ends = 0.0
        self._read_on()

    def _holds_enough(self) -> bool:
        """Return whether nothing more is to be read while there are requests to answer."""
        limits = self._state.limits
        return len(self._backlog) > limits.pipelined or (
            self._memory.held_bytes > limits.connection_bytes and self._has_work()
        )

    def _is_turn_over(self) -> bool:
        """Return whether this connection has used up its time in this iteration of the loop."""
        now = self._state.monotonic()
        if self._turn_ends == 0.0:
            self._turn_ends = now + _TURN_SECONDS
        return now >= self._turn_ends

    def _pause(self) -> None:
        if not self._is_paused and self._discarded is None:
            self._is_paused = True
            self._transport.pause_reading()

    def _pause_for_others(self) -> None:
        """Read on in the loop's next iteration."""
        if not self._is_paused and not self._transport.is_closing():
            self._is_paused = True
            self._transport.pause_reading()
            self._state.scheduler.run_next_turn(self._begin_reading)

    def _read_on(self) -> None:
        """Parse what was kept, and read more, unless enough is held."""
        if not self._is_paused or self._is_parsing or self._transport.is_closing():
            return
        if len(self._backlog) > self._state.limits.pipelined // 2 or self._holds_enough():
            return
        if self._unparsed:
            self._is_prompt = False
            self._parse_in_slices(memoryview(self._take_unparsed()))
            if self._unparsed or self._holds_enough():
                return
        # The time in which it was not read is not the client's.
        self.received_since = self._state.now
        self._is_paused = False
        self._transport.resume_reading()

    # Called by the parser.

    def on_url(self, url: bytes) -> None:
        self._url += url

    def _make_gatherer(self) -> Callable[[bytes, bytes], object]:
        append = self._gathered.append
        return lambda name, value: append((name.lower(), value))

    def on_headers_complete(self) -> None:
        limits, raw = self._state.limits, self._raw_headers
        if self._state.gate is None:
            headers = {name.lower(): value for name, value in raw.items()}
            raw.clear()
        else:
            gathered = self._gathered
            headers = dict(gathered)
            self._repeated = ()
            if len(headers) != len(gathered):
                self._repeated = gathered[:]
                headers = dict(reversed(gathered))
            gathered.clear()
        self._headers = headers
        if headers.get(b"host") not in self._known_hosts or b"origin" in headers:
            self._check_browser(headers)
        if self._head_bytes > limits.head_bytes:
            # Part of the counted bytes may belong to the body.
            pairs = self._repeated or headers.items()
            size = len(self._url) + sum(len(name) + len(value) for name, value in pairs)
            if size > limits.head_bytes:
                raise StopParsing(answer_plain(400, _HEAD_TOO_LONG))
        if len(headers) > _MOST_HEADERS:
            raise StopParsing(answer_plain(400, _TOO_MANY_HEADERS))
        if b"upgrade" in headers:
            raise StopParsing(answer_plain(400, "Only HTTP/1.1 is supported"))
        # Head bytes are not counted while the body arrives.
        self._head_bytes = -1
        length = headers.get(b"content-length")
        if length is None:
            # With a length, the parser has refused it.
            coding = headers.get(b"transfer-encoding", b"chunked")
            if coding.strip().lower() != b"chunked":
                raise StopParsing(answer_plain(501, "Transfer-Encoding has to be chunked"))
        else:
            try:
                body_bytes = int(length)
            except ValueError:
                # Thousands of zeros, which the parser accepts and Python does not.
                raise StopParsing(answer_plain(400, "Bad request")) from None
            if body_bytes > limits.body_bytes:
                raise StopParsing(answer_plain(413, _TOO_LONG))
            self._body_length = body_bytes
        expected = headers.get(b"expect")
        if expected is not None:
            if expected.lower() != b"100-continue":
                raise StopParsing(answer_plain(417, "Expectation failed"))
            if not self._has_work():
                # Otherwise, it would come before other answers.
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _check_browser(self, headers: Headers) -> None:
        host, origin = headers.get(b"host"), headers.get(b"origin")
        refusal = self._state.browsers.find_refusal(host, origin)
        if refusal is not None:
            raise StopParsing(answer_denied(refusal))

    def on_body(self, body: bytes) -> None:
        received, self._trailer_bytes = self._body_bytes, 0
        size = received + len(body)
        if size > self._uncounted_body_bytes:
            self._hold_body(size)
        self._body_bytes = size
        if received == 0:
            self._body = body
            return
        if isinstance(self._body, bytes):
            self._body = ReceivedBody(self._body)
        self._body.append(body)

    def _hold_body(self, size: int) -> None:
        """Count a body of some size; refuse it if it is too large, or if there is no room for it."""
        limits, memory = self._state.limits, self._memory
        added = size - self._held_body_bytes
        is_alone = not self._has_work()
        if size > limits.body_bytes or (
            is_alone and memory.held_bytes + added > limits.connection_bytes
        ):
            raise StopParsing(answer_plain(413, _TOO_LONG))
        if not memory.hold(added):
            raise StopParsing(answer_unavailable(NO_ROOM))
        self._held_body_bytes = size

    def _forget_body(self) -> None:
        if self._held_body_bytes:
            self._memory.release(self._held_body_bytes)
            self._held_body_bytes = 0
        self._body_bytes = self._body_length = 0
        self._body = b""
