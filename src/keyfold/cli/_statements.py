"""Running PartiQL statements, and printing the items they return."""

from __future__ import annotations

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
from keyfold.expressions.partiql.completion import table_in
from keyfold.store import Executor


@dataclass(frozen=True, slots=True)
class StatementResult:
    """The result of a statement; `token` starts the next page, None if there is none."""

    items: list[dict[str, Any]]
    token: str | None
    units: float
    is_write: bool = False

    @property
    def cost(self) -> str:
        """The number of items and the capacity consumed, as text."""
        # A write returns items only with RETURNING: "0 items" would suggest that it did nothing.
        is_quiet = self.is_write and not self.items
        found = "done" if is_quiet else count_of(len(self.items), "item")
        return f"{found}, {count_of(self.units, 'capacity unit')}"

    def to_json(self) -> dict[str, Any]:
        """Return the result as a JSON object, except that binary values are still bytes."""
        return {"items": self.items, "next": self.token, "capacity_units": self.units}


def run_statement(executor: Executor, db: str, request: dict[str, Any]) -> StatementResult:
    """Run a statement: one page if it has a limit, otherwise all pages.

    `db` names the database in errors. Raises TableMissing and the service's errors.
    """
    items: list[dict[str, Any]] = []
    units = 0.0
    asked = {**request, "ReturnConsumedCapacity": "TOTAL"}
    while True:
        try:
            response = executor.execute("ExecuteStatement", asked)
        except ResourceNotFoundException:
            # The service's error does not name the table.
            table = table_in(request["Statement"])
            if table is not None:
                require_table(executor, table, db)
            raise
        items += response["Items"]
        units += response["ConsumedCapacity"]["CapacityUnits"]
        token = response.get("NextToken")
        if token is None or "Limit" in request:
            is_write = request["Statement"].lstrip()[:6].lower() != "select"
            return StatementResult(items, token, units, is_write=is_write)
        asked = {**asked, "NextToken": token}


def print_items(console: Console, items: list[dict[str, Any]]) -> None:
    """Print items as a table, or one below the other if it would be too wide."""
    rows = [{name: to_text(value) for name, value in item.items()} for item in items]
    if rows:
        print_rows(console, rows)


def to_text(value: dict[str, Any]) -> str:
    """Return a value as the text of a cell: strings and numbers plain, the rest as JSON."""
    match value:
        case {"S": text} | {"N": text}:
            return text
        case _:
            return orjson.dumps(attribute_to_plain(value)).decode()


def to_json_text(value: Any, *, indent: bool = True) -> str:
    """Return a value that contains attribute values as JSON text, binaries in base64."""
    options = orjson.OPT_INDENT_2 if indent else 0
    return orjson.dumps(value, default=_encode_binary, option=options).decode()


def _encode_binary(binary: Any) -> str:
    return b64encode(binary).decode()
