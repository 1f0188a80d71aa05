"""Errors of requests that were run: failed conditions, refusals and unknown outcomes."""

from __future__ import annotations

from keyfold.errors._base import KeyfoldError, TemplatedError


class ConditionFailed(TemplatedError):
    """A condition of a write did not hold; `found` is the stored entity, or None."""

    code = "condition-failed"
    message_template = "{entity} {key}: {fact}."
    public_template = "{entity}: a condition of the request does not hold."
    entity: str
    key: str
    fact: str
    found: object = None


class AlreadyExists(ConditionFailed):
    """The entity to create already exists."""

    code = "already-exists"
    public_template = "{entity} already exists."


class NotFound(ConditionFailed):
    """The entity to change does not exist."""

    code = "not-found"
    public_template = "{entity} does not exist."


class VersionConflict(ConditionFailed):
    """The entity, or a field that the write is based on, was changed since it was read."""

    code = "version-conflict"
    public_template = "{entity} was changed by someone else. Read it again."


class OutOfBounds(ConditionFailed):
    """An update would take a field out of its bounds, such as `ge` or `max_length`."""

    code = "out-of-bounds"
    public_template = "{entity}: a value would leave its bounds."


class UniqueTaken(ConditionFailed):
    """Another entity already has this value of a unique field; `field` names the field."""

    code = "unique-taken"
    public_template = "{entity}: this {field} is already taken."
    field: str = ""


class TransactionFailed(TemplatedError):
    """A transaction was not carried out; `reasons` has an error, or None, for each request."""

    code = "transaction-failed"
    message_template = "transaction: it was not carried out. {reasons}"
    reasons: tuple[KeyfoldError | None, ...]

    @property
    def public(self) -> str:
        """The messages of the reasons, for clients of an API."""
        found = dict.fromkeys(each.public for each in self.reasons if each is not None)
        return " ".join(found) or self.public_template

    def _words(self) -> dict[str, str]:
        return {
            "reasons": "; ".join(
                f"request {number}: {reason}"
                for number, reason in enumerate(self.reasons)
                if reason
            )
        }


class CursorInvalid(TemplatedError, ValueError):
    """A cursor was altered or truncated, or made for another query, principal or key."""

    code = "cursor-invalid"
    message_template = "cursor: {fact}. Start again without a cursor."
    public_template = "The cursor is not valid. Start again without a cursor."
    fact: str


class HandleInvalid(TemplatedError, ValueError):
    """A handle is unknown to this principal, or an id was given where its handle is needed.

    A handle of another principal, one that was altered and an id itself look the same.
    """

    code = "handle-invalid"
    message_template = "{kind}: there is no such id. Give it as it was shown to you."
    public_template = message_template
    kind: str


class ItemInvalid(TemplatedError):
    """A stored item matches no entity, or fails the validation of the entity it matches."""

    code = "item-invalid"
    message_template = "item {key} of {table}: {reason}."
    table: str
    key: str
    reason: str


class FieldNotRecorded(TemplatedError, ValueError):
    """A computation needs an optional field of a stored entity that has none."""

    code = "field-not-recorded"
    message_template = "{entity} {key}: {field} is not recorded, and {use} needs it. {advice}"
    public_template = "{entity}: {field} is not recorded."
    entity: str
    key: str
    field: str
    use: str
    advice: str


class LeasesMissing(TemplatedError):
    """The lease table, in which stream followers keep their checkpoints, does not exist."""

    code = "leases-missing"
    message_template = (
        "{table}: the lease table does not exist. Follow with setup=True, or `keyfold stream "
        "follow --setup`, to create it, or create it yourself with the string keys pk and sk."
    )
    table: str


class StreamUnsuitable(TemplatedError):
    """A table's stream is off, or its view type lacks what the handlers need."""

    code = "stream-unsuitable"
    message_template = "stream of {table}: {fact}. {advice}"
    table: str
    fact: str
    advice: str


class WrongTable(TemplatedError, ValueError):
    """A request is for a table that the store was not opened for."""

    code = "wrong-table"
    message_template = "store of {known}: the request is for table {table!r}."
    table: str
    known: tuple[str, ...]

    def _words(self) -> dict[str, str]:
        return {"known": ", ".join(self.known)}


class Unavailable(TemplatedError):
    """The service was temporarily unavailable, and all retries failed."""

    code = "unavailable"
    message_template = "{operation}: tried {attempts} times; {reason}."
    public_template = "The service is not available. Try again later."
    operation: str
    attempts: int
    reason: str


class ResultAwaited(TemplatedError, TimeoutError):
    """`run_until` ran a request as often as it may, and no result was as awaited."""

    code = "result-awaited"
    message_template = (
        "{request}: tried {attempts} times; the last result was {result}. An index may lag for longer: "
        "allow more attempts."
    )
    public_template = "The result is not available yet. Try again later."
    request: str
    attempts: int
    result: str


class RequestRefused(TemplatedError, ValueError):
    """The service refused a request, and a retry would not help; nothing was done."""

    code = "request-refused"
    message_template = "{request}: the service refused it: {reason}."
    request: str
    reason: str


class IndexMissing(RequestRefused):
    """A request reads an index that is declared, but that the table does not have."""

    code = "index-missing"
    message_template = (
        "{request}: table {table} does not have the index {index}. Run `keyfold apply` to add it, "
        "and `keyfold backfill` to give stored items its keys."
    )
    table: str
    index: str


class SizeExceeded(TemplatedError, ValueError):
    """An item or a key attribute is larger than the service allows; nothing was done."""

    code = "size-exceeded"
    message_template = "{entity} {key}: {fact}."
    public_template = "{entity}: {fact}."
    entity: str
    key: str
    fact: str


class OutcomeUnknown(TemplatedError):
    """It is unknown whether a write was carried out, and repeating it would not be safe.

    `error` is the service's response to a later attempt, if it is known.
    """

    code = "outcome-unknown"
    message_template = (
        "{request}: {operation} failed, and may or may not have been carried out: {reason}. "
        "Read what is stored before you repeat it."
    )
    public_template = (
        "It is unknown whether the request was carried out. Check before you repeat it."
    )
    request: str
    operation: str
    reason: str
    error: KeyfoldError | None = None


class TableOutdated(TemplatedError):
    """A table of an embedded database lacks an index, expiry or stream of its declaration."""

    code = "table-outdated"
    message_template = (
        "{table} in {url}: the table lacks {lacks}. Run `keyfold apply --db {url}` to add it."
    )
    table: str
    url: str
    lacking: tuple[str, ...]

    def _words(self) -> dict[str, str]:
        return {"lacks": ", ".join(self.lacking)}


class UrlUnknown(TemplatedError, ValueError):
    """A URL does not name a kind of database that can be opened."""

    code = "url-unknown"
    message_template = "{url}: {advice}"
    url: str
    advice: str
