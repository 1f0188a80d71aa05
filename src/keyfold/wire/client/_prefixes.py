"""Table prefixes: added to the table names in requests, removed from those in responses.

Table names are found by the name of their member, at any depth of requests and responses:
attribute values are never plain strings, so a string member `TableName` is a table's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from keyfold.api import find_operation

_NAMES = {
    "ExclusiveStartTableName",
    "GlobalTableName",
    "LastEvaluatedTableName",
    "SourceTableName",
    "TableName",
    "TargetTableName",
}
_LISTS = {"TableNames"}
# Maps whose keys are table names; their values contain no table names.
_MAPS = {
    "ItemCollectionMetrics",
    "RequestItems",
    "Responses",
    "UnprocessedItems",
    "UnprocessedKeys",
}
# Members that hold attributes, whose names are arbitrary; they are not searched.
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
_OWN_NAMES = ("TableName", "GlobalTableName", "TableArn", "ExportArn", "ImportArn")
# The minimum length of a table name, and the lowest character that is allowed in one.
_SHORTEST = 3
_LEAST = "-"

Rename = Callable[[str], str]


class TablePrefix:
    """Adds a prefix to the tables of requests, and removes it from those of responses."""

    def __init__(self, text: str) -> None:
        self.text = text

    def add(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Return a request with the prefix on its table names."""
        renamed: dict[str, Any] = _renamed(request, self._add_name)
        if operation == "ListTables" and "ExclusiveStartTableName" not in request:
            # Names are listed in order, so this skips those before the prefix.
            renamed["ExclusiveStartTableName"] = self.text.ljust(_SHORTEST, _LEAST)
        return renamed

    def remove(self, operation: str, response: dict[str, Any]) -> dict[str, Any]:
        """Return a response without the prefix; lists omit the tables that do not have it."""
        if operation == "ListTables":
            response = dict(response)
            names = response["TableNames"]
            response["TableNames"] = [name for name in names if self._is_ours(name)]
            if not self._is_ours(response.get("LastEvaluatedTableName", "")):
                response.pop("LastEvaluatedTableName", None)
            return _renamed(response, self._remove_name)
        listed = find_operation(operation).listed
        if listed in response:
            kept = [each for each in response[listed] if self._is_ours(_name_in(each))]
            response = {**response, listed: kept}
        return _renamed(response, self._remove_name)

    def _is_ours(self, name: str) -> bool:
        return name.startswith(self.text) and len(name) > len(self.text)

    def _add_name(self, name: str) -> str:
        return self.text + name

    def _remove_name(self, name: str) -> str:
        return name.removeprefix(self.text)


def _name_in(listed: dict[str, Any]) -> str:
    """Return the name of the table that a listed resource belongs to."""
    text = next((str(listed[name]) for name in _OWN_NAMES if name in listed), "")
    found = _ARN.fullmatch(text)
    return text if found is None else found[2]


def _renamed(members: dict[str, Any], rename: Rename) -> dict[str, Any]:
    """Return a part of a request or response with its tables renamed."""
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
    """Rename a table in its name or ARN; ARNs of other resources stay unchanged."""
    if not text.startswith("arn:"):
        return rename(text)
    found = _ARN.fullmatch(text)
    return text if found is None else f"{found[1]}{rename(found[2])}{found[3]}"


# A quoted string, a quoted name, the keywords that precede a table's name, or any other character.
_TOKEN = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\b(?:FROM|INTO|UPDATE)\b|.""", re.IGNORECASE | re.DOTALL
)
_TABLE = re.compile(r"""(\s*)(?:"((?:[^"]|"")+)"|([\w-]+(?:\.[\w-]+)*?))(?=[\s."]|$)""")


def _rename_in_statement(statement: str, rename: Rename) -> str:
    """Rename the table of a PartiQL statement, which follows the first FROM, INTO or UPDATE."""
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
