"""What could tell a principal of another's data, or let it change them, one by one."""

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
from tests.property.clinic_requests import find_note
from tests.property.two_worlds import World, a_world
from tests.unit.policy.clinic import Member, Note, ward


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


def test_a_token_that_another_has_used_says_nothing_of_it(world: World) -> None:
    ada, bob = (world.enter("patient", user) for user in ("ada", "bob"))
    assert bob.do(transact_put("bob", "7", "token"))[0][0] == 200
    assert ada.do(transact_put("ada", "7", "token"))[0][0] == 200
    # It is a token to each of them.
    status, _, body = ada.do(transact_put("ada", "8", "token"))[0]
    assert (status, b"IdempotentParameterMismatchException" in body) == (400, True)
    assert ada.do(transact_put("ada", "7", "token"))[0][0] == 200


def test_a_token_that_another_has_used_says_nothing_of_it_in_process(world: World) -> None:
    ada, bob = (world.store.as_principal("patient", user=user) for user in ("ada", "bob"))
    for store, user in ((bob, "bob"), (ada, "ada"), (world.store, "ada")):
        note = Note(user=user, id="7", text="x")
        for _ in range(2):
            store.run(transaction(note.put(), token="token"))
        with pytest.raises(IdempotentParameterMismatchException):
            store.run(transaction(note.put(), Note.delete(user=user, id="8"), token="token"))


def test_the_number_of_items_is_no_business_of_a_tenants(world: World) -> None:
    role = Role("counter", tenant="user", can={"notes": READ}, operations=["DescribeTable"])
    (problem,) = find_role_problems(ward.layout, role)
    assert "DescribeTable, which concerns all of them" in problem
    status, _, body = world.enter("patient", "ada").do(Call("DescribeTable", {"TableName": TABLE}))[
        0
    ]
    assert (status, b"AccessDeniedException" in body) == (400, True)


def test_that_a_unique_value_is_taken_is_all_that_is_told_of_it(world: World) -> None:
    ada = world.store.as_principal("patient", user="ada")
    with pytest.raises(UniqueTaken) as caught:
        ada.run(Member.update(user="ada").set(Member.f.email, "bob@x"))
    assert str(caught.value) == (
        "Member pk='U#ada' sk='MEMBER#ada': another has the same email. [unique-taken]"
    )


def test_a_lookup_tells_nothing_of_what_it_finds(world: World) -> None:
    ada = world.store.as_principal("patient", user="ada")
    bobs = Note(user="bob", id="7", text="x")
    world.store.run(bobs.put())
    assert world.store.run(find_note("7")) == bobs
    assert ada.run(find_note("7")) is None
    assert ada.run(find_note("9")) is None


@pytest.mark.parametrize("attributes", [{"secret": {"S": "x"}}, {"secret": {"N": "1"}}])
def test_what_lies_beside_it_keeps_nobody_from_what_is_looked_up(
    world: World, attributes: dict[str, Any]
) -> None:
    ada = world.store.as_principal("patient", user="ada")
    before = ada.run(find_note("1"))
    assert before == world.store.run(Note.get(user="ada", id="1"))
    item = {"pk": {"S": "U#bob"}, "sk": {"S": "N#1"}, "text": {"S": "x"}, **attributes}
    put = Call("PutItem", {"TableName": TABLE, "Item": item})
    assert world.enter("patient", "bob").do(put)[0][0] == 200
    assert ada.run(find_note("1")) == before


def test_a_cursor_is_good_for_whom_it_was_made(world: World) -> None:
    ada, bob = (world.store.as_principal("patient", user=user) for user in ("ada", "bob"))
    query = Note.query(user="ada").limit(1)
    cursor = ada.run(query).cursor
    assert cursor is not None
    for store in (world.store, world.store.as_principal("keeper")):
        with pytest.raises(CursorInvalid):
            store.run(query.after(cursor))
    with pytest.raises(AccessDenied):
        bob.run(query.after(cursor))
