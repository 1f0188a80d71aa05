"""PartiQL and the expression API read and write the same.

Every statement is drawn as data, written once in PartiQL and once as a request with expressions,
and run on two engines that hold the same items.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from keyfold.engine import Engine
from keyfold.errors import ConditionalCheckFailedException, ServiceError, ValidationException
from tests.examples import examples
from tests.property.plain_conditions import (
    Condition,
    Joined,
    Negated,
    Placeholders,
    write_condition,
)
from tests.property.plain_statements import Parameters, write_change, write_name, write_where
from tests.property.plain_table import Attribute
from tests.property.plain_updates import Update, write_update
from tests.property.plain_values import Item
from tests.property.strategies import (
    OTHER_ATTRIBUTES,
    conditions,
    other_attributes,
    sort_conditions,
    table_keys,
    updates,
)

TABLE = "Both"
PARTITION, SORT = Attribute("pk", "S"), Attribute("sk", "N")
# The projection of an index limits which queries it can answer; these indexes project everything.
INDEXES = {None: (PARTITION, SORT), "ByB": (Attribute("b", "N"), SORT), "Local": (PARTITION, None)}

SOME = examples(80)

keys = table_keys(PARTITION, SORT)
flags = st.lists(st.booleans(), min_size=1, max_size=6)


def definition() -> dict[str, Any]:
    def schema(*names: str) -> list[dict[str, str]]:
        kinds = ("HASH", "RANGE")
        return [
            {"AttributeName": name, "KeyType": kind}
            for name, kind in zip(names, kinds, strict=False)
        ]

    everything = {"ProjectionType": "ALL"}
    return {
        "TableName": TABLE,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind}
            for name, kind in (("pk", "S"), ("sk", "N"), ("b", "N"), ("a", "S"))
        ],
        "KeySchema": schema("pk", "sk"),
        "GlobalSecondaryIndexes": [
            {"IndexName": "ByB", "KeySchema": schema("b", "sk"), "Projection": everything}
        ],
        "LocalSecondaryIndexes": [
            {"IndexName": "Local", "KeySchema": schema("pk", "a"), "Projection": everything}
        ],
    }


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[Engine, Engine]]:
    """Two engines with the same empty table: one for PartiQL, one for expressions."""
    with Engine.open(":memory:") as left, Engine.open(":memory:") as right:
        for engine in (left, right):
            engine.execute("CreateTable", definition())
        yield left, right
        assert left.verify() == [] == right.verify()


def fill(engines: tuple[Engine, Engine], items: list[Item]) -> list[Item]:
    """Put items into both engines; return those that their indexes accept."""
    kept: list[Item] = []
    for engine in engines:
        scanned = engine.execute("Scan", {"TableName": TABLE})["Items"]
        for item in scanned:
            key = {name: item[name] for name in ("pk", "sk")}
            engine.execute("DeleteItem", {"TableName": TABLE, "Key": key})
    for item in items:
        try:
            for engine in engines:
                engine.execute("PutItem", {"TableName": TABLE, "Item": item})
            kept.append(item)
        except ValidationException:
            continue  # an index refuses its type, in both engines
    return kept


some_items = st.lists(
    st.tuples(keys, other_attributes).map(lambda pair: {**pair[1], **pair[0]}),
    min_size=1,
    max_size=12,
)


def outcome(engine: Engine, operation: str, request: dict[str, Any]) -> dict[str, Any] | str:
    """Return the response, or the type of the error."""
    try:
        return engine.execute(operation, request)
    except ServiceError as error:
        return error.type


def read_statement(engine: Engine, request: dict[str, Any]) -> list[tuple[list[Item], float]]:
    """Return every page of a statement with its consumed capacity."""
    pages: list[tuple[list[Item], float]] = []
    while True:
        page = engine.execute("ExecuteStatement", request)
        pages.append((page["Items"], page["ConsumedCapacity"]["CapacityUnits"]))
        if "NextToken" not in page:
            return pages
        request = {**request, "NextToken": page["NextToken"]}


def read_expressions(
    engine: Engine, operation: str, request: dict[str, Any]
) -> list[tuple[list[Item], float]]:
    """Return every page of a Query or a Scan with its consumed capacity."""
    pages: list[tuple[list[Item], float]] = []
    while True:
        page = engine.execute(operation, request)
        pages.append((page["Items"], page["ConsumedCapacity"]["CapacityUnits"]))
        if "LastEvaluatedKey" not in page:
            return pages
        request = {**request, "ExclusiveStartKey": page["LastEvaluatedKey"]}


def literals(drawn: list[bool]) -> Iterator[bool]:
    """Return the same choices in an endless loop."""
    for each in repeat(drawn):
        yield from each


@SOME
@given(data=st.data())
def test_a_select_reads_the_pages_of_a_query_or_a_scan(
    engines: tuple[Engine, Engine], data: st.DataObject
) -> None:
    left, right = engines
    items = fill(engines, data.draw(some_items))
    assume(items)
    index = data.draw(st.sampled_from(list(INDEXES)))
    partition, sort = INDEXES[index]
    used, parameters = Placeholders(), Parameters(literals(data.draw(flags)))
    request: dict[str, Any] = {"TableName": TABLE, "ReturnConsumedCapacity": "TOTAL"}
    source = write_name(TABLE)
    if index is not None:
        request["IndexName"] = index
        source += "." + write_name(index)
    clauses: list[str] = []
    ordering = ""
    by_key = data.draw(st.booleans(), label="by key")
    if by_key:
        holders = [item for item in items if partition.kind in item.get(partition.name, {})]
        assume(holders)
        value = data.draw(st.sampled_from(holders))[partition.name]
        key_condition = f"{used.name(partition.name)} = {used.value(value)}"
        clauses.append(f"{write_name(partition.name)} = {parameters.value(value)}")
        wanted = None if sort is None else data.draw(st.none() | sort_conditions(sort))
        if wanted is not None:
            key_condition += f" AND {write_condition(wanted, used)}"
            clauses.append(write_where(wanted, parameters))
        request["KeyConditionExpression"] = key_condition
        if sort is not None and data.draw(st.booleans(), label="backwards"):
            request["ScanIndexForward"] = False
            ordering = f" ORDER BY {write_name(sort.name)} DESC"
    key_names = {partition.name, "a" if index == "Local" else SORT.name}
    filter_ = data.draw(st.none() | conditions)
    if filter_ is not None:
        assume(not by_key or key_names.isdisjoint(_names(filter_)))
        request["FilterExpression"] = write_condition(filter_, used)
        clauses.append(write_where(filter_, parameters))
    columns = "*"
    if data.draw(st.booleans(), label="projects"):
        names = ("pk", *data.draw(st.sets(st.sampled_from(OTHER_ATTRIBUTES))))
        request["ProjectionExpression"] = ", ".join(map(used.name, names))
        columns = ", ".join(map(write_name, names))
    limit = data.draw(st.none() | st.integers(1, 4))
    paged = {} if limit is None else {"Limit": limit}
    where = f" WHERE {' AND '.join(clauses)}" if clauses else ""
    # A filter with OR needs parentheses after a key condition.
    if len(clauses) > 1:
        where = " WHERE " + " AND ".join(f"({clause})" for clause in clauses)
    statement = {
        "Statement": f"SELECT {columns} FROM {source}{where}{ordering}",
        "ReturnConsumedCapacity": "TOTAL",
        **parameters.fields(),
        **paged,
    }
    operation = "Query" if by_key else "Scan"
    expected = read_expressions(right, operation, {**request, **used.parameters(), **paged})
    assert read_statement(left, statement) == expected


def _names(condition: Condition) -> set[str]:
    """Return the attributes that a condition names."""
    match condition:
        case Joined(left, _, right):
            return _names(left) | _names(right)
        case Negated(inner):
            return _names(inner)
        case _:
            return {condition.name}


@SOME
@given(
    items=some_items,
    key=keys,
    update=updates,
    condition=st.none() | conditions,
    drawn=flags,
)
def test_an_update_does_what_the_same_expressions_do(
    engines: tuple[Engine, Engine],
    items: list[Item],
    key: Item,
    update: Update,
    condition: Condition | None,
    drawn: list[bool],
) -> None:
    left, right = engines
    fill(engines, items)
    used, parameters = Placeholders(), Parameters(literals(drawn))
    changes = [write_change(action, parameters) for action in update]
    clauses = [change for change in changes if change is not None]
    assume(len(clauses) == len(changes))
    where = " AND ".join(f"{write_name(name)} = {parameters.value(key[name])}" for name in key)
    guard = f"attribute_exists({used.name('pk')})"
    if condition is not None:
        where += f" AND ({write_where(condition, parameters)})"
        guard += f" AND ({write_condition(condition, used)})"
    statement = f"UPDATE {TABLE} {' '.join(clauses)} WHERE {where} RETURNING ALL NEW *"
    answer = outcome(left, "ExecuteStatement", {"Statement": statement, **parameters.fields()})
    request = {
        "TableName": TABLE,
        "Key": key,
        "UpdateExpression": write_update(update, used),
        "ConditionExpression": guard,
        "ReturnValues": "ALL_NEW",
        **used.parameters(),
    }
    expected = outcome(right, "UpdateItem", request)
    if isinstance(expected, str):
        assert answer == expected
    else:
        assert answer == {"Items": [expected["Attributes"]]}
    assert left.execute("Scan", {"TableName": TABLE}) == right.execute("Scan", {"TableName": TABLE})


@SOME
@given(items=some_items, key=keys, condition=st.none() | conditions, drawn=flags)
def test_a_delete_does_what_the_same_condition_does(
    engines: tuple[Engine, Engine],
    items: list[Item],
    key: Item,
    condition: Condition | None,
    drawn: list[bool],
) -> None:
    left, right = engines
    fill(engines, items)
    used, parameters = Placeholders(), Parameters(literals(drawn))
    where = " AND ".join(f"{write_name(name)} = {parameters.value(key[name])}" for name in key)
    guard = f"attribute_not_exists({used.name('pk')})"
    if condition is not None:
        where += f" AND ({write_where(condition, parameters)})"
        guard += f" OR ({write_condition(condition, used)})"
    else:
        guard += f" OR attribute_exists({used.name('pk')})"
    statement = f"DELETE FROM {TABLE} WHERE {where} RETURNING ALL OLD *"
    answer = outcome(left, "ExecuteStatement", {"Statement": statement, **parameters.fields()})
    request = {
        "TableName": TABLE,
        "Key": key,
        "ConditionExpression": guard,
        "ReturnValues": "ALL_OLD",
        **used.parameters(),
    }
    expected = outcome(right, "DeleteItem", request)
    if isinstance(expected, str):
        assert answer == expected == ConditionalCheckFailedException.__name__
    else:
        returned = expected.get("Attributes")
        assert answer == {"Items": [] if returned is None else [returned]}
    assert left.execute("Scan", {"TableName": TABLE}) == right.execute("Scan", {"TableName": TABLE})


@SOME
@given(items=some_items, item=st.tuples(keys, other_attributes), drawn=flags)
def test_an_insert_does_what_a_put_of_a_new_item_does(
    engines: tuple[Engine, Engine], items: list[Item], item: tuple[Item, Item], drawn: list[bool]
) -> None:
    left, right = engines
    fill(engines, items)
    new = {**item[1], **item[0]}
    parameters = Parameters(literals(drawn))
    pairs = ", ".join(f"'{name}': {parameters.value(value)}" for name, value in new.items())
    statement = f"INSERT INTO {TABLE} VALUE {{{pairs}}}"
    answer = outcome(left, "ExecuteStatement", {"Statement": statement, **parameters.fields()})
    condition = {"ConditionExpression": "attribute_not_exists(pk)"}
    expected = outcome(right, "PutItem", {"TableName": TABLE, "Item": new, **condition})
    if expected == ConditionalCheckFailedException.__name__:
        assert answer == "DuplicateItemException"
    elif isinstance(expected, str):
        assert answer == expected
    else:
        assert answer == {"Items": []}
    assert left.execute("Scan", {"TableName": TABLE}) == right.execute("Scan", {"TableName": TABLE})
