"""Channels that could reveal another tenant's data, or let a principal change it, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keyfold.errors import (
    AccessDenied,
    CursorInvalid,
    IdempotentParameterMismatchException,
    UniqueTaken,
)
from keyfold.model import transaction
from keyfold.policy import READ, Role, find_role_problems
from tests.property.clinic_calls import TABLE, Call, transact_put
from tests.property.clinic_database import ClinicDatabase, open_clinic
from tests.property.clinic_requests import find_note
from tests.unit.policy.clinic import Member, Note, clinic


@pytest.fixture
def database() -> Iterator[ClinicDatabase]:
    with open_clinic() as database:
        yield database


def test_a_token_used_by_another_tenant_reveals_nothing(database: ClinicDatabase) -> None:
    ada, bob = (database.log_in(user, "patient") for user in ("ada", "bob"))
    assert bob.do(transact_put("bob", "7", "token"))[0][0] == 200
    assert ada.do(transact_put("ada", "7", "token"))[0][0] == 200
    # The token also works for each of them.
    status, _, body = ada.do(transact_put("ada", "8", "token"))[0]
    assert (status, b"IdempotentParameterMismatchException" in body) == (400, True)
    assert ada.do(transact_put("ada", "7", "token"))[0][0] == 200


def test_a_token_used_by_another_tenant_reveals_nothing_in_process(
    database: ClinicDatabase,
) -> None:
    ada, bob = (database.store.as_principal("patient", user=user) for user in ("ada", "bob"))
    for store, user in ((bob, "bob"), (ada, "ada"), (database.store, "ada")):
        note = Note(user=user, id="7", text="x")
        for _ in range(2):
            store.run(transaction(note.put(), token="token"))
        with pytest.raises(IdempotentParameterMismatchException):
            store.run(transaction(note.put(), Note.delete(user=user, id="8"), token="token"))


def test_a_tenant_may_not_learn_the_number_of_items(database: ClinicDatabase) -> None:
    role = Role("counter", tenant="user", can={"notes": READ}, operations=["DescribeTable"])
    (problem,) = find_role_problems(clinic.layout, role)
    assert "DescribeTable, which concerns all tenants" in problem
    status, _, body = database.log_in("ada", "patient").do(
        Call("DescribeTable", {"TableName": TABLE})
    )[0]
    assert (status, b"AccessDeniedException" in body) == (400, True)


def test_a_uniqueness_conflict_reveals_only_that_the_value_is_taken(
    database: ClinicDatabase,
) -> None:
    ada = database.store.as_principal("patient", user="ada")
    with pytest.raises(UniqueTaken) as caught:
        ada.run(Member.update(user="ada").set(Member.f.email, "bob@x"))
    assert str(caught.value) == (
        "Member pk='U#ada' sk='MEMBER#ada': another entity has the same email. [unique-taken]"
    )


def test_a_lookup_reveals_nothing_of_items_of_another_tenant(database: ClinicDatabase) -> None:
    ada = database.store.as_principal("patient", user="ada")
    bobs = Note(user="bob", id="7", text="x")
    database.store.run(bobs.put())
    assert database.store.run(find_note("7")) == bobs
    assert ada.run(find_note("7")) is None
    assert ada.run(find_note("9")) is None


@pytest.mark.parametrize("attributes", [{"secret": {"S": "x"}}, {"secret": {"N": "1"}}])
def test_items_of_another_tenant_do_not_block_a_lookup(
    database: ClinicDatabase, attributes: dict[str, Any]
) -> None:
    ada = database.store.as_principal("patient", user="ada")
    before = ada.run(find_note("1"))
    assert before == database.store.run(Note.get(user="ada", id="1"))
    item = {"pk": {"S": "U#bob"}, "sk": {"S": "N#1"}, "text": {"S": "x"}, **attributes}
    put = Call("PutItem", {"TableName": TABLE, "Item": item})
    assert database.log_in("bob", "patient").do(put)[0][0] == 200
    assert ada.run(find_note("1")) == before


def test_a_cursor_is_valid_only_for_the_principal_it_was_made_for(database: ClinicDatabase) -> None:
    ada, bob = (database.store.as_principal("patient", user=user) for user in ("ada", "bob"))
    query = Note.query(user="ada").limit(1)
    cursor = ada.run(query).cursor
    assert cursor is not None
    for store in (database.store, database.store.as_principal("keeper")):
        with pytest.raises(CursorInvalid):
            store.run(query.after(cursor))
    with pytest.raises(AccessDenied):
        bob.run(query.after(cursor))
