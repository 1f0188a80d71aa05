"""DynamoDB's own errors about global tables, policies and throttling."""

from __future__ import annotations

from keyfold.errors._service import ServiceError


class GlobalTableAlreadyExistsException(ServiceError):
    """A global table of this name exists already."""


class GlobalTableNotFoundException(ServiceError):
    """No global table has this name."""


class IndexNotFoundException(ServiceError):
    """The table has no index of this name."""


class PolicyNotFoundException(ServiceError):
    """The resource has no policy, or one of another revision."""


class ReplicaAlreadyExistsException(ServiceError):
    """The global table has a replica in this region already."""


class ReplicaNotFoundException(ServiceError):
    """The global table has no replica in this region."""


class ThrottlingException(ServiceError):
    """The maximum that was set for an on-demand table or index is used up for the moment."""

    namespace = "com.amazon.coral.availability"
