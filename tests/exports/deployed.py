"""How a table that a deployment file made differs from its declaration, by `keyfold plan`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keyfold import Table
from keyfold.deploy import plan
from keyfold.engine import Engine


@dataclass(frozen=True, slots=True)
class RecordedAnswers:
    """Answers calls with the responses of another service, and reads no items."""

    answers: Mapping[str, Any]

    def execute(self, operation: str, request: Mapping[str, Any]) -> Any:
        return {} if operation == "GetItem" else self.answers[operation]


def find_differences(executor: Any, table: Table) -> list[str]:
    """Return the steps of a plan for the table, without those of guards, which are items."""
    [planned] = plan(executor, [table], allow_removal=True)
    return [step.text for step in planned.steps] + [each.fact for each in planned.obstacles]


def find_differences_of(request: dict[str, Any], ttl: str | None, table: Table) -> list[str]:
    """Return the differences of a table that CreateTable makes of a request, with this TTL."""
    with Engine.open(":memory:") as engine:
        engine.execute("CreateTable", request)
        if ttl is not None:
            specification = {"AttributeName": ttl, "Enabled": True}
            engine.execute(
                "UpdateTimeToLive",
                {"TableName": table.name, "TimeToLiveSpecification": specification},
            )
        return find_differences(engine, table)
