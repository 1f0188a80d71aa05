"""The IAM policies that roles are exported to, and the gaps that the export reports."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Literal

import pytest

from keyfold.keys import KeyTemplate, Ulid
from keyfold.policy import (
    ALL,
    EVERYTHING,
    READ,
    WRITE,
    Access,
    Area,
    Guard,
    IndexEntry,
    IndexLayout,
    Layout,
    Right,
    Role,
)
from keyfold.policy.iam import Export, Gap, export_policy, find_denial, parse_policy

ARN = "arn:aws:dynamodb:*:*:table/Shop"
TYPES: dict[str, object] = {
    "user": str,
    "cart": str,
    "kind": Literal["big", "small"],
    "item": Ulid,
    "no": int,
}
PLAIN = frozenset({"pk", "sk"})


def template(text: str) -> KeyTemplate:
    return KeyTemplate.from_types(text, TYPES, owner="Thing")


def area(name: str, text: str | None, *attributes: str, entities: int = 1) -> Area:
    templates = () if text is None else (template(text),)
    names = tuple(f"{name.capitalize()}{place}" for place in range(entities))
    return Area(name, templates, names, PLAIN | {*attributes}, is_shard=True)


def lay_out(*areas: Area, indexes: tuple[IndexLayout, ...] = (), **more: Any) -> Layout:
    return Layout(
        "Shop",
        ("pk", "sk"),
        {each.name: each for each in areas},
        {each.name: each for each in indexes},
        **more,
    )


def index(
    name: str, *entries: tuple[str, str | None], partition: tuple[str, ...] = ("owner",)
) -> IndexLayout:
    listed = tuple(
        IndexEntry(where, where, (None if text is None else template(text),) * len(partition))
        for where, text in entries
    )
    return IndexLayout(name, partition, False, listed)


def statements(export: Export) -> dict[str, dict[str, Any]]:
    return {each["Sid"]: each for each in export.document["Statement"]}


def actions(export: Export) -> dict[str, list[str]]:
    return {
        sid: [name.removeprefix("dynamodb:") for name in each["Action"]]
        for sid, each in statements(export).items()
    }


def kinds(export: Export) -> list[tuple[str, str]]:
    return [(gap.kind, gap.direction) for gap in export.gaps]


def gap_of(export: Export, kind: str) -> Gap:
    (found,) = [gap for gap in export.gaps if gap.kind == kind]
    return found


def is_allowed(export: Export, access: Access, **ids: str) -> bool:
    return find_denial(parse_policy(export.to_json()), ids, [access]) is None


def get(partition: str, **more: Any) -> Access:
    return Access("GetItem", "Shop", rights=Right.GET, partition=({"S": partition},), **more)


PROFILE = area("profile", "U#{user}", "name", "mail")
ORDERS = area("orders", "U#{user}#O", "total", "card")

TAGGED = {
    "StringNotLike": {"aws:PrincipalTag/user": ["", "*#*", "*${*}*", "*${?}*", "*${$}*"]},
}


def test_a_tenant_may_use_exactly_its_own_partitions() -> None:
    role = Role("customer", tenant="user", can={"profile": READ | WRITE, "orders": READ})
    export = export_policy(lay_out(PROFILE, ORDERS), role, region="eu-west-1", account="123")
    resource = ["arn:aws:dynamodb:eu-west-1:123:table/Shop"]
    nulls = {"dynamodb:LeadingKeys": "false", "aws:PrincipalTag/user": "false"}
    own, orders = "U#${aws:PrincipalTag/user}", "U#${aws:PrincipalTag/user}#O"
    assert export.document == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "ProfileOrders",
                "Effect": "Allow",
                "Action": [
                    "dynamodb:BatchGetItem",
                    "dynamodb:ConditionCheckItem",
                    "dynamodb:GetItem",
                    "dynamodb:Query",
                ],
                "Resource": resource,
                "Condition": {
                    "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [own, orders]},
                    "Null": nulls,
                    **TAGGED,
                },
            },
            {
                "Sid": "Profile",
                "Effect": "Allow",
                "Action": [
                    "dynamodb:BatchWriteItem",
                    "dynamodb:DeleteItem",
                    "dynamodb:PutItem",
                    "dynamodb:UpdateItem",
                ],
                "Resource": resource,
                "Condition": {
                    "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [own]},
                    "Null": nulls,
                    **TAGGED,
                },
            },
        ],
    }
    assert export.gaps == ()
    assert json.loads(export.to_json()) == export.document


@pytest.mark.parametrize("tag", ["", "ada#O", "*", "ad?", "${user}"])
def test_a_tag_that_is_not_a_valid_id_is_allowed_nothing(tag: str) -> None:
    role = Role("customer", tenant="user", can={"profile": READ, "orders": READ})
    export = export_policy(lay_out(PROFILE, ORDERS), role)
    assert is_allowed(export, get("U#ada"), user="ada")
    assert not is_allowed(export, get(f"U#{tag}"), user=tag)
    assert not is_allowed(export, get("U#ada"), user=tag)
    assert not is_allowed(export, get("U#ada"))


def test_other_parts_are_any_text_without_delimiters() -> None:
    carts = area("carts", "U#{user}#C#{cart}")
    role = Role("customer", tenant="user", can={"carts": READ})
    export = export_policy(lay_out(carts), role)
    (statement,) = statements(export).values()
    condition = statement["Condition"]
    own = "U#${aws:PrincipalTag/user}#C#"
    assert condition["ForAllValues:StringLike"] == {"dynamodb:LeadingKeys": [f"{own}*"]}
    assert condition["ForAllValues:StringNotLike"] == {"dynamodb:LeadingKeys": [own, f"{own}*#*"]}
    for text in ("U#ada#C#1", "U#ada#C#", "U#ada#C#1#2", "U#bob#C#1"):
        assert is_allowed(export, get(text), user="ada") is (text == "U#ada#C#1")


def test_choices_are_written_out() -> None:
    role = Role("reader", can={"kinds": READ})
    export = export_policy(lay_out(area("kinds", "K#{kind}")), role)
    (statement,) = statements(export).values()
    assert statement["Condition"]["ForAllValues:StringEquals"] == {
        "dynamodb:LeadingKeys": ["K#big", "K#small"]
    }
    assert export.gaps == ()


def test_special_characters_of_policies_are_escaped() -> None:
    role = Role("customer", tenant="user", can={"odd": READ})
    export = export_policy(lay_out(area("odd", "*{user}?$")), role)
    (statement,) = statements(export).values()
    assert statement["Condition"]["ForAllValues:StringEquals"] == {
        "dynamodb:LeadingKeys": ["${*}${aws:PrincipalTag/user}${?}${$}"]
    }
    assert is_allowed(export, get("*ada?$"), user="ada")
    assert not is_allowed(export, get("xada?$"), user="ada")


def test_overlapping_areas_get_separate_statements() -> None:
    role = Role("staff", can={"profile": ALL, "orders": ALL})
    export = export_policy(lay_out(PROFILE, ORDERS), role)
    assert is_allowed(export, get("U#ada"))
    assert is_allowed(export, get("U#ada#O"))
    assert not is_allowed(export, get("U#ada#P"))
    assert not is_allowed(export, get("U##O"))
    # So two statements are needed, and neither allows a batch with keys of both areas.
    assert kinds(export) == [("mixed-batches", "narrower")] * 2
    assert {each for gap in export.gaps for each in gap.actions} == {
        "BatchGetItem",
        "BatchWriteItem",
    }


def test_a_part_with_limited_characters_is_wider_in_a_policy_with_a_gap() -> None:
    role = Role("staff", can={"numbers": READ})
    export = export_policy(lay_out(area("numbers", "N#{no:03}")), role)
    assert is_allowed(export, get("N#001"))
    assert not is_allowed(export, get("N#0001"))
    assert not is_allowed(export, get("N#0#1"))
    assert is_allowed(export, get("N#abc"))
    assert kinds(export) == [("key-parts", "wider")]
    guard = Guard(lay_out(area("numbers", "N#{no:03}")), role, {})
    assert guard.check(get("N#abc")) is not None


def test_a_pattern_that_could_match_another_area_is_left_out() -> None:
    layout = lay_out(area("numbers", "N{no:03}"), area("names", "N{user}!"))
    export = export_policy(layout, Role("staff", can={"numbers": READ}))
    assert not is_allowed(export, get("N001"))
    assert ("key-parts", "narrower") in kinds(export)
    # Both together can be distinguished from everything else.
    both = export_policy(layout, Role("staff", can={"numbers": READ, "names": READ}))
    assert is_allowed(both, get("N001"))


@pytest.mark.parametrize(
    ("rights", "left_out", "kind"),
    [
        (Right.CREATE, {"PutItem", "UpdateItem", "BatchWriteItem"}, "create-or-replace"),
        (Right.UPDATE | Right.DELETE, {"PutItem", "UpdateItem"}, "create-or-replace"),
        (Right.CREATE | Right.UPDATE, {"BatchWriteItem"}, "batch-writes"),
        (Right.DELETE, {"BatchWriteItem"}, "batch-writes"),
    ],
)
def test_rights_that_iam_cannot_distinguish_are_left_out(
    rights: Right, left_out: set[str], kind: str
) -> None:
    export = export_policy(lay_out(PROFILE), Role("staff", can={"profile": READ | rights}))
    allowed = {name for names in actions(export).values() for name in names}
    assert not allowed & left_out
    assert kinds(export) == [(kind, "narrower")]
    assert left_out <= export.gaps[0].actions
    assert export.gaps[0].subject == "profile"


def test_hidden_attributes_must_be_left_out_by_name() -> None:
    role = Role("support", can={"orders": READ}, hidden={"orders": ["card"]})
    export = export_policy(lay_out(ORDERS), role)
    (statement,) = statements(export).values()
    assert actions(export) == {"Orders": ["BatchGetItem", "GetItem", "Query"]}
    assert statement["Condition"]["ForAllValues:StringEquals"] == {
        "dynamodb:Attributes": ["pk", "sk", "total"]
    }
    assert statement["Condition"]["StringEquals"] == {
        "dynamodb:Select": ["SPECIFIC_ATTRIBUTES", "COUNT"]
    }
    named = frozenset({"pk", "sk", "total"})
    key = "U#ada#O"
    assert is_allowed(export, get(key, attributes=named, select="SPECIFIC_ATTRIBUTES"))
    assert not is_allowed(export, get(key, attributes=None, named=named, select="ALL_ATTRIBUTES"))
    secret = named | {"card"}
    assert not is_allowed(export, get(key, attributes=secret, select="SPECIFIC_ATTRIBUTES"))
    assert kinds(export) == [("hidden-in-failures", "narrower")]


def test_writes_that_could_show_a_hidden_attribute_are_left_out() -> None:
    role = Role("clerk", can={"orders": ALL}, hidden={"orders": ["card"]})
    export = export_policy(lay_out(ORDERS), role)
    allowed = {name for names in actions(export).values() for name in names}
    assert allowed == {"BatchGetItem", "GetItem", "Query", "BatchWriteItem"}
    assert gap_of(export, "hidden-in-failures").actions == {
        "ConditionCheckItem",
        "DeleteItem",
        "PutItem",
        "UpdateItem",
    }


def test_fixed_attributes_may_not_be_named_by_updates() -> None:
    role = Role("clerk", can={"orders": ALL}, fixed={"orders": ["total"]})
    export = export_policy(lay_out(ORDERS), role)
    (update,) = [
        each for each in export.document["Statement"] if "dynamodb:UpdateItem" in each["Action"]
    ]
    assert update["Action"] == ["dynamodb:UpdateItem"]
    assert update["Condition"]["ForAllValues:StringNotEquals"] == {"dynamodb:Attributes": ["total"]}
    allowed = {name for names in actions(export).values() for name in names}
    assert "PutItem" not in allowed
    assert "BatchWriteItem" not in allowed
    assert "DeleteItem" in allowed
    assert {kind for kind, _ in kinds(export)} == {"batch-writes", "fixed-in-conditions"}


BY_OWNER = index("ByOwner", ("orders", "O#{user}"), ("profile", "P#{user}"))


def test_a_tenant_that_only_reads_may_query_its_own_index_partitions() -> None:
    role = Role("customer", tenant="user", can={"orders": READ})
    export = export_policy(lay_out(PROFILE, ORDERS, indexes=(BY_OWNER,)), role)
    statement = statements(export)["ByOwner"]
    assert statement["Resource"] == [f"{ARN}/index/ByOwner"]
    assert statement["Action"] == ["dynamodb:Query"]
    assert statement["Condition"]["ForAllValues:StringEquals"] == {
        "dynamodb:LeadingKeys": ["O#${aws:PrincipalTag/user}"]
    }
    assert export.gaps == ()


def test_a_tenant_that_writes_may_not_query_an_index_that_others_write_into() -> None:
    role = Role("customer", tenant="user", can={"orders": ALL})
    export = export_policy(lay_out(PROFILE, ORDERS, indexes=(BY_OWNER,)), role)
    assert "ByOwner" not in statements(export)
    assert kinds(export) == [("index-queries", "narrower"), ("index-writes", "wider")]
    assert gap_of(export, "index-queries").index_name == "ByOwner"
    # IAM would allow it: it never sees the values that are written.
    stray = get("U#ada#O", written={"owner": {"S": "O#bob"}})._replace(
        action="PutItem", rights=Right.CREATE | Right.UPDATE
    )
    guard = Guard(lay_out(PROFILE, ORDERS, indexes=(BY_OWNER,)), role, {"user": "ada"})
    assert guard.check(stray) is not None
    assert is_allowed(export, stray, user="ada")
    assert "PutItem" in gap_of(export, "index-writes").actions


def test_an_index_of_several_partition_attributes_is_left_out_for_tenants() -> None:
    several = index("ByPlace", ("orders", "O#{user}"), partition=("owner", "place"))
    role = Role("customer", tenant="user", can={"orders": READ})
    export = export_policy(lay_out(ORDERS, indexes=(several,)), role)
    assert "ByPlace" not in statements(export)
    assert kinds(export) == [("index-parts", "narrower")]


def test_an_index_partition_with_limited_characters_is_left_out_for_tenants() -> None:
    numbered = index("ByNo", ("orders", "O#{user}#{no:03}"))
    role = Role("customer", tenant="user", can={"orders": READ})
    export = export_policy(lay_out(ORDERS, indexes=(numbered,)), role)
    assert "ByNo" not in statements(export)
    assert kinds(export) == [("key-parts", "narrower")]


def test_a_local_index_goes_with_the_table() -> None:
    local = IndexLayout("ByTime", ("pk",), True, ())
    role = Role("customer", tenant="user", can={"orders": READ})
    export = export_policy(lay_out(ORDERS, indexes=(local,)), role)
    queries = [each for each in export.document["Statement"] if "dynamodb:Query" in each["Action"]]
    assert [each["Resource"] for each in queries] == [[ARN, f"{ARN}/index/ByTime"]]


def test_a_role_without_a_tenant_needs_every_area_to_query_an_index() -> None:
    layout = lay_out(PROFILE, ORDERS, indexes=(BY_OWNER,))
    both = export_policy(layout, Role("staff", can={"profile": READ, "orders": READ}))
    assert statements(both)["ByOwner"] == {
        "Sid": "ByOwner",
        "Effect": "Allow",
        "Action": ["dynamodb:Query"],
        "Resource": [f"{ARN}/index/ByOwner"],
    }
    one = export_policy(layout, Role("staff", can={"orders": READ}))
    assert "ByOwner" not in statements(one)


def test_everything_needs_no_keys() -> None:
    export = export_policy(lay_out(PROFILE, ORDERS), Role("admin", can={EVERYTHING: ALL}))
    assert actions(export) == {
        "Everything": [
            "BatchGetItem",
            "BatchWriteItem",
            "ConditionCheckItem",
            "DeleteItem",
            "GetItem",
            "PutItem",
            "Query",
            "UpdateItem",
        ],
        "Scan": ["Scan"],
    }
    assert all("Condition" not in each for each in export.document["Statement"])
    assert export.gaps == ()


def test_a_role_that_may_not_see_everything_may_not_scan() -> None:
    export = export_policy(
        lay_out(PROFILE, ORDERS), Role("staff", can={"profile": ALL, "orders": ALL})
    )
    assert not is_allowed(export, Access("Scan", "Shop", rights=Right.QUERY))


def test_partitions_of_no_template_are_those_of_no_other_area() -> None:
    layout = lay_out(ORDERS, area("other", None, "a"))
    export = export_policy(layout, Role("staff", can={"other": READ}))
    (statement,) = statements(export).values()
    assert statement["Condition"]["ForAllValues:StringNotLike"] == {
        "dynamodb:LeadingKeys": ["U#*#O", "keyfold#*"]
    }
    assert is_allowed(export, get("anything"))
    assert not is_allowed(export, get("U#ada#O"))
    assert not is_allowed(export, get("keyfold#unique#Order#id#1"))
    assert not is_allowed(export, get("keyfold#idempotency#x"))
    assert kinds(export) == [("look-alikes", "narrower")]


def test_the_partitions_of_own_items_stay_closed() -> None:
    layout = lay_out(area("free", "{user}#{cart}#{kind}"))
    export = export_policy(layout, Role("staff", can={"free": READ}))
    assert is_allowed(export, get("a#b#big"))
    assert not is_allowed(export, get("keyfold#unique#big"))
    assert not is_allowed(export, get("keyfold#idempotency#big"))


def test_a_gap_reports_that_unique_values_need_a_store() -> None:
    layout = lay_out(PROFILE, unique={"Profile0": frozenset({"Profile0.email"})})
    export = export_policy(layout, Role("customer", tenant="user", can={"profile": ALL}))
    assert kinds(export) == [("unique-values", "narrower")]
    assert export.gaps[0].subject == "Profile0.email"
    reader = export_policy(layout, Role("customer", tenant="user", can={"profile": READ}))
    assert reader.gaps == ()


def test_entities_in_one_partition_cannot_be_distinguished() -> None:
    both = area("profile", "U#{user}", entities=2)
    export = export_policy(lay_out(both), Role("customer", tenant="user", can={"profile": ALL}))
    assert kinds(export) == [("entities", "same")]


def test_the_format_of_a_tag_is_not_checked_by_iam() -> None:
    layout = lay_out(area("items", "I#{item}"))
    export = export_policy(layout, Role("owner", tenant="item", can={"items": READ}))
    assert kinds(export) == [("tag-form", "wider")]


def test_operations_are_exported_by_name_except_those_on_every_item() -> None:
    role = Role(
        "admin",
        can={EVERYTHING: ALL},
        operations=[
            "DescribeTable",
            "ExecuteStatement",
            "GetRecords",
            "ListBackups",
            "ListTables",
            "UpdateTimeToLive",
        ],
    )
    export = export_policy(lay_out(PROFILE), role)
    assert actions(export)["TableOperations"] == ["DescribeTable", "UpdateTimeToLive"]
    assert statements(export)["TableOperations"]["Resource"] == [ARN, f"{ARN}/*"]
    assert actions(export)["Operations"] == ["ListBackups", "ListTables"]
    assert statements(export)["Operations"]["Resource"] == ["*"]
    assert kinds(export) == [("operations", "narrower"), ("operations", "wider")]
    assert export.gaps[0].subject == "ExecuteStatement and GetRecords"
    assert "PartiQLSelect" in export.gaps[0].actions


def test_a_policy_that_aws_would_refuse_is_reported() -> None:
    nothing = export_policy(lay_out(PROFILE), Role("nobody", can={}))
    assert nothing.document["Statement"] == []
    assert kinds(nothing) == [("nothing", "same")]
    many = [area(f"area{place}", f"A{place}#{{user}}#{'x' * 40}") for place in range(60)]
    long = export_policy(lay_out(*many), Role("staff", can={each.name: ALL for each in many}))
    assert kinds(long) == [("length", "same")]


def test_a_gap_reads_as_a_sentence() -> None:
    export = export_policy(lay_out(PROFILE), Role("staff", can={"profile": Right.DELETE}))
    assert str(export.gaps[0]) == (
        "profile: a batch may put and delete, and IAM cannot distinguish the two, so batch writes "
        "are left out. Write items one by one, or in transactions. "
        "[batch-writes, narrower]"
    )


def test_writes_may_not_name_unique_fields() -> None:
    users = replace(area("users", "U#{user}", "email"), unique=frozenset({"email"}))
    role = Role("r", tenant="user", can={"users": ALL}, unique=["Users0"])
    export = export_policy(lay_out(users, unique={"Users0": frozenset({"Users0.email"})}), role)
    for each in export.document["Statement"]:
        writes = {f"dynamodb:{name}" for name in ("BatchWriteItem", "PutItem", "UpdateItem")}
        never = each["Condition"].get("ForAllValues:StringNotEquals")
        assert (never == {"dynamodb:Attributes": ["email"]}) is bool(writes & {*each["Action"]})
    assert "unique-in-conditions" in {gap.kind for gap in export.gaps}


def test_a_shard_that_resembles_one_that_is_left_out_is_allowed() -> None:
    layout = lay_out(area("orders", "U#{user}#O"), area("users", "U#{user}"), area("rest", None))
    role = Role("r", can={"orders": READ, "rest": READ})
    policy = parse_policy(export_policy(layout, role).to_json())

    def is_allowed(partition: str) -> bool:
        asked = Access("GetItem", "Shop", rights=Right.GET, partition=({"S": partition},))
        return find_denial(policy, {}, [asked]) is None

    assert [is_allowed(each) for each in ("U#ada#O", "X#ada", "U#ada")] == [True, True, False]
