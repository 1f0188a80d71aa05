"""Literals and parameters as attribute values."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.expressions.partiql.parser import parse_statement
from keyfold.expressions.partiql.trees import InsertStatement
from keyfold.expressions.partiql.values import read_item, read_parameters
from keyfold.values import AttributeValue
from tests.unit.expressions.refusals import refusal_of


def read(literal: str, *parameters: AttributeValue) -> AttributeValue:
    statement = parse_statement(f"INSERT INTO T VALUE {{'a': {literal}}}").statement
    assert isinstance(statement, InsertStatement)
    return read_item(statement.item, list(parameters))["a"]


def refused(literal: str) -> str:
    return refusal_of(lambda: read(literal))


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("'x'", {"S": "x"}),
        ("-1.50e2", {"N": "-150"}),
        ("True", {"BOOL": True}),
        ("NULL", {"NULL": True}),
        ("[1, 'a', [null]]", {"L": [{"N": "1"}, {"S": "a"}, {"L": [{"NULL": True}]}]}),
        ("{'b': {'c': 1}}", {"M": {"b": {"M": {"c": {"N": "1"}}}}}),
        ("<<'x', 'y'>>", {"SS": ["x", "y"]}),
        ("<<1.0, 2>>", {"NS": ["1", "2"]}),
        ("[<<1>>]", {"L": [{"NS": ["1"]}]}),
    ],
)
def test_literals_become_attribute_values(literal: str, value: AttributeValue) -> None:
    assert read(literal) == value


def test_a_parameter_becomes_its_value() -> None:
    assert read("?", {"B": "AQ=="}) == {"B": "AQ=="}


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        ("`true`", "Ion Literals are not supported: BOOL under key root at 1:27:6"),
        ("`1.5`", "Ion Literals are not supported: DECIMAL under key root at 1:27:5"),
        ("`foo`", "Ion Literals are not supported: SYMBOL under key root at 1:27:5"),
        ("[b.c]", "Unsupported data type: Path under key root.0 at 1:28:1"),
        ("{'x': [size(b)]}", "Unsupported data type: Function under key root.x.0 at 1:34:4"),
        ("NOT b", "Unsupported data type: not under key root at 1:27:3"),
        (
            "<<[1]>>",
            (
                "Unsupported data type in Bag. DynamoDB only supports either numbers or strings "
                "in bags at 1:29:1"
            ),
        ),
        ("{'x': {'y': 1, 'y': 2}}", "Duplicate keys in tuple. Key: y under root.x at 1:42:3"),
    ],
)
def test_invalid_values_are_refused(literal: str, message: str) -> None:
    assert refused(literal) == message


def test_a_value_that_is_nested_too_deep_is_refused() -> None:
    assert refused("[" * 40 + "1" + "]" * 40).startswith("Nesting Levels have exceeded")


def test_a_missing_parameter_is_refused() -> None:
    assert refused("?") == "Number of parameters in request and statement don't match."


@pytest.mark.parametrize(
    "given",
    [[{"N": "1e99999999999"}], [{"M": {"a": {"L": [{"NS": ["1", "1e99999999999"]}]}}}]],
)
def test_an_exponent_beyond_32_bits_is_not_a_number(given: list[Any]) -> None:
    message = refusal_of(lambda: read_parameters(given))
    assert message == "The parameter cannot be converted to a numeric value: 1e99999999999"


def test_missing_parameters_are_an_empty_list() -> None:
    assert read_parameters(None) == []
