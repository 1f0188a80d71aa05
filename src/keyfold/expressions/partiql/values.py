"""Conversion of literals and parameters to attribute values."""

from __future__ import annotations

import re
from typing import Any, cast

from keyfold.errors import ValidationException
from keyfold.expressions.partiql.trees import (
    BinaryOperation,
    Constant,
    Expression,
    Function,
    Ion,
    Number,
    PositionalParameter,
    Reference,
    Sequence,
    Struct,
    Text,
    UnaryOperation,
    Unsupported,
    service_name,
)
from keyfold.values import (
    MAX_NESTING,
    NESTED_TOO_DEEP,
    AttributeValue,
    Item,
    normalise_number,
    normalise_value,
)

PARAMETERS_DIFFER = "Number of parameters in request and statement don't match."
_BAG_TYPES = (
    "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"
)
_ROOT: tuple[str | int, ...] = ()
_EXPONENT = re.compile(r"[+-]?[0-9]*+(?:\.[0-9]*+)?+[eE]([+-]?[0-9]++)\Z")
_INT = 1 << 31
# An exponent with more digits than this does not fit 32 bits; do not convert it to int.
_LONG_EXPONENT = 12
_ION_TYPES = (
    ("BLOB", re.compile(r"\{\{[^\"']*\}\}\Z", re.DOTALL)),
    ("CLOB", re.compile(r"\{\{.*\}\}\Z", re.DOTALL)),
    ("TIMESTAMP", re.compile(r"[0-9]{4}(T|-[0-9]{2})")),
    ("INT", re.compile(r"[+-]?[0-9]+\Z")),
    ("FLOAT", re.compile(r"[+-]?[0-9.]+[eE][+-]?[0-9]+\Z")),
    ("DECIMAL", re.compile(r"[+-]?[0-9.]+([dD][+-]?[0-9]+)?\Z")),
    ("BOOL", re.compile(r"(true|false)\Z")),
    ("NULL", re.compile(r"null")),
    ("STRING", re.compile(r"[\"]|'''")),
    ("LIST", re.compile(r"\[")),
    ("STRUCT", re.compile(r"\{")),
    ("SEXP", re.compile(r"\(")),
)


def read_parameters(given: list[Any] | None) -> list[AttributeValue]:
    """Return the parameters of a statement in canonical form; raises ValidationException."""
    parameters: list[AttributeValue] = []
    for raw in given or ():
        _check_numbers(raw, 0)
        parameters.append(normalise_value(raw)[0])
    return parameters


def _check_numbers(raw: Any, depth: int) -> None:
    """Check the numbers of a parameter as the service does, which parses them as Java BigDecimals.

    An exponent beyond 32 bits is not a number. The first error is reported.
    """
    if not isinstance(raw, dict):
        return
    for kind, data in cast("dict[str, Any]", raw).items():
        if kind == "N" and isinstance(data, str):
            _check_exponent(data)
        elif isinstance(data, list | dict) and kind in ("NS", "L", "M"):
            _check_members(kind, cast("list[Any] | dict[str, Any]", data), depth)


def _check_members(kind: str, data: list[Any] | dict[str, Any], depth: int) -> None:
    members = data if isinstance(data, list) else list(data.values())
    if kind == "NS":
        for member in members:
            if isinstance(member, str):
                _check_exponent(member)
        return
    if depth >= MAX_NESTING - 1:
        raise ValidationException(NESTED_TOO_DEEP)
    for member in members:
        _check_numbers(member, depth + 1)


def _check_exponent(text: str) -> None:
    match = _EXPONENT.match(text)
    if match is None:
        normalise_number(text)
        return
    exponent = match[1]
    if len(exponent) > _LONG_EXPONENT or not -_INT < int(exponent) < _INT:
        raise ValidationException(f"The parameter cannot be converted to a numeric value: {text}")
    if int(exponent) == _INT - 1:
        # The service computes the magnitude in 32 bits; it overflows to a negative number.
        raise ValidationException(
            "Number underflow. Attempting to store a number with magnitude smaller than "
            "supported range"
        )
    normalise_number(text)


def read_value(node: Expression, parameters: list[AttributeValue]) -> AttributeValue | None:
    """Return the value of a literal or parameter; None for any other expression.

    Raises ValidationException for a literal that is not a DynamoDB value.
    """
    match node:
        case PositionalParameter(place):
            if place >= len(parameters):
                raise ValidationException(PARAMETERS_DIFFER)
            return parameters[place]
        case Text() | Number() | Sequence() | Struct() | Ion():
            return _normalise(_literal(node, _ROOT))
        case Constant(value) if value != "missing":
            return _literal(node, _ROOT)
        case _:
            return None


def read_item(node: Expression, parameters: list[AttributeValue]) -> Item:
    """Return the item of an INSERT; raises ValidationException."""
    if not isinstance(node, Struct):
        raise ValidationException(
            "Unsupported format in item expression. Please use struct format {...} to express "
            f"item values for insert statement. at {node.at}"
        )
    item: Item = {}
    for name, value in _read_pairs(node, _ROOT):
        found = read_value(value, parameters)
        if found is None:
            raise _unsupported(_shown(value), _ROOT, value.at)
        item[name] = found
    return item


def _normalise(value: AttributeValue) -> AttributeValue:
    """Check a whole value for what its parts do not show: nesting depth, duplicates in sets."""
    return normalise_value(value)[0]


def _literal(node: Expression, steps: tuple[str | int, ...]) -> AttributeValue:
    match node:
        case Text(value):
            return {"S": value}
        case Number(value):
            return {"N": _number(value, steps)}
        case Constant("true" | "false" as truth):
            return {"BOOL": truth == "true"}
        case Constant("null"):
            return {"NULL": True}
        case Sequence("list", members):
            return {
                "L": [_literal(member, (*steps, place)) for place, member in enumerate(members)]
            }
        case Sequence("bag", members):
            return _set(members, steps)
        case Struct():
            return {
                "M": {
                    name: _literal(value, (*steps, name))
                    for name, value in _read_pairs(node, steps)
                }
            }
        case Ion(value, at):
            kind = next((name for name, is_it in _ION_TYPES if is_it.match(value)), "SYMBOL")
            raise ValidationException(
                f"Ion Literals are not supported: {kind} under key {_dotted(steps)} at {at}"
            )
        case _:
            raise _unsupported(_kind(node), steps, node.at)


def _number(text: str, steps: tuple[str | int, ...]) -> str:
    try:
        return normalise_number(text)
    except ValidationException as error:
        raise ValidationException(f"{error.message} under {_indexed(steps)}") from None


def _set(members: tuple[Expression, ...], steps: tuple[str | int, ...]) -> AttributeValue:
    if not members:
        raise ValidationException("Empty bags are not supported")
    for member in members:
        if not isinstance(member, Text | Number):
            raise ValidationException(f"{_BAG_TYPES} at {member.at}")
    if all(isinstance(member, Text) for member in members):
        return {"SS": [member.value for member in members if isinstance(member, Text)]}
    if all(isinstance(member, Number) for member in members):
        return {
            "NS": [_number(member.value, steps) for member in members if isinstance(member, Number)]
        }
    raise ValidationException(_BAG_TYPES)


def _read_pairs(node: Struct, steps: tuple[str | int, ...]) -> list[tuple[str, Expression]]:
    seen: set[str] = set()
    pairs: list[tuple[str, Expression]] = []
    for name, value in node.pairs:
        if not isinstance(name, Text):
            raise ValidationException(
                f"Tuple keys must be of type String. Actual type: {_kind(name)} "
                f"under {_dotted(steps)} at {name.at}"
            )
        if not name.value:
            raise ValidationException("Path component cannot be an empty string")
        if name.value in seen:
            raise ValidationException(
                f"Duplicate keys in tuple. Key: {name.value} under {_dotted(steps)} at {name.at}"
            )
        seen.add(name.value)
        pairs.append((name.value, value))
    return pairs


def _unsupported(shown: str, steps: tuple[str | int, ...], at: str) -> ValidationException:
    return ValidationException(f"Unsupported data type: {shown} under key {_dotted(steps)} at {at}")


def _dotted(steps: tuple[str | int, ...]) -> str:
    return ".".join(("root", *map(str, steps)))


def _indexed(steps: tuple[str | int, ...]) -> str:
    return "root" + "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps)


def _shown(node: Expression) -> str:
    """Return how messages about the value of an attribute show a node."""
    match node:
        case Reference((str(name), *_)):
            return name
        case Function(name):
            return name
        case BinaryOperation(operator) | UnaryOperation(operator):
            return operator
        case Constant(value):
            return value.upper()
        case _:
            return _kind(node)


def _kind(node: Expression) -> str:
    """Return the name of a kind of node in messages about the contents of a value."""
    match node:
        case Reference(steps):
            return "VariableReference" if len(steps) == 1 else "Path"
        case Constant("missing"):
            return "MISSING"
        case Text() | Number() | Constant():
            return "Literal"
        case Unsupported():
            return "Expression"
        case _:
            return service_name(node)
