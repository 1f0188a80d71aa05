"""All problems of roles are reported at once, when their table is checked."""

# These classes are only declared, not used.
# pyright: reportUnusedClass=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal
from uuid import UUID

import pytest

import keyfold
from keyfold.api import OPERATIONS
from keyfold.errors import DeclarationInvalid, PrincipalInvalid
from keyfold.model import Entity, Index, Key, Table, attr, part
from keyfold.model._layouts import layout_of
from keyfold.policy import ALL, EVERYTHING, READ, Access, Guard, Right, Role, find_role_problems
from keyfold.policy._operations import ADMINISTRATION, BY_NAME, BY_RIGHTS, HARMLESS, MOVING, SHOWING
from keyfold.policy.iam import export_policy
from tests.unit.policy.clinic import Member, Note, Setting, clinic


def problems_of(role: Role) -> list[str]:
    start = f"Clinic: role {role.name!r} "
    found = find_role_problems(clinic.layout, role)
    assert all(each.startswith(start) for each in found)
    return [each.removeprefix(start) for each in found]


def refused(declare: Callable[[], Any]) -> list[str]:
    with pytest.raises(DeclarationInvalid) as caught:
        declare()
    return list(caught.value.problems)


def test_a_role_may_name_areas_by_object_or_by_name() -> None:
    assert Role("r", can={Setting: READ, clinic.shards["notes"]: ALL}) == Role(
        "r", can={"Setting": READ, "notes": ALL}
    )
    assert problems_of(Role("r", can={Setting: READ, clinic.shards["notes"]: ALL})) == []


def test_a_single_name_need_not_be_in_a_list() -> None:
    alone = Role("r", can={}, hidden={"notes": "secret"}, unique=Member, operations="ListTables")
    listed = Role(
        "r", can={}, hidden={"notes": ["secret"]}, unique=["Member"], operations=["ListTables"]
    )
    assert alone == listed


def test_an_area_that_is_neither_object_nor_name_is_shown() -> None:
    assert "names '7', which is neither a shard" in problems_of(Role("r", can={7: READ}))[0]


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 65, 7])
def test_an_invalid_role_name_is_refused(name: Any) -> None:
    assert problems_of(Role(name, can={})) == [
        "needs a name of 1 to 64 letters, digits, '_', '-' and '.'."
    ]


def test_an_unknown_area_is_reported() -> None:
    known = "known are notes, files, catalog, Setting."
    stranger = f"names 'nots', which is neither a shard nor an entity outside every shard; {known}"
    assert problems_of(Role("r", can={"nots": READ})) == [stranger]
    assert problems_of(Role("r", can={}, hidden={"nots": ["x"]}, fixed={"nots": []})) == [
        stranger,
        stranger,
    ]


def test_an_entity_in_a_shard_is_not_an_area() -> None:
    assert problems_of(Role("r", can={Note: READ})) == [
        "names Note, which is in shard 'notes'. Rights are for whole partitions: name the shard."
    ]


def test_a_right_must_be_a_right_value() -> None:
    role = Role("r", can={"notes": "read"})  # type: ignore[dict-item]
    assert problems_of(role) == [
        "has 'read' for 'notes'. Give a Right, or several joined with |, such as READ | WRITE."
    ]


def test_a_role_with_a_tenant_may_not_have_everything() -> None:
    assert problems_of(Role("r", tenant="user", can={EVERYTHING: READ})) == [
        (
            "has the tenant 'user' and EVERYTHING, which would include other tenants. Name the "
            "shards, or leave out the tenant."
        )
    ]


def test_a_tenant_must_be_a_part_of_a_key() -> None:
    # `id` is in some of the sort keys of its partitions, but not in all.
    assert problems_of(Role("r", tenant="id", can={"notes": READ})) == [
        (
            "has the tenant 'id', which is neither a part of a partition template nor of all "
            "sort keys of a partition; such parts are box, name, topic, user."
        )
    ]


def test_hidden_and_fixed_attributes_must_be_stored_ones() -> None:
    role = Role("r", can={}, hidden={"catalog": ["titel", "pk"]}, fixed={EVERYTHING: ["x", "v"]})
    assert problems_of(role) == [
        "hides 'pk', which is part of the key of every item.",
        (
            "hides 'titel', but no entity of 'catalog' stores an attribute of that name; they store "
            "mix, title."
        ),
        (
            "fixes 'x', but no entity of '*' stores an attribute of that name; they store age, email, "
            "mix, owner_pk, owner_sk, pair_topic, pair_user, rank, secret, size, state, text, "
            "title, topic, v."
        ),
    ]


def test_unique_must_name_an_entity_with_unique_fields_or_guards() -> None:
    assert problems_of(Role("r", can={}, unique=[Member])) == []
    assert problems_of(Role("r", can={}, unique=["Member.email"])) == []
    assert problems_of(Role("r", can={}, unique=["Membr", Note])) == [
        (
            "may take unique values of 'Membr', which is neither an entity of the table nor the "
            "name of its guards (Member.email)."
        ),
        "may take unique values of Note, which has no unique fields.",
    ]


def test_every_operation_is_in_exactly_one_category() -> None:
    kinds = [BY_RIGHTS, SHOWING, MOVING, HARMLESS, ADMINISTRATION]
    assert sum(map(len, kinds)) == len(frozenset[str]().union(*kinds))
    assert OPERATIONS.keys() == BY_RIGHTS | BY_NAME


@pytest.mark.parametrize(
    ("operation", "fact"),
    [
        ("GetItem", "names the operation GetItem. Give rights on items in `can`."),
        ("GetItems", "names 'GetItems', which is not an operation of the API."),
        (
            "ExecuteStatement",
            (
                "names the operation ExecuteStatement, which may read and write any item: it needs ALL "
                "of EVERYTHING, with nothing hidden or fixed."
            ),
        ),
        (
            "GetRecords",
            (
                "names the operation GetRecords, which shows items of every partition: it needs READ "
                "of EVERYTHING, with nothing hidden."
            ),
        ),
    ],
)
def test_an_operation_that_rights_cover_cannot_be_granted_by_name(
    operation: str, fact: str
) -> None:
    assert problems_of(Role("r", can={"notes": ALL}, operations=[operation])) == [fact]


def test_a_tenant_may_only_be_granted_harmless_operations() -> None:
    def may_have(operation: str) -> bool:
        role = Role("r", tenant="user", can={"notes": ALL}, operations=[operation])
        return problems_of(role) == []

    assert {operation for operation in BY_NAME if may_have(operation)} == HARMLESS & set(BY_NAME)


@pytest.mark.parametrize(
    ("rights", "hidden", "fixed", "may_show", "may_move"),
    [
        (ALL, {}, {}, True, True),
        (READ, {}, {}, True, False),
        (Right.GET, {}, {}, False, False),
        (ALL, {"notes": ["secret"]}, {}, False, False),
        (ALL, {}, {"notes": ["secret"]}, True, False),
    ],
)
def test_operations_on_all_items_need_rights_to_everything(
    rights: Right, hidden: Any, fixed: Any, may_show: bool, may_move: bool
) -> None:
    for operation, is_allowed in (("GetRecords", may_show), ("CreateBackup", may_move)):
        role = Role(
            "r", can={EVERYTHING: rights}, hidden=hidden, fixed=fixed, operations=[operation]
        )
        assert (problems_of(role) == []) is is_allowed


# Tables.


def make_table() -> Table:
    table = Table("Small", key=Key("pk", "sk"))
    own = table.shard("U#{user}", name="own")

    class Thing(Entity, table=table, key=(own, "T#{id}")):
        user: str = part()
        id: str = part()

    return table


def test_a_table_has_the_roles_that_were_added() -> None:
    table = make_table()
    role = Role("user", tenant="user", can={"own": READ})
    assert table.add_role(role) is role
    assert table.roles == {"user": role}
    # The same module may be loaded again.
    assert table.add_role(Role("user", tenant="user", can={"own": READ})) is role
    table.check()


def test_two_roles_of_one_name_are_refused() -> None:
    table = make_table()
    table.add_role(Role("user", tenant="user", can={"own": READ}))
    assert refused(lambda: table.add_role(Role("user", tenant="user", can={"own": ALL}))) == [
        "Small: role 'user' is declared twice, with different rights."
    ]
    assert refused(lambda: table.add_role("user")) == ["Small: 'user' is not a Role."]  # type: ignore[arg-type]


def test_all_problems_of_roles_are_reported_when_the_table_is_opened() -> None:
    table = make_table()
    table.add_role(Role("one", can={"orders": READ}))
    table.add_role(Role("two", tenant="usr", can={"own": READ}))
    assert len(refused(lambda: keyfold.open(table, ":memory:"))) == 2


def test_a_role_may_be_added_before_the_entities_it_names() -> None:
    table = Table("Small", key=Key("pk"))
    table.add_role(Role("reader", can={"Later": READ}))
    assert refused(table.check)

    class Later(Entity, table=table, key="L#{id}"):
        id: str = part()

    table.check()


def test_a_shard_cannot_be_declared_twice() -> None:
    table = make_table()
    assert table.shard("U#{user}", name="own") is not None
    assert refused(lambda: table.shard("V#{user}", name="own")) == [
        "Small: shard 'own' is already declared as 'U#{user}'."
    ]


def test_an_entity_must_use_a_shard_of_its_own_table() -> None:
    table, other = make_table(), make_table()
    theirs = other.shard("X#{user}", name="theirs")

    def declare() -> None:
        class Stray(Entity, table=table, key=(theirs, "{id}")):
            user: str = part()
            id: str = part()

    assert refused(declare) == ["Stray: Small has no shard 'theirs' with this template."]


def test_a_shard_cannot_be_a_sort_key() -> None:
    table = make_table()

    def declare() -> None:
        class Backward(Entity, table=table, key=("{id}", table.shards["own"])):
            user: str = part()
            id: str = part()

    assert refused(declare) == [
        "Backward: a shard names partitions, so it must be the first part of the key."
    ]


def test_areas_of_a_table_with_roles_must_not_overlap() -> None:
    table = make_table()
    table.shard("{kind}#x", name="loose")

    class Beside(Entity, table=table, key=("U#{user}", "B#{id}")):
        user: str = part()
        id: str = part()

    table.add_role(Role("user", tenant="user", can={"own": READ}))
    advice = "Change a template, or put both into one shard."
    consequence = "so rights on one would apply to the other."
    assert refused(table.check) == [
        f"Small: shard 'own' and shard 'loose' can both have the partition 'U#x', {consequence} {advice}",
        f"Small: shard 'own' and Beside can both have the partition 'U#a', {consequence} {advice}",
        f"Small: shard 'loose' and Beside can both have the partition 'U#x', {consequence} {advice}",
    ]


def _share_ids(*roles: Role) -> Table:
    """A table whose users and groups have partitions of one form: a UUID."""
    club = Table("Club", key=Key("pk", "sk"))
    users, groups = club.shard("{user}", name="users"), club.shard("{group}", name="groups")

    class User(Entity, table=club, key=(users, "USER")):
        user: UUID = part()

    class Group(Entity, table=club, key=(groups, "GROUP")):
        group: UUID = part()

    for role in roles:
        club.add_role(role)
    return club


@pytest.mark.parametrize(
    "role",
    [
        Role("one", tenant="user", can={"users": ALL}),
        Role("one", can={"users": READ, "groups": READ}),
        Role("one", can={EVERYTHING: ALL}),
        Role("one", can={}),
    ],
    ids=repr,
)
def test_areas_may_share_ids_if_a_role_has_only_its_own(role: Role) -> None:
    _share_ids(role).check()


@pytest.mark.parametrize(
    "role",
    [
        Role("one", can={"users": READ}),
        Role("one", can={"users": READ, "groups": ALL}),
        Role("one", tenant="user", can={"groups": READ}),
        Role("one", tenant="user", can={"users": READ, "groups": READ}),
        Role("one", can={EVERYTHING: READ, "users": ALL}),
    ],
    ids=repr,
)
def test_areas_may_not_share_ids_if_rights_would_apply_to_both(role: Role) -> None:
    with pytest.raises(DeclarationInvalid, match="role 'one' has rights on one that would apply"):
        _share_ids(role).check()


def test_the_own_partition_is_the_only_one_among_those_of_one_form() -> None:
    club = _share_ids(Role("one", tenant="user", can={"users": ALL}))
    own, other = str(UUID(int=1)), str(UUID(int=2))
    guard = Guard(layout_of(club), club.roles["one"], {"user": own})
    assert guard.admits(Right.GET.value, {"S": own})
    assert not guard.admits(Right.GET.value, {"S": other})


def test_an_own_partition_takes_no_items_of_a_shard_of_the_same_form() -> None:
    club = _share_ids(Role("one", tenant="user", can={"users": ALL}))
    own = {"S": str(UUID(int=1))}
    guard = Guard(layout_of(club), club.roles["one"], {"user": own["S"]})

    def check(sort_key: str, right: Right) -> str | None:
        found = guard.check(
            Access("PutItem", "Club", rights=right, partition=(own,), sort_key={"S": sort_key})
        )
        return None if found is None else found.fact

    assert not guard.admits(Right.UPDATE.value, own)
    for right in (Right.CREATE, Right.UPDATE, Right.DELETE):
        assert check("USER", right) is None
        assert check("GROUP", right) == "users: one may only write items of users"
    assert check("GROUP", Right.GET) is None
    gaps = export_policy(layout_of(club), club.roles["one"]).gaps
    assert ("sort-keys", "wider") in [(gap.kind, gap.direction) for gap in gaps]


def test_shards_may_overlap_in_a_table_without_roles() -> None:
    table = make_table()
    table.shard("{kind}#x", name="loose")
    table.shard("{broken", name="broken")
    table.check()


def test_a_shard_that_no_entity_is_in_is_checked_where_there_are_roles() -> None:
    table = make_table()
    table.shard("{broken", name="broken")
    table.add_role(Role("user", can={"own": READ}))
    [problem] = refused(table.check)
    assert problem.startswith("Small.broken: key template '{broken' has an unmatched brace")


def test_a_shard_and_an_entity_outside_every_shard_must_have_different_names() -> None:
    table = make_table()

    class own(Entity, table=table, key=("OWN", "{id}")):  # noqa: N801 - what it is about
        id: str = part()

    table.add_role(Role("user", can={"own": READ}))
    assert "Small: 'own' is both a shard and an entity outside any shard. Rename one." in refused(
        table.check
    )


# Layouts.


def test_a_layout_lists_areas_and_their_attributes() -> None:
    layout = layout_of(clinic)
    assert (layout.table, layout.key) == ("Clinic", ("pk", "sk"))
    assert layout.unique == {"Member": {"Member.email"}}
    assert {
        area.name: ([each.text for each in area.templates], area.entities, area.is_shard)
        for area in layout.areas.values()
    } == {
        "notes": (["U#{user}"], ("Note", "Member"), True),
        "files": (["U#{user}#F#{box}"], ("File",), True),
        "catalog": (["C#{topic}"], ("Topic",), True),
        "Setting": (["SETTINGS"], ("Setting",), False),
    }
    assert layout.areas["Setting"].attributes == {"pk", "sk", "v"}
    assert layout.areas["catalog"].attributes == {"pk", "sk", "title", "mix"}


def test_a_layout_lists_which_areas_can_be_in_which_index() -> None:
    indexes = layout_of(clinic).indexes
    assert [(each.entity, each.texts) for each in indexes["ByMix"].entries] == [
        ("Note", ("M#{user}",)),
        ("Topic", ("{topic}",)),
    ]
    assert indexes["ByPair"].entries[0].texts == ("P#{user}", "{topic}")
    assert indexes["ByState"].entries[0].texts == ("{state}",)
    assert indexes["ByKey"].areas == ("notes", "files", "catalog", "Setting")
    assert indexes["ByText"].is_local
    assert [len(each.find_own("user")) for each in indexes.values()] == [1, 0, 0, 1, 1, 1]


def test_an_entity_that_may_hold_anything_may_be_in_any_index() -> None:
    by_owner = Index("ByOwner", key=Key("gsi1pk"))
    table = Table("Loose", key=Key("pk", "sk"), indexes=[by_owner])

    class Thing(Entity, table=table, key=("U#{user}", "T"), indexes={by_owner: "O#{user}"}):
        user: str = part()

    assert len(layout_of(table).indexes["ByOwner"].find_own("user")) == 1

    class Anything(Entity, table=table, key=("A#{user}", "A"), extra="allow"):
        user: str = part()

    index = layout_of(table).indexes["ByOwner"]
    assert [(each.entity, each.texts) for each in index.entries] == [
        ("Thing", ("O#{user}",)),
        ("Anything", (None,)),
    ]
    assert index.find_own("user") == []


def test_entities_of_a_shard_may_read_its_parts_differently() -> None:
    table = make_table()

    class Personal(Entity, table=table, key=(table.shards["own"], "#{id}#")):
        user: Literal["ada", "bob"] = part()
        id: str = part()

    role = table.add_role(Role("user", tenant="user", can={"own": READ}))
    assert [each.owner for each in layout_of(table).areas["own"].templates] == ["Thing", "Personal"]
    ada = Guard(table.layout, role, {"user": "ada"})
    assert ada.admits(Right.GET.value, {"S": "U#ada"})
    with pytest.raises(PrincipalInvalid, match="does not fit the key template"):
        Guard(table.layout, role, {"user": "eve"})


def test_a_hidden_field_needs_its_derived_attributes_hidden_too() -> None:
    role = Role("r", can={}, hidden={"notes": ["rank"]})
    assert problems_of(role) == [
        "hides 'rank', but 'owner_sk' is derived from it for an index. Hide it, too."
    ]
    assert problems_of(Role("r", can={}, hidden={"notes": ["rank", "owner_sk"]})) == []
    assert problems_of(Role("r", can={}, hidden={EVERYTHING: ["rank"], "notes": "owner_sk"})) == []


def test_a_hidden_field_may_not_be_part_of_a_key() -> None:
    table = Table("Shelf", key=Key("pk", "sk"))

    class Book(Entity, table=table, key=("B#{title}", "{year}")):
        title: str = part()
        year: str

    table.add_role(Role("r", can={Book: READ}, hidden={Book: ["year"]}))
    with pytest.raises(DeclarationInvalid) as caught:
        table.check()
    assert caught.value.problems == (
        "Shelf: role 'r' hides 'year', but 'sk' is derived from it and is part of the key of every item.",
    )


@pytest.mark.parametrize(("rule", "verb"), [("hidden", "hides"), ("fixed", "fixes")])
def test_a_rule_for_a_renamed_attribute_names_its_former_names_too(rule: str, verb: str) -> None:
    table = Table("Staff", key=Key("pk"))

    class Worker(Entity, table=table, key="W#{id}"):
        id: str = part()
        pay: int = attr(was=("salary", "wage"))

    def problems(*names: str) -> list[str]:
        rules: dict[str, Any] = {rule: {Worker: names}}
        return find_role_problems(layout_of(table), Role("r", can={Worker: READ}, **rules))

    start = f"Staff: role 'r' {verb} "
    assert problems("pay") == [
        f"{start}'pay', which may also be stored as 'salary', 'wage'. Name it, too."
    ]
    assert problems("salary", "wage") == [
        f"{start}'salary', which may also be stored as 'pay'. Name it, too."
    ]
    assert problems("pay", "salary", "wage") == []
