"""Records of requests are Keyfold's own items: nothing that handles entities sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keyfold.analysis.samples import sample_database
from keyfold.deploy import verify
from keyfold.engine import Engine
from keyfold.errors import AccessDenied, ValidationException
from keyfold.model import Change, Entity, Key, Table, part
from keyfold.policy import ALL, EVERYTHING, Role
from keyfold.store import Store, StoreSettings, make_write_checks
from keyfold.store._own_items import EXPIRY, IDEMPOTENCY_START, REQUEST, own_key
from keyfold.transfer import backfill_table, copy_table, dump_table
from keyfold.values import Item
from tests.unit.store.store_kinds import AnyStore, OpenStore
from tests.unit.transfer.shop import location, options

notes = Table("Notes", key=Key("pk", "sk"), stream="new and old", ttl="expires")


class Note(Entity, table=notes, key=("N#{id}", "N")):
    id: str = part()
    text: str = ""
    expires: int | None = None


free = Table("Free", key=Key("pk", "sk"))


class Anything(Entity, table=free, key=("{pk}", "{sk}"), extra="allow", fallback=True):
    pk: str
    sk: str


class Named(Entity, table=free, key=("NAME#{name}", "NAME")):
    name: str = part()


def record(table: Table) -> Item:
    key = own_key(table.key, IDEMPOTENCY_START, "abc")
    return {**key, REQUEST: {"S": "x"}, EXPIRY: {"N": "1"}}


def put_record(store: AnyStore | Store, table: Table) -> None:
    store.execute("PutItem", {"TableName": table.name, "Item": record(table)})


@pytest.mark.parametrize(
    ("table", "entity"),
    [(notes, Note(id="1")), (free, Named(name="ada")), (free, Anything(pk="a", sk="b"))],
)
def test_reads_pass_over_records(open_store: OpenStore, table: Table, entity: Entity) -> None:
    store = open_store(table)
    store.run(entity.put())
    put_record(store, table)
    page = store.run(table.scan())
    assert (list(page), page.invalid) == ([entity], ())
    own = store.run(type(entity).scan())
    assert (list(own), own.invalid) == ([entity], ())
    assert store.run(table.scan().count()) == 1
    key = {name: value["S"] for name, value in record(table).items() if name in table.key.names}
    assert store.run(table.get(**key)) is None
    assert list(store.run(table.query(pk=key["pk"]))) == []


@pytest.fixture
def engine() -> Any:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        yield engine


@pytest.fixture
def store(engine: Engine) -> Store:
    store = Store(engine, StoreSettings([notes], cursor_key=b"x" * 32, is_embedded=True))
    store.create_table(notes)
    store.run(Note(id="1").put())
    put_record(store, notes)
    return store


def test_handlers_are_not_called_for_records(store: Store) -> None:
    changes: list[Change[Any]] = []
    notes.on_change(name="all")(changes.append)
    try:
        store.follow(notes, until_caught_up=True, setup=True)
    finally:
        notes.handlers.by_name.clear()
    assert [each.new for each in changes] == [Note(id="1")]


def test_declared_copies_dumps_and_backfills_leave_records_out(
    engine: Engine, store: Store, tmp_path: Path
) -> None:
    with Engine.open(":memory:", upkeep_seconds=None) as target:
        here, there = location(engine, "a.db", "Notes"), location(target, "b.db", "Notes")
        copied = copy_table(here, there, options(tmp_path, creates=True), declared=notes)
        assert (copied.is_good, copied.entities) == (True, {"Note": 1})
        assert target.execute("Scan", {"TableName": "Notes"})["Count"] == 1
    path = tmp_path / "notes.jsonl"
    dumped = dump_table(here, path, options(tmp_path), declared=notes)
    assert (dumped.is_good, dumped.entities) == (True, {"Note": 1})
    assert "idempotency" not in path.read_text()
    assert backfill_table(here, notes, options(tmp_path)).rejects == 0
    assert verify(engine, [notes])[0].problems == ()
    assert store.run(notes.scan()).invalid == ()


def test_a_sample_of_a_database_has_no_records(engine: Engine, store: Store) -> None:
    sample = sample_database(notes, engine)
    assert len(sample.items) == len(list(store.run(notes.scan()))) == 1
    assert sample.counted == {"Note": 1}


def test_no_principal_reaches_a_record() -> None:
    table = Table("Own", key=Key("pk", "sk"))

    class Thing(Entity, table=table, key=("{owner}", "T")):
        owner: str = part()

    table.add_role(Role("owner", tenant="owner", can={"Thing": ALL}))
    table.add_role(Role("staff", can={"Thing": ALL}))
    table.add_role(Role("keeper", can={EVERYTHING: ALL}))
    with Engine.open(":memory:") as engine:
        store = Store(engine, StoreSettings([table], cursor_key=b"x" * 32, is_embedded=True))
        store.create_table(table)
        put_record(store, table)
        pk = record(table)["pk"]["S"]
        for made in (Thing.get(owner=pk), Thing(owner=pk).put(), Thing.delete(owner=pk)):
            with pytest.raises(AccessDenied):
                store.as_principal("staff").run(made)
            with pytest.raises(AccessDenied):
                store.as_principal("owner", owner="ada").run(made)
        # An entity can have such a key, but a record is not an entity.
        assert store.as_principal("keeper").run(table.get(pk=pk, sk="keyfold#idempotency")) is None


@pytest.mark.parametrize("table", [notes, free])
def test_a_checked_server_takes_records_and_nothing_else_of_their_keys(table: Table) -> None:
    with Engine.open(":memory:", write_checks=make_write_checks([table])) as engine:
        engine.execute("CreateTable", table.to_dynamodb())
        engine.execute("PutItem", {"TableName": table.name, "Item": record(table)})
        key = {name: record(table)[name] for name in table.key.names}
        engine.execute("DeleteItem", {"TableName": table.name, "Key": key})
        for odd in (
            {**record(table), "more": {"S": "x"}},
            key,
            {**record(table), "pk": {"S": "keyfold#other"}},
        ):
            with pytest.raises(ValidationException, match="reserved for Keyfold's own items"):
                engine.execute("PutItem", {"TableName": table.name, "Item": odd})


def test_the_sort_key_of_an_own_item_has_the_type_of_the_table() -> None:
    key = Key("pk", "sk")
    assert own_key(key, "keyfold#x#", "1", "N")["sk"] == {"N": "0"}
    assert own_key(key, "keyfold#x#", "1", "B")["sk"] == {"B": b"keyfold#x"}
    assert own_key(Key("pk"), "keyfold#x#", "1") == {"pk": {"S": "keyfold#x#1"}}
