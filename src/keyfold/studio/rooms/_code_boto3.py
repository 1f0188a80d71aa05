"""The calls of a request as Python code with boto3: items as dictionaries, numbers as Decimal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from keyfold.expressions.parser import parse_condition
from keyfold.expressions.trees import (
    And,
    Between,
    Comparison,
    Condition,
    FunctionCall,
    Path,
    ValuePlaceholder,
)
from keyfold.studio.rooms._code_layout import WIDTH, comment, indent, lay_out
from keyfold.studio.rooms._code_plans import CodePlan, CodeStep, FoundValue, NowValue
from keyfold.studio.rooms._code_python import PythonWriter, quote
from keyfold.studio.rooms._code_targets import CodeTarget

_METHODS = {
    "Query": "query",
    "Scan": "scan",
    "GetItem": "get_item",
    "PutItem": "put_item",
    "UpdateItem": "update_item",
    "DeleteItem": "delete_item",
}
_COMPARED = {"=": "eq", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
_READER = '''def read_all(call, **request):
    """Yield the items of every page."""
    while True:
        page = call(**request)
        yield from page["Items"]
        if "LastEvaluatedKey" not in page:
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]'''
_BATCH = 100


def write_boto3(target: CodeTarget, plan: CodePlan) -> str:
    """Return the code; the last result is `item`, `items` or `count`."""
    return _Boto3Writer(target, plan).write()


@dataclass(slots=True)
class _Boto3Writer:
    target: CodeTarget
    plan: CodePlan
    python: PythonWriter = field(default_factory=PythonWriter)
    uses_reader: bool = False
    uses_now: bool = False

    def write(self) -> str:
        blocks = [*self._write_steps()]
        self.python.use("boto3")
        options = "".join(
            f", {name}={quote(value)}"
            for name, value in (
                ("region_name", self.target.region),
                ("endpoint_url", self.target.endpoint),
            )
            if value is not None
        )
        head = [
            f'db = boto3.resource("dynamodb"{options})',
            f"table = db.Table({quote(self.target.table_name)})",
        ]
        if self.uses_now or self.plan.uses_now:
            self.python.use("time")
            head.append("now = int(time.time())")
        notes = [*self.plan.notes, *([self.plan.problem] if self.plan.problem else [])]
        parts = ["\n".join(self.python.write_imports())]
        if self.uses_reader:
            parts.append(f"\n{_READER}\n")
        parts += ["\n".join(head), *blocks]
        return "\n\n".join([*(["\n".join(comment(notes))] if notes else []), *parts]) + "\n"

    def _write_steps(self) -> Iterator[str]:
        steps = self.plan.steps
        for place, step in enumerate(steps):
            is_last = place == len(steps) - 1 and self.plan.problem is None
            name = _name_result(step) if is_last else "found"
            lines = self._write_step(step, name)
            if place and not step.is_each:
                # The step before may have found nothing.
                empty = {"item": "None", "items": "[]", "count": "0"}.get(step.result, "None")
                lines = [f"{name} = {empty}", "if found is not None:", *map(indent, lines)]
            yield "\n".join(lines)

    def _write_step(self, step: CodeStep, name: str) -> list[str]:
        body = self.target.rename(step.body)
        match step.operation:
            case "Query" | "Scan":
                return self._write_read(step, body, name)
            case "GetItem":
                condition = self._write_condition(step)
                lines = [f'{name} = {self._write_call("GetItem", body)}.get("Item")']
                if condition:
                    lines += [
                        f"if {name} and not ({_about(condition, name)}):",
                        f"    {name} = None",
                    ]
                return lines
            case "BatchGetItem":
                return self._write_batch_get(step, body, name)
            case "TransactGetItems":
                called = self._write_client("transact_get_items", body)
                return [
                    f"answer = {called}",
                    f'{name} = [each["Item"] for each in answer["Responses"] if "Item" in each]',
                ]
            case "TransactWriteItems":
                return [self._write_client("transact_write_items", body)]
            case "BatchWriteItem":
                return self._write_batch(body)
            case _:
                called = self._write_call(step.operation, body)
                if body.get("ReturnValues") in ("ALL_NEW", "ALL_OLD"):
                    return [f'{name} = {called}.get("Attributes")']
                return [called]

    def _write_read(self, step: CodeStep, body: dict[str, Any], name: str) -> list[str]:
        self.uses_reader = True
        method = f"{self._write_table(body)}.{_METHODS[step.operation]}"
        members = [method, *self._write_members(body)]
        lines = [f"found = {lay_out('read_all(', members, ')')}"]
        conditions = self._list_conditions(step)
        kept = lay_out_loop("item", "found", conditions)
        if step.result == "item":
            source = f"({kept})" if conditions else "found"
            lines.append(f"{name} = next({source}, None)")
        elif step.result == "count":
            lines.append(f"{name} = sum({lay_out_loop('1', 'found', conditions)})")
        elif step.limit is not None:
            islice = self.python.use("itertools", "islice")
            source = f"({kept})" if conditions else "found"
            lines.append(f"{name} = list({islice}({source}, {step.limit}))")
        elif conditions:
            lines.append(f"{name} = [{kept}]")
        else:
            lines.append(f"{name} = list(found)")
        if step.patterns or step.types:
            lines.insert(1, "# Items of other entities lie between these.")
        return lines

    def _write_condition(self, step: CodeStep) -> str:
        return " and ".join(self._list_conditions(step))

    def _list_conditions(self, step: CodeStep) -> list[str]:
        """Return the conditions of items that are returned, about `item`; empty if all are."""
        conditions: list[str] = []
        for attribute, pattern in step.patterns:
            self.python.use("re")
            conditions.append(f"re.fullmatch(r{quote_raw(pattern)}, item[{quote(attribute)}])")
        if step.types is not None:
            attribute, kinds = step.types
            options = ", ".join(map(quote, kinds))
            conditions.append(f"item.get({quote(attribute)}) in [{options}]")
        if step.ttl is not None:
            self.uses_now = True
            inf = self.python.use("math", "inf")
            conditions.append(f"item.get({quote(step.ttl)}, {inf}) > now")
        return conditions

    def _write_batch_get(self, step: CodeStep, body: dict[str, Any], name: str) -> list[str]:
        lines: list[str] = []
        ((table, wanted),) = body["RequestItems"].items()
        keys = [self._write_item(each) for each in wanted["Keys"]]
        more = "".join(
            f", {quote(option)}: {value!r}"
            for option, value in wanted.items()
            if option == "ConsistentRead"
        )
        if step.is_each:
            # The same item may be named twice, which a batch must not.
            lines.append(f"keys = [{', '.join(keys)} for each in found]")
            lines.append("keys = list({tuple(key.items()): key for key in keys}.values())")
        else:
            lines.append(lay_out("keys = [", keys, "]"))
        shown = quote(table)
        condition = self._write_condition(step)
        kept = f"[item for item in answer if {condition}]" if condition else "answer"
        return [
            *lines,
            f"{name} = []",
            f"for start in range(0, len(keys), {_BATCH}):",
            f'    wanted = {{{shown}: {{"Keys": keys[start : start + {_BATCH}]{more}}}}}',
            "    while wanted:",
            "        page = db.batch_get_item(RequestItems=wanted)",
            f'        answer = page["Responses"].get({shown}, [])',
            f"        {name} += {kept}",
            '        wanted = page.get("UnprocessedKeys")',
        ]

    def _write_batch(self, body: dict[str, Any]) -> list[str]:
        members = self._write_plain(body["RequestItems"])
        return [
            f"wanted = {members}",
            "while wanted:",
            '    wanted = db.batch_write_item(RequestItems=wanted).get("UnprocessedItems")',
        ]

    def _write_client(self, method: str, body: dict[str, Any]) -> str:
        members = [f"TransactItems={self._write_plain(body['TransactItems'])}"]
        return lay_out(f"db.meta.client.{method}(", members, ")")

    def _write_call(self, operation: str, body: dict[str, Any]) -> str:
        method = f"{self._write_table(body)}.{_METHODS[operation]}"
        return lay_out(f"{method}(", [*self._write_members(body)], ")", WIDTH - 16)

    def _write_table(self, body: dict[str, Any]) -> str:
        name = body["TableName"]
        return "table" if name == self.target.table_name else f"db.Table({quote(name)})"

    def _write_members(self, body: dict[str, Any]) -> Iterator[str]:
        condition = body.get("KeyConditionExpression")
        written = None if condition is None else self._write_key_condition(body)
        used = _find_placeholders(
            text
            for name, text in body.items()
            if name.endswith("Expression") and (name != "KeyConditionExpression" or written is None)
        )
        for name, value in body.items():
            match name:
                case "TableName":
                    continue
                case "KeyConditionExpression" if written is not None:
                    yield f"{name}={written}"
                case "ExpressionAttributeNames":
                    kept = {each: held for each, held in value.items() if each in used}
                    if kept:
                        yield f"{name}={self.python.write(kept)}"
                case "ExpressionAttributeValues":
                    kept = {each: held for each, held in value.items() if each in used}
                    if kept:
                        yield f"{name}={self._write_item(kept)}"
                case "Key" | "Item":
                    yield f"{name}={self._write_item(value)}"
                case _:
                    yield f"{name}={self.python.write(value)}"

    def _write_key_condition(self, body: dict[str, Any]) -> str | None:
        """Return a key condition by boto3's Key; None if it has none for it."""
        names = body.get("ExpressionAttributeNames", {})
        values = body.get("ExpressionAttributeValues", {})
        condition = parse_condition(body["KeyConditionExpression"]).condition
        parts = condition.conditions if isinstance(condition, And) else (condition,)
        written = [self._write_comparison(each, names, values) for each in parts]
        if any(each is None for each in written):
            return None
        self.python.use("boto3.dynamodb.conditions", "Key")
        return " & ".join(each for each in written if each is not None)

    def _write_comparison(
        self, condition: Condition, names: dict[str, str], values: dict[str, Any]
    ) -> str | None:
        match condition:
            case Comparison(sign, Path() as path, ValuePlaceholder(name)) if sign in _COMPARED:
                method, operands = _COMPARED[sign], [name]
            case FunctionCall("begins_with", (Path() as path, ValuePlaceholder(name))):
                method, operands = "begins_with", [name]
            case Between(Path() as path, ValuePlaceholder(low), ValuePlaceholder(high)):
                method, operands = "between", [low, high]
            case _:
                return None
        attribute = names.get(str(path), str(path))
        given = ", ".join(self._write_value(values[each]) for each in operands)
        return f"Key({quote(attribute)}).{method}({given})"

    def _write_item(self, item: dict[str, Any], width: int = WIDTH) -> str:
        members = [
            f"{quote(name)}: {self._write_value(value, width - 4)}" for name, value in item.items()
        ]
        return lay_out("{", members, "}", width - 12)

    def _write_value(self, value: dict[str, Any], width: int = WIDTH) -> str:
        match value:
            case {"found": FoundValue() as found}:
                return _write_found(found)
            case {"now": NowValue(more)}:
                return f"now + {more}" if more > 0 else f"now - {-more}" if more else "now"
            case _:
                return self.python.write_stored(value, width)

    def _write_plain(self, value: Any, width: int = WIDTH) -> str:
        """Return the members of a transaction or a batch."""
        match value:
            case list():
                inner = [self._write_plain(each, width - 4) for each in cast("list[Any]", value)]
                return lay_out("[", inner, "]", width - 12)
            case dict():
                members: list[str] = []
                for name, each in cast("dict[str, Any]", value).items():
                    if name in ("Key", "Item", "ExpressionAttributeValues"):
                        shown = self._write_item(each, width - 4)
                    else:
                        shown = self._write_plain(each, width - 4)
                    members.append(f"{quote(name)}: {shown}")
                return lay_out("{", members, "}", width - 12)
            case _:
                return self.python.write(value)


def _name_result(step: CodeStep) -> str:
    return {"item": "item", "items": "items", "count": "count"}.get(step.result, "item")


def lay_out_loop(value: str, source: str, conditions: Sequence[str]) -> str:
    """Return a loop over items with conditions: on one line if it fits, otherwise on several.

    >>> lay_out_loop("item", "found", ["item"])
    'item for item in found if item'
    """
    loop = f"for item in {source}"
    line = " ".join([value, loop, *([f"if {' and '.join(conditions)}"] if conditions else [])])
    if len(line) <= WIDTH - 16:
        return line
    tests = [f"{'and' if place else 'if'} {each}" for place, each in enumerate(conditions)]
    return "\n" + indent("\n".join([value, loop, *tests])) + "\n"


def _about(condition: str, name: str) -> str:
    """Return a condition about an item of another name."""
    return condition.replace("item.get(", f"{name}.get(").replace("item[", f"{name}[")


def _write_found(found: FoundValue) -> str:
    name = "each" if found.is_each else "found"
    pieces = [
        f"{name}[{quote(each)}]" if place % 2 else quote(each) if each else ""
        for place, each in enumerate(found.pieces)
    ]
    return " + ".join(each for each in pieces if each)


def _find_placeholders(expressions: Iterable[str]) -> set[str]:
    """Return the placeholders in expressions."""
    found: set[str] = set()
    for text in expressions:
        for sign in "().,[]=<>":
            text = text.replace(sign, " ")  # noqa: PLW2901 - one sign after the other
        found |= {each for each in text.split() if each[0] in "#:"}
    return found


def quote_raw(pattern: str) -> str:
    """Return a regular expression in quotes, for a raw literal."""
    return f"'{pattern}'" if '"' in pattern else f'"{pattern}"'
