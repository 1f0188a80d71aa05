"""Settings of a table that are kept and described, and change nothing else here."""

from __future__ import annotations

from typing import Any

from keyfold.engine._services import Services


def read_settings(
    request: dict[str, Any], services: Services, before: dict[str, Any]
) -> dict[str, Any]:
    """Return the described settings after a CreateTable or UpdateTable request."""
    settings = dict(before)
    table_class = request.get("TableClass")
    if table_class is not None:
        settings["TableClassSummary"] = {"TableClass": table_class}
    encryption = request.get("SSESpecification")
    if encryption is not None:
        if encryption.get("Enabled"):
            settings["SSEDescription"] = {
                "Status": "ENABLED",
                "SSEType": encryption.get("SSEType") or "KMS",
                "KMSMasterKeyArn": encryption.get("KMSMasterKeyId")
                or f"arn:aws:kms:{services.region}:{services.account}:alias/aws/dynamodb",
            }
        else:
            settings.pop("SSEDescription", None)
    for name in ("OnDemandThroughput", "WarmThroughput"):
        if request.get(name) is not None:
            settings[name] = {**settings.get(name, {}), **request[name]}
    return settings
