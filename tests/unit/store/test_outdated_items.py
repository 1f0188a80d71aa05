"""Updates of items in an old form: they are brought up to date first, and the update is repeated."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.errors import ConditionFailed, RequestRefused, TransactionFailed
from keyfold.model import Entity, Key, Table, attr, part, transaction
from keyfold.policy import Right, Role
from keyfold.store import Store, StoreSettings
from tests.transports import Database
from tests.unit.store.store_kinds import AnyStore, OpenStore

clubs = Table("Clubs", key=Key("pk"))


class Club(Entity, table=clubs, key="CLUB#{id}"):
    id: str = part()
    members: frozenset[str] = attr(was="users", default=frozenset())
    prices: dict[str, int] = attr(default_factory=dict[str, int])
    visits: int = 0

    @classmethod
    def upgrade(cls, stored: dict[str, Any]) -> dict[str, Any]:
        members = stored.get("members")
        return {**stored, "members": {*members}} if isinstance(members, list) else stored


class Person(Entity, table=clubs, key="PERSON#{id}", unique="email"):
    id: str = part()
    email: str = attr(was="mail")
    tags: frozenset[str] = attr(was="labels", default=frozenset())


clubs.add_role(Role("writer", can={Club: Right.UPDATE}))

JOIN = Club.update(id="1").add(Club.f.members, {"bo"})
LEAVE = Club.update(id="1").delete(Club.f.members, {"ada"})
PRICE = Club.update(id="1").set(Club.f.prices["tea"], 2)


@pytest.fixture
def database(engine: Database) -> Database:
    Store(engine, StoreSettings([clubs])).create_table(clubs)
    return engine


@pytest.fixture
def store(make_store: OpenStore, database: Database) -> AnyStore:
    return make_store(database, [clubs])


def put(database: Database, **attributes: Any) -> None:
    item = {"pk": {"S": "CLUB#1"}, "visits": {"N": "0"}, **attributes}
    database.execute("PutItem", {"TableName": "Clubs", "Item": item})


def stored(database: Database) -> dict[str, Any]:
    request = {"TableName": "Clubs", "Key": {"pk": {"S": "CLUB#1"}}, "ConsistentRead": True}
    item = database.execute("GetItem", request)["Item"]
    return {name: value for name, value in item.items() if name != "pk"}


LIST = {"L": [{"S": "ada"}, {"S": "eve"}]}
SET = {"SS": ["ada", "eve"]}


@pytest.mark.parametrize(
    "form", [{"members": LIST}, {"members": SET}, {"users": LIST}, {"users": SET}]
)
@pytest.mark.parametrize("is_whole", [False, True], ids=["update", "transaction"])
def test_a_set_is_changed_whatever_its_stored_form(
    store: AnyStore, database: Database, form: dict[str, Any], is_whole: bool
) -> None:
    put(database, **form)
    for request, expected in ((JOIN, ["ada", "bo", "eve"]), (LEAVE, ["bo", "eve"])):
        store.run(transaction(request) if is_whole else request)
        assert {"SS": sorted(stored(database)["members"]["SS"])} == {"SS": expected}
        assert "users" not in stored(database)


def test_a_map_that_is_absent_counts_as_empty(store: AnyStore, database: Database) -> None:
    put(database)
    assert store.run(PRICE).prices == {"tea": 2}
    put(database)
    assert store.run(Club.update(id="1").remove(Club.f.prices["tea"])).prices == {}
    put(database)
    store.run(transaction(PRICE))
    assert stored(database)["prices"] == {"M": {"tea": {"N": "2"}}}


def test_an_item_that_is_up_to_date_costs_one_call(store: AnyStore, database: Database) -> None:
    put(database, members=SET, prices={"M": {}})
    store.calls.clear()
    for request in (JOIN, PRICE, transaction(LEAVE)):
        store.run(request)
    assert len(store.calls) == 3


def test_an_old_form_costs_three_calls_once(store: AnyStore, database: Database) -> None:
    put(database, members=LIST)
    store.calls.clear()
    store.run(JOIN)
    assert [call.operation for call in store.calls] == [
        "UpdateItem",
        "GetItem",
        "UpdateItem",
        "UpdateItem",
    ]
    assert stored(database)["prices"] == {"M": {}}, "all of the item is brought up to date"


def test_a_failed_condition_stays_one(store: AnyStore, database: Database) -> None:
    put(database, users=LIST)
    with pytest.raises(ConditionFailed, match="the condition does not hold"):
        store.run(JOIN.where(Club.f.visits.eq(1)))
    with pytest.raises(TransactionFailed):
        store.run(transaction(JOIN.where(Club.f.visits.eq(1))))


def test_a_request_that_returns_nothing_is_repeated_too(
    store: AnyStore, database: Database
) -> None:
    put(database, users=LIST)
    store.run(JOIN.returning_nothing())
    assert len(stored(database)["members"]["SS"]) == 3


def test_what_is_wrong_for_another_reason_is_refused(store: AnyStore, database: Database) -> None:
    put(database, members={"S": "ada"}, prices={"M": {}})
    with pytest.raises(RequestRefused, match="incorrect data type"):
        store.run(JOIN)


def test_a_role_needs_no_right_to_read(store: AnyStore, database: Database) -> None:
    put(database, members=LIST)
    writer = store.as_principal("writer")
    writer.run(JOIN.returning_nothing())
    assert len(stored(database)["members"]["SS"]) == 3


def test_a_unique_value_is_left_to_a_backfill(store: AnyStore, database: Database) -> None:
    item = {"pk": {"S": "PERSON#1"}, "mail": {"S": "a@b"}, "labels": {"SS": ["x"]}}
    database.execute("PutItem", {"TableName": "Clubs", "Item": item})
    with pytest.raises(ConditionFailed, match="former name 'labels'; run keyfold backfill"):
        store.run(Person.update(id="1").add(Person.f.tags, {"y"}))


class RenewedByOthers:
    """A database in which another program renews the item just before it is read."""

    def __init__(self, database: Database, **form: Any) -> None:
        self._database, self._form = database, form

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation == "GetItem":
            put(self._database, prices={"M": {}}, **self._form)
        return self._database.execute(operation, request)


@pytest.mark.parametrize("form", [{"members": LIST}, {"users": SET}])
@pytest.mark.parametrize("is_whole", [False, True], ids=["update", "transaction"])
def test_an_item_that_others_have_just_renewed_is_updated(
    database: Database, form: dict[str, Any], is_whole: bool
) -> None:
    put(database, **form)
    store = Store(RenewedByOthers(database, members=SET), StoreSettings([clubs]))
    store.run(transaction(JOIN) if is_whole else JOIN)
    assert sorted(stored(database)["members"]["SS"]) == ["ada", "bo", "eve"]
