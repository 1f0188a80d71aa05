"""The unique fields of an entity are checked when it is declared, with the names of their guards."""

# Most of these classes are only declared, not used.
# pyright: reportUnusedClass=false

from __future__ import annotations

import pytest

from keyfold.model import (
    Entity,
    Key,
    Table,
    attr,
)
from tests.unit.model.declaring import problems_of


def test_unique_fields_need_text_keys() -> None:
    table = Table("Tab", key=Key("pk"))

    def declare() -> None:
        class Bad(Entity, table=table, key="{number}", unique="email"):
            number: int = attr("pk")
            email: str

    assert problems_of(declare) == [
        "Bad: it has unique fields, whose guard items need a table with text keys."
    ]


def test_guards_are_named_by_kind_and_stored_name_or_as_given() -> None:
    table = Table("Tab", key=Key("pk"), type_attribute="type")

    class Plain(Entity, table=table, key="P#{id}", unique=("email", "phone")):
        id: str
        email: str = attr("mail")
        phone: str

    class Named(Entity, table=table, key="N#{id}", kind="User", unique={"email": "login"}):
        id: str
        email: str

    class Kept(Entity, table=table, key="K#{id}", kind="Old", unique="email"):
        id: str
        email: str

    table.check()
    names = [
        [field.guard for field in each.keyfold_schema().unique.values()]
        for each in (Plain, Named, Kept)
    ]
    assert names == [["Plain.mail", "Plain.phone"], ["login"], ["Old.email"]]


@pytest.mark.parametrize("name", ["", "a#b", "x" * 201])
def test_the_name_of_guards_is_checked(name: str) -> None:
    table = Table("Tab", key=Key("pk"))

    def declare() -> None:
        class Bad(Entity, table=table, key="X#{id}", unique={"email": name}):
            id: str
            email: str

    (problem,) = problems_of(declare)
    assert problem.startswith("Bad.email: its guards cannot be named ")
    assert problem.endswith('Give one with unique={"email": "…"}.')


def test_two_fields_may_not_share_guards() -> None:
    table = Table("Tab", key=Key("pk"))

    def declare() -> None:
        class Bad(Entity, table=table, key="X#{id}", unique={"one": "n", "two": "n"}):
            id: str
            one: str
            two: str

    assert problems_of(declare) == [
        "Bad.two: its guards are named 'n', as are those of one. Give each field a name of its own."
    ]


def test_two_entities_may_share_guards_only_if_both_name_them() -> None:
    table = Table("Tab", key=Key("pk"))

    class One(Entity, table=table, key="1#{id}", unique="mail"):
        id: str
        mail: str

    class Two(Entity, table=table, key="2#{id}", unique={"mail": "One.mail"}):
        id: str
        mail: str

    (problem,) = problems_of(table.check)
    assert problem.startswith(
        "One.mail and Two.mail: the guards of both are named 'One.mail'. Give one another name"
    )
