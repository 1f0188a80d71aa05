"""Errors of requests that were run: failed conditions, refusals and unknown outcomes."""

from __future__ import annotations

from keyfold.errors._base import KeyfoldError


class ConditionFailed(KeyfoldError):
    """A condition of a write did not hold; `found` is the stored entity, or None."""

    code = "condition-failed"

    def __init__(self, entity: str, key: str, fact: str, found: object = None) -> None:
        super().__init__(entity, key, fact, found)
        self.entity, self.key, self.fact, self.found = entity, key, fact, found

    def __str__(self) -> str:
        return f"{self.entity} {self.key}: {self.fact}. [{self.code}]"


class AlreadyExists(ConditionFailed):
    """The entity to create already exists."""

    code = "already-exists"


class NotFound(ConditionFailed):
    """The entity to change does not exist."""

    code = "not-found"


class VersionConflict(ConditionFailed):
    """The entity was written by someone else since it was read."""

    code = "version-conflict"


class UniqueTaken(ConditionFailed):
    """Another entity already has this value of a unique field."""

    code = "unique-taken"


class TransactionFailed(KeyfoldError):
    """A transaction was not carried out; `reasons` has an error, or None, for each request."""

    code = "transaction-failed"

    def __init__(self, reasons: tuple[KeyfoldError | None, ...]) -> None:
        super().__init__(reasons)
        self.reasons = reasons

    def __str__(self) -> str:
        listed = "; ".join(
            f"request {number}: {reason}" for number, reason in enumerate(self.reasons) if reason
        )
        return f"transaction: it was not carried out. {listed} [{self.code}]"


class CursorInvalid(KeyfoldError, ValueError):
    """A cursor was altered or truncated, or made for another query, principal or key."""

    code = "cursor-invalid"

    def __init__(self, fact: str) -> None:
        super().__init__(fact)
        self.fact = fact

    def __str__(self) -> str:
        return f"cursor: {self.fact}. Start again without a cursor. [{self.code}]"


class ItemInvalid(KeyfoldError):
    """A stored item matches no entity, or fails the validation of the entity it matches."""

    code = "item-invalid"

    def __init__(self, table: str, key: str, reason: str) -> None:
        super().__init__(table, key, reason)
        self.table, self.key, self.reason = table, key, reason

    def __str__(self) -> str:
        return f"item {self.key} of {self.table}: {self.reason}. [{self.code}]"


class LeasesMissing(KeyfoldError):
    """The lease table, in which stream followers keep their checkpoints, does not exist."""

    code = "leases-missing"

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self.table = table

    def __str__(self) -> str:
        return (
            f"{self.table}: the lease table does not exist. Follow with setup=True, or "
            f"`keyfold stream follow --setup`, to create it, or create it yourself with the "
            f"string keys pk and sk. [{self.code}]"
        )


class StreamUnsuitable(KeyfoldError):
    """A table's stream is off, or its view type lacks what the handlers need."""

    code = "stream-unsuitable"

    def __init__(self, table: str, fact: str, advice: str) -> None:
        super().__init__(table, fact, advice)
        self.table, self.fact, self.advice = table, fact, advice

    def __str__(self) -> str:
        return f"stream of {self.table}: {self.fact}. {self.advice} [{self.code}]"


class WrongTable(KeyfoldError, ValueError):
    """A request is for a table that the store was not opened for."""

    code = "wrong-table"

    def __init__(self, table: str, known: tuple[str, ...]) -> None:
        super().__init__(table, known)
        self.table, self.known = table, known

    def __str__(self) -> str:
        known = ", ".join(self.known)
        return f"store of {known}: the request is for table {self.table!r}. [{self.code}]"


class Unavailable(KeyfoldError):
    """The service was temporarily unavailable, and all retries failed."""

    code = "unavailable"

    def __init__(self, operation: str, attempts: int, reason: str) -> None:
        super().__init__(operation, attempts, reason)
        self.operation, self.attempts, self.reason = operation, attempts, reason

    def __str__(self) -> str:
        return f"{self.operation}: tried {self.attempts} times; {self.reason}. [{self.code}]"


class RequestRefused(KeyfoldError, ValueError):
    """The service refused a request, and a retry would not help; nothing was done."""

    code = "request-refused"

    def __init__(self, request: str, reason: str) -> None:
        super().__init__(request, reason)
        self.request, self.reason = request, reason

    def __str__(self) -> str:
        return f"{self.request}: the service refused it: {self.reason}. [{self.code}]"


class SizeExceeded(KeyfoldError, ValueError):
    """An item or a key attribute is larger than the service allows; nothing was done."""

    code = "size-exceeded"

    def __init__(self, entity: str, key: str, fact: str) -> None:
        super().__init__(entity, key, fact)
        self.entity, self.key, self.fact = entity, key, fact

    def __str__(self) -> str:
        return f"{self.entity} {self.key}: {self.fact}. [{self.code}]"


class OutcomeUnknown(KeyfoldError):
    """It is unknown whether a write was carried out, and repeating it would not be safe.

    `error` is the service's response to a later attempt, if it is known.
    """

    code = "outcome-unknown"

    def __init__(
        self, request: str, operation: str, reason: str, error: KeyfoldError | None = None
    ) -> None:
        super().__init__(request, operation, reason, error)
        self.request, self.operation, self.reason = request, operation, reason
        self.error = error

    def __str__(self) -> str:
        return (
            f"{self.request}: {self.operation} failed, and may or may not have been carried out: "
            f"{self.reason}. Read what is stored before you repeat it. [{self.code}]"
        )


class UrlUnknown(KeyfoldError, ValueError):
    """A URL does not name a kind of database that can be opened."""

    code = "url-unknown"

    def __init__(self, url: str, advice: str) -> None:
        super().__init__(url, advice)
        self.url, self.advice = url, advice

    def __str__(self) -> str:
        return f"{self.url}: {self.advice} [{self.code}]"
