"""Which ids a guard takes for a principal."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.errors import PrincipalInvalid
from keyfold.model import Entity, Index, Key, Table, part
from keyfold.policy import READ, Access, Guard, Role
from tests.unit.policy.clinic import nurse, patient
from tests.unit.policy.clinic_guards import (
    GET,
    LAYOUT,
)


@pytest.mark.parametrize(
    ("ids", "fact"),
    [
        ({}, "it needs an id for 'user'; got None"),
        ({"user": ""}, "it needs an id for 'user'; got ''"),
        ({"user": 7}, "it needs an id for 'user'; got 7"),
        ({"user": "a#F"}, "the id 'a#F' does not fit the key template 'U#{user}'"),
        ({"user": "a*"}, "the id 'a*' contains '*'"),
        ({"user": "a?"}, "the id 'a?' contains '?'"),
        ({"user": "${aws:x}"}, "the id '${aws:x}' contains '$'"),
        ({"user": "ada", "topic": "x"}, "got an id for 'topic'; the role takes 'user'"),
    ],
)
def test_an_invalid_id_is_refused(ids: dict[str, Any], fact: str) -> None:
    with pytest.raises(PrincipalInvalid) as caught:
        Guard(LAYOUT, patient, ids)
    assert (caught.value.role, caught.value.fact) == ("patient", fact)
    assert str(caught.value).startswith("role patient: ")
    advice = (
        ("needs an id", "Give the text that keys have for it, as in user=…."),
        ("contains", "Use another id: this one would match other ids in an IAM policy."),
        ("does not fit", "Give it in the form that keys have, without delimiters."),
        ("got an id", ""),
    )
    assert caught.value.advice == next(each for part, each in advice if part in fact)


def test_a_role_without_a_tenant_takes_no_id() -> None:
    with pytest.raises(PrincipalInvalid, match="the role takes no id"):
        Guard(LAYOUT, nurse, {"user": "ada"})


def test_an_id_may_not_lead_to_guard_items_of_unique_values() -> None:
    table = Table("Open", key=Key("pk"))

    class Person(Entity, table=table, key="{name}", unique="email"):
        name: str = part()
        email: str

    role = table.add_role(Role("person", tenant="name", can={Person: READ}))
    with pytest.raises(PrincipalInvalid, match="is reserved for Keyfold's own items") as caught:
        Guard(table.layout, role, {"name": "keyfold#unique#Person#email#S#ada"})
    assert (caught.value.role, caught.value.advice) == ("person", "")
    ada = Guard(table.layout, role, {"name": "ada"})
    lookup = Access("GetItem", "Open", rights=GET, partition=({"S": "ada"},), attributes=None)
    assert ada.check(lookup) is None
    assert ada.check(lookup._replace(partition=({"S": "bob"},))) is not None


def test_an_id_must_have_the_type_of_its_key_part() -> None:
    table = Table("Numbers", key=Key("pk"), indexes=[Index("ByNumber", key=Key("n"))])

    class Ticket(
        Entity, table=table, key="T#{number:04}", indexes={table.indexes[0]: "#{number:04}"}
    ):
        number: int = part()

    role = table.add_role(Role("holder", tenant="number", can={Ticket: READ}))
    holder = Guard(table.layout, role, {"number": "0042"})
    lookup = Access("GetItem", "Numbers", rights=GET, partition=({"S": "T#0042"},), attributes=None)
    assert holder.check(lookup) is None
    assert holder.check(lookup._replace(partition=({"S": "T#0043"},))) is not None
    with pytest.raises(PrincipalInvalid, match="does not fit the key template 'T#"):
        Guard(table.layout, role, {"number": "42"})
