"""PartiQL statements: run, and what they return printed."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import orjson
from rich.console import Console

from keyfold.cli._databases import require_table
from keyfold.cli._plain import attribute_to_plain
from keyfold.cli._quantities import count_of
from keyfold.cli._terminal import print_rows
from keyfold.errors import ResourceNotFoundException
from keyfold.store import Executor

# A name as statements have it, in quotes or not.
NAME = r"""(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[A-Za-z_$][\w$]*))"""
_TABLE = re.compile(rf"\b(?:from|into|update)\s+{NAME}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StatementAnswer:
    """What a statement returned; `token` goes on where a page ended."""

    items: list[dict[str, Any]]
    token: str | None
    units: float
    is_write: bool = False

    @property
    def cost(self) -> str:
        """How many items there are, and what they cost, in words."""
        # A write returns items only if it is asked to: none is no sign that nothing was done.
        is_quiet = self.is_write and not self.items
        found = "done" if is_quiet else count_of(len(self.items), "item")
        return f"{found}, {count_of(self.units, 'capacity unit')}"

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it, but for binary values."""
        return {"items": self.items, "next": self.token, "capacity_units": self.units}


def run_statement(executor: Executor, db: str, request: dict[str, Any]) -> StatementAnswer:
    """Return the items of one page, or of all pages where no limit is given, and their cost.

    `db` is what errors call the database. Raises TableMissing, and what the service raises.
    """
    items: list[dict[str, Any]] = []
    units = 0.0
    asked = {**request, "ReturnConsumedCapacity": "TOTAL"}
    while True:
        try:
            response = executor.execute("ExecuteStatement", asked)
        except ResourceNotFoundException:
            # The service does not say which.
            table = table_in(request["Statement"])
            if table is not None:
                require_table(executor, table, db)
            raise
        items += response["Items"]
        units += response["ConsumedCapacity"]["CapacityUnits"]
        token = response.get("NextToken")
        if token is None or "Limit" in request:
            is_write = request["Statement"].lstrip()[:6].lower() != "select"
            return StatementAnswer(items, token, units, is_write=is_write)
        asked = {**asked, "NextToken": token}


def table_in(statement: str) -> str | None:
    """Return the table that a statement is about, as far as it is written."""
    found = _TABLE.search(statement)
    return None if found is None else read_name(found)


def read_name(found: re.Match[str]) -> str:
    """Return the name that a pattern with `NAME` in it has found."""
    quoted: str | None = found["quoted"]
    return found["plain"] if quoted is None else quoted.replace('""', '"')


def print_items(console: Console, items: list[dict[str, Any]]) -> None:
    """Print items, if there are any, as a table or one after the other."""
    rows = [{name: to_text(value) for name, value in item.items()} for item in items]
    if rows:
        print_rows(console, rows)


def to_text(value: dict[str, Any]) -> str:
    """Write a value for a cell: text and numbers as they are, the rest as JSON."""
    match value:
        case {"S": text} | {"N": text}:
            return text
        case _:
            return orjson.dumps(attribute_to_plain(value)).decode()


def to_json_text(value: Any, *, indent: bool = True) -> str:
    """Return what has values of DynamoDB in it as JSON, binary ones in base64."""
    options = orjson.OPT_INDENT_2 if indent else 0
    return orjson.dumps(value, default=_encode_binary, option=options).decode()


def _encode_binary(binary: Any) -> str:
    return b64encode(binary).decode()
