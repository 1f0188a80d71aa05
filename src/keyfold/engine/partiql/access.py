"""The keys that a WHERE clause selects: one key, ranges of keys, or all keys.

The whole condition is still evaluated for every item that is read. The keys found here only keep
the engine from reading items that cannot match.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from keyfold.engine.items.key_conditions import ResolvedKeyCondition
from keyfold.engine.items.key_faults import (
    KeyFault,
    KeyFaultKind,
    condition_fault_error,
    value_fault_error,
)
from keyfold.engine.items.keys import KeyAttribute, KeySchema, encode_part, find_key_fault
from keyfold.engine.items.spans import condition_span
from keyfold.engine.tables.table import EngineTable
from keyfold.errors import ValidationException
from keyfold.expressions.key_conditions import (
    BeginsWith,
    EqualTo,
    SortRange,
    Within,
    make_constraint,
)
from keyfold.expressions.trees import (
    MIRRORED,
    And,
    Between,
    Comparison,
    Condition,
    FunctionCall,
    In,
    Not,
    Operand,
    Or,
    Path,
)
from keyfold.values import AttributeValue, Item

# A condition with more alternatives than this is not analysed: the table is scanned.
MAX_BRANCHES = 1_000

_SCALARS = frozenset({"S", "N", "B"})
_NO_KEY = "Where clause does not contain a mandatory equality on all key attributes"
_OVERLAP = "Overlapping conditions with range keys are not supported in where clause"


class OneKey(NamedTuple):
    """The key that a clause fixes, and whether the clause has no other condition."""

    key: Item
    has_only_key: bool


def find_one_key(table: EngineTable, where: Condition | None) -> OneKey | None:
    """Return the key that a clause fixes by equality; None if it does not fix the whole key.

    Raises ValidationException if it fixes an attribute to two values, or to one that a key
    cannot have.
    """
    key: Item = {}
    has_only_key = True
    for part in _conjuncts(where):
        name, value = _equality(part, table.key_names)
        if name is None or value is None:
            has_only_key = False
        elif key.setdefault(name, value) != value:
            raise ValidationException(
                f"Multiple conditions on same key {name}. "
                "Only single item Update/Insert/Delete are supported"
            )
    if len(key) != len(table.key_names):
        return None
    check_key(table.key, key)
    return OneKey(key, has_only_key)


def require_one_key(table: EngineTable, where: Condition | None) -> Item:
    """Return the key of the item to write; raises ValidationException if the clause fixes none."""
    found = find_one_key(table, where)
    if found is None:
        raise ValidationException(_NO_KEY)
    return found.key


def check_key(schema: KeySchema, key: Item) -> None:
    """Raise ValidationException if a key, or an item's key attributes, do not fit the schema."""
    for attribute in schema.attributes:
        value = key.get(attribute.name)
        if value is None:
            raise ValidationException(
                f"Key attribute should be present in the item: Key {attribute.name}"
            )
        (kind,) = value
        if kind not in _SCALARS:
            raise ValidationException(
                "Key value must be of type S, N, or B. "
                f"Key name: {attribute.name}, Key type: {kind}"
            )
        _check_type(attribute, value)
    fault = find_key_fault(schema, key)
    if fault is not None:
        raise value_fault_error(fault)


def _check_type(attribute: KeyAttribute, value: AttributeValue) -> None:
    if attribute.type not in value:
        raise ValidationException(
            "Key attribute's data type should match its data type in table's schema: "
            f"Key {attribute.name}"
        )


def _conjuncts(condition: Condition | None) -> Iterator[Condition]:
    if isinstance(condition, And):
        for part in condition.conditions:
            yield from _conjuncts(part)
    elif condition is not None:
        yield condition


def _equality(
    condition: Condition, names: frozenset[str]
) -> tuple[str | None, AttributeValue | None]:
    match condition:
        case Comparison("=", Path((str(name),)), dict(value)) | Comparison(
            "=", dict(value), Path((str(name),))
        ) if name in names:
            return name, value
        case _:
            return None, None


class KeyBranch(NamedTuple):
    """What one alternative of a condition, in disjunctive form, requires of the key."""

    partition: AttributeValue | None = None
    sort: tuple[EqualTo | SortRange, ...] = ()
    # Whether it also restricts the sort key in a way that is not a range.
    is_vague: bool = False


class Ranges(NamedTuple):
    """The ranges of keys that a clause selects, in the order to read them."""

    spans: tuple[tuple[bytes, bytes], ...]
    partitions: int
    """The number of partitions that the clause names, including those with empty ranges."""


def find_ranges(
    schema: KeySchema,
    index: str | None,
    where: Condition | None,
    *,
    reverses_partitions: bool,
    reverses_sort: bool,
) -> Ranges | None:
    """Return the ranges of keys that a clause selects; None if a full scan is needed.

    Partitions are in the order of their keys, and the ranges of a partition in the order of its
    sort keys, unless reversed. Raises ValidationException for a key of the wrong type, and if
    ranges overlap.
    """
    branches = list_key_branches(schema, where)
    if branches is None:
        return None
    groups: dict[bytes, list[KeyBranch]] = {}
    for branch in branches:
        assert branch.partition is not None  # checked above
        _check_values(schema, branch, index)
        groups.setdefault(encode_part(schema.partition[0], branch.partition), []).append(branch)
    spans: list[tuple[bytes, bytes]] = []
    for key in sorted(groups, reverse=reverses_partitions):
        ranges = _group_spans(schema, groups[key])
        spans.extend(reversed(ranges) if reverses_sort else ranges)
    return Ranges(tuple(spans), len(groups))


def list_key_branches(schema: KeySchema, where: Condition | None) -> list[KeyBranch] | None:
    """Return what each alternative of a clause requires of the key; None if a full scan is needed."""
    if where is None:
        return None
    branches = _branches(where, schema)
    return None if any(branch.partition is None for branch in branches) else branches


def names_partition(schema: KeySchema, where: Condition | None) -> bool:
    """Return whether a condition that must hold, outside of any OR, names partitions by `=` or IN.

    The service calls such a read keyed, and refuses to filter it by what an index does not project.
    """
    for part in _conjuncts(where):
        if not isinstance(part, Or) and _leaf_branches(part, schema)[0].partition is not None:
            return True
    return False


def _check_values(schema: KeySchema, branch: KeyBranch, index: str | None) -> None:
    assert branch.partition is not None
    given = [(schema.partition[0], branch.partition)]
    for constraint in branch.sort:
        given.extend((schema.sort[0], value) for value in constraint)
    for attribute, value in given:
        _check_type(attribute, value)
        if not value[attribute.type]:
            names = (attribute.name,)
            fault = KeyFault(KeyFaultKind.EMPTY, names, attribute.type, index=index)
            raise condition_fault_error(fault)


def _group_spans(schema: KeySchema, group: list[KeyBranch]) -> list[tuple[bytes, bytes]]:
    """Return the ranges of one partition, in order; raises ValidationException if they overlap."""
    whole = _span(schema, group[0]._replace(sort=()))
    if any(branch.is_vague for branch in group) or not any(branch.sort for branch in group):
        return [whole]
    spans = sorted({_span(schema, branch) for branch in group})
    wanted = [span for span in spans if span[0] < span[1]]
    for (_, end), (start, _) in pairwise(wanted):
        if start < end:
            raise ValidationException(_OVERLAP)
    return wanted


def _span(schema: KeySchema, branch: KeyBranch) -> tuple[bytes, bytes]:
    """Return the range of a branch: the intersection of its constraints on the sort key."""
    assert branch.partition is not None
    partition = (branch.partition,)
    low, high = condition_span(ResolvedKeyCondition(partition, (), None), schema)
    for constraint in branch.sort:
        equals = (constraint.value,) if isinstance(constraint, EqualTo) else ()
        sort_range = None if isinstance(constraint, EqualTo) else constraint
        lower, upper = condition_span(ResolvedKeyCondition(partition, equals, sort_range), schema)
        low, high = max(low, lower), min(high, upper)
    return low, high


def _branches(condition: Condition, schema: KeySchema) -> list[KeyBranch]:
    match condition:
        case Or(conditions):
            branches = [branch for each in conditions for branch in _branches(each, schema)]
            return branches if len(branches) <= MAX_BRANCHES else [KeyBranch()]
        case And(conditions):
            joined = [KeyBranch()]
            for each in conditions:
                joined = [
                    both
                    for left in joined
                    for right in _branches(each, schema)
                    if (both := _join(left, right)) is not None
                ]
                if len(joined) > MAX_BRANCHES:
                    return [KeyBranch()]
            return joined
        case _:
            return _leaf_branches(condition, schema)


def _join(left: KeyBranch, right: KeyBranch) -> KeyBranch | None:
    """Return the conjunction of two branches; None if no key satisfies both."""
    partition = left.partition if right.partition is None else right.partition
    if left.partition is not None and left.partition != partition:
        return None
    return KeyBranch(partition, left.sort + right.sort, left.is_vague or right.is_vague)


def _leaf_branches(condition: Condition, schema: KeySchema) -> list[KeyBranch]:
    partition = schema.partition[0].name
    sort = schema.sort[0].name if schema.sort else None
    match condition:
        case Comparison("=", Path((name,)), dict(value)) | Comparison(
            "=", dict(value), Path((name,))
        ) if name == partition:
            return [KeyBranch(value)]
        case In(Path((name,)), options) if name == partition:
            values = [option for option in options if isinstance(option, dict)]
            return (
                [KeyBranch(value) for value in values] if len(values) == len(options) else [_NONE]
            )
        case In(Path((name,)), options) if name == sort:
            values = [option for option in options if isinstance(option, dict)]
            if len(values) != len(options):
                return [_VAGUE]
            return [KeyBranch(sort=(EqualTo(value),)) for value in values]
        case _:
            constraint = _sort_constraint(condition, sort)
            if constraint is not None:
                return [KeyBranch(sort=(constraint,))]
            return [_VAGUE if sort is not None and _mentions(condition, sort) else _NONE]


_NONE = KeyBranch()
_VAGUE = KeyBranch(is_vague=True)


def _sort_constraint(condition: Condition, sort: str | None) -> EqualTo | SortRange | None:
    match condition:
        case Comparison(operator, Path((name,)), dict(value)) if name == sort and operator != "<>":
            return make_constraint(operator, (value,))
        case Comparison(operator, dict(value), Path((name,))) if name == sort and operator != "<>":
            return make_constraint(MIRRORED[operator], (value,))
        case Between(Path((name,)), dict(low), dict(high)) if name == sort:
            return Within(low, high)
        case FunctionCall("begins_with", (Path((name,)), dict(prefix))) if name == sort:
            return BeginsWith(prefix)
        case _:
            return None


def _mentions(condition: Condition, name: str) -> bool:
    match condition:
        case Not(inner):
            return _mentions(inner, name)
        case And(conditions) | Or(conditions):
            return any(_mentions(each, name) for each in conditions)
        case Comparison(_, left, right):
            operands: tuple[Operand, ...] = (left, right)
        case Between(value, low, high):
            operands = (value, low, high)
        case In(value, options):
            operands = (value, *options)
        case FunctionCall(_, given):
            operands = given
    return any(_refers_to(operand, name) for operand in operands)


def _refers_to(operand: Operand, name: str) -> bool:
    match operand:
        case Path(steps):
            return steps[0] == name
        case FunctionCall(_, operands):
            return any(_refers_to(each, name) for each in operands)
        case _:
            return False
