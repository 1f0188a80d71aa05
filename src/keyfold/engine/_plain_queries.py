"""The quick road of Query: a key condition such as nearly every query has.

`pk = :p`, alone or with one condition on the sort key, is compiled once for each text into
a function from the request's values to a range of bytes. Whatever it is not sure of it
leaves to the ordinary way, which alone words errors: here, None means "not sure".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keyfold.engine._keys import END, MAX_PARTITION_BYTES, MAX_SORT_BYTES, KeySchema
from keyfold.engine.expressions import KeyAttribute, PlainKeyCondition, read_plain_key_condition
from keyfold.values import encode_number, encode_partition, is_plain_number, prefix_end

Values = dict[str, Any]
# More texts than this for one key are made up as they go: it is better to start afresh.
KEPT_PLANS = 1_000

_PartReader = Callable[[Values], bytes | None]


class PlainPlan(NamedTuple):
    """What a plain key condition means for one key."""

    span: Callable[[Values], tuple[bytes, bytes] | None]
    placeholders: frozenset[str]


def plan_plainly(schema: KeySchema, text: str) -> PlainPlan | None:
    """Return the plan for a key condition; None where it takes a closer look."""
    plans = schema.plans
    plan: PlainPlan | None = plans.get(text)
    if plan is None and text not in plans:
        if len(plans) >= KEPT_PLANS:
            plans.clear()
        plan = plans[text] = _compile(schema, text)
    return plan


def _compile(schema: KeySchema, text: str) -> PlainPlan | None:
    leaves = read_plain_key_condition(text)
    if leaves is None or len(schema.partition) > 1 or len(schema.sort) > 1:
        return None
    by_name = {leaf.name: leaf for leaf in leaves}
    (partition_key, *sort_keys) = schema.attributes
    partition = by_name.pop(partition_key.name, None)
    sort = by_name.pop(sort_keys[0].name, None) if sort_keys else None
    if by_name or partition is None or partition.operator != "=":
        return None
    used = frozenset(value for leaf in leaves for value in leaf.values)
    read_partition = _part_reader(partition_key, partition.values[0], MAX_PARTITION_BYTES)
    if sort is None:

        def whole_partition(values: Values) -> tuple[bytes, bytes] | None:
            part = read_partition(values)
            if part is None:
                return None
            low = encode_partition(part)
            return low, prefix_end(low) or END

        return PlainPlan(whole_partition, used)
    narrow = _compile_sort(sort_keys[0], sort)
    if narrow is None:
        return None

    def part_of_partition(values: Values) -> tuple[bytes, bytes] | None:
        part = read_partition(values)
        return None if part is None else narrow(encode_partition(part), values)

    return PlainPlan(part_of_partition, used)


def _compile_sort(
    attribute: KeyAttribute, leaf: PlainKeyCondition
) -> Callable[[bytes, Values], tuple[bytes, bytes] | None] | None:
    read = _part_reader(attribute, leaf.values[0], MAX_SORT_BYTES)
    if leaf.operator == "BETWEEN" or (leaf.operator == "begins_with" and attribute.type != "S"):
        return None
    operator = leaf.operator

    def narrow(prefix: bytes, values: Values) -> tuple[bytes, bytes] | None:
        part = read(values)
        if part is None:
            return None
        at = prefix + part
        match operator:
            case "begins_with":
                return at, prefix_end(at) or END
            case "=":
                return at, at + b"\0"
            case "<":
                return prefix, at
            case "<=":
                return prefix, at + b"\0"
            case ">":
                return at + b"\0", prefix_end(prefix) or END
            case _:
                return at, prefix_end(prefix) or END

    return narrow


def _part_reader(attribute: KeyAttribute, placeholder: str, longest: int) -> _PartReader:
    kind = attribute.type

    def read_text(values: Values) -> bytes | None:
        value: Any = values.get(placeholder)
        if value.__class__ is not dict or len(value) != 1:
            return None
        data = value.get("S")
        # Text outside ASCII might hold half a surrogate pair.
        if data.__class__ is not str or not data.isascii() or not 0 < len(data) <= longest:
            return None
        return data.encode()

    def read_number(values: Values) -> bytes | None:
        value: Any = values.get(placeholder)
        if value.__class__ is not dict or len(value) != 1:
            return None
        data = value.get("N")
        if data.__class__ is not str or not is_plain_number(data):
            return None
        return encode_number(data)

    def read_nothing(values: Values) -> None:  # noqa: ARG001 - a reader's signature
        return None

    return {"S": read_text, "N": read_number, "B": read_nothing}[kind]
