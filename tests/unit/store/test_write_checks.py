"""Checks made from declarations: which items an engine accepts, and which it refuses."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import field_validator

from keyfold import Entity, Index, Key, Table, attr, computed_field, part
from keyfold.designs import letsgo
from keyfold.engine import Engine
from keyfold.errors import DeclarationInvalid, TransactionCanceledException, ValidationException
from keyfold.store import Store, StoreSettings, make_write_checks
from keyfold.store._guards import guard_item, guard_key
from keyfold.values import Item

by_city = Index("ByCity", key=Key("city_pk"))
by_code = Index("ByCode", key=Key("code"))
clubs = Table("Clubs", key=Key("pk", "sk"), indexes=[by_city, by_code])
own = clubs.shard("CLUB#{club}", name="clubs")


class Club(Entity, table=clubs, key=(own, "CLUB#{club}"), indexes={by_city: "CITY#{city}"}):
    club: str = part()
    city: str | None = None
    seats: int = attr(default=1, gt=0)
    photo: bytes | None = None

    @computed_field(depends=("seats",))
    def pairs(self) -> int:
        return self.seats // 2

    @field_validator("city")
    @classmethod
    def check_city(cls, city: str | None) -> str | None:
        if city == "Nowhere":
            raise LookupError(city)
        return city


class Member(
    Entity, table=clubs, key=(own, "MEMBER#{name}"), unique={"email": "email", "number": "number"}
):
    club: str = part()
    name: str
    email: str | None = None
    number: int | None = None

    @field_validator("email")
    @classmethod
    def lower(cls, email: str | None) -> str | None:
        return None if email is None else email.lower()


class Code(Entity, table=clubs, key=("CODE", "{code}"), indexes={by_code: "{code}"}):
    code: str = part()


def text(value: str) -> dict[str, str]:
    return {"S": value}


CLUB: Item = {"pk": text("CLUB#a"), "sk": text("CLUB#a"), "seats": {"N": "4"}, "pairs": {"N": "2"}}
ADA_KEY: Item = {"pk": text("CLUB#a"), "sk": text("MEMBER#ada")}
BOB_KEY: Item = {"pk": text("CLUB#a"), "sk": text("MEMBER#bob")}
ADA: Item = {**ADA_KEY, "name": text("ada"), "email": text("ada@x.org")}
BOB: Item = {**BOB_KEY, "name": text("bob"), "email": text("ada@x.org")}
NAMED = {"TableName": "Clubs"}


@pytest.fixture
def engine() -> Iterator[Engine]:
    checks = make_write_checks([clubs])
    with Engine.open(":memory:", upkeep_seconds=None, write_checks=checks) as engine:
        engine.execute("CreateTable", clubs.to_dynamodb())
        yield engine
        assert engine.verify() == []


def put(engine: Engine, item: Item) -> None:
    engine.execute("PutItem", {**NAMED, "Item": item})


def update(engine: Engine, key: Item, expression: str, **values: Any) -> None:
    request: dict[str, Any] = {**NAMED, "Key": key, "UpdateExpression": expression}
    if values:
        request["ExpressionAttributeValues"] = {f":{name}": each for name, each in values.items()}
    engine.execute("UpdateItem", request)


def transact(engine: Engine, *members: dict[str, Any]) -> None:
    engine.execute("TransactWriteItems", {"TransactItems": list(members)})


def put_member(item: Item) -> dict[str, Any]:
    return {"Put": {**NAMED, "Item": item}}


def delete_member(key: Item) -> dict[str, Any]:
    return {"Delete": {**NAMED, "Key": key}}


def guard(owner: Item, email: str = "ada@x.org") -> Item:
    return guard_item(clubs, "email", text(email), owner)


GUARD_KEY = guard_key(clubs, "email", text("ada@x.org"))


def put_unchecked(engine: Engine, *items: Item) -> None:
    """Write items as a program did before the table was served with its declaration."""
    catalog: Any = engine._context.catalog
    checks, catalog._write_checks = catalog._write_checks, {}
    catalog.forget()
    for item in items:
        put(engine, item)
    catalog._write_checks = checks
    catalog.forget()


def stored(engine: Engine, key: Item) -> Item | None:
    return engine.execute("GetItem", {**NAMED, "Key": key}).get("Item")


# Items by themselves.


@pytest.mark.parametrize(
    "item",
    [
        CLUB,
        {**CLUB, "photo": {"B": b"\0"}},
        {**CLUB, "city": text("Oslo"), "city_pk": text("CITY#Oslo")},
        # Index keys and computed fields may be absent: a backfill adds them.
        {**CLUB, "city": text("Oslo")},
        {name: CLUB[name] for name in ("pk", "sk")},
        # Attributes that are not declared, and the same number in another spelling.
        {**CLUB, "other": {"M": {"a": {"NULL": True}}}, "seats": {"N": "4.0"}},
        {"pk": text("CODE"), "sk": text("x1"), "code": text("x1")},
    ],
)
def test_an_item_that_fits_is_accepted(engine: Engine, item: Item) -> None:
    put(engine, item)
    assert stored(engine, {name: item[name] for name in ("pk", "sk")}) is not None


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            {"pk": text("CLUB#a"), "sk": text("ORDER#1")},
            (
                "item pk='CLUB#a' sk='ORDER#1' of Clubs: its key matches no entity of the table. Items of "
                "its partition are Club or Member. [write-refused]"
            ),
        ),
        (
            {"pk": text("SHIP#a"), "sk": text("CLUB#a")},
            (
                "item pk='SHIP#a' sk='CLUB#a' of Clubs: its key matches no entity of the table. "
                "[write-refused]"
            ),
        ),
        ({**CLUB, "seats": text("many")}, "seats: Input should be a valid integer, "),
        (
            {**CLUB, "seats": {"N": "0"}, "pairs": {"N": "0"}},
            "seats: Input should be greater than 0",
        ),
        ({**CLUB, "pairs": {"N": "3"}}, "it has pairs=3, but its fields say pairs=2"),
        (
            {**CLUB, "city": text("Oslo"), "city_pk": text("CITY#Rome")},
            "it has city_pk='CITY#Rome', but its fields say city_pk='CITY#Oslo'",
        ),
        (
            {**CLUB, "city_pk": text("CITY#Rome")},
            "it has city_pk='CITY#Rome', but its fields say none",
        ),
        # Both parts of the key name the club.
        ({**CLUB, "sk": text("CLUB#b")}, "it has pk='CLUB#a', but its fields say pk='CLUB#b'"),
        (
            {**ADA_KEY, "name": text("bob")},
            "it has sk='MEMBER#ada', but its fields say sk='MEMBER#bob'",
        ),
        ({**ADA_KEY, "name": text("a#b")}, "MEMBER#{name}"),
        # A club is not in this index, where it would be found in place of a code.
        ({**CLUB, "code": text("x1")}, "code='x1' would put it into ByCode, which has no Club"),
        # A validator may raise anything.
        ({**CLUB, "city": text("Nowhere")}, "its validation failed: LookupError: Nowhere"),
    ],
)
def test_an_item_that_does_not_fit_is_refused(engine: Engine, item: Item, message: str) -> None:
    with pytest.raises(ValidationException) as caught:  # noqa: PT011 - the message has brackets
        put(engine, item)
    assert message in caught.value.message
    assert caught.value.message.endswith("[write-refused]")
    assert engine.execute("Scan", NAMED)["Count"] == 0


# Updates.


@pytest.mark.parametrize(
    ("expression", "values", "message"),
    [
        ("SET seats = :v", {"v": {"N": "-1"}}, "seats: Input should be greater than 0"),
        ("SET seats = :v", {"v": {"N": "8"}}, "it has pairs=2, but its fields say pairs=4"),
        ("ADD seats :v", {"v": {"N": "-4"}}, "seats: Input should be greater than 0"),
        ("SET city_pk = :v", {"v": text("CITY#Rome")}, "but its fields say none"),
        ("SET city = :v", {"v": {"L": []}}, "city: Input should be a valid string"),
    ],
)
def test_an_update_must_leave_an_item_that_fits(
    engine: Engine, expression: str, values: dict[str, Any], message: str
) -> None:
    put(engine, CLUB)
    with pytest.raises(ValidationException, match=message):
        update(engine, {name: CLUB[name] for name in ("pk", "sk")}, expression, **values)
    update(engine, {name: CLUB[name] for name in ("pk", "sk")}, "REMOVE pairs SET seats = seats")


def test_an_update_may_not_create_an_item_that_does_not_fit(engine: Engine) -> None:
    key = {"pk": text("CLUB#a"), "sk": text("ORDER#1")}
    with pytest.raises(ValidationException, match="matches no entity"):
        update(engine, key, "SET a = :a", a=text("x"))
    with pytest.raises(ValidationException, match="matches no entity"):
        engine.execute("UpdateItem", {**NAMED, "Key": key})
    # All required fields of a member are in its key.
    update(engine, BOB_KEY, "SET joined = :a", a=text("x"))


def test_an_update_may_leave_what_was_wrong_before(engine: Engine) -> None:
    wrong = {**CLUB, "seats": {"N": "0"}}
    put_unchecked(engine, wrong)
    key = {name: wrong[name] for name in ("pk", "sk")}
    update(engine, key, "SET city = :c, city_pk = :k", c=text("Oslo"), k=text("CITY#Oslo"))
    with pytest.raises(ValidationException, match="seats: Input should be greater than 0"):
        update(engine, key, "SET seats = :s", s={"N": "-1"})
    with pytest.raises(ValidationException, match="seats: Input should be greater than 0"):
        put(engine, wrong)
    update(engine, key, "SET seats = :s REMOVE pairs", s={"N": "1"})


def test_an_update_may_leave_a_contradiction_alone(engine: Engine) -> None:
    wrong = {**CLUB, "city": text("Oslo"), "city_pk": text("CITY#Rome")}
    put_unchecked(engine, wrong)
    key = {name: wrong[name] for name in ("pk", "sk")}
    update(engine, key, "SET photo = :p", p={"B": b"x"})
    with pytest.raises(ValidationException, match="CITY#Rome"):
        update(engine, key, "SET city = :c", c=text("Bonn"))
    with pytest.raises(ValidationException, match="CITY#Bonn"):
        update(engine, key, "SET city_pk = :c", c=text("CITY#Bonn"))


def test_an_update_may_not_add_to_what_was_wrong_before(engine: Engine) -> None:
    club, member = {**CLUB, "seats": {"N": "0"}}, {**BOB_KEY, "number": text("many")}
    put_unchecked(engine, club, member)
    transact(engine, put_member(ADA), put_member(guard(ADA_KEY)))
    key = {name: club[name] for name in ("pk", "sk")}
    with pytest.raises(ValidationException, match="another item has the same email"):
        update(engine, BOB_KEY, "SET email = :e", e=text("ada@x.org"))
    with pytest.raises(ValidationException, match="which has no Member"):
        update(engine, BOB_KEY, "SET city_pk = :k", k=text("CITY#Oslo"))
    with pytest.raises(ValidationException, match="it has city_pk='CITY#Oslo'"):
        update(engine, key, "SET city_pk = :k", k=text("CITY#Oslo"))
    with pytest.raises(ValidationException, match="but its fields say sk='MEMBER#eve'"):
        engine.execute(
            "UpdateItem",
            {
                **NAMED,
                "Key": BOB_KEY,
                "UpdateExpression": "SET #n = :n",
                "ExpressionAttributeNames": {"#n": "name"},
                "ExpressionAttributeValues": {":n": text("eve")},
            },
        )
    update(engine, BOB_KEY, "SET joined = :j", j=text("today"))


def test_an_item_of_no_entity_can_only_be_deleted(engine: Engine) -> None:
    key = {"pk": text("CLUB#a"), "sk": text("ORDER#1")}
    put_unchecked(engine, key)
    with pytest.raises(ValidationException, match="matches no entity"):
        update(engine, key, "SET a = :a", a=text("x"))
    engine.execute("DeleteItem", {**NAMED, "Key": key})
    assert stored(engine, key) is None


def test_an_undeclared_index_key_that_is_there_already_may_stay(engine: Engine) -> None:
    old = {**CLUB, "code": text("x1")}
    put_unchecked(engine, old)
    key = {name: old[name] for name in ("pk", "sk")}
    put(engine, {**old, "photo": {"B": b"x"}})
    update(engine, key, "REMOVE photo")
    with pytest.raises(ValidationException, match="into ByCode"):
        update(engine, key, "SET code = :c", c=text("x2"))


# Unique values.


@pytest.mark.parametrize("is_guard_first", [True, False])
def test_a_unique_value_comes_with_its_guard(engine: Engine, is_guard_first: bool) -> None:
    members = [put_member(ADA), put_member(guard(ADA_KEY))]
    transact(engine, *(reversed(members) if is_guard_first else members))
    # Whoever has the value may be written again.
    put(engine, {**ADA, "joined": text("x")})
    update(engine, ADA_KEY, "REMOVE joined")
    put(engine, guard(ADA_KEY))


def test_a_batch_may_contain_both(engine: Engine) -> None:
    requests = [{"PutRequest": {"Item": each}} for each in (ADA, guard(ADA_KEY))]
    engine.execute("BatchWriteItem", {"RequestItems": {"Clubs": requests}})


def test_a_unique_value_without_its_guard_is_refused(engine: Engine) -> None:
    message = "email is unique, and the item that guards its value is not written with it"
    with pytest.raises(ValidationException, match=message):
        put(engine, ADA)
    put(engine, {**ADA_KEY, "name": text("ada")})
    with pytest.raises(ValidationException, match=message):
        update(engine, ADA_KEY, "SET email = :e", e=text("ada@x.org"))
    with pytest.raises(TransactionCanceledException, match="ValidationError, None"):
        transact(engine, put_member(ADA), put_member(CLUB))


def test_a_value_that_another_item_has_is_refused(engine: Engine) -> None:
    transact(engine, put_member(ADA), put_member(guard(ADA_KEY)))
    with pytest.raises(ValidationException, match="another item has the same email"):
        put(engine, BOB)
    # Nor may its guard be taken away.
    with pytest.raises(TransactionCanceledException) as caught:
        transact(engine, put_member(BOB), put_member(guard(BOB_KEY)))
    reasons = caught.value.fields["CancellationReasons"]
    assert [each["Code"] for each in reasons] == ["None", "ValidationError"]
    assert (
        "guards a unique value that item pk='CLUB#a' sk='MEMBER#ada' still has"
        in (reasons[1]["Message"])
    )


def test_a_value_may_not_leave_its_guard_behind(engine: Engine) -> None:
    transact(engine, put_member(ADA), put_member(guard(ADA_KEY)))
    message = "email is unique, and the item that guards its former value would remain"
    with pytest.raises(ValidationException, match=message):
        engine.execute("DeleteItem", {**NAMED, "Key": ADA_KEY})
    with pytest.raises(ValidationException, match=message):
        put(engine, {**ADA_KEY, "name": text("ada")})
    with pytest.raises(ValidationException, match=message):
        update(engine, ADA_KEY, "REMOVE email")
    renamed, taken = {**ADA, "email": text("ada@y.org")}, guard(ADA_KEY, "ada@y.org")
    with pytest.raises(TransactionCanceledException) as raised:
        transact(engine, put_member(renamed), put_member(taken))
    assert message in raised.value.fields["CancellationReasons"][0]["Message"]
    transact(engine, delete_member(ADA_KEY), delete_member(GUARD_KEY))


def test_a_guard_of_another_item_may_stay(engine: Engine) -> None:
    # A duplicate from before the field was unique.
    put_unchecked(engine, BOB)
    transact(engine, put_member(ADA), put_member(guard(ADA_KEY)))
    engine.execute("DeleteItem", {**NAMED, "Key": BOB_KEY})


def test_a_value_may_pass_from_one_item_to_another(engine: Engine) -> None:
    transact(engine, put_member(ADA), put_member(guard(ADA_KEY)))
    change = {"Key": ADA_KEY, "UpdateExpression": "REMOVE email"}
    transact(engine, {"Update": {**NAMED, **change}}, put_member(BOB), put_member(guard(BOB_KEY)))
    assert stored(engine, GUARD_KEY) == guard(BOB_KEY)


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("DeleteItem", {**NAMED, "Key": GUARD_KEY}),
        ("BatchWriteItem", {"RequestItems": {"Clubs": [{"DeleteRequest": {"Key": GUARD_KEY}}]}}),
        (
            "ExecuteStatement",
            {
                "Statement": "DELETE FROM Clubs WHERE pk = ? AND sk = ?",
                "Parameters": [GUARD_KEY["pk"], GUARD_KEY["sk"]],
            },
        ),
    ],
)
def test_a_guard_may_not_be_removed_while_its_value_stays(
    engine: Engine, operation: str, request_: dict[str, Any]
) -> None:
    transact(engine, put_member(ADA), put_member(guard(ADA_KEY)))
    with pytest.raises(ValidationException, match="it guards a unique value that item"):
        engine.execute(operation, request_)
    # With its value, it may.
    transact(engine, delete_member(ADA_KEY), delete_member(GUARD_KEY))


def test_a_guard_may_not_be_taken_without_the_value(engine: Engine) -> None:
    put(engine, {**BOB_KEY, "name": text("bob")})
    for owner in (ADA_KEY, BOB_KEY):
        with pytest.raises(ValidationException, match="does not have the value that it guards"):
            put(engine, guard(owner))


@pytest.mark.parametrize(
    "item",
    [
        GUARD_KEY,
        {**guard(ADA_KEY), "more": text("x")},
        {**guard(ADA_KEY), "keyfold_owner": text("ada")},
        {**GUARD_KEY, "keyfold_unique": text("email")},
        {**GUARD_KEY, "guards": text("Member.email")},
        {**guard(ADA_KEY), "keyfold_unique": text("phone")},
        {**guard(ADA_KEY), "keyfold_unique": text("email#S")},
        {"pk": text("keyfold#unique##complete"), "sk": text("keyfold#unique"), "x": text("y")},
    ],
)
def test_only_guards_have_the_keys_of_guards(engine: Engine, item: Item) -> None:
    with pytest.raises(ValidationException, match="its key is reserved for"):
        put(engine, item)


def test_a_guard_keeps_its_name(engine: Engine) -> None:
    transact(engine, put_member(ADA), put_member(guard(ADA_KEY)))
    with pytest.raises(ValidationException, match="its key is reserved for"):
        put(engine, {**guard(ADA_KEY), "keyfold_unique": text("phone")})


def test_guards_that_another_program_declares_are_left_to_it(engine: Engine) -> None:
    other = guard_item(clubs, "phone", text("1"), ADA_KEY)
    put(engine, other)
    engine.execute("DeleteItem", {**NAMED, "Key": {name: other[name] for name in ("pk", "sk")}})


@pytest.mark.parametrize(
    ("value", "name"),
    [({"email": text("ADA@x.org")}, "email"), ({"number": text("5")}, "number")],
)
def test_a_unique_value_has_one_spelling(engine: Engine, value: Item, name: str) -> None:
    item = {**ADA_KEY, "name": text("ada"), **value}
    own_guard = guard_item(clubs, name, value[name], ADA_KEY)
    with pytest.raises(TransactionCanceledException) as caught:
        transact(engine, put_member(item), put_member(own_guard))
    assert "not stored as Member writes its value" in str(caught.value.fields)


def test_older_values_without_guards_may_stay(engine: Engine) -> None:
    put_unchecked(engine, ADA)
    update(engine, ADA_KEY, "SET joined = :x", x=text("x"))
    put(engine, ADA)
    # A guard may be made for a value that is stored.
    put(engine, guard(ADA_KEY))


# Stores, processes and declarations.


def test_a_store_is_never_refused(engine: Engine) -> None:
    store = Store(engine, StoreSettings(tables=(clubs,)))
    ada, bob = Member(club="a", name="ada", email="ada@x.org"), Member(club="a", name="bob")
    store.run(Club(club="a", city="Oslo", seats=3, photo=b"\0\1").create())
    store.run(Club.update(club="a").set(Club.f.city, "Rome"))
    store.run(ada.create())
    store.run(bob.put())
    store.run(bob.change(email="bob@x.org", number=7))
    store.run(ada.change(email=None))
    store.run(Member(club="a", name="bob", email="ada@x.org").put())
    store.run(Member.update(club="a", name="bob").set(Member.f.number, 8))
    store.run(Member.delete(club="a", name="bob"))
    assert len(list(store.run(clubs.scan()))) == 2


@pytest.mark.parametrize("table", [clubs, letsgo.table], ids=lambda table: table.name)
def test_a_table_with_another_key_than_declared_is_refused_by_its_name(table: Table) -> None:
    schema = {
        "TableName": table.name,
        "KeySchema": [{"AttributeName": "other", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "other", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    item = {"other": text("letsgo")}
    checks = make_write_checks([table])
    with Engine.open(":memory:", upkeep_seconds=None, write_checks=checks) as engine:
        engine.execute("CreateTable", schema)
        with pytest.raises(ValidationException, match="Recreate it as declared") as caught:
            engine.execute("PutItem", {"TableName": table.name, "Item": item})
        names = " and ".join(table.key.names)
        assert f"table {table.name}: its declaration has the key {names}" in str(caught.value)
        engine.execute("DeleteItem", {"TableName": table.name, "Key": item})


def test_a_check_is_pickled_by_reference() -> None:
    checks = make_write_checks([clubs])
    assert pickle.loads(pickle.dumps(checks)) == checks


def test_a_declaration_with_problems_checks_nothing() -> None:
    broken = Table("Broken", key=Key("pk"), indexes=[Index("Unfilled", key=Key("gone"))])

    class Thing(Entity, table=broken, key="T#{thing}"):  # pyright: ignore[reportUnusedClass]
        thing: str = part()

    with pytest.raises(DeclarationInvalid, match="Unfilled"):
        make_write_checks([broken])


# Reserved keys.


@pytest.fixture
def platform() -> Iterator[Engine]:
    checks = make_write_checks([letsgo.table])
    with Engine.open(":memory:", upkeep_seconds=None, write_checks=checks) as engine:
        engine.execute("CreateTable", letsgo.table.to_dynamodb())
        yield engine


def category(name: str, key: str, **more: Any) -> Item:
    return {"category": text(name), "key": text(key), **more}


RESERVED = "each category that starts with 'letsgo' is reserved for declared entities"


@pytest.mark.parametrize("name", ["letsgo-stolen", "letsgo", "letsgo-issuer-active"])
def test_reserved_categories_are_left_to_the_platform(platform: Engine, name: str) -> None:
    item = category(name, "free")
    with pytest.raises(ValidationException, match=RESERVED):
        platform.execute("PutItem", {"TableName": "letsgo", "Item": item})
    statement = f"INSERT INTO letsgo VALUE {{'category': '{name}', 'key': 'free'}}"
    with pytest.raises(ValidationException, match=RESERVED):
        platform.execute("ExecuteStatement", {"Statement": statement})
    with pytest.raises(ValidationException, match=RESERVED):
        platform.execute("UpdateItem", {"TableName": "letsgo", "Key": item})


def test_declared_entities_and_other_categories_are_accepted(platform: Engine) -> None:
    for item in (
        category("letsgo-tenant", "t1", tenantId=text("t1")),
        category("anything", "free", more={"L": [{"N": "1"}]}),
    ):
        platform.execute("PutItem", {"TableName": "letsgo", "Item": item})
        key = {name: item[name] for name in ("category", "key")}
        platform.execute("DeleteItem", {"TableName": "letsgo", "Key": key})


def test_a_loose_item_of_a_reserved_category_stays(tmp_path: Path) -> None:
    path, item = tmp_path / "letsgo.db", category("letsgo-own", "1")
    with Engine.open(path, upkeep_seconds=None) as engine:
        engine.execute("CreateTable", letsgo.table.to_dynamodb())
        engine.execute("PutItem", {"TableName": "letsgo", "Item": item})
    checks = make_write_checks([letsgo.table])
    with (
        Engine.open(path, upkeep_seconds=None, write_checks=checks) as engine,
        pytest.raises(ValidationException, match=RESERVED),
    ):
        engine.execute("DeleteItem", {"TableName": "letsgo", "Key": item})
