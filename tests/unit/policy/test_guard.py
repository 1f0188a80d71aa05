"""What a guard decides about an access, rule by rule."""

from __future__ import annotations

from typing import Any
from unittest import mock
from uuid import UUID

import pytest

from keyfold.errors import PrincipalInvalid
from keyfold.model import Entity, Index, Key, Table, part
from keyfold.policy import ALL, EVERYTHING, READ, WRITE, Access, Denial, Guard, Right, Role
from tests.unit.policy.clinic import auditor, clinic, keeper, nurse, patient, scribe

LAYOUT = clinic.layout
ADA = Guard(LAYOUT, patient, {"user": "ada"})
SCRIBE = Guard(LAYOUT, scribe, {"user": "ada"})
NURSE = Guard(LAYOUT, nurse, {})
AUDITOR = Guard(LAYOUT, auditor, {})
KEEPER = Guard(LAYOUT, keeper, {})

GET, QUERY, CREATE, UPDATE, DELETE = (
    Right.GET,
    Right.QUERY,
    Right.CREATE,
    Right.UPDATE,
    Right.DELETE,
)


def access(rights: Right, *partition: str, action: str = "GetItem", **facts: Any) -> Access:
    """An access to whole items of one partition."""
    values = tuple({"S": text} for text in partition)
    facts.setdefault("attributes", None if rights in READ else frozenset())
    return Access(action, "Clinic", rights=rights, partition=values or None, **facts)


def query(index: str, *partition: str) -> Access:
    return access(QUERY, *partition, action="Query", index_name=index)


def put(partition: str, **written: Any) -> Access:
    return access(CREATE | UPDATE, partition, action="PutItem", written=written)


def fact_of(denial: Denial | None) -> str | None:
    return None if denial is None else denial.fact


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


# Fields.


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


# Indexes.


def test_an_index_is_open_where_its_partition_has_the_tenant() -> None:
    assert ADA.check(query("ByOwner", "O#ada")) is None
    assert fact_of(ADA.check(query("ByOwner", "O#bob"))) == (
        "index ByOwner: patient may only query partitions of its own user"
    )
    assert ADA.check(query("ByOwner", "U#ada")) is not None


def test_an_index_by_a_plain_attribute_is_closed_to_tenants() -> None:
    assert ADA.check(query("ByState", "new")) is not None
    assert ADA.check(query("ByState", "ada")) is not None


def test_an_index_partition_that_other_areas_may_share_is_closed() -> None:
    # A topic may be called M#ada.
    assert ADA.check(query("ByMix", "M#ada")) is not None


def test_an_index_of_several_attributes_is_open_if_one_has_the_tenant() -> None:
    assert ADA.check(query("ByPair", "P#ada", "flu")) is None
    assert ADA.check(query("ByPair", "P#bob", "flu")) is not None
    assert ADA.check(query("ByPair", "P#ada")) is not None


def test_a_local_index_has_the_tables_partitions() -> None:
    assert ADA.check(query("ByText", "U#ada")) is None
    assert ADA.check(query("ByText", "U#bob")) is not None


def test_a_reverse_index_is_open_where_the_sort_key_has_the_tenant() -> None:
    assert ADA.check(query("ByKey", "MEMBER#ada")) is None
    assert ADA.check(query("ByKey", "MEMBER#bob")) is not None
    assert ADA.check(query("ByKey", "N#1")) is not None


def test_an_index_that_is_not_declared_is_denied() -> None:
    assert fact_of(ADA.check(query("Other", "O#ada"))) == "Clinic declares no index Other"


def test_an_index_is_open_to_roles_that_may_query_every_area_in_it() -> None:
    assert NURSE.check(query("ByOwner", "O#ada")) is None
    assert fact_of(NURSE.check(query("ByMix", "M#ada"))) == "catalog: nurse lacks query"
    assert KEEPER.check(query("ByMix", "M#ada")) is None


def test_a_tenant_without_query_may_not_query_an_index_either() -> None:
    writer = Guard(LAYOUT, Role("writer", tenant="user", can={"notes": WRITE}), {"user": "ada"})
    assert fact_of(writer.check(query("ByOwner", "O#ada"))) == "notes: writer lacks query"


@pytest.mark.parametrize("names", [frozenset[str](), frozenset({"text", "pk", "state"})])
@pytest.mark.parametrize(
    ("hidden", "index", "partition"),
    [
        # Hidden in the sort key of a local index, in the partition key, in a derived sort key.
        ("text", "ByText", ["U#ada"]),
        ("state", "ByState", ["new"]),
        ("owner_sk", "ByOwner", ["O#ada"]),
        ("text", "ByText", []),
        ("text", "Undeclared", []),
    ],
)
def test_an_index_whose_keys_show_a_hidden_attribute_is_closed(
    hidden: str, index: str, partition: list[str], names: frozenset[str]
) -> None:
    # LastEvaluatedKey shows the last key of a page, whatever attributes were requested.
    role = Role("r", can={EVERYTHING: READ}, hidden={"notes": [hidden]})
    for select in ("COUNT", "SPECIFIC_ATTRIBUTES"):
        asked = access(QUERY, *partition, index_name=index, attributes=names, select=select)
        fact = fact_of(Guard(LAYOUT, role, {}).check(asked))
        assert fact is not None
        assert fact.endswith(f"may not see {hidden}, which the keys of index {index} would show")
    other = access(QUERY, "O#ada", index_name="ByOwner", attributes=frozenset(), select="COUNT")
    assert (Guard(LAYOUT, role, {}).check(other) is None) is (hidden != "owner_sk")


def test_a_hidden_attribute_is_hidden_in_an_index() -> None:
    assert SCRIBE.check(query("ByOwner", "O#ada")) is not None
    some = frozenset({"owner_pk", "text"})
    partial = query("ByOwner", "O#ada")._replace(attributes=some, select="SPECIFIC_ATTRIBUTES")
    assert SCRIBE.check(partial) is None
    assert AUDITOR.check(query("ByState", "new")) is not None


# Writes into indexes.


def test_items_may_not_be_written_into_an_index_partition_of_another_tenant() -> None:
    assert ADA.check(put("U#ada", owner_pk={"S": "O#ada"})) is None
    for attribute, index, text in (
        ("owner_pk", "ByOwner", "O#bob"),
        ("mix", "ByMix", "M#bob"),
        ("pair_user", "ByPair", "P#bob"),
        ("sk", "ByKey", "MEMBER#bob"),
    ):
        assert fact_of(ADA.check(put("U#ada", **{attribute: {"S": text}}))) == (
            f"index {index}: {attribute} is of another user; patient may only write its own"
        )
        assert not ADA.admits(4, {"S": "U#ada"}, {attribute: {"S": text}})


def test_items_may_be_written_into_an_index_partition_of_no_tenant() -> None:
    assert ADA.check(put("U#ada", owner_pk={"S": "elsewhere"}, mix={"N": "1"})) is None


def test_each_attribute_of_a_write_is_checked_for_other_tenants() -> None:
    """An own key before a foreign one, and values of all attributes, on both paths."""
    own = {"owner_pk": "O#ada", "mix": "M#ada", "pair_user": "P#ada", "sk": "MEMBER#ada"}
    foreign = {name: text.replace("ada", "bob") for name, text in own.items()}
    assert ADA.check(put("U#ada", **{name: {"S": text} for name, text in own.items()})) is None
    for name, text in foreign.items():
        written = {each: {"S": value} for each, value in {**own, name: text}.items()}
        assert ADA.check(put("U#ada", **written)) is not None, name
        guard = Guard(LAYOUT, patient, {"user": "ada"})
        for _ in range(2):
            assert not guard.admits((CREATE | UPDATE).value, {"S": "U#ada"}, written), name
    elsewhere = {each: {"S": "elsewhere"} for each in own}
    guard = Guard(LAYOUT, patient, {"user": "ada"})
    for _ in range(2):
        assert guard.admits(UPDATE.value, {"S": "U#ada"}, elsewhere)
    # All but one of these are known by now.
    assert not guard.admits(UPDATE.value, {"S": "U#ada"}, {**elsewhere, "mix": {"S": "M#bob"}})


def test_where_areas_share_partitions_only_items_of_the_own_area_may_be_written() -> None:
    """Both have partitions of one id. A user may write no order into the partition of its own."""
    table = Table("Ids", key=Key("pk", "sk"))

    class User(Entity, table=table, key=("{user}", "USER#{name}")):
        user: UUID = part()
        name: str = part()

    class Order(Entity, table=table, key=("{order}", "ORDER#{number}")):  # pyright: ignore[reportUnusedClass]
        order: UUID = part()
        number: str = part()

    ada = str(UUID(int=7))
    role = table.add_role(Role("user", tenant="user", can={User: ALL}))
    guard = Guard(table.layout, role, {"user": ada})
    for right in (CREATE, UPDATE, DELETE):
        own = access(right, ada, sort_key={"S": "USER#ada"})._replace(table="Ids")
        assert guard.check(own) is None
        for sort_key in ({"S": "ORDER#1"}, {"S": ""}, {"N": "1"}, None):
            assert fact_of(guard.check(own._replace(sort_key=sort_key))) == (
                "User: user may only write items of User"
            )
        # The fast path does not know the sort key.
        assert not guard.admits(right.value, {"S": ada})
    read = access(GET, ada, sort_key={"S": "ORDER#1"})._replace(table="Ids")
    assert guard.check(read) is None
    assert guard.admits(GET.value, {"S": ada})
    assert guard.admits(QUERY.value, {"S": ada})


def test_an_unknown_value_may_not_decide_which_tenant_an_item_belongs_to() -> None:
    assert fact_of(ADA.check(put("U#ada", owner_pk=None))) == (
        "index ByOwner: owner_pk decides which tenant an item belongs to, so the write must give its value"
    )
    assert ADA.check(put("U#ada", owner_pk={})) is None
    assert ADA.check(put("U#ada", text=None)) is None


def test_a_role_without_a_tenant_may_write_for_every_tenant() -> None:
    assert KEEPER.check(put("U#ada", owner_pk={"S": "O#bob"}, mix=None)) is None


# The fast path.


def test_the_fast_path_admits_only_what_the_full_check_allows() -> None:
    partitions = ["U#ada", "U#bob", "U#ada#F#x", "C#flu", "SETTINGS", "X", "keyfold#unique#a"]
    admitted = 0
    for guard in (ADA, SCRIBE, NURSE, AUDITOR, KEEPER):
        for _ in range(2):  # the second time is answered from the cache
            for partition in partitions:
                for right in Right:
                    if guard.admits(right.value, {"S": partition}):
                        admitted += 1
                        assert guard.check(access(right, partition)) is None
    assert admitted > 20
    assert not SCRIBE.admits(GET.value, {"S": "U#ada"})


def test_a_guard_stays_correct_past_the_limit_of_its_cache() -> None:
    guard = Guard(LAYOUT, nurse, {})
    largest = 0
    for number in range(2_500):
        assert guard.admits(GET.value, {"S": f"U#{number}"})
        largest = max(largest, len(guard._rights_by_partition))
    assert largest == 1_000
    assert not guard.admits(DELETE.value, {"S": "U#1"})


def test_the_rights_of_a_partition_are_found_once() -> None:
    guard = Guard(LAYOUT, nurse, {})
    with mock.patch.object(Guard, "_find", autospec=True, side_effect=Guard._find) as find:
        for _ in range(3):
            assert guard.admits(GET.value, {"S": "U#1"})
            assert guard.admits(GET.value, {"S": "U#2"})
    assert find.call_count == 2


def test_the_cache_of_index_keys_is_bounded_and_stays_correct() -> None:
    guard = Guard(LAYOUT, patient, {"user": "ada"})
    ((attribute, own), *_) = guard._own_by_attribute
    assert own == {None}
    largest = 0
    for number in range(2_500):
        assert guard.admits(UPDATE.value, {"S": "U#ada"}, {attribute: {"S": f"X#{number}"}})
        largest = max(largest, len(own))
    assert largest == 1_000
    assert None in own, "an item without the attribute takes the short way"
    assert not guard.admits(UPDATE.value, {"S": "U#ada"}, {attribute: {"S": "O#bob"}})
    assert not guard.admits(UPDATE.value, {"S": "U#ada"}, {attribute: None})


def test_keys_that_are_too_long_are_not_cached() -> None:
    """A guard decides before lengths are checked; a tenant must not fill the memory."""
    long, longest = "x" * 2_049, "x" * 2_048
    keeping = Guard(LAYOUT, keeper, {})
    for text in (longest, long):
        assert keeping.admits(GET.value, {"S": text})
    assert [*keeping._rights_by_partition] == [longest]
    guard = Guard(LAYOUT, patient, {"user": "ada"})
    ((attribute, own), *_) = guard._own_by_attribute
    for text in (longest, long):
        assert guard.admits(UPDATE.value, {"S": "U#ada"}, {attribute: {"S": text}})
    assert own == {None, longest}


# Lookups.


def test_a_lookup_in_a_table_without_sort_keys_shows_own_items() -> None:
    by_name = Index("ByName", key=Key("name"))
    table = Table("Names", key=Key("pk"), indexes=[by_name])

    class Person(Entity, table=table, key="P#{id}", indexes={by_name: "{name}"}):
        id: str = part()
        name: str
        secret: str = ""

    role = Role("person", tenant="id", can={Person: READ}, lookups=[by_name])
    lookup = query("ByName", "Ada")._replace(table="Names")
    shows = Guard(table.layout, role, {"id": "1"}).find_lookup(lookup)
    assert shows is not None
    assert [shows({"pk": {"S": f"P#{number}"}}) for number in "12"] == [True, False]
    # A lookup shows whole items, so it shows none where something is hidden.
    role = Role("p", tenant="id", can={Person: READ}, lookups=[by_name], hidden={Person: "secret"})
    shows = Guard(table.layout, role, {"id": "1"}).find_lookup(lookup)
    assert shows is not None
    assert not shows({"pk": {"S": "P#1"}})


# Principals.


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
