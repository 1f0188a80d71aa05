"""What a guard decides about queries of indexes, lookups, and writes into indexes."""

from __future__ import annotations

from uuid import UUID

import pytest

from keyfold.model import Entity, Index, Key, Table, part
from keyfold.policy import ALL, EVERYTHING, READ, WRITE, Guard, Role
from tests.unit.policy.clinic import patient
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
    query,
)


def test_an_index_is_open_where_its_partition_has_the_tenant() -> None:
    assert ADA.check(query("ByOwner", "O#ada")) is None
    assert fact_of(ADA.check(query("ByOwner", "O#bob"))) == (
        "index ByOwner: patient may only query partitions of its own user"
    )
    assert ADA.check(query("ByOwner", "U#ada")) is not None
    # An own value before one that the index does not have.
    assert ADA.check(query("ByOwner", "O#ada", "O#bob")) is not None


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
