"""A client's connection: parses requests from bytes, and writes answers in their order."""

from __future__ import annotations

import asyncio
from typing import cast

from keyfold.engine import NeedsThread
from keyfold.wire._compression import find_most_decoded
from keyfold.wire.server._answers import (
    AMZ_JSON,
    Answer,
    answer_plain,
    answer_unavailable,
)
from keyfold.wire.server._encodings import LEAST_BYTES, LEAST_REQUEST_BYTES
from keyfold.wire.server._failures import answer_exception, forget_frames
from keyfold.wire.server._input import NO_ROOM, RequestInput, StopParsing, find_waiting_bytes
from keyfold.wire.server._memory import WORK_FACTOR
from keyfold.wire.server._output import ConnectionOutput
from keyfold.wire.server._requests import (
    LARGE_BODY_BYTES,
    Headers,
    HttpRequest,
    LargeCall,
    WireCall,
    answer_call,
    find_access_key,
    find_target,
    finish_answer,
    finish_large_answer,
    match_authorization,
    offer_compression,
)
from keyfold.wire.server._scheduler import INLINE_READS, Outcome
from keyfold.wire.server._state import PreparedRequest, ServerState

# A read that took a thread as long as this was certainly more than an event loop may do.
_LONG_READ_SECONDS = 0.01
_TOO_MANY = "Too many requests are waiting"


class ServerConnection(RequestInput):
    """Answers the requests of a client one after another."""

    __slots__ = (
        "_call",
        "_held_answer_bytes",
        "_is_answering",
        "_is_closing",
        "_is_last",
        "_is_pumping",
        "_output",
        "_reads_long",
        "_refusal",
        "_request",
        "_started",
        "_work_bytes",
        "is_gone",
        "peer",
        "spent_seconds",
    )

    def __init__(self, state: ServerState) -> None:
        super().__init__(state)
        self._output = ConnectionOutput(self._memory)
        # The request and call being answered; and the refusal to send after that, if there is one.
        self._request: HttpRequest | None = None
        self._call: WireCall | None = None
        self._refusal: Answer | None = None
        self._started = 0.0
        self._is_answering = self._is_pumping = self._is_closing = False
        # Whether no request follows the one that was answered.
        self._is_last = False
        # Whether the last of its requests was a read for a thread.
        self._reads_long = False
        # How much is counted for the answer, and for the request that is being carried out.
        self._held_answer_bytes = self._work_bytes = 0
        self.peer = ""
        self.is_gone = False
        # The time that threads have lately spent on its requests.
        self.spent_seconds = 0.0

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._output.connect(self._transport)
        peer = transport.get_extra_info("peername")
        self.peer = f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else ""
        self._state.admit_client(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._is_closing = self.is_gone = True
        self._forget_body()
        self._backlog.clear()
        self._unparsed = memoryview(b"")
        self._output.forget()
        self._memory.close()
        self._state.memory.cancel_work(self)
        self._state.dismiss(self)

    def eof_received(self) -> bool:
        # A client may close its half after sending its requests; complete ones are answered.
        self._is_closing = True
        return (self._has_work() or bool(self._unparsed)) and self._transport.can_write_eof()

    def pause_writing(self) -> None:
        self._output.pause(self._state.now)

    def resume_writing(self) -> None:
        self._output.resume()
        if not self._output.is_stalled:
            self._go_on()

    # Called for what was received.

    def _has_work(self) -> bool:
        return self._is_answering or bool(self._backlog) or self._output.is_stalled

    def on_message_complete(self) -> None:
        parser, body = self._parser, self._body
        received = None
        if not isinstance(body, bytes):
            if len(body) < LARGE_BODY_BYTES:
                body = body.take()
            else:
                received, body = body, b""
        method, url, headers = parser.get_method(), self._url, self._headers
        keeps_alive = parser.should_keep_alive()
        self._forget_body()
        self._url = b""
        self._head_bytes = self._trailer_bytes = 0
        is_prompt, self._is_prompt = self._is_prompt, False
        self.is_receiving = False
        if self._raw_headers or self._gathered:
            # Trailers of this request must not become headers of the next one.
            self._raw_headers.clear()
            self._gathered.clear()
        state, operation = self._state, find_target(method, url, headers)
        is_busy = self._is_answering or self._output.is_stalled or self._is_closing or self._backlog
        needs_thread = False
        # Whether it is a read with nothing to queue: the fast path.
        is_direct = not (
            operation not in INLINE_READS
            or is_busy
            or not keeps_alive
            or len(body) >= LEAST_REQUEST_BYTES
            or received is not None
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
        request = HttpRequest(
            method, url, headers, body, keeps_alive, operation, self._repeated, received
        )
        if is_direct and operation is not None:
            call = WireCall(operation, body, AMZ_JSON)
            call.runs_aside = needs_thread
            self._read(request, call)
        elif is_busy or self._is_turn_over():
            if not self._memory.hold(find_waiting_bytes(request)):
                raise StopParsing(answer_unavailable(NO_ROOM))
            self._backlog.append(request)
            self._pump()
        else:
            self._is_answering = True
            self._begin(request)

    # Answering.

    def _write_response(self, body: bytes, headers: Headers) -> None:
        writer = self._state.writer
        if len(body) > LEAST_BYTES:
            answer = finish_answer(Answer(200, body), headers)
            self._output.write(writer.write(answer, keeps_alive=True), self._state.now)
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
        self._output.write(state.writer.write(answer, keeps_alive=True), state.now)
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
        while self._backlog and not self._is_answering and not self._output.is_stalled:
            self._is_answering = True
            if self._is_turn_over():
                self._state.scheduler.run_next_turn(self._begin_turn)
                break
            request = self._backlog.popleft()
            self._memory.release(find_waiting_bytes(request))
            self._begin(request)
        self._is_pumping = False
        self._read_on()

    def _begin_turn(self) -> None:
        self._turn_ends = 0.0
        self._is_answering = False
        self._pump()

    def _begin(self, request: HttpRequest) -> None:
        state = self._state
        self._request = request
        if state.is_watched:
            self._started = state.monotonic()
        if (
            len(request.body) >= LEAST_REQUEST_BYTES
            or request.received is not None
            or b"content-encoding" in request.headers
        ):
            self._begin_large(request)
        else:
            self._run(state.prepare(request))

    def _begin_large(self, request: HttpRequest) -> None:
        """Begin a request when there is room for what it becomes when it is decoded and parsed."""
        memory = self._state.memory
        size = request.body_bytes
        is_small = size < LARGE_BODY_BYTES
        if b"content-encoding" in request.headers:
            size = min(find_most_decoded(size), self._state.limits.body_bytes)
            is_small = False
        size *= WORK_FACTOR
        waiting_bytes = 0

        def begin() -> None:
            self._memory.release(waiting_bytes)
            self._work_bytes = size
            if is_small:
                self._run(self._state.prepare(request))
            else:
                self._prepare_in_thread(request)

        if not memory.begin_work(self, size, begin):
            waiting_bytes = find_waiting_bytes(request)
            self._memory.hold_anyway(waiting_bytes)

    def _prepare_in_thread(self, request: HttpRequest) -> None:
        state = self._state
        if not state.scheduler.run_in_thread(lambda: state.prepare(request), self._run, self):
            self._call = None
            self._answer(answer_unavailable(_TOO_MANY))

    def _run(self, prepared: PreparedRequest) -> None:
        call = self._call = prepared.call
        if prepared.answer is not None:
            self._answer(prepared.answer)
        elif call is not None:
            # A read that follows a long one is not tried on the event loop first.
            call.runs_aside = call.runs_aside or self._reads_long
            if not self._state.scheduler.run(call, self._finish, self):
                self._reads_long = call.runs_aside
                self._answer(answer_unavailable(_TOO_MANY))

    def _finish(self, outcome: Outcome) -> None:
        call, request = self._call, self._request
        assert call is not None and request is not None  # noqa: PT018 - set by `_begin`
        if isinstance(outcome, bytes):
            self._reads_long = call.runs_aside and (
                len(outcome) >= LARGE_BODY_BYTES or self.spent_seconds >= _LONG_READ_SECONDS
            )
            if self._state.metrics is not None and call.consumed is not None:
                self._state.metrics.note_capacity(call.operation, call.consumed)
            self._answer(answer_call(call, outcome, request.headers))
        else:
            answer = answer_exception(call.operation, outcome, call.content_type)
            forget_frames(outcome)
            self._answer(answer)

    def _answer(self, answer: Answer) -> None:
        request = self._request
        assert request is not None  # it is being answered
        headers = request.headers
        if len(answer.body) < LARGE_BODY_BYTES:
            self._send(finish_answer(answer, headers))
        else:
            self._held_answer_bytes = len(answer.body)
            self._memory.hold_anyway(self._held_answer_bytes)
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
            if len(answer.body) < LARGE_BODY_BYTES or not has_body:
                data = state.writer.write(answer, keeps_alive=keeps_alive, has_body=has_body)
                self._output.write(data, state.now)
            else:
                data = state.writer.write(answer, keeps_alive=keeps_alive, has_body=False)
                self._output.write(data, state.now, answer.body)
        if state.is_watched:
            operation = "" if self._call is None else self._call.operation
            state.note(self.peer, operation, request, answer, state.monotonic() - self._started)
        self.active_at = state.now
        self._is_answering = False
        if self._work_bytes or self._held_answer_bytes:
            self._release_work(self._call)
        # An idle connection keeps nothing of its last request.
        self._request = self._call = None
        if not keeps_alive:
            self._discarded = 0
            self._backlog.clear()
            self._is_last = True
        self._go_on()

    def _release_work(self, call: WireCall | None) -> None:
        scheduler, memory = self._state.scheduler, self._state.memory
        self._memory.release(self._held_answer_bytes)
        work_bytes = self._work_bytes
        self._held_answer_bytes = self._work_bytes = 0
        if isinstance(call, LargeCall):
            # In a later turn: until then, those who called this refer to the call's error.
            scheduler.run_next_turn(
                lambda: scheduler.finish_in_thread(
                    call.free, lambda _: memory.end_work(work_bytes), self
                )
            )
        elif work_bytes:
            memory.end_work(work_bytes)

    def _go_on(self) -> None:
        """Do what follows an answer: begin the next request, send a refusal, read on, or close."""
        if self._is_answering or self._output.has_unsent:
            return
        if self._is_last:
            self._transport.close()
        elif self._backlog:
            self._pump()
        elif self._refusal is not None:
            answer, self._refusal = self._refusal, None
            self._send_refusal(answer)
        elif self._discarded is None and self._is_closing and not self._unparsed:
            self._transport.close()
        elif self._is_paused:
            self._read_on()

    def _refuse(self, answer: Answer) -> None:
        """Refuse malformed or excessive input: send an answer, and process no more requests."""
        self._discarded = 0
        self._is_closing = True
        self._forget_body()
        self._take_unparsed()
        if self._is_answering or self._backlog or self._output.has_unsent:
            self._refusal = answer
        else:
            self._send_refusal(answer)

    def _send_refusal(self, answer: Answer) -> None:
        if self._transport.is_closing():
            return
        method = self._parser.get_method()
        self._transport.write(
            self._state.writer.write(answer, keeps_alive=False, has_body=method != b"HEAD")
        )
        if self._state.is_watched:
            request = HttpRequest(
                method, self._url, self._headers, b"", keeps_alive=False, operation=None
            )
            self._state.note(self.peer, "", request, answer, 0.0)
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        if self._transport.can_write_eof():
            # Keep receiving for a while: a client that is cut off while sending may not read
            # the answer.
            self._transport.write_eof()
            self.is_receiving, self.received_since = True, self._state.now
        else:
            self._transport.close()

    # Called by the scheduler.

    def find_owner(self, *, is_verified: bool) -> str:
        """Return the access key of the request, if it was verified; else the client's address."""
        access_key, gate, request = "", self._state.gate, self._request
        if is_verified and gate is not None and gate.verifies_keys and request is not None:
            access_key = find_access_key(request.headers)
        return f"key {access_key}" if access_key else self.peer.rpartition(":")[0]

    # Called by the server's state.

    def sweep(self, now: float) -> None:
        """Close the connection if its client has exceeded a timeout."""
        limits = self._state.limits
        if self._output.is_stalled:
            if now - self._output.stalled_since > limits.send_seconds:
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
        if not self._is_answering and not self._backlog and not self._output.has_unsent:
            self._transport.close()

    def abort(self) -> None:
        """Close the connection now."""
        self._transport.abort()
