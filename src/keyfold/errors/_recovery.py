"""DynamoDB's own errors of backups, restores, exports and imports."""

from __future__ import annotations

from keyfold.errors._service import ServiceError


class BackupInUseException(ServiceError):
    """The backup is being made, deleted or restored."""


class BackupNotFoundException(ServiceError):
    """No backup has this ARN."""


class ContinuousBackupsUnavailableException(ServiceError):
    """Continuous backups cannot be switched on or off yet."""


class ExportConflictException(ServiceError):
    """A token was used again for another export."""


class ExportNotFoundException(ServiceError):
    """No export has this ARN."""


class ImportConflictException(ServiceError):
    """A token was used again for another import."""


class ImportNotFoundException(ServiceError):
    """No import has this ARN."""


class InvalidExportTimeException(ServiceError):
    """The time of an export is outside of what can be recovered."""


class InvalidRestoreTimeException(ServiceError):
    """The time of a restore is outside of what can be recovered."""


class PointInTimeRecoveryUnavailableException(ServiceError):
    """The table has no continuous backups."""


class TableAlreadyExistsException(ServiceError):
    """The table to restore to exists already."""


class TableInUseException(ServiceError):
    """The table is being created or deleted."""


class TableNotFoundException(ServiceError):
    """The table of a backup, restore or export does not exist."""
