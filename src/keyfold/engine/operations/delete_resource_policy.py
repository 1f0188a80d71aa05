"""The DeleteResourcePolicy operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.storage import StorageWriter
from keyfold.engine.tables.catalog import write_body
from keyfold.engine.tables.resource_policies import check_revision, find_resource


def delete_resource_policy(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Delete the policy of a table or stream; succeeds if it has none."""

    def work(writer: StorageWriter) -> str | None:
        body, part = find_resource(context, writer, request["ResourceArn"])
        policies = dict(body.get("policies", {}))
        policy = policies.pop(part, None)
        check_revision(policy, request.get("ExpectedRevisionId"), body["name"])
        if policy is None:
            return None
        body["policies"] = policies
        write_body(writer, body)
        return policy["revision"]

    revision = context.storage.write(work)
    return {} if revision is None else {"RevisionId": revision}
