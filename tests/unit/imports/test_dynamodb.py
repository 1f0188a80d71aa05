from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keyfold import Table
from keyfold.engine import Engine
from keyfold.errors import TableMissing
from keyfold.imports import import_dynamodb, load_tables, write_module
from keyfold.policy import UNIQUE_START
from keyfold.values import Item
from tests.exports.tables import DESIGNS
from tests.unit.imports.comparing import find_own_schemas, group, key_of

each_design = pytest.mark.parametrize("design", DESIGNS, ids=lambda table: table.name)


def scan(database: Any, table: Table) -> list[Item]:
    """Return all items but guards."""
    found: list[Item] = []
    request: dict[str, Any] = {"TableName": table.name}
    while True:
        page = database.execute("Scan", request)
        found += page["Items"]
        if "LastEvaluatedKey" not in page:
            break
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
    first = table.key.partition[0]
    return [item for item in found if not item[first]["S"].startswith(UNIQUE_START)]


def load(database: Any, name: str) -> Table:
    [table] = load_tables(write_module([import_dynamodb(database, name)], title="Test."))
    return table


@each_design
def test_items_are_grouped_as_the_design_does(database: Any, design: Table) -> None:
    items = scan(database, design)
    found = group(load(database, design.name), items)
    assert found == group(design, items)
    assert sum(map(len, found)) == len(items) > 500


@each_design
def test_key_templates_are_those_of_the_design(database: Any, design: Table) -> None:
    items = scan(database, design)
    inferred = load(database, design.name)
    pairs = {
        (key_of(design.find_schema(item)), key_of(inferred.find_schema(item)))
        for item in items
        if design.find_schema(item) is not design.fallback
    }
    assert [(one, other) for one, other in pairs if one != other] == []
    declared = {key_of(each) for each in find_own_schemas(design) if each is not design.fallback}
    assert {one for one, _ in pairs} == declared


@each_design
def test_every_item_fits_its_entity(database: Any, design: Table) -> None:
    made = import_dynamodb(database, design.name)
    for entity in made.entities:
        assert entity.evidence is not None
        assert entity.evidence.fitting == entity.evidence.items


@each_design
def test_keys_indexes_and_settings_are_those_of_the_table(database: Any, design: Table) -> None:
    made = load(database, design.name)
    wanted, found = design.to_dynamodb(), made.to_dynamodb()
    assert found["KeySchema"] == wanted["KeySchema"]
    assert found.get("GlobalSecondaryIndexes") == wanted.get("GlobalSecondaryIndexes")
    assert (made.ttl, made.stream) == (design.ttl, design.stream)


def test_guards_say_which_fields_are_unique(database: Any) -> None:
    made = {each.name: each for each in import_dynamodb(database, "Market").entities}
    assert made["Order"].unique == {"id": "Order.id"}
    assert made["UserAccount"].unique == {"user": "AccountMember.user"}
    assert made["Product"].unique == {}


def test_fields_have_types(database: Any) -> None:
    [rate] = import_dynamodb(database, "ExchangeRates").entities
    assert {each.attribute: each.annotation for each in rate.fields} == {
        "Base": "str",
        "Target": "str",
        "Rate": "Decimal",
        "Timestamp": "int",
        "Stale": "bool",
        "ttl": "Expiry",
    }
    market = {each.name: each for each in import_dynamodb(database, "Market").entities}
    types = {each.name: each.annotation for each in market["OrderItem"].fields}
    assert types["order"] == "OrderId"
    assert types["product"] == "ProductId"
    assert types["number"] == "int"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:") as engine:
        yield engine


def test_a_missing_table_is_named(engine: Engine) -> None:
    with pytest.raises(TableMissing, match="there is no table 'Shop'; it has none"):
        import_dynamodb(engine, "Shop", url=":memory:")


def test_an_empty_table_says_nothing(engine: Engine) -> None:
    engine.execute("CreateTable", DESIGNS[0].to_dynamodb())
    with pytest.raises(TableMissing, match="has no items"):
        import_dynamodb(engine, DESIGNS[0].name, url=":memory:")


def test_a_limit_is_kept(database: Any) -> None:
    [rate] = import_dynamodb(database, "ExchangeRates", limit=7).entities
    assert rate.evidence is not None
    assert rate.evidence.items == 7
    assert rate.evidence.certainty == "medium"
