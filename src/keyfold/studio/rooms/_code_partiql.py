"""The calls of a request as PartiQL statements.

Values of what an earlier statement found are parameters, written as question marks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from keyfold.expressions.parser import parse_condition, parse_projection, parse_update
from keyfold.expressions.trees import (
    Action,
    AddTo,
    And,
    Arithmetic,
    Between,
    Comparison,
    Condition,
    DeferredValue,
    DeleteFrom,
    FunctionCall,
    In,
    Not,
    Or,
    Path,
    Remove,
    SetTo,
    Source,
    ValuePlaceholder,
)
from keyfold.model._secrets import is_secret
from keyfold.studio.rooms._code_layout import comment
from keyfold.studio.rooms._code_plans import CodePlan, CodeStep, FoundValue, NowValue
from keyfold.studio.rooms._code_targets import CodeTarget

# How statements run: one by one, as a batch, or all or none.
RunKind = Literal["statement", "batch", "transaction"]


class PartiqlUnavailable(Exception):
    """A call that no PartiQL statement makes; the message says why."""


@dataclass(frozen=True, slots=True)
class PartiqlStep:
    """Statements that run together, what their parameters are, and remarks about them."""

    kind: RunKind
    statements: tuple[str, ...]
    parameters: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    # How many items the statement is to return: a parameter of the call, as PartiQL has no clause for it.
    limit: int | None = None


def write_partiql(target: CodeTarget, plan: CodePlan, now: int) -> str:
    """Return the statements as text, with remarks in comments."""
    blocks: list[str] = []
    notes = [*plan.notes]
    for step in plan.steps:
        try:
            made = make_statements(target, step, now)
        except PartiqlUnavailable as reason:
            blocks.append("\n".join(comment([f"{step.operation}: {reason}"], "--")))
            continue
        remarks = [*made.notes]
        if made.kind == "transaction":
            remarks.insert(0, "In one transaction, with ExecuteTransaction:")
        elif made.kind == "batch":
            remarks.insert(0, "Together, with BatchExecuteStatement:")
        lines = [*comment(remarks, "--"), *(f"{each};" for each in made.statements)]
        blocks.append("\n".join(lines))
    if plan.problem:
        notes.append(plan.problem)
    ttl = next((each.ttl for each in plan.steps if each.ttl is not None), None)
    if ttl is not None:
        notes.append(f"Leave out items whose {ttl} has passed: they have expired.")
    if any(each.patterns or each.types for each in plan.steps):
        notes.append("Leave out items of other entities, which lie between.")
    if notes:
        blocks.insert(0, "\n".join(comment(notes, "--")))
    return "\n\n".join(blocks) + "\n"


def make_statements(target: CodeTarget, step: CodeStep, now: int) -> PartiqlStep:
    """Return the statements of a call; raises PartiqlUnavailable."""
    body = target.rename(step.body)
    match step.operation:
        case "Query" | "Scan":
            return _select(target, body, step, now)
        case "GetItem":
            writer = _StatementWriter(body, now)
            text = f"SELECT {writer.columns} FROM {_name(body['TableName'])} WHERE {writer.key}"  # noqa: S608 - names and values are quoted
            if body.get("ConsistentRead"):
                writer.remark(_CONSISTENT)
            writer.remark_parameters()
            return PartiqlStep("statement", (text,), tuple(writer.parameters), writer.notes)
        case "PutItem" | "UpdateItem" | "DeleteItem":
            kind = step.operation.removesuffix("Item")
            text, notes, parameters = _write_change(kind, body, now)
            return PartiqlStep("statement", (text,), parameters, notes)
        case "TransactWriteItems" | "TransactGetItems":
            made = [
                _write_change(kind, member, now)
                for each in body["TransactItems"]
                for kind, member in each.items()
            ]
            return _join("transaction", made)
        case "BatchGetItem":
            if step.is_each:
                ((table, wanted),) = body["RequestItems"].items()
                key: dict[str, Any] = wanted["Keys"][0]
                found = [_write_change("Get", {"TableName": table, "Key": key}, now)]
                joined = _join("batch", found)
                note = "Once for each of the items found, up to 25 at a time:"
                return PartiqlStep(
                    "batch", joined.statements, joined.parameters, (note, *joined.notes)
                )
            gets = [
                {"TableName": table, "Key": key}
                for table, wanted in body["RequestItems"].items()
                for key in wanted["Keys"]
            ]
            return _join("batch", [_write_change("Get", each, now) for each in gets])
        case "BatchWriteItem":
            writes = [
                (kind.removesuffix("Request"), {"TableName": table, **request})
                for table, members in body["RequestItems"].items()
                for member in members
                for kind, request in member.items()
            ]
            return _join("batch", [_write_change(*each, now) for each in writes])
        case _:
            raise PartiqlUnavailable("PartiQL has no statement for it.")


_CONSISTENT = "Run it with ConsistentRead."
_Change = tuple[str, tuple[str, ...], tuple[str, ...]]


def _join(kind: RunKind, members: list[_Change]) -> PartiqlStep:
    notes = dict.fromkeys(note for _, each, _ in members for note in each)
    parameters = tuple(each for *_, found in members for each in found)
    return PartiqlStep(kind, tuple(text for text, *_ in members), parameters, tuple(notes))


def _select(target: CodeTarget, body: dict[str, Any], step: CodeStep, now: int) -> PartiqlStep:
    writer = _StatementWriter(body, now)
    source = _name(body["TableName"])
    if "IndexName" in body:
        source += f".{_name(body['IndexName'])}"
    clauses = [f"SELECT {writer.columns} FROM {source}"]  # noqa: S608 - names and values are quoted
    conditions = [
        writer.write_condition(parse_condition(body[name]).condition)
        for name in ("KeyConditionExpression", "FilterExpression")
        if name in body
    ]
    if conditions:
        clauses.append("WHERE " + " AND ".join(conditions))
    if body.get("ScanIndexForward") is False:
        sort = _find_sort(target, body)
        if sort is None:
            raise PartiqlUnavailable("PartiQL cannot order by several attributes.")
        clauses.append(f"ORDER BY {_name(sort)} DESC")
    notes = [_CONSISTENT] if body.get("ConsistentRead") else []
    if step.limit is not None and step.result != "count":
        first = "item" if step.limit == 1 else f"{step.limit} items"
        notes.append(f"Take the first {first}: PartiQL has no LIMIT clause.")
    if step.result == "count":
        notes.append("Count the items: PartiQL of DynamoDB has no COUNT.")
    writer.remark_parameters()
    limit = body.get("Limit")
    return PartiqlStep(
        "statement", (" ".join(clauses),), tuple(writer.parameters), (*notes, *writer.notes), limit
    )


def _find_sort(target: CodeTarget, body: dict[str, Any]) -> str | None:
    """Return the sort key of the table or index that is read; None if it has none, or several."""
    key = target.table.key
    for index in target.table.indexes:
        if index.name == body.get("IndexName"):
            key = index.key
    return key.sort[0] if len(key.sort) == 1 else None


def _write_change(kind: str, body: dict[str, Any], now: int) -> _Change:
    """Return the statement of a write, or of a member of a transaction or a batch."""
    writer = _StatementWriter(body, now)
    table = _name(body["TableName"])
    match kind:
        case "Put":
            item = ", ".join(
                f"{_text(name)}: {writer.write_value(value)}"
                for name, value in body["Item"].items()
            )
            text = f"INSERT INTO {table} VALUE {{{item}}}"
            condition = body.get("ConditionExpression", "")
            if not condition.startswith("attribute_not_exists("):
                writer.remark("PartiQL has no put: INSERT fails if the item exists.")
        case "Update":
            if "UpdateExpression" not in body:
                raise PartiqlUnavailable("it changes nothing, which no UPDATE may.")
            changes = writer.write_update(parse_update(body["UpdateExpression"]))
            text = f"UPDATE {table} {changes} WHERE {writer.key}{writer.rest}"
            if body.get("ReturnValues") == "ALL_NEW":
                text += " RETURNING ALL NEW *"
        case "Delete":
            text = f"DELETE FROM {table} WHERE {writer.key}{writer.rest}"  # noqa: S608 - names and values are quoted
            if body.get("ReturnValues") == "ALL_OLD":
                text += " RETURNING ALL OLD *"
        case "ConditionCheck":
            text = f"EXISTS(SELECT * FROM {table} WHERE {writer.key}{writer.rest})"  # noqa: S608 - names and values are quoted
        case _:
            text = f"SELECT {writer.columns} FROM {table} WHERE {writer.key}"  # noqa: S608 - names and values are quoted
    writer.remark_parameters()
    return text, writer.notes, tuple(writer.parameters)


@dataclass(slots=True)
class _StatementWriter:
    """Writes the expressions of a request as PartiQL; collects what the parameters are."""

    body: dict[str, Any]
    now: int
    parameters: list[str] = field(default_factory=list[str])
    _notes: list[str] = field(default_factory=list[str])

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._notes)

    def remark(self, note: str) -> None:
        if note not in self._notes:
            self._notes.append(note)

    def remark_parameters(self) -> None:
        """Remark what the question marks stand for."""
        if self.parameters:
            marks = "Each ? is" if len(self.parameters) == 1 else "The ? are, in order,"
            self.remark(f"{marks} {', '.join(self.parameters)}.")

    @property
    def columns(self) -> str:
        projection = self.body.get("ProjectionExpression")
        if projection is None:
            return "*"
        return ", ".join(map(self.write_path, parse_projection(projection)))

    @property
    def key(self) -> str:
        """The key as a condition."""
        pairs = self.body["Key"].items()
        return " AND ".join(f"{_name(name)} = {self.write_value(value)}" for name, value in pairs)

    @property
    def rest(self) -> str:
        """The condition of a write besides its key; that the item exists is implied."""
        text = self.body.get("ConditionExpression")
        if text is None:
            return ""
        kept = [
            each for each in _flatten(parse_condition(text).condition) if not self._is_implied(each)
        ]
        return "".join(f" AND {self._write_member(each)}" for each in kept)

    def _is_implied(self, condition: Condition) -> bool:
        match condition:
            case FunctionCall("attribute_exists", (Path() as path,)):
                return self._find_name(str(path.steps[0])) in self.body["Key"]
            case _:
                return False

    def write_condition(self, condition: Condition) -> str:
        match condition:
            case Comparison(sign, left, right):
                return f"{self.write_operand(left)} {sign} {self.write_operand(right)}"
            case And(conditions):
                return " AND ".join(map(self._write_member, conditions))
            case Or(conditions):
                return " OR ".join(map(self._write_member, conditions))
            case Not(inner):
                return f"NOT ({self.write_condition(inner)})"
            case Between(value, low, high):
                ends = f"{self.write_operand(low)} AND {self.write_operand(high)}"
                return f"{self.write_operand(value)} BETWEEN {ends}"
            case In(value, options):
                listed = ", ".join(map(self.write_operand, options))
                return f"{self.write_operand(value)} IN [{listed}]"
            case FunctionCall("attribute_exists", (path,)):
                return f"{self.write_operand(path)} IS NOT MISSING"
            case FunctionCall("attribute_not_exists", (path,)):
                return f"{self.write_operand(path)} IS MISSING"
            case FunctionCall(function, operands):
                return f"{function}({', '.join(map(self.write_operand, operands))})"

    def _write_member(self, condition: Condition) -> str:
        written = self.write_condition(condition)
        return f"({written})" if isinstance(condition, And | Or) else written

    def write_operand(self, operand: Source) -> str:
        match operand:
            case ValuePlaceholder(name):
                return self.write_value(self.body["ExpressionAttributeValues"][name])
            case Path():
                return self.write_path(operand)
            case FunctionCall("if_not_exists", _):
                raise PartiqlUnavailable("PartiQL of DynamoDB has no if_not_exists.")
            case FunctionCall(function, operands):
                return f"{function}({', '.join(map(self.write_operand, operands))})"
            case Arithmetic(sign, left, right):
                return f"{self.write_operand(left)} {sign} {self.write_operand(right)}"
            case DeferredValue():
                raise PartiqlUnavailable("a value of it depends on the time.")
            case _:
                return self.write_value(operand)

    def write_update(self, actions: tuple[Action, ...]) -> str:
        written: list[str] = []
        for action in actions:
            path = self.write_path(action.path)
            match action:
                case SetTo(_, source):
                    written.append(f"SET {path} = {self.write_operand(source)}")
                case Remove():
                    written.append(f"REMOVE {path}")
                case AddTo(_, value):
                    written.append(self._write_addition(path, value))
                case DeleteFrom(_, value):
                    written.append(f"SET {path} = set_delete({path}, {self.write_operand(value)})")
        return " ".join(written)

    def _write_addition(self, path: str, value: Any) -> str:
        stored = self.body["ExpressionAttributeValues"].get(getattr(value, "name", ""), {})
        if "N" in stored:
            self.remark("The number has to be there: unlike ADD, this does not start at 0.")
            return f"SET {path} = {path} + {self.write_value(stored)}"
        return f"SET {path} = set_add({path}, {self.write_operand(value)})"

    def write_path(self, path: Path) -> str:
        text = ""
        for step in path.steps:
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += ("." if text else "") + _name(self._find_name(step))
        return text

    def _find_name(self, name: str) -> str:
        return self.body.get("ExpressionAttributeNames", {}).get(name, name)

    def write_value(self, value: dict[str, Any]) -> str:
        match value:
            case {"found": FoundValue() as found}:
                name = found.attribute or "".join(found.pieces)
                self.parameters.append(f"{name} of what was found")
                return "?"
            case {"now": NowValue(more)}:
                self.remark("The number of seconds is that of now.")
                return str(self.now + more)
            case _:
                return self._write_stored(value)

    def _write_stored(self, value: dict[str, Any]) -> str:
        ((kind, data),) = value.items()
        if is_secret(data):
            self.parameters.append("the secret")
            return "?"
        match kind:
            case "S":
                return _text(data)
            case "N":
                return str(data)
            case "BOOL":
                return "TRUE" if data else "FALSE"
            case "NULL":
                return "NULL"
            case "L":
                return f"[{', '.join(map(self._write_stored, data))}]"
            case "M":
                pairs = data.items()
                inner = ", ".join(
                    f"{_text(name)}: {self._write_stored(each)}" for name, each in pairs
                )
                return f"{{{inner}}}"
            case "SS" | "NS":
                members = ", ".join(self._write_stored({kind[0]: each}) for each in data)
                return f"<<{members}>>"
            case _:
                raise PartiqlUnavailable("PartiQL has no literal for binary values.")


def _flatten(condition: Condition) -> Iterator[Condition]:
    if isinstance(condition, And):
        for each in condition.conditions:
            yield from _flatten(each)
    else:
        yield condition


def _name(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _text(text: str) -> str:
    doubled = str.__str__(text).replace("'", "''")
    return f"'{doubled}'"
