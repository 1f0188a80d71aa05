"""Bounds of fields as conditions of updates whose results are not known in advance.

An `increment` must not leave a number's bounds, nor an `append` those of a list's length. The
stored value is not known, so the bound becomes a condition on it: `age >= 18 - by`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Context, Decimal
from typing import Any

from keyfold.expressions import (
    Comparator,
    Comparison,
    Condition,
    FunctionCall,
    Not,
    Operand,
    Path,
    join_all,
)
from keyfold.model._any_values import Encode, encode_any
from keyfold.model._core_schemas import Node
from keyfold.model._placeholders import Placeholder
from keyfold.model._scalars import encode_decimal, show
from keyfold.model._value_validation import Uncheckable, ValueRules
from keyfold.values import AttributeValue

# More digits than the sum of two of DynamoDB's numbers can have.
_EXACT = Context(prec=300)
_NUMBERS = frozenset({"int", "float", "decimal"})
_COMPARATORS: tuple[tuple[str, Comparator, str], ...] = (
    ("ge", ">=", "at least"),
    ("gt", ">", "greater than"),
    ("le", "<=", "at most"),
    ("lt", "<", "less than"),
)
_COMPARE: dict[Comparator, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}
# What stays of the constraints of a number in those of a number that is added to it.
_ADDITIVE = ("multiple_of", "decimal_places", "strict", "allow_inf_nan", "microseconds_precision")


@dataclass(frozen=True, slots=True)
class FieldBound:
    """A condition that keeps a field within its bounds; `fact` says what it prevents."""

    condition: Condition
    fact: str


# Numbers.


def addend_schema(rules: ValueRules) -> Node:
    """Return the core schema of what may be added to a number; raises Uncheckable."""
    unwrapped = rules.unwrapped
    core = unwrapped.core
    _check_plain(rules)
    if core["type"] == "any":
        return core
    if core["type"] == "union" and not unwrapped.constraints:
        choices = [rules.inner(each).unwrapped for each in core["choices"]]
        if all(
            each.core["type"] in _NUMBERS and not each.constraints and not each.functions
            for each in choices
        ):
            return core
    if core["type"] not in _NUMBERS | {"timedelta"}:
        raise Uncheckable(f"no condition can say that it stays a valid {core['type']}")
    if "max_digits" in unwrapped.constraints and "decimal_places" not in unwrapped.constraints:
        raise Uncheckable("no condition can count its digits (max_digits)")
    whole = {**core, **unwrapped.constraints}
    return {"type": core["type"], **{name: whole[name] for name in _ADDITIVE if name in whole}}


def bounds_of_sum(
    rules: ValueRules, path: Path, by: Any, encode: Encode, *, name: str, counts_absent: bool
) -> Iterator[FieldBound]:
    """Yield the bounds of a number to which `by` is added.

    With `counts_absent`, a missing number counts as 0.
    """
    constraints = _with_digits(rules.unwrapped.constraints)
    for key, comparator, words in _COMPARATORS:
        limit = constraints.get(key)
        if limit is None:
            continue
        condition: Condition = Comparison(comparator, path, _difference(limit, by, encode))
        if counts_absent and (isinstance(by, Placeholder) or _holds(by, comparator, limit)):
            condition = FunctionCall("attribute_not_exists", (path,)) | condition
        yield FieldBound(condition, f"{name} plus {show(by)} would not be {words} {limit}")


def bounds_of_copy(rules: ValueRules, source: Path, encode: Encode, name: str) -> list[FieldBound]:
    """Return the bounds of a number that is set to the number at `source`."""
    return [
        FieldBound(
            Comparison(comparator, source, _encode_limit(limit, encode)),
            f"{name} would not be {words} {limit}",
        )
        for key, comparator, words in _COMPARATORS
        if (limit := rules.unwrapped.constraints.get(key)) is not None
    ]


def _with_digits(constraints: Node) -> Mapping[str, Any]:
    """Return the constraints of a number with `max_digits` as bounds of its magnitude."""
    if "max_digits" not in constraints:
        return constraints
    # At most `decimal_places` of the digits are behind the point, as in what is added.
    bound = Decimal(10) ** (constraints["max_digits"] - constraints["decimal_places"])
    found = dict(constraints)
    found["lt"] = min(bound, _exact(found["lt"])) if "lt" in found else bound
    found["gt"] = max(-bound, _exact(found["gt"])) if "gt" in found else -bound
    return found


def _difference(limit: Any, by: Any, encode: Encode) -> AttributeValue:
    if isinstance(by, Placeholder):
        return encode_decimal(limit - by)
    if isinstance(limit, timedelta):
        return encode(limit - by)
    return encode_decimal(_EXACT.subtract(_exact(limit), _exact(by)))


def _encode_limit(limit: Any, encode: Encode) -> AttributeValue:
    is_number = isinstance(limit, int | float | Decimal)
    return encode_decimal(_exact(limit)) if is_number else encode(limit)


def _exact(number: Any) -> Decimal:
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)


def _holds(value: Any, comparator: Comparator, limit: Any) -> bool:
    if not isinstance(limit, timedelta):
        value, limit = _exact(value), _exact(limit)
    return _COMPARE[comparator](value, limit)


# Lengths.


def member_schema(rules: ValueRules) -> Node:
    """Return the core schema of members that are appended to a list; raises Uncheckable."""
    core = rules.unwrapped.core
    _check_plain(rules)
    if core["type"] == "any":
        return {"type": "list"}
    member = rules.member(0)
    if core["type"] not in ("list", "tuple") or member is None:
        raise Uncheckable(f"no condition can say that it stays a valid {core['type']}")
    if core["type"] == "tuple" and core.get("variadic_item_index") is None:
        raise Uncheckable("the number of its members is fixed")
    return {"type": "list", "items_schema": member.schema}


def set_schema(rules: ValueRules) -> Node:
    """Return the core schema of members that are added to a set; raises Uncheckable."""
    core = rules.unwrapped.core
    _check_plain(rules)
    if core["type"] == "any":
        return core
    if core["type"] not in ("set", "frozenset"):
        raise Uncheckable(f"no condition can say that it stays a valid {core['type']}")
    return {name: value for name, value in core.items() if name in ("type", "items_schema")}


def bounds_of_append(rules: ValueRules, path: Path, count: int, name: str) -> Iterator[FieldBound]:
    """Yield the bounds of a list to which `count` members are appended."""
    least, most = _lengths(rules)
    if most is not None:
        fits = _size(path, "<=", most - count)
        if count <= most:
            fits = FunctionCall("attribute_not_exists", (path,)) | fits
        yield FieldBound(fits, f"{name} would have more than {most} members")
    if least is not None and least > count:
        enough = _size(path, ">=", least - count)
        yield FieldBound(enough, f"{name} would have fewer than {least} members")


def bounds_of_set(
    rules: ValueRules, path: Path, members: list[AttributeValue], name: str, *, adds: bool
) -> Iterator[FieldBound]:
    """Yield the bounds of a set to which members are added, or from which they are deleted.

    For one member they are exact. For several, they hold if all of them change the size, or none.
    """
    least, most = _lengths(rules)
    held: list[Condition] = [FunctionCall("contains", (path, each)) for each in members]
    count = len(members)
    if adds and most is not None:
        fits = _size(path, "<=", most - count)
        if count <= most:
            fits = FunctionCall("attribute_not_exists", (path,)) | fits
        fits |= _all(held)
        yield FieldBound(fits, f"{name} might have more than {most} members")
    if adds and least is not None and least > count:
        enough = _size(path, ">=", least)
        yield FieldBound(enough, f"{name} might have fewer than {least} members")
    if not adds and least is not None:
        unchanged = _all([Not(each) for each in held])
        enough = _size(path, ">=", least + count) | unchanged
        yield FieldBound(enough, f"{name} might have fewer than {least} members")


def bounds_of_member(
    around: ValueRules, path: Path, name: str, *, others: int, is_removed: bool
) -> Iterator[FieldBound]:
    """Yield the bounds of a list or map in which the member at `path` is set or removed.

    `others` is the number of other members that the update sets or removes: each counts as
    changing the length.
    Raises Uncheckable.
    """
    core = around.unwrapped.core
    if core["type"] not in ("list", "tuple", "dict"):
        return
    if core["type"] == "tuple" and is_removed and core.get("variadic_item_index") is None:
        raise Uncheckable("the number of members around it is fixed")
    least, most = _lengths(around)
    container = Path(path.steps[:-1], owner=path.owner)
    if is_removed and least is not None:
        absent: Condition = FunctionCall("attribute_not_exists", (path,))
        fits = absent | _size(container, ">", least + others)
        yield FieldBound(fits, f"the value around {name} would have fewer than {least} members")
    elif not is_removed and most is not None:
        exists: Condition = FunctionCall("attribute_exists", (path,))
        fits = exists | _size(container, "<", most - others)
        yield FieldBound(fits, f"the value around {name} would have more than {most} members")


def _lengths(rules: ValueRules) -> tuple[int | None, int | None]:
    constraints = rules.unwrapped.constraints
    return constraints.get("min_length") or None, constraints.get("max_length")


def _size(path: Path, comparator: Comparator, number: int) -> Condition:
    size: Operand = FunctionCall("size", (path,))
    return Comparison(comparator, size, encode_any(number))


def _all(conditions: list[Condition]) -> Condition:
    whole = join_all(*conditions)
    assert whole is not None  # a set is never empty
    return whole


def _check_plain(rules: ValueRules) -> None:
    functions = rules.unwrapped.functions
    if functions:
        shown = getattr(functions[0], "__name__", repr(functions[0]))
        raise Uncheckable(f"no condition can express the validator {shown}")
