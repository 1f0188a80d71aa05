"""Replicas in other regions, as UpdateTable defines them: recorded and described, never created.

This is version 2019.11.21 of global tables; `global_tables` has the previous version.
"""

from __future__ import annotations

import logging
from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.tables.table import TableBody
from keyfold.errors import ValidationException
from keyfold.values.wording import INVALID

VERSION = "2019.11.21"

_log = logging.getLogger("keyfold.engine")

_ACTIONS = ("Create", "Update", "Delete", "Disassociate")
_LOCAL = (
    "Cannot add or delete the local region through ReplicaUpdates. "
    "Use CreateTable, DeleteTable, or UpdateTable as required."
)
# A strongly consistent global table is in three regions, of which one may be a witness.
_STRONG_REGIONS = 3

# The members of a replica that are described as they were in the request.
_KEPT = (
    "KMSMasterKeyId",
    "ProvisionedThroughputOverride",
    "OnDemandThroughputOverride",
    "GlobalSecondaryIndexes",
)


def warn_unreplicated(what: str) -> None:
    """Log a warning that nothing is replicated."""
    _log.warning("%s: recorded and described, but nothing is replicated by Keyfold", what)


def change_replicas(context: EngineContext, request: dict[str, Any], body: TableBody) -> None:
    """Apply the replica changes of an UpdateTable request to a table's body.

    Raises ValidationException for changes that the service rejects.
    """
    updates: list[dict[str, Any]] = request.get("ReplicaUpdates") or []
    witnesses: list[dict[str, Any]] = request.get("GlobalTableWitnessUpdates") or []
    settings = dict(body["settings"])
    mode = request.get("GlobalTableSettingsReplicationMode")
    if mode is not None:
        if mode == "ENABLED_WITH_OVERRIDES" and not body.get("replicas"):
            raise ValidationException(
                f"Value '{mode}' at 'GlobalTableSettingsReplicationMode' failed to satisfy "
                "constraint: Only ENABLED and DISABLED settings replication are supported "
                "for a Regional Table."
            )
        settings["GlobalTableSettingsReplicationMode"] = mode
    protected = request.get("DisassociationProtectionEnabled")
    if protected is not None:
        if not body.get("replicas"):
            message = "DisassociationProtectionEnabled is only valid for a global table replica"
            raise ValidationException(f"{INVALID}{message}")
        settings["DisassociationProtectionEnabled"] = protected
    body["settings"] = settings
    consistency = request.get("MultiRegionConsistency")
    actions = [_read_action(update) for update in updates]
    if consistency is not None and {kind for kind, _ in actions} != {"Create"}:
        raise ValidationException(
            "Only Replica Create actions are supported when MultiRegionConsistency parameter "
            "is provided."
        )
    if not actions and not witnesses:
        return
    if any(kind == "Disassociate" for kind, _ in actions):
        _disassociate(context, actions, body)
        return
    _change_members(context, actions, body)
    _change_witnesses(witnesses, body)
    _change_consistency(consistency, body)
    regions = ", ".join(body.get("replicas", {})) or "no other region"
    warn_unreplicated(f"table {body['name']}, replicas in {regions}")


def _read_action(update: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    given = [kind for kind in _ACTIONS if update.get(kind) is not None]
    if len(given) > 1:
        raise ValidationException(
            "Update table operation with more than one type of replica actions not allowed."
        )
    if not given or (given == ["Update"] and len(update["Update"]) == 1):
        raise ValidationException(
            "There are no actions specified in the Replica Update Action of the request."
        )
    return given[0], update[given[0]]


def _not_member(what: str, region: str) -> ValidationException:
    return ValidationException(
        f"Update global table operation failed because one or more {what} were not part "
        f"of the global table. Please retry the request without these {what}: [{region}]."
    )


def _disassociate(
    context: EngineContext, actions: list[tuple[str, dict[str, Any]]], body: TableBody
) -> None:
    if len(actions) > 1:
        message = "Disassociate must be the only replica update in the request"
        raise ValidationException(f"{INVALID}{message}")
    ((_, action),) = actions
    if not body.get("replicas") or action["RegionName"] != context.region:
        raise _not_member("replicas", action["RegionName"])
    if body["settings"].get("DisassociationProtectionEnabled", True):
        raise ValidationException(
            "Replica cannot be disassociated as it is currently protected against disassociation. "
            "Disable disassociation protection first."
        )
    _leave_global_table(body)


def _change_members(
    context: EngineContext, actions: list[tuple[str, dict[str, Any]]], body: TableBody
) -> None:
    replicas = dict(body.get("replicas", {}))
    seen: set[str] = set()
    for kind, action in actions:
        region = action["RegionName"]
        if region == context.region:
            raise ValidationException(_LOCAL)
        if region in seen:
            message = f"Only one replica update per region is allowed. Region: {region}"
            raise ValidationException(f"{INVALID}{message}")
        seen.add(region)
        if kind == "Create":
            if region in replicas:
                raise ValidationException(
                    # With the service's typographic quotation marks.
                    "Failed to create a the new replica of table with name: "
                    f"\N{LEFT SINGLE QUOTATION MARK}{body['name']}\N{RIGHT SINGLE QUOTATION MARK} "
                    "because one or more replicas already existed as tables."
                )
            replicas[region] = _read_replica(action, {})
        elif region not in replicas:
            raise _not_member("replicas", region)
        elif kind == "Update":
            replicas[region] = _read_replica(action, replicas[region])
        else:
            del replicas[region]
    body["replicas"] = replicas


def _read_replica(action: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    given = {name: action[name] for name in _KEPT if action.get(name) is not None}
    if action.get("TableClassOverride") is not None:
        given["ReplicaTableClassSummary"] = {"TableClass": action["TableClassOverride"]}
    return {**before, **given}


def _change_witnesses(updates: list[dict[str, Any]], body: TableBody) -> None:
    witnesses = list(body.get("witnesses", []))
    for update in updates:
        created, deleted = update.get("Create"), update.get("Delete")
        if (created is None) is (deleted is None):
            raise ValidationException(
                f"{INVALID}Exactly one of Create or Delete must be specified "
                "per GlobalTableWitnessGroupUpdate"
            )
        if created is not None:
            if witnesses or created["RegionName"] in body.get("replicas", {}):
                message = "A global table has one witness, in a region without a replica"
                raise ValidationException(f"{INVALID}{message}")
            witnesses.append({"region": created["RegionName"]})
        elif deleted is not None:
            left = [each for each in witnesses if each["region"] != deleted["RegionName"]]
            if left == witnesses:
                raise _not_member("witnesses", deleted["RegionName"])
            witnesses = left
    body["witnesses"] = witnesses


def _change_consistency(wanted: str | None, body: TableBody) -> None:
    settings = body["settings"]
    replicas, witnesses = body.get("replicas", {}), body.get("witnesses", [])
    if not replicas:
        if witnesses:
            raise ValidationException(
                "Update table delete operation does not include all witnesses."
            )
        _leave_global_table(body)
        return
    current = settings.get("MultiRegionConsistency")
    if wanted is not None and current is not None:
        raise ValidationException(
            "MultiRegionConsistency parameter is unsupported on existing global table"
        )
    consistency = current or wanted or "EVENTUAL"
    regions = 1 + len(replicas) + len(witnesses)
    if consistency == "STRONG" and regions != _STRONG_REGIONS:
        raise ValidationException(
            f"{INVALID}A global table with MultiRegionConsistency STRONG has three replicas, "
            "or two replicas and one witness"
        )
    if consistency == "EVENTUAL" and witnesses:
        raise ValidationException(
            "MultiRegionConsistency must be set as STRONG when GlobalTableWitnessUpdates "
            "parameter is present."
        )
    settings["MultiRegionConsistency"] = consistency
    settings.setdefault("GlobalTableSettingsReplicationMode", "ENABLED_WITH_OVERRIDES")


def _leave_global_table(body: TableBody) -> None:
    body["replicas"], body["witnesses"] = {}, []
    for name in ("MultiRegionConsistency", "DisassociationProtectionEnabled"):
        body["settings"].pop(name, None)
    if body["settings"].get("GlobalTableSettingsReplicationMode") == "ENABLED_WITH_OVERRIDES":
        del body["settings"]["GlobalTableSettingsReplicationMode"]


def describe_replicas(context: EngineContext, body: TableBody) -> dict[str, Any]:
    """Return the members of a table's description that are about its replicas."""
    replicas = body.get("replicas")
    if not replicas:
        return {}
    described: dict[str, Any] = {
        "GlobalTableVersion": VERSION,
        "Replicas": [
            {
                "RegionName": region,
                "ReplicaStatus": "ACTIVE",
                "ReplicaArn": context.table_arn(body["name"], region),
                **replica,
            }
            for region, replica in replicas.items()
        ],
        "DisassociationProtectionEnabled": True,
    }
    if body.get("witnesses"):
        described["GlobalTableWitnesses"] = [
            {"RegionName": each["region"], "WitnessStatus": "ACTIVE"}
            for each in body.get("witnesses", [])
        ]
    return described
