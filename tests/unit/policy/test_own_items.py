"""Tenants that share a partition: rights are for the items whose sort keys have the tenant."""

from __future__ import annotations

from types import new_class
from typing import Any

import pytest

import keyfold
from keyfold import ALL, READ, Entity, Index, Key, Request, Role, Table, batch, part, transaction
from keyfold.api import TableKeyNames
from keyfold.errors import AccessDenied, DeclarationInvalid, PrincipalInvalid
from keyfold.policy import Access, Guard, Right
from keyfold.policy.accesses import read_accesses
from keyfold.policy.iam import export_policy

by_text = Index("ByText", key=Key("kind", "text"), local=True)
table = Table("Shared", key=Key("kind", "key"), indexes=[by_text])


class Note(
    Entity, table=table, key=("note", "/{team}/{number}"), indexes={by_text: ("note", "{text}")}
):
    team: str = part()
    number: str = part()
    text: str = "?"


class Badge(Entity, table=table, key=("badge", "/{person}/{team}")):
    person: str = part()
    team: str = part()


class Team(Entity, table=table, key=("team", "{team}")):
    team: str = part()


class Rule(Entity, table=table, key=("rule", "{name}")):
    name: str = part()


writer = table.add_role(
    Role("writer", tenant="team", can={Note: ALL, Badge: ALL, Team: READ, Rule: READ})
)

OWN: list[Request[Any]] = [
    Note.get(team="a", number="1"),
    Note.query(team="a"),
    Note.query(team="a").starting_with("1"),
    Note.query(team="a", number="1"),
    table.query(kind="note").between("/a/1", "/a/9"),
    Note(team="a", number="1").put(),
    Note(team="a", number="2").create(),
    Note.update(team="a", number="1").set(Note.f.text, "new"),
    Note.delete(team="a", number="1"),
    batch([Note(team="a", number="3").put(), Note.delete(team="a", number="2")]),
    transaction(Badge(person="p", team="a").put(), Note.delete(team="a", number="3")),
    Badge.get(person="p", team="a"),
    Badge.delete(person="p", team="a"),
    Team.get(team="a"),
    table.query(kind="team", key="a"),
    # Partitions whose sort keys do not name the tenant are for all, as those of shards.
    Rule.query(),
]
FOREIGN: list[Request[Any]] = [
    Note.get(team="b", number="1"),
    Note.get(team="aa", number="1"),
    Note.query(team="b"),
    table.query(kind="note"),
    table.query(kind="note").starting_with("/a"),
    table.query(kind="note").starting_with("/ab/"),
    table.query(kind="note").between("/a/1", "/b/1"),
    table.query(kind="note").since("/a/1"),
    table.query(by_text, kind="note").starting_with("x"),
    Note(team="b", number="1").put(),
    Note.update(team="b", number="1").set(Note.f.text, "new"),
    Note.delete(team="b", number="1"),
    batch([Note(team="a", number="3").put(), Note(team="b", number="3").put()]),
    transaction(Badge(person="p", team="a").put(), Badge(person="p", team="b").put()),
    Badge.get(person="a", team="b"),
    # All badges of a person, whatever the team.
    Badge.query(person="a"),
    Team.get(team="b"),
    Team.query(),
    table.query(kind="team").starting_with("a"),
    table.scan(),
]


@pytest.mark.parametrize("request_", OWN, ids=repr)
def test_own_items_are_allowed(request_: Request[Any]) -> None:
    with keyfold.open(table, ":memory:") as store:
        store.run(Note(team="a", number="1").put())
        store.as_principal("writer", team="a").run(request_)


@pytest.mark.parametrize("request_", FOREIGN, ids=repr)
def test_other_tenants_items_are_denied(request_: Request[Any]) -> None:
    with keyfold.open(table, ":memory:") as store:
        with pytest.raises(AccessDenied):
            store.as_principal("writer", team="a").run(request_)
        store.run(request_) if "update" not in repr(request_) else None


def test_the_denial_names_the_tenant() -> None:
    with (
        keyfold.open(table, ":memory:") as store,
        pytest.raises(AccessDenied, match=r"Note: writer may only use items of its own team\."),
    ):
        store.as_principal("writer", team="a").run(Note.get(team="b", number="1"))


KEYS = TableKeyNames("kind", "key", {"ByText": ("kind",)})


@pytest.mark.parametrize(
    ("key", "allowed"),
    [
        ({"S": "/a/1"}, True),
        ({"S": "/b/1"}, False),
        ({"S": "/a/1/2"}, False),
        ({"S": "/a/"}, False),
        ({"S": "a"}, False),
        ({"N": "1"}, False),
    ],
)
def test_raw_calls_are_read_alike(key: dict[str, str], allowed: bool) -> None:
    guard = Guard(table.layout, writer, {"team": "a"})
    request = {"TableName": "Shared", "Key": {"kind": {"S": "note"}, "key": key}}
    [access] = read_accesses("GetItem", request, lambda _: KEYS)
    assert (guard.check(access) is None) == allowed
    assert not guard.admits(access.rights.value, {"S": "note"}), "the partition does not decide"


@pytest.mark.parametrize("team", ["a", "XXXX"])
@pytest.mark.parametrize("key", [{"N": "1"}, {"B": "YQ=="}])
def test_a_sort_key_that_is_not_a_text_is_of_no_tenant(key: dict[str, str], team: str) -> None:
    guard = Guard(table.layout, writer, {"team": team})
    # The sort key of a team is nothing but its id.
    for sort_key, allowed in (({"S": team}, True), (key, False)):
        request = {"TableName": "Shared", "Key": {"kind": {"S": "team"}, "key": sort_key}}
        [access] = read_accesses("GetItem", request, lambda _: KEYS)
        assert (guard.check(access) is None) == allowed


def test_legacy_conditions_are_read_alike() -> None:
    guard = Guard(table.layout, writer, {"team": "a"})
    for text, allowed in (("/a/", True), ("/", False)):
        conditions = {
            "kind": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "note"}]},
            "key": {"ComparisonOperator": "BEGINS_WITH", "AttributeValueList": [{"S": text}]},
        }
        request = {"TableName": "Shared", "KeyConditions": conditions}
        [access] = read_accesses("Query", request, lambda _: KEYS)
        assert (guard.check(access) is None) == allowed


def test_an_id_may_not_contain_the_delimiter() -> None:
    with (
        keyfold.open(table, ":memory:") as store,
        pytest.raises(PrincipalInvalid, match="does not fit the key template"),
    ):
        store.as_principal("writer", team="a/1")


def test_iam_gets_nothing_of_shared_partitions() -> None:
    export = export_policy(table.layout, writer)
    allowed = [each["Condition"] for each in export.document["Statement"]]
    assert all("note" not in str(each) for each in allowed)
    assert "rule" in str(allowed)
    [gap] = [gap for gap in export.gaps if gap.kind == "sort-keys" and gap.subject == "Team"]
    assert gap.direction == "narrower"
    assert gap.actions == {"BatchGetItem", "ConditionCheckItem", "GetItem", "Query"}


def test_the_tenant_has_to_be_in_every_sort_key() -> None:
    mixed = Table("Mixed", key=Key("kind", "key"))
    box = mixed.shard("box", name="box")

    class One(Entity, table=mixed, key=(box, "1#{team}")):  # pyright: ignore[reportUnusedClass] - in the table
        team: str = part()

    class Two(Entity, table=mixed, key=(box, "2#{name}")):  # pyright: ignore[reportUnusedClass] - in the table
        name: str = part()

    mixed.add_role(Role("r", tenant="team", can={"box": READ}))
    with pytest.raises(DeclarationInvalid, match="nor of all sort keys of a partition"):
        mixed.check()


@pytest.mark.parametrize(
    ("templates", "own", "foreign"),
    [
        (["/{team}/{number}"], ["/a/", "/a/1"], ["", "/", "/a", "/ab/", "a/"]),
        (["N#{team}#{number}", "M#{team}#{number}"], ["N#a#", "M#a#1"], ["N#b#", "N#a", "#a#"]),
        # A prefix of one template may begin sort keys of the other, with the tenant elsewhere.
        (["{team}/{number}", "{number}/{team}/x"], [], ["a/", "a/1", "1/a/"]),
        (["{number}/{team}"], [], ["a/", "1/a"]),
        (["{team}"], [], ["a", ""]),
        # Others in the same partition: with another beginning, and with one that may be the same.
        (["/{team}/{number}", "X#{number}#{team}"], ["/a/"], ["X#a#", "X#"]),
        (["/{team}/{number}", "/{team}/N/{number}"], ["/a/", "/a/N/"], ["/b/N/"]),
        (["/{team}/{number}", "/{number}:{team}"], [], ["/a/"]),
        (["/{team}/{number}", "/{team}:{number}"], [], ["/a/", "/a:"]),
        (["A{team}/{number}", "AB{team}/x/{number}"], [], ["Aa/", "ABa/"]),
        (["A{team}/{number}", "C{team}/{number}"], ["Aa/", "Ca/"], ["Ba/"]),
        (["A#{team}#{number}/1", "{number}/{team}/x"], [], ["A#a#"]),
        (["{team:1}{number}"], [], ["a", "a1"]),
    ],
)
def test_a_range_is_a_tenants_if_all_sort_keys_in_it_begin_with_its_id(
    templates: list[str], own: list[str], foreign: list[str]
) -> None:
    """Declared here: rules are made once for each declaration."""
    shared = Table("Ranges", key=Key("kind", "key"))
    shard = shared.shard("all", name="all")
    for place, template in enumerate(templates):
        names = [name for name in ("team", "number") if f"{{{name}" in template]
        body = {**{name: part() for name in names}, "__annotations__": dict.fromkeys(names, str)}
        options: dict[str, Any] = {"table": shared, "key": (shard, template)}
        new_class(f"E{place}", (Entity,), options, lambda space, body=body: space.update(body))
    role = shared.add_role(Role("member", tenant="team", can={"all": READ}))
    guard = Guard(shared.layout, role, {"team": "a"})

    def is_allowed(prefix: str) -> bool:
        query = Access(
            "Query",
            "Ranges",
            rights=Right.QUERY,
            partition=({"S": "all"},),
            sort_prefix=prefix,
            attributes=None,
        )
        return guard.check(query) is None

    assert [each for each in (*own, *foreign) if is_allowed(each)] == own


def test_partitions_that_no_tenants_share_are_not_told_apart_by_sort_keys() -> None:
    apart = Table("Apart", key=Key("kind", "key"))

    class Apart(Entity, table=apart, key=("T#{team}", "{number}")):
        team: str = part()
        number: str = part()

    role = apart.add_role(Role("member", tenant="team", can={Apart: ALL}))
    guard = Guard(apart.layout, role, {"team": "a"})
    assert guard.admits(Right.GET.value, {"S": "T#a"})
    # Nor for a role without a tenant.
    everybody = table.add_role(Role("reader", can={Note: READ}))
    assert Guard(table.layout, everybody, {}).admits(Right.GET.value, {"S": "note"})


def test_a_range_does_not_read_items_of_another_tenant_whose_keys_begin_alike() -> None:
    shared = Table("Alike", key=Key("kind", "key"))
    shard = shared.shard("all", name="all")

    class First(Entity, table=shared, key=(shard, "{team}/{number}")):
        team: str = part()
        number: str = part()

    class Second(Entity, table=shared, key=(shard, "{number}/{team}/x")):
        number: str = part()
        team: str = part()

    shared.add_role(Role("member", tenant="team", can={"all": READ}))
    with keyfold.open(shared, ":memory:") as store:
        store.run(First(team="a", number="1").put())
        store.run(Second(number="a", team="b").put())
        member = store.as_principal("member", team="a")
        assert member.run(First.get(team="a", number="1")) is not None
        with pytest.raises(AccessDenied):
            member.run(shared.query(kind="all").starting_with("a/"))
        with pytest.raises(AccessDenied):
            member.run(First.query(team="a"))
