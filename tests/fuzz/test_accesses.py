"""What the gate reads from a request is what the engine does with it.

Whatever a request is, either the engine refuses it just as the reading of it did, or nothing is
changed and nothing is told beyond the accesses that were read.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any, cast

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.api import OPERATIONS
from keyfold.engine import Engine
from keyfold.errors import ServiceError
from keyfold.expressions.comparison import are_equal
from keyfold.policy import Access
from keyfold.policy.accesses import read_accesses
from keyfold.values import AttributeValue, Item
from tests.examples import examples
from tests.fuzz.engines import open_repeatable
from tests.fuzz.mutations import mutated_json
from tests.fuzz.seeds import prepare, seeds_of

READS = ("GetItem", "BatchGetItem", "TransactGetItems", "Query")
WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")

every_operation = pytest.mark.parametrize("operation", sorted(OPERATIONS))

Place = tuple[str, str]
Rows = dict[Place, Item]


def check_request(engine: Engine, operation: str, request: Any) -> None:
    """Read the accesses of a request, carry it out, and hold the one to the other."""
    try:
        accesses = read_accesses(operation, request, engine.find_key_names)
        refusal = None
    except ServiceError as error:
        accesses, refusal = [], error
    before = _rows(engine) if operation in WRITES else {}
    try:
        response, fault = engine.execute(operation, request), None
    except ServiceError as error:
        response, fault = {}, error
    if refusal is not None:
        assert fault is not None, f"the engine does what the reading refused: {refusal}"
        assert (fault.type, fault.message) == (refusal.type, refusal.message)
    if fault is not None:
        return
    assert accesses
    if operation in WRITES:
        _check_changes(engine, before, _rows(engine), accesses)
    if operation in READS:
        _check_told(engine, response, accesses)


def _rows(engine: Engine) -> Rows:
    rows: Rows = {}
    for table in engine.execute("ListTables", {})["TableNames"]:
        names = engine.find_key_names(table)
        assert names is not None
        for item in engine.execute("Scan", {"TableName": table})["Items"]:
            key = {name: item[name] for name in (names.partition, names.sort) if name}
            rows[table, repr(key)] = item
    return rows


def _check_changes(engine: Engine, before: Rows, after: Rows, accesses: list[Access]) -> None:
    for place in before.keys() | after.keys():
        old, new = before.get(place, {}), after.get(place, {})
        if old == new:
            continue
        mine = _of_partition(engine, accesses, place[0], old or new)
        assert mine, f"{place} was changed by nobody"
        changed = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
        if all(access.action == "UpdateItem" for access in mine):
            assert changed <= {name for access in mine for name in access.written}
        for name in changed & new.keys():
            values = [access.written[name] for access in mine if name in access.written]
            assert any(value is None or are_equal(value, _plain(new[name])) for value in values)


def _check_told(engine: Engine, response: dict[str, Any], accesses: list[Access]) -> None:
    for item in _items(response):
        mine = [
            access
            for access in accesses
            if access.table is not None and _is_in(engine, access, access.table, item)
        ]
        assert mine, f"{item} was told by nobody"
        assert any(access.attributes is None or item.keys() <= access.attributes for access in mine)


def _items(response: dict[str, Any]) -> Iterator[Item]:
    if "Item" in response:
        yield response["Item"]
    yield from response.get("Items", ())
    told = response.get("Responses", ())
    if isinstance(told, dict):
        for items in cast("dict[str, list[Item]]", told).values():
            yield from items
    else:
        yield from (each["Item"] for each in told if "Item" in each)


def _of_partition(engine: Engine, accesses: list[Access], table: str, item: Item) -> list[Access]:
    return [
        access
        for access in accesses
        if access.table == table and _is_in(engine, access, table, item)
    ]


def _is_in(engine: Engine, access: Access, table: str, item: Item) -> bool:
    names = engine.find_key_names(table)
    assert names is not None
    index = access.index_name
    attributes = (names.partition,) if index is None else names.indexes[index]
    assert access.partition is not None
    return all(
        # A projection may leave out the key.
        name not in item or _plain(item[name]) == value
        for name, value in zip(attributes, access.partition, strict=True)
    )


def _plain(value: AttributeValue) -> AttributeValue:
    """Return a value in normal form: binaries as the text that JSON has for them."""
    return orjson.loads(orjson.dumps(value, default=_to_text))


def _to_text(data: Any) -> str:
    return b64encode(data).decode()


@every_operation
def test_what_is_read_from_known_requests_is_what_is_done(operation: str) -> None:
    for seed in seeds_of(operation):
        with open_repeatable() as engine:
            check_request(engine, operation, prepare(engine, seed))


def test_a_request_that_repeats_an_answer_is_the_same_each_time() -> None:
    marks = ("{iterator:", "{said:")
    seeds = [seed for operation in OPERATIONS for seed in seeds_of(operation)]
    told = [seed for seed in seeds if any(mark in repr(seed.request) for mark in marks)]
    assert len(told) > 20
    for seed in told:
        with open_repeatable() as one, open_repeatable() as other:
            assert prepare(one, seed) == prepare(other, seed), seed.case


@every_operation
@examples(10, 1_000)
@given(data=st.data())
def test_what_is_read_from_mutated_requests_is_what_is_done(
    operation: str, data: st.DataObject
) -> None:
    seed = data.draw(st.sampled_from(seeds_of(operation)))
    with open_repeatable() as engine:
        body = data.draw(mutated_json(prepare(engine, seed)))
        try:
            request = orjson.loads(body)
        except orjson.JSONDecodeError:
            return
        check_request(engine, operation, request)
