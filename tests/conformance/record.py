"""Ask DynamoDB Local for the answers of cases that have none, and check those that have.

    python -m tests.conformance.record [FILE ...]           fill in and check
    python -m tests.conformance.record --accept [FILE ...]  also list where it differs

A case's own answer is the one AWS gives. Where DynamoDB Local gives another, the case says so
under `differences`, beside the source that shows AWS's; `--accept` writes that entry. Without
`--accept`, a difference that is not listed is an error.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from tests.conformance.cases import (
    FOLDER,
    Step,
    case_files,
    fill_in,
    operation_of,
    read_case,
    read_file,
)
from tests.conformance.implementations import read_error
from tests.conformance.matching import mismatches
from tests.endpoints.dynamodb_local import NAME
from tests.oracle.local import DynamoDBLocal

_ARN = "arn:aws:dynamodb:[a-z0-9-]+:[0-9]{12}:table/"

# What differs from one run to the next, by the name of the field.
VOLATILE: dict[str, Any] = {
    "CreationDateTime": {"$type": "number"},
    "LastUpdateToPayPerRequestDateTime": {"$type": "number"},
    "LastIncreaseDateTime": {"$type": "number"},
    "LastDecreaseDateTime": {"$type": "number"},
    "CreationRequestDateTime": {"$type": "number"},
    "ApproximateCreationDateTime": {"$type": "number"},
    "TableId": {"$match": "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"},
}
_LABEL = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}[.][0-9]{3}"
_OF_STREAMS = {
    "StreamArn": f"{_ARN}[a-zA-Z0-9_.-]+/stream/{_LABEL}",
    "LatestStreamArn": f"{_ARN}[a-zA-Z0-9_.-]+/stream/{_LABEL}",
    "LastEvaluatedStreamArn": f"{_ARN}[a-zA-Z0-9_.-]+/stream/{_LABEL}",
    "StreamLabel": _LABEL,
    "LatestStreamLabel": _LABEL,
    "ShardId": "shardId-[0-9]{20}-[0-9a-f]{8}",
    "StartingSequenceNumber": "[0-9]{21}",
    "EndingSequenceNumber": "[0-9]{21}",
    "SequenceNumber": "[0-9]{21}",
    "eventID": "[0-9a-f-]{32,36}",
    "awsRegion": "[a-z0-9-]+",
    "ShardIterator": ".+",
    "NextShardIterator": ".+",
}
_WIDTH = 100
# What DynamoDB Local does not answer at all; such cases rest on their sources.
NOT_ANSWERED = frozenset(
    {
        "CreateBackup",
        "DeleteBackup",
        "DescribeBackup",
        "DescribeContinuousBackups",
        "DescribeExport",
        "DescribeImport",
        "ExportTableToPointInTime",
        "ImportTable",
        "ListBackups",
        "ListExports",
        "ListImports",
        "RestoreTableFromBackup",
        "RestoreTableToPointInTime",
        "UpdateContinuousBackups",
    }
)

Ask = Callable[[str, dict[str, Any]], dict[str, Any]]


def main() -> int:
    """Record or check the named files; 1 when something differs unlisted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--accept", action="store_true", help="list where DynamoDB Local differs")
    options = parser.parse_args()
    problems = 0
    with DynamoDBLocal() as local:
        for path in options.files or case_files():
            if operation_of(path) in NOT_ANSWERED:
                continue
            cases = read_file(path)
            for number, raw in enumerate(cases):
                account = f"{path.stem}{number}".replace("_", "")
                complaints = record_case(raw, operation_of(path), asker(local, account), options)
                problems += len(complaints)
                for complaint in complaints:
                    print(f"{path.stem}: {raw['name']}: {complaint}")
            path.write_text(json_text(cases))
    print(f"{problems} unlisted differences" if problems else "all answers as listed")
    return 1 if problems else 0


def asker(local: DynamoDBLocal, account: str) -> Ask:
    """Ask as `account`, whose database is its own."""

    def ask(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        def look_up(known: str, about: dict[str, Any]) -> dict[str, Any]:
            return local.ask(known, about, account).body

        answer = local.ask(operation, fill_in(request, look_up), account)
        if "__type" in answer.body:
            return {"error": read_error(answer.status, answer.body)}
        return {"response": answer.body}

    return ask


def record_case(
    raw: dict[str, Any], operation: str, ask: Ask, options: argparse.Namespace
) -> list[str]:
    """Run one case; fill in what it lacks, and say what differs."""
    case = read_case("", operation, raw)
    if any(step.advance_seconds for step in case.steps):
        return []  # the server's clock cannot be moved; such a case rests on its source
    for step in case.setup:
        answer = ask(step.operation, step.request)
        if "error" in answer:
            return [f"setup failed: {step.operation}: {answer['error']['message']}"]
    complaints: list[str] = []
    written = cast("list[dict[str, Any]]", raw.get("steps", [raw]))
    for one, step in zip(written, case.steps, strict=True):
        answer = ask(step.operation, step.request)
        complaints.extend(_settle(one, step, answer, accept=options.accept))
    return complaints


def _settle(one: dict[str, Any], step: Step, answer: dict[str, Any], *, accept: bool) -> list[str]:
    if step.answer is None:
        one.update(masked(answer))
        return []
    found = mismatches(step.answer, answer)
    # DynamoDB Local has the wording of 2025.
    if not found or not mismatches(step.answer_in("2025"), answer):
        if one.get("differences", {}).pop(NAME, None) is not None and not one["differences"]:
            del one["differences"]
        return []
    listed = step.differences.get(NAME)
    if listed is not None and not mismatches(listed, answer):
        return []
    if accept:
        one.setdefault("differences", {})[NAME] = masked(answer)
        return []
    return [f"{step.operation}: {line}" for line in found]


def masked(value: Any) -> Any:
    """The answer with what is volatile in it replaced by patterns."""
    if isinstance(value, list):
        return [masked(one) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    for name, one in cast("dict[str, Any]", value).items():
        if name in VOLATILE and not isinstance(one, dict):
            result[name] = VOLATILE[name]
        elif name in {"TableArn", "IndexArn"} and isinstance(one, str):
            result[name] = {"$match": _ARN + one.partition(":table/")[2]}
        elif name in _OF_STREAMS and isinstance(one, str):
            result[name] = {"$match": _OF_STREAMS[name]}
        else:
            result[name] = masked(one)
    return result


def json_text(cases: list[dict[str, Any]]) -> str:
    """The file's text: what fits on a line stays on it."""
    return _layout(cases, "") + "\n"


def _layout(value: Any, indent: str) -> str:
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) <= _WIDTH or not isinstance(value, (dict, list)) or not value:
        return line
    deeper = indent + "  "
    if isinstance(value, list):
        members = [deeper + _layout(one, deeper) for one in cast("list[Any]", value)]
        return "[\n" + ",\n".join(members) + f"\n{indent}]"
    entries = [
        f"{deeper}{json.dumps(name, ensure_ascii=False)}: {_layout(one, deeper)}"
        for name, one in cast("dict[str, Any]", value).items()
    ]
    return "{\n" + ",\n".join(entries) + f"\n{indent}}}"


if __name__ == "__main__":
    sys.path.insert(0, str(FOLDER.parent.parent))
    sys.exit(main())
