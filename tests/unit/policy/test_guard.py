"""What a guard decides about an access, rule by rule: areas, scans and operations."""

from __future__ import annotations

import pytest

from keyfold.model import Entity, Key, Table, part
from keyfold.policy import ALL, EVERYTHING, READ, WRITE, Access, Denial, Guard, Right, Role
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
    UPDATE,
    access,
    fact_of,
)

# Areas.


@pytest.mark.parametrize("right", [GET, QUERY, CREATE, UPDATE, DELETE, READ | WRITE])
def test_a_tenant_may_use_its_own_partitions(right: Right) -> None:
    assert ADA.check(access(right, "U#ada")) is None


@pytest.mark.parametrize("right", [GET, QUERY, CREATE, UPDATE, DELETE])
@pytest.mark.parametrize("partition", ["U#bob", "U#Ada", "U#ad", "U#adaa", "U#ada\n"])
def test_a_tenant_may_not_use_partitions_of_another(right: Right, partition: str) -> None:
    denial = ADA.check(access(right, partition))
    assert denial == Denial(
        "GetItem", "Clinic", "notes: patient may only use partitions of its own user"
    )


def test_a_missing_right_is_denied_by_name() -> None:
    denial = ADA.check(access(CREATE | UPDATE, "U#ada#F#x", action="PutItem"))
    assert denial == Denial("PutItem", "Clinic", "files: patient lacks create and update")
    assert fact_of(NURSE.check(access(DELETE, "U#ada"))) == "notes: nurse lacks delete"


def test_a_template_may_have_other_parts_besides_the_tenant() -> None:
    assert ADA.check(access(GET, "U#ada#F#left")) is None
    assert ADA.check(access(QUERY, "U#ada#F#right")) is None
    assert fact_of(ADA.check(access(GET, "U#bob#F#left"))) == (
        "files: patient may only use partitions of its own user"
    )


def test_partitions_without_the_tenant_are_shared() -> None:
    assert ADA.check(access(QUERY, "C#flu")) is None
    assert fact_of(ADA.check(access(CREATE, "C#flu"))) == "catalog: patient lacks create"


@pytest.mark.parametrize(
    "partition", ["U#", "U##", "U#ada#F#", "U#ada#F#x#y", "U#ada#G#x", "X", "", "u#ada"]
)
def test_a_partition_of_no_area_is_denied(partition: str) -> None:
    denial = ADA.check(access(GET, partition))
    assert fact_of(denial) == "patient has no rights in partitions of that form"


def test_a_partition_that_is_not_text_is_denied() -> None:
    number = Access("GetItem", "Clinic", rights=GET, partition=({"N": "1"},), attributes=None)
    assert ADA.check(number) is not None
    assert not ADA.admits(GET.value, {"N": "1"})
    assert KEEPER.check(number) is None


def test_an_entity_outside_every_shard_needs_its_own_rights() -> None:
    assert fact_of(ADA.check(access(GET, "SETTINGS"))) == "Setting: patient lacks get"
    assert NURSE.check(access(GET, "SETTINGS")) is None
    assert NURSE.check(access(CREATE, "SETTINGS")) is None
    assert fact_of(NURSE.check(access(QUERY, "SETTINGS"))) == "Setting: nurse lacks query"


def test_a_role_without_a_tenant_may_use_partitions_of_every_tenant() -> None:
    for name in ("ada", "bob"):
        assert NURSE.check(access(GET, f"U#{name}")) is None
        assert NURSE.check(access(WRITE, f"U#{name}#F#x")) is None
    assert NURSE.check(access(CREATE, "U#ada")) is not None


def test_everything_includes_partitions_of_no_area() -> None:
    for partition in ("U#ada", "SETTINGS", "whatever", "keyfold#unique#Member#email#S#a"):
        assert KEEPER.check(access(ALL, partition)) is None


def test_rights_of_an_area_add_up_with_those_of_everything() -> None:
    both = Guard(LAYOUT, Role("both", can={EVERYTHING: READ, "files": DELETE}), {})
    assert both.check(access(READ | DELETE, "U#ada#F#x")) is None
    assert fact_of(both.check(access(DELETE, "U#ada"))) == "notes: both lacks delete"


@pytest.mark.parametrize(
    "partition", ["keyfold#unique#Member#email#S#ada@example.com", "keyfold#idempotency#x"]
)
def test_own_items_need_everything(partition: str) -> None:
    for guard, name in ((ADA, "patient"), (NURSE, "nurse")):
        assert fact_of(guard.check(access(GET, partition))) == (
            f"{name} lacks EVERYTHING, which Keyfold's own items need"
        )


def test_guard_items_may_be_written_where_writes_are_checked() -> None:
    clerk = Guard(LAYOUT, Role("clerk", can={"notes": ALL}, unique="Member"), {})
    email, other = "keyfold#unique#Member.email#S#a", "keyfold#unique#Member.name#S#a"
    put = access(CREATE | UPDATE, email)
    assert clerk.check(put) is not None
    assert clerk.check(put, has_checked_writes=True) is None
    assert clerk.check(access(DELETE, email), has_checked_writes=True) is None
    quiet = access(DELETE, email, return_values="NONE")
    assert clerk.check(quiet, has_checked_writes=True) is None
    number = put._replace(partition=({"N": "1"},))
    assert "no rights in partitions of that form" in str(
        clerk.check(number, has_checked_writes=True)
    )
    scan = access(GET, action="Scan")
    assert "which a scan needs" in str(clerk.check(scan, has_checked_writes=True))
    named = access(CREATE | UPDATE, "U#ada", written={"email": {"S": "a"}})
    assert clerk.check(named) is not None
    assert clerk.check(named, has_checked_writes=True) is None
    for denied in (
        access(GET, email),
        access(QUERY, email),
        access(CREATE, other),
        access(CREATE, "keyfold#unique##complete"),
        access(CREATE, "U#ada#F#x"),
        access(DELETE, email, return_values="ALL_OLD"),
        access(CREATE, email, returns_on_failure=True),
        access(CREATE, email, index_name="ByText"),
        Access("PutItem", "Other", rights=CREATE, partition=({"S": email},)),
    ):
        assert clerk.check(denied, has_checked_writes=True) is not None, denied
    # The conditions of a tenant's writes could find out whose a value is.
    tenant = Guard(
        LAYOUT, Role("me", tenant="user", can={"notes": ALL}, unique="Member"), {"user": "ada"}
    )
    assert tenant.check(put, has_checked_writes=True) is not None
    own = access(CREATE | UPDATE, "U#ada", written={"email": {"S": "a"}})
    assert tenant.check(own, has_checked_writes=True) is not None


def test_another_table_is_denied() -> None:
    elsewhere = Access("GetItem", "Other", rights=GET, partition=({"S": "U#ada"},))
    assert fact_of(ADA.check(elsewhere)) == "patient is a role of table Clinic"


# Scans and operations.


def test_a_scan_needs_everything() -> None:
    for guard, name in ((ADA, "patient"), (NURSE, "nurse")):
        for index in (None, "ByOwner", "ByText"):
            scan = access(QUERY, action="Scan", index_name=index)
            fact = f"{name} lacks query of EVERYTHING, which a scan needs"
            assert fact_of(guard.check(scan)) == fact
    assert KEEPER.check(access(QUERY, action="Scan")) is None


def test_other_operations_are_granted_one_by_one() -> None:
    assert ADA.check(Access("DescribeTimeToLive", "Clinic")) is None
    assert fact_of(ADA.check(Access("DescribeTimeToLive", "Other"))) is not None
    assert fact_of(ADA.check(Access("DeleteTable", "Clinic"))) == "patient may not call DeleteTable"
    assert (
        fact_of(KEEPER.check(Access("DeleteTable", "Clinic"))) == "keeper may not call DeleteTable"
    )
    assert KEEPER.check(Access("ListTables", None)) is None


def test_a_statement_needs_its_enclosing_operation() -> None:
    statement = Access("PartiQLSelect", "Clinic", enclosing="ExecuteStatement")
    assert KEEPER.check(statement) is None
    assert AUDITOR.check(statement) is not None
    assert KEEPER.check(statement._replace(enclosing=None)) is not None


# Areas without templates.


def test_a_free_form_entity_covers_partitions_of_no_other_area() -> None:
    table = Table("Mixed", key=Key("pk", "sk"))
    own = table.shard("U#{user}", name="own")

    class Thing(Entity, table=table, key=(own, "{id}")):
        user: str = part()
        id: str = part()

    class Loose(Entity, table=table, key=("{pk}", "{sk}"), fallback=True):
        pk: str
        sk: str

    assert Thing
    role = table.add_role(Role("user", tenant="user", can={"own": READ, Loose: READ}))
    ada = Guard(table.layout, role, {"user": "ada"})
    lookup = Access("GetItem", "Mixed", rights=GET, attributes=None)
    for partition, is_allowed in (("anything", True), ("U#ada", True), ("U#bob", False)):
        denial = ada.check(lookup._replace(partition=({"S": partition},)))
        assert (denial is None) is is_allowed
    assert ada.check(lookup._replace(partition=({"S": "keyfold#unique#x"},))) is not None
