from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from keyfold import Table
from keyfold.engine import Engine
from keyfold.errors import SourceUnreadable
from keyfold.export import export_aws_schema, export_workbench
from keyfold.imports import (
    InferredTable,
    import_aws_schema,
    import_workbench,
    load_tables,
    write_module,
)
from tests.exports.patterns import parcels
from tests.exports.tables import TABLES
from tests.unit.imports.comparing import key_of

DOCUMENTS = Path(__file__).parent / "documents"
EVERY = (*TABLES, parcels)
each_table = pytest.mark.parametrize("table", EVERY, ids=lambda table: table.name)


def load(tables: tuple[InferredTable, ...]) -> dict[str, Table]:
    found = load_tables(write_module(tables, title="Test."))
    return {table.name: table for table in found}


def write(folder: Path, content: object) -> Path:
    file = folder / "document.json"
    file.write_text(json.dumps(content), "utf-8")
    return file


def check_same(one: Table, other: Table, *, left_out: frozenset[str] = frozenset()) -> None:
    """Compare keys, indexes, entities and key templates of a table and its import."""
    assert other.key == one.key
    wanted = {each.name: each for each in one.indexes if each.name not in left_out}
    assert [each.name for each in other.indexes] == [*wanted]
    for index in other.indexes:
        declared = wanted[index.name]
        assert (index.key, index.local) == (declared.key, declared.local)
        # A schema has no attributes that no entity declares, and none that are keys.
        assert {*index.project} <= {*declared.project}
        assert isinstance(index.project, str) == isinstance(declared.project, str)
    assert {name: key_of(each) for name, each in other.entities.items()} == {
        name: key_of(each) for name, each in one.entities.items()
    }
    types = one.key_types()
    assert other.key_types() == {name: types[name] for name in other.key_types()}


@each_table
def test_a_schema_makes_the_table_that_it_was_exported_from(tmp_path: Path, table: Table) -> None:
    document: Any = export_aws_schema(table).content
    [imported] = load(import_aws_schema(write(tmp_path, document))).values()
    check_same(table, imported)
    again: Any = export_aws_schema(imported).content
    wanted, found = document["tables"][0], again["tables"][0]
    assert found.get("keyfold") == wanted.get("keyfold")
    for name, entity in wanted["entities"].items():
        made = found["entities"][name]
        assert made.get("keyfold") == entity.get("keyfold")
        assert made.get("gsi_mappings") == entity.get("gsi_mappings")
        types = {each["name"]: each["type"] for each in entity["fields"]}
        assert {each["name"]: each["type"] for each in made["fields"]} == types
    with Engine.open(":memory:") as engine:
        engine.execute("CreateTable", imported.to_dynamodb())


@each_table
def test_a_data_model_makes_the_table_that_it_was_exported_from(
    tmp_path: Path, table: Table
) -> None:
    document: Any = export_workbench(table).content
    [imported] = load(import_workbench(write(tmp_path, document))).values()
    # A data model has no local indexes, and one attribute for each key of an index.
    lacking = {"by-state", "ByWeight", "ByNote", "ByState"}
    check_same(table, imported, left_out=frozenset(lacking))
    with Engine.open(":memory:") as engine:
        engine.execute("CreateTable", imported.to_dynamodb())
        for facet in document["DataModel"][0]["TableFacets"]:
            for item in facet["TableData"]:
                engine.execute("PutItem", {"TableName": imported.name, "Item": item})
                assert imported.find_schema(item).name == facet["FacetName"]


def test_several_tables_are_one_module(tmp_path: Path) -> None:
    content = export_aws_schema(*EVERY).content
    assert load(import_aws_schema(write(tmp_path, content))).keys() == {t.name for t in EVERY}
    models = export_workbench(*EVERY).content
    assert load(import_workbench(write(tmp_path, models))).keys() == {t.name for t in EVERY}


def test_a_published_data_model_imports_and_runs() -> None:
    tables = load(import_workbench(DOCUMENTS / "music.workbench.json"))
    songs = tables["Songs"]
    assert {name: key_of(each) for name, each in songs.entities.items()} == {
        "SongDetails": ("<0>", "Details"),
        "Downloads": ("<0>", "<1>"),
        "MonthlyTotals": ("<0>", "Month#<1>"),
    }
    assert songs.fallback is not None
    assert songs.fallback.name == "Downloads"
    assert [index.name for index in songs.indexes] == ["DownloadsByMonth"]
    assert songs.to_dynamodb()["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    [employee] = tables["Employee"].entities.values()
    assert employee.fields.keys() == {"id", "first_name", "age", "skills"}
    [reading] = tables["Readings"].entities.values()
    assert key_of(reading) == ("<0>", "<1>")
    assert tables["Readings"].key_types() == {"Device": "S", "Second": "N"}


def test_a_published_schema_imports_and_runs() -> None:
    [table] = import_aws_schema(DOCUMENTS / "market.schema.json")
    assert table.gaps == ("Comment.number: a number in a key needs a width; 010 is assumed.",)
    assert table.documented == ("get_deal (GetItem, of Deal, takes deal_id): Get a deal",)
    assert "# - get_deal (GetItem, of Deal" in write_module((table,), title="Deals.")
    [deals] = load((table,)).values()
    assert {name: key_of(each) for name, each in deals.entities.items()} == {
        "Deal": ("DEAL#<0>", "METADATA"),
        "Comment": ("DEAL#<0>", "COMMENT#<1:010>#<2>"),
    }
    deal = deals.entities["Deal"].validate(
        {"deal_id": "d", "title": "t", "price": "1", "brand_id": "b", "status": "open", "created_at": "2026"}
    )  # fmt: skip
    item = deals.entities["Deal"].encode(deal)
    assert item["gsi1pk"] == {"S": "STATUS#open"}
    assert item["gsi1sk"] == {"S": "2026"}
    assert item["deal_id"] == {"S": "d"}
    assert "is_active" not in item


def test_patterns_of_several_entities_are_listed_with_their_table(tmp_path: Path) -> None:
    content = json.loads((DOCUMENTS / "market.schema.json").read_text("utf-8"))
    content["cross_table_access_patterns"] = [
        {
            "name": "close_deal",
            "operation": "TransactWrite",
            "entities_involved": [
                {"table": each, "entity": "Deal"} for each in ("Deals", "Others", "Deals")
            ],
        },
        {"name": "elsewhere", "entities_involved": [{"table": "Others", "entity": "Other"}]},
    ]
    [table] = import_aws_schema(write(tmp_path, content))
    assert table.documented[1:] == ("close_deal (TransactWrite, of Deal)",)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("[]", "it is JSON, but not an object"),
        ("{}", "the document: it has no tables"),
        ('{"tables": {}}', "the document: tables must be a list, not {}"),
        ('{"tables": [7]}', "tables[0]: it must be an object"),
        ('{"tables": [{"table_config": {}}]}', "tables[0].table_config: it has no table_name"),
    ],
)
def test_a_malformed_schema_is_refused(tmp_path: Path, text: str, fact: str) -> None:
    with pytest.raises(SourceUnreadable) as refused:
        import_aws_schema(write(tmp_path, json.loads(text)))
    assert refused.value.fact == fact


def change(file: str, *path: Any, to: object) -> Any:
    content = json.loads((DOCUMENTS / file).read_text("utf-8"))
    *parents, last = path
    place = content
    for each in parents:
        place = place[each]
    place[last] = to
    return content


@pytest.mark.parametrize(
    ("path", "to", "fact"),
    [
        (("sk_template",), "C#{other}", "names 'other', which is no field"),
        (("sk_template",), "C#{number", "the template of sk"),
        (("sk_template",), None, "it has 1 key templates"),
        (("fields", 1, "type"), "int", "its type is 'int'"),
        (("gsi_mappings",), [{"name": "No", "pk_template": "x"}], "the index 'No'"),
    ],
)
def test_a_wrong_entity_is_refused(tmp_path: Path, path: Any, to: object, fact: str) -> None:
    where = ("tables", 0, "entities", "Comment", *path)
    content = change("market.schema.json", *where, to=to)
    with pytest.raises(SourceUnreadable) as refused:
        import_aws_schema(write(tmp_path, content))
    assert fact in refused.value.fact
    assert refused.value.fact.startswith("tables[0].entities.Comment")


def test_a_malformed_data_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match="the document: it has no DataModel"):
        import_workbench(write(tmp_path, {}))
    where = ("DataModel", 0, "KeyAttributes")
    content = change("music.workbench.json", *where, to={})
    with pytest.raises(SourceUnreadable, match="it has no PartitionKey"):
        import_workbench(write(tmp_path, content))
    (tmp_path / "broken.json").write_text("{", "utf-8")
    with pytest.raises(SourceUnreadable, match="it is not JSON"):
        import_workbench(tmp_path / "broken.json")
    with pytest.raises(SourceUnreadable, match="cannot be read"):
        import_workbench(tmp_path / "missing.json")
