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

from keyfold.errors._base import KeyfoldError
from keyfold.errors._declaring import (
    BatchInvalid,
    ConditionAsTruth,
    DeclarationInvalid,
    FieldUnknown,
    IndexPartsUnknown,
    KeyFieldChanged,
    PathInvalid,
    PatternUnexplained,
    PatternUnknown,
    QueryInvalid,
    TransactionInvalid,
    UpdateInvalid,
    ValueUnfit,
    WriteRefused,
)
from keyfold.errors._outcomes import (
    AlreadyExists,
    ConditionFailed,
    CursorInvalid,
    ItemUnfit,
    NotThere,
    TableForeign,
    TransactionFailed,
    Unavailable,
    UniqueTaken,
    UrlUnknown,
    VersionConflict,
)
from keyfold.errors._running import (
    AddressUnavailable,
    EngineClosed,
    EngineForked,
    FileBusy,
    FileDamaged,
    FileFailed,
    FileNewer,
    FileNotKeyfold,
    FileUnreachable,
    OptionInvalid,
    WorkerFailed,
)
from keyfold.errors._service import (
    ConditionalCheckFailedException,
    DuplicateItemException,
    IdempotentParameterMismatchException,
    IncompleteSignatureException,
    InternalServerError,
    InvalidSignatureException,
    ItemCollectionSizeLimitExceededException,
    LimitExceededException,
    MissingAuthenticationTokenException,
    ProvisionedThroughputExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    SerializationException,
    ServiceError,
    TransactionCanceledException,
    TransactionConflictException,
    TransactionInProgressException,
    UnknownOperationException,
    ValidationException,
)

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
