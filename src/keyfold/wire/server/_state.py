"""The state that all connections of a server share."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

import orjson

from keyfold.api.bodies import parse_body
from keyfold.clocks import Clock
from keyfold.errors import KeyfoldError, ServiceError
from keyfold.wire.server._access_log import AccessLog
from keyfold.wire.server._answers import Answer, ResponseWriter, answer_error
from keyfold.wire.server._browsers import BrowserRules
from keyfold.wire.server._capacity import ask_for_capacity
from keyfold.wire.server._encodings import BodyRefused
from keyfold.wire.server._failures import answer_exception
from keyfold.wire.server._gate import Gate
from keyfold.wire.server._limits import Limits
from keyfold.wire.server._memory import ServerMemory
from keyfold.wire.server._metrics import Metrics
from keyfold.wire.server._requests import (
    Headers,
    HttpRequest,
    WireCall,
    answer_refused_body,
    match_authorization,
    read_call,
)
from keyfold.wire.server._scheduler import Scheduler
from keyfold.wire.server._signatures import find_date_fault
from keyfold.wire.server._tokens import TOKENED, scope_token_to_principal


class ConnectedClient(Protocol):
    """A connection, as the server's state uses it."""

    def sweep(self, now: float) -> None:
        """Close the connection if its client has exceeded a timeout."""
        ...

    def stop(self) -> None:
        """Close the connection once its complete requests are answered."""
        ...

    def abort(self) -> None:
        """Close the connection now."""
        ...


class PreparedRequest(NamedTuple):
    """The call that a request makes, if it makes one, and the answer, if there is nothing to run."""

    call: WireCall | None
    answer: Answer | None


class ServerState:
    """The open connections, what they make the server hold, the time, and what answers them."""

    def __init__(
        self,
        scheduler: Scheduler,
        limits: Limits,
        *,
        metrics: Metrics | None,
        access_log: AccessLog | None,
        gate: Gate | None = None,
        browsers: BrowserRules | None = None,
        date_clock: Clock | None = None,
        monotonic: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.scheduler = scheduler
        self.limits = limits
        self.writer = ResponseWriter()
        self.monotonic = monotonic
        self.now = monotonic()
        self.memory = ServerMemory(limits, limits.connections)
        scheduler.memory = self.memory
        self.is_stopping = False
        self.is_watched = metrics is not None or access_log is not None
        self.gate = gate
        self.browsers = browsers or BrowserRules()
        # Dates of signatures are compared with it; None if they are not checked here.
        self._date_clock = date_clock
        if gate is not None:
            scheduler.on_view = gate.end_sharing
        # Whether reads run on the event loop: not if something else than an engine is served.
        self.reads_inline = scheduler.engine is not None
        # Whether reads may take a fast path, and whether that has neither to check nor count them.
        may_be_fast = access_log is None and date_clock is None
        self.is_plain = may_be_fast and metrics is None and gate is None
        self.is_checked = may_be_fast and not self.is_plain
        self.clients: set[ConnectedClient] = set()
        self.metrics = metrics
        self._access_log = access_log
        # Called when the last connection has closed; set while the server stops.
        self.on_empty: Callable[[], None] | None = None
        self.writer.tick()

    def admit_client(self, client: ConnectedClient) -> None:
        """Register a new connection."""
        self.clients.add(client)
        if self.is_stopping:
            client.stop()

    def dismiss(self, client: ConnectedClient) -> None:
        """Unregister a closed connection."""
        self.clients.discard(client)
        if not self.clients and self.on_empty is not None:
            self.on_empty()

    def sweep(self) -> None:
        """Update the time, and close the connections whose clients have exceeded a timeout."""
        self.now = self.monotonic()
        self.writer.tick()
        for client in list(self.clients):
            client.sweep(self.now)
        if self.gate is not None:
            self.gate.check_files()
        engine = self.scheduler.engine
        if engine is not None:
            # Writes check the file; a server that is only read must notice as well. The engine
            # logs it, and refuses everything from then on.
            with suppress(KeyfoldError):
                engine.check_file()

    def stop(self) -> None:
        """Close every connection once its complete requests are answered."""
        self.is_stopping = True
        for client in list(self.clients):
            client.stop()

    def _answer_builtin(self, request: HttpRequest) -> Answer | None:
        """Return the answer to a request for one of the server's own pages; None for others."""
        if self.metrics is None or request.url != b"/metrics" or request.method != b"GET":
            return None
        return self.metrics.answer()

    def prepare(self, request: HttpRequest) -> PreparedRequest:
        """Read a request, authorize it and parse it; it may run in a thread."""
        try:
            if request.received is not None:
                request = request.join_body()
            call = read_call(request, self.limits.body_bytes, is_gated=self.gate is not None)
        except Exception as error:  # noqa: BLE001 - the server keeps running, and refuses the call
            return PreparedRequest(None, answer_exception("a request", error))
        if isinstance(call, Answer):
            return PreparedRequest(None, self._answer_builtin(request) or call)
        return PreparedRequest(call, self.admit_call(request, call))

    def admit_call(self, request: HttpRequest, call: WireCall) -> Answer | None:
        """Authorize a call and parse it; return the answer if it is not to be carried out."""
        try:
            if self._date_clock is not None:
                refusal = find_date_fault(request, self._date_clock())
                if refusal is not None:
                    return answer_error(refusal, call.content_type)
            if self.gate is not None:
                refusal = self.gate.find_refusal(request, call)
                if refusal is not None:
                    return answer_error(refusal, call.content_type)
                if call.operation in TOKENED:
                    scope_token_to_principal(call, self.gate.find_principal(request))
            if self.metrics is not None:
                call.hides_capacity = ask_for_capacity(call.operation, call.request)
            _ = call.request
        except ServiceError as error:
            return answer_error(error, call.content_type)
        except BodyRefused as refusal:
            return answer_refused_body(refusal)
        except Exception as error:  # noqa: BLE001 - the server keeps running, and refuses the call
            return answer_exception(call.operation, error)
        return None

    def read_checked(
        self, operation: str, headers: Headers, body: bytes, *, is_prompt: bool
    ) -> tuple[bytes, Any] | None:
        """Return the response to one of INLINE_READS that is certainly allowed; None for others.

        With it comes its ConsumedCapacity, if it was asked for, by the caller or for the metrics.

        The request has the form that `find_target` recognises, without repeated headers.
        The reads of a loop iteration share one check of the files of keys and policies, as they
        share a view. `is_prompt` says that the request is the first in the data that its
        connection received in this iteration, so that it was being sent before the iteration
        began; a pipelined one may have been sent later, so the files are checked for it.
        """
        scheduler, gate = self.scheduler, self.gate
        engine = scheduler.engine
        assert engine is not None  # only its reads are inline
        try:
            is_shared = scheduler.begin_read(engine)
            if gate is None:
                if not match_authorization(headers.get(b"authorization", b"")):
                    return None
                request = parse_body(body)
            else:
                authorizer = gate.find_authorizer(headers, body, is_shared=is_shared and is_prompt)
                if authorizer is None:
                    return None
                request = parse_body(body)
                if not authorizer.allows_everything and not authorizer.admits(operation, request):
                    return None
            is_hidden = self.metrics is not None and ask_for_capacity(operation, request)
            response = engine.read_inline(operation, request)
            take = response.pop if is_hidden else response.get
            consumed = take("ConsumedCapacity", None)
            return orjson.dumps(response), consumed
        except Exception:  # noqa: BLE001 - the ordinary path will meet and report the error again
            return None

    def note(
        self, peer: str, operation: str, request: HttpRequest, answer: Answer, seconds: float
    ) -> None:
        """Record an answer in the metrics and the access log."""
        if self.metrics is not None:
            self.metrics.note(operation, seconds, answer.error)
        if self._access_log is not None:
            self._access_log.note(peer, operation, request, answer, seconds, self.writer.last_id)
