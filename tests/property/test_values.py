"""Attribute values round-trip in canonical form, and are sized and ordered by the rules."""

from __future__ import annotations

import json
from base64 import b64encode
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.engine import Engine
from keyfold.errors import ValidationException
from keyfold.values import (
    add_numbers,
    compare_numbers,
    encode_number,
    encode_partition,
    encode_scalar,
    item_size_bytes,
    normalise_item,
    normalise_number,
    number_size_bytes,
    prefix_end,
    restore_binaries,
    subtract_numbers,
    terminate_part,
    value_size_bytes,
)
from tests.examples import examples
from tests.property.plain_values import (
    WIDE,
    Item,
    Value,
    comparable_item,
    in_stored_form,
    is_in_range,
    item_size,
    number_of,
    number_size,
    print_number,
    sort_form,
    value_size,
)
from tests.property.strategies import binaries, items, numbers, texts, values

EXAMPLES = examples(150)

CREATE = {
    "TableName": "Things",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@EXAMPLES
@given(numbers)
def test_a_number_is_printed_in_one_way(text: str) -> None:
    number = number_of(text)
    if not is_in_range(number):
        with pytest.raises(ValidationException, match=r"Number (over|under)flow"):
            normalise_number(text)
        return
    printed = normalise_number(text)
    assert printed == print_number(number)
    assert number_of(printed) == number
    assert normalise_number(printed) == printed


@EXAMPLES
@given(st.integers(10**38, 10**45), st.integers(-120, 70))
def test_more_than_38_digits_are_refused(digits: int, exponent: int) -> None:
    text = f"{digits}e{exponent}"
    if is_in_range(number_of(text)):
        assert number_of(normalise_number(text)) == number_of(text)
    else:
        with pytest.raises(ValidationException, match=r"."):
            normalise_number(text)


@EXAMPLES
@given(st.text("0123456789+-.eE _", max_size=8))
def test_exactly_the_valid_numbers_are_accepted(text: str) -> None:
    try:
        # Python accepts 1_0 and spaces around a number; DynamoDB does not.
        number = None if set(text) & set(" _") else Decimal(text)
    except ArithmeticError:
        number = None
    if number is None:
        with pytest.raises(ValidationException, match="cannot be converted to a numeric value"):
            normalise_number(text)
    elif is_in_range(number):
        assert normalise_number(text) == print_number(number)


@EXAMPLES
@given(numbers, numbers)
def test_numbers_are_compared_added_and_ordered_by_value(left: str, right: str) -> None:
    one, other = number_of(left), number_of(right)
    if not (is_in_range(one) and is_in_range(other)):
        return
    left, right = normalise_number(left), normalise_number(right)
    assert compare_numbers(left, right) == (one > other) - (one < other)
    assert (encode_number(left) < encode_number(right)) is (one < other)
    assert (encode_number(left) == encode_number(right)) is (one == other)
    for compute, exact in (
        (add_numbers, WIDE.add(one, other)),
        (subtract_numbers, WIDE.subtract(one, other)),
    ):
        if is_in_range(exact):
            assert compute(left, right) == print_number(exact)
        else:
            with pytest.raises(ValidationException, match=r"Number (over|under)flow"):
                compute(left, right)


@EXAMPLES
@given(numbers.filter(lambda text: is_in_range(number_of(text))))
def test_a_number_has_the_size_of_its_digits(text: str) -> None:
    assert number_size_bytes(normalise_number(text)) == number_size(text)


def _in_engine_form(value: Value) -> Value:
    """Return a value in stored form, with binaries as base64 text as in the engine."""
    ((kind, data),) = value.items()
    match kind:
        case "B":
            return {"B": b64encode(data).decode()}
        case "BS":
            return {"BS": [b64encode(each).decode() for each in data]}
        case "L":
            return {"L": [_in_engine_form(each) for each in data]}
        case "M":
            return {"M": {name: _in_engine_form(each) for name, each in data.items()}}
        case _:
            return value


def _is_valid(value: Value) -> bool:
    ((kind, data),) = value.items()
    match kind:
        case "N":
            return is_in_range(number_of(data))
        case "NS":
            return all(is_in_range(number_of(each)) for each in data)
        case "L":
            return all(map(_is_valid, data))
        case "M":
            return all(map(_is_valid, data.values()))
        case _:
            return True


valid_items = items.filter(lambda item: _is_valid({"M": item}))


@EXAMPLES
@given(valid_items)
def test_an_item_is_normalised_once_and_sized_by_the_rules(item: Item) -> None:
    normal, size = normalise_item(item)
    stored: Item = in_stored_form({"M": item})["M"]
    assert normal == _in_engine_form({"M": stored})["M"]
    assert size == item_size(stored) == item_size_bytes(normal)
    again, same_size = normalise_item(normal)
    assert again is normal
    assert same_size == size
    assert comparable_item(restore_binaries(normal)) == comparable_item(stored)


@EXAMPLES
@given(values.filter(_is_valid))
def test_a_value_has_one_size(value: Value) -> None:
    normal, _ = normalise_item({"v": value})
    assert value_size_bytes(normal["v"]) == value_size(in_stored_form(value))


@examples(80)
@given(valid_items)
def test_an_item_comes_back_as_it_was_put(item: Item) -> None:
    item = {**item, "pk": {"S": "k"}}
    with Engine.open(":memory:") as engine:
        engine.execute("CreateTable", CREATE)
        engine.execute("PutItem", {"TableName": "Things", "Item": item})
        answer = engine.execute("GetItem", {"TableName": "Things", "Key": {"pk": {"S": "k"}}})
        stored: Item = in_stored_form({"M": item})["M"]
        assert comparable_item(answer["Item"]) == comparable_item(stored)
        body = json.dumps({"TableName": "Things", "Item": _in_engine_form({"M": item})["M"]})
        engine.execute_json("PutItem", body.encode())
        answer = engine.execute_json("Scan", b'{"TableName": "Things"}')
        assert json.loads(answer)["Items"] == [_in_engine_form({"M": stored})["M"]]


@EXAMPLES
@given(
    st.one_of(
        st.tuples(*[texts.map(lambda data: {"S": data})] * 2),
        st.tuples(*[binaries.map(lambda data: {"B": data})] * 2),
    )
)
def test_texts_and_binaries_are_ordered_by_their_bytes(pair: tuple[Value, Value]) -> None:
    codes = [
        encode_scalar(kind, data) for value in pair for kind, data in _in_engine_form(value).items()
    ]
    forms = [sort_form(value) for value in pair]
    assert (codes[0] < codes[1]) is (forms[0] < forms[1])
    assert (codes[0] == codes[1]) is (forms[0] == forms[1])


parts = st.lists(
    st.binary(max_size=4) | st.text("\0\1\xff", max_size=4).map(str.encode), max_size=4
)


@EXAMPLES
@given(parts, parts)
def test_joined_parts_are_ordered_part_by_part(left: list[bytes], right: list[bytes]) -> None:
    shared = min(len(left), len(right))
    left, right = left[:shared], right[:shared]
    joined = [b"".join(map(terminate_part, each)) for each in (left, right)]
    assert (joined[0] < joined[1]) is (left < right)
    assert (joined[0] == joined[1]) is (left == right)


@EXAMPLES
@given(st.binary(max_size=6), st.binary(max_size=6))
def test_the_end_of_a_prefix_is_above_what_starts_with_it_and_nothing_else(
    prefix: bytes, other: bytes
) -> None:
    end = prefix_end(prefix)
    if end is None:
        assert not prefix.strip(b"\xff")
        return
    assert prefix + other < end
    if other >= prefix and not other.startswith(prefix):
        assert other >= end


@EXAMPLES
@given(st.binary(min_size=1, max_size=8), st.binary(min_size=1, max_size=8), st.binary(max_size=4))
def test_no_row_of_one_partition_lies_within_another(
    left: bytes, right: bytes, sort: bytes
) -> None:
    if left != right:
        assert not (encode_partition(left) + sort).startswith(encode_partition(right))
