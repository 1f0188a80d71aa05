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
    "ConditionalCheckFailedException",
    "DuplicateItemException",
    "EngineClosed",
    "EngineForked",
    "FileBusy",
    "FileDamaged",
    "FileFailed",
    "FileNewer",
    "FileNotKeyfold",
    "FileUnreachable",
    "IdempotentParameterMismatchException",
    "IncompleteSignatureException",
    "InternalServerError",
    "InvalidSignatureException",
    "ItemCollectionSizeLimitExceededException",
    "KeyfoldError",
    "LimitExceededException",
    "MissingAuthenticationTokenException",
    "OptionInvalid",
    "ProvisionedThroughputExceededException",
    "ResourceInUseException",
    "ResourceNotFoundException",
    "SerializationException",
    "ServiceError",
    "TransactionCanceledException",
    "TransactionConflictException",
    "TransactionInProgressException",
    "UnknownOperationException",
    "ValidationException",
    "WorkerFailed",
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
