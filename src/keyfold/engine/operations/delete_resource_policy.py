"""DeleteResourcePolicy."""

from __future__ import annotations

from typing import Any

from keyfold.engine._catalog import write_body
from keyfold.engine._context import EngineContext
from keyfold.engine._policies import check_revision, find_resource
from keyfold.engine._responses import Rendering
from keyfold.engine.storage import StorageWriter


def delete_resource_policy(
    services: EngineContext,
    request: dict[str, Any],
    rendering: Rendering,  # noqa: ARG001 - one signature for all operations
) -> dict[str, Any]:
    """Remove the policy of a table or a stream; one that is not there is no fault."""

    def work(writer: StorageWriter) -> str | None:
        body, part = find_resource(services, writer, request["ResourceArn"])
        policies = dict(body.get("policies", {}))
        policy = policies.pop(part, None)
        check_revision(policy, request.get("ExpectedRevisionId"), body["name"])
        if policy is None:
            return None
        body["policies"] = policies
        write_body(writer, body)
        return policy["revision"]

    revision = services.storage.write(work)
    return {} if revision is None else {"RevisionId": revision}
