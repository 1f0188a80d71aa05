"""The key names of tables are always those of the current tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from keyfold.engine import Engine, TableKeyNames


def create(engine: Engine, *names: str, **more: Any) -> None:
    kinds = ("HASH", "RANGE")
    engine.execute(
        "CreateTable",
        {
            "TableName": "Shop",
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"}
                for name in {*names, *more.get("defines", ())}
            ],
            "KeySchema": [
                {"AttributeName": name, "KeyType": kind}
                for name, kind in zip(names, kinds, strict=False)
            ],
            "BillingMode": "PAY_PER_REQUEST",
            **more.get("indexes", {}),
        },
    )


def test_a_table_has_key_names_while_it_exists() -> None:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        assert engine.find_key_names("Shop") is None
        create(engine, "pk", "sk")
        assert engine.find_key_names("Shop") == TableKeyNames("pk", "sk", {})
        engine.execute("DeleteTable", {"TableName": "Shop"})
        assert engine.find_key_names("Shop") is None


def test_indexes_have_the_names_of_their_partition_keys() -> None:
    index = {
        "IndexName": "ByCity",
        "KeySchema": [
            {"AttributeName": "country", "KeyType": "HASH"},
            {"AttributeName": "city", "KeyType": "HASH"},
            {"AttributeName": "pk", "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "ALL"},
    }
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        create(
            engine,
            "pk",
            defines=("country", "city"),
            indexes={"GlobalSecondaryIndexes": [index]},
        )
        names = engine.find_key_names("Shop")
    assert names == TableKeyNames("pk", None, {"ByCity": ("country", "city")})


def test_a_table_that_another_process_recreated_has_the_new_key_names(
    tmp_path: Path,
) -> None:
    path = tmp_path / "shop.db"
    with (
        Engine.open(path, upkeep_seconds=None) as engine,
        Engine.open(path, upkeep_seconds=None) as other,
    ):
        create(engine, "pk", "sk")
        assert engine.find_key_names("Shop") == TableKeyNames("pk", "sk", {})
        other.execute("DeleteTable", {"TableName": "Shop"})
        create(other, "sk", "pk")
        assert engine.find_key_names("Shop") == TableKeyNames("sk", "pk", {})
