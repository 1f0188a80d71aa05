"""The IAM policies of the market's roles, stored in full so that every change is reviewed.

`keyfold export iam market --role NAME --region eu-west-1 --account 123456789012 --json` writes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from keyfold.designs import market
from keyfold.policy import Access, Right
from keyfold.policy.iam import Export, export_policy, find_denial, parse_policy
from tests.unit.cli.program import Run

FOLDER = Path(__file__).with_name("policies")
ROLES = sorted(market.table.roles)


def export(role: str) -> Export:
    return export_policy(market.table.layout, market.table.roles[role])


def is_allowed(role: str, access: Access, **tags: str) -> bool:
    policy = parse_policy(export(role).to_json())
    return find_denial(policy, tags, [access]) is None


def access(action: str, partition: str | None, **more: Any) -> Access:
    values = None if partition is None else ({"S": partition},)
    return Access(action, "Market", partition=values, **more)


def test_every_role_has_a_stored_policy() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == ROLES


@pytest.mark.parametrize("role", ROLES)
def test_the_policy_of_a_role_is_the_stored_one(role: str, run: Run) -> None:
    arguments = ["--region", "eu-west-1", "--account", "123456789012", "--json"]
    outcome = run("export", "iam", "market", "--role", role, *arguments)
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out) == json.loads((FOLDER / f"{role}.json").read_text("utf-8"))


@pytest.mark.parametrize("role", ROLES)
def test_no_policy_allows_partiql_or_streams(role: str) -> None:
    text = export(role).to_json()
    assert "PartiQL" not in text
    assert "stream" not in text.lower()
    assert ("dynamodb:Scan" in text) == (role == "support")


@pytest.mark.parametrize(
    ("action", "partition", "is_fine"),
    [
        ("GetItem", "U#ada", True),
        ("PutItem", "U#ada", True),
        ("Query", "U#ada#O", True),
        ("Query", "U#ada#R", True),
        ("PutItem", "U#ada#O", False),
        ("GetItem", "U#ada#B", False),
        ("GetItem", "U#bob", False),
        ("Query", "U#bob#O", False),
        ("Query", "U#adam#O", False),
        ("Scan", None, False),
        ("GetItem", "N#1", False),
    ],
)
def test_a_customer_may_access_only_its_own_profile_orders_and_rewards(
    action: str, partition: str | None, is_fine: bool
) -> None:
    assert is_allowed("customer", access(action, partition), user="ada") is is_fine


def test_fulfilment_may_write_orders_of_all_customers() -> None:
    assert is_allowed("fulfilment", access("PutItem", "U#ada#O"))
    assert is_allowed("fulfilment", access("PutItem", "U#bob#R"))
    assert not is_allowed("fulfilment", access("PutItem", "U#bob"))
    assert not is_allowed("fulfilment", access("PutItem", "U##O"))
    assert not is_allowed("fulfilment", access("PutItem", "U#a#b#O"))


def test_support_may_read_everything_except_payment_details() -> None:
    shown = frozenset({"pk", "sk", "amount"})
    get = access("GetItem", "U#ada#B", rights=Right.GET, select="SPECIFIC_ATTRIBUTES")
    assert is_allowed("support", get._replace(attributes=shown))
    assert not is_allowed("support", get._replace(attributes=shown | {"card"}))
    whole = get._replace(attributes=None, named=frozenset({"pk", "sk"}), select="ALL_ATTRIBUTES")
    assert not is_allowed("support", whole)
    assert is_allowed("support", whole._replace(partition=({"S": "U#ada#O"},)))
    scan = access("Scan", None, rights=Right.QUERY, select="ALL_ATTRIBUTES", attributes=None)
    assert not is_allowed("support", scan)
    assert is_allowed("support", scan._replace(attributes=shown, select="SPECIFIC_ATTRIBUTES"))
