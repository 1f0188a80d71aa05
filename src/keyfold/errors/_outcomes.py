"""How a request that was run can end other than well."""

from __future__ import annotations

from keyfold.errors._base import KeyfoldError


class ConditionFailed(KeyfoldError):
    """A condition of a write did not hold; `found` is the entity that is there, or None."""

    code = "condition-failed"

    def __init__(self, entity: str, key: str, fact: str, found: object = None) -> None:
        super().__init__(entity, key, fact, found)
        self.entity, self.key, self.fact, self.found = entity, key, fact, found

    def __str__(self) -> str:
        return f"{self.entity} {self.key}: {self.fact}. [{self.code}]"


class AlreadyExists(ConditionFailed):
    """Something is there that was to be created."""

    code = "already-exists"


class NotFound(ConditionFailed):
    """Nothing is there that was to be changed."""

    code = "not-found"


class VersionConflict(ConditionFailed):
    """Somebody else has written the entity since it was read."""

    code = "version-conflict"


class UniqueTaken(ConditionFailed):
    """Another entity has the value of a unique field."""

    code = "unique-taken"


class TransactionFailed(KeyfoldError):
    """A transaction was not carried out; `reasons` has an error, or None, for each request."""

    code = "transaction-failed"

    def __init__(self, reasons: tuple[KeyfoldError | None, ...]) -> None:
        super().__init__(reasons)
        self.reasons = reasons

    def __str__(self) -> str:
        listed = "; ".join(
            f"request {place}: {reason}" for place, reason in enumerate(self.reasons) if reason
        )
        return f"transaction: nothing of it was done. {listed} [{self.code}]"


class CursorInvalid(KeyfoldError, ValueError):
    """A cursor was tampered with, cut short, or made by another query, principal or key."""

    code = "cursor-invalid"

    def __init__(self, fact: str) -> None:
        super().__init__(fact)
        self.fact = fact

    def __str__(self) -> str:
        return f"cursor: {self.fact}. Start again without one. [{self.code}]"


class ItemInvalid(KeyfoldError):
    """A stored item fits no entity, or fails the validation of the one that it fits."""

    code = "item-invalid"

    def __init__(self, table: str, key: str, reason: str) -> None:
        super().__init__(table, key, reason)
        self.table, self.key, self.reason = table, key, reason

    def __str__(self) -> str:
        return f"item {self.key} of {self.table}: {self.reason}. [{self.code}]"


class LeasesMissing(KeyfoldError):
    """The table in which followers of a stream keep how far they are is not there."""

    code = "leases-missing"

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self.table = table

    def __str__(self) -> str:
        return (
            f"{self.table}: there is no such lease table. Follow with setup=True, or "
            f"`keyfold stream follow --setup`, to have it made, or create it with the text keys pk "
            f"and sk. [{self.code}]"
        )


class StreamUnsuitable(KeyfoldError):
    """A table's stream is off, or does not show what its handlers need."""

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
    """The service refused for the moment, however often it was tried again."""

    code = "unavailable"

    def __init__(self, operation: str, attempts: int, reason: str) -> None:
        super().__init__(operation, attempts, reason)
        self.operation, self.attempts, self.reason = operation, attempts, reason

    def __str__(self) -> str:
        return f"{self.operation}: tried {self.attempts} times; {self.reason}. [{self.code}]"


class RequestRefused(KeyfoldError, ValueError):
    """The service refuses a request, whenever it is made: nothing was done."""

    code = "request-refused"

    def __init__(self, request: str, reason: str) -> None:
        super().__init__(request, reason)
        self.request, self.reason = request, reason

    def __str__(self) -> str:
        return f"{self.request}: the service refuses it: {self.reason}. [{self.code}]"


class SizeExceeded(KeyfoldError, ValueError):
    """An item, or an attribute of its key, is larger than the service stores: nothing was done."""

    code = "size-exceeded"

    def __init__(self, entity: str, key: str, fact: str) -> None:
        super().__init__(entity, key, fact)
        self.entity, self.key, self.fact = entity, key, fact

    def __str__(self) -> str:
        return f"{self.entity} {self.key}: {self.fact}. [{self.code}]"


class OutcomeUnknown(KeyfoldError):
    """Whether a write was carried out is not known, nor could it be repeated to find out.

    `error` is what the service answered to a later try of it, where that is known.
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
            f"{self.request}: {self.operation} failed, and may have been carried out or not: "
            f"{self.reason}. Read what is stored before you repeat it. [{self.code}]"
        )


class UrlUnknown(KeyfoldError, ValueError):
    """A URL names no kind of database that can be opened."""

    code = "url-unknown"

    def __init__(self, url: str, advice: str) -> None:
        super().__init__(url, advice)
        self.url, self.advice = url, advice

    def __str__(self) -> str:
        return f"{self.url}: {self.advice} [{self.code}]"
