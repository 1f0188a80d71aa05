"""All items of a table come back from a copy, and from a file of any format."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.engine import Engine
from keyfold.model._schemas import ItemMismatch
from keyfold.store._canonical_items import to_canonical
from keyfold.transfer import Form, Options, TableLocation, copy_table, dump_table, load_table
from keyfold.transfer._cells import from_cells, to_cells
from keyfold.values import Item, normalise_item
from tests.examples import examples
from tests.property.strategies import items as attributes
from tests.property.test_entities import Thing, table, things

EXAMPLES = examples(20)
REQUEST: dict[str, Any] = {
    "TableName": "Things",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "B"}],
    "BillingMode": "PAY_PER_REQUEST",
}

# Items of any shape, with distinct keys.
tables = st.lists(attributes, max_size=8).map(
    lambda drawn: [item | {"pk": {"B": bytes([place])}} for place, item in enumerate(drawn)]
)


@contextmanager
def two_engines(request: dict[str, Any]) -> Generator[tuple[Engine, Engine, Path]]:
    """Open two databases with one empty table each, and a folder."""
    with (
        Engine.open(":memory:", upkeep_seconds=None) as source,
        Engine.open(":memory:", upkeep_seconds=None) as target,
        TemporaryDirectory() as folder,
    ):
        for engine in (source, target):
            engine.execute("CreateTable", request)
        yield source, target, Path(folder)


def put_all(engine: Engine, items: list[Item]) -> None:
    for item in items:
        engine.execute("PutItem", {"TableName": "Things", "Item": item})


def read_all(engine: Engine) -> list[bytes]:
    found = engine.execute("Scan", {"TableName": "Things"})["Items"]
    return sorted(to_canonical(normalise_item(item)[0]) for item in found)


def options(folder: Path) -> Options:
    # No job is killed here, so none needs a checkpoint.
    return Options(rejects=folder / "rejects", segments=2)


@EXAMPLES
@given(tables)
def test_a_copy_holds_what_was_copied(items: list[Item]) -> None:
    with two_engines(REQUEST) as (source, target, folder):
        put_all(source, items)
        origin, goal = TableLocation(source, "a", "Things"), TableLocation(target, "b", "Things")
        summary = copy_table(origin, goal, options(folder))
        assert summary.is_good
        assert read_all(target) == read_all(source)


@pytest.mark.parametrize(
    ("form", "name"), [("lines", "x.jsonl"), ("lines", "x.jsonl.gz"), ("export", "x")]
)
def test_a_file_holds_what_was_dumped(form: Form, name: str) -> None:
    @EXAMPLES
    @given(tables)
    def check(items: list[Item]) -> None:
        with two_engines(REQUEST) as (source, target, folder):
            put_all(source, items)
            file = folder / name
            dumped = dump_table(
                TableLocation(source, "a", "Things"), file, options(folder), form=form
            )
            loaded = load_table(file, TableLocation(target, "b", "Things"), options(folder))
            assert dumped.is_good
            assert loaded.is_good
            assert read_all(target) == read_all(source)

    check()


# Attributes that an item may have besides, or instead of, those that its entity declares.
extras = st.dictionaries(
    st.sampled_from(["undeclared", "another", "madePk", "made", "count", "text", "flag"]),
    attributes.map(lambda item: next(iter(item.values()), {"S": "alone"})),
    max_size=3,
)


@EXAMPLES
@given(st.lists(things, max_size=4, unique_by=lambda thing: (thing.owner, thing.part_id)))
def test_csv_holds_what_was_dumped(drawn: list[Thing]) -> None:
    schema = Thing.keyfold_schema()
    with two_engines(table.to_dynamodb()) as (source, target, folder):
        put_all(source, [schema.encode(thing) for thing in drawn])
        path = folder / "csv"
        origin, goal = TableLocation(source, "a", "Things"), TableLocation(target, "b", "Things")
        dumped = dump_table(origin, path, options(folder), form="csv", declared=table)
        loaded = load_table(path, goal, options(folder), declared=table)
        assert dumped.is_good
        assert loaded.is_good
        assert read_all(target) == read_all(source)


@EXAMPLES
@given(things, extras, st.sets(st.sampled_from(["amount", "words", "mode", "madePk", "version"])))
def test_a_csv_row_round_trips_any_item(
    thing: Thing, more: dict[str, Any], lacking: set[str]
) -> None:
    schema = Thing.keyfold_schema()
    whole = normalise_item({**schema.encode(thing), **more})[0]
    item = {name: value for name, value in whole.items() if name not in lacking}
    try:
        cells = to_cells(schema, item)
    except ItemMismatch:
        # An item that its entity cannot hold is rejected, not written.
        return
    assert to_canonical(from_cells(schema, cells)) == to_canonical(item)
