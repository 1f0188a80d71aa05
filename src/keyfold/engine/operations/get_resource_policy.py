"""The GetResourcePolicy operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.tables.resource_policies import find_resource, policy_not_found


def get_resource_policy(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return the policy of a table or stream, and its revision."""
    arn: str = request["ResourceArn"]
    body, part = context.storage.read(lambda reader: find_resource(context, reader, arn))
    policy = body.get("policies", {}).get(part)
    if policy is None:
        raise policy_not_found(arn)
    return {"Policy": policy["document"], "RevisionId": policy["revision"]}
