"""The room "As a role": the matrix, the patterns, attempts, the missing rule and the policy."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from keyfold import READ, Entity, Key, Role, Table, part
from keyfold.designs import market
from keyfold.engine import Engine
from keyfold.model import Table as DeclaredTable
from keyfold.policy import Guard, Right
from keyfold.store import Store, StoreSettings
from keyfold.studio._actions import make_call
from keyfold.studio._bodies import StudioBody
from keyfold.studio._opening import make_workspace
from keyfold.studio._problems import describe_problem
from keyfold.studio._workspace import Workspace
from keyfold.studio.rooms import roles
from keyfold.studio.rooms._role_rules import show_areas
from keyfold.studio.rooms._role_sources import show_source_change
from keyfold.studio.rooms._role_traces import make_access, shorten_fact, show_trace
from keyfold.studio.rooms._role_trials import open_trials

ACTIONS = {each.name: each for each in roles.ACTIONS}
RABINOVICH = {"user": "rabinovich"}
DESIGNS = ("exchange_rates", "letsgo", "market", "pantry")
IDS = {
    "user": "7e57c0de-0000-4000-8000-000000000001",
    "group": "7e57c0de-0000-4000-8000-000000000002",
    "container": "7e57c0de-0000-4000-8000-000000000003",
    "tenant_id": "ten-1",
    "identity_id": "idn-1",
}


def find_design(name: str) -> DeclaredTable:
    table: DeclaredTable = import_module(f"keyfold.designs.{name}").table
    return table


def fill(engine: Engine, table: DeclaredTable) -> Store:
    store = Store(engine, StoreSettings([table]))
    store.create_table(table)
    for entity in table.example_entities():
        store.run(entity.put())
    return store


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    with Engine.open(":memory:") as engine:
        fill(engine, market.table)
        yield make_workspace(engine, [market.table])


def act(workspace: Workspace, action: str, **body: Any) -> dict[str, Any]:
    """Return the result of an action, or its problem."""
    call = make_call(workspace, StudioBody({"table": market.table.name, **body}))
    try:
        found: dict[str, Any] = ACTIONS[action].run(call)
    except Exception as error:
        problem = describe_problem(error)
        if problem.status >= 500:
            raise
        return {"status": problem.status, **problem.to_json()}
    return found


def count_items(workspace: Workspace) -> int:
    request = {"TableName": market.table.name, "Select": "COUNT"}
    return int(workspace.executor.execute("Scan", request)["Count"])


# The matrix.


def test_the_matrix_has_a_row_for_each_shard_with_its_own_partitions(workspace: Workspace) -> None:
    matrix = act(workspace, "role/matrix", role="customer", ids=RABINOVICH)
    rows = {
        area["name"]: (
            area["rights"],
            ["".join(piece["text"] for piece in pieces) for pieces in area["partitions"]],
        )
        for area in matrix["areas"]
    }
    assert rows["profile"] == (["get", "query", "create", "update", "delete"], ["U#rabinovich"])
    assert rows["orders"] == (["get", "query"], ["U#rabinovich#O"])
    assert rows["billing"][0] == []
    assert matrix["declared"]["file"] == "market/_roles.py"


def test_the_matrix_counts_what_is_readable(workspace: Workspace) -> None:
    matrix = act(workspace, "role/matrix", role="customer", ids=RABINOVICH)
    counts = {area["name"]: area["count"] for area in matrix["areas"]}
    request = {
        "TableName": "Market",
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": "U#rabinovich#O"}},
    }
    stored = workspace.executor.execute("Query", request)["Count"]
    assert stored > 0
    assert counts["orders"] == {"items": stored, "whole": True}
    assert counts["billing"] is None


def test_without_a_tenant_the_matrix_shows_the_part(workspace: Workspace) -> None:
    matrix = act(workspace, "role/matrix", role="customer")
    orders = next(area for area in matrix["areas"] if area["name"] == "orders")
    assert [piece["text"] for piece in orders["partitions"][0]] == ["U#", "{user}", "#O"]
    assert orders["count"] is None


def test_hidden_attributes_and_everything_are_told(workspace: Workspace) -> None:
    matrix = act(workspace, "role/matrix", role="support")
    billing = next(area for area in matrix["areas"] if area["name"] == "billing")
    assert billing["hidden"] == ["card", "holder"]
    assert matrix["extras"]["everything"] == ["get", "query"]


def test_an_index_is_queried_or_looked_up_or_neither(workspace: Workspace) -> None:
    matrix = act(workspace, "role/matrix", role="customer", ids=RABINOVICH)
    by_name = {index["name"]: index for index in matrix["indexes"]}
    assert by_name["ReverseIndex"]["query"] is True
    looked_up = by_name["IdLookupIndex"]
    assert looked_up["query"] is False
    assert "order_by_id" in looked_up["lookupPatterns"]


@pytest.mark.parametrize("design", DESIGNS)
def test_the_matrix_agrees_with_the_guard(design: str) -> None:
    table = find_design(design)
    checked = 0
    for role in table.roles.values():
        own = None if role.tenant is None else IDS[role.tenant]
        ids = {} if role.tenant is None else {role.tenant: IDS[role.tenant]}
        guard = Guard(table.layout, role, ids)
        with open_trials(table, role, ids) as trials:
            keys = {name: trials.find_key(name) for name in table.layout.areas}
        for area in show_areas(table, role, own):
            key = keys[area["name"]]
            if key is None or area["hidden"] or area["fixed"]:
                # Rights alone do not decide, or there is no example.
                continue
            partition, *sort = (str(next(iter(value.values()))) for value in key.values())
            for right in Right:
                access = make_access(table, right, partition, sort[0] if sort else None, None)
                denial = guard.check(access, unique=frozenset())
                checks = show_trace(table, guard, access, denial and denial.fact)
                failed = {each["name"] for each in checks if not each["passes"]}
                assert (denial is not None) == bool(failed), (role.name, area["name"], right)
                if not failed & {"Key", "Tenant"}:
                    has = (right.name or "").lower() in area["rights"]
                    assert has == ("Right" not in failed), (role.name, area["name"], right)
                    checked += 1
    assert checked > 0


# Patterns.


def outcomes(workspace: Workspace, **body: Any) -> dict[str, tuple[str, str]]:
    found = act(workspace, "role/patterns", **body)
    return {each["name"]: (each["outcome"], each["note"]) for each in found["patterns"]}


def test_patterns_run_or_are_denied_with_the_reason(workspace: Workspace) -> None:
    before = count_items(workspace)
    found = outcomes(workspace, role="customer", ids=RABINOVICH)
    assert found["last_orders"] == ("runs", "")
    assert found["order_by_id"] == ("runs", "looks up")
    assert found["grant_reward"] == ("denied", "rewards: lacks create")
    assert found["create_user"][0] == "denied"
    assert len(found) == len(market.table.patterns)
    assert count_items(workspace) == before


def test_a_lookup_shows_nothing_to_a_role_that_may_not_read_it(workspace: Workspace) -> None:
    found = outcomes(workspace, role="visitor")
    assert found["order_by_id"] == ("runs", "looks up, but may not read it")


def test_a_pattern_by_another_parameter_runs_for_the_own_tenant_only() -> None:
    table = Table("Shops", key=Key("pk", "sk"))
    offers = table.shard("S#{shop}", name="offers")

    class Offer(Entity, table=table, key=(offers, "{name}")):
        shop: str = part()
        name: str = part()

    @table.pattern("Offers of a seller")
    def offers_of(seller: str) -> Any:
        return Offer.query(shop=seller)

    table.add_role(Role("keeper", tenant="shop", can={offers: READ}))
    with Engine.open(":memory:") as engine:
        fill(engine, table)
        made = make_workspace(engine, [table])
        found = outcomes(made, table="Shops", role="keeper", ids={"shop": "kiosk"})
    assert offers_of.__name__ == "offers_of"
    assert found["offers_of"] == ("own", "for its own shop")


def test_an_argument_that_no_example_has_is_not_known() -> None:
    table = Table("Notes", key=Key("pk"))

    class Note(Entity, table=table, key="N#{note}"):
        note: str = part()

    @table.pattern("Hard to call")
    def hard(note: str) -> Any:
        raise RuntimeError(note)

    table.add_role(Role("reader", can={Note: READ}))
    with open_trials(table, table.roles["reader"], {}) as trials:
        assert trials.try_pattern(hard).outcome == "unknown"


# Attempts.


def test_a_denied_attempt_says_key_tenant_and_right(workspace: Workspace) -> None:
    before = count_items(workspace)
    tried = act(workspace, "role/try", role="customer", ids=RABINOVICH, pattern="grant_reward")
    assert tried["outcome"] == "denied"
    assert tried["fact"] == "rewards: customer lacks create"
    assert [(each["name"], each["passes"]) for each in tried["checks"]] == [
        ("Key", True),
        ("Tenant", True),
        ("Right", False),
    ]
    assert tried["checks"][0]["text"] == "U#rabinovich#R"
    assert (tried["area"], tried["missing"]) == ("rewards", ["create"])
    assert tried["able"] == [{"role": "fulfilment", "ids": {}}]
    assert count_items(workspace) == before


def test_the_missing_rule_is_a_change_of_the_declaration(workspace: Workspace) -> None:
    tried = act(workspace, "role/try", role="customer", ids=RABINOVICH, pattern="grant_reward")
    added = [line for sign, line in tried["change"]["lines"] if sign == "+"]
    assert added == ["can={profiles: READ | WRITE, orders: READ, rewards: READ | Right.CREATE},"]
    assert tried["change"]["file"] == "market/_roles.py"


@pytest.mark.parametrize(
    ("role", "area", "right", "added"),
    [
        ("customer", "billing", Right.QUERY, "rewards: READ, billing: Right.QUERY}"),
        ("fulfilment", "accounts", Right.GET | Right.QUERY, "accounts: Right.GET | Right.QUERY,"),
        ("fulfilment", "billing", Right.DELETE, "Right.UPDATE | Right.DELETE,"),
    ],
)
def test_a_rule_is_added_where_it_belongs(role: str, area: str, right: Right, added: str) -> None:
    change = show_source_change(market.table, market.table.roles[role], area, right)
    assert change is not None
    [line] = [line for sign, line in change["lines"] if sign == "+"]
    assert added in line


def test_a_role_without_a_source_has_no_change() -> None:
    table = Table("Made", key=Key("pk"))

    class Thing(Entity, table=table, key="T#{thing}"):
        thing: str = part()

    role = table.add_role(Role("made-at-run-time".upper(), can={Thing: READ}))
    assert show_source_change(table, role, "Thing", Right.CREATE) is None


def test_anothers_partition_fails_at_the_tenant(workspace: Workspace) -> None:
    body: dict[str, Any] = {"role": "customer", "ids": RABINOVICH, "right": "query"}
    tried = act(workspace, "role/try", partition="U#eve#O", **body)
    assert [(each["name"], each["passes"]) for each in tried["checks"]][-1] == ("Tenant", False)
    assert tried["change"] is None
    assert {each["role"] for each in tried["able"]} == {"fulfilment", "support"}


def test_an_unknown_form_of_key_fails_at_the_key(workspace: Workspace) -> None:
    body: dict[str, Any] = {"role": "customer", "ids": RABINOVICH, "right": "create"}
    tried = act(workspace, "role/try", partition="keyfold#x", sort="y", **body)
    assert [(each["name"], each["passes"]) for each in tried["checks"]] == [("Key", False)]


def test_hidden_attributes_fail_at_the_fields(workspace: Workspace) -> None:
    tried = act(workspace, "role/try", role="support", right="get", area="billing")
    assert [each["name"] for each in tried["checks"] if not each["passes"]] == ["Fields"]
    assert "card and holder" in tried["checks"][-1]["note"]


def test_an_index_with_items_of_all_tenants_names_its_lookups(workspace: Workspace) -> None:
    tried = act(
        workspace,
        "role/try",
        role="customer",
        ids=RABINOVICH,
        right="query",
        index="IdLookupIndex",
        partition="odesa-1",
    )
    assert tried["outcome"] == "denied"
    assert "order_by_id" in tried["advice"]


def test_an_allowed_attempt_passes_every_check(workspace: Workspace) -> None:
    tried = act(workspace, "role/try", role="customer", ids=RABINOVICH, right="get", area="orders")
    assert tried["outcome"] == "runs"
    assert all(each["passes"] for each in tried["checks"])


def test_a_later_step_of_a_pattern_is_named(workspace: Workspace) -> None:
    tried = act(workspace, "role/try", role="visitor", pattern="place_order")
    assert (tried["outcome"], tried["step"]) == ("denied", 2)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"role": "nobody"}, "role-unknown"),
        ({"role": "customer", "pattern": "last_orders"}, "principal-invalid"),
        ({"role": "customer", "ids": {"user": "a*"}, "pattern": "x"}, "principal-invalid"),
        ({"role": "visitor", "pattern": "x"}, "pattern-unknown"),
        ({"role": "visitor", "right": "own"}, "right-unknown"),
        ({"role": "visitor", "right": "get"}, "key-incomplete"),
        ({"role": "visitor", "right": "get", "partition": "U#a#P"}, "key-incomplete"),
        ({"role": "visitor", "right": "get", "area": "nothing"}, "shard-unknown"),
        ({"role": "visitor", "right": "query", "index": "no", "partition": "x"}, "index-unknown"),
        (
            {"role": "visitor", "right": "get", "index": "IdLookupIndex", "partition": "x"},
            "key-incomplete",
        ),
    ],
)
def test_what_cannot_be_tried_says_why(
    workspace: Workspace, body: dict[str, Any], code: str
) -> None:
    assert act(workspace, "role/try", **body)["code"] == code


def test_a_fact_is_shown_without_the_role() -> None:
    customer = market.table.roles["customer"]
    assert shorten_fact("orders: customer lacks get", customer) == "orders: lacks get"


# Tenants and the policy.


def test_tenants_that_exist_are_suggested_for_less_than_ten_units(workspace: Workspace) -> None:
    call = make_call(workspace, StudioBody({"table": "Market", "role": "customer"}))
    found = ACTIONS["role/tenants"].run(call)
    assert found["tenant"] == "user"
    assert found["ids"][0] == "rabinovich"
    assert call.recorder.count_units()[0] <= 10
    for each in found["ids"]:
        Guard(market.table.layout, market.table.roles["customer"], {"user": each})


def test_a_role_without_a_tenant_needs_no_id(workspace: Workspace) -> None:
    assert act(workspace, "role/tenants", role="visitor") == {"tenant": None, "ids": []}


def test_the_policy_has_its_gaps_the_wider_ones_first(workspace: Workspace) -> None:
    policy = act(workspace, "role/policy", role="customer")
    assert "dynamodb:LeadingKeys" in policy["json"]
    directions = [gap["direction"] for gap in policy["gaps"]]
    assert directions == sorted(directions, key=["wider", "narrower", "same"].index)
    assert directions[0] == "wider"
