"""Copies, loads and backfills keep unique values unique, and their guards equal to the items."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold import Entity, Key, Table, attr, part
from keyfold.deploy import apply, plan, verify
from keyfold.engine import Engine
from keyfold.errors import TargetNotEmpty, WriteRefused
from keyfold.store import Store, StoreSettings
from keyfold.transfer import Form, backfill_table, copy_table, dump_table, load_table
from tests.unit.transfer.shop import Failing, location, options

people = Table("People", key=Key("pk"))


class Person(Entity, table=people, key="P#{name}", unique=("email", "badge")):
    name: str
    email: str | None = None
    badge: bytes | None = None


class Note(Entity, table=people, key="N#{number:03}"):
    number: int


ADA = Person(name="ada", email="ada@x", badge=b"\x01")
BOB = Person(name="bob", email="bob@x")


@pytest.fixture
def source() -> Iterator[Engine]:
    with open_people(ADA, BOB) as engine:
        Store(engine, StoreSettings([people])).run(Note(number=1).put())
        yield engine


@pytest.fixture
def target() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        yield engine


def open_people(*persons: Person) -> Engine:
    engine = Engine.open(":memory:", upkeep_seconds=None)
    store = Store(engine, StoreSettings([people]))
    store.create_table(people)
    for person in persons:
        store.run(person.create())
    return engine


def at(engine: Any, url: str = "a.db") -> Any:
    return location(engine, url, "People")


def items_of(engine: Engine) -> dict[str, Any]:
    items = engine.execute("Scan", {"TableName": "People"})["Items"]
    return {item["pk"]["S"]: item for item in items}


def check_whole(engine: Engine) -> None:
    """Check that guards equal items, and that the database says so."""
    assert verify(engine, [people])[0].problems == ()
    assert plan(engine, [people])[0].is_as_declared


# Copies and loads.


@pytest.mark.parametrize("key", [{}, {"sk": {"N": "1"}}])
def test_an_item_without_its_key_is_rejected(target: Engine, tmp_path: Path, key: Any) -> None:
    typed = Table("Typed", key=Key("pk", "sk"), type_attribute="kind")

    class Member(Entity, table=typed, key=("M#{name}", "M"), unique="email"):  # pyright: ignore[reportUnusedClass] - its table is used
        name: str = part()
        email: str

    item = {"pk": {"S": "M#ada"}, **key, "kind": {"S": "Member"}, "email": {"S": "ada@x"}}
    path = tmp_path / "members.jsonl"
    path.write_text(json.dumps({"Item": item}) + "\n")
    place = location(target, "b.db", "Typed")
    summary = load_table(path, place, options(tmp_path, creates=True), declared=typed)
    assert not summary.is_good
    assert verify(target, [typed])[0].problems == ()
    assert "M#ada" not in str(target.execute("Scan", {"TableName": "Typed"})["Items"])


def test_a_declared_copy_makes_the_guards(source: Engine, target: Engine, tmp_path: Path) -> None:
    given = options(tmp_path, creates=True)
    summary = copy_table(at(source), at(target, "b.db"), given, declared=people)
    assert summary.is_good
    assert summary.entities == {"Person": 2, "Note": 1}
    assert items_of(target) == items_of(source)
    check_whole(target)


def test_a_whole_table_is_copied_with_its_guards(
    source: Engine, target: Engine, tmp_path: Path
) -> None:
    assert copy_table(at(source), at(target, "b.db"), options(tmp_path, creates=True)).is_good
    assert items_of(target) == items_of(source)
    check_whole(target)


@pytest.mark.parametrize("form", ["lines", "export", "csv"])
def test_a_dump_is_loaded_with_its_guards(
    source: Engine, target: Engine, tmp_path: Path, form: Form
) -> None:
    given = options(tmp_path, creates=True)
    dump_table(at(source), tmp_path / "dump", given, form=form, declared=people)
    summary = load_table(tmp_path / "dump", at(target, "b.db"), given, declared=people)
    assert summary.is_good
    assert summary.entities == {"Person": 2, "Note": 1}
    assert items_of(target) == items_of(source)


def test_one_entity_is_loaded_with_its_guards(
    source: Engine, target: Engine, tmp_path: Path
) -> None:
    given = options(tmp_path, creates=True)
    path = tmp_path / "persons.csv"
    dump_table(at(source), path, given, form="csv", declared=people, entity="Person")
    load_table(path, at(target, "b.db"), given, declared=people, entity="Person")
    check_whole(target)
    assert len(items_of(target)) == 2 + 3 + 1


def test_a_taken_value_is_rejected(source: Engine, tmp_path: Path) -> None:
    eve = Person(name="eve", email="ada@x")
    other = Person(name="bob", email="other@x")
    with open_people(eve, other) as target:
        given = options(tmp_path, merges=True, verifies=False)
        summary = copy_table(at(source), at(target, "b.db"), given, declared=people)
        assert summary.rejects == 1
        assert "another item has the same email" in given.rejects.read_text()
        found = items_of(target)
        assert "P#ada" not in found
        assert found["P#bob"]["email"] == {"S": "bob@x"}
        check_whole(target)


def test_a_load_that_is_resumed_keeps_what_it_has_taken(
    source: Engine, target: Engine, tmp_path: Path
) -> None:
    given = options(tmp_path, creates=True, checkpoint=tmp_path / "checkpoint", page_items=1)
    failing = Failing(target, "TransactWriteItems", after=1)
    with pytest.raises(OSError, match="the line is dead"):
        copy_table(at(source), at(failing, "b.db"), given, declared=people)
    summary = copy_table(at(source), at(target, "b.db"), given, declared=people)
    assert summary.is_good
    check_whole(target)
    assert items_of(target) == items_of(source)


@pytest.mark.parametrize("merges", [False, True])
def test_a_table_that_keeps_values_unique_needs_its_declaration(
    source: Engine, tmp_path: Path, merges: bool
) -> None:
    given = options(tmp_path, merges=merges)
    dump_table(at(source), tmp_path / "dump", given)
    with open_people() as target:
        before = items_of(target)
        for run in (
            lambda: copy_table(at(source), at(target, "b.db"), given),
            lambda: load_table(tmp_path / "dump", at(target, "b.db"), given),
        ):
            with pytest.raises(WriteRefused) as caught:
                run()
            assert str(caught.value) == (
                "People: it keeps Person.badge, Person.email unique, which needs the declaration. "
                "Give it with --table. [write-refused]"
            )
        assert items_of(target) == before


def test_a_table_with_nothing_but_the_marker_is_empty(source: Engine, tmp_path: Path) -> None:
    given = options(tmp_path)
    with open_people() as target:
        assert copy_table(at(source), at(target, "b.db"), given, declared=people).is_good
        with pytest.raises(TargetNotEmpty):
            copy_table(at(source), at(target, "b.db"), given, declared=people)


# Backfills.

former = Table("People", key=Key("pk"))


class Human(Entity, table=former, key="P#{name}"):
    name: str
    email: str | None = None


def open_former(*humans: Human) -> Engine:
    """Return a database whose items are older than the unique fields."""
    engine = Engine.open(":memory:", upkeep_seconds=None)
    store = Store(engine, StoreSettings([former]))
    store.create_table(former)
    for human in humans:
        store.run(human.put())
    return engine


def put_former_guard(engine: Engine, email: str) -> None:
    item = {
        "pk": {"S": f"keyfold#unique#Person#email#S#{email}"},
        "guards": {"S": "Person.email"},
    }
    engine.execute("PutItem", {"TableName": "People", "Item": item})


def test_backfill_makes_guards_and_adopts_those_of_the_former_format(tmp_path: Path) -> None:
    with open_former(Human(name="a", email="a@x"), Human(name="b", email="b@x")) as engine:
        put_former_guard(engine, "a@x")
        put_former_guard(engine, "b@x")
        dry = backfill_table(at(engine), people, options(tmp_path), is_dry=True)
        assert dry.unique is not None
        assert dry.unique.found == {"missing guard": 2, "former format": 2}
        assert not plan(engine, [people])[0].is_as_declared
        done = backfill_table(at(engine), people, options(tmp_path))
        assert done.unique is not None
        assert done.is_good
        assert done.unique.repaired == dry.unique.found
        assert done.write_units > 0
        check_whole(engine)
        assert len(items_of(engine)) == 2 + 2 + 1
        assert backfill_table(at(engine), people, options(tmp_path)).unique is None


def test_backfill_lists_duplicates_and_changes_nothing(tmp_path: Path) -> None:
    class Later(Entity, table=Table("People", key=Key("pk")), key="P#{name}", unique="email"):
        name: str
        email: str | None = None
        rank: int = 1

    later = Later.keyfold_schema().table
    assert isinstance(later, Table)
    with open_former(Human(name="a", email="x"), Human(name="b", email="x")) as engine:
        before = items_of(engine)
        summary = backfill_table(at(engine), later, options(tmp_path))
        assert (summary.is_good, summary.has_duplicates) == (False, True)
        assert summary.unique is not None
        assert [str(each) for each in summary.unique.problems] == [
            "Later.email 'x': pk='P#a' and pk='P#b' have it."
        ]
        assert items_of(engine) == before
        assert list(tmp_path.iterdir()) == []


def test_an_interrupted_backfill_is_completed_by_the_next(tmp_path: Path) -> None:
    humans = [Human(name=f"{number:02}", email=f"{number}@x") for number in range(70)]
    with open_former(*humans) as engine:
        put_former_guard(engine, "0@x")
        given = options(tmp_path, checkpoint=tmp_path / "checkpoint")
        with pytest.raises(OSError, match="the line is dead"):
            backfill_table(at(Failing(engine, "TransactWriteItems", after=1)), people, given)
        assert "keyfold#unique#Person#email#S#0@x" in items_of(engine)
        assert backfill_table(at(engine), people, given).is_good
        check_whole(engine)
        assert len(items_of(engine)) == 70 + 70 + 1


upgraded = Table("People", key=Key("pk"))


class Citizen(Entity, table=upgraded, key="P#{name}", kind="Person", unique="mail"):
    name: str = part()
    mail: str | None = attr("mail", was="email", default=None)

    @classmethod
    def upgrade(cls, stored: dict[str, Any]) -> dict[str, Any]:
        for name in ("email", "mail"):
            if name in stored:
                stored[name] = stored[name].lower()
        return stored


def test_a_backfill_moves_the_guards_of_values_that_it_changes(tmp_path: Path) -> None:
    with open_people(
        Person(name="ada", email="Ada@X"),
        Person(name="bob", email="bob@x"),
        Person(name="bub", email="BOB@x"),
    ) as engine:
        summary = backfill_table(at(engine), upgraded, options(tmp_path))
        # Two values become one: the second stays as it was, and is reported.
        assert summary.rejects == 1
        assert "another item has the same mail" in options(tmp_path).rejects.read_text()
        found = items_of(engine)
        assert "keyfold#unique#Person.email#S#Ada@X" not in found
        guard = found["keyfold#unique#Person.email#S#ada@x"]
        assert guard["keyfold_owner"] == {"M": {"pk": {"S": "P#ada"}}}
        assert found["P#ada"]["mail"] == {"S": "ada@x"}
        # The badge is no longer unique; its guards are left to `apply`.
        (problem,) = verify(engine, [upgraded])[0].problems
        assert (problem.kind, problem.name) == ("undeclared", "Person.badge")


def test_a_class_that_is_renamed_without_its_former_kind_gets_new_guards(tmp_path: Path) -> None:
    old = Table("People", key=Key("pk"), type_attribute="kind")
    new = Table("People", key=Key("pk"), type_attribute="kind")

    class User(Entity, table=old, key="P#{name}", unique="email"):
        name: str
        email: str

    class Account(Entity, table=new, key="P#{name}", unique="email"):
        name: str
        email: str

    assert Account
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        store = Store(engine, StoreSettings([old]))
        store.create_table(old)
        store.run(User(name="a", email="x").create())
        assert [step.name for step in plan(engine, [new])[0].unique] == ["Account.email"]
        assert backfill_table(at(engine), new, options(tmp_path)).is_good
        assert [each.name for each in verify(engine, [new])[0].problems] == ["User.email"]
        assert apply(engine, [new], allow_removal=True)[0].is_as_declared
        assert verify(engine, [new])[0].problems == ()
        assert "keyfold#unique#Account.email#S#x" in items_of(engine)
        assert apply(engine, [new])[0].is_as_declared
