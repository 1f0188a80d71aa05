"""A client's connection: parses requests from bytes, and writes answers in their order."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import cast

import httptools

from keyfold.engine import NeedsThread
from keyfold.wire.server._answers import (
    AMZ_JSON,
    Answer,
    answer_plain,
    answer_unavailable,
)
from keyfold.wire.server._encodings import LEAST_BYTES, LEAST_REQUEST_BYTES
from keyfold.wire.server._failures import answer_exception
from keyfold.wire.server._requests import (
    LARGE_BODY_BYTES,
    Headers,
    HttpRequest,
    WireCall,
    answer_call,
    find_target,
    finish_answer,
    finish_large_answer,
    match_authorization,
    offer_compression,
)
from keyfold.wire.server._scheduler import INLINE_READS, Outcome
from keyfold.wire.server._state import PreparedRequest, ServerState

# How much is still read, and discarded, of a request that was refused while it was being sent:
# a client whose connection is closed at once would never see the answer.
_DISCARDED_BYTES = 1 << 26

_HEAD_TOO_LONG = "Request head too large"
_TOO_LONG = "Request entity too large"
_TOO_MANY = "Too many requests are waiting"

# How long one connection may answer pipelined requests before others get their turn.
_TURN_SECONDS = 0.002

# Some clients offer a protocol upgrade with every request. The parser would accept; we do not.
_UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)
# Whether there may be such an offer. For data of this size, it is twice as fast as `in`.
_find_offer = re.compile(rb"pgrade").search
_IGNORED = b"\r\nx-offer:"


def _ignore_upgrade(data: bytes) -> bytes:
    head, end, rest = data.partition(b"\r\n\r\n")
    return _UPGRADE.sub(_IGNORED, head) + end + rest


class _StopParsing(Exception):
    """A request was refused; the rest of what the client sends is discarded."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class ServerConnection(asyncio.Protocol):
    """Parses requests, enforces the limits, and answers the requests one after another."""

    __slots__ = (
        "_backlog",
        "_body",
        "_body_bytes",
        "_call",
        "_discarded",
        "_gathered",
        "_head_bytes",
        "_headers",
        "_is_answering",
        "_is_closing",
        "_is_paused",
        "_is_prompt",
        "_is_pumping",
        "_is_stalled",
        "_known_hosts",
        "_parser",
        "_raw_headers",
        "_refusal",
        "_repeated",
        "_request",
        "_started",
        "_state",
        "_transport",
        "_turn_ends",
        "_url",
        "active_at",
        "is_receiving",
        "on_header",
        "peer",
        "received_since",
        "spent_seconds",
        "stalled_since",
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
        self._backlog: deque[HttpRequest] = deque()
        # The request and call being answered; and the refusal to send after that, if there is one.
        self._request: HttpRequest | None = None
        self._call: WireCall | None = None
        self._refusal: Answer | None = None
        self._started = 0.0
        self._is_answering = self._is_pumping = self._is_closing = False
        self._is_paused = self._is_stalled = False
        self._discarded: int | None = None
        # When other connections get their turn; 0 before the second request of this turn.
        self._turn_ends = 0.0
        self.peer = ""
        # The time that threads have lately spent on its requests.
        self.spent_seconds = 0.0
        # Times by the server state's clock: of the last activity, of the first byte of the
        # request being received, and since when the client has not taken its answers.
        self.active_at = state.now
        self.is_receiving = False
        # Whether the request being received is the first in the data that arrived last.
        self._is_prompt = False
        self.received_since = self.stalled_since = state.now
        self._url = b""
        self._body: list[bytes] = []
        self._head_bytes = self._body_bytes = 0

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self.peer = f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else ""
        if not self._state.admit_client(self):
            self._discarded = 0
            answer = answer_unavailable("Too many connections are open")
            self._transport.write(self._state.writer.write(answer, keeps_alive=False))
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._is_closing = True
        self._forget_body()
        self._backlog.clear()
        self._state.dismiss(self)

    def data_received(self, data: bytes) -> None:
        state = self._state
        self.active_at = state.now
        if self._discarded is not None:
            self._discarded += len(data)
            if self._discarded > _DISCARDED_BYTES:
                self._transport.abort()
            return
        self._turn_ends = 0.0
        if self.is_receiving:
            self._is_prompt = False
        else:
            self.is_receiving = self._is_prompt = True
            self.received_since = state.now
        if self._head_bytes == 0 and _find_offer(data):
            data = _ignore_upgrade(data)
        if self._head_bytes >= 0:
            # Counted before parsing: the parser would buffer a line without an end completely.
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
            if self._head_bytes > state.limits.head_bytes:
                raise _StopParsing(answer_plain(400, _HEAD_TOO_LONG))
        except httptools.HttpParserCallbackError as error:
            if not isinstance(error.__context__, _StopParsing):
                raise
            self._refuse(error.__context__.answer)
        except _StopParsing as refusal:
            self._refuse(refusal.answer)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._refuse(answer_plain(400, "Bad request"))
        if len(self._backlog) > state.limits.pipelined and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        # A client may close its half after sending its requests; complete ones are answered.
        self._is_closing = True
        has_work = self._is_answering or bool(self._backlog)
        return has_work and self._transport.can_write_eof()

    def pause_writing(self) -> None:
        self._is_stalled = True
        self.stalled_since = self._state.now

    def resume_writing(self) -> None:
        self._is_stalled = False
        self._pump()

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
                raise _StopParsing(answer_plain(400, _HEAD_TOO_LONG))
        if b"upgrade" in headers:
            raise _StopParsing(answer_plain(400, "Only HTTP/1.1 is supported"))
        # Head bytes are not counted while the body arrives.
        self._head_bytes = -1
        length = headers.get(b"content-length")
        if length is None:
            # With a length, the parser has refused it.
            coding = headers.get(b"transfer-encoding", b"chunked")
            if coding.strip().lower() != b"chunked":
                raise _StopParsing(answer_plain(501, "Transfer-Encoding has to be chunked"))
        else:
            try:
                body_bytes = int(length)
            except ValueError:
                # Thousands of zeros, which the parser accepts and Python does not.
                raise _StopParsing(answer_plain(400, "Bad request")) from None
            if body_bytes > limits.body_bytes:
                raise _StopParsing(answer_plain(413, _TOO_LONG))
        expected = headers.get(b"expect")
        if expected is not None:
            if expected.lower() != b"100-continue":
                raise _StopParsing(answer_plain(417, "Expectation failed"))
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _check_browser(self, headers: Headers) -> None:
        host, origin = headers.get(b"host"), headers.get(b"origin")
        refusal = self._state.browsers.find_refusal(host, origin)
        if refusal is not None:
            raise _StopParsing(refusal)

    def on_body(self, body: bytes) -> None:
        state = self._state
        self._body.append(body)
        self._body_bytes += len(body)
        state.buffered_bytes += len(body)
        if self._body_bytes > state.limits.body_bytes:
            raise _StopParsing(answer_plain(413, _TOO_LONG))
        if state.buffered_bytes > state.limits.buffered_bytes:
            raise _StopParsing(answer_unavailable("Too many large requests are in progress"))

    def on_message_complete(self) -> None:
        parser, parts = self._parser, self._body
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        method, url, headers = parser.get_method(), self._url, self._headers
        keeps_alive = parser.should_keep_alive()
        self._forget_body()
        self._url = b""
        self._head_bytes = 0
        is_prompt, self._is_prompt = self._is_prompt, False
        self.is_receiving = False
        if self._raw_headers or self._gathered:
            # Trailers of this request must not become headers of the next one.
            self._raw_headers.clear()
            self._gathered.clear()
        state, operation = self._state, find_target(method, url, headers)
        is_busy = self._is_answering or self._is_stalled or self._is_closing or self._backlog
        needs_thread = False
        # Whether it is a read with nothing to queue: the fast path.
        is_direct = not (
            operation not in INLINE_READS
            or is_busy
            or not keeps_alive
            or len(body) >= LEAST_REQUEST_BYTES
            or b"origin" in headers
            or not state.reads_inline
            or (not is_prompt and self._is_turn_over())
        )
        if is_direct and state.is_checked and not self._repeated:
            assert operation is not None  # it is one of INLINE_READS
            started = state.monotonic()
            answered = state.read_checked(operation, headers, body, is_prompt=is_prompt)
            if answered is not None:
                outcome, consumed = answered
                self._write_response(outcome, headers)
                if state.metrics is not None:
                    seconds = state.monotonic() - started
                    state.metrics.note_read(operation, seconds, consumed)
                return
        if not match_authorization(headers.get(b"authorization", b"")):
            operation, is_direct = None, False
        if is_direct and state.is_plain:
            assert operation is not None  # as above
            outcome = state.scheduler.read_now(operation, body)
            if isinstance(outcome, bytes):
                self._write_response(outcome, headers)
                return
            needs_thread = outcome is not None
        request = HttpRequest(method, url, headers, body, keeps_alive, operation, self._repeated)
        if is_direct and operation is not None:
            call = WireCall(operation, body, AMZ_JSON)
            call.runs_aside = needs_thread
            self._read(request, call)
        else:
            self._backlog.append(request)
            self._pump()

    # Answering.

    def _write_response(self, body: bytes, headers: Headers) -> None:
        writer = self._state.writer
        if len(body) > LEAST_BYTES and b"accept-encoding" in headers:
            answer = finish_answer(Answer(200, body), headers)
            self._transport.write(writer.write(answer, keeps_alive=True))
        else:
            self._transport.write(writer.write_response(body))

    def _read(self, request: HttpRequest, call: WireCall) -> None:
        """Answer a read that is to be checked or recorded, or that failed on the fast path."""
        state = self._state
        started = self._started = state.monotonic()
        answer = state.admit_call(request, call)
        outcome = None
        if answer is None and not call.runs_aside:
            outcome = state.scheduler.read_inline(call)
        if answer is None and (call.runs_aside or isinstance(outcome, NeedsThread)):
            # It may read many items, so it does not run on the event loop.
            call.runs_aside = True
            self._request, self._is_answering = request, True
            self._run(PreparedRequest(call, None))
            return
        if not isinstance(outcome, bytes):
            self._request, self._call, self._is_answering = request, call, True
            if answer is not None:
                self._answer(answer)
            elif outcome is not None:
                self._finish(outcome)
            return
        answer = finish_answer(Answer(200, outcome), request.headers)
        self._transport.write(state.writer.write(answer, keeps_alive=True))
        if state.metrics is not None and call.consumed is not None:
            state.metrics.note_capacity(call.operation, call.consumed)
        if state.is_watched:
            state.note(self.peer, call.operation, request, answer, state.monotonic() - started)
        self.active_at = state.now

    def _pump(self) -> None:
        """Start the queued requests, until one is not answered at once."""
        if self._is_pumping:
            return
        self._is_pumping = True
        while self._backlog and not self._is_answering and not self._is_stalled:
            if self._is_turn_over():
                self._is_answering = True
                self._state.scheduler.run_next_turn(self._begin_turn)
                break
            self._is_answering = True
            self._begin(self._backlog.popleft())
        self._is_pumping = False
        if self._is_paused and len(self._backlog) <= self._state.limits.pipelined // 2:
            self._is_paused = False
            self._transport.resume_reading()

    def _is_turn_over(self) -> bool:
        """Return whether this connection has used up its time in this iteration of the loop."""
        now = self._state.monotonic()
        if self._turn_ends == 0.0:
            self._turn_ends = now + _TURN_SECONDS
        return now >= self._turn_ends

    def _begin_turn(self) -> None:
        self._turn_ends = 0.0
        self._is_answering = False
        self._pump()

    def _begin(self, request: HttpRequest) -> None:
        state = self._state
        self._request = request
        if state.is_watched:
            self._started = state.monotonic()
        if len(request.body) < LARGE_BODY_BYTES and b"content-encoding" not in request.headers:
            self._run(state.prepare(request))
        elif not state.scheduler.run_in_thread(lambda: state.prepare(request), self._run, self):
            self._call = None
            self._answer(answer_unavailable(_TOO_MANY))

    def _run(self, prepared: PreparedRequest) -> None:
        call = self._call = prepared.call
        if prepared.answer is not None:
            self._answer(prepared.answer)
        elif call is not None and not self._state.scheduler.run(call, self._finish, self):
            self._answer(answer_unavailable(_TOO_MANY))

    def _finish(self, outcome: Outcome) -> None:
        call, request = self._call, self._request
        assert call is not None and request is not None  # noqa: PT018 - set by `_begin`
        if isinstance(outcome, bytes):
            if self._state.metrics is not None and call.consumed is not None:
                self._state.metrics.note_capacity(call.operation, call.consumed)
            self._answer(answer_call(call, outcome, request.headers))
        else:
            self._answer(answer_exception(call.operation, outcome, call.content_type))

    def _answer(self, answer: Answer) -> None:
        request = self._request
        assert request is not None  # it is being answered
        headers = request.headers
        if len(answer.body) < LARGE_BODY_BYTES:
            self._send(finish_answer(answer, headers))
        else:
            self._state.scheduler.finish_in_thread(
                lambda: finish_large_answer(answer, headers), self._send, self
            )

    def _send(self, answer: Answer) -> None:
        state, request = self._state, self._request
        assert request is not None  # it is being answered
        answer = offer_compression(answer, request)
        keeps_alive = request.keeps_alive and not state.is_stopping
        if not self._transport.is_closing():
            has_body = request.method != b"HEAD"
            self._transport.write(
                state.writer.write(answer, keeps_alive=keeps_alive, has_body=has_body)
            )
        if state.is_watched:
            operation = "" if self._call is None else self._call.operation
            state.note(self.peer, operation, request, answer, state.monotonic() - self._started)
        self.active_at = state.now
        self._is_answering = False
        self._request = None
        if not keeps_alive:
            self._discarded = 0
            self._backlog.clear()
            self._transport.close()
        elif self._backlog:
            self._pump()
        elif self._refusal is not None:
            self._send_refusal(self._refusal)
        elif self._is_closing:
            self._transport.close()

    def _refuse(self, answer: Answer) -> None:
        """Refuse malformed or excessive input: send an answer, and process no more requests."""
        self._discarded = 0
        self._is_closing = True
        self._forget_body()
        if self._is_answering or self._backlog:
            self._refusal = answer
        else:
            self._send_refusal(answer)

    def _send_refusal(self, answer: Answer) -> None:
        if self._transport.is_closing():
            return
        has_body = self._parser.get_method() != b"HEAD"
        self._transport.write(
            self._state.writer.write(answer, keeps_alive=False, has_body=has_body)
        )
        if self._transport.can_write_eof():
            # Keep receiving for a while: a client that is cut off while sending may not read
            # the answer.
            self._transport.write_eof()
            self.is_receiving, self.received_since = True, self._state.now
        else:
            self._transport.close()

    def _forget_body(self) -> None:
        self._state.buffered_bytes -= self._body_bytes
        self._body_bytes = 0
        self._body = []

    # Called by the server's state.

    def sweep(self, now: float) -> None:
        """Close the connection if its client has exceeded a timeout."""
        limits = self._state.limits
        if self._is_stalled:
            if now - self.stalled_since > limits.send_seconds:
                self._transport.abort()
        elif self._is_answering:
            return
        elif self.is_receiving:
            if now - self.received_since > limits.receive_seconds:
                if self._discarded is None:
                    self._refuse(answer_plain(408, "Request took too long to arrive"))
                self._transport.close()
        elif now - self.active_at > limits.idle_seconds:
            self._transport.close()

    def stop(self) -> None:
        """Close the connection once its complete requests are answered."""
        self._is_closing = True
        if not self._is_answering and not self._backlog:
            self._transport.close()

    def abort(self) -> None:
        """Close the connection now."""
        self._transport.abort()
