"""Retries: which errors are transient, how long to pause, how many attempts, and the end of them.

Everything that retries calls of the API uses these rules: plans, unprocessed members of batches,
transfers and deployments. They make no calls and do not sleep. The clients of `keyfold.wire` have
rules of their own, for what only a transport knows: see `keyfold.wire.client._retries`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from keyfold.errors import KeyfoldError, ServiceError, TransactionCanceledException, Unavailable
from keyfold.store._call_records import log_retry, name_error

_MAX_ATTEMPTS = 8

_TRANSIENT = {
    "InternalServerError",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingException",
    "TransactionConflictException",
    "TransactionInProgressException",
}
_TRANSIENT_REASONS = {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}


class Pause(NamedTuple):
    """How long to wait before the next call."""

    seconds: float


class Backoff(NamedTuple):
    """Pauses that grow from the first to the longest by a factor.

    >>> backoff = Backoff(0.5, 2.0)
    >>> [backoff.pause(attempts).seconds for attempts in (1, 2, 3, 4)]
    [0.5, 1.0, 2.0, 2.0]
    """

    first_seconds: float
    longest_seconds: float
    factor: float = 2.0

    def pause(self, attempts: int, share: float = 1.0) -> Pause:
        """Return the pause after this many attempts, or a share of it."""
        # The exponent is capped, because the power of many attempts is too large for a float.
        grown = self.first_seconds * self.factor ** min(attempts - 1, 30)
        return Pause(share * min(self.longest_seconds, grown))


# For calls that failed, with full jitter; and for looking again at a table that is being changed.
BACKOFF = Backoff(0.05, 2.0)


class Attempts:
    """Counts the attempts of one call; `number` is that of the current one."""

    def __init__(
        self,
        operation: str,
        jitter: Callable[[], float],
        number: int = 1,
        *,
        request: Mapping[str, Any],
    ) -> None:
        self.number = number
        self._operation, self._jitter = operation, jitter
        # For the log.
        self._request = request
        self._failures = 0

    @property
    def are_exhausted(self) -> bool:
        """Whether the current attempt is the last."""
        return self._failures + 1 == _MAX_ATTEMPTS

    def fail(self, error: KeyfoldError) -> Pause:
        """Count a failed attempt, and return the pause before the next.

        Raises the error if it is permanent, and Unavailable if the attempts are exhausted.
        """
        if not is_transient(error):
            raise error
        return self.stall(reason_of(error), error)

    def stall(self, reason: str, cause: KeyfoldError | None = None) -> Pause:
        """Count an attempt without progress, and return the pause before the next.

        Raises Unavailable if the attempts are exhausted.
        """
        if self.are_exhausted:
            raise Unavailable(self._operation, self.number, reason) from cause
        self._failures += 1
        pause = BACKOFF.pause(self._failures, self._jitter())
        shown = reason if cause is None else name_error(cause)
        log_retry(self._operation, self._request, self.number, shown, pause.seconds)
        self.number += 1
        return pause

    def progress(self) -> None:
        """Forget the failures so far: an attempt made progress."""
        self._failures = 0


def is_transient(error: KeyfoldError) -> bool:
    """Return whether an error is transient, so that the same call may succeed later."""
    if isinstance(error, TransactionCanceledException):
        codes = {each.get("Code", "None") for each in error.fields.get("CancellationReasons", ())}
        return bool(codes & _TRANSIENT_REASONS) and codes <= _TRANSIENT_REASONS | {"None"}
    return isinstance(error, ServiceError) and error.type in _TRANSIENT


def reason_of(error: KeyfoldError) -> str:
    """Return an error's message as a part of another message."""
    return str(error).rstrip(".")
