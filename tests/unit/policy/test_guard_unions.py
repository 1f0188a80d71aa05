"""Guards of principals with several roles, and how they are made."""

from __future__ import annotations

import pytest

from keyfold.errors import PrincipalInvalid
from keyfold.model import Entity, Key, Table, part
from keyfold.policy import ALL, READ, WRITE, Access, Guard, Right, Role, make_guards
from keyfold.policy._guard_unions import GuardUnion
from tests.unit.policy.clinic import by_key, clinic

LAYOUT = clinic.layout
GET, QUERY, CREATE, UPDATE, DELETE = (
    *(Right.GET, Right.QUERY, Right.CREATE, Right.UPDATE),
    Right.DELETE,
)


def make_union(*roles: Role, **ids: str) -> GuardUnion:
    return GuardUnion(
        [
            Guard(LAYOUT, role, {name: ids[name] for name in ids if name == role.tenant})
            for role in roles
        ]
    )


def access(rights: Right, partition: str, **facts: object) -> Access:
    values = ({"S": partition},)
    return Access("GetItem", "Clinic", rights=rights, partition=values, attributes=None)._replace(
        **facts
    )


READER = Role("reader", can={"catalog": READ})
WRITER = Role("writer", tenant="user", can={"notes": ALL})
CLERK = Role("clerk", can={"notes": READ | WRITE}, unique="Member")


def test_an_access_is_allowed_if_one_role_allows_it() -> None:
    union = make_union(READER, WRITER, user="ada")
    for right, partition, is_allowed in (
        *((GET, "C#flu", True), (QUERY, "C#flu", True), (CREATE, "C#flu", False)),
        *((GET, "U#ada", True), (DELETE, "U#ada", True), (GET, "U#bob", False)),
        *((GET, "X", False), (GET | CREATE, "U#ada", True), (GET | CREATE, "C#flu", False)),
    ):
        for _ in range(2):
            assert union.admits(right.value, {"S": partition}) is is_allowed
            assert (union.check(access(right, partition)) is None) is is_allowed


def test_what_is_written_counts_for_each_role() -> None:
    union = make_union(READER, WRITER, user="ada")
    own, foreign = {"owner_pk": {"S": "O#ada"}}, {"owner_pk": {"S": "O#bob"}}
    assert union.admits(UPDATE.value, {"S": "U#ada"}, own)
    assert not union.admits(UPDATE.value, {"S": "U#ada"}, foreign)
    assert union.check(access(UPDATE, "U#ada", written=own)) is None
    assert union.check(access(UPDATE, "U#ada", written=foreign)) is not None


def test_a_denial_has_the_facts_of_all_roles_each_once() -> None:
    again = Role("reader", can={"catalog": READ})
    denial = make_union(READER, again, WRITER, user="ada").check(access(CREATE, "C#flu"))
    assert denial is not None
    assert (denial.action, denial.table) == ("GetItem", "Clinic")
    assert denial.fact == ("catalog: reader lacks create; catalog: writer lacks create")


def test_unique_values_and_checked_writes_reach_each_role() -> None:
    union = make_union(READER, CLERK)
    put = access(CREATE | UPDATE, "U#ada")
    names = frozenset({"Member.email"})
    assert union.check(put, unique=names) is None
    assert make_union(READER, Role("c", can={"notes": ALL})).check(put, unique=names) is not None
    guard_item = access(
        CREATE | UPDATE, "keyfold#unique#Member.email#S#a", attributes=frozenset[str]()
    )
    assert union.check(guard_item) is not None
    assert union.check(guard_item, has_checked_writes=True) is None


def test_a_lookup_shows_what_one_of_the_roles_with_it_may_get() -> None:
    looking = Role("looking", tenant="user", can={"notes": READ}, lookups=[by_key])
    topics = Role("topics", can={"catalog": READ}, lookups=[by_key])
    query = access(QUERY, "T", action="Query", index_name="ByKey")
    shows = make_union(looking, topics, READER, user="ada").find_lookup(query)
    assert shows is not None
    items = {text: {"pk": {"S": text}, "sk": {"S": "T"}} for text in ("U#ada", "C#flu", "U#bob")}
    assert [text for text, item in items.items() if shows(item)] == ["U#ada", "C#flu"]
    assert make_union(READER, WRITER, user="ada").find_lookup(query) is None


def test_a_union_has_the_table_of_its_guards() -> None:
    union, guard = make_union(READER, WRITER, user="ada"), Guard(LAYOUT, READER, {})
    assert union.layout is LAYOUT
    assert (union.key_names, union.partition) == (guard.key_names, "pk")
    table = Table("Plain", key=Key("pk"))

    class Note(Entity, table=table, key="U#{user}"):
        user: str = part()

    plain = Guard(table.layout, Role("plain", tenant="user", can={Note: ALL}), {"user": "ada"})
    watching = Guard(LAYOUT, WRITER, {"user": "ada"})
    assert (plain.watches_only_keys, watching.watches_only_keys) == (True, False)
    assert GuardUnion([plain, plain]).watches_only_keys is True
    assert GuardUnion([plain, watching]).watches_only_keys is False


def make_tables() -> tuple[Table, Table]:
    """Return two tables that share a role."""
    first, second = Table("First", key=Key("pk")), Table("Second", key=Key("pk"))

    class One(Entity, table=first, key="1#{user}"):
        user: str = part()

    class Two(Entity, table=second, key="2#{user}"):
        user: str = part()

    first.add_role(Role("member", tenant="user", can={One: READ}))
    first.add_role(Role("owner", can={One: ALL}))
    second.add_role(Role("member", tenant="user", can={Two: READ}))
    return first, second


def test_a_principal_has_a_guard_for_each_table_with_one_of_its_roles() -> None:
    tables = make_tables()
    guards = make_guards(tables, ["member"], {"user": "ada"})
    assert {name: type(each) for name, each in guards.items()} == {"First": Guard, "Second": Guard}
    guards = make_guards(tables, ["member", "owner"], {"user": "ada"})
    assert {name: type(each) for name, each in guards.items()} == {
        "First": GuardUnion,
        "Second": Guard,
    }
    assert guards["First"].admits(CREATE.value, {"S": "1#bob"})
    assert not guards["Second"].admits(GET.value, {"S": "2#bob"})
    assert [*make_guards(tables, ["owner"], {})] == ["First"]


def test_a_role_that_no_table_has_is_refused() -> None:
    with pytest.raises(PrincipalInvalid) as caught:
        make_guards(make_tables(), ["member", "nobody"], {"user": "ada"})
    assert (caught.value.role, caught.value.fact, caught.value.advice) == (
        "nobody",
        "no table has such a role",
        "Known roles: member, owner.",
    )
    with pytest.raises(PrincipalInvalid) as caught:
        make_guards([Table("Bare", key=Key("pk"))], ["nobody"], {})
    assert caught.value.advice == "Declare one with add_role()."


def test_an_id_that_no_role_takes_is_refused() -> None:
    tables = make_tables()
    for roles, ids, fact in (
        (["owner"], {"user": "ada"}, "got an id for 'user'; the role takes no id"),
        (["member"], {"user": "a", "x": "b"}, "got an id for 'x'; the role takes 'user'"),
        (["member", "owner"], {"user": "a", "x": "b"}, "got an id for 'x'; the roles take 'user'"),
    ):
        with pytest.raises(PrincipalInvalid) as caught:
            make_guards(tables, roles, ids)
        assert (caught.value.fact, caught.value.advice) == (fact, "")
