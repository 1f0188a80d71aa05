"""Auto scaling settings: stored and described, but capacity is never scaled."""

from __future__ import annotations

from typing import Any

from keyfold.errors import ValidationException
from keyfold.values.wording import INVALID


def merge_scaling(before: dict[str, Any] | None, update: dict[str, Any]) -> dict[str, Any]:
    """Return the AutoScalingSettingsDescription after an AutoScalingSettingsUpdate."""
    settings = dict(before or {})
    for name in ("MinimumUnits", "MaximumUnits", "AutoScalingDisabled", "AutoScalingRoleArn"):
        if update.get(name) is not None:
            settings[name] = update[name]
    least, most = settings.get("MinimumUnits"), settings.get("MaximumUnits")
    if least is not None and most is not None and least > most:
        raise ValidationException(
            f"{INVALID}MinimumUnits {least} must not be greater than MaximumUnits {most}"
        )
    policy: dict[str, Any] | None = update.get("ScalingPolicyUpdate")
    if policy is not None:
        name = policy.get("PolicyName") or "$DynamoDBTableScalingPolicy"
        others = [
            each for each in settings.get("ScalingPolicies", []) if each["PolicyName"] != name
        ]
        changed = {**policy, "PolicyName": name}
        settings["ScalingPolicies"] = [*others, changed]
    return settings
