from __future__ import annotations

from typing import Any

import pytest

from keyfold.model._schemas import ItemMismatch
from keyfold.transfer._cells import from_cells, list_columns, to_cells
from keyfold.values import normalise_item
from tests.unit.transfer.world import Order, Product

SCHEMA = Order.keyfold_schema()
BASE: dict[str, Any] = {
    "pk": {"S": "USER#ada"},
    "sk": {"S": "ORDER#0007"},
    "city_sk": {"S": "ORDER#0007"},
    "total": {"N": "1.5"},
}


def cells_of(**more: Any) -> dict[str, str]:
    item = normalise_item({**BASE, **more})[0]
    return {name: cell for name, cell in to_cells(SCHEMA, item).items() if cell}


def test_the_columns_are_the_fields_and_one_for_the_rest() -> None:
    assert list_columns(SCHEMA) == [
        *("user", "number", "total", "city", "note", "tags", "label", "expires", "*")
    ]


def test_keys_are_written_as_the_fields_that_they_are_made_of() -> None:
    assert cells_of() == {"user": "ada", "number": "7", "total": "1.5"}


@pytest.mark.parametrize(
    ("stored", "cell"),
    [
        ({"note": {"S": "hello, world"}}, "hello, world"),
        ({"note": {"S": ""}}, '""'),
        ({"note": {"S": '"quoted"'}}, '"\\"quoted\\""'),
        ({"note": {"S": "{brace}"}}, '"{brace}"'),
        ({"note": {"NULL": True}}, '{"NULL":true}'),
        ({"tags": {"SS": ["a"]}}, '{"SS":["a"]}'),
        ({"label": {"B": "AP8="}}, "AP8="),
        ({"label": {"B": ""}}, '{"B":""}'),
    ],
)
def test_cells_are_typed_by_their_columns(stored: dict[str, Any], cell: str) -> None:
    [name] = stored
    assert cells_of(**stored)[name] == cell
    read = from_cells(SCHEMA, cells_of(**stored))
    assert read[name] == stored[name]


def test_what_the_fields_do_not_tell_stands_apart() -> None:
    cells = cells_of(colour={"S": "red"}, city_pk={"S": "TOWN#Oslo"})
    assert cells["*"] == '{"colour":{"S":"red"},"city_pk":{"S":"TOWN#Oslo"}}'
    assert cells_of(city={"S": "Oslo"})["*"] == '{"city_pk":null}'


def test_a_column_that_is_missing_gives_its_default_and_an_empty_cell_nothing() -> None:
    product = Product.keyfold_schema()
    assert from_cells(product, {"code": "a", "name": "b"})["is_sold"] == {"BOOL": False}
    assert "is_sold" not in from_cells(product, {"code": "a", "name": "b", "is_sold": ""})


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"number": ""}, "number: Field required"),
        ({"number": "seven"}, "number: 'seven' is no value of the column"),
        ({"tags": "a, b"}, "tags: 'a, b' is no value of the column"),
        ({"label": "no base64"}, "label: 'no base64' is no value of the column"),
        ({"user": "a#b"}, "Order: part 'user' of key template"),
        ({"*": "[]"}, "*: it is no JSON object"),
        ({"*": "{"}, "*: it is not JSON"),
        ({"*": '{"x":{"N":"one"}}'}, "*: The parameter cannot be converted"),
    ],
)
def test_a_row_that_makes_no_item_says_why(cells: dict[str, str], reason: str) -> None:
    with pytest.raises(ItemMismatch) as invalid:
        from_cells(SCHEMA, {"user": "ada", "number": "7", "total": "1", **cells})
    assert str(invalid.value).startswith(reason)


def test_a_truth_value_is_a_word() -> None:
    product = Product.keyfold_schema()
    row = {"code": "a", "name": "b"}
    assert from_cells(product, {**row, "is_sold": "TRUE"})["is_sold"] == {"BOOL": True}
    with pytest.raises(ItemMismatch, match="it is neither true nor false"):
        from_cells(product, {**row, "is_sold": "yes"})
