"""Settings of a table that are stored and described; most have no other effect here."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.tables.throughput import merge_throughput
from keyfold.errors import ValidationException
from keyfold.values.wording import INVALID


def read_settings(
    request: dict[str, Any], context: EngineContext, before: dict[str, Any]
) -> dict[str, Any]:
    """Return the described settings after a CreateTable or UpdateTable request."""
    settings = dict(before)
    table_class = request.get("TableClass")
    if table_class is not None:
        settings["TableClassSummary"] = {"TableClass": table_class}
    encryption = request.get("SSESpecification")
    if encryption is not None:
        _check_encryption(encryption)
        if encryption.get("Enabled"):
            settings["SSEDescription"] = {
                "Status": "ENABLED",
                "SSEType": encryption.get("SSEType") or "KMS",
                "KMSMasterKeyArn": encryption.get("KMSMasterKeyId")
                or f"arn:aws:kms:{context.region}:{context.account}:alias/aws/dynamodb",
            }
        else:
            settings.pop("SSEDescription", None)
    for name in ("OnDemandThroughput", "WarmThroughput"):
        # An empty object changes nothing.
        if request.get(name):
            settings[name] = merge_throughput(settings.get(name), request[name])
    return settings


def _check_encryption(encryption: dict[str, Any]) -> None:
    kind, key = encryption.get("SSEType"), encryption.get("KMSMasterKeyId")
    if encryption.get("Enabled") is False:
        for name, given in (("SSEType", kind), ("KMSMasterKeyId", key)):
            if given is not None:
                message = f"{name} can not be specified if Enabled is false"
                raise ValidationException(f"{INVALID}{message}")
    if kind == "AES256":
        raise ValidationException(f"{INVALID}SSEType AES256 is not supported")
    if key is not None and kind is None:
        message = "SSEType KMS is required if KMSMasterKeyId is specified"
        raise ValidationException(f"{INVALID}{message}")
