"""What a guard decides about hidden, fixed and unique fields."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.model import Entity, Key, Table
from keyfold.policy import ALL, READ, Guard, Role
from tests.unit.policy.clinic_guards import (
    ADA,
    AUDITOR,
    CREATE,
    DELETE,
    GET,
    KEEPER,
    LAYOUT,
    NURSE,
    QUERY,
    SCRIBE,
    UPDATE,
    access,
    fact_of,
    put,
)


def test_a_whole_item_with_a_hidden_attribute_may_not_be_read() -> None:
    asked = "notes: scribe may not see secret, so reads must name the attributes they return"
    assert fact_of(SCRIBE.check(access(GET, "U#ada"))) == asked
    assert fact_of(SCRIBE.check(access(QUERY, "U#ada", select="ALL_ATTRIBUTES"))) == asked
    some = frozenset({"pk", "sk", "text"})
    partial = access(GET, "U#ada", attributes=some, select="SPECIFIC_ATTRIBUTES")
    assert SCRIBE.check(partial) is None
    counted = access(QUERY, "U#ada", attributes=frozenset({"pk"}), select="COUNT")
    assert SCRIBE.check(counted) is None
    assert fact_of(SCRIBE.check(partial._replace(select="ALL_PROJECTED_ATTRIBUTES"))) == asked


def test_a_hidden_attribute_may_not_be_named() -> None:
    for rights, action in (
        (GET, "ConditionCheckItem"),
        (UPDATE, "UpdateItem"),
        (DELETE, "DeleteItem"),
    ):
        named = access(rights, "U#ada", action=action, attributes=frozenset({"pk", "secret"}))
        assert fact_of(SCRIBE.check(named)) == "notes: scribe may not see secret"
        assert ADA.check(named) is None


def test_where_something_is_hidden_only_declared_attributes_may_be_named() -> None:
    named = access(GET, "U#ada", attributes=frozenset({"pk", "novel"}))
    assert fact_of(SCRIBE.check(named)) == (
        "notes: scribe may not see secret, so it may only name declared attributes, and novel is not"
    )
    assert ADA.check(named) is None


@pytest.mark.parametrize(
    "facts",
    [{"return_values": "ALL_OLD"}, {"return_values": "ALL_NEW"}, {"returns_on_failure": True}],
)
def test_a_write_may_not_return_a_hidden_attribute(facts: dict[str, Any]) -> None:
    denial = SCRIBE.check(access(UPDATE, "U#ada", action="UpdateItem", **facts))
    assert fact_of(denial) == (
        "notes: scribe may not see secret, so writes must not return the item"
    )


@pytest.mark.parametrize("returned", ["NONE", "UPDATED_OLD", "UPDATED_NEW"])
def test_a_write_may_return_attributes_that_it_named(returned: str) -> None:
    update = access(UPDATE, "U#ada", action="UpdateItem", return_values=returned)
    assert SCRIBE.check(update) is None


def test_a_fixed_attribute_may_not_be_changed() -> None:
    written = {"state": {"S": "x"}}
    update = access(UPDATE, "U#ada", action="UpdateItem", written=written)
    assert fact_of(SCRIBE.check(update)) == "notes: scribe may not change state"
    assert SCRIBE.check(update._replace(written={"text": {"S": "x"}})) is None


@pytest.mark.parametrize("action", ["PutItem", "BatchWriteItem"])
def test_whole_items_may_not_be_put_where_an_attribute_is_fixed(action: str) -> None:
    for rights in (CREATE, UPDATE, CREATE | UPDATE):
        denial = SCRIBE.check(access(rights, "U#ada", action=action))
        assert fact_of(denial) == (
            "notes: scribe may not change state, so it may not put whole items"
        )
    assert SCRIBE.check(access(DELETE, "U#ada", action=action)) is None


@pytest.mark.parametrize("action", ["PutItem", "UpdateItem", "BatchWriteItem"])
@pytest.mark.parametrize("value", [{"S": "bob@example.com"}, {}, None])
def test_only_a_store_may_set_a_unique_field(action: str, value: Any) -> None:
    # A tenant that wrote another's value into its own item could make a store release it.
    role = Role("r", tenant="user", can={"notes": ALL}, unique=["Member"])
    written = access(CREATE | UPDATE, "U#ada", action=action, written={"email": value})
    guard = Guard(LAYOUT, role, {"user": "ada"})
    assert fact_of(guard.check(written)) == "notes: email is unique, so only a store may set it"
    assert guard.check(written, unique=frozenset()) is None
    assert guard.check(written._replace(written={"text": value})) is None
    assert KEEPER.check(written) is None
    assert NURSE.check(written._replace(partition=({"S": "U#ada#F#left"},))) is None


def test_an_attribute_hidden_in_one_area_is_hidden_in_a_scan() -> None:
    whole = access(QUERY, action="Scan", select="ALL_ATTRIBUTES")
    assert AUDITOR.check(whole) is not None
    named = frozenset({"pk", "sk", "text", "title", "v"})
    some = access(QUERY, action="Scan", attributes=named, select="SPECIFIC_ATTRIBUTES")
    assert AUDITOR.check(some) is None
    assert AUDITOR.check(some._replace(attributes=named | {"secret"})) is not None


def test_an_attribute_hidden_in_one_area_may_be_seen_in_another() -> None:
    assert AUDITOR.check(access(READ, "U#ada#F#x")) is None
    assert AUDITOR.check(access(READ, "U#ada")) is not None


EMAIL = frozenset({"Member.email"})


def test_a_role_may_list_the_guards_of_single_fields() -> None:
    table = Table("Tab", key=Key("pk"))

    class Person(Entity, table=table, key="P#{name}", unique={"email": "mail", "phone": "tel"}):
        name: str
        email: str
        phone: str

    role = Role("clerk", can={Person: ALL}, unique="mail")
    guard = Guard(table.layout, role, {})
    write = put("P#ada")._replace(table="Tab")
    assert guard.check(write, unique=frozenset({"mail"})) is None
    assert fact_of(guard.check(write, unique=frozenset({"mail", "tel"}))) == (
        "clerk may not take or release unique values of tel"
    )


def test_unique_values_need_a_role_that_lists_them() -> None:
    write = put("U#ada")
    assert ADA.check(write, unique=EMAIL) is None
    assert KEEPER.check(write, unique=EMAIL) is None
    elsewhere = put("U#ada#F#left")
    assert NURSE.check(elsewhere, unique=frozenset()) is None
    assert fact_of(NURSE.check(elsewhere, unique=EMAIL)) == (
        "nurse may not take or release unique values of Member.email"
    )
