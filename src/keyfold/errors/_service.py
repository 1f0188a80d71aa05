"""DynamoDB's own errors: type, status and message are the service's."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from keyfold.errors._base import KeyfoldError

MAX_MESSAGE_LENGTH = 1 << 17


class ServiceError(KeyfoldError):
    """An error as DynamoDB itself returns it.

    `type` is the short name clients match on, `status` the HTTP status, `message` the
    service's wording. `fields` holds the additional members of some errors, such as
    `Item` or `CancellationReasons`.
    """

    code = "service-error"
    namespace: ClassVar[str] = "com.amazonaws.dynamodb.v20120810"
    status: ClassVar[int] = 400
    # The name of the message in the JSON body; some errors spell it `Message`.
    message_name: ClassVar[str] = "message"

    def __init__(self, message: str = "", fields: dict[str, Any] | None = None) -> None:
        if len(message) > MAX_MESSAGE_LENGTH:
            # Messages quote what was received, and a request may have 16 MB.
            message = f"{message[:MAX_MESSAGE_LENGTH]}..."
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


# As in `keyfold.api.operations`, which says what they mean.
_Validation = Literal["former", "current", "enveloped"]


class ValidationException(ServiceError):
    """The request breaks one of DynamoDB's rules.

    `message` is the text of the former validation. `current_message` is that of the current one;
    None if it is the same. `validation` says which of them found the fault, and `is_bare` that the
    text never stands in an envelope. `keyfold.api.wordings.reword` applies all that.
    """

    namespace = "com.amazon.coral.validate"

    def __init__(
        self,
        message: str = "",
        fields: dict[str, Any] | None = None,
        *,
        current_message: str | None = None,
        validation: _Validation = "former",
        is_bare: bool = False,
    ) -> None:
        super().__init__(message, fields)
        self.current_message = current_message
        self.validation: _Validation = validation
        self.is_bare = is_bare

    def set_validation(self, validation: _Validation) -> None:
        """Set which validation found the fault, unless that is known already."""
        if self.validation == "former":
            self.validation = validation


class SerializationException(ServiceError):
    """The request's JSON types are not those that the operation takes."""

    namespace = "com.amazon.coral.service"
    message_name = "Message"


class UnknownOperationException(ServiceError):
    """No operation has this name."""

    namespace = "com.amazon.coral.service"


class MissingAuthenticationTokenException(ServiceError):
    """The request has no Authorization header."""

    namespace = "com.amazon.coral.service"


class IncompleteSignatureException(ServiceError):
    """A part of the request's Authorization header is missing."""

    namespace = "com.amazon.coral.service"


class InvalidSignatureException(ServiceError):
    """The signature is wrong, expired, or made for another service."""

    namespace = "com.amazon.coral.service"


class UnrecognizedClientException(ServiceError):
    """The access key is unknown, or does not go with the session token."""

    namespace = "com.amazon.coral.service"


class AccessDeniedException(ServiceError):
    """The principal that signed the request may not do what it asks for."""

    namespace = "com.amazon.coral.service"
    message_name = "Message"


class ResourceNotFoundException(ServiceError):
    """The table, index or ARN does not exist."""


class ResourceInUseException(ServiceError):
    """The table already exists, or is being changed."""


class LimitExceededException(ServiceError):
    """Too many indexes, or too many table changes at once."""


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
    """A client token was reused with other parameters."""

    message_name = "Message"


class ItemCollectionSizeLimitExceededException(ServiceError):
    """An item collection of a table with local indexes would exceed 10 GB."""


class ProvisionedThroughputExceededException(ServiceError):
    """The table's provisioned capacity is exceeded for now."""


class RequestLimitExceeded(ServiceError):
    """The account's quota of throughput for on-demand tables is exceeded for now."""


class DuplicateItemException(ServiceError):
    """The item to insert already exists."""


class ExpiredIteratorException(ServiceError):
    """A shard iterator is older than fifteen minutes."""


class TrimmedDataAccessException(ServiceError):
    """A stream record is older than a day and was removed."""


class InternalServerError(ServiceError):
    """The engine failed because of an internal error."""

    status = 500


class BackupInUseException(ServiceError):
    """The backup is being created, deleted or restored."""


class BackupNotFoundException(ServiceError):
    """No backup has this ARN."""


class ContinuousBackupsUnavailableException(ServiceError):
    """Continuous backups cannot be switched on or off yet."""


class ExportConflictException(ServiceError):
    """A client token was reused for another export."""


class ExportNotFoundException(ServiceError):
    """No export has this ARN."""


class ImportConflictException(ServiceError):
    """A client token was reused for another import."""


class ImportNotFoundException(ServiceError):
    """No import has this ARN."""


class InvalidExportTimeException(ServiceError):
    """The time of an export is outside the recovery window."""


class InvalidRestoreTimeException(ServiceError):
    """The time of a restore is outside the recovery window."""


class PointInTimeRecoveryUnavailableException(ServiceError):
    """The table has no continuous backups."""


class TableAlreadyExistsException(ServiceError):
    """The table to restore to already exists."""


class TableInUseException(ServiceError):
    """The table is being created or deleted."""


class TableNotFoundException(ServiceError):
    """The table of a backup, restore or export does not exist."""


class GlobalTableAlreadyExistsException(ServiceError):
    """A global table of this name already exists."""


class GlobalTableNotFoundException(ServiceError):
    """No global table has this name."""


class IndexNotFoundException(ServiceError):
    """The table has no index of this name."""


class PolicyNotFoundException(ServiceError):
    """The resource has no policy, or one of another revision."""


class ReplicaAlreadyExistsException(ServiceError):
    """The global table already has a replica in this region."""


class ReplicaNotFoundException(ServiceError):
    """The global table has no replica in this region."""


class ThrottlingException(ServiceError):
    """The throughput of an on-demand table, an index or a partition of it is exceeded for now."""

    namespace = "com.amazon.coral.availability"


class OtherServiceError(ServiceError):
    """An error of the service that has no class here, such as KMSAccessDeniedException.

    `type` and `status` are those of the response.
    """

    def __init__(
        self,
        name: str,
        status: int = 400,
        message: str = "",
        fields: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message, fields)
        self.args = (name, status, message, fields)
        self._name = name
        self.status = status  # pyright: ignore[reportAttributeAccessIssue] - of the response, not the class

    @property
    def type(self) -> str:
        """The name that clients match on."""
        return self._name
