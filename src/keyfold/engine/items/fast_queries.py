"""The fast path of Query: the key conditions that nearly every query has.

`pk = :p`, alone or with one condition on the sort key, is compiled once for each text into
a function from the request's values to a range of bytes. Anything else is left to the
ordinary path, which alone raises errors: here, None means "use the ordinary path".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keyfold.engine.items.key_faults import MAX_PARTITION_BYTES, MAX_SORT_BYTES
from keyfold.engine.items.keys import KeyAttribute, KeySchema, end_of, part_encoder
from keyfold.engine.items.spans import RANGES, next_after
from keyfold.expressions.key_conditions import (
    BeginsWith,
    FastKeyCondition,
    Within,
    read_fast_key_condition,
)
from keyfold.values import encode_partition
from keyfold.values.fast_scalars import read_fast_scalar

Values = dict[str, Any]
# More texts than this for one key are generated and do not repeat: the cache is cleared then.
KEPT_PLANS = 1_000

_PartReader = Callable[[Values], bytes | None]


class FastQueryPlan(NamedTuple):
    """A key condition compiled for one key schema."""

    span: Callable[[Values], tuple[bytes, bytes] | None]
    placeholders: frozenset[str]


def try_fast_plan(schema: KeySchema, text: str) -> FastQueryPlan | None:
    """Return the cached plan of a key condition; None if it needs the ordinary path."""
    plans = schema.plans
    plan: FastQueryPlan | None = plans.get(text)
    if plan is None and text not in plans:
        if len(plans) >= KEPT_PLANS:
            plans.clear()
        plan = plans[text] = _compile(schema, text)
    return plan


def _compile(schema: KeySchema, text: str) -> FastQueryPlan | None:
    leaves = read_fast_key_condition(text)
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
            return low, end_of(low)

        return FastQueryPlan(whole_partition, used)
    narrow = _compile_sort(sort_keys[0], sort)
    if narrow is None:
        return None

    def part_of_partition(values: Values) -> tuple[bytes, bytes] | None:
        part = read_partition(values)
        return None if part is None else narrow(encode_partition(part), values)

    return FastQueryPlan(part_of_partition, used)


def _compile_sort(
    attribute: KeyAttribute, leaf: FastKeyCondition
) -> Callable[[bytes, Values], tuple[bytes, bytes] | None] | None:
    constraint = leaf.constraint
    if constraint is Within or (constraint is BeginsWith and attribute.type != "S"):
        return None
    read = _part_reader(attribute, leaf.values[0], MAX_SORT_BYTES)
    past = end_of if constraint is BeginsWith else next_after
    make_range = RANGES[constraint]

    def narrow(prefix: bytes, values: Values) -> tuple[bytes, bytes] | None:
        part = read(values)
        if part is None:
            return None
        low = prefix + part
        return make_range(prefix, low, past(low))

    return narrow


def _part_reader(attribute: KeyAttribute, placeholder: str, longest: int) -> _PartReader:
    kind, encode = attribute.type, part_encoder(attribute)

    def read(values: Values) -> bytes | None:
        data = read_fast_scalar(kind, values.get(placeholder), longest)
        return encode(data) if data else None

    return read
