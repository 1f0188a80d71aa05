"""Settings of a table that are described as they were given; most change nothing else here."""

from __future__ import annotations

from typing import Any

from keyfold.engine._services import Services
from keyfold.engine._throughput import merge_throughput


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
    stream = request.get("StreamSpecification")
    if stream is not None:
        # Kept and described; there is nothing to read the stream with yet.
        if stream["StreamEnabled"]:
            settings["StreamSpecification"] = stream
        else:
            settings.pop("StreamSpecification", None)
    for name in ("OnDemandThroughput", "WarmThroughput"):
        if request.get(name) is not None:
            settings[name] = merge_throughput(settings.get(name), request[name])
    return settings
