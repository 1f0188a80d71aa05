"""The room of items: which partitions it shows, for which filter, to whom, and how much it reads."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.errors import AccessDenied
from keyfold.studio._problems import StudioProblem
from tests.unit.studio.conftest import NOW, Desk

CUSTOMER: dict[str, Any] = {"roles": ["customer"], "ids": {"user": "rabinovich"}}
SUPPORT: dict[str, Any] = {"roles": ["support"], "ids": {}}
ORDERS = {"pk": {"S": "U#rabinovich#O"}}
ORDER = {"pk": {"S": "U#rabinovich#O"}, "sk": {"S": "O#01JZ10H7X367VB2NF4YQ973DHW"}}


def titles(page: dict[str, Any]) -> list[str]:
    return [each["title"] for each in page["bands"]]


def texts(page: dict[str, Any]) -> list[str]:
    return [each["keys"][0]["text"] for each in page["bands"]]


def fill(desk: Desk, partition: str, count: int, width: int = 20) -> None:
    """Write order lines of one order, and the order."""
    for number in range(count):
        sort = f"O#01JZ10H7X367VB2NF4YQ973DHW#{number:03}"
        item = {"pk": {"S": partition}, "sk": {"S": sort}, "name": {"S": "x" * width}}
        desk.put(item)


# Pages.


def test_a_page_has_partitions_with_their_items_in_order(desk: Desk) -> None:
    page = desk.act("items/page")
    orders = next(each for each in page["bands"] if each["key"] == ORDERS)
    assert orders["title"] == "orders"
    assert [piece.get("part") for piece in orders["keys"][0]["pieces"]] == [None, "user", None]
    assert [each["entity"] for each in orders["cards"]] == ["Order", *["OrderLine"] * 3] * 2
    assert orders["count"] == 8
    assert orders["complete"]
    assert len(orders["ticks"]) == 8
    assert page["cursor"] is None


def test_keyfolds_own_items_are_counted_not_shown(desk: Desk) -> None:
    page = desk.act("items/page")
    assert page["own"] > 0
    assert not any(each.startswith("keyfold#") for each in texts(page))


def test_the_partition_of_an_item_comes_first_if_it_is_named(desk: Desk) -> None:
    page = desk.act("items/page", near=ORDER)
    assert page["bands"][0]["key"] == ORDERS
    assert texts(page).count("U#rabinovich#O") == 1


def test_a_large_partition_shows_its_first_items_and_hides_no_other(desk: Desk) -> None:
    fill(desk, "U#huge#O", 900, width=400)
    seen: dict[str, dict[str, Any]] = {}
    cursor = None
    for _ in range(20):
        page = desk.act("items/page", cursor=cursor)
        assert desk.units <= 15
        assert len(page["bands"]) <= 60
        for band in page["bands"]:
            assert len(band["cards"]) <= 30
            assert band["keys"][0]["text"] not in seen
            seen[band["keys"][0]["text"]] = band
        cursor = page["cursor"]
        if cursor is None:
            break
    assert cursor is None
    assert {"U#huge#O", "U#rabinovich#O", "U#rabinovich", "U#eve#P", "U#kim"} <= seen.keys()
    assert not seen["U#huge#O"]["complete"]
    assert seen["U#huge#O"]["cursor"] is not None


def test_a_page_reads_about_ten_units(desk: Desk) -> None:
    for number in range(300):
        desk.put({"pk": {"S": f"U#{number}"}, "sk": {"S": f"U#{number}"}, "x": {"S": "x" * 2_000}})
    page = desk.act("items/page")
    assert page["cursor"] is not None
    assert desk.units <= 12


# Filters by keys.


def test_a_part_of_the_key_finds_every_shard_by_queries(desk: Desk) -> None:
    page = desk.act("items/page", where="user = rabinovich")
    assert titles(page) == ["profile", "orders", "rewards", "billing"]
    assert page["how"] == "keys"
    assert {each.operation for each in desk.calls[-1].recorder.calls} == {"Query"}
    # It has the field, but not in its partition key.
    assert page["missed"] == ("AccountMember",)
    assert page["empty"] == [{"texts": ["U#rabinovich#P"]}]


@pytest.mark.parametrize("text", ["user:rabinovich", "rabinovich", "user = rabinovich"])
def test_a_part_can_be_written_in_several_ways(desk: Desk, text: str) -> None:
    assert "U#rabinovich#O" in texts(desk.act("items/page", where=text))


def test_more_parts_narrow_the_query(desk: Desk) -> None:
    page = desk.act("items/page", where="user = rabinovich and order = 01JZ10H7X367VB2NF4YQ973DHW")
    [orders] = [each for each in page["bands"] if each["title"] == "orders"]
    assert orders["sort"] == ("begins_with", "O#01JZ10H7X367VB2NF4YQ973DHW")
    assert orders["count"] == 4


def test_fields_are_tested_after_the_query(desk: Desk) -> None:
    page = desk.act("items/page", where="user = rabinovich and total > 0.5")
    [orders] = page["bands"]
    assert [each["entity"] for each in orders["cards"]] == ["Order", "Order"]
    assert orders["matching"]
    none = desk.act("items/page", where="user = rabinovich and total > 1000")
    assert none["bands"] == []


def test_an_index_finds_items_in_their_partitions(desk: Desk) -> None:
    page = desk.act("items/page", where="id = 2025-0001")
    assert texts(page) == ["U#rabinovich#O"]
    assert [each["entity"] for each in page["bands"][0]["cards"]] == ["Order"]
    assert desk.units < 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("U#rabinovich#O", "U#rabinovich#O"),
        ("2025-0001", "U#rabinovich#O"),
        ("I#01JZ10H7X367VB2NF4YQ973DHY", "U#eve#P"),
        ("U#rabinovich#O · O#01JZ10H7X367VB2NF4YQ973DHW", "U#rabinovich#O"),
        ("A#01JZ10H7X367VB2NF4YQ973DHW", "A#01JZ10H7X367VB2NF4YQ973DHW"),
    ],
)
def test_keys_and_ids_are_found_as_they_are(desk: Desk, text: str, found: str) -> None:
    page = desk.act("items/page", where=text)
    assert page["how"] == "keys"
    assert found in texts(page)


def test_other_texts_are_searched_in_all_items(desk: Desk) -> None:
    page = desk.act("items/page", where="Deribasivska")
    assert page["how"] == "scan"
    assert [each["entity"] for band in page["bands"] for each in band["cards"]] == ["Address"]
    assert page["read"] > 20


def test_every_item_is_searched_if_asked(desk: Desk) -> None:
    page = desk.act("items/page", where="user = rabinovich", everywhere=True)
    entities = {each["entity"] for band in page["bands"] for each in band["cards"]}
    assert "AccountMember" in entities
    assert "Order" in entities


def test_entities_are_chosen(desk: Desk) -> None:
    page = desk.act("items/page", only=["Order"])
    entities = {each["entity"] for band in page["bands"] for each in band["cards"]}
    assert entities == {"Order"}
    by_key = desk.act("items/page", only=["Order"], where="user = rabinovich")
    assert titles(by_key) == ["orders"]


def test_a_constant_partition_is_queried_for_its_entity(desk: Desk) -> None:
    page = desk.act("items/page", "letsgo", only=["Tenant"])
    assert page["how"] == "keys"
    assert {each["entity"] for band in page["bands"] for each in band["cards"]} == {"Tenant"}


@pytest.mark.parametrize(
    ("where", "entities"),
    [
        ("id is set and tp = order", {"Order"}),
        ("street contains derib", {"Address"}),
        ("name begins with Rab", {"User"}),
        ("status != placed and order is set", {"Bill"}),
        ('"Odesa Trading"', {"Account"}),
        ("users >= 1", {"Account"}),
    ],
)
def test_tests_of_fields(desk: Desk, where: str, entities: set[str]) -> None:
    page = desk.act("items/page", where=where, everywhere=True)
    found = {each["entity"] for band in page["bands"] for each in band["cards"]}
    assert entities <= found
    assert "OrderLine" not in found


def test_a_filter_has_a_length(desk: Desk) -> None:
    with pytest.raises(StudioProblem, match=r"at most 2,000 characters"):
        desk.act("items/page", where="x" * 2_001)


# Through an index.


def test_an_index_shows_its_partitions(desk: Desk) -> None:
    page = desk.act("items/page", through="IdLookupIndex")
    found = {each["keys"][0]["text"] for each in page["bands"]}
    assert {"2025-0001", "1001", "odesa", "apple"} <= found
    card = page["bands"][0]["cards"][0]
    assert card["place"].keys() == {"id", "tp"}


def test_an_index_with_keys_only_has_no_problems(desk: Desk) -> None:
    page = desk.act("items/page", through="ReverseIndex")
    cards = [each for band in page["bands"] for each in band["cards"]]
    assert all(each["partial"] and each["problem"] is None for each in cards)


def test_an_index_is_queried_by_its_key(desk: Desk) -> None:
    page = desk.act("items/page", through="IdLookupIndex", where="id = 2025-0001")
    assert texts(page) == ["2025-0001"]
    assert desk.calls[-1].recorder.calls[0].operation == "Query"


def test_an_unknown_index_is_refused(desk: Desk) -> None:
    with pytest.raises(StudioProblem, match="no index 'Nope'"):
        desk.act("items/page", through="Nope")


# As a principal.


def test_a_customer_sees_its_own_partitions_and_locks(desk: Desk) -> None:
    page = desk.act("items/page", principal=CUSTOMER)
    denied = {each["title"]: each["denied"] for each in page["bands"]}
    assert denied["orders"] is None
    assert "billing: customer lacks query" in denied["billing"]["message"]
    assert all(not each["cards"] for each in page["bands"] if each["denied"])
    assert set(texts(page)) <= {f"U#rabinovich{end}" for end in ("", "#O", "#P", "#R", "#B")}


@pytest.mark.parametrize("where", ["user = eve", "eve", "U#eve", "2025-0001", "everything eve"])
def test_no_filter_leads_a_customer_to_others(desk: Desk, where: str) -> None:
    page = desk.act("items/page", where=where, principal=CUSTOMER)
    for band in page["bands"]:
        if "rabinovich" not in band["keys"][0]["text"]:
            assert band["denied"] is not None
            assert band["cards"] == []


def test_a_role_without_partitions_of_its_own_is_told_what_to_filter_by(desk: Desk) -> None:
    visitor: dict[str, Any] = {"roles": ["visitor"], "ids": {}}
    page = desk.act("items/page", principal=visitor)
    assert page["bands"] == []
    assert page["notes"] == (
        "visitor may read products, U#{user}#P, but not list its partitions: filter by user.",
    )
    eve = desk.act("items/page", where="user = eve", principal=visitor)
    assert {each["title"] for each in eve["bands"] if not each["denied"]} == {"products"}


def test_hidden_attributes_stay_hidden(desk: Desk) -> None:
    page = desk.act("items/page", principal=SUPPORT, raw=True)
    payments = [
        each for band in page["bands"] for each in band["cards"] if each["entity"] == "Payment"
    ]
    assert payments
    assert all("card" not in each["raw"] for each in payments)
    one = desk.act("items/one", key=payments[0]["key"], principal=SUPPORT)
    hidden = {each["name"] for each in one["item"]["fields"] if each.get("hidden")}
    assert hidden == {"card", "holder"}
    assert "card" not in one["raw"]
    with pytest.raises(StudioProblem, match="or it is hidden from this role"):
        desk.act("items/value", key=payments[0]["key"], attribute="card", principal=SUPPORT)


def test_tenants_that_share_a_partition_see_their_own_items(desk: Desk) -> None:
    page = desk.act("items/page", "letsgo")
    tenants = next(each for each in page["bands"] if each["title"] == "letsgo-tenant")
    name = tenants["cards"][0]["keys"][1]["text"]
    member = {"roles": ["tenant-member"], "ids": {"tenant_id": name}}
    own = desk.act("items/page", "letsgo", principal=member)
    shown = [each for band in own["bands"] for each in band["cards"]]
    assert shown
    assert all(name in each["keys"][1]["text"] for each in shown)


def test_a_denied_item_is_an_error(desk: Desk) -> None:
    key = {"pk": {"S": "U#eve"}, "sk": {"S": "U#eve"}}
    with pytest.raises(AccessDenied):
        desk.act("items/one", key=key, principal=CUSTOMER)


# Partitions.


def test_a_partition_is_read_on_forwards_and_backwards(desk: Desk) -> None:
    fill(desk, "U#huge#O", 250)
    partition = {"pk": {"S": "U#huge#O"}}
    first = desk.act("items/partition", partition=partition, limit=100)
    second = desk.act("items/partition", partition=partition, limit=100, start=first["cursor"])
    assert second["cards"][0]["keys"][1]["text"].endswith("#100")
    last = desk.act("items/partition", partition=partition, limit=10, backwards=True)
    assert [each["keys"][1]["text"][-3:] for each in last["cards"]] == [
        f"{number:03}" for number in range(240, 250)
    ]


def test_an_item_is_shown_with_its_neighbours(desk: Desk) -> None:
    fill(desk, "U#huge#O", 250)
    start = {"pk": {"S": "U#huge#O"}, "sk": {"S": "O#01JZ10H7X367VB2NF4YQ973DHW#120"}}
    found = desk.act("items/partition", partition={"pk": start["pk"]}, start=start, around=True)
    ends = [each["keys"][1]["text"][-3:] for each in found["cards"]]
    assert ends[:8] == ["114", "115", "116", "117", "118", "119", "120", "121"]
    assert found["before"] is not None
    assert found["cursor"] is not None


def test_bars_are_ranges_of_a_long_partition(desk: Desk) -> None:
    fill(desk, "U#huge#O", 450)
    bars = desk.act("items/partition", partition={"pk": {"S": "U#huge#O"}}, bars=True)
    assert bars["count"] == 450
    assert bars["complete"]
    assert bars["each"] == 3
    assert len(bars["ticks"]) == len(bars["starts"]) == 150
    start = bars["starts"][10]
    found = desk.act("items/partition", partition={"pk": {"S": "U#huge#O"}}, start=start)
    assert found["cards"][0]["keys"][1]["text"].endswith("#030")


@pytest.mark.parametrize(
    "partition", [{}, {"pk": "x"}, {"pk": {"S": "x"}, "more": {"S": "x"}}, {"pk": {"S": 1}}]
)
def test_a_malformed_partition_is_refused(desk: Desk, partition: Any) -> None:
    with pytest.raises(StudioProblem, match="partition has to be an object with pk"):
        desk.act("items/partition", partition=partition)


# One item.


def test_where_an_item_lies(desk: Desk) -> None:
    one = desk.act("items/one", key=ORDER)
    table, reverse, by_id = one["places"]
    assert table["sentence"] == "orders of rabinovich"
    assert reverse["sentence"] == "Every item is here, with its keys only."
    assert by_id["state"] == "in"
    assert [(each["attribute"], each["set"]) for each in by_id["conditions"]] == [
        ("id", True),
        ("tp", True),
    ]


def test_why_an_item_is_not_in_an_index(desk: Desk) -> None:
    key = {"pk": {"S": "U#kim#O"}, "sk": {"S": "O#01JZ10H7X367VB2NF4YQ973E0A"}}
    place = desk.act("items/one", key=key)["places"][2]
    assert place["state"] == "out"
    assert place["sentence"] == "Not here: an Order is in it when both are set."
    assert [(each["attribute"], each["set"]) for each in place["conditions"]] == [
        ("id", False),
        ("tp", True),
    ]
    line = {"pk": ORDER["pk"], "sk": {"S": "O#01JZ10H7X367VB2NF4YQ973DHW#001"}}
    never = desk.act("items/one", key=line)["places"][2]
    assert never["state"] == "never"
    assert "it has no `id` and no `tp`" in never["sentence"]


def test_references_lead_to_parents_children_and_others(desk: Desk) -> None:
    one = desk.act("items/one", key=ORDER)
    found = {(each["kind"], each["entity"]): each for each in one["references"]}
    assert found["child", "OrderLine"]["count"] == 3
    assert found["item", "User"]["at"]["pk"] == {"S": "U#rabinovich"}
    bills = found["search", "Bill"]
    page = desk.act("items/page", where=bills["where"], only=[bills["only"]])
    assert [each["entity"] for band in page["bands"] for each in band["cards"]] == ["Bill"]
    line = {"pk": ORDER["pk"], "sk": {"S": "O#01JZ10H7X367VB2NF4YQ973DHW#001"}}
    parts = {
        (each["kind"], each["entity"]) for each in desk.act("items/one", key=line)["references"]
    }
    assert ("parent", "Order") in parts
    # Its seller is another user, so only an index leads to it.
    assert ("search", "Product") in parts


def test_a_missing_item_is_named(desk: Desk) -> None:
    key = {"pk": {"S": "U#nobody"}, "sk": {"S": "U#nobody"}}
    with pytest.raises(StudioProblem, match="Market has no item with pk U#nobody, sk U#nobody"):
        desk.act("items/one", key=key)


def test_an_expired_item_is_shown_as_such(desk: Desk) -> None:
    key = {"pk": {"S": "U#kim"}, "sk": {"S": "C#01JZ10H7X367VB2NF4YQ973DHV"}}
    desk.put({**key, "tp": {"S": "cart"}, "ttl": {"N": str(int(NOW) - 5)}, "lines": {"M": {}}})
    assert desk.act("items/one", key=key)["item"]["expired"]
    page = desk.act("items/page", where="user = kim")
    assert page["bands"][0]["expired"] == 1


def test_hostile_items_are_data(desk: Desk) -> None:
    text = "</script><script>alert(1)</script>\u202e\x00{{constructor}}"
    key = {"pk": {"S": text}, "sk": {"S": text}}
    deep: dict[str, Any] = {"S": "end"}
    for _ in range(30):
        deep = {"L": [deep]}
    desk.put(
        {**key, text: {"S": text}, "deep": deep, "set": {"SS": ["b", "a"]}, "n": {"N": "1.10"}}
    )
    one = desk.act("items/one", key=key)
    assert one["item"]["entity"] is None
    values = {each["name"]: each["value"] for each in one["item"]["others"]}
    assert values[text] == {"S": text}
    assert values["n"] == {"N": "1.1"}
    assert desk.act("items/page", where=text)["bands"][0]["count"] == 1


# Huge values.


def test_huge_values_come_in_pieces(desk: Desk) -> None:
    key = {"pk": {"S": "U#kim"}, "sk": {"S": "U#kim"}}
    desk.put({**key, "note": {"S": "0123456789" * 20_000}, "list": {"L": [{"N": "1"}] * 9_000}})
    one = desk.act("items/one", key=key)
    cut = next(each for each in one["item"]["others"] if each["name"] == "note")
    assert cut["value"]["cut"]["bytes"] == 200_000
    piece = desk.act("items/value", key=key, attribute="note")
    whole = piece["text"]
    assert piece["characters"] == 200_000
    while piece["next"] is not None:
        piece = desk.act("items/value", key=key, attribute="note", **{"from": piece["next"]})
        # The item is read once.
        assert desk.units == 0
        whole += piece["text"]
    assert whole == "0123456789" * 20_000
    assert desk.act("items/value", key=key, attribute="list")["kind"] == "L"
    with pytest.raises(StudioProblem, match="no attribute 'nope'"):
        desk.act("items/value", key=key, attribute="nope")


# Counts.


def test_counts_cost_nothing_and_are_kept_for_seconds(desk: Desk) -> None:
    counts = desk.act("items/counts")
    assert desk.units == 0
    assert counts["entities"]["Order"] == 4
    assert counts["indexes"]["IdLookupIndex"]["entities"]["Order"] == 2
    assert counts["indexes"]["IdLookupIndex"]["lacking"]["Order"] == {"id": 2}
    assert counts["own"] > 0
    sort = "O#01JZ10H7X367VB2NF4YQ973E00"
    desk.put({"pk": {"S": "U#kim#O"}, "sk": {"S": sort}, "tp": {"S": "order"}})
    assert desk.act("items/counts")["entities"]["Order"] == 4
    desk.now[0] += 6
    assert desk.act("items/counts")["entities"]["Order"] == 5


def test_a_principal_counts_what_it_can_read(desk: Desk) -> None:
    counts = desk.act("items/counts", principal=CUSTOMER)
    assert counts["entities"]["Order"] == 2
    assert counts["entities"]["Bill"] == 0
    assert counts["entities"]["User"] == 1
    assert desk.units == 0


def test_what_a_role_cannot_list_is_not_counted_as_none(desk: Desk) -> None:
    counts = desk.act("items/counts", principal={"roles": ["visitor"], "ids": {}})
    assert "Product" not in counts["entities"]
    assert counts["entities"]["Order"] == 0
    assert not counts["complete"]


def test_large_tables_are_counted_if_asked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keyfold.studio.rooms._item_counts.COUNTED_UNASKED", 10)
    monkeypatch.setattr("keyfold.studio.rooms._item_counts._STEP", 12)
    about = desk.act("items/counts")
    assert about["about"] > 10
    assert "entities" not in about
    total, own, cursor = 0, 0, None
    for _ in range(20):
        step = desk.act("items/counts", count=True, cursor=cursor)
        assert desk.units > 0
        total, own, cursor = total + step["total"], own + step["own"], step["cursor"]
        if cursor is None:
            break
    assert total + own == about["about"]


def test_other_keys_than_text(desk: Desk) -> None:
    request = {
        "TableName": "Bytes",
        "KeySchema": [
            {"AttributeName": "n", "KeyType": "HASH"},
            {"AttributeName": "b", "KeyType": "RANGE"},
        ],
        "AttributeDefinitions": [
            {"AttributeName": "n", "AttributeType": "N"},
            {"AttributeName": "b", "AttributeType": "B"},
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }
    desk.engine.execute("CreateTable", request)
    for number in range(3):
        desk.put({"n": {"N": str(number)}, "b": {"B": bytes([number, 255])}}, "Bytes")
    from keyfold.studio._opening import make_workspace

    desk.workspace = make_workspace(desk.engine)
    page = desk.act("items/page", "Bytes")
    keys = [card["key"] for band in page["bands"] for card in band["cards"]]
    assert {"n": {"N": "1"}, "b": {"B": "Af8="}} in keys
    one = desk.act("items/one", "Bytes", key=keys[0])
    assert one["item"]["key"] == keys[0]
    assert len(desk.act("items/page", "Bytes", where="1")["bands"]) == 1
