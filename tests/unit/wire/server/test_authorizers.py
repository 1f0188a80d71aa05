"""Authorizers' fast path admits only what they do not deny, and what it remembers stays right."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold import ALL, EVERYTHING, READ, Entity, Key, Role, Table, part
from keyfold.api import TableKeyNames
from keyfold.policy import Guard
from keyfold.policy.iam import parse_policy
from keyfold.wire.server import _authorizers
from keyfold.wire.server._authorizers import Authorizer, PolicyAuthorizer, RoleAuthorizer

notes = Table("Notes", key=Key("pk", "sk"))
own = notes.shard("U#{user}", name="own")


class Note(Entity, table=notes, key=(own, "{note}")):
    user: str = part()
    note: str = part()
    secret: str


notes.add_role(Role("writer", tenant="user", can={"own": ALL}))
notes.add_role(Role("reader", tenant="user", can={"own": READ}, hidden={"own": "secret"}))
notes.add_role(Role("owner", can={EVERYTHING: ALL}))

NAMES = TableKeyNames("pk", "sk", {})
REGION = "us-east-1"

CONDITIONS: list[dict[str, Any]] = [
    {},
    {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["U#${aws:PrincipalTag/user}"]}},
    {"ForAllValues:StringEquals": {"dynamodb:Attributes": ["pk", "sk"]}},
    {"StringEquals": {"dynamodb:ReturnConsumedCapacity": "TOTAL"}},
    {"StringEqualsIfExists": {"dynamodb:ReturnConsumedCapacity": "NONE"}},
    {"StringNotEquals": {"dynamodb:Select": "ALL_ATTRIBUTES"}},
    {"Null": {"dynamodb:LeadingKeys": "false"}},
]


def find_keys(table: str) -> TableKeyNames | None:
    return NAMES if table == "Notes" else None


def make_policy(
    condition: dict[str, Any], resource: str = "*", effect: str = "Allow"
) -> PolicyAuthorizer:
    statements = [{"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}]
    statement = {"Action": "dynamodb:*", "Resource": resource, "Condition": condition}
    statements = [{**statement, "Effect": effect}, *(statements if effect == "Deny" else [])]
    document = parse_policy(json.dumps({"Version": "2012-10-17", "Statement": statements}))
    return PolicyAuthorizer("ada", document, {"user": "ada"}, find_keys, REGION)


def make_role(name: str) -> RoleAuthorizer:
    ids = {"user": "ada"} if notes.roles[name].tenant else {}
    guard = Guard(notes.layout, notes.roles[name], ids)
    return RoleAuthorizer("ada", {"Notes": guard}, find_keys, REGION)


def get(partition: str = "U#ada", sort: str = "1", **more: Any) -> dict[str, Any]:
    return {"TableName": "Notes", "Key": {"pk": {"S": partition}, "sk": {"S": sort}}, **more}


attribute_values = st.sampled_from(
    [
        *({"S": "U#ada"}, {"S": "U#bob"}, {"S": "1"}, {"N": "1"}, {"S": "U#ada#x"}, {"S": ""}),
        *({"S": 1}, {"S": ["x"]}, {"S": "U#ada", "N": "1"}, {}, "U#ada", None),
    ]
)
requests = st.fixed_dictionaries(
    {
        "TableName": st.sampled_from(
            ["Notes", "Other", "arn:aws:dynamodb:us-east-1:000000000000:table/Notes", 1, None]
        ),
        "Key": st.dictionaries(st.sampled_from(["pk", "sk", "x"]), attribute_values, max_size=3)
        | st.just([]),
    },
    optional={
        "ConsistentRead": st.sampled_from([True, "x"]),
        "ReturnConsumedCapacity": st.sampled_from(["TOTAL", "NONE", "x", None, []]),
        "ProjectionExpression": st.sampled_from(["pk", "secret", "pk,"]),
        "AttributesToGet": st.sampled_from([["pk"], ["secret"]]),
    },
)
authorizers = st.one_of(
    st.sampled_from(["writer", "reader", "owner"]).map(make_role),
    st.builds(
        make_policy,
        st.sampled_from(CONDITIONS),
        st.sampled_from(["*", "arn:aws:dynamodb:*:*:table/Notes"]),
        st.sampled_from(["Allow", "Deny"]),
    ),
)


def admits(authorizer: Authorizer, request: Any) -> bool:
    """Return the verdict of the fast path, as the server takes it."""
    try:
        return authorizer.admits("GetItem", request)
    except Exception:  # noqa: BLE001 - as in `ServerState.read_checked`
        return False


@given(authorizers, st.lists(requests | st.builds(get), min_size=1, max_size=6))
def test_the_fast_path_admits_only_what_is_not_denied(
    authorizer: Authorizer, asked: list[dict[str, Any]]
) -> None:
    for request in (*asked, *asked):
        if admits(authorizer, request):
            assert authorizer.find_denial("GetItem", request) is None


@pytest.mark.parametrize("request_", ["text", [], ["TableName"], 1, None, {}])
def test_a_body_that_is_not_a_request_is_not_admitted(request_: Any) -> None:
    for authorizer in (make_policy({}), make_role("owner")):
        assert not admits(authorizer, request_)


def test_a_policy_is_evaluated_once_for_requests_that_look_the_same_to_it() -> None:
    authorizer = make_policy(CONDITIONS[1])
    assert authorizer.admits("GetItem", get())
    with mock.patch.object(_authorizers, "find_denial", side_effect=AssertionError):
        assert authorizer.admits("GetItem", get(sort="2", ConsistentRead=True))
        for other in (
            get("U#bob"),
            get(ReturnConsumedCapacity="TOTAL"),
            {**get(), "TableName": "Other"},
            get(ProjectionExpression="pk"),
            {"TableName": "Notes", "Key": {"pk": {"S": "U#ada"}}},
        ):
            assert not admits(authorizer, other), "it is evaluated"


def test_a_denial_is_not_remembered_as_an_approval() -> None:
    authorizer = make_policy(CONDITIONS[1])
    for _ in range(2):
        assert not authorizer.admits("GetItem", get("U#bob"))
        assert authorizer.find_denial("GetItem", get("U#bob")) is not None


def test_a_table_made_anew_with_another_key_is_decided_by_that_key() -> None:
    names = [NAMES]
    document = make_policy(CONDITIONS[1])._policy
    guard = Guard(notes.layout, notes.roles["writer"], {"user": "ada"})

    def find(table: str) -> TableKeyNames:
        return names[-1]

    swapped = get("1", "U#ada")
    for authorizer in (
        PolicyAuthorizer("ada", document, {"user": "ada"}, find, REGION),
        RoleAuthorizer("ada", {"Notes": guard}, find, REGION),
    ):
        names[:] = [NAMES]
        assert authorizer.admits("GetItem", get())
        assert not authorizer.admits("GetItem", swapped)
        names[:] = [TableKeyNames("sk", "pk", {})]
        assert not authorizer.admits("GetItem", get())
        assert authorizer.admits("GetItem", swapped)


def test_the_memory_of_a_policy_is_bounded() -> None:
    authorizer = make_policy({})
    largest = 0
    for number in range(2_500):
        assert authorizer.admits("GetItem", get(f"U#{number}"))
        largest = max(largest, len(authorizer._allowed))
    assert largest == 1_000
    authorizer = make_policy({})
    for length in (2_048, 2_049):
        assert authorizer.admits("GetItem", get("x" * length))
    assert len(authorizer._allowed) == 1
