"""Every error Keyfold raises.

Two families share one base. A `ServiceError` is DynamoDB's own: its type, status and
message are the service's, to the letter. Every other `KeyfoldError` is ours: it names
its subject, states the fact and ends with a stable code.

>>> try:
...     raise ValidationException("Item size has exceeded the maximum allowed size")
... except ServiceError as error:
...     print(error.type, error.status, error.message)
ValidationException 400 Item size has exceeded the maximum allowed size
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "AddressUnavailable",
    "AlreadyExists",
    "BatchInvalid",
    "ConditionAsTruth",
    "ConditionFailed",
    "ConditionalCheckFailedException",
    "CursorInvalid",
    "DeclarationInvalid",
    "DuplicateItemException",
    "EngineClosed",
    "EngineForked",
    "FieldUnknown",
    "FileBusy",
    "FileDamaged",
    "FileFailed",
    "FileNewer",
    "FileNotKeyfold",
    "FileUnreachable",
    "IdempotentParameterMismatchException",
    "IncompleteSignatureException",
    "IndexPartsUnknown",
    "InternalServerError",
    "InvalidSignatureException",
    "ItemCollectionSizeLimitExceededException",
    "ItemUnfit",
    "KeyFieldChanged",
    "KeyfoldError",
    "LimitExceededException",
    "MissingAuthenticationTokenException",
    "NotThere",
    "OptionInvalid",
    "PathInvalid",
    "PatternUnexplained",
    "PatternUnknown",
    "ProvisionedThroughputExceededException",
    "QueryInvalid",
    "ResourceInUseException",
    "ResourceNotFoundException",
    "SerializationException",
    "ServiceError",
    "TableForeign",
    "TransactionCanceledException",
    "TransactionConflictException",
    "TransactionFailed",
    "TransactionInProgressException",
    "TransactionInvalid",
    "Unavailable",
    "UniqueTaken",
    "UnknownOperationException",
    "UpdateInvalid",
    "UrlUnknown",
    "ValidationException",
    "ValueUnfit",
    "VersionConflict",
    "WorkerFailed",
    "WriteRefused",
]


class KeyfoldError(Exception):
    """The base of every error that Keyfold raises on purpose."""

    code: ClassVar[str] = "keyfold"


class ServiceError(KeyfoldError):
    """An error that DynamoDB itself would answer with.

    `type` is the short name clients match on, `status` the HTTP status, `message` the
    service's wording. `fields` holds what some errors carry beside the message, such as
    `Item` or `CancellationReasons`.
    """

    code = "service-error"
    namespace: ClassVar[str] = "com.amazonaws.dynamodb.v20120810"
    status: ClassVar[int] = 400
    # How the JSON body spells the name of the message; some errors spell it `Message`.
    message_name: ClassVar[str] = "message"

    def __init__(self, message: str = "", fields: dict[str, Any] | None = None) -> None:
        super().__init__(message, fields)
        self.message = message
        self.fields: dict[str, Any] = fields or {}

    @property
    def type(self) -> str:
        """The name that clients match on, such as `ValidationException`."""
        return type(self).__name__

    @property
    def qualified_type(self) -> str:
        """The `__type` of the JSON body, with the service's namespace."""
        return f"{self.namespace}#{self.type}"

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type


class ValidationException(ServiceError):
    """The request breaks one of DynamoDB's rules."""

    namespace = "com.amazon.coral.validate"


class SerializationException(ServiceError):
    """The request is not of the JSON types that the operation takes."""

    namespace = "com.amazon.coral.service"
    message_name = "Message"


class UnknownOperationException(ServiceError):
    """No operation has this name."""

    namespace = "com.amazon.coral.service"


class MissingAuthenticationTokenException(ServiceError):
    """The request has no Authorization."""

    namespace = "com.amazon.coral.service"


class IncompleteSignatureException(ServiceError):
    """The request's Authorization lacks a part."""

    namespace = "com.amazon.coral.service"


class InvalidSignatureException(ServiceError):
    """The request's Authorization contradicts itself."""

    namespace = "com.amazon.coral.service"


class ResourceNotFoundException(ServiceError):
    """The table, index or ARN does not exist."""


class ResourceInUseException(ServiceError):
    """The table exists already, or is being changed."""


class LimitExceededException(ServiceError):
    """Too many indexes, or too many changes of tables at once."""


class ConditionalCheckFailedException(ServiceError):
    """The condition of a write did not hold."""


class TransactionCanceledException(ServiceError):
    """A transaction was not carried out; `fields["CancellationReasons"]` says why."""

    message_name = "Message"


class TransactionConflictException(ServiceError):
    """Another transaction is changing the item."""


class TransactionInProgressException(ServiceError):
    """A transaction with the same token is still being carried out."""

    message_name = "Message"


class IdempotentParameterMismatchException(ServiceError):
    """A token was used again with other parameters."""

    message_name = "Message"


class ItemCollectionSizeLimitExceededException(ServiceError):
    """An item collection of a table with local indexes would pass 10 GB."""


class ProvisionedThroughputExceededException(ServiceError):
    """The table's capacity is used up for the moment."""


class DuplicateItemException(ServiceError):
    """An inserted item exists already."""


class InternalServerError(ServiceError):
    """The engine failed in a way that is its own fault."""

    status = 500


class OptionInvalid(KeyfoldError, ValueError):
    """An option, such as one of `Engine.open`, has a value that it does not take."""

    code = "option-invalid"

    def __init__(self, option: str, received: object, advice: str) -> None:
        super().__init__(option, received, advice)
        self.option, self.received, self.advice = option, received, advice

    def __str__(self) -> str:
        return f"{self.option}: got {self.received!r}. {self.advice} [{self.code}]"


class AddressUnavailable(KeyfoldError, OSError):
    """A server cannot listen where it was told to."""

    code = "address-unavailable"

    def __init__(self, host: str, port: int, detail: str) -> None:
        super().__init__(host, port, detail)
        self.host, self.port, self.detail = host, port, detail

    def __str__(self) -> str:
        return (
            f"cannot listen on {self.host}, port {self.port}: {self.detail}. "
            f"Name another, or port 0 for any that is free. [{self.code}]"
        )


class WorkerFailed(KeyfoldError, RuntimeError):
    """One of a server's processes ended as soon as it was started."""

    code = "worker-failed"

    def __init__(self, place: int, status: int) -> None:
        super().__init__(place, status)
        self.place, self.status = place, status

    def __str__(self) -> str:
        return (
            f"worker {self.place} ended right after its start, with status {self.status}. "
            f"What it printed says why. [{self.code}]"
        )


class EngineClosed(KeyfoldError, ValueError):
    """A closed engine was asked to do something."""

    code = "engine-closed"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"engine on {self.path}: it is closed. Open another. [{self.code}]"


class EngineForked(KeyfoldError, RuntimeError):
    """A file that was open at a fork was used, or opened again, in the child."""

    code = "engine-forked"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return (
            f"engine on {self.path}: the file was open when this process forked. Open it after "
            f"the fork, or start the process with multiprocessing's spawn. [{self.code}]"
        )


class _FileError(KeyfoldError, OSError):
    """Something about a database file; `path` names it."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(path, detail)
        self.path, self.detail = path, detail


class FileUnreachable(_FileError):
    """The file cannot be opened: a missing folder, no permission, a read-only disk."""

    code = "file-unreachable"

    def __str__(self) -> str:
        return f"cannot open {self.path}: {self.detail}. [{self.code}]"


class FileNotKeyfold(_FileError):
    """The file is of another kind; it was left as it is."""

    code = "file-not-keyfold"

    def __str__(self) -> str:
        return (
            f"cannot open {self.path}: {self.detail}. "
            f"It was left as it is; give another path. [{self.code}]"
        )


class FileNewer(_FileError):
    """A newer version of Keyfold wrote the file."""

    code = "file-newer"

    def __str__(self) -> str:
        return f"cannot open {self.path}: {self.detail}. Upgrade Keyfold. [{self.code}]"


class FileDamaged(_FileError):
    """The file is truncated or its content contradicts itself."""

    code = "file-damaged"

    def __str__(self) -> str:
        return (
            f"{self.path} is damaged: {self.detail}. "
            f"Restore a copy; `keyfold verify` lists what is wrong. [{self.code}]"
        )


class FileBusy(_FileError):
    """Another process kept the file locked for longer than the engine waits."""

    code = "file-busy"

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.detail}. Nothing was written; try again, "
            f"or open it with a longer busy_seconds. [{self.code}]"
        )


class FileFailed(_FileError):
    """The disk failed or is full; what was being written was not."""

    code = "file-failed"

    def __str__(self) -> str:
        return f"{self.path}: {self.detail}. Nothing was written. [{self.code}]"


class DeclarationInvalid(KeyfoldError, ValueError):
    """A table, entity or collection contradicts itself; `problems` has all that is wrong."""

    code = "declaration-invalid"

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(f"{problem} [{self.code}]" for problem in self.problems)


class _SubjectError(KeyfoldError, ValueError):
    """Something in a request, or about to be in one: whose it is, what is wrong, what to do."""

    def __init__(self, subject: str, fact: str, advice: str) -> None:
        super().__init__(subject, fact, advice)
        self.subject, self.fact, self.advice = subject, fact, advice

    def __str__(self) -> str:
        advice = f" {self.advice}" if self.advice else ""
        return f"{self.subject}: {self.fact}.{advice} [{self.code}]"


class ValueUnfit(_SubjectError):
    """A value cannot be stored."""

    code = "value-unfit"

    def inside(self, owner: str) -> ValueUnfit:
        """Return the same of a field that is named."""
        return ValueUnfit(owner, f"{self.fact}: {self.subject}", self.advice)


class QueryInvalid(_SubjectError):
    """A query asks for something that no query can give."""

    code = "query-invalid"


class UpdateInvalid(_SubjectError):
    """A write asks for a change that cannot be made."""

    code = "update-invalid"


class WriteRefused(_SubjectError):
    """A write would break what the entity's declaration promises."""

    code = "write-refused"


class FieldUnknown(KeyfoldError, AttributeError):
    """A field was named that is not there."""

    code = "field-unknown"

    def __init__(self, owner: str, field: str, known: tuple[str, ...]) -> None:
        super().__init__(owner, field, known)
        self.owner, self.field, self.known = owner, field, known

    def __str__(self) -> str:
        known = ", ".join(self.known) or "none"
        return f"{self.owner}: there is no field {self.field!r}; there are {known}. [{self.code}]"


class PathInvalid(KeyfoldError, TypeError):
    """A path into an entity leads nowhere, or was used as something else."""

    code = "path-invalid"

    def __init__(self, path: str, fact: str) -> None:
        super().__init__(path, fact)
        self.path, self.fact = path, fact

    def __str__(self) -> str:
        return f"{self.path}: {self.fact}. [{self.code}]"


class ConditionAsTruth(KeyfoldError, TypeError):
    """A condition was used where Python wants to know whether it is true."""

    code = "condition-as-truth"

    def __init__(self, condition: str) -> None:
        super().__init__(condition)
        self.condition = condition

    def __str__(self) -> str:
        return (
            f"{self.condition}: whether it holds is found out where the item is. Join conditions "
            f"with &, | and ~, not with and, or, not or chained comparisons. [{self.code}]"
        )


class KeyFieldChanged(KeyfoldError, ValueError):
    """An update would change a field that the item's key is made from."""

    code = "key-field-changed"

    def __init__(self, entity: str, field: str) -> None:
        super().__init__(entity, field)
        self.entity, self.field = entity, field

    def __str__(self) -> str:
        return (
            f"{self.entity}.{self.field}: the item's key is made from it, and a key cannot change. "
            f"Delete the one and put the other, in a transaction. [{self.code}]"
        )


class IndexPartsUnknown(KeyfoldError, ValueError):
    """An update changes part of an index key, and does not know the others."""

    code = "index-parts-unknown"

    def __init__(self, entity: str, attribute: str, fields: tuple[str, ...]) -> None:
        super().__init__(entity, attribute, fields)
        self.entity, self.attribute, self.fields = entity, attribute, fields

    def __str__(self) -> str:
        listed = ", ".join(f"{name}=…" for name in self.fields)
        return (
            f"{self.entity}: the index key {self.attribute!r} is made from {', '.join(self.fields)} "
            f"too. Pass what they hold now with knowing({listed}). [{self.code}]"
        )


class _JoinError(KeyfoldError, ValueError):
    """Requests that cannot be joined."""

    subject: ClassVar[str]

    def __init__(self, fact: str, advice: str) -> None:
        super().__init__(fact, advice)
        self.fact, self.advice = fact, advice

    def __str__(self) -> str:
        return f"{self.subject}: {self.fact}. {self.advice} [{self.code}]"


class TransactionInvalid(_JoinError):
    """Requests were joined that cannot be one transaction."""

    code = "transaction-invalid"
    subject = "transaction"


class BatchInvalid(_JoinError):
    """Requests were joined that cannot be one batch."""

    code = "batch-invalid"
    subject = "batch"


class PatternUnknown(KeyfoldError, KeyError):
    """A table has no access pattern of this name."""

    code = "pattern-unknown"

    def __init__(self, table: str, name: str, known: tuple[str, ...]) -> None:
        super().__init__(table, name, known)
        self.table, self.name, self.known = table, name, known

    def __str__(self) -> str:
        known = ", ".join(self.known) or "none"
        return f"{self.table}: it has no pattern {self.name!r}; it has {known}. [{self.code}]"


class PatternUnexplained(KeyfoldError, TypeError):
    """An access pattern cannot be called with placeholders."""

    code = "pattern-unexplained"

    def __init__(self, pattern: str, detail: str) -> None:
        super().__init__(pattern, detail)
        self.pattern, self.detail = pattern, detail

    def __str__(self) -> str:
        return (
            f"pattern {self.pattern!r}: it cannot take placeholders ({self.detail}). "
            f"Declare it with example={{…}}. [{self.code}]"
        )


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


class NotThere(ConditionFailed):
    """Nothing is there that was to be changed."""

    code = "not-there"


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


class ItemUnfit(KeyfoldError):
    """A stored item fits no entity, or fails the validation of the one that it fits."""

    code = "item-unfit"

    def __init__(self, table: str, key: str, reason: str) -> None:
        super().__init__(table, key, reason)
        self.table, self.key, self.reason = table, key, reason

    def __str__(self) -> str:
        return f"item {self.key} of {self.table}: {self.reason}. [{self.code}]"


class TableForeign(KeyfoldError, ValueError):
    """A request is for a table that the store was not opened for."""

    code = "table-foreign"

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


class UrlUnknown(KeyfoldError, ValueError):
    """A URL names no kind of database that can be opened."""

    code = "url-unknown"

    def __init__(self, url: str, advice: str) -> None:
        super().__init__(url, advice)
        self.url, self.advice = url, advice

    def __str__(self) -> str:
        return f"{self.url}: {self.advice} [{self.code}]"
