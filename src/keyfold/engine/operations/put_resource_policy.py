"""The PutResourcePolicy operation."""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.storage import StorageWriter
from keyfold.engine.tables.catalog import write_body
from keyfold.engine.tables.resource_policies import check_revision, find_resource, new_policy


def put_resource_policy(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Store a policy for a table or stream, replacing the existing one, if any."""

    def work(writer: StorageWriter) -> str:
        body, part = find_resource(context, writer, request["ResourceArn"])
        before = body.get("policies", {}).get(part)
        policy = new_policy(context, request["Policy"], before)
        check_revision(before, request.get("ExpectedRevisionId"), body["name"])
        body["policies"] = {**body.get("policies", {}), part: policy}
        write_body(writer, body)
        return policy["revision"]

    return {"RevisionId": context.storage.write(work)}
