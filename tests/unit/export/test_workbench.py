from __future__ import annotations

from typing import Any

import pytest

from keyfold import Table
from keyfold.engine import Engine
from keyfold.export import export_workbench
from tests.exports.patterns import parcels
from tests.exports.tables import DESIGNS, TABLES, counters, shipments

SAMPLED = (*DESIGNS, parcels)


def content_of(*tables: Table) -> Any:
    return export_workbench(*tables).content


def test_a_model_has_the_names_of_the_format() -> None:
    document = content_of(*TABLES)
    assert document.keys() == {"ModelName", "ModelMetadata", "DataModel"}
    assert document["ModelMetadata"]["Version"] == "3.0"
    assert document["ModelMetadata"]["AWSService"] == "Amazon DynamoDB"
    assert [each["TableName"] for each in document["DataModel"]] == [each.name for each in TABLES]


def test_a_facet_has_the_templates_of_its_entity() -> None:
    [made] = content_of(parcels)["DataModel"]
    facets = {each["FacetName"]: each for each in made["TableFacets"]}
    assert facets["Parcel"]["KeyAttributeAlias"] == {
        "PartitionKeyAlias": "SENDER#{sender}",
        "SortKeyAlias": "PARCEL#{number:06}",
    }
    [rate] = content_of(DESIGNS[0])["DataModel"][0]["TableFacets"]
    assert rate["KeyAttributeAlias"] == {"PartitionKeyAlias": "RATE#{Base}#{Target}"}


def test_keys_indexes_and_types_are_declared() -> None:
    [made] = content_of(parcels)["DataModel"]
    assert made["KeyAttributes"] == {
        "PartitionKey": {"AttributeName": "pk", "AttributeType": "S"},
        "SortKey": {"AttributeName": "sk", "AttributeType": "S"},
    }
    types = {each["AttributeName"]: each["AttributeType"] for each in made["NonKeyAttributes"]}
    assert types["weight"] == "N"
    assert types["tags"] == "SS"
    assert types["is_heavy"] == "BOOL"
    assert made["GlobalSecondaryIndexes"] == [
        {
            "IndexName": "ByLabel",
            "KeyAttributes": {
                "PartitionKey": {"AttributeName": "gsi1pk", "AttributeType": "S"},
                "SortKey": {"AttributeName": "gsi1sk", "AttributeType": "S"},
            },
            "Projection": {"ProjectionType": "ALL"},
        }
    ]


def test_capacity_is_declared() -> None:
    [provisioned, on_demand] = content_of(shipments, counters)["DataModel"]
    assert provisioned["BillingMode"] == "PROVISIONED"
    assert provisioned["ProvisionedCapacitySettings"] == {
        "ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 5}
    }
    assert on_demand["BillingMode"] == "PAY_PER_REQUEST"
    assert on_demand["KeyAttributes"]["PartitionKey"]["AttributeType"] == "N"


@pytest.mark.parametrize("table", SAMPLED, ids=lambda table: table.name)
def test_sample_data_is_what_a_store_reads_as_the_examples(table: Table) -> None:
    [made] = content_of(table)["DataModel"]
    declared = {each["AttributeName"] for each in made["NonKeyAttributes"]} | {*table.key.names}
    found: list[Any] = []
    with Engine.open(":memory:") as engine:
        engine.execute("CreateTable", table.to_dynamodb())
        for facet in made["TableFacets"]:
            schema = table.entities[facet["FacetName"]]
            for item in facet["TableData"]:
                known = {*facet["NonKeyAttributes"], *table.key.names}
                assert item.keys() <= known or schema.codec.has_extra
                assert item.keys() <= declared or schema.codec.has_extra
                engine.execute("PutItem", {"TableName": table.name, "Item": item})
                key = {name: item[name] for name in table.key.names}
                request = {"TableName": table.name, "Key": key}
                stored = engine.execute("GetItem", request)["Item"]
                found.append(schema.decode(stored))
    examples = table.example_entities()
    assert [each for each in examples if each not in found] == []
    assert len(found) == len(examples) > 0


def test_the_description_lists_the_patterns() -> None:
    described = content_of(parcels)["ModelMetadata"]["Description"]
    assert described.startswith("Access patterns of Parcels:\n- Get a parcel: GetItem pk=")
    assert "- Find by label: Query of ByLabel gsi1pk = 'LABEL#{label}'" in described


def test_the_same_declaration_gives_the_same_file() -> None:
    assert export_workbench(*SAMPLED).to_text() == export_workbench(*SAMPLED).to_text()


def test_what_a_model_cannot_have_is_said() -> None:
    assert [str(gap) for gap in export_workbench(shipments).gaps] == [
        (
            "my-shop.Shipments.by-state: an index of a data model has one partition and one sort key, "
            "not carrier, state, day, weight."
        ),
        "my-shop.Shipments.ByDay: its provisioned capacity is not that of the table.",
        "my-shop.Shipments.ByWeight: a data model has no local indexes.",
        "my-shop.Shipments.ByNote: a data model has no local indexes.",
        "my-shop.Shipments: a data model has no ttl, which is 'expires'.",
        "my-shop.Shipments: a data model has no stream, which is 'keys'.",
        "my-shop.Shipments: a data model has no deletion_protection, which is True.",
        (
            "my-shop.Shipments: a data model has no tags, which is {'team': 'logistics', 'cost "
            "center': '12/a = é'}."
        ),
    ]
    gaps = [str(gap) for gap in export_workbench(parcels).gaps]
    assert "Sender: a data model does not say that email is unique." in gaps
    assert (
        "Parcel: a facet has no template of 'gsi1pk', which is made by one. Sample data shows its "
        "values." in gaps
    )
