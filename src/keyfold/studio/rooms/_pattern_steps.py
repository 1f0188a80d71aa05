"""The calls of a request, before it runs: in order, with what each needs of the ones before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from pydantic import ValidationError

from keyfold.analysis.lint._explained import find_writes
from keyfold.api import find_operation
from keyfold.expressions import ReadablePrinter
from keyfold.expressions.parser import parse_condition, parse_update
from keyfold.model import Request, Table
from keyfold.model._pattern_arguments import placeholder_result, sample_result
from keyfold.model._patterns import PatternStep, explain_request
from keyfold.model._requests import Chain, Mapped
from keyfold.model._secrets import MASKED, is_secret
from keyfold.model._writes import Write
from keyfold.studio._actions import describe_call
from keyfold.studio._recording import MadeCall
from keyfold.studio._shown_keys import show_key
from keyfold.studio._shown_values import show_stored
from keyfold.studio.rooms._pattern_lines import is_own_lookup, show_step

_FOUND = "{found"
# Follows the name of a value that is taken from every found item.
OF_EACH = " of each"


@dataclass(frozen=True, slots=True)
class RequestStep:
    """A call that a request makes. `level` is how many responses have to be known before it.

    `is_sampled` says that values of a response were replaced by samples of their types.
    """

    step: PatternStep
    level: int = 0
    is_sampled: bool = False

    @property
    def handed(self) -> tuple[str, ...]:
        """What it takes from an earlier response, such as `user` and `order`."""
        return find_handed(self.step.key)

    @property
    def writes(self) -> bool:
        """Whether it changes something."""
        return not find_operation(self.step.operation).is_read


def walk_request(request: Request[Any]) -> tuple[RequestStep, ...]:
    """Return the calls that a request makes.

    Calls that no placeholder can be made for, since they depend on values of a response, are left out.
    """
    return tuple(_walk(request, 0))


def _walk(request: Request[Any], level: int) -> Iterator[RequestStep]:
    match request:
        case Mapped(request=inner):
            yield from _walk(inner, level)
        case Chain(first=first, make=make):
            known = [*_walk(first, level)]
            yield from known
            following = max((each.level for each in known), default=level) + 1
            found: Any = placeholder_result(first)
            try:
                yield from _walk(make(found), following)
            except ValidationError:
                # It makes an entity of what was found, and placeholders are not of its types.
                with suppress(Exception):  # a user's function, called with samples
                    for each in _walk(make(sample_result(found)), following):
                        yield RequestStep(each.step, each.level, is_sampled=True)
            except Exception:  # noqa: BLE001 - a user's function, called with placeholders
                return
        case _:
            for step in explain_request(request):
                yield RequestStep(step, level)


def find_handed(text: str) -> tuple[str, ...]:
    """Return the names of the found values in the text of a key, without repetitions.

    >>> find_handed("pk = 'U#{found.user}#O' and sk begins with '{found.order}'")
    ('user', 'order')
    >>> find_handed('pk={found[i].user}; sk={found.key["sk"]["S"]}')
    ('user of each', 'sk')
    """
    names: dict[str, None] = {}
    for piece in text.split(_FOUND)[1:]:
        path = piece.partition("}")[0]
        if path.startswith('.key["'):
            names[path.split('"')[1]] = None
            continue
        is_each = path.startswith("[i]") or "[i]." in path
        name = path.rpartition(".")[2].partition("[")[0]
        if name:
            names[name + OF_EACH if is_each else name] = None
    return tuple(names)


def align_steps(steps: Sequence[RequestStep], calls: Sequence[MadeCall]) -> list[list[str]]:
    """Return what each call that was made was handed by those before it.

    A step may take several calls, one for each page of a query.
    """
    handed: list[list[str]] = []
    place = -1
    for call in calls:
        is_next = place + 1 < len(steps) and _is_of(steps[place + 1], call)
        is_same = place >= 0 and _is_of(steps[place], call) and not is_next
        if is_same or not is_next:
            handed.append([])
            continue
        place += 1
        handed.append([*steps[place].handed])
    return handed


def _is_of(step: RequestStep, call: MadeCall) -> bool:
    return (step.step.operation, step.step.index) == (call.operation, call.index)


def show_steps(table: Table, steps: Iterable[RequestStep], now: float) -> list[dict[str, Any]]:
    """Return the calls of a request for the browser: what they read and write, as far as it is known."""
    return [_show(table, each, now) for each in steps]


def _show(table: Table, each: RequestStep, now: float) -> dict[str, Any]:
    step = each.step
    shown = show_step(table, step)
    moment = datetime.fromtimestamp(now, UTC)
    body = find_body(step, moment)
    if body is not None and step.operation in ("Query", "Scan", "GetItem"):
        with suppress(KeyError, TypeError, ValueError):  # a placeholder where a number should be
            shown["key"] = describe_call(table, step.operation, body) or shown["key"]
    shown["read"] = not each.writes
    shown["level"] = each.level
    shown["handed"] = [*each.handed]
    shown["sampled"] = each.is_sampled
    shown["body"] = None if body is None else show_body(body)
    shown["members"] = [*_list_members(table, step, moment)]
    shown["guards"] = [*_list_guards(step)]
    return shown


def find_body(step: PatternStep, now: datetime) -> Any:
    """Return the body of the call of a step; None if it is not known before it runs."""
    request: Any = step.request
    if request is None:
        return None
    try:
        body = request.to_dynamodb(now=now)
    except Exception:  # noqa: BLE001 - placeholders are no values of a user's types
        return None
    if is_own_lookup(step):
        return {name: body[name] for name in ("TableName", "Key") if name in body} or None
    if step.operation == "TransactWriteItems" and "TransactItems" not in body:
        kind = request.operation.removesuffix("Item")
        return {"TransactItems": [{kind: body}]}
    return body


def _list_guards(step: PatternStep) -> Iterator[str]:
    """Yield the unique fields that a write guards by items of their own, in the same transaction."""
    for write in find_writes(step):
        if write.changes_unique:
            yield from (f"{write.schema.name}.{name}" for name in write.schema.unique)


def _list_members(table: Table, step: PatternStep, now: datetime) -> Iterator[dict[str, Any]]:
    """Yield what each write of a call changes, in words."""
    for write in find_writes(step):
        try:
            body = write.to_dynamodb(now=now)
        except Exception:  # noqa: BLE001, S112 - placeholders are no values of a user's types
            continue
        yield _show_write(table, write, body)


def _show_write(table: Table, write: Write[Any], body: dict[str, Any]) -> dict[str, Any]:
    key = body.get("Key", body.get("Item", {}))
    parts = {part.attribute: part for part in write.schema.keys}
    printer = ReadablePrinter(
        body.get("ExpressionAttributeNames"), body.get("ExpressionAttributeValues")
    )
    shown: dict[str, Any] = {
        "action": write.operation.removesuffix("Item"),
        "entity": write.schema.name if write.schema.table is table else None,
        "keys": [
            show_key(parts.get(name), name, key[name])
            for name in write.schema.table.key.names
            if name in key
        ],
        "attributes": [],
        "changes": None,
        "condition": None,
    }
    if "Item" in body:
        shown["attributes"] = [
            {"name": name, "value": show_stored(value)}
            for name, value in body["Item"].items()
            if name not in parts
        ]
    if "UpdateExpression" in body:
        shown["changes"] = printer.write_update(parse_update(body["UpdateExpression"]))
    if "ConditionExpression" in body:
        condition = parse_condition(body["ConditionExpression"]).condition
        shown["condition"] = printer.write_condition(condition)
    return shown


def show_body(value: Any) -> Any:
    """Return a request of DynamoDB's API as JSON: secrets are masked, and binary is in base 64."""
    if is_secret(value):
        return MASKED
    match value:
        case dict():
            members = cast("dict[str, Any]", value)
            return {name: show_body(each) for name, each in members.items()}
        case list() | tuple():
            return [show_body(each) for each in cast("list[Any]", value)]
        case bytes():
            return show_stored({"B": value}, most=len(value))["B"]
        case bool() | int() | float() | None:
            return value
        case _:
            return str(value)
