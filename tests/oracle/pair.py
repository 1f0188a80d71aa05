"""The engine and DynamoDB Local side by side, sent the same requests."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from keyfold.engine import Engine
from tests.conformance.implementations import EngineByJson, read_error
from tests.oracle.compare import Answer, KnownDifferences, find_differences, summary
from tests.oracle.local import DynamoDBLocal
from tests.oracle.random_requests import Call

_MOST_PAGES = 200
_SETTLE_ATTEMPTS, _SETTLE_SECONDS = 100, 0.1


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A request whose responses differ, with the requests that led to it."""

    call: Call
    lines: list[str]
    history: list[Call]


@dataclass(slots=True)
class EnginePair:
    """The engine and DynamoDB Local, both empty at first."""

    local: DynamoDBLocal
    account: str
    known: KnownDifferences
    # DynamoDB Local has the wording of 2025.
    engine: Engine = field(
        default_factory=lambda: Engine.open(":memory:", upkeep_seconds=None, wording="2025")
    )
    history: list[Call] = field(default_factory=list[Call])
    diverged: bool = False

    def close(self) -> None:
        """Close the engine and delete DynamoDB Local's tables."""
        self.engine.close()
        names = self.local.ask("ListTables", {}, self.account).body.get("TableNames", [])
        for name in names:
            self.local.ask("DeleteTable", {"TableName": name}, self.account)

    def send_to_both(self, call: Call) -> Mismatch | None:
        """Send a request to both; return None if they agree, or differ in a known way."""
        engine, local = self._engine(call), self._local(call)
        self.history.append(call)
        if summary(engine) != summary(local):
            if self.known.explain(call, engine, local) is not None:
                # One may have written what the other refused.
                self.diverged = ("error" in engine) != ("error" in local)
                return None
            lines = [f"engine: {summary(engine)}", f"DynamoDB Local: {summary(local)}"]
        else:
            table = json.dumps(self.history[0].request)
            lines = find_differences(self.known, call, table, engine, local)
        return Mismatch(call, lines, list(self.history)) if lines else None

    def _engine(self, call: Call) -> Answer:
        target = EngineByJson(self.engine)

        def send(request: dict[str, Any]) -> Answer:
            return target.ask(call.operation, request)

        answer = _follow(call, send)
        if call.operation == "UpdateTable":
            target.settle()
        return answer

    def _local(self, call: Call) -> Answer:
        def send(request: dict[str, Any]) -> Answer:
            return ask(self.local, self.account, call.operation, request)

        answer = _follow(call, send)
        if call.operation == "UpdateTable":
            self._settle_local(call.request["TableName"])
        return answer

    def _settle_local(self, table: str) -> None:
        """Wait until DynamoDB Local has filled or removed the table's indexes."""
        for _ in range(_SETTLE_ATTEMPTS):
            body = self.local.ask("DescribeTable", {"TableName": table}, self.account).body
            indexes = body.get("Table", {}).get("GlobalSecondaryIndexes", [])
            if all(index["IndexStatus"] == "ACTIVE" for index in indexes):
                return
            time.sleep(_SETTLE_SECONDS)
        raise TimeoutError(f"DynamoDB Local still works on the indexes of {table}")


def ask(local: DynamoDBLocal, account: str, operation: str, request: dict[str, Any]) -> Answer:
    """Return DynamoDB Local's response in the form that is compared."""
    answer = local.ask(operation, request, account)
    if "__type" in answer.body:
        return {"error": read_error(answer.status, answer.body)}
    return {"response": answer.body}


def _follow(call: Call, send: Callable[[dict[str, Any]], Answer]) -> Answer:
    """Return the response; for a call with `walks`, all its pages combined."""
    answer: Answer = send(call.request)
    if not call.walks or "error" in answer:
        return answer
    page = answer["response"]
    items: list[Any] = page.get("Items", [])
    count, scanned = page["Count"], page["ScannedCount"]
    for _ in range(_MOST_PAGES):
        if "LastEvaluatedKey" not in page:
            break
        request = {**call.request, "ExclusiveStartKey": page["LastEvaluatedKey"]}
        answer = send(request)
        if "error" in answer:
            return answer
        page = answer["response"]
        items = items + page.get("Items", [])
        count, scanned = count + page["Count"], scanned + page["ScannedCount"]
    whole: dict[str, Any] = {"Count": count, "ScannedCount": scanned}
    if items:
        whole["Items"] = items
    return {"response": whole}


def script(mismatch: Mismatch) -> str:
    """Return the requests that reproduce a mismatch, one per line."""
    lines = [f"{call.operation} {json.dumps(call.request)}" for call in mismatch.history]
    return "\n".join(lines)
