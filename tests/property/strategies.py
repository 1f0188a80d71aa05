"""Strategies of the property tests: values of every kind, and so few keys that writes collide."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from tests.property.plain_conditions import (
    Absent,
    Begins,
    Between,
    Compared,
    Condition,
    Joined,
    Negated,
    Present,
)
from tests.property.plain_table import Attribute, IndexPlan
from tests.property.plain_updates import (
    Action,
    Add,
    Delete,
    Remove,
    Set,
    SetIfAbsent,
    SetLonger,
    SetSum,
    Update,
)
from tests.property.plain_values import Item, Value, sort_form

Drawn = st.SearchStrategy

# Every spelling of a number of at most 38 digits in DynamoDB's range.


def _spell(sign: str, digits: int, point: int, exponent: int, zeros: int) -> str:
    text = str(digits)
    point = min(point, len(text))
    whole, fraction = text[: len(text) - point], text[len(text) - point :]
    mantissa = "0" * zeros + whole + (f".{fraction}{'0' * zeros}" if fraction else "")
    return f"{sign}{mantissa}" + (f"e{exponent}" if exponent else "")


def _with_exponent(digit: int, exponent: int) -> str:
    return f"{digit}E{exponent}"


numbers: Drawn[str] = st.one_of(
    st.integers(-1_000, 1_000).map(str),
    st.builds(
        _spell,
        st.sampled_from(["", "-", "+"]),
        st.integers(0, 10**38 - 1),
        st.integers(0, 38),
        st.integers(-80, 80),
        st.integers(0, 3),
    ),
    st.builds(_with_exponent, st.integers(-9, 9), st.integers(-130, 125)),
    st.sampled_from(
        ["0", "-0", "0.00", "9" * 38, "-" + "9" * 38, "1e-130", "-9.9e125", "+.5", "5."]
    ),
)

texts: Drawn[str] = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
binaries: Drawn[bytes] = st.binary(max_size=12)

scalars: Drawn[Value] = st.one_of(
    texts.map(lambda data: {"S": data}),
    numbers.map(lambda data: {"N": data}),
    binaries.map(lambda data: {"B": data}),
    st.booleans().map(lambda data: {"BOOL": data}),
    st.just({"NULL": True}),
)
sets: Drawn[Value] = st.one_of(
    st.lists(texts, min_size=1, max_size=4, unique=True).map(lambda data: {"SS": data}),
    st.lists(binaries, min_size=1, max_size=4, unique=True).map(lambda data: {"BS": data}),
    st.lists(numbers, min_size=1, max_size=4, unique_by=Decimal).map(lambda data: {"NS": data}),
)


def _containers(inner: Drawn[Value]) -> Drawn[Value]:
    return st.one_of(
        st.lists(inner, max_size=3).map(lambda data: {"L": data}),
        st.dictionaries(st.text(min_size=1, max_size=4), inner, max_size=3).map(
            lambda data: {"M": data}
        ),
    )


values: Drawn[Value] = st.recursive(st.one_of(scalars, sets), _containers, max_leaves=8)
attribute_names: Drawn[str] = st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8
)
items: Drawn[Item] = st.dictionaries(attribute_names, values, max_size=6)

# Few keys, so that writes meet; each value is one that encodings get wrong.

KEY_VALUES: dict[str, list[Any]] = {
    "S": ["a", "a\0", "a\0\1", "aa", "b", "\x7f", "é", "\uffff", "\U0001f600"],
    "N": ["-12", "-12.5", "-15", "-0.001", "0", "1E-9", "0.5", "9", "10", "1e2", "123"],
    "B": [b"\0", b"\0\0", b"\0\xff", b"\1", b"a", b"\xfe", b"\xff", b"\xff\xff"],
}

OTHER_ATTRIBUTES = ("a", "b", "c", "d", "n", "ttl")
# One type per attribute name, so that any two indexes agree on it.
INDEX_TYPES = {"a": "S", "b": "N", "c": "B", "n": "N"}

NOW = 1_700_000_000


def key_values(kind: str) -> Drawn[Value]:
    """Return values for a key attribute of this type."""
    return st.sampled_from(KEY_VALUES[kind]).map(lambda data: {kind: data})


def _attribute_values(name: str) -> Drawn[Value]:
    if name == "ttl":
        # Times around now and long ago, and values that are not times.
        return st.one_of(
            st.integers(-40, 40).map(lambda ago: {"N": str(NOW + 10 * ago)}),
            st.sampled_from([{"N": "0"}, {"N": "-5"}, {"N": "1e30"}, {"S": str(NOW)}]),
            st.just({"N": str(NOW - 6 * 365 * 86_400)}),
        )
    if name == "d":
        return values
    fitting = key_values(INDEX_TYPES[name])
    # One in eight has a type that an index on this attribute refuses.
    return st.integers(0, 7).flatmap(lambda draw: scalars if draw == 0 else fitting)


def table_keys(partition: Attribute, sort: Attribute | None) -> Drawn[Item]:
    """Return keys of a table, few enough to be drawn again."""
    partitions = KEY_VALUES[partition.kind]
    parts = {partition.name: st.sampled_from(partitions if sort is None else partitions[1:3])}
    if sort is not None:
        parts[sort.name] = st.sampled_from(KEY_VALUES[sort.kind])
    kinds = {each.name: each.kind for each in (partition, sort) if each is not None}
    return st.fixed_dictionaries(parts).map(
        lambda drawn: {name: {kinds[name]: data} for name, data in drawn.items()}
    )


other_attributes: Drawn[Item] = st.fixed_dictionaries(
    {}, optional={name: _attribute_values(name) for name in OTHER_ATTRIBUTES}
)


def crowding_values(kind: str) -> Drawn[Value]:
    """Return few key values, so that items share index partitions, and some also sort keys."""
    return st.sampled_from(KEY_VALUES[kind][:3]).map(lambda data: {kind: data})


# Items that are in nearly all indexes: one in six lacks an attribute.
crowding_attributes: Drawn[Item] = st.fixed_dictionaries(
    {name: crowding_values(kind) for name, kind in INDEX_TYPES.items()},
    optional={"ttl": st.integers(-2, 20).map(lambda ahead: {"N": str(NOW + 10 * ahead)})},
).flatmap(
    lambda item: st.integers(0, 23).map(
        lambda draw: {
            name: value for place, (name, value) in enumerate(item.items()) if place != draw
        }
    )
)

_comparisons: Drawn[Condition] = st.one_of(
    st.builds(
        Compared,
        st.sampled_from(OTHER_ATTRIBUTES),
        st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
        st.sampled_from(["S", "N", "B"]).flatmap(key_values),
    ),
    st.builds(Begins, st.sampled_from(OTHER_ATTRIBUTES), key_values("S")),
    st.builds(Present, st.sampled_from(OTHER_ATTRIBUTES)),
    st.builds(Absent, st.sampled_from(OTHER_ATTRIBUTES)),
)


def _compound(inner: Drawn[Condition]) -> Drawn[Condition]:
    return st.one_of(
        st.builds(Negated, inner),
        st.builds(Joined, inner, st.sampled_from(["AND", "OR"]), inner),
    )


conditions: Drawn[Condition] = st.recursive(_comparisons, _compound, max_leaves=3)


def _actions(name: str) -> Drawn[Action]:
    some_set = sets
    return st.one_of(
        st.builds(Set, st.just(name), _attribute_values(name)),
        st.builds(SetIfAbsent, st.just(name), _attribute_values(name)),
        st.builds(SetSum, st.just(name), st.sampled_from("+-"), key_values("N")),
        st.builds(SetLonger, st.just(name), st.lists(scalars, max_size=2).map(lambda d: {"L": d})),
        st.builds(Remove, st.just(name)),
        st.builds(Add, st.just(name), st.one_of(key_values("N"), some_set)),
        st.builds(Delete, st.just(name), some_set),
    )


updates: Drawn[Update] = st.lists(
    st.sampled_from(OTHER_ATTRIBUTES), min_size=1, max_size=3, unique=True
).flatmap(lambda names: st.tuples(*map(_actions, names)))


def sort_conditions(attribute: Attribute) -> Drawn[Compared | Between | Begins]:
    """Return every condition that a query may have on a sort key."""
    fitting = key_values(attribute.kind)
    name = st.just(attribute.name)

    def between(pair: tuple[Value, Value]) -> Between:
        low, high = sorted(pair, key=sort_form)
        return Between(attribute.name, low, high)

    choices: list[Drawn[Any]] = [
        st.builds(Compared, name, st.sampled_from(["=", "<", "<=", ">", ">="]), fitting),
        st.tuples(fitting, fitting).map(between),
    ]
    if attribute.kind != "N":
        choices.append(st.builds(Begins, name, fitting))
    return st.one_of(choices)


def _index_key(names: str) -> tuple[Attribute, ...]:
    return tuple(Attribute(name, INDEX_TYPES[name]) for name in names)


def global_plans(table_key: tuple[Attribute, ...]) -> list[IndexPlan]:
    """Return global indexes to choose from: simple, composite, of several attributes, reversed."""
    plans = [
        IndexPlan("by-a", is_global=True, partition=_index_key("a")),
        IndexPlan("by-b-a", is_global=True, partition=_index_key("b"), sort=_index_key("a")),
        IndexPlan(
            "by-c", is_global=True, partition=_index_key("c"), included=frozenset(["d", "n"])
        ),
        IndexPlan(
            "several",
            is_global=True,
            partition=_index_key("ac"),
            sort=_index_key("bn"),
            included=frozenset(),
        ),
        IndexPlan("sorted", is_global=True, partition=_index_key("b"), sort=_index_key("nca")),
    ]
    if len(table_key) == 2:
        partition, sort = table_key
        plans.append(IndexPlan("reverse", is_global=True, partition=(sort,), sort=(partition,)))
    return plans


def local_plans(partition: Attribute) -> list[IndexPlan]:
    """Return the local indexes of tables that have some."""
    return [
        IndexPlan("local-b", is_global=False, partition=(partition,), sort=_index_key("b")),
        IndexPlan(
            "local-a",
            is_global=False,
            partition=(partition,),
            sort=_index_key("a"),
            included=frozenset(),
        ),
    ]
