"""Compare two responses, apart from known differences.

Known differences are data: `differences.json` lists them, each with its reason and source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, cast

from tests.oracle.random_requests import Call

Answer = dict[str, Any]  # {"response": …} or {"error": …}

_UNORDERED = {"SS", "NS", "BS", "AttributeDefinitions"}
_INDEX_LISTS = {"LocalSecondaryIndexes", "GlobalSecondaryIndexes"}


class _Absent(Enum):
    ABSENT = "absent"


_ABSENT = _Absent.ABSENT


@dataclass(frozen=True, slots=True)
class Difference:
    """A known difference, with patterns for the responses it covers."""

    reason: str
    source: str
    operations: tuple[str, ...]
    engine: re.Pattern[str]
    local: re.Pattern[str]
    request: re.Pattern[str]

    def covers(self, call: Call, engine: str, local: str) -> bool:
        """Return whether this difference explains these responses to the call."""
        return (
            (not self.operations or call.operation in self.operations)
            and self.engine.fullmatch(engine) is not None
            and self.local.fullmatch(local) is not None
            and self.request.search(json.dumps(call.request)) is not None
        )


@dataclass(frozen=True, slots=True)
class Field:
    """A field of responses that may differ: always, for some values, or in a number's notation."""

    operations: tuple[str, ...]
    path: re.Pattern[str]
    local: re.Pattern[str]
    request: re.Pattern[str]
    table: re.Pattern[str]
    as_number: bool

    def covers(self, call: Call, table: str, path: str, engine: Any, local: Any) -> bool:
        """Return whether these two values at this path may differ."""
        if self.operations and call.operation not in self.operations:
            return False
        if not self.request.search(json.dumps(call.request)) or not self.table.search(table):
            return False
        if not self.path.fullmatch(path) or not self.local.fullmatch(repr(local)):
            return False
        return not self.as_number or Decimal(engine) == Decimal(local)


@dataclass(frozen=True, slots=True)
class KnownDifferences:
    """The contents of `differences.json`."""

    differences: tuple[Difference, ...]
    fields: tuple[Field, ...]

    @classmethod
    def load(cls) -> KnownDifferences:
        """Read the file beside this one."""
        data = json.loads(Path(__file__).with_name("differences.json").read_text())
        return cls(
            tuple(
                Difference(
                    entry["reason"],
                    entry["source"],
                    tuple(entry.get("operations", ())),
                    re.compile(entry.get("engine", ".*"), re.DOTALL),
                    re.compile(entry.get("local", ".*"), re.DOTALL),
                    re.compile(entry.get("request", ""), re.DOTALL),
                )
                for entry in data["answers"]
            ),
            tuple(
                Field(
                    tuple(entry.get("operations", ())),
                    re.compile(entry["path"]),
                    re.compile(entry.get("local", ".*"), re.DOTALL),
                    re.compile(entry.get("request", "")),
                    re.compile(entry.get("table", "")),
                    entry.get("as", "anything") == "number",
                )
                for entry in data["fields"]
            ),
        )

    def explain(self, call: Call, engine: Answer, local: Answer) -> str | None:
        """Return the reason why the responses differ; None if it is not known."""
        shown = summary(engine), summary(local)
        for difference in self.differences:
            if difference.covers(call, *shown):
                return difference.reason
        return None

    def allows(self, call: Call, table: str, path: str, engine: Any, local: Any) -> bool:
        """Return whether these two values may differ."""
        return any(field.covers(call, table, path, engine, local) for field in self.fields)


def summary(answer: Answer) -> str:
    """Return a response in one line, for patterns: `ok`, or the error's type and message."""
    if "error" not in answer:
        return "ok"
    error = answer["error"]
    reasons = cast("list[dict[str, Any]]", error.get("CancellationReasons", []))
    messages = "; ".join(
        str(reason.get("Message", "")) for reason in reasons if "Message" in reason
    )
    return f"{error['type']}: {error['message']}" + (f" {{{messages}}}" if messages else "")


def find_differences(
    known: KnownDifferences, call: Call, table: str, engine: Answer, local: Answer
) -> list[str]:
    """Return the paths at which two responses differ, apart from known differences.

    `table` is the CreateTable request as JSON.
    """
    whole = call.walks or call.operation == "Scan" or "IndexName" in call.request
    ours, theirs = (_normal(answer, items_unordered=whole) for answer in (engine, local))
    return [
        f"{path}: engine {_shown(one)}, DynamoDB Local {_shown(other)}"
        for path, one, other in _walk(ours, theirs, "")
        if not known.allows(call, table, path, one, other)
    ]


def _shown(value: Any) -> str:
    return "nothing" if value is _ABSENT else repr(value)


def _walk(engine: Any, local: Any, path: str) -> list[tuple[str, Any, Any]]:
    if isinstance(engine, dict) and isinstance(local, dict):
        left, right = cast("dict[str, Any]", engine), cast("dict[str, Any]", local)
        found: list[tuple[str, Any, Any]] = []
        for name in sorted(left.keys() | right.keys()):
            place = f"{path}.{name}" if path else name
            found.extend(_walk(left.get(name, _ABSENT), right.get(name, _ABSENT), place))
        return found
    if isinstance(engine, list) and isinstance(local, list):
        ours, theirs = cast("list[Any]", engine), cast("list[Any]", local)
        if len(ours) == len(theirs):
            pairs = enumerate(zip(ours, theirs, strict=True))
            return [one for at, pair in pairs for one in _walk(*pair, f"{path}[{at}]")]
    if engine == local and isinstance(engine, bool) is isinstance(local, bool):
        return []
    return [(path, engine, local)]


def _sort_key(value: Any) -> str:
    """Return a sort key that is the same for numbers in different notations."""
    text = json.dumps(value, sort_keys=True)
    return re.sub(r'"N": "([^"]*)"', lambda found: f'"N": "{Decimal(found[1]).normalize()}"', text)


def _normal(value: Any, *, items_unordered: bool, name: str = "") -> Any:
    """Return the response with unordered lists sorted."""
    if isinstance(value, list):
        items = [_normal(one, items_unordered=items_unordered) for one in cast("list[Any]", value)]
        unordered = name in _UNORDERED or name in _INDEX_LISTS
        if unordered or (items_unordered and name in {"Items", "Responses"}) or name == "batch":
            return sorted(items, key=_sort_key)
        return items
    if isinstance(value, dict):
        entries = cast("Mapping[str, Any]", value)
        inside = "batch" if name == "Responses" else ""
        return {
            key: _normal(one, items_unordered=items_unordered, name=inside or key)
            for key, one in entries.items()
        }
    return value
