"""DynamoDB's own errors: type, status and message are the service's."""

from __future__ import annotations

from typing import Any, ClassVar

from keyfold.errors._base import KeyfoldError


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
    """The request's signature is not one of this request, of now, or of this service."""

    namespace = "com.amazon.coral.service"


class UnrecognizedClientException(ServiceError):
    """Nobody has the access key, or not with this session token."""

    namespace = "com.amazon.coral.service"


class AccessDeniedException(ServiceError):
    """Whoever signed the request may not do what it asks for."""

    namespace = "com.amazon.coral.service"
    message_name = "Message"


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


class ExpiredIteratorException(ServiceError):
    """A shard iterator is older than fifteen minutes."""


class TrimmedDataAccessException(ServiceError):
    """A record of a stream is older than a day, and no longer there."""


class InternalServerError(ServiceError):
    """The engine failed in a way that is its own fault."""

    status = 500


class OtherServiceError(ServiceError):
    """An error of the service that has no class here, such as KMSAccessDeniedException.

    `type` and `status` are what it answered.
    """

    def __init__(
        self,
        name: str,
        answered: int = 400,
        message: str = "",
        fields: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message, fields)
        self.args = (name, answered, message, fields)
        self._name = name
        self.status = answered  # pyright: ignore[reportAttributeAccessIssue] - the answer's, not the class's

    @property
    def type(self) -> str:
        """The name that clients match on."""
        return self._name
