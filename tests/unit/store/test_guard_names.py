"""Guards have names that outlive classes, fields and versions of the program, on both stores."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any, Self

import pytest

from keyfold.errors import (
    UniqueTaken,
)
from keyfold.model import Entity, Key, Table, attr, transaction
from keyfold.store import Store, StoreSettings
from tests.transports import Database
from tests.unit.model.shop import User
from tests.unit.store.store_kinds import OpenStore

ADA = User(name="ada", email="ada@x.org", number=Decimal(1))
BOB = User(name="bob", email="bob@x.org")


def test_two_entities_that_both_give_a_name_share_their_values(open_store: OpenStore) -> None:
    table = Table("People", key=Key("pk"))

    class Member(Entity, table=table, key="M#{id}", unique={"email": "mail"}):
        id: str
        email: str

    class Guest(Entity, table=table, key="G#{id}", unique={"contact": "mail"}):
        id: str
        contact: str

    store = open_store(table)
    store.run(Member(id="1", email="a").create())
    with pytest.raises(UniqueTaken) as caught:
        store.run(Guest(id="1", contact="a").create())
    assert caught.value.field == "contact"
    store.run(transaction(Member.delete(id="1"), Guest(id="1", contact="a").create()))
    with pytest.raises(UniqueTaken):
        store.run(Member(id="1", email="a").create())


def test_guards_survive_a_rename_of_class_and_field(
    engine: Database, make_store: OpenStore
) -> None:
    old = Table("Renamed", key=Key("pk"))

    class Person(Entity, table=old, key="P#{id}", unique="email"):
        id: str
        email: str

    new = Table("Renamed", key=Key("pk"))

    class Customer(Entity, table=new, key="P#{id}", kind=("Client", "Person"), unique="mail"):
        id: str
        mail: str = attr("mail", was=("address", "email"))

    Store(engine, StoreSettings([old])).create_table(old)
    make_store(engine, [old]).run(Person(id="1", email="a").create())
    store = make_store(engine, [new])
    with pytest.raises(UniqueTaken):
        store.run(Customer(id="2", mail="a").create())
    store.run(Customer.update(id="1").set(Customer.f.mail, "b"))
    store.run(Customer(id="2", mail="a").create())
    with pytest.raises(UniqueTaken):
        store.run(Customer(id="2", mail="b").put())
    store.run(Customer.delete(id="1"))
    store.run(Customer.delete(id="2"))
    store.run(Customer(id="2", mail="a").create())
    with pytest.raises(UniqueTaken):
        make_store(engine, [old]).run(Person(id="3", email="a").create())


def test_a_change_moves_the_guard_of_a_value_that_upgrade_changed(
    engine: Database, make_store: OpenStore
) -> None:
    old = Table("Upgraded", key=Key("pk"))

    class Person(Entity, table=old, key="P#{id}", unique="email"):
        id: str
        email: str

    new = Table("Upgraded", key=Key("pk"))

    class Customer(Entity, table=new, key="P#{id}", kind="Person", unique="email"):
        id: str
        email: str
        note: str = ""

        @classmethod
        def upgrade(cls, stored: dict[str, Any]) -> dict[str, Any]:
            return {**stored, "email": stored["email"].lower()}

    Store(engine, StoreSettings([old])).create_table(old)
    make_store(engine, [old]).run(Person(id="1", email="A").create())
    store = make_store(engine, [new])
    found = store.run(Customer.get(id="1"))
    assert found is not None
    store.run(found.change(note="x"))
    with pytest.raises(UniqueTaken):
        store.run(Customer(id="2", email="a").create())
    make_store(engine, [old]).run(Person(id="3", email="A").create())


def test_a_change_and_before_write_move_the_guards(open_store: OpenStore) -> None:
    table = Table("Hooked", key=Key("pk"))

    class Person(Entity, table=table, key="P#{id}", unique="email"):
        id: str
        email: str

        def before_write(self, now: datetime) -> Self:
            return self.model_copy(update={"email": self.email.lower()})

    store = open_store(table)
    ada = store.run(Person(id="1", email="ADA").create())
    for taken in ("ada", "ADA"):
        with pytest.raises(UniqueTaken):
            store.run(Person(id="2", email=taken).put())
    store.run(ada.change(email="NEW"))
    with pytest.raises(UniqueTaken):
        store.run(Person(id="2", email="New").create())
    store.run(Person(id="2", email="Ada").create())
