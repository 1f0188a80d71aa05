from __future__ import annotations

from typing import Any

import pytest

from keyfold.model._schemas import ItemMismatch
from keyfold.transfer._cells import from_cells, list_columns, to_cells
from keyfold.values import normalise_item
from tests.unit.transfer.shop import Order, Product

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


def test_there_is_a_column_for_each_field_and_one_for_the_rest() -> None:
    assert list_columns(SCHEMA) == [
        *("user", "number", "total", "city", "note", "tags", "label", "expires", "*")
    ]


def test_keys_are_written_as_their_fields() -> None:
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


def test_attributes_that_are_not_fields_go_to_the_extra_column() -> None:
    cells = cells_of(colour={"S": "red"}, city_pk={"S": "TOWN#Oslo"})
    assert cells["*"] == '{"colour":{"S":"red"},"city_pk":{"S":"TOWN#Oslo"}}'
    assert cells_of(city={"S": "Oslo"})["*"] == '{"city_pk":null}'


def test_a_missing_column_means_the_default_and_an_empty_cell_means_no_value() -> None:
    product = Product.keyfold_schema()
    assert from_cells(product, {"code": "a", "name": "b"})["is_sold"] == {"BOOL": False}
    assert "is_sold" not in from_cells(product, {"code": "a", "name": "b", "is_sold": ""})


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"number": ""}, "number: Field required"),
        ({"number": "seven"}, "number: 'seven' is not valid in this column"),
        ({"tags": "a, b"}, "tags: 'a, b' is not valid in this column"),
        ({"label": "no base64"}, "label: 'no base64' is not valid in this column"),
        ({"user": "a#b"}, "Order: part 'user' of key template"),
        ({"*": "[]"}, "*: it is not a JSON object"),
        ({"*": "{"}, "*: it is not JSON"),
        ({"*": '{"x":{"N":"one"}}'}, "*: The parameter cannot be converted"),
    ],
)
def test_an_invalid_row_is_rejected_with_a_reason(cells: dict[str, str], reason: str) -> None:
    with pytest.raises(ItemMismatch) as invalid:
        from_cells(SCHEMA, {"user": "ada", "number": "7", "total": "1", **cells})
    assert str(invalid.value).startswith(reason)


def test_booleans_are_written_as_words() -> None:
    product = Product.keyfold_schema()
    row = {"code": "a", "name": "b"}
    assert from_cells(product, {**row, "is_sold": "TRUE"})["is_sold"] == {"BOOL": True}
    with pytest.raises(ItemMismatch, match="it is neither true nor false"):
        from_cells(product, {**row, "is_sold": "yes"})
