from __future__ import annotations

from typing import Any

import pytest

from keyfold import Entity, Key, Table, attr, part
from keyfold.export import export_aws_schema
from tests.exports.patterns import parcels
from tests.exports.tables import DESIGNS, counters, letsgo, market, pantry, shipments


def content_of(*tables: Table) -> Any:
    return export_aws_schema(*tables).content


def entities_of(*tables: Table) -> Any:
    return {
        name: each
        for made in content_of(*tables)["tables"]
        for name, each in made["entities"].items()
    }


def patterns_of(*tables: Table) -> Any:
    return {
        each["name"]: each
        for entity in entities_of(*tables).values()
        for each in entity["access_patterns"]
    }


def gaps_of(*tables: Table) -> list[str]:
    return [str(gap) for gap in export_aws_schema(*tables).gaps]


def test_a_table_has_its_keys_and_indexes() -> None:
    [made] = content_of(parcels)["tables"]
    assert made["table_config"] == {
        "table_name": "Parcels",
        "partition_key": "pk",
        "sort_key": "sk",
    }
    assert made["gsi_list"] == [
        {
            "name": "ByState",
            "partition_key": "state",
            "sort_key": ["day", "weight"],
            "projection": "INCLUDE",
            # Not weight, which is projected as part of the key.
            "included_attributes": ["note"],
        },
        {
            "name": "ByLabel",
            "partition_key": "gsi1pk",
            "sort_key": "gsi1sk",
            "projection": "ALL",
        },
    ]


def test_an_entity_has_templates_with_the_names_of_attributes() -> None:
    [made] = content_of(DESIGNS[0])["tables"]
    rate = made["entities"]["Rate"]
    assert rate["pk_template"] == "RATE#{Base}#{Target}"
    assert "sk_template" not in rate
    assert rate["gsi_mappings"] == [{"name": "BaseCurrencyIndex", "pk_template": "{Base}"}]
    assert [field["name"] for field in rate["fields"]] == [
        "Base",
        "Target",
        "Rate",
        "Timestamp",
        "Stale",
        "ttl",
    ]


def test_fields_have_the_types_of_the_format() -> None:
    fields = {each["name"]: each for each in entities_of(parcels)["Parcel"]["fields"]}
    assert {name: each["type"] for name, each in fields.items()} == {
        "sender": "uuid",
        "number": "integer",
        "state": "string",
        "day": "string",
        "weight": "integer",
        "price": "decimal",
        "label": "string",
        "note": "string",
        "tags": "array",
        "stops": "array",
        "image": "string",
        "extra": "object",
        "ttl": "integer",
    }
    assert fields["stops"] == {
        "name": "stops",
        "type": "array",
        "required": False,
        "item_type": "string",
    }
    assert fields["sender"]["required"]
    assert not fields["price"]["required"]


def test_what_the_format_has_no_place_for_is_under_keyfold() -> None:
    [made] = content_of(shipments)["tables"]
    assert made["keyfold"] == {
        "ttl": "expires",
        "stream": "keys",
        "billing": {
            "ReadCapacityUnits": 10,
            "WriteCapacityUnits": 5,
            "indexes": {"ByDay": {"ReadCapacityUnits": 20, "WriteCapacityUnits": 5}},
        },
        "deletion_protection": True,
        "tags": {"team": "logistics", "cost center": "12/a = é"},
        "local_indexes": [
            {
                "name": "ByWeight",
                "partition_key": "pk",
                "sort_key": "weight",
                "projection": "INCLUDE",
                "included_attributes": ["note"],
            },
            {"name": "ByNote", "partition_key": "pk", "sort_key": "note", "projection": "ALL"},
        ],
    }
    parcel = entities_of(parcels)["Parcel"]
    assert parcel["sk_template"] == "PARCEL#{number}"
    assert parcel["keyfold"] == {
        "key": ["SENDER#{sender}", "PARCEL#{number:06}"],
        "indexes": {
            "ByLabel": [["LABEL#{label}", "{number:06}"], ["NOTE#{note}", "{number:06}"]],
            "ByWeight": [["SENDER#{sender}", "{weight}"]],
        },
        "parts": ["sender", "number"],
        "formats": {"tags": "set", "image": "bytes", "extra": "any", "ttl": "unix time"},
    }
    assert entities_of(parcels)["Sender"]["keyfold"] == {
        "unique": ["EmailAddress"],
        "parts": ["sender"],
    }
    order = entities_of(market)["Order"]["keyfold"]
    assert order["formats"] == {"ttl": "unix time", "order": "ulid O#"}
    free = entities_of(letsgo)["AnyItem"]["keyfold"]
    assert (free["fallback"], free["extra"]) == (True, True)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("get_parcel", {"operation": "GetItem", "consistent_read": True}),
        ("sent", {"operation": "Query", "return_type": "mixed_data"}),
        ("parcels_since", {"range_condition": ">=", "return_type": "entity_list"}),
        ("parcels_between", {"range_condition": "between", "index_name": "ByState"}),
        ("parcels_of_month", {"range_condition": "begins_with", "index_name": "ByState"}),
        ("find_by_label", {"index_name": "ByLabel", "return_type": "single_entity"}),
        ("all_parcels", {"operation": "Scan", "return_type": "entity_list"}),
        ("register", {"operation": "PutItem", "return_type": "single_entity"}),
        ("save_parcels", {"operation": "BatchWriteItem", "return_type": "success_flag"}),
        ("change_state", {"operation": "UpdateItem", "return_type": "single_entity"}),
        ("drop_parcel", {"operation": "DeleteItem", "return_type": "success_flag"}),
    ],
)
def test_a_pattern_of_one_request_is_an_access_pattern(name: str, wanted: dict[str, Any]) -> None:
    made = patterns_of(parcels)[name]
    assert {key: made[key] for key in wanted} == wanted


def test_parameters_have_types() -> None:
    made = patterns_of(parcels)
    assert [each["type"] for each in made["change_state"]["parameters"]] == [
        "uuid",
        "integer",
        "string",
        "decimal",
        "boolean",
    ]
    assert made["register"]["parameters"] == [
        {"name": "sender", "type": "entity", "entity_type": "Sender"}
    ]
    assert made["save_parcels"]["parameters"] == [{"name": "parcels", "type": "array"}]
    assert made["drop_parcel"]["parameters"][-1] == {"name": "at", "type": "string"}


def test_a_transaction_is_a_pattern_across_tables() -> None:
    [made] = content_of(parcels)["cross_table_access_patterns"]
    assert made["operation"] == "TransactWrite"
    assert made["entities_involved"] == [
        {"table": "Parcels", "entity": "Sender", "action": "ConditionCheck"},
        {
            "table": "Parcels",
            "entity": "Parcel",
            "action": "Put",
            "condition": "attribute_not_exists(pk)",
        },
    ]
    assert made["return_type"] == "boolean"


def test_patterns_are_numbered_across_tables() -> None:
    document = content_of(*DESIGNS)
    numbers = [each["pattern_id"] for each in document["cross_table_access_patterns"]]
    for made in document["tables"]:
        for entity in made["entities"].values():
            numbers += [each["pattern_id"] for each in entity["access_patterns"]]
    assert sorted(numbers) == [*range(1, len(numbers) + 1)]
    assert len(numbers) > 40


def test_entities_of_the_same_name_are_told_apart() -> None:
    names = entities_of(market, pantry).keys()
    assert {"MarketUser", "PantryUser", "Order"} <= names
    assert "User" not in names


def test_a_key_part_does_not_take_the_name_of_an_attribute() -> None:
    table = Table("Rooms", key=Key("pk", "sk"))

    class Room(Entity, table=table, key=("H#{hotel}", "R#{room}")):
        hotel: str = part()
        room: str = part()

    class Stay(Entity, table=table, key=("S#{hotel}", "S#{name}")):
        hotel: str = part()
        name: str = part()
        guest: str = attr("name")

    assert Room.__name__ in table.entities
    stay = entities_of(table)[Stay.__name__]
    assert stay["sk_template"] == "S#{name_}"
    assert [each["name"] for each in stay["fields"]] == ["hotel", "name_", "name"]


def test_what_is_left_out_is_said() -> None:
    gaps = gaps_of(parcels)
    for gap in (
        "Parcels: ttl, which is 'ttl', is only under 'keyfold'.",
        "Sender: the format cannot say that email is unique.",
        "Parcel: the width in PARCEL#{number:06}, {number:06} is only under 'keyfold'.",
        "Parcel.is_heavy: it is computed, which the format cannot say.",
        "Parcel.tags: it is stored as SS, and the format has no such type; it is 'array'.",
        (
            "Parcels: pattern 'Parcels up to a number, paged': its range (<=) is left out: it has 3 "
            "parameters, and the format takes 2."
        ),
        "Parcels: pattern 'Heavy parcels': its filter is left out.",
        "Parcels: pattern 'Parcels by weight': it is left out: it reads ByWeight, a local index.",
        (
            "Parcels: pattern 'Count parcels': it is left out: it counts items, which the format has "
            "no operation for."
        ),
        (
            "Parcels: pattern 'Whatever has a key': it is left out: it reads items of any entity, and "
            "a pattern belongs to one."
        ),
        (
            "Parcels: pattern 'Latest parcel, again': it is left out: it makes 2 requests, and the "
            "format has one for a pattern."
        ),
    ):
        assert gap in gaps
    assert gaps_of(counters) == [
        "counters: billing, which is 'on demand', is only under 'keyfold'.",
        "counters: deletion_protection, which is False, is only under 'keyfold'.",
    ]


def test_every_pattern_is_exported_or_said_to_be_left_out() -> None:
    for table in (*DESIGNS, parcels):
        document = content_of(table)
        exported = {*patterns_of(table)}
        exported |= {each["name"] for each in document.get("cross_table_access_patterns", ())}
        gaps = gaps_of(table)
        for pattern in table.patterns.values():
            is_left_out = any(f"pattern {pattern.name!r}: it is left out" in gap for gap in gaps)
            assert is_left_out is (pattern.__name__ not in exported)
