"""The policy of calls: the requests to send, and what to do after each attempt. No I/O.

Both clients send what `begin` and `render` return, and pass the response, or its absence, to
`handle_response` or `handle_no_response`. A failed call is retried or given up; a write that may
have been carried out already is never repeated if that could apply it twice.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn

from keyfold.api import find_operation
from keyfold.clocks import Clock
from keyfold.errors import (
    KeyfoldError,
    OutcomeUnknown,
    ServiceError,
    TransactionCanceledException,
    TransactionInProgressException,
    Unavailable,
    UnknownOperationException,
    Unreachable,
)
from keyfold.wire._compression import find_most_decoded
from keyfold.wire.client._bodies import (
    LEAST_GZIP_BYTES,
    ResponseGarbled,
    compress,
    decode_response,
    encode_request,
)
from keyfold.wire.client._credentials import CredentialSource
from keyfold.wire.client._endpoints import Endpoint
from keyfold.wire.client._faults import (
    EXPIRED,
    OK,
    SKEWED,
    THROTTLED,
    accepts_gzip,
    is_failure,
    is_undone,
    open_body,
    outcome_unknown_error,
    read_date,
    read_error,
)
from keyfold.wire.client._repeating import hides_earlier_attempt, is_read, is_repeatable
from keyfold.wire.client._responses import Response
from keyfold.wire.client._retries import Retries, RetryBudget
from keyfold.wire.client._signing import Credentials, Signer

# A smaller clock skew is not the reason for a refused signature.
_LEAST_SKEW_SECONDS = 60.0

# Called before a retry, with the error of the failed attempt and the seconds until the next one.
OnRetry = Callable[[KeyfoldError, float], None]


class NoResponse(Exception):
    """An attempt got no usable response.

    `may_have_arrived` is True if the service may have received the request; `is_unreachable` if
    the host does not exist or refuses connections.
    """

    def __init__(
        self,
        detail: str,
        *,
        may_have_arrived: bool,
        is_timeout: bool = False,
        is_unreachable: bool = False,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.may_have_arrived = may_have_arrived
        self.is_timeout, self.is_unreachable = is_timeout, is_unreachable


class ClientCall:
    """One call of an operation, and the state of its attempts."""

    __slots__ = (
        "attempts",
        "body",
        "credentials",
        "deadline",
        "detail",
        "doubt_reason",
        "encoding",
        "error",
        "has_fixed_clock",
        "has_renewed",
        "operation",
        "request",
        "retry_cost",
        "target",
    )

    def __init__(
        self,
        operation: str,
        target: str,
        request: dict[str, Any],
        body: bytes,
        encoding: str,
        deadline: float,
    ) -> None:
        self.operation, self.target = operation, target
        self.request, self.body, self.encoding = request, body, encoding
        self.deadline = deadline
        self.attempts = 0
        # What the last retry took from the retry budget.
        self.retry_cost = 0
        # Why an attempt may have been carried out; None if none can have been.
        self.doubt_reason: str | None = None
        # Why the last attempt is retried: the service's error, if there is one, and a description.
        self.error: ServiceError | None = None
        self.detail = ""
        self.credentials: Credentials | None = None
        self.has_fixed_clock = self.has_renewed = False


class CallPolicy:
    """Signs calls to one endpoint, and decides on retries and errors."""

    def __init__(
        self,
        endpoint: Endpoint,
        signer: Signer,
        source: CredentialSource,
        *,
        retries: Retries,
        budget: RetryBudget,
        total_seconds: float,
        sends_gzip: bool | None,
        clock: Clock,
        monotonic: Callable[[], float],
        jitter: Callable[[], float],
    ) -> None:
        self.endpoint = endpoint
        self._signer, self._source = signer, source
        self._retries, self._budget = retries, budget
        self._total_seconds = total_seconds
        # None until the endpoint has announced whether it accepts compressed requests.
        self._sends_gzip = sends_gzip
        self._clock, self._monotonic, self._jitter = clock, monotonic, jitter
        # Seconds by which the service's clock is ahead of ours.
        self._skew = 0.0

    def begin(self, operation: str, request: dict[str, Any]) -> ClientCall:
        """Return a new call; raises SerializationException, UnknownOperationException."""
        target = name_target(operation)
        if find_operation(operation).takes_token and "ClientRequestToken" not in request:
            request = {**request, "ClientRequestToken": str(uuid.uuid4())}
        body, encoding = encode_request(request), ""
        if self._sends_gzip and len(body) >= LEAST_GZIP_BYTES:
            compressed = compress(body)
            if len(body) <= find_most_decoded(len(compressed)):
                body, encoding = compressed, "gzip"
        deadline = self._monotonic() + self._total_seconds
        return ClientCall(operation, target, request, body, encoding, deadline)

    def find_credentials(self) -> Credentials | None:
        """Return the current credentials; None if `renew_credentials` has to be called."""
        return self._source.current(self._clock())

    def renew_credentials(self) -> Credentials:
        """Load credentials and return them, which may block; raises CredentialsMissing."""
        return self._source.renew(self._clock())

    def render(self, call: ClientCall, credentials: Credentials) -> bytes:
        """Begin another attempt: return the signed HTTP request to send."""
        call.attempts += 1
        call.credentials = credentials
        body = call.body
        now = self._clock() + self._skew
        return self._signer.write_head(call.target, call.encoding, body, now, credentials) + body

    def handle_response(self, call: ClientCall, response: Response) -> dict[str, Any] | float:
        """Return the decoded response, or the seconds to wait before the next attempt.

        Raises the error of a call that is not retried.
        """
        if self._sends_gzip is None and b"accept-encoding" in response.headers:
            self._sends_gzip = accepts_gzip(response)
        try:
            if response.status != OK:
                return self._handle_error(call, response)
            decoded = decode_response(open_body(response))
        except ResponseGarbled as error:
            return self.handle_no_response(call, NoResponse(str(error), may_have_arrived=True))
        if call.retry_cost or not self._budget.is_full:
            self._budget.refund(call.retry_cost)
        if call.doubt_reason is not None and hides_earlier_attempt(
            call.operation, call.request, decoded
        ):
            detail = f"{call.doubt_reason}, so an earlier attempt may have written the old values"
            raise self._outcome_unknown(call, detail)
        return decoded

    def handle_no_response(self, call: ClientCall, failure: NoResponse) -> float:
        """Return the seconds to wait before a retry; raises if the call must not be retried."""
        call.error, call.detail = None, failure.detail
        if failure.may_have_arrived:
            self._mark_in_doubt(call, failure.detail, None)
        if failure.is_unreachable and call.attempts >= self._retries.connect_attempts:
            self._give_up(call, None, failure.detail)
        return self._pause(call, None, failure.detail, after_timeout=failure.is_timeout)

    def last_error(self, call: ClientCall) -> KeyfoldError:
        """Return the error of the last attempt, for a call that is being retried."""
        if call.error is not None:
            return call.error
        if call.doubt_reason is not None:
            return self._outcome_unknown(call, call.detail)
        return Unreachable(
            self.endpoint.url, call.operation, call.attempts, call.detail.rstrip(".")
        )

    def report_retry(
        self, call: ClientCall, pause_seconds: float, on_retry: OnRetry | None
    ) -> None:
        """Log that a call is retried after a pause, and report it to `on_retry`."""
        # Imported here: it is slow to load, and few calls are retried.
        import logging  # noqa: PLC0415

        reason = call.detail if call.error is None else call.error.type
        logging.getLogger("keyfold.client").info(
            "%s to %s: attempt %d failed (%s); retrying in %.2f s",
            call.operation,
            self.endpoint.url,
            call.attempts,
            reason,
            pause_seconds,
        )
        if on_retry is not None:
            on_retry(self.last_error(call), pause_seconds)

    def _handle_error(self, call: ClientCall, response: Response) -> float:
        error = call.error = read_error(response, self.endpoint.url)
        kind = error.type
        if (
            kind in THROTTLED
            or is_undone(response)
            or isinstance(error, TransactionInProgressException)
        ):
            return self._pause(call, error, str(error))
        if is_failure(response):
            self._mark_in_doubt(call, f"the service failed ({error})", error)
            return self._pause(call, error, str(error))
        if kind in SKEWED and not call.has_fixed_clock and self._fix_clock(response):
            call.has_fixed_clock = True
            return 0.0
        if kind in EXPIRED and not call.has_renewed and call.credentials is not None:
            call.has_renewed = True
            self._source.forget(call.credentials)
            return 0.0
        if call.doubt_reason is not None and not isinstance(error, TransactionCanceledException):
            # A cancelled transaction was not carried out before: the service would have
            # recognised its token.
            raise self._outcome_unknown(call, call.doubt_reason, error)
        raise error

    def _mark_in_doubt(self, call: ClientCall, detail: str, error: ServiceError | None) -> None:
        """Record that an attempt may have been carried out; raise if a retry might repeat it."""
        if is_read(call.operation, call.request):
            return
        if call.doubt_reason is None:
            call.doubt_reason = detail
        if not is_repeatable(call.operation, call.request):
            raise self._outcome_unknown(call, call.doubt_reason) from error

    def _pause(
        self,
        call: ClientCall,
        error: ServiceError | None,
        detail: str,
        *,
        after_timeout: bool = False,
    ) -> float:
        """Return the seconds to wait before the next attempt; raises if no retry is left."""
        if call.attempts >= self._retries.attempts:
            self._give_up(call, error, detail)
        seconds = self._retries.pause_seconds(call.attempts, self._jitter())
        if self._monotonic() + seconds >= call.deadline:
            self._give_up(call, error, detail)
        retry_cost = self._budget.take(after_timeout=after_timeout)
        if not retry_cost:
            self._give_up(call, error, f"{detail.rstrip('.')}, and the retry budget is used up")
        call.retry_cost = retry_cost
        return seconds

    def _give_up(self, call: ClientCall, error: ServiceError | None, detail: str) -> NoReturn:
        if call.doubt_reason is not None:
            raise self._outcome_unknown(call, call.doubt_reason, error)
        if error is not None:
            raise Unavailable(call.operation, call.attempts, detail.rstrip(".")) from error
        raise Unreachable(self.endpoint.url, call.operation, call.attempts, detail.rstrip("."))

    def _outcome_unknown(
        self, call: ClientCall, detail: str, error: ServiceError | None = None
    ) -> OutcomeUnknown:
        return outcome_unknown_error(
            self.endpoint.url, call.operation, call.attempts, detail, error
        )

    def _fix_clock(self, response: Response) -> bool:
        """Adopt the service's clock; return whether that changes the signing time much."""
        service_time = read_date(response)
        if service_time is None:
            return False
        skew = service_time - self._clock()
        if abs(skew - self._skew) < _LEAST_SKEW_SECONDS:
            return False
        self._skew = skew
        return True


@lru_cache(maxsize=256)
def name_target(operation: str) -> str:
    """Return the X-Amz-Target header of an operation; raises UnknownOperationException."""
    if not isinstance(operation, str) or not operation.isalnum() or not operation.isascii():  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
        # Such a name must not end up in a header.
        raise UnknownOperationException
    return find_operation(operation).target
