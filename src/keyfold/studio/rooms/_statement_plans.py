"""Plans of PartiQL statements: which operation each becomes, and why, without running it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from keyfold.analysis import ScratchTable
from keyfold.analysis.heat._populations import find_role
from keyfold.engine.items.keys import KeyAttribute, KeySchema
from keyfold.engine.partiql.access import KeyBranch, list_key_branches
from keyfold.engine.partiql.translation import bind_where
from keyfold.errors import ConditionalCheckFailedException
from keyfold.expressions.key_conditions import (
    AtLeast,
    AtMost,
    BeginsWith,
    EqualTo,
    Greater,
    Less,
    SortRange,
    Within,
)
from keyfold.expressions.partiql import (
    DeleteStatement,
    Exists,
    InsertStatement,
    Prepared,
    SelectStatement,
    UpdateStatement,
    prepare,
)
from keyfold.expressions.partiql.completion import quote_name
from keyfold.expressions.partiql.trees import Reference
from keyfold.expressions.partiql.values import read_item
from keyfold.expressions.printer import ReadablePrinter
from keyfold.expressions.trees import (
    And,
    Between,
    Comparison,
    Condition,
    FunctionCall,
    In,
    Or,
    Path,
)
from keyfold.model import Table
from keyfold.studio._problems import StudioProblem
from keyfold.studio._shown_keys import show_key
from keyfold.studio.rooms._shown_heat import find_partition_part
from keyfold.values import AttributeValue, Item

# Of more alternatives, a statement is a list of keys that nobody reads.
_MOST_SHOWN = 10
_MOST_TEXT = 200
_WRITES: Mapping[type, str] = {
    InsertStatement: "PutItem",
    UpdateStatement: "UpdateItem",
    DeleteStatement: "DeleteItem",
}


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """What a statement does: the operation that it becomes, on the table or an index.

    `branches` are the keys that it reads, None for a scan; `key` is that of the one item that it
    reads or writes. `filters` is what is checked after an item was read.
    """

    prepared: Prepared
    operation: str
    index: str | None
    branches: tuple[KeyBranch, ...] | None
    key: Item | None
    filters: str | None
    # The names of the columns; None for all of them.
    columns: tuple[str, ...] | None = None

    @property
    def is_write(self) -> bool:
        """Whether it may change an item."""
        return self.operation in _WRITES.values()


def plan_statement(table: Table, text: str) -> StatementPlan:
    """Return the plan of a statement; raises what the service would, and StudioProblem."""
    prepared = prepare({"Statement": text})
    statement = prepared.statement
    source = statement.select.source if isinstance(statement, Exists) else statement.source
    if source.table != table.name:
        message = f"This console is of {table.name}; the statement is about {source.table}."
        raise StudioProblem(422, "statement-of-another-table", message, names=source.table)
    # An empty table of the same kind refuses what the service refuses, in the same words. The item
    # that an UPDATE is for is not there.
    with ScratchTable(table) as scratch, suppress(ConditionalCheckFailedException):
        scratch.store.execute("ExecuteStatement", {"Statement": text})
    match statement:
        case SelectStatement():
            return _plan_select(table, prepared, statement)
        case InsertStatement():
            item = read_item(statement.item, prepared.parameters)
            new = {name: item[name] for name in table.key.names}
            return StatementPlan(prepared, "PutItem", None, None, new, "the item does not exist")
        case UpdateStatement() | DeleteStatement():
            schema = _find_schema(table, None)
            where, _ = bind_where(statement.where, prepared.parameters)
            branches = tuple(list_key_branches(schema, where) or ())
            filters = _write_filters(schema, where)
            operation = _WRITES[type(statement)]
            key = _find_key(schema, branches)
            return StatementPlan(prepared, operation, None, branches, key, filters)
        case Exists():  # refused above: it is for transactions
            raise AssertionError(text)


def _plan_select(table: Table, prepared: Prepared, select: SelectStatement) -> StatementPlan:
    index = select.source.index_name
    schema = _find_schema(table, index)
    where, _ = bind_where(select.where, prepared.parameters)
    branches = list_key_branches(schema, where)
    key = None if index is not None or branches is None else _find_key(schema, tuple(branches))
    operation = "Scan" if branches is None else "Query" if key is None else "GetItem"
    columns = None
    if select.columns is not None:
        # Others than references were refused.
        found = (each for each in select.columns if isinstance(each, Reference))
        columns = tuple(_name_column(each.steps) for each in found)
    return StatementPlan(
        prepared,
        operation,
        index,
        None if branches is None else tuple(branches),
        key,
        _write_filters(schema, where),
        columns,
    )


def _find_schema(table: Table, index: str | None) -> KeySchema:
    """Return the key of the table, or of an index, as the engine has it."""
    request = table.to_dynamodb()
    types = {
        each["AttributeName"]: each["AttributeType"] for each in request["AttributeDefinitions"]
    }
    described: dict[str | None, list[dict[str, str]]] = {None: request["KeySchema"]}
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        described |= {each["IndexName"]: each["KeySchema"] for each in request.get(kind) or ()}
    parts: dict[str, list[KeyAttribute]] = {"HASH": [], "RANGE": []}
    for each in described[index]:
        name = each["AttributeName"]
        parts[each["KeyType"]].append(KeyAttribute(name, types[name]))
    return KeySchema(tuple(parts["HASH"]), tuple(parts["RANGE"]))


def _find_key(schema: KeySchema, branches: tuple[KeyBranch, ...]) -> Item | None:
    """Return the key of the one item that a clause names; None if it names a range, or several."""
    branch = branches[0] if len(branches) == 1 else None
    if branch is None or branch.partition is None:
        return None
    key: Item = {schema.partition[0].name: branch.partition}
    if schema.sort:
        equal = [each.value for each in branch.sort if isinstance(each, EqualTo)]
        if not equal:
            return None
        key[schema.sort[0].name] = equal[0]
    return key


def _name_column(steps: tuple[str | int, ...]) -> str:
    """Return the name of a column in the response: the last name of its path, and its indexes."""
    name = ""
    for step in steps:
        name = step if isinstance(step, str) else f"{name}[{step}]"
    return name


# Text.


def show_plan(table: Table, plan: StatementPlan) -> dict[str, Any]:
    """Return a plan for the browser."""
    schema = _find_schema(table, plan.index)
    branches = plan.branches or ()
    keys = [write_branch(schema, each) for each in branches[:_MOST_SHOWN]]
    if plan.operation == "PutItem" and plan.key is not None:
        equal = (f"{name} = {write_value(value)}" for name, value in plan.key.items())
        keys = [" AND ".join(equal)]
    return {
        "operation": plan.operation,
        "writes": plan.is_write,
        "index": plan.index,
        "keys": keys,
        "alternatives": max(len(branches), 1),
        "partition": _show_partition(table, plan, schema),
        "filter": plan.filters,
        "columns": plan.columns,
        "why": [*_explain(table, plan, schema)],
    }


def _show_partition(table: Table, plan: StatementPlan, schema: KeySchema) -> dict[str, Any] | None:
    """Return the first partition that a statement names, decoded."""
    key = plan.key
    if key is None and plan.branches:
        branch = plan.branches[0]
        equal = [each.value for each in branch.sort if isinstance(each, EqualTo)]
        key = {} if branch.partition is None else {schema.partition[0].name: branch.partition}
        key |= {schema.sort[0].name: equal[0]} if equal else {}
    if not key:
        return None
    # Entities may share the partition key of an index; its sort key tells them apart.
    is_clear = plan.index is None or len(key) == len(schema.names)
    _, entity = find_role(table, plan.index or "", key) if is_clear else ("", "")
    known = entity if entity in table.entities else None
    part = find_partition_part(table, plan.index or "", known)
    name = schema.partition[0].name
    return {"entity": known, "key": show_key(part, name, key[name])}


def _explain(table: Table, plan: StatementPlan, schema: KeySchema) -> Iterator[str]:
    partition = schema.partition[0].name
    match plan.operation:
        case "Scan":
            where = "index" if plan.index else "table"
            yield (
                f"It reads the whole {where}: the WHERE clause does not name {partition}, "
                "the partition key, by = or IN in all of its alternatives."
            )
            yield from _suggest_indexes(table, plan)
        case "Query" if plan.branches is not None and len(plan.branches) > 1:
            yield f"It reads {len(plan.branches):,} ranges of keys, one after the other."
        case "UpdateItem" | "DeleteItem" | "PutItem":
            yield (
                "A statement writes past the declaration: fields are not validated, and unique "
                "values are not kept."
            )
        case _:
            pass


def _suggest_indexes(table: Table, plan: StatementPlan) -> Iterator[str]:
    """Yield how the statement could be a query: an index that is keyed by what it compares."""
    select = plan.prepared.statement
    if not isinstance(select, SelectStatement):
        return
    where, _ = bind_where(select.where, plan.prepared.parameters)
    names = (None, *(each.name for each in table.indexes if len(each.key.partition) == 1))
    for index in names:
        if index == plan.index or list_key_branches(_find_schema(table, index), where) is None:
            continue
        place = quote_name(table.name) if index is None else f'"{table.name}"."{index}"'
        yield f"FROM {place} would be a query: its partition key is named."


def write_branch(schema: KeySchema, branch: KeyBranch) -> str:
    """Return what an alternative requires of the key, as a condition."""
    assert branch.partition is not None  # scans have no branches
    parts = [f"{quote_name(schema.partition[0].name)} = {write_value(branch.partition)}"]
    parts += (write_constraint(quote_name(schema.sort[0].name), each) for each in branch.sort)
    return " AND ".join(parts)


def write_constraint(name: str, constraint: EqualTo | SortRange) -> str:
    """Return a constraint on the sort key, as a condition."""
    match constraint:
        case EqualTo(value):
            return f"{name} = {write_value(value)}"
        case Less(value):
            return f"{name} < {write_value(value)}"
        case AtMost(value):
            return f"{name} <= {write_value(value)}"
        case Greater(value):
            return f"{name} > {write_value(value)}"
        case AtLeast(value):
            return f"{name} >= {write_value(value)}"
        case Within(low, high):
            return f"{name} BETWEEN {write_value(low)} AND {write_value(high)}"
        case BeginsWith(prefix):
            return f"begins_with({name}, {write_value(prefix)})"


def write_value(value: AttributeValue, *, most: int | None = _MOST_TEXT) -> str:
    """Return a value as a statement has it; one with more than `most` characters is cut.

    >>> write_value({"S": "it's"}), write_value({"N": "1.10"})
    ("'it''s'", '1.10')
    """
    ((kind, data),) = value.items()
    if kind == "S":
        doubled = str(data).replace("'", "''")
        text = f"'{doubled}'"
    else:
        text = str(data) if kind == "N" else repr(data)
    return text if most is None or len(text) <= most else f"{text[:most]}…"


def _write_filters(schema: KeySchema, where: Condition | None) -> str | None:
    """Return the conditions that are checked for each item that was read; None if there are none."""
    conditions = where.conditions if isinstance(where, And) else () if where is None else (where,)
    others = [each for each in conditions if not _is_of_key(schema, each)]
    if not others:
        return None
    printer = ReadablePrinter(show=write_value)
    written = (
        f"({printer.write_condition(each)})"
        if isinstance(each, Or) and len(others) > 1
        else printer.write_condition(each)
        for each in others
    )
    return " AND ".join(written)


def _is_of_key(schema: KeySchema, condition: Condition) -> bool:
    """Return whether a condition is on key attributes alone, in a way that selects a range of keys."""
    partition = schema.partition[0].name
    match condition:
        case And(conditions) | Or(conditions):
            return all(_is_of_key(schema, each) for each in conditions)
        case Comparison(operator, Path((name,)), dict()) | Comparison(
            operator, dict(), Path((name,))
        ):
            return (name == partition and operator == "=") or (
                _is_sort(schema, name) and operator != "<>"
            )
        case In(Path((name,))):
            return name == partition or _is_sort(schema, name)
        case Between(Path((name,))) | FunctionCall("begins_with", (Path((name,)), _)):
            return _is_sort(schema, name)
        case _:
            return False


def _is_sort(schema: KeySchema, name: str | int) -> bool:
    return bool(schema.sort) and name == schema.sort[0].name
