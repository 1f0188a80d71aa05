"""A key may look items up in an index that is closed to it, and learns nothing of others' items."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.model import Entity, Index, Key, Table, part
from keyfold.policy import ALL, EVERYTHING, READ, Right, Role, find_role_problems
from keyfold.policy.iam import export_policy
from keyfold.wire.server import make_key_gate
from tests.unit.wire.server.http import Response
from tests.unit.wire.server.signing import NOW, block, sign_by_botocore, write_keys
from tests.unit.wire.server.test_gate import Wire, denied

by_label = Index("ByLabel", key=Key("label", "rank"))
by_state = Index("ByState", key=Key("state"), project="keys")
shop = Table("Shop", key=Key("pk", "sk"), indexes=[by_label, by_state])
orders = shop.shard("U#{user}#O", name="orders")
offers = shop.shard("U#{user}#P", name="offers")


class Order(Entity, table=shop, key=(orders, "O#{id}")):
    user: str = part()
    id: str = part()
    label: str | None = None
    rank: str | None = None
    state: str | None = None
    note: str = ""


class Offer(Entity, table=shop, key=(offers, "P#{id}")):
    user: str = part()
    id: str = part()
    label: str | None = None
    rank: str | None = None


class Ticket(Entity, table=shop, key=("TICKETS", "T#{user}#{id}")):
    """All users' tickets are in one partition."""

    user: str = part()
    id: str = part()
    label: str | None = None
    rank: str | None = None


shop.add_role(Role("buyer", tenant="user", can={orders: READ}, lookups=[by_label, by_state]))
shop.add_role(Role("vendor", tenant="user", can={offers: ALL}, lookups=by_label))
shop.add_role(Role("guest", can={offers: READ}, lookups=[by_label]))
shop.add_role(Role("clerk", can={orders: Right.QUERY}, lookups=[by_label]))
shop.add_role(
    Role("auditor", can={EVERYTHING: READ}, hidden={orders: ["note"]}, lookups=[by_label])
)
shop.add_role(Role("editor", can={orders: ALL}, fixed={orders: ["note"]}, lookups=[by_label]))
shop.add_role(Role("asker", tenant="user", can={Ticket: READ}, lookups=[by_label]))
shop.add_role(Role("plain", tenant="user", can={orders: READ}))

ADA = 'ids = {user = "ada"}'
KEYS = {
    **{name.upper(): f'role = "{name}"' for name in ("guest", "clerk", "auditor", "editor")},
    **{name.upper(): f'role = "{name}"\n{ADA}' for name in ("asker", "buyer", "vendor", "plain")},
    "BOTH": f'role = ["plain", "vendor", "buyer"]\n{ADA}',
}


def item(user: str, kind: str, number: str, **more: str) -> dict[str, Any]:
    key = {"pk": f"U#{user}#{kind}", "sk": f"{kind}#{number}"}
    return {name: {"S": value} for name, value in (key | more).items()}


def ask(**more: Any) -> dict[str, Any]:
    return {
        "TableName": "Shop",
        "IndexName": "ByLabel",
        "KeyConditionExpression": "label = :l",
        "ExpressionAttributeValues": {":l": {"S": "x"}},
        **more,
    }


class Shop:
    """A served shop with some items; every call is signed with a key."""

    def __init__(self, engine: Engine, wire: Wire) -> None:
        self.engine, self._wire = engine, wire

    def call(self, key: str, request: dict[str, Any], operation: str = "Query") -> Response:
        (response,) = self._wire.exchange(
            sign_by_botocore(operation, request, access_key=key).write()
        )
        return response

    def find(self, key: str, request: dict[str, Any]) -> list[str]:
        """Return the partitions of the items in the response."""
        response = self.call(key, request)
        assert response.status == 200, response.json
        return [each["pk"]["S"] for each in response.json["Items"]]


@contextmanager
def serve(folder: Path, items: list[dict[str, Any]]) -> Generator[Shop]:
    folder.mkdir(exist_ok=True)
    blocks = [block(name, more=more) for name, more in KEYS.items()]
    keys = write_keys(folder / "keys.toml", block("ADMIN"), *blocks)
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", shop.to_dynamodb())
        for each in items:
            engine.execute("PutItem", {"TableName": "Shop", "Item": each})
        gate = make_key_gate(keys, engine.find_key_names, tables=[shop], clock=lambda: NOW)
        wire = Wire(engine, gate=gate)
        try:
            yield Shop(engine, wire)
        finally:
            wire.close()


ITEMS = [
    item(user, kind, "1", label="x", rank=f"{rank}", state="new", note="hush")
    for rank, (user, kind) in enumerate(
        [("bob", "O"), ("ada", "O"), ("bob", "P"), ("ada", "P"), ("cid", "O")]
    )
]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Shop]:
    with serve(tmp_path, ITEMS) as shop:
        yield shop


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("BUYER", ["U#ada#O"]),
        ("VENDOR", ["U#ada#P"]),
        ("BOTH", ["U#ada#O", "U#ada#P"]),
        ("GUEST", ["U#bob#P", "U#ada#P"]),
        # It may query the orders, but not get them; or not see all of them.
        ("CLERK", []),
        ("AUDITOR", ["U#bob#P", "U#ada#P"]),
        # What it may not change, it may read.
        ("EDITOR", ["U#bob#O", "U#ada#O", "U#cid#O"]),
    ],
)
def test_a_lookup_shows_what_its_role_may_get(served: Shop, key: str, found: list[str]) -> None:
    assert served.find(key, ask()) == found
    assert served.find(key, ask(ScanIndexForward=False)) == found[::-1]
    exact = ask(KeyConditionExpression="label = :l AND begins_with(#r, :r)")
    exact["ExpressionAttributeNames"] = {"#r": "rank"}
    exact["ExpressionAttributeValues"] = {":l": {"S": "x"}, ":r": {"S": "3"}}
    assert served.find(key, exact) == [each for each in found if each == "U#ada#P"]


def test_a_lookup_tells_items_of_a_shared_partition_apart(served: Shop) -> None:
    for user in ("ada", "bob", "adaline"):
        texts = {"pk": "TICKETS", "sk": f"T#{user}#1", "label": "x", "rank": user}
        ticket = {name: {"S": text} for name, text in texts.items()}
        served.engine.execute("PutItem", {"TableName": "Shop", "Item": ticket})
    (found,) = served.call("ASKER", ask()).json["Items"]
    assert found["sk"] == {"S": "T#ada#1"}


def test_a_lookup_works_on_an_index_of_keys(served: Shop) -> None:
    request = {
        "TableName": "Shop",
        "IndexName": "ByState",
        "KeyConditionExpression": "#s = :s",
        "ExpressionAttributeNames": {"#s": "state"},
        "ExpressionAttributeValues": {":s": {"S": "new"}},
    }
    assert served.find("BUYER", request) == ["U#ada#O"]
    denied(served.call("VENDOR", request))


@pytest.mark.parametrize(
    "more",
    [
        {"Select": "COUNT"},
        {"Select": "ALL_PROJECTED_ATTRIBUTES"},
        {"ProjectionExpression": "pk"},
        {"AttributesToGet": ["pk"]},
        {"TableName": "Other"},
        {"IndexName": "ByState", "KeyConditionExpression": "pk = :l"},
        {"IndexName": "Absent"},
    ],
)
def test_only_a_plain_query_of_whole_items_is_a_lookup(served: Shop, more: dict[str, Any]) -> None:
    assert served.call("BUYER", ask(**more)).status == 400


@pytest.mark.parametrize("key", ["PLAIN", "BUYER"])
def test_everything_else_stays_denied(served: Shop, key: str) -> None:
    if key == "PLAIN":
        denied(served.call(key, ask()))
    denied(served.call(key, {"TableName": "Shop", "IndexName": "ByLabel"}, "Scan"))
    statement = 'SELECT * FROM "Shop"."ByLabel" WHERE label = \'x\''
    denied(served.call(key, {"Statement": statement}, "ExecuteStatement"))


@pytest.mark.parametrize("limit", [0, -1, "x", 1.5, True])
def test_an_invalid_limit_gets_the_engines_error(served: Shop, limit: Any) -> None:
    request = ask(Limit=limit)
    expected = served.call("ADMIN", request)
    assert (expected.status, served.call("BUYER", request).body) == (400, expected.body)


def test_an_invalid_query_gets_the_engines_error(served: Shop) -> None:
    for more in (
        {"KeyConditionExpression": "label = "},
        {"FilterExpression": "absent = :absent"},
        {"ExclusiveStartKey": {"pk": {"S": "U#ada#O"}}},
        {"ConsistentRead": True},
    ):
        expected = served.call("ADMIN", ask(**more))
        assert (expected.status, served.call("BUYER", ask(**more)).body) == (400, expected.body)


@pytest.mark.parametrize("capacity", ["NONE", "TOTAL", "INDEXES"])
@pytest.mark.parametrize("seed", range(6))
def test_a_response_is_the_same_whether_or_not_others_have_items(
    tmp_path: Path, capacity: str, seed: int
) -> None:
    """All pages, byte for byte."""
    rng = random.Random(seed)
    own, foreign = (
        [
            item(
                rng.choice(users), rng.choice("OP"), str(number), label="x", rank=str(rng.random())
            )
            for number in range(rng.randrange(8))
        ]
        for users in (["ada"], ["bob", "cid"])
    )
    limit = {} if seed % 3 == 0 else {"Limit": rng.randrange(1, 4)}
    with serve(tmp_path / "a", own) as alone, serve(tmp_path / "b", own + foreign) as shared:
        for key in ("BUYER", "VENDOR", "BOTH"):
            request = ask(ReturnConsumedCapacity=capacity, **limit)
            found = 0
            while True:
                first, second = (each.call(key, request) for each in (alone, shared))
                assert (first.status, first.body) == (200, second.body)
                found += first.json["Count"]
                if "LastEvaluatedKey" not in first.json:
                    break
                assert first.json["Items"], "a page that goes on shows something"
                request = {**request, "ExclusiveStartKey": first.json["LastEvaluatedKey"]}
            kinds = {"BUYER": "O", "VENDOR": "P", "BOTH": "OP"}[key]
            assert found == sum(each["pk"]["S"][-1] in kinds for each in own)


def test_a_page_of_a_lookup_is_no_larger_than_any_other(tmp_path: Path) -> None:
    large = "x" * 300_000
    items = [item("ada", "O", str(n), label="x", rank=str(n), note=large) for n in range(7)]
    with serve(tmp_path, items) as served:
        page = served.call("BUYER", ask()).json
        assert page["Count"] == 3
        following = served.call("BUYER", ask(ExclusiveStartKey=page["LastEvaluatedKey"])).json
        assert [each["rank"]["S"] for each in following["Items"]] == ["3", "4", "5"]


def test_lookups_are_validated_with_the_table() -> None:
    local = Index("Local", key=Key("pk", "note"), local=True)
    table = Table("Rooms", key=Key("pk", "sk"), indexes=[by_label, local])

    class Room(Entity, table=table, key=("R#{id}", "R")):
        id: str = part()
        label: str | None = None
        rank: str | None = None
        note: str = ""

    role = Role(
        "guest", can={Room: READ}, hidden={Room: ["rank"]}, lookups=["Absent", by_label, local]
    )
    absent, shown, in_table = find_role_problems(table.layout, role)
    assert absent == (
        "Rooms: role 'guest' looks up items in 'Absent', which is not an index; known are ByLabel, "
        "Local."
    )
    assert shown.endswith("in ByLabel, whose key would show 'rank', which the role hides.")
    assert in_table.endswith("which has the partitions of the table. Grant Right.QUERY instead.")


def test_an_exported_policy_leaves_lookups_out() -> None:
    gaps = export_policy(shop.layout, shop.roles["buyer"]).gaps
    left_out = [(gap.direction, gap.index_name) for gap in gaps if gap.kind == "lookups"]
    assert left_out == [("narrower", "ByLabel"), ("narrower", "ByState")]
