"""DynamoDB's own errors about global tables, policies and throttling."""

from __future__ import annotations

from keyfold.errors._service import ServiceError


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
    """The maximum throughput set for an on-demand table or index is exceeded for now."""

    namespace = "com.amazon.coral.availability"
