"""Table names with a prefix: requests get it, answers lose it.

Names are found by what they are called, wherever they stand, in requests and answers alike: no
attribute value is text, so what is text and called `TableName` is the name of a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

_NAMES = {
    "ExclusiveStartTableName",
    "GlobalTableName",
    "LastEvaluatedTableName",
    "SourceTableName",
    "TableName",
    "TargetTableName",
}
_LISTS = {"TableNames"}
# Maps whose keys are the names of tables; what they hold has no others.
_MAPS = {
    "ItemCollectionMetrics",
    "RequestItems",
    "Responses",
    "UnprocessedItems",
    "UnprocessedKeys",
}
# What has attributes, which can have any name.
_ITEMS = {
    "AttributeUpdates",
    "Attributes",
    "ExclusiveStartKey",
    "Expected",
    "ExpressionAttributeNames",
    "ExpressionAttributeValues",
    "Item",
    "ItemCollectionKey",
    "Items",
    "Key",
    "KeyConditions",
    "Keys",
    "LastEvaluatedKey",
    "NewImage",
    "OldImage",
    "Parameters",
    "QueryFilter",
    "ScanFilter",
}
_ARN = re.compile(r"(arn:[\w-]+:dynamodb:[^:]*:[^:]*:(?:global-)?table/)([^/]+)(.*)", re.DOTALL)
# What lists things of tables, with the table's name or ARN in each.
_LISTED = {
    "ListBackups": "BackupSummaries",
    "ListContributorInsights": "ContributorInsightsSummaries",
    "ListExports": "ExportSummaries",
    "ListGlobalTables": "GlobalTables",
    "ListImports": "ImportSummaryList",
    "ListStreams": "Streams",
}
_OWN_NAMES = ("TableName", "GlobalTableName", "TableArn", "ExportArn", "ImportArn")
# As short as a name may be; and the least character that one may have.
_SHORTEST = 3
_LEAST = "-"

Rename = Callable[[str], str]


class TablePrefix:
    """The prefix of all tables of a client."""

    def __init__(self, text: str) -> None:
        self.text = text

    def add(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Return a request as the service is to get it."""
        renamed: dict[str, Any] = _renamed(request, self._add_name)
        if operation == "ListTables" and "ExclusiveStartTableName" not in request:
            # Names are listed in order: so the list starts with the first that has the prefix.
            renamed["ExclusiveStartTableName"] = self.text.ljust(_SHORTEST, _LEAST)
        return renamed

    def remove(self, operation: str, answer: dict[str, Any]) -> dict[str, Any]:
        """Return an answer as the caller is to get it; tables of others are left out."""
        if operation == "ListTables":
            answer = dict(answer)
            answer["TableNames"] = [each for each in answer["TableNames"] if self._is_ours(each)]
            if not self._is_ours(answer.get("LastEvaluatedTableName", "")):
                answer.pop("LastEvaluatedTableName", None)
        listed = _LISTED.get(operation)
        if listed in answer:
            kept = [each for each in answer[listed] if self._is_ours(_name_in(each))]
            answer = {**answer, listed: kept}
        return _renamed(answer, self._remove_name)

    def _is_ours(self, name: str) -> bool:
        return name.startswith(self.text) and len(name) > len(self.text)

    def _add_name(self, name: str) -> str:
        return self.text + name

    def _remove_name(self, name: str) -> str:
        return name.removeprefix(self.text)


def _name_in(listed: dict[str, Any]) -> str:
    """Return the table that something in a list is of."""
    text = next((str(listed[name]) for name in _OWN_NAMES if name in listed), "")
    found = _ARN.fullmatch(text)
    return text if found is None else found[2]


def _renamed(members: dict[str, Any], rename: Rename) -> dict[str, Any]:
    """Return a part of a request or answer with its tables renamed."""
    return {name: _renamed_member(name, value, rename) for name, value in members.items()}


def _renamed_member(name: str, value: Any, rename: Rename) -> Any:
    if name in _ITEMS:
        return value
    if isinstance(value, str):
        if name in _NAMES or name.endswith("Arn"):
            return _rename_text(value, rename)
        return _rename_in_statement(value, rename) if name == "Statement" else value
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        if name in _MAPS:
            return {_rename_text(table, rename): each for table, each in members.items()}
        return _renamed(members, rename)
    if isinstance(value, list):
        listed = cast("list[Any]", value)
        if name in _LISTS:
            return [rename(each) for each in listed]
        return [
            _renamed(cast("dict[str, Any]", each), rename) if isinstance(each, dict) else each
            for each in listed
        ]
    return value


def _rename_text(text: str, rename: Rename) -> str:
    """Rename a table by its name or ARN; what is the ARN of something else stays."""
    if not text.startswith("arn:"):
        return rename(text)
    found = _ARN.fullmatch(text)
    return text if found is None else f"{found[1]}{rename(found[2])}{found[3]}"


# Quoted text, a quoted name, the words that a table's name follows, and anything else.
_TOKEN = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\b(?:FROM|INTO|UPDATE)\b|.""", re.IGNORECASE | re.DOTALL
)
_TABLE = re.compile(r"""(\s*)(?:"((?:[^"]|"")+)"|([\w-]+(?:\.[\w-]+)*?))(?=[\s."]|$)""")


def _rename_in_statement(statement: str, rename: Rename) -> str:
    """Rename the table of a PartiQL statement: what follows the first FROM, INTO or UPDATE."""
    for token in _TOKEN.finditer(statement):
        if token[0].upper() not in ("FROM", "INTO", "UPDATE"):
            continue
        found = _TABLE.match(statement, token.end())
        if found is None:
            break
        space = found[1]
        name = rename(found[2] or found[3])
        return f'{statement[: token.end()]}{space}"{name}"{statement[found.end() :]}'
    return statement
