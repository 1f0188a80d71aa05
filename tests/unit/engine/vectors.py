"""A table of products with a vector index, for tests."""

from __future__ import annotations

from typing import Any

from keyfold.engine import Engine

TABLE = "Products"

INDEX: dict[str, Any] = {
    "IndexName": "ByLook",
    "VectorAttribute": {"AttributeName": "look"},
    "Projection": {"ProjectionType": "ALL"},
    "Dimensions": 3,
    "DistanceFunction": "COSINE",
}
SEARCHED: dict[str, Any] = {
    **INDEX,
    "SearchSchema": [
        {"AttributeName": "shop", "SearchSchemaElementType": "HASH"},
        {"AttributeName": "size", "SearchSchemaElementType": "INLINE_FILTER"},
    ],
}


def create(*indexes: dict[str, Any]) -> dict[str, Any]:
    """Return the CreateTable request with these vector indexes."""
    searched = {
        each["AttributeName"] for index in indexes for each in index.get("SearchSchema", [])
    }
    types = {"size": "N"}
    return {
        "TableName": TABLE,
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": types.get(name, "S")}
            for name in ("id", *sorted(searched))
        ],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
        **({"VectorIndexes": list(indexes)} if indexes else {}),
    }


def numbers(values: tuple[float, ...] | list[float]) -> list[dict[str, str]]:
    """Return a vector as an attribute value."""
    return [{"N": repr(value)} for value in values]


def put(engine: Engine, id: str, *vector: float, **more: Any) -> None:  # noqa: A002 - the attribute
    """Write a product."""
    item = {"id": {"S": id}, "look": {"L": numbers(vector)}, **more}
    engine.execute("PutItem", {"TableName": TABLE, "Item": item})


def search(engine: Engine, *vector: float, top: int = 10, **more: Any) -> list[dict[str, Any]]:
    """Search the vector index of looks."""
    request = {
        "TableName": TABLE,
        "IndexName": "ByLook",
        "SearchVector": numbers(vector),
        "TopK": top,
        **more,
    }
    return engine.execute("SearchVectors", request)["SearchResults"]


def ids(results: list[dict[str, Any]]) -> list[str]:
    """Return the ids of the products that were found."""
    return [result["Item"]["id"]["S"] for result in results]
