"""DynamoDB's own errors about backups, restores, exports and imports."""

from __future__ import annotations

from keyfold.errors._service import ServiceError


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
