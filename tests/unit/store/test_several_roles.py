"""A principal with several roles may do what one of them allows, access by access."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from keyfold.errors import AccessDenied, CursorInvalid, PrincipalInvalid, UniqueTaken
from keyfold.model import Entity, Index, Key, Request, Table, batch, part, transaction
from keyfold.policy import ALL, EVERYTHING, READ, WRITE, Right, Role
from tests.unit.policy.clinic import (
    File,
    Member,
    Note,
    Setting,
    by_mix,
    by_owner,
    by_state,
    clinic,
)
from tests.unit.store.clinic_notes import BOB, deny, fill, note
from tests.unit.store.store_kinds import AnyStore, OpenStore

by_team = Index("ByTeam", key=Key("team_pk", "team_sk"))
club = Table("Club", key=Key("pk", "sk"), indexes=[by_team])


class Diary(
    Entity, table=club, key=("U#{user}", "D#{day}"), indexes={by_team: ("T#{team}", "{user}")}
):
    user: str = part()
    day: str = part()
    team: str | None = None


class Plan(Entity, table=club, key=("G#{team}", "P#{id}")):
    team: str = part()
    id: str = part()
    text: str = ""


club.add_role(Role("person", tenant="user", can={Diary: ALL}))
club.add_role(Role("fan", tenant="user", can={Plan: READ}))
club.add_role(Role("player", tenant="team", can={Plan: READ | Right.UPDATE, Diary: Right.QUERY}))


class Brief(BaseModel):
    text: str


@pytest.fixture
def store(open_store: OpenStore) -> AnyStore:
    return fill(open_store([clinic, club]))


@pytest.fixture
def ada(store: AnyStore) -> AnyStore:
    """Ada is a nurse, and a patient herself."""
    return store.as_principal("nurse", "patient", user="ada")


# What one of the roles allows.

ALLOWED: list[Callable[[], Request[Any]]] = [
    lambda: note("ada", "9").put(),
    lambda: Note.get(**BOB),
    lambda: Note.query(user="bob"),
    lambda: File(user="bob", box="left", name="x").put(),
    lambda: Setting.get(name="hours"),
    lambda: Note.query(by_owner, user="ada"),
    lambda: Note.query(by_state, state="new"),
    lambda: transaction(note("ada", "9").put(), File(user="bob", box="left", name="x").put()),
    lambda: transaction(Note.get(user="ada", id="1"), Setting.get(name="hours")),
    lambda: batch([note("ada", "9").put(), File.delete(user="bob", box="left", name="scan")]),
    lambda: batch([Note.get(**BOB), Setting.get(name="hours")]),
]


@pytest.mark.parametrize("place", range(len(ALLOWED)))
def test_each_access_needs_one_of_the_roles(ada: AnyStore, place: int) -> None:
    ada.run(ALLOWED[place]())


DENIED: list[Callable[[], Request[Any]]] = [
    lambda: note("bob", "1").put(),
    clinic.scan,
    lambda: Note.query(by_mix, user="bob"),
    lambda: Setting(name="x", value="y").put(),
    lambda: transaction(note("ada", "9").put(), note("bob", "1").put()),
    lambda: batch([note("ada", "9").put(), note("bob", "1").put()]),
    lambda: Member(user="bob", email="new@example.com").create(),
]


@pytest.mark.parametrize("place", range(len(DENIED)))
def test_what_no_role_allows_is_denied_before_any_call(ada: AnyStore, place: int) -> None:
    deny(ada, DENIED[place]())


def test_a_denial_says_what_each_role_lacks(ada: AnyStore) -> None:
    assert str(deny(ada, note("bob", "1").put())) == (
        "nurse and patient: PutItem on Clinic is denied: notes: nurse lacks create and update; "
        "notes: patient may only use partitions of its own user. [access-denied]"
    )


def test_a_role_that_the_table_lacks_is_named(store: AnyStore) -> None:
    both = store.as_principal("nurse", "person", user="ada")
    assert deny(both, note("bob", "1").put()).fact == (
        "notes: nurse lacks create and update; Clinic has no role person"
    )
    with pytest.raises(AccessDenied, match="Other has none of the roles nurse and person"):
        both.execute("GetItem", {"TableName": "Other", "Key": {"pk": {"S": "x"}}})


# Limits of a role are for what it allows itself.


def test_what_one_role_hides_another_may_show(store: AnyStore) -> None:
    scribe = store.as_principal("scribe", user="ada")
    both = store.as_principal("scribe", "nurse", user="ada")
    whole, own = Note.query(user="ada"), Note.query(user="ada").only(Brief)
    assert "may not see secret" in deny(scribe, whole).fact
    assert len(both.run(whole)) == len(both.run(own)) == 3
    # The nurse reads whole notes; only the scribe writes them, and must not see what is stored.
    written = Note.update(user="ada", id="1").set(Note.f.text, "x")
    assert deny(both, written).fact == (
        "notes: scribe may not see secret, so writes must not return the item; "
        "notes: nurse lacks update"
    )
    both.run(written.returning_nothing())
    changed = both.run(Note.get(user="ada", id="1"))
    assert changed is not None
    assert changed.text == "x"


def test_what_one_role_may_not_change_another_may(store: AnyStore) -> None:
    changed = Note.update(user="ada", id="1").set(Note.f.state, "old").returning_nothing()
    assert "may not change state" in deny(store.as_principal("scribe", user="ada"), changed).fact
    store.as_principal("scribe", "patient", user="ada").run(changed)


def test_one_role_must_allow_the_write_and_its_unique_values(store: AnyStore) -> None:
    """The scribe may write members, and the patient take emails: of different partitions."""
    member = Member(user="ada", email="new@example.com").replace()
    both = store.as_principal("patient", "nurse", user="ada")
    assert both.run(member).email == "new@example.com"
    with pytest.raises(UniqueTaken):
        both.run(Member(user="ada", email="bob@example.com").replace())
    fact = deny(store.as_principal("nurse", "scribe", user="ada"), member).fact
    assert fact.startswith("notes: nurse lacks update; notes: scribe")


def test_the_right_to_scan_is_one_roles_own(store: AnyStore) -> None:
    assert len(store.as_principal("nurse", "keeper").run(Note.scan())) == 6
    both = store.as_principal("auditor", "patient", user="ada")
    assert "auditor may not see secret" in deny(both, Note.scan()).fact
    assert len(both.run(Note.scan().only(Brief))) == 6


def test_statements_need_one_of_the_roles(store: AnyStore) -> None:
    statement = {"Statement": "SELECT * FROM Clinic WHERE pk = 'U#bob'"}
    found = store.as_principal("nurse", "keeper").execute("ExecuteStatement", statement)
    assert len(found["Items"]) > 0
    with pytest.raises(AccessDenied):
        store.as_principal("nurse", "patient", user="ada").execute("ExecuteStatement", statement)


def test_several_roles_may_list_tables(store: AnyStore) -> None:
    names = store.as_principal("keeper", "nurse").execute("ListTables", {})
    assert "Clinic" in names["TableNames"]


def test_a_lookup_finds_what_one_of_the_roles_may_read(store: AnyStore, ada: AnyStore) -> None:
    found = Note.query(by_state, state="new").first()
    lookup = found.lookup_then(
        lambda seen: Note.update(user=seen.user, id=seen.id).remove(Note.f.state)
    )
    patients = [store.as_principal("scribe", "patient", user=user) for user in ("ada", "bob")]
    seen = [each.run(lookup) for each in patients]
    assert [each and each.user for each in seen] == ["ada", "bob"]
    topics = Note.query(by_state, state="old").first()
    assert ada.run(topics.lookup_then(lambda seen: Note.get(user=seen.user, id=seen.id))) is None


# Tenants of different names.


@pytest.mark.indexes
def test_each_role_has_the_id_of_its_own_tenant(store: AnyStore) -> None:
    both = store.as_principal("person", "player", user="ada", team="red")
    store.run(Plan(team="red", id="1").put())
    both.run(Diary(user="ada", day="1", team="red").put())
    store.run(Diary(user="bob", day="1", team="red").put())
    assert both.run(Plan.update(team="red", id="1").set(Plan.f.text, "x")).text == "x"
    both.run_until(
        Diary.query(by_team, team="red"),
        lambda page: [each.user for each in page] == ["ada", "bob"],
    )
    assert deny(both, Diary.query(by_team, team="blue")).fact == (
        "index ByTeam: person may only query partitions of its own user; "
        "index ByTeam: player may only query partitions of its own team"
    )
    # The team's plans are readable, others' diaries are not, and no role mixes with the other's id.
    assert "player may only use" in deny(both, Plan.get(team="ada", id="1")).fact
    assert deny(both, Diary.get(user="bob", day="1")).fact == (
        "Diary: person may only use partitions of its own user; Diary: player lacks get"
    )


@pytest.mark.parametrize(
    ("roles", "ids", "message"),
    [
        (("person", "player"), {"user": "ada"}, "role player: it needs an id for 'team'"),
        (
            ("person", "player"),
            {"user": "ada", "team": "red", "shop": "x"},
            "role person and player: got an id for 'shop'; the roles take 'team' and 'user'",
        ),
        (("person", "nobody"), {"user": "ada"}, "role nobody: no table has such a role"),
        (("nurse", "keeper"), {"user": "ada"}, "got an id for 'user'; the roles take no id"),
        (("nurse", "patient"), {"user": "a#b"}, "role patient: the id 'a#b' does not fit"),
    ],
)
def test_every_role_needs_to_exist_and_every_id_a_role(
    store: AnyStore, roles: tuple[str, ...], ids: dict[str, str], message: str
) -> None:
    with pytest.raises(PrincipalInvalid, match=message):
        store.as_principal(*roles, **ids)


# One principal, whatever the order of its roles.


def test_a_cursor_is_valid_for_the_same_set_of_roles(store: AnyStore, ada: AnyStore) -> None:
    page = Note.query(user="ada").limit(1)
    cursor = ada.run(page).cursor
    assert cursor is not None
    again = store.as_principal("patient", "nurse", "patient", user="ada")
    assert [each.id for each in again.run(page.after(cursor))] == ["2"]
    for other in (
        store.as_principal("patient", user="ada"),
        store.as_principal("nurse", "patient", user="bob"),
        store.as_principal("nurse", "patient", "keeper", user="ada"),
        store,
    ):
        with pytest.raises(CursorInvalid):
            other.run(page.after(cursor))


def test_a_role_given_twice_counts_once(store: AnyStore) -> None:
    twice = store.as_principal("nurse", "nurse")
    assert deny(twice, note("bob", "1").put()).fact == "notes: nurse lacks create and update"
    assert repr(twice).count("nurse") <= 1


def test_every_right_of_each_role_is_in_the_union(store: AnyStore) -> None:
    assert EVERYTHING in clinic.roles["keeper"].can
    both = store.as_principal("keeper", "auditor")
    both.run(transaction(note("bob", "1").put(), Setting(name="x", value="y").put()))
    assert WRITE in clinic.roles["keeper"].can[EVERYTHING]
