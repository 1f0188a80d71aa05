"""Unique fields are kept by guard items, in one transaction with the entity, on both stores."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from keyfold.errors import (
    AlreadyExists,
    BatchInvalid,
    ConditionFailed,
    NotFound,
    TransactionFailed,
    TransactionInvalid,
    UniqueTaken,
    UpdateInvalid,
    VersionConflict,
)
from keyfold.model import Entity, Index, Key, Table, Version, attr, batch, transaction
from keyfold.store import Store, StoreSettings
from keyfold.testing import Clock
from keyfold.values import Item
from tests.transports import Database
from tests.unit.model.shop import Device, User, accounts
from tests.unit.store.store_kinds import AnyStore, OpenStore

ADA = User(name="ada", email="ada@x.org", number=Decimal(1))
BOB = User(name="bob", email="bob@x.org")


class RacedEngine:
    """An engine that runs each function in `before` once, just before a transaction."""

    def __init__(self, engine: Database) -> None:
        self.engine = engine
        self.before: list[Callable[[], Any]] = []

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation == "TransactWriteItems" and self.before:
            self.before.pop()()
        return self.engine.execute(operation, request)

    def guards(self) -> list[str]:
        items: list[Item] = self.engine.execute("Scan", {"TableName": "Accounts"})["Items"]
        return sorted(
            item["pk"]["S"].removeprefix("keyfold#unique#")
            for item in items
            if "keyfold_owner" in item
        )


@pytest.fixture
def raced_engine(engine: Database) -> RacedEngine:
    Store(engine, StoreSettings([accounts])).create_table(accounts)
    return RacedEngine(engine)


@pytest.fixture
def users(make_store: OpenStore, raced_engine: RacedEngine) -> AnyStore:
    return make_store(raced_engine, [accounts])


def email(name: str, value: str | None) -> Any:
    return User.update(name=name).set(User.f.email, value)


def test_create_takes_a_free_value(users: AnyStore, raced_engine: RacedEngine) -> None:
    assert users.run(ADA.create()) == ADA
    assert raced_engine.guards() == ["User.email#S#ada@x.org", "User.number#N#1"]
    with pytest.raises(UniqueTaken) as caught:
        users.run(BOB.model_copy(update={"email": "ada@x.org"}).create())
    assert str(caught.value) == (
        "User pk='USER#bob' sk='USER': another entity has the same email. [unique-taken]"
    )
    assert users.run(User.get(name="bob")) is None
    assert users.run(BOB.create()) == BOB


def test_creating_an_existing_entity_is_not_a_uniqueness_conflict(users: AnyStore) -> None:
    users.run(ADA.create())
    with pytest.raises(AlreadyExists) as caught:
        users.run(ADA.create())
    assert caught.value.found == ADA


def test_equal_numbers_are_one_value(users: AnyStore) -> None:
    users.run(ADA.create())
    with pytest.raises(UniqueTaken, match="another entity has the same number"):
        users.run(User(name="bob", number=Decimal("1.00")).create())


def test_none_takes_no_value(users: AnyStore, raced_engine: RacedEngine) -> None:
    users.run(User(name="a").create())
    users.run(User(name="b").create())
    assert raced_engine.guards() == []


def test_update_moves_the_guard(users: AnyStore, raced_engine: RacedEngine) -> None:
    users.run(ADA.create())
    users.run(BOB.create())
    moved = users.run(email("ada", "new@x.org"))
    assert moved == ADA.model_copy(update={"email": "new@x.org"})
    assert raced_engine.guards() == [
        "User.email#S#bob@x.org", "User.email#S#new@x.org", "User.number#N#1",
    ]  # fmt: skip
    with pytest.raises(UniqueTaken, match="another entity has the same email"):
        users.run(email("bob", "new@x.org"))
    assert users.run(email("bob", "ada@x.org")).email == "ada@x.org"
    assert users.run(email("bob", "ada@x.org")).email == "ada@x.org"
    assert users.run(email("bob", None)).email is None
    assert raced_engine.guards() == ["User.email#S#new@x.org", "User.number#N#1"]


def test_an_update_of_other_fields_is_a_single_call(users: AnyStore) -> None:
    users.run(ADA.create())
    users.calls.clear()
    assert users.run(User.update(name="ada").set(User.f.note, "x")).note == "x"
    assert [call.operation for call in users.calls] == ["UpdateItem"]


def test_replace_moves_the_guards(users: AnyStore, raced_engine: RacedEngine) -> None:
    users.run(ADA.create())
    other = User(name="ada", email="new@x.org")
    assert users.run(other.replace()) == other
    assert raced_engine.guards() == ["User.email#S#new@x.org"]
    assert users.run(other.model_copy(update={"note": "x"}).replace()).note == "x"


def test_delete_releases_the_values(users: AnyStore, raced_engine: RacedEngine) -> None:
    users.run(ADA.create())
    assert users.run(User.delete(name="ada")) == ADA
    assert users.run(User.delete(name="ada")) is None
    assert raced_engine.guards() == []
    assert users.run(BOB.model_copy(update={"email": "ada@x.org"}).create())


def test_writes_of_an_absent_entity_take_no_values(
    users: AnyStore, raced_engine: RacedEngine
) -> None:
    for request in (ADA.replace(), email("ada", "x")):
        with pytest.raises(NotFound):
            users.run(request)
    assert raced_engine.guards() == []
    assert users.pauses == []


def test_writes_that_return_nothing_move_the_guards_too(
    users: AnyStore, raced_engine: RacedEngine
) -> None:
    users.run(ADA.create().returning_nothing())
    assert (
        users.run(User.update(name="ada").set(User.f.email, "a@x.org").returning_nothing()) is None
    )
    assert "User.email#S#a@x.org" in raced_engine.guards()
    users.pauses.clear()
    with pytest.raises(ConditionFailed) as caught:
        users.run(User.delete(name="ada").where(User.f.email.eq("b@x.org")).returning_nothing())
    assert (type(caught.value), caught.value.found, users.pauses) == (ConditionFailed, None, [])
    assert users.run(User.delete(name="ada").returning_nothing()) is None
    assert raced_engine.guards() == []
    with pytest.raises(UpdateInvalid, match=r"or_get\(\) cannot follow returning_nothing\(\)"):
        ADA.create().returning_nothing().or_get()


def test_conditions_are_checked_too(users: AnyStore, raced_engine: RacedEngine) -> None:
    users.run(ADA.create())
    before = raced_engine.guards()
    for request in (
        email("ada", "x").where(User.f.note.eq("y")),
        User.delete(name="ada").where(User.f.note.eq("y")),
        ADA.model_copy(update={"email": "x"}).replace().where(User.f.note.eq("y")),
    ):
        with pytest.raises(ConditionFailed, match="the condition does not hold") as caught:
            users.run(request)
        assert caught.value.found == ADA
    with pytest.raises(ConditionFailed):
        users.run(User.delete(name="bob").where(User.f.note.exists()))
    assert users.run(User.delete(name="bob").where(User.f.note.not_exists())) is None
    assert raced_engine.guards() == before
    assert users.pauses == []


def test_guards_are_never_seen(users: AnyStore) -> None:
    users.run(ADA.create())
    users.run(Device(name="ada", serial="1").put())
    found = users.iterate(accounts.scan())
    assert len(found) == 2
    assert users.run(accounts.scan().count()) == 2
    assert users.run(User.scan().count()) == 1
    guarded = accounts.query(pk="keyfold#unique#User.email#S#ada@x.org")
    assert list(users.run(guarded)) == []


@pytest.mark.indexes
def test_guards_are_not_taken_for_free_form_items(open_store: OpenStore) -> None:
    index = Index("Reverse", key=Key("sk", "pk"))
    table = Table("Free", key=Key("pk", "sk"), indexes=[index])

    class Free(Entity, table=table, key=("{pk}", "{sk}"), unique="mail", extra="allow"):
        pk: str
        sk: str
        mail: str

    store = open_store(table)
    free = Free(pk="a", sk="b", mail="x")
    store.run(free.create())
    assert store.iterate(Free.scan()) == [free]
    store.run_until(table.scan(index), len)
    assert store.iterate(table.scan(index)) == [free]
    assert list(store.run(table.query(index, sk="keyfold#unique"))) == []
    assert store.run(Free.scan().count()) == 1


def test_values_of_any_length_and_type_are_told_apart(open_store: OpenStore) -> None:
    table = Table("Long", key=Key("pk"))

    class Long(Entity, table=table, key="L#{id}", unique=["text", "data"]):
        id: str
        text: str | None = None
        data: bytes | None = attr("d", default=None)

    store = open_store(table)
    for number, fields in enumerate(
        [
            {"text": "x" * 3000 + "a"},
            {"text": "x" * 3000 + "b"},
            {"text": ""},
            {"data": b"x" * 3000 + b"a"},
            {"data": b"x" * 3000 + b"b"},
            {"data": b""},
            {"text": "00"},
            {"data": b"\x00"},
        ]
    ):
        store.run(Long(id=str(number), **fields).create())  # type: ignore[arg-type]
        with pytest.raises(UniqueTaken):
            store.run(Long(id="other", **fields).create())  # type: ignore[arg-type]


# In transactions.


def test_values_change_hands_in_a_transaction(users: AnyStore, raced_engine: RacedEngine) -> None:
    users.run(ADA.create())
    users.run(BOB.create())
    before = raced_engine.guards()
    users.run(transaction(email("ada", "bob@x.org"), email("bob", "ada@x.org")))
    assert raced_engine.guards() == before
    swapped = users.run(User.get(name="ada"))
    assert swapped is not None
    assert swapped.email == "bob@x.org"
    eve = User(name="eve", email="bob@x.org", number=Decimal(1))
    assert users.run(transaction(User.delete(name="ada"), eve.create())) == [None, eve]
    assert raced_engine.guards() == before
    users.run(transaction(User.delete(name="eve"), User.delete(name="bob")))
    assert raced_engine.guards() == []


def test_two_cannot_take_one_value_in_a_transaction(
    users: AnyStore, raced_engine: RacedEngine
) -> None:
    with pytest.raises(TransactionFailed) as caught:
        users.run(
            transaction(
                Device(name="x", serial="1").put(),
                ADA.create(),
                User(name="bob", email="ada@x.org").create(),
            )
        )
    first, second, third = caught.value.reasons
    assert (first, second) == (None, None)
    assert isinstance(third, UniqueTaken)
    assert users.run(accounts.scan().count()) == 0


def test_a_taken_value_cancels_the_whole_transaction(
    users: AnyStore, raced_engine: RacedEngine
) -> None:
    users.run(ADA.create())
    with pytest.raises(TransactionFailed) as caught:
        users.run(
            transaction(
                Device(name="x", serial="1").create(), User(name="bob", email="ada@x.org").create()
            )
        )
    assert caught.value.reasons[0] is None
    assert isinstance(caught.value.reasons[1], UniqueTaken)
    assert "request 1: User pk='USER#bob' sk='USER': another entity has the same email" in str(
        caught.value
    )
    assert users.run(Device.get(name="x", serial="1")) is None


def test_guards_count_towards_the_limit(users: AnyStore) -> None:
    many = [User(name=f"n{each}", email=f"e{each}").create() for each in range(60)]
    with pytest.raises(
        TransactionInvalid, match="it has 120 actions including guards of unique fields"
    ):
        users.run(transaction(*many))


def test_a_token_holds_although_the_guards_differ_the_second_time(
    users: AnyStore, raced_engine: RacedEngine, clock: Clock, token: str
) -> None:
    users.run(ADA.create())
    request = transaction(email("ada", "new@x.org"), token=token)
    users.run(request)
    users.run(email("ada", "third@x.org"))
    users.run(request)
    found = users.run(User.get(name="ada"))
    assert found is not None
    assert found.email == "third@x.org"


# Races.


def test_a_change_between_the_read_and_the_write_is_noticed(
    users: AnyStore, raced_engine: RacedEngine
) -> None:
    users.run(ADA.create())
    raced_engine.before.append(lambda: users_of(raced_engine).run(email("ada", "mid@x.org")))
    assert users.run(email("ada", "new@x.org")).email == "new@x.org"
    assert raced_engine.guards() == ["User.email#S#new@x.org", "User.number#N#1"]
    assert len(users.pauses) == 1

    raced_engine.before.append(lambda: users_of(raced_engine).run(email("ada", "mid@x.org")))
    deleted = users.run(User.delete(name="ada"))
    assert deleted is not None
    assert deleted.email == "mid@x.org"
    assert raced_engine.guards() == []


def test_an_entity_that_appears_between_the_read_and_the_write_is_noticed(
    users: AnyStore, raced_engine: RacedEngine
) -> None:
    raced_engine.before.append(lambda: users_of(raced_engine).run(ADA.create()))
    changed = ADA.model_copy(update={"email": "new@x.org"})
    assert users.run(changed.replace()) == changed
    assert raced_engine.guards() == ["User.email#S#new@x.org", "User.number#N#1"]
    users.run(User.delete(name="ada"))

    raced_engine.before.append(lambda: users_of(raced_engine).run(ADA.create()))
    assert users.run(User.delete(name="ada")) == ADA
    assert raced_engine.guards() == []


def test_an_entity_that_vanishes_between_the_read_and_the_write_is_noticed(
    users: AnyStore, raced_engine: RacedEngine
) -> None:
    users.run(ADA.create())
    raced_engine.before.append(lambda: users_of(raced_engine).run(User.delete(name="ada")))
    with pytest.raises(NotFound):
        users.run(email("ada", "new@x.org"))
    assert raced_engine.guards() == []


def test_a_value_that_is_taken_meanwhile_is_refused(
    users: AnyStore, raced_engine: RacedEngine
) -> None:
    users.run(ADA.create())
    raced_engine.before.append(lambda: users_of(raced_engine).run(BOB.create()))
    with pytest.raises(UniqueTaken):
        users.run(email("ada", "bob@x.org"))
    found = users.run(User.get(name="ada"))
    assert found == ADA


def users_of(raced_engine: RacedEngine) -> Any:
    return Store(raced_engine.engine, StoreSettings([accounts]))


def test_versions_are_checked_too(open_store: OpenStore) -> None:
    table = Table("Versioned", key=Key("pk"))

    class Doc(Entity, table=table, key="D#{id}", unique="slug"):
        id: str
        slug: str
        version: Version = 0

    store = open_store(table)
    first = store.run(Doc(id="1", slug="a").create())
    second = store.run(first.model_copy(update={"slug": "b"}).replace())
    assert (first.version, second.version) == (1, 2)
    with pytest.raises(VersionConflict, match="it was read with version 1, and now has 2"):
        store.run(first.model_copy(update={"slug": "c"}).replace())
    third = store.run(Doc.update(id="1").set(Doc.f.slug, "c"))
    assert third == Doc(id="1", slug="c", version=3)
    store.run(Doc(id="2", slug="b").create())


# Upserts.


def test_put_takes_and_moves_values(users: AnyStore, raced_engine: RacedEngine) -> None:
    assert users.run(ADA.put()) == ADA
    assert users.run(ADA.put()) == ADA
    moved = User(name="ada", email="new@x.org")
    assert users.run(moved.put()) == moved
    assert raced_engine.guards() == ["User.email#S#new@x.org"]
    users.run(BOB.put())
    with pytest.raises(UniqueTaken) as caught:
        users.run(User(name="bob", email="new@x.org").put())
    assert caught.value.field == "email"
    assert users.run(User.get(name="bob")) == BOB


def test_put_notices_an_entity_that_appears_or_vanishes_meanwhile(
    users: AnyStore, raced_engine: RacedEngine
) -> None:
    raced_engine.before.append(lambda: users_of(raced_engine).run(ADA.create()))
    changed = User(name="ada", email="new@x.org")
    assert users.run(changed.put()) == changed
    assert raced_engine.guards() == ["User.email#S#new@x.org"]
    raced_engine.before.append(lambda: users_of(raced_engine).run(User.delete(name="ada")))
    assert users.run(ADA.put()) == ADA
    assert raced_engine.guards() == ["User.email#S#ada@x.org", "User.number#N#1"]


# Owners.


def remove_guards(engine: Database) -> None:
    for item in engine.execute("Scan", {"TableName": "Accounts"})["Items"]:
        if "keyfold_owner" in item:
            key = {name: item[name] for name in ("pk", "sk")}
            engine.execute("DeleteItem", {"TableName": "Accounts", "Key": key})


def test_a_guard_has_the_key_of_its_owner(users: AnyStore, raced_engine: RacedEngine) -> None:
    users.run(BOB.create())
    key = {"pk": {"S": "keyfold#unique#User.email#S#bob@x.org"}, "sk": {"S": "keyfold#unique"}}
    found = raced_engine.engine.execute("GetItem", {"TableName": "Accounts", "Key": key})["Item"]
    assert found == {
        **key,
        "keyfold_unique": {"S": "User.email"},
        "keyfold_owner": {"M": {"pk": {"S": "USER#bob"}, "sk": {"S": "USER"}}},
    }


def test_a_guard_is_released_by_its_owner_alone(users: AnyStore, raced_engine: RacedEngine) -> None:
    # Two entities have one value, as after a field was made unique and before that was resolved.
    users.run(ADA.create())
    remove_guards(raced_engine.engine)
    users.run(User(name="eve", email="ada@x.org").create())
    assert users.run(email("ada", "free@x.org")).email == "free@x.org"
    assert raced_engine.guards() == ["User.email#S#ada@x.org", "User.email#S#free@x.org"]
    with pytest.raises(UniqueTaken):
        users.run(email("ada", "ada@x.org"))
    users.run(User.delete(name="eve"))
    assert raced_engine.guards() == ["User.email#S#free@x.org"]


def test_a_guard_that_becomes_the_entity_s_own_meanwhile_is_released(
    users: AnyStore, raced_engine: RacedEngine
) -> None:
    users.run(ADA.create())
    remove_guards(raced_engine.engine)
    users.run(User(name="eve", email="ada@x.org").create())

    def hand_over() -> None:
        users_of(raced_engine).run(User.delete(name="eve"))
        users_of(raced_engine).run(email("ada", None))
        users_of(raced_engine).run(email("ada", "ada@x.org"))

    # The first attempt finds another owner; before the second, the guard is ada's.
    raced_engine.before += [hand_over, lambda: None]
    assert users.run(email("ada", "free@x.org")).email == "free@x.org"
    assert raced_engine.guards() == ["User.email#S#free@x.org"]


def test_a_value_whose_guard_the_entity_owns_already_is_its_own(
    users: AnyStore, raced_engine: RacedEngine
) -> None:
    users.run(ADA.create())
    key = {"pk": {"S": "USER#ada"}, "sk": {"S": "USER"}}
    raced_engine.engine.execute("DeleteItem", {"TableName": "Accounts", "Key": key})
    assert users.run(ADA.create()) == ADA
    with pytest.raises(UniqueTaken):
        users.run(User(name="bob", email="ada@x.org").create())


def test_the_error_names_the_field_and_not_the_owner(users: AnyStore) -> None:
    users.run(ADA.create())
    with pytest.raises(UniqueTaken) as caught:
        users.run(User(name="bob", number=Decimal(1)).create())
    assert caught.value.field == "number"
    assert caught.value.found is None
    assert "ada" not in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).field == "number"


def test_batches_refuse_entities_with_unique_fields() -> None:
    for request in (ADA.put(), User.delete(name="ada")):
        with pytest.raises(BatchInvalid, match="whose guard items a batch cannot write"):
            batch([request])


def test_guards_are_not_seen_by_a_program_that_declares_no_unique_field(
    users: AnyStore, make_store: OpenStore, raced_engine: RacedEngine
) -> None:
    older = Table("Accounts", key=Key("pk", "sk"))

    class Account(Entity, table=older, key=("USER#{name}", "USER")):
        name: str

    users.run(ADA.create())
    store = make_store(raced_engine, [older])
    for scan in (older.scan(), Account.scan()):
        page = store.run(scan)
        assert list(page) == [Account(name="ada")]
        assert page.invalid == ()
