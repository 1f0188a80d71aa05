from __future__ import annotations

from typing import Any

from pydantic import Field

from keyfold import Entity, Key, Table, part
from keyfold.export import export_jsonschema
from tests.exports.key_formats import formats
from tests.exports.patterns import parcels
from tests.exports.tables import DESIGNS, TABLES, market, pantry


def content_of(*tables: Table) -> Any:
    return export_jsonschema(*tables).content


def test_the_schema_is_of_any_entity() -> None:
    document = content_of(parcels)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["anyOf"] == [{"$ref": "#/$defs/Sender"}, {"$ref": "#/$defs/Parcel"}]


def test_an_entity_says_where_it_is_stored() -> None:
    parcel = content_of(parcels)["$defs"]["Parcel"]
    assert parcel["x-dynamodb"] == {
        "table": "Parcels",
        "key": {"pk": "SENDER#{sender}", "sk": "PARCEL#{number:06}"},
        "indexes": {
            "ByState": {"state": "{state}", "day": "{day}", "weight": "{weight}"},
            "ByLabel": {"gsi1pk": "LABEL#{label} | NOTE#{note}", "gsi1sk": "{number:06}"},
            "ByWeight": {"pk": "SENDER#{sender}", "weight": "{weight}"},
        },
    }
    sender = content_of(parcels)["$defs"]["Sender"]["properties"]
    assert sender["email"]["x-dynamodb-attribute"] == "EmailAddress"
    assert "x-dynamodb-attribute" not in sender["sender"]
    assert parcel["properties"]["is_heavy"]["x-dynamodb-attribute"] == "is_heavy"


def test_the_properties_are_those_of_the_json() -> None:
    for table in (*DESIGNS, parcels):
        definitions = content_of(table)["$defs"]
        for entity in table.example_entities():
            definition = definitions[type(entity).__name__]
            dumped = entity.model_dump(mode="json", by_alias=True)
            assert {*definition["required"]} <= dumped.keys()
            if not definition.get("additionalProperties", False):
                assert dumped.keys() <= definition["properties"].keys()


def test_aliases_and_excluded_fields_are_as_in_the_json() -> None:
    table = Table("Notes", key=Key("pk"))

    class Note(Entity, table=table, key="N#{id}"):
        id: str = part()
        body: str = Field(serialization_alias="text")
        secret: str = Field(default="", exclude=True)

    definition = content_of(table)["$defs"][Note.__name__]
    assert [*definition["properties"]] == ["id", "text"]
    assert definition["properties"]["text"]["x-dynamodb-attribute"] == "body"


def test_entities_of_the_same_name_have_the_names_of_their_tables() -> None:
    document = content_of(market, pantry)
    assert {"MarketUser", "PantryUser", "Order", "Food"} <= document["$defs"].keys()
    assert document["$defs"]["MarketUser"]["x-dynamodb"]["table"] == "Market"
    assert {"$ref": "#/$defs/PantryUser"} in document["anyOf"]


def test_every_reference_is_defined() -> None:
    document = content_of(*TABLES, parcels, formats)

    def references(node: Any) -> set[str]:
        if isinstance(node, list):
            return set().union(*map(references, node))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON
        if not isinstance(node, dict):
            return set()
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set[str]()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON
        return own.union(*map(references, node.values()))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON

    wanted = {each.removeprefix("#/$defs/") for each in references(document)}
    assert wanted <= document["$defs"].keys()
