"""Checks of which changes an UpdateTable request may combine, in the service's order."""

from __future__ import annotations

from typing import Any

from keyfold.engine.tables.definitions import check_throughput
from keyfold.engine.tables.throughput import check_not_empty
from keyfold.errors import ValidationException
from keyfold.values.wording import INVALID

# The parameters that change something, with the names that the service's message gives them.
_CHANGES = {
    "ProvisionedThroughput": "ProvisionedThroughput",
    "BillingMode": "BillingMode",
    "StreamSpecification": "UpdateStreamEnabled",
    "GlobalSecondaryIndexUpdates": "GlobalSecondaryIndexUpdates",
    "SSESpecification": "SSESpecification",
    "ReplicaUpdates": "ReplicaUpdates",
    "MultiAccountReplicaReady": "MultiAccountReplicaReady",
    "ReplicaTransitRoleArn": "ReplicaTransitRoleArn",
    "MultiRegionConsistency": "MultiRegionConsistency",
    "DeletionProtectionEnabled": "DeletionProtectionEnabled",
    "OnDemandThroughput": "OnDemandThroughput",
    "WarmThroughput": "WarmThroughput",
    "TableClass": "TableClass",
}
# Further parameters that change something, which the message does not name.
_UNNAMED = (
    "DisassociationProtectionEnabled",
    "GlobalTableSettingsReplicationMode",
    "GlobalTableWitnessUpdates",
    "VectorIndexUpdates",
)
# These may be combined with each other, but with nothing else.
_REPLICATION = frozenset({"ReplicaUpdates", "GlobalTableWitnessUpdates", "MultiRegionConsistency"})
# Each of these must be the only change. They are checked in this order.
_ALONE = {
    "SSESpecification": "Server-Side Encryption",
    "DeletionProtectionEnabled": "DeletionProtection",
    "TableClass": "TableClass",
    "DisassociationProtectionEnabled": "DisassociationProtection",
}


def check_changes(request: dict[str, Any]) -> None:
    """Raise ValidationException unless a request has changes, and ones that may be combined."""
    given = [name for name in (*_CHANGES, *_UNNAMED) if request.get(name) is not None]
    updates: list[dict[str, Any]] | None = request.get("GlobalSecondaryIndexUpdates")
    if not given or (given == ["GlobalSecondaryIndexUpdates"] and not updates):
        names = list(_CHANGES.values())
        raise ValidationException(
            f"At least one of {', '.join(names[:-1])} or {names[-1]} is required"
        )
    for name in ("GlobalSecondaryIndexUpdates", "VectorIndexUpdates"):
        if request.get(name) == []:
            raise ValidationException(f"{INVALID}List of {name} is empty")
    for name, shown in _ALONE.items():
        if name in given and len(given) > 1:
            message = f"{INVALID}{shown} modification must be the only operation in the request"
            raise ValidationException(message)
    _check_others(request, given)
    check_throughput(request.get("ProvisionedThroughput"))
    _check_index_updates(updates or [])
    _check_vector_updates(request.get("VectorIndexUpdates") or [])
    _check_together(given, updates or [])
    _check_stream(request.get("StreamSpecification"))


def _check_others(request: dict[str, Any], given: list[str]) -> None:
    """Raise ValidationException for changes that may be combined with some others only."""
    if "WarmThroughput" in given and len(given) > 1:
        raise ValidationException(
            f"{INVALID}WarmThroughput must be the only operation in the request"
        )
    if "OnDemandThroughput" in given and not {"OnDemandThroughput", "BillingMode"}.issuperset(
        given
    ):
        raise ValidationException(
            f"{INVALID}OnDemandThroughput can only be combined with BillingMode "
            "in an UpdateTable request"
        )
    if not _REPLICATION.isdisjoint(given) and not _REPLICATION.issuperset(given):
        raise ValidationException(
            f"{INVALID}Requests that modify replicas or witnesses must not also modify other fields"
        )
    check_not_empty(request, "OnDemandThroughput")
    check_not_empty(request, "WarmThroughput")


def _check_vector_updates(updates: list[dict[str, Any]]) -> None:
    for update in updates:
        if (update.get("Create") is None) is (update.get("Delete") is None):
            raise ValidationException(
                f"{INVALID}Exactly one of VectorIndexUpdate.Create, VectorIndexUpdate.Delete "
                "must be specified"
            )


def _check_together(given: list[str], updates: list[dict[str, Any]]) -> None:
    changes_indexes = "VectorIndexUpdates" in given or any(
        update.get("Create") or update.get("Delete") for update in updates
    )
    changes_units = "ProvisionedThroughput" in given and "BillingMode" not in given
    changes_stream = "StreamSpecification" in given
    if changes_indexes and changes_units:
        what = "You cannot create or delete index while updating table IOPS"
    elif changes_indexes and changes_stream:
        what = "You cannot create or delete index while changing stream status"
    elif changes_units and changes_stream:
        what = "You cannot modify stream status while updating table IOPS"
    else:
        return
    raise ValidationException(f"{INVALID}{what}")


def _check_index_updates(updates: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for update in updates:
        actions = [update[kind] for kind in ("Update", "Create", "Delete") if update.get(kind)]
        if not actions:
            raise ValidationException(
                f"{INVALID}One of GlobalSecondaryIndexUpdate.Update, "
                "GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        if len(actions) > 1:
            raise ValidationException(
                f"{INVALID}Only one global secondary index action is allowed "
                "per GlobalSecondaryIndexUpdate object"
            )
        name = actions[0]["IndexName"]
        if name in seen:
            raise ValidationException(
                f"{INVALID}Only one global secondary index update per index "
                f"is allowed simultaneously. Index: {name}"
            )
        seen.add(name)


def _check_stream(stream: dict[str, Any] | None) -> None:
    if stream is None:
        return
    if stream["StreamEnabled"] and stream.get("StreamViewType") is None:
        message = "If stream is being enabled then UpdateViewType is required"
        raise ValidationException(f"{INVALID}{message}")
    if not stream["StreamEnabled"] and stream.get("StreamViewType") is not None:
        message = "If stream is being disabled, then UpdateViewType must not be specified"
        raise ValidationException(f"{INVALID}{message}")
