"""A principal's store refuses what its role denies, before any call is made."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from keyfold.engine import Engine
from keyfold.errors import (
    AccessDenied,
    AlreadyExists,
    ConditionFailed,
    CursorInvalid,
    IdempotentParameterMismatchException,
    PrincipalInvalid,
    TransactionFailed,
    UniqueTaken,
    WriteRefused,
    WrongTable,
)
from keyfold.model import (
    Collection,
    Entity,
    Expiry,
    Get,
    Key,
    Request,
    Table,
    batch,
    part,
    transaction,
)
from keyfold.policy import READ, WRITE, Right, Role
from tests.unit.policy.clinic import (
    File,
    Member,
    Note,
    Setting,
    Topic,
    by_key,
    by_mix,
    by_owner,
    by_pair,
    by_state,
    by_text,
    clinic,
)
from tests.unit.store.clinic_notes import BOB, deny, fill, note
from tests.unit.store.store_kinds import START, AnyStore, OpenStore

other = Table("Other", key=Key("pk"))


class Elsewhere(Entity, table=other, key="E#{id}"):
    id: str = part()


class Summary(BaseModel):
    text: str


class Everything(Collection):
    member: Member
    notes: list[Note]


@pytest.fixture
def store(open_store: OpenStore) -> AnyStore:
    return fill(open_store([clinic, other]))


@pytest.fixture
def ada(store: AnyStore) -> AnyStore:
    return store.as_principal("patient", user="ada")


# What is allowed.


def test_a_principal_may_do_with_its_own_data_what_its_role_grants(ada: AnyStore) -> None:
    assert ada.run(Note.get(user="ada", id="1")) == note("ada", "1")
    assert ada.run(Note.query(user="ada")) == [note("ada", number) for number in "123"]
    assert [each.id for each in ada.iterate(Note.query(user="ada").limit(1))] == ["1", "2", "3"]
    assert ada.run(Note.query(user="ada").count()) == 3
    assert ada.run(Note.query(user="ada").first()) == note("ada", "1")
    assert ada.run(clinic.get(pk="U#ada", sk="N#2")) == note("ada", "2")
    assert len(ada.run(clinic.query(pk="U#ada"))) == 4
    assert ada.run(Everything.get(user="ada")) is not None
    assert (
        ada.run(Note.get(user="ada", id="1").map(lambda found, _: found and found.text)) == "ada 1"
    )
    changed = ada.run(Note.update(user="ada", id="1").set(Note.f.text, "x"))
    assert changed.text == "x"
    assert ada.run(note("ada", "4").create()) == note("ada", "4")
    assert ada.run(note("ada", "4").create().or_get()) == note("ada", "4")
    assert ada.run(note("ada", "4").replace()) == note("ada", "4")
    assert ada.run(note("ada", "4").put()) == note("ada", "4")
    assert ada.run(Note.delete(user="ada", id="4")) == note("ada", "4")
    check = Note.check(Note.f.text.eq("x"), user="ada", id="1")
    ada.run(transaction(note("ada", "5").put(), check, Note.delete(user="ada", id="2")))
    found = ada.run(
        transaction(Note.get(user="ada", id="5"), File.get(user="ada", box="left", name="scan"))
    )
    assert found == [note("ada", "5"), File(user="ada", box="left", name="scan")]
    assert ada.run(batch([note("ada", "6").put(), Note.delete(user="ada", id="5")])) == [
        note("ada", "6"),
        None,
    ]


def test_shared_data_can_be_read_and_not_written(ada: AnyStore) -> None:
    assert ada.run(Topic.get(topic="flu")) == Topic(topic="flu", title="Flu")
    assert deny(ada, Topic(topic="flu").put()).fact == "catalog: patient lacks create and update"


def test_indexes_that_are_open_to_a_tenant_can_be_queried(ada: AnyStore) -> None:
    assert [each.id for each in ada.run(Note.query(by_owner, user="ada"))] == ["1", "2", "3"]
    assert len(ada.run(Note.query(by_pair, user="ada", topic="flu"))) == 3
    assert len(ada.run(Note.query(by_text, user="ada"))) == 3
    assert ada.run(Member.query(by_key, user="ada").first()) is not None


# What is denied.


FOREIGN: list[Callable[[], Request[Any]]] = [
    lambda: Note.get(**BOB),
    lambda: Note.get(**BOB).only(Summary),
    lambda: Note.get(**BOB).map(lambda found, _: found),
    lambda: Note.get(**BOB).then(lambda found: Note.get(user="ada", id=found.id)),
    lambda: clinic.get(pk="U#bob", sk="N#1"),
    lambda: Note.query(user="bob"),
    lambda: Note.query(user="bob").first(),
    lambda: Note.query(user="bob").count(),
    lambda: Note.query(user="bob").then(lambda page: Note.get(user="ada", id=str(len(page)))),
    lambda: clinic.query(pk="U#bob"),
    lambda: Everything.get(user="bob"),
    lambda: note("bob", "1").put(),
    lambda: note("bob", "1").create(),
    lambda: note("bob", "1").create().or_get(),
    lambda: note("bob", "1").replace(),
    lambda: Note.update(**BOB).set(Note.f.text, "x"),
    lambda: Note.update(**BOB).set(Note.f.text, "x").where(Note.f.text.eq("y")),
    lambda: Note.delete(**BOB),
    lambda: Member(user="bob", email="new@example.com").create(),
    lambda: Member.update(user="bob").set(Member.f.email, "new@example.com"),
    lambda: Member.delete(user="bob"),
    lambda: File.get(user="bob", box="left", name="scan"),
    lambda: Note.query(by_owner, user="bob"),
    lambda: Note.query(by_owner, user="bob").count(),
    lambda: Note.query(by_text, user="bob"),
    lambda: Note.query(by_pair, user="bob", topic="flu"),
    lambda: Member.query(by_key, user="bob"),
    lambda: Note.query(by_mix, user="ada"),
    lambda: Note.query(by_state, state="new"),
    clinic.scan,
    lambda: clinic.scan(by_owner),
    lambda: Note.scan().first(),
    lambda: Note.scan().count(),
    lambda: Setting.get(name="hours"),
    lambda: clinic.get(pk="keyfold#unique#Member#email#S#bob@example.com", sk="keyfold#unique"),
    lambda: clinic.get(pk="X", sk="Y"),
]


@pytest.mark.parametrize("place", range(len(FOREIGN)))
def test_data_of_others_is_denied(ada: AnyStore, place: int) -> None:
    denied = deny(ada, FOREIGN[place]())
    assert (denied.role, denied.table) == ("patient", "Clinic")
    assert "bob" not in str(denied)


MEMBERS: list[Any] = [
    Note.get(**BOB),
    note("bob", "1").put(),
    Note.delete(**BOB),
    Setting(name="x", value="y").put(),
    Setting.get(name="hours"),
    note("bob", "1").create(),
    Note.update(**BOB).set(Note.f.text, "x"),
    Note.check(Note.f.text.eq("bob 1"), **BOB),
]


@pytest.mark.parametrize("place", range(len(MEMBERS)))
def test_a_denied_member_denies_its_transaction(ada: AnyStore, place: int) -> None:
    member = MEMBERS[place]
    is_read = member.operation == "GetItem"
    own = Note.get(user="ada", id="1") if is_read else note("ada", "9").put()
    deny(ada, transaction(own, member))
    deny(ada, transaction(own, member).map(lambda found, _: found))
    assert ada.run(Note.get(user="ada", id="9")) is None


@pytest.mark.parametrize("place", range(5))
def test_a_denied_member_denies_its_batch(ada: AnyStore, place: int) -> None:
    deny(ada, batch([note("ada", "9").put(), Note.get(user="ada", id="1"), MEMBERS[place]]))
    assert ada.run(Note.get(user="ada", id="9")) is None


def test_all_members_of_a_large_batch_are_checked_before_the_first_call(ada: AnyStore) -> None:
    puts = [note("ada", f"new{number}").put() for number in range(60)]
    gets = [Note.get(user="ada", id=f"{number}") for number in range(250)]
    assert deny(ada, batch([*puts, note("bob", "x").put()])).action == "BatchWriteItem"
    assert deny(ada, batch([*gets, Note.get(**BOB)])).action == "BatchGetItem"
    deletions = [Note.delete(user="ada", id=f"{number}") for number in range(60)]
    assert deny(ada, batch([*deletions, Note.delete(**BOB)])).action == "BatchWriteItem"
    assert ada.run(Note.query(user="ada").count()) == 3


def test_a_condition_check_alone_is_refused(ada: AnyStore) -> None:
    deny(ada, Note.check(Note.f.text.eq("bob 1"), **BOB))
    with pytest.raises(WriteRefused):
        ada.run(Note.check(Note.f.text.eq("x"), user="ada", id="1"))


def test_a_denial_is_the_same_for_existing_and_absent_items(ada: AnyStore) -> None:
    makers: list[Callable[[str], Request[Any]]] = [
        lambda number: Note.get(user="bob", id=number),
        lambda number: note("bob", number).create(),
        lambda number: Note.update(user="bob", id=number).set(Note.f.text, "x"),
        lambda number: Note.delete(user="bob", id=number),
        lambda number: transaction(Note.check(Note.f.text.eq("bob 1"), user="bob", id=number)),
        lambda number: Note.query(user=f"bob{number}"),
    ]
    for make in makers:
        assert deny(ada, make("1")).args == deny(ada, make("absent")).args


def test_a_denial_says_what_was_attempted_and_which_rule_is_missing(ada: AnyStore) -> None:
    denied = deny(ada, File(user="ada", box="left", name="x").create())
    assert denied.args == ("patient", "PutItem", "Clinic", "files: patient lacks create")
    assert str(denied) == (
        "patient: PutItem on Clinic is denied: files: patient lacks create. [access-denied]"
    )
    assert isinstance(denied, PermissionError)
    again = pickle.loads(pickle.dumps(denied))
    assert (again.args, str(again)) == (denied.args, str(denied))


def test_items_cannot_be_moved_into_an_index_partition_of_another_tenant(ada: AnyStore) -> None:
    own = note("ada", "1").put()
    for attribute, text in (("owner_pk", "O#bob"), ("mix", "M#bob"), ("pair_user", "P#bob")):
        moved = replace(own, item={**own.item, attribute: {"S": text}})
        assert "is of another user" in deny(ada, moved).fact
        deny(ada, transaction(moved))
        deny(ada, batch([moved]))


@pytest.mark.indexes
def test_an_update_may_leave_and_enter_its_own_index_partitions(ada: AnyStore) -> None:
    gone = ada.run(Note.update(user="ada", id="1").remove(Note.f.rank))
    assert gone.rank is None
    own = Note.query(by_owner, user="ada")
    ada.run_until(own, lambda found: [each.id for each in found] == ["2", "3"])
    ada.run(Note.update(user="ada", id="1").set(Note.f.rank, "9"))
    ada.run_until(own, lambda found: [each.id for each in found] == ["2", "3", "1"])


# Fields.


def test_reads_must_name_attributes_where_some_are_hidden(store: AnyStore) -> None:
    scribe = store.as_principal("scribe", user="ada")
    assert "so reads must name the attributes" in deny(scribe, Note.get(user="ada", id="1")).fact
    deny(scribe, Note.query(user="ada"))
    deny(scribe, Note.query(by_owner, user="ada"))
    deny(scribe, Everything.get(user="ada"))
    assert scribe.run(Note.get(user="ada", id="1").only(Summary)) == Summary(text="ada 1")
    found = scribe.run(Note.query(user="ada").only(Summary))
    assert [each.text for each in found] == ["ada 1", "ada 2", "ada 3"]
    ranked = scribe.run(Note.query(by_owner, user="ada").only(Summary))
    assert len(ranked) == 3


def test_a_filter_cannot_use_a_hidden_attribute(store: AnyStore) -> None:
    scribe = store.as_principal("scribe", user="ada")
    asking = Note.query(user="ada").only(Summary).where(Note.f.secret.eq("x"))
    assert deny(scribe, asking).fact == "notes: scribe may not see secret"


def test_writes_must_return_nothing_where_attributes_are_hidden(store: AnyStore) -> None:
    scribe = store.as_principal("scribe", user="ada")
    update = Note.update(user="ada", id="1").set(Note.f.text, "x")
    check = Note.check(Note.f.text.eq("y"), user="ada", id="2")
    for request in (
        update,
        Note.delete(user="ada", id="1"),
        transaction(update, check.returning_nothing()),
    ):
        assert "writes must not return the item" in deny(scribe, request).fact
    assert scribe.run(update.returning_nothing()) is None
    assert scribe.run(Note.get(user="ada", id="1").only(Summary)) == Summary(text="x")
    with pytest.raises(ConditionFailed) as caught:
        scribe.run(update.where(Note.f.text.eq("y")).returning_nothing())
    assert (type(caught.value), caught.value.found) == (ConditionFailed, None)
    with pytest.raises(TransactionFailed) as failed:
        scribe.run(transaction(update.returning_nothing(), check.returning_nothing()))
    assert [reason and type(reason) for reason in failed.value.reasons] == [None, ConditionFailed]
    assert scribe.run(Note.delete(user="ada", id="1").returning_nothing()) is None
    assert store.run(Note.get(user="ada", id="1")) is None
    assert deny(scribe, update.set(Note.f.secret, "x").returning_nothing()).fact == (
        "notes: scribe may not see secret"
    )


def test_a_delete_in_a_transaction_returns_nothing_and_is_allowed(store: AnyStore) -> None:
    scribe = store.as_principal("scribe", user="ada")
    assert scribe.run(transaction(Note.delete(user="ada", id="1"))) == [None]
    deny(scribe, transaction(Note.delete(user="ada", id="1").where(Note.f.text.eq("x"))))


def test_a_fixed_attribute_cannot_be_changed(store: AnyStore) -> None:
    scribe = store.as_principal("scribe", user="ada")
    changed = Note.update(user="ada", id="1").set(Note.f.state, "old").returning_nothing()
    assert deny(scribe, changed).fact == "notes: scribe may not change state"
    assert "so it may not put whole items" in deny(scribe, note("ada", "1").put()).fact
    deny(scribe, batch([note("ada", "1").put()]))


# Unique values.


def test_a_role_that_lists_an_entity_may_take_its_unique_values(
    store: AnyStore, ada: AnyStore
) -> None:
    changed = ada.run(Member.update(user="ada").set(Member.f.email, "new@example.com"))
    assert changed.email == "new@example.com"
    with pytest.raises(UniqueTaken):
        ada.run(Member.update(user="ada").set(Member.f.email, "bob@example.com"))
    assert ada.run(Member.delete(user="ada")) is not None
    with pytest.raises(UniqueTaken):
        ada.run(Member(user="ada", email="bob@example.com").create())
    ada.run(Member(user="ada", email="ada@example.com").create())
    with pytest.raises(AlreadyExists):
        store.run(Member(user="ada", email="other@example.com").create())


def test_a_role_that_may_not_take_unique_values_may_change_the_rest(open_store: OpenStore) -> None:
    table = Table("Clubs", key=Key("pk"))

    class Club(Entity, table=table, key="C#{id}", unique="name"):
        id: str = part()
        name: str
        seats: int = 0

    table.add_role(Role("steward", can={Club: READ | WRITE}))
    store = open_store(table)
    store.run(Club(id="1", name="Jazz").create())
    steward = store.as_principal("steward")
    fact = "steward may not take or release unique values of Club.name"
    for request in (
        Club(id="2", name="Blues").create(),
        Club(id="2", name="Blues").create().or_get(),
        Club(id="2", name="Blues").create().map(lambda made, _: made),
        Club.update(id="1").set(Club.f.name, "Blues"),
        Club.delete(id="1"),
        transaction(Club.delete(id="1")),
    ):
        assert deny(steward, request).fact == fact
    assert steward.run(Club.update(id="1").set(Club.f.seats, 7)).seats == 7


# Cursors.


def test_a_cursor_is_valid_only_for_the_principal_that_got_it(
    store: AnyStore, ada: AnyStore
) -> None:
    notes = Note.query(user="ada").limit(1)
    cursor = ada.run(notes).cursor
    assert cursor is not None
    assert ada.run(notes.after(cursor)) == [note("ada", "2")]
    again = store.as_principal("patient", user="ada")
    assert again.run(notes.after(cursor)) == [note("ada", "2")]
    for stranger in (store, store.as_principal("nurse")):
        with pytest.raises(CursorInvalid):
            stranger.run(notes.after(cursor))
    with pytest.raises(CursorInvalid):
        ada.run(notes.after(store.run(notes).cursor))


def test_a_cursor_of_shared_data_is_valid_for_one_principal_only(open_store: OpenStore) -> None:
    table = Table("Board", key=Key("pk", "sk"))
    board, own = table.shard("BOARD", name="board"), table.shard("U#{user}", name="own")

    class Post(Entity, table=table, key=(board, "P#{id}")):
        id: str = part()

    class Draft(Entity, table=table, key=(own, "D#{id}")):
        user: str = part()
        id: str = part()

    assert Draft
    table.add_role(Role("member", tenant="user", can={"board": READ, "own": READ}))
    store = open_store(table)
    for number in "123":
        store.run(Post(id=number).put())
    ada, bob = (store.as_principal("member", user=name) for name in ("ada", "bob"))
    cursor = ada.run(Post.query().limit(1)).cursor
    with pytest.raises(CursorInvalid):
        bob.run(Post.query().limit(1).after(cursor))
    assert ada.run(Post.query().limit(1).after(cursor)) == [Post(id="2")]


def test_the_token_of_a_transaction_is_scoped_to_its_principal(
    store: AnyStore, ada: AnyStore
) -> None:
    bob = store.as_principal("patient", user="bob")
    # Random, because a service remembers the tokens of earlier runs.
    token = str(uuid.uuid4())
    for principal, user in ((bob, "bob"), (ada, "ada"), (ada, "ada")):
        principal.run(transaction(note(user, "4").put(), token=token))
    with pytest.raises(IdempotentParameterMismatchException):
        ada.run(transaction(note("ada", "5").put(), token=token))
    assert ada.run(Note.get(user="ada", id="4")) == note("ada", "4")


# Stores and principals.


def test_a_principals_store_runs_requests_and_nothing_else(ada: AnyStore) -> None:
    doings: list[Callable[[], Any]] = [
        lambda: ada.create_table(clinic),
        lambda: ada.drop_table(clinic),
        lambda: ada.follow(clinic),
        lambda: ada.dead_letters(clinic),
        lambda: ada.retry_dead_letters(clinic),
        lambda: ada.as_principal("keeper"),
    ]
    for do in doings:
        with pytest.raises(AccessDenied):
            do()
    assert ada.calls == []


def test_closing_a_principals_store_leaves_the_database_open(
    store: AnyStore, ada: AnyStore
) -> None:
    ada.close()
    assert store.run(Note.get(user="ada", id="1")) is not None


def test_a_principal_needs_an_existing_role_and_valid_ids(store: AnyStore) -> None:
    with pytest.raises(
        PrincipalInvalid, match=r"no table has such a role. Known roles: auditor, keep"
    ):
        store.as_principal("doctor")
    with pytest.raises(PrincipalInvalid, match="does not fit the key template"):
        store.as_principal("patient", user="ada#F")
    with pytest.raises(PrincipalInvalid, match="it needs an id for 'user'"):
        store.as_principal("patient")
    with pytest.raises(PrincipalInvalid, match="got an id for 'box'"):
        store.as_principal("patient", user="ada", box="left")


def test_a_table_without_the_role_is_denied(ada: AnyStore) -> None:
    for request in (Elsewhere.get(id="1"), Elsewhere(id="1").put(), Elsewhere.delete(id="1")):
        assert deny(ada, request).fact == "table Other has no role patient"
    deny(ada, Elsewhere.scan())
    deny(ada, batch([Note.get(user="ada", id="1"), Elsewhere.get(id="1")]))


def test_a_table_that_the_store_lacks_is_reported_before_a_denial(open_store: OpenStore) -> None:
    ada = open_store(clinic).as_principal("patient", user="ada")
    for request in (Elsewhere.get(id="1"), Elsewhere(id="1").put(), Elsewhere.scan()):
        with pytest.raises(WrongTable):
            ada.run(request)


def test_a_principal_may_have_a_role_in_several_tables(open_store: OpenStore) -> None:
    tables: list[Table] = []
    entities: list[Any] = []
    for name, tenant in (("Homes", "user"), ("Firms", "firm"), ("Parks", None)):
        table = Table(name, key=Key("pk"))
        if tenant is None:

            class Park(Entity, table=table, key="PARK"):
                benches: int = 0

            entities.append(Park)
            table.add_role(Role("clerk", can={Park: READ}))
        elif tenant == "user":

            class Home(Entity, table=table, key="H#{user}"):
                user: str = part()

            entities.append(Home)
            table.add_role(Role("clerk", tenant="user", can={Home: READ}))
        else:

            class Firm(Entity, table=table, key="F#{firm}"):
                firm: str = part()

            entities.append(Firm)
            table.add_role(Role("clerk", tenant="firm", can={Firm: READ}))
        tables.append(table)
    home, firm, park = entities
    store = open_store(tables)
    clerk = store.as_principal("clerk", user="ada", firm="acme")
    members: list[Get[Any]] = [home.get(user="ada"), firm.get(firm="acme"), park.get()]
    assert clerk.run(batch(members)) == [None] * 3
    deny(clerk, home.get(user="acme"))
    deny(clerk, firm.get(firm="ada"))
    with pytest.raises(PrincipalInvalid, match="got an id for 'park'"):
        store.as_principal("clerk", user="ada", firm="acme", park="x")
    with pytest.raises(PrincipalInvalid, match="it needs an id for 'firm'"):
        store.as_principal("clerk", user="ada")


def test_a_role_that_may_create_can_replace_an_expired_item(make_store: OpenStore) -> None:
    table = Table("Slots", key=Key("pk"), ttl="ttl")

    class Slot(Entity, table=table, key="S#{id}"):
        id: str = part()
        ttl: Expiry | None = None

    table.add_role(Role("booker", can={Slot: Right.CREATE}))
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        store = make_store(engine, [table])
        store.create_table(table)
        booker = store.as_principal("booker")
        store.run(Slot(id="1", ttl=START - timedelta(days=1)).put())
        assert booker.run(Slot(id="1").create()) == Slot(id="1")
        assert deny(booker, Slot(id="1").put()).fact == "Slot: booker lacks update"
        assert deny(booker, Slot(id="1").replace()).fact == "Slot: booker lacks update"
