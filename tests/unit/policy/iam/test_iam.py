"""IAM policies are evaluated as AWS documents it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from keyfold.errors import PolicyInvalid
from keyfold.policy import Access, Right
from keyfold.policy.iam import EXPLICIT_DENY, find_denial, parse_policy, resource_of

TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/Shop"


def allow(
    action: Any = "dynamodb:*", *, resource: Any = TABLE, effect: str = "Allow", **more: Any
) -> dict[str, Any]:
    return {"Effect": effect, "Action": action, "Resource": resource, **more}


def write(*statements: dict[str, Any], version: str | None = "2012-10-17") -> str:
    document: dict[str, Any] = {} if version is None else {"Version": version}
    return json.dumps({**document, "Statement": list(statements)})


def get(partition: str | None = "ada", **more: Any) -> Access:
    key = None if partition is None else ({"S": partition},)
    return Access("GetItem", "Shop", rights=Right.GET, partition=key, **more)


def is_allowed(
    statements: list[dict[str, Any]] | dict[str, Any],
    *accesses: Access,
    ids: dict[str, str] | None = None,
    name: str | None = None,
    version: str | None = "2012-10-17",
) -> bool:
    listed = statements if isinstance(statements, list) else [statements]
    policy = parse_policy(write(*listed, version=version))
    return find_denial(policy, ids or {}, accesses, name=name) is None


def test_anything_that_is_not_allowed_is_denied() -> None:
    denial = find_denial(parse_policy(write(allow("dynamodb:Query"))), {}, [get()])
    assert denial is not None
    assert denial.action == "GetItem"
    assert denial.table == "Shop"
    assert denial.fact == "no identity-based policy allows the dynamodb:GetItem action"


def test_an_explicit_denial_wins() -> None:
    policy = parse_policy(write(allow(), allow("dynamodb:GetItem", effect="Deny"), allow()))
    denial = find_denial(policy, {}, [get()])
    assert denial is not None
    assert denial.fact == EXPLICIT_DENY
    assert find_denial(policy, {}, [Access("Query", "Shop")]) is None


@pytest.mark.parametrize(
    ("action", "is_meant"),
    [
        ("dynamodb:GetItem", True),
        ("DynamoDB:getitem", True),
        ("dynamodb:Get*", True),
        ("dynamodb:*Item", True),
        ("dynamodb:Get????", True),
        ("dynamodb:Get???", False),
        ("dynamodb:Batch*", False),
        ("s3:*", False),
        ("*", True),
        (["s3:GetObject", "dynamodb:GetItem"], True),
    ],
)
def test_actions_may_have_wildcards_and_ignore_case(action: Any, is_meant: bool) -> None:
    assert is_allowed(allow(action), get()) is is_meant


@pytest.mark.parametrize(
    ("resource", "access", "is_meant"),
    [
        (TABLE, get(), True),
        (TABLE.lower(), get(), False),
        ("*", get(), True),
        ("arn:aws:dynamodb:*:*:table/Shop", get(), True),
        ("arn:aws:dynamodb:eu-west-1:*:table/Shop", get(), False),
        ("arn:aws:dynamodb:*:*:table/Sho?", get(), True),
        (f"{TABLE}/index/*", get(), False),
        (f"{TABLE}/index/*", Access("Query", "Shop", "ByMail"), True),
        (TABLE, Access("Query", "Shop", "ByMail"), False),
        (f"{TABLE}/stream/*", Access("GetRecords", "Shop", part="stream/2026"), True),
        (TABLE, Access("GetRecords", "Shop", part="stream/2026"), False),
        (TABLE, Access("ListTables", None), False),
        ("*", Access("ListTables", None), True),
    ],
)
def test_resources_are_arns_with_wildcards(resource: str, access: Access, is_meant: bool) -> None:
    assert is_allowed(allow(resource=resource), access) is is_meant


def test_actions_and_resources_may_be_excluded() -> None:
    but_writes = {"Effect": "Allow", "NotAction": "dynamodb:Put*", "NotResource": f"{TABLE}2"}
    assert is_allowed(but_writes, get())
    assert not is_allowed(but_writes, Access("PutItem", "Shop"))
    assert not is_allowed(but_writes, Access("GetItem", "Shop2"))


def test_the_resource_of_an_access_is_its_arn() -> None:
    access = Access("Query", "Shop", "ByMail")
    arn = resource_of(access, region="eu-west-1", account="123456789012")
    assert arn == "arn:aws:dynamodb:eu-west-1:123456789012:table/Shop/index/ByMail"


OWN = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:PrincipalTag/user}"]}}
CHECKED = {**OWN, "Null": {"dynamodb:LeadingKeys": "false"}}


def test_for_all_values_holds_for_an_absent_key() -> None:
    """AWS: ForAllValues "returns true if there are no keys in the request", as in a Scan."""
    scan = Access("Scan", "Shop", rights=Right.QUERY)
    ada = {"user": "ada"}
    assert is_allowed(allow(Condition=OWN), scan, ids=ada)
    assert not is_allowed(allow(Condition=CHECKED), scan, ids=ada)
    assert is_allowed(allow(Condition=CHECKED), get("ada"), ids=ada)
    assert not is_allowed(allow(Condition=OWN), get("bob"), ids=ada)


def test_an_unknown_key_is_not_hidden_by_the_others_of_a_batch() -> None:
    mine, unknown = (
        each._replace(action="BatchGetItem") for each in (get("ada"), Access("GetItem", "Shop"))
    )
    keys = {"dynamodb:LeadingKeys": "ada"}
    for_ada = {"ForAllValues:StringEquals": keys, "Null": {"dynamodb:LeadingKeys": "false"}}
    assert is_allowed(allow(Condition=for_ada), mine, mine)
    assert not is_allowed(allow(Condition=for_ada), mine, unknown)
    assert is_allowed(allow(), mine, unknown)


def test_a_batch_is_one_decision() -> None:
    batch = [each._replace(action="BatchGetItem") for each in (get("ada"), get("bob"))]
    for_ada = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "ada"}}
    for_bob = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "bob"}}
    # Each statement allows one of the keys, and none of them both.
    assert not is_allowed([allow(Condition=for_ada), allow(Condition=for_bob)], *batch)
    for_any = {"ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": "ada"}}
    assert is_allowed(allow(Condition=for_any), *batch)


def test_the_members_of_a_transaction_are_decided_one_by_one() -> None:
    members = [get("ada", enclosing="TransactGetItems"), get("bob", enclosing="TransactGetItems")]
    for_ada = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "ada"}}
    for_bob = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "bob"}}
    assert is_allowed([allow(Condition=for_ada), allow(Condition=for_bob)], *members)
    assert not is_allowed(allow(Condition=for_ada), *members)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"StringEquals": {"dynamodb:Select": "COUNT"}}, True),
        ({"StringEquals": {"DynamoDB:select": ["X", "COUNT"]}}, True),
        ({"StringEquals": {"dynamodb:Select": "COUN?"}}, False),
        ({"StringEquals": {"dynamodb:Select": "count"}}, False),
        ({"StringEqualsIgnoreCase": {"dynamodb:Select": "count"}}, True),
        ({"StringNotEqualsIgnoreCase": {"dynamodb:Select": "count"}}, False),
        ({"StringLike": {"dynamodb:Select": "C*T"}}, True),
        ({"StringLike": {"dynamodb:Select": "${*}OUNT"}}, False),
        ({"StringNotLike": {"dynamodb:Select": ["C*", "X*"]}}, False),
        ({"StringNotLike": {"dynamodb:Select": ["A*", "B*"]}}, True),
        ({"StringNotEquals": {"dynamodb:Select": ["COUNT", "X"]}}, False),
        # An absent key equals nothing, and differs from everything.
        ({"StringEquals": {"dynamodb:ReturnValues": "NONE"}}, False),
        ({"StringNotEquals": {"dynamodb:ReturnValues": "NONE"}}, True),
        ({"StringEqualsIfExists": {"dynamodb:ReturnValues": "NONE"}}, True),
        ({"StringEqualsIfExists": {"dynamodb:Select": "X"}}, False),
        ({"ForAnyValue:StringEquals": {"dynamodb:ReturnValues": "NONE"}}, False),
        ({"ForAnyValue:StringNotEquals": {"dynamodb:ReturnValues": "NONE"}}, False),
        ({"ForAnyValue:StringEqualsIfExists": {"dynamodb:ReturnValues": "NONE"}}, True),
        ({"Null": {"dynamodb:ReturnValues": "true"}}, True),
        ({"Null": {"dynamodb:ReturnValues": True}}, True),
        ({"Null": {"dynamodb:ReturnValues": "false"}}, False),
        ({"Null": {"dynamodb:Select": "FALSE"}}, True),
        ({"Bool": {"aws:PrincipalTag/staff": "true"}}, True),
        ({"Bool": {"aws:PrincipalTag/staff": False}}, False),
        ({"BoolIfExists": {"aws:PrincipalTag/absent": "true"}}, True),
        # All operators, and all their keys, must hold.
        ({"StringEquals": {"dynamodb:Select": "COUNT", "aws:PrincipalTag/staff": "no"}}, False),
        (
            {
                "StringEquals": {"dynamodb:Select": "COUNT"},
                "Null": {"aws:PrincipalTag/staff": "true"},
            },
            False,
        ),
        ({"ForAllValues:StringEquals": {"dynamodb:Attributes": ["pk", "a", "b"]}}, True),
        ({"ForAllValues:StringEquals": {"dynamodb:Attributes": ["pk"]}}, False),
        ({"ForAllValues:StringNotLike": {"dynamodb:Attributes": ["x*", "y*"]}}, True),
        ({"ForAllValues:StringNotLike": {"dynamodb:Attributes": ["a*", "y*"]}}, False),
        ({"ForAnyValue:StringEquals": {"dynamodb:Attributes": ["a"]}}, True),
        ({"StringEquals": {"dynamodb:ReturnConsumedCapacity": "TOTAL"}}, True),
        ({"StringEquals": {"aws:username": "Ada"}}, True),
    ],
)
def test_conditions_compare_as_documented(condition: dict[str, Any], holds: bool) -> None:
    query = Access(
        "Query",
        "Shop",
        partition=({"S": "ada"},),
        attributes=frozenset({"pk", "a"}),
        select="COUNT",
        capacity="TOTAL",
    )
    ids = {"staff": "true"}
    assert is_allowed(allow(Condition=condition), query, ids=ids, name="Ada") is holds


def test_a_transaction_is_the_enclosing_operation_of_its_members() -> None:
    # AWS: "Allow only transactional operations".
    within = {
        "ForAnyValue:StringEquals": {
            "dynamodb:EnclosingOperation": ["TransactWriteItems", "TransactGetItems"]
        }
    }
    assert is_allowed(allow(Condition=within), get(enclosing="TransactGetItems"))
    assert not is_allowed(allow(Condition=within), get())


def test_attributes_are_those_that_a_request_names() -> None:
    """AWS: without dynamodb:Select, whole items are read in spite of dynamodb:Attributes."""
    names = {"ForAllValues:StringEquals": {"dynamodb:Attributes": ["pk", "a"]}}
    whole = get(attributes=None, named=frozenset({"pk"}), select="ALL_ATTRIBUTES")
    some = get(attributes=frozenset({"pk", "a"}), select="SPECIFIC_ATTRIBUTES")
    assert is_allowed(allow(Condition=names), whole)
    both = {**names, "StringEqualsIfExists": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}}
    assert not is_allowed(allow(Condition=both), whole)
    assert is_allowed(allow(Condition=both), some)
    assert not is_allowed(allow(Condition=both), some._replace(attributes=frozenset({"secret"})))


@pytest.mark.parametrize(
    ("pattern", "key", "fits"),
    [
        ("U#${aws:PrincipalTag/user}#O", "U#ada#O", True),
        ("U#${aws:principaltag/USER}#O", "U#ada#O", True),
        ("U#${aws:PrincipalTag/user}#O", "U#bob#O", False),
        ("U#${aws:PrincipalTag/absent}#O", "U##O", False),
        ("U#${aws:PrincipalTag/absent, 'bob'}#O", "U#bob#O", True),
        ("U#${aws:PrincipalTag/user, 'bob'}#O", "U#ada#O", True),
        ("${aws:username}", "Ada", True),
        ("${$}{aws:username}", "${aws:username}", True),
        ("${?}", "?", True),
        ("${?}", "x", False),
    ],
)
@pytest.mark.parametrize("operator", ["StringEquals", "StringLike"])
def test_variables_are_replaced_by_the_tags_of_the_caller(
    operator: str, pattern: str, key: str, fits: bool
) -> None:
    condition = {f"ForAllValues:{operator}": {"dynamodb:LeadingKeys": [pattern]}}
    ids = {"user": "ada"}
    assert is_allowed(allow(Condition=condition), get(key), ids=ids, name="Ada") is fits


def test_a_wildcard_in_the_value_of_a_variable_is_literal() -> None:
    condition = {
        "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["${aws:PrincipalTag/user}#*"]}
    }
    assert not is_allowed(allow(Condition=condition), get("ada#1"), ids={"user": "*"})
    assert is_allowed(allow(Condition=condition), get("*#1"), ids={"user": "*"})


def test_variables_are_replaced_in_resources() -> None:
    own_table = allow(resource="arn:aws:dynamodb:*:*:table/${aws:PrincipalTag/shop}")
    assert is_allowed(own_table, get(), ids={"shop": "Shop"})
    assert not is_allowed(own_table, get(), ids={"shop": "S*"})
    assert not is_allowed(own_table, get())


@pytest.mark.parametrize("version", [None, "2008-10-17"])
def test_older_policies_have_no_variables(version: str | None) -> None:
    condition = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "${aws:username}"}}
    statement = allow(Condition=condition)
    assert not is_allowed(statement, get("Ada"), name="Ada", version=version)
    assert is_allowed(statement, get("${aws:username}"), name="Ada", version=version)


def test_an_unknown_condition_key_never_allows_a_statement() -> None:
    select = Access("PartiQLSelect", "Shop", attributes=None, is_opaque=True)
    assert is_allowed(allow("dynamodb:PartiQLSelect"), select)
    assert not is_allowed(allow(Condition=OWN), select, ids={"user": "ada"})
    assert not is_allowed(allow(Condition={"Null": {"dynamodb:LeadingKeys": "true"}}), select)
    # AWS: how full scans by statements are denied.
    no_scans = allow(effect="Deny", Condition={"Bool": {"dynamodb:FullTableScan": ["true"]}})
    assert not is_allowed([allow(), no_scans], select)
    assert is_allowed([allow(), no_scans], get())


def test_a_partition_of_several_attributes_never_allows_anything() -> None:
    query = Access("Query", "Shop", partition=({"S": "ada"}, {"S": "x"}))
    assert not is_allowed(allow(Condition=OWN), query, ids={"user": "ada"})


def test_long_patterns_take_no_longer_than_their_text() -> None:
    condition = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["*a" * 40 + "b"]}}
    assert not is_allowed(allow(Condition=condition), get("a" * 2_000))


@pytest.mark.parametrize(
    ("pattern", "value", "fits"),
    [
        ("a*a", "a", False),
        ("a*a", "aa", True),
        ("*", "", True),
        ("a**b", "a\nb", True),
        ("a*?", "a", False),
        ("*ab*b", "aab", False),
        ("*ab*b", "aabb", True),
        ("?*?", "ab", True),
        ("a.c", "abc", False),
    ],
)
def test_asterisks_stand_for_any_characters(pattern: str, value: str, fits: bool) -> None:
    condition = {"StringLike": {"aws:PrincipalTag/x": pattern}}
    assert is_allowed(allow(Condition=condition), get(), ids={"x": value}) is fits


# The documented examples of fine-grained access control.
GAME_SCORES = {
    "Sid": "AllowAccessToOnlyItemsMatchingUserID",
    "Effect": "Allow",
    "Action": [
        "dynamodb:GetItem",
        "dynamodb:BatchGetItem",
        "dynamodb:Query",
        "dynamodb:PutItem",
        "dynamodb:UpdateItem",
        "dynamodb:DeleteItem",
        "dynamodb:BatchWriteItem",
    ],
    "Resource": [TABLE],
    "Condition": {
        "ForAllValues:StringEquals": {
            "dynamodb:LeadingKeys": ["${aws:PrincipalTag/user}"],
            "dynamodb:Attributes": ["UserId", "GameTitle", "Wins"],
        },
        "StringEqualsIfExists": {
            "dynamodb:Select": "SPECIFIC_ATTRIBUTES",
            "dynamodb:ReturnValues": ["NONE", "UPDATED_OLD", "UPDATED_NEW"],
        },
    },
}


@pytest.mark.parametrize(
    ("access", "is_fine"),
    [
        (
            get(attributes=frozenset({"UserId", "Wins"}), select="SPECIFIC_ATTRIBUTES"),
            True,
        ),
        (get(attributes=None, named=frozenset({"UserId"}), select="ALL_ATTRIBUTES"), False),
        (get(attributes=frozenset({"Losses"}), select="SPECIFIC_ATTRIBUTES"), False),
        (get("bob", attributes=frozenset({"Wins"}), select="SPECIFIC_ATTRIBUTES"), False),
        (
            get(attributes=frozenset({"Wins"}), return_values="UPDATED_NEW")._replace(
                action="UpdateItem"
            ),
            True,
        ),
        (
            get(attributes=frozenset({"Wins"}), return_values="ALL_OLD")._replace(
                action="UpdateItem"
            ),
            False,
        ),
        (Access("Scan", "Shop", select="SPECIFIC_ATTRIBUTES"), False),
    ],
)
def test_the_documented_example_is_followed(access: Access, is_fine: bool) -> None:
    assert is_allowed(GAME_SCORES, access, ids={"user": "ada"}) is is_fine


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("{", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "the policy is not a JSON object"),
        ("{}", "it has no Statement"),
        ('{"Statement": [], "Extra": 1}', "the policy has 'Extra', which is not supported"),
        ('{"Version": "2020-01-01", "Statement": []}', "Version is '2020-01-01'"),
        ('{"Statement": [3]}', "statement 0 is not a JSON object"),
        ('{"Statement": [], "Statement": []}', "the policy has 'Statement' twice"),
        (write(allow(effect="Permit")), "the Effect of statement 0 is 'Permit'"),
        (write(allow(Sid=3)), "the Sid of statement 0 is not a string"),
        (write(allow(Principal="*")), "statement 0 has 'Principal', which is not supported"),
        (write(allow(Sid="A", Conditions={})), "statement 0 has 'Conditions', which is not"),
        (write(allow("GetItem")), "the Action of statement 0 has 'GetItem'"),
        (write(allow([])), "the Action of statement 0 is neither a string nor a list of strings"),
        (write(allow(3)), "the Action of statement 0 is neither a string nor a list of strings"),
        (write(allow(NotAction="*")), "statement 0 has Action and NotAction"),
        (write({"Effect": "Allow", "Action": "*"}), "statement 0 has no Resource"),
        (write(allow(resource="Shop")), "the Resource of statement 0 has 'Shop'"),
        (
            write(allow(Sid="Own", Condition={"StringEqual": {}})),
            "statement 0 (Own) has the operator 'StringEqual', which is not supported",
        ),
        (write(allow(Condition={"IpAddress": {}})), "the operator 'IpAddress', which is not"),
        (write(allow(Condition={"ForAllValues:Null": {}})), "has the operator 'ForAllValues:Null'"),
        (write(allow(Condition={"NullIfExists": {}})), "has the operator 'NullIfExists'"),
        (write(allow(Condition=[])), "the Condition of statement 0 is not a JSON object"),
        (write(allow(Condition={"Null": []})), "Null of statement 0 is not a JSON object"),
        (
            write(allow(Condition={"StringEquals": {"aws:SourceVpc": "x"}})),
            "has the condition key 'aws:SourceVpc', which is not supported",
        ),
        (
            write(allow(Condition={"StringEquals": {"aws:PrincipalTag/": "x"}})),
            "has the condition key 'aws:PrincipalTag/', which is not supported",
        ),
        (
            write(allow(Condition={"StringEquals": {"dynamodb:LeadingKeys": "x"}})),
            "compares dynamodb:LeadingKeys with StringEquals, but the key has several values",
        ),
        (
            write(allow(Condition={"StringEquals": {"dynamodb:Select": 3}})),
            "StringEquals of dynamodb:Select in statement 0 is neither a string nor",
        ),
        (
            write(allow(Condition={"Null": {"dynamodb:Select": "maybe"}})),
            "Null of dynamodb:Select in statement 0 is neither true nor false",
        ),
        (
            write(allow(resource=f"{TABLE}/${{cognito-identity.amazonaws.com:sub}}")),
            "has the variable '${cognito-identity.amazonaws.com:sub}', which is not supported",
        ),
        (write(allow(resource=f"{TABLE}${{aws:username")), "has the variable '${aws:username'"),
    ],
)
def test_unsupported_policy_elements_are_refused_by_name(text: str, fact: str) -> None:
    with pytest.raises(PolicyInvalid) as refused:
        parse_policy(text, source="policy.json")
    assert str(refused.value).startswith("policy.json: ")
    assert fact in str(refused.value)
    assert str(refused.value).endswith("[policy-invalid]")
