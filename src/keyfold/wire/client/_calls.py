"""What becomes of a call, without making any: its requests, and what follows from each try.

Both clients send what `begin` and `render` return, and hand over what came of it. A call that
failed is made again, or given up, by rules that never repeat what might have been carried out
already and would then be done twice.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn

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
from keyfold.wire.client._bodies import (
    LEAST_GZIP_BYTES,
    Garbled,
    compress,
    decode_answer,
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
from keyfold.wire.client._repeating import carries_token, is_read, is_repeatable, says_too_little
from keyfold.wire.client._responses import Response
from keyfold.wire.client._retries import Retries, RetryBudget
from keyfold.wire.client._signing import Credentials, Signer

_STREAMS = {"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}
# A clock that is off by less is not what a signature was refused for.
_LEAST_SKEW_SECONDS = 60.0


# Of a try that is made again: what came of it, and for how many seconds is paused.
OnRetry = Callable[[KeyfoldError, float], None]


class NoResponse(Exception):
    """No answer came of a try; `may_have_arrived` tells whether the service may have got it.

    `is_nowhere` tells that there is nobody to get it.
    """

    def __init__(
        self,
        detail: str,
        *,
        may_have_arrived: bool,
        is_timeout: bool = False,
        is_nowhere: bool = False,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.may_have_arrived = may_have_arrived
        self.is_timeout, self.is_nowhere = is_timeout, is_nowhere


class ClientCall:
    """One call of an operation, and what is known of its tries."""

    __slots__ = (
        "body",
        "credentials",
        "deadline",
        "detail",
        "doubt",
        "encoding",
        "error",
        "has_mended_clock",
        "has_renewed",
        "operation",
        "request",
        "taken",
        "target",
        "tries",
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
        self.tries = 0
        # Of the budget, by the last retry.
        self.taken = 0
        # Why a try of it may have been carried out, for all that is known.
        self.doubt: str | None = None
        # Why the last try is made again: what was answered, and what there is to say of it.
        self.error: ServiceError | None = None
        self.detail = ""
        self.credentials: Credentials | None = None
        self.has_mended_clock = self.has_renewed = False


class CallPolicy:
    """The rules by which a client makes calls to one endpoint."""

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
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        jitter: Callable[[], float],
    ) -> None:
        self.endpoint = endpoint
        self._signer, self._source = signer, source
        self._retries, self._budget = retries, budget
        self._total_seconds = total_seconds
        # None as long as the endpoint has not said that it takes requests so.
        self._sends_gzip = sends_gzip
        self._clock, self._monotonic, self._jitter = clock, monotonic, jitter
        # By how much the service's clock is ahead of ours.
        self._skew = 0.0

    def begin(self, operation: str, request: dict[str, Any]) -> ClientCall:
        """Return a call to be made; raises SerializationException, UnknownOperationException."""
        target = name_target(operation)
        if carries_token(operation) and "ClientRequestToken" not in request:
            request = {**request, "ClientRequestToken": str(uuid.uuid4())}
        body, encoding = encode_request(request), ""
        if self._sends_gzip and len(body) >= LEAST_GZIP_BYTES:
            body, encoding = compress(body), "gzip"
        deadline = self._monotonic() + self._total_seconds
        return ClientCall(operation, target, request, body, encoding, deadline)

    def find_credentials(self) -> Credentials | None:
        """Return what to sign with; None if `renew_credentials` has to be called."""
        return self._source.current(self._clock())

    def renew_credentials(self) -> Credentials:
        """Return what to sign with, which may take a while; raises CredentialsMissing."""
        return self._source.renew(self._clock())

    def render(self, call: ClientCall, credentials: Credentials) -> bytes:
        """Return the request to send next."""
        call.tries += 1
        call.credentials = credentials
        body = call.body
        now = self._clock() + self._skew
        return self._signer.write_head(call.target, call.encoding, body, now, credentials) + body

    def handle_response(self, call: ClientCall, response: Response) -> dict[str, Any] | float:
        """Return the answer that a response carries, or how long to wait before the next try.

        Raises what the call has come to.
        """
        if self._sends_gzip is None and b"accept-encoding" in response.headers:
            self._sends_gzip = accepts_gzip(response)
        try:
            if response.status != OK:
                return self._handle_error(call, response)
            answer = decode_answer(open_body(response))
        except Garbled as garbled:
            return self.handle_no_response(call, NoResponse(str(garbled), may_have_arrived=True))
        if call.taken or not self._budget.is_full:
            self._budget.give_back(call.taken)
        if call.doubt is not None and says_too_little(call.operation, call.request, answer):
            detail = f"{call.doubt}, so the old values may be those that an earlier try left"
            raise self._in_doubt(call, detail)
        return answer

    def handle_no_response(self, call: ClientCall, lost: NoResponse) -> float:
        """Return how long to wait before a lost try is made again; raises if it may not be."""
        call.error, call.detail = None, lost.detail
        if lost.may_have_arrived:
            self._doubt(call, lost.detail, None)
        if lost.is_nowhere and call.tries >= self._retries.connect_attempts:
            self._give_up(call, None, lost.detail)
        return self._pause(call, None, lost.detail, after_timeout=lost.is_timeout)

    def explain(self, call: ClientCall) -> KeyfoldError:
        """Return what came of a try that is made again."""
        if call.error is not None:
            return call.error
        if call.doubt is not None:
            return self._in_doubt(call, call.detail)
        return Unreachable(self.endpoint.url, call.operation, call.tries, call.detail.rstrip("."))

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
            self._doubt(call, f"the service failed ({error})", error)
            return self._pause(call, error, str(error))
        if kind in SKEWED and not call.has_mended_clock and self._mend_clock(response):
            call.has_mended_clock = True
            return 0.0
        if kind in EXPIRED and not call.has_renewed and call.credentials is not None:
            call.has_renewed = True
            self._source.forget(call.credentials)
            return 0.0
        if call.doubt is not None and not isinstance(error, TransactionCanceledException):
            # The token tells a transaction that was carried out from one that is cancelled now.
            raise self._in_doubt(call, call.doubt, error)
        raise error

    def _doubt(self, call: ClientCall, detail: str, error: ServiceError | None) -> None:
        """Note that a try may have been carried out; raise if another might do it twice."""
        if is_read(call.operation, call.request):
            return
        if call.doubt is None:
            call.doubt = detail
        if not is_repeatable(call.operation, call.request):
            raise self._in_doubt(call, call.doubt) from error

    def _pause(
        self,
        call: ClientCall,
        error: ServiceError | None,
        detail: str,
        *,
        after_timeout: bool = False,
    ) -> float:
        """Return how long to wait before the next try; raises if there is to be none."""
        if call.tries >= self._retries.attempts:
            self._give_up(call, error, detail)
        seconds = self._retries.pause_seconds(call.tries, self._jitter())
        if self._monotonic() + seconds >= call.deadline:
            self._give_up(call, error, detail)
        taken = self._budget.take(after_timeout=after_timeout)
        if not taken:
            self._give_up(call, error, f"{detail.rstrip('.')}, and the retry budget is used up")
        call.taken = taken
        return seconds

    def _give_up(self, call: ClientCall, error: ServiceError | None, detail: str) -> NoReturn:
        if call.doubt is not None:
            raise self._in_doubt(call, call.doubt, error)
        if error is not None:
            raise Unavailable(call.operation, call.tries, detail.rstrip(".")) from error
        raise Unreachable(self.endpoint.url, call.operation, call.tries, detail.rstrip("."))

    def _in_doubt(
        self, call: ClientCall, detail: str, error: ServiceError | None = None
    ) -> OutcomeUnknown:
        return outcome_unknown_error(self.endpoint.url, call.operation, call.tries, detail, error)

    def _mend_clock(self, response: Response) -> bool:
        """Go by the service's clock from now on; tell whether that changes much."""
        theirs = read_date(response)
        if theirs is None:
            return False
        skew = theirs - self._clock()
        if abs(skew - self._skew) < _LEAST_SKEW_SECONDS:
            return False
        self._skew = skew
        return True


def is_of_streams(operation: str) -> bool:
    """Tell whether an operation is one of DynamoDB Streams, which has endpoints of its own."""
    return operation in _STREAMS


@lru_cache(maxsize=256)
def name_target(operation: str) -> str:
    """Return what the target header says of an operation."""
    if not isinstance(operation, str) or not operation.isalnum() or not operation.isascii():  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
        # It would not even fit into a header.
        raise UnknownOperationException
    service = "DynamoDBStreams_20120810" if operation in _STREAMS else "DynamoDB_20120810"
    return f"{service}.{operation}"
