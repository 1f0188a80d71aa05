"""Resource policies: stored with their table and returned verbatim, but not enforced."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, cast

from keyfold.api.shapes import plain_name
from keyfold.engine.context import EngineContext
from keyfold.engine.metadata_operations import MetadataCall
from keyfold.engine.storage import StorageReader, StorageWriter
from keyfold.engine.tables.catalog import require_body, write_body
from keyfold.engine.tables.descriptions import to_table_description
from keyfold.engine.tables.extras import PolicyBody
from keyfold.engine.tables.table import TableBody
from keyfold.errors import (
    PolicyNotFoundException,
    ResourceNotFoundException,
    ValidationException,
)
from keyfold.values.wording import INVALID

MAX_POLICY_BYTES = 20 * 1024
# The ExpectedRevisionId of a request that expects that there is no policy yet.
NO_POLICY = "NO_POLICY"

_RESOURCE_ARN = re.compile(
    r"(?P<table>arn:[^:]+:dynamodb:[^:]*:[^:]*:table/[^/]+)(?:/(?P<kind>[^/]+)/(?P<rest>.+))?"
)
_NOT_FOUND = "Resource-based policy not found for the provided ResourceArn: "


class PolicyHolder(NamedTuple):
    """A resource that may have a policy: a table, or a stream of it."""

    table: TableBody
    # The rest of its ARN after the table's: "" for the table.
    part: str

    @property
    def policy(self) -> PolicyBody | None:
        """Its policy."""
        return self.table.get("policies", {}).get(self.part)


def find_holder(reader: StorageReader, call: MetadataCall) -> PolicyHolder:
    """Return the resource that `ResourceArn` names.

    Raises ValidationException for an invalid ARN, and ResourceNotFoundException if there is no
    such table or stream.
    """
    arn: str = call.request["ResourceArn"]
    if not arn.startswith("arn:"):
        raise ValidationException(f"{INVALID}ARNs must start with 'arn:': {arn}")
    parts = _RESOURCE_ARN.fullmatch(arn)
    if parts is None or parts["kind"] not in (None, "index", "stream"):
        raise ValidationException(f"{INVALID}Provided Arn is not a DynamoDB resource arn: {arn}")
    if parts["kind"] == "index":
        raise ValidationException(
            f"{INVALID}Invalid resource arn provided, only table or stream is accepted. "
            f"Provided resource arn: {arn}"
        )
    body = require_body(reader, plain_name(parts["table"]))
    if parts["kind"] is None:
        return PolicyHolder(body, "")
    if to_table_description(call.context, body).get("LatestStreamArn") != arn:
        raise ResourceNotFoundException(f"Requested resource not found: Stream: {arn} not found")
    return PolicyHolder(body, f"stream/{parts['rest']}")


def save_holder(writer: StorageWriter, holder: PolicyHolder) -> None:
    """Write the table of a resource, which has its policy."""
    write_body(writer, holder.table)


def describe_policy(holder: PolicyHolder, call: MetadataCall) -> dict[str, Any]:
    """Return the policy of a table or stream. Raises PolicyNotFoundException."""
    policy = holder.policy
    if policy is None:
        raise PolicyNotFoundException(f"{_NOT_FOUND}{call.request['ResourceArn']}")
    return {"Policy": policy["document"], "RevisionId": policy["revision"]}


def put_policy(holder: PolicyHolder, call: MetadataCall) -> dict[str, Any]:
    """Store a policy for a table or stream, replacing the existing one, if any.

    Raises ValidationException for an invalid document, and PolicyNotFoundException unless the
    existing policy has the expected revision.
    """
    policy = new_policy(call.context, call.request["Policy"], holder.policy)
    _check_revision(holder, call)
    holder.table["policies"] = {**holder.table.get("policies", {}), holder.part: policy}
    return {"RevisionId": policy["revision"]}


def delete_policy(holder: PolicyHolder, call: MetadataCall) -> dict[str, Any]:
    """Delete the policy of a table or stream; succeeds if it has none.

    Raises PolicyNotFoundException unless the policy has the expected revision.
    """
    _check_revision(holder, call)
    policy = holder.table.get("policies", {}).pop(holder.part, None)
    return {} if policy is None else {"RevisionId": policy["revision"]}


def new_policy(context: EngineContext, document: str, before: PolicyBody | None) -> PolicyBody:
    """Return the policy to store; it keeps its revision if the document means the same.

    Raises ValidationException for an invalid document.
    """
    policy = _read_document(document)
    if before is not None and json.loads(before["document"]) == policy:
        return before
    revision = int(context.clock() * 1000)
    if before is not None:
        revision = max(revision, int(before["revision"]) + 1)
    return PolicyBody(document=document, revision=str(revision))


def _check_revision(holder: PolicyHolder, call: MetadataCall) -> None:
    policy, table = holder.policy, holder.table["name"]
    expected = call.request.get("ExpectedRevisionId")
    current = NO_POLICY if policy is None else policy["revision"]
    if expected is None or expected == current:
        return
    if expected == NO_POLICY:
        raise PolicyNotFoundException(
            f"{_NOT_FOUND}Requested policy update expecting none to be present "
            f"for table {table}, but a policy exists with revision id {current}."
        )
    found = (
        f"table {table} has no associated policy."
        if policy is None
        else f"the policy associated to target table {table} has revision id {current}."
    )
    raise PolicyNotFoundException(
        f"{_NOT_FOUND}Requested update for policy with revision id {expected}, but {found}"
    )


def _read_document(document: str) -> dict[str, Any]:
    if len(document.encode()) > MAX_POLICY_BYTES:
        raise ValidationException(
            f"{INVALID}Maximum policy size of {MAX_POLICY_BYTES} bytes exceeded"
        )
    try:
        policy: Any = json.loads(document)
    except ValueError:
        raise _invalid("This policy contains invalid Json") from None
    if not isinstance(policy, dict):
        raise _invalid("This policy contains invalid Json")
    parsed = cast("dict[str, Any]", policy)
    statements = _to_list(parsed.get("Statement", []))
    if not statements:
        raise _invalid("Could not parse the policy: Statement is empty!")
    for statement in statements:
        if not isinstance(statement, dict):
            raise _invalid("Syntax error: a Statement is an object")
        _check_statement(cast("dict[str, Any]", statement))
    ids = [statement["Sid"] for statement in statements if "Sid" in statement]
    if any(name in ids[:place] for place, name in enumerate(ids)):
        raise _invalid("The Statement Ids in the policy are not unique")
    return parsed


def _to_list(value: Any) -> list[Any]:
    """Return a value that may be one element or a list of them as a list."""
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _check_statement(statement: dict[str, Any]) -> None:
    for name in ("Effect", "Principal", "Action", "Resource"):
        if name not in statement and f"Not{name}" not in statement:
            raise _invalid(f"Missing required field {name}")
    if statement.get("Effect") not in ("Allow", "Deny"):
        raise _invalid("Syntax error: Effect is Allow or Deny")
    actions = _to_list(statement.get("Action", statement.get("NotAction")))
    wrong = [each for each in actions if not isinstance(each, str) or not _is_action(each)]
    if wrong:
        shown = ", ".join(json.dumps(each) for each in wrong)
        raise _invalid(f"The following action names are invalid: {shown}")
    principal = statement.get("Principal")
    if statement["Effect"] == "Allow" and principal in ("*", {"AWS": "*"}, {"AWS": ["*"]}):
        raise ValidationException(
            "Resource-based policy grants unbounded access in one or more elements. "
            "Please revise the policy to ensure least-privilege form of access"
        )


def _is_action(name: str) -> bool:
    return name == "*" or name.lower().startswith("dynamodb:")


def _invalid(detail: str) -> ValidationException:
    return ValidationException(f"{INVALID}Invalid policy document: {detail}")
