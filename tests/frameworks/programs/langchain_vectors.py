"""LangChain's vector store: `DynamoDBVectorStore` of langchain-aws."""

# pyright: basic
# pyright: reportMissingImports=false
from __future__ import annotations

import asyncio
from math import sqrt
from typing import Any

import boto3
import pytest
from langchain_aws.vectorstores import DynamoDBVectorStore
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from words import embed

from keyfold.testing import Service

MENU = [
    Document("Spicy soup with bread", id="soup", metadata={"price": 4.5, "tags": ["hot"]}),
    Document("Vegan bread", id="bread", metadata={"price": 2, "note": None}),
    Document("A window seat in the train", id="seat", metadata={"nested": {"class": 1}}),
]


class WordCounts(Embeddings):
    def embed_query(self, text: str) -> list[float]:
        return embed(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [embed(text) for text in texts]


def open_store(table: str, **options: Any) -> DynamoDBVectorStore:
    return DynamoDBVectorStore(table_name=table, embedding=WordCounts(), **options)


@pytest.fixture(scope="session")
def menu(service: Service | None) -> DynamoDBVectorStore:
    store = open_store("menu")
    assert store.add_documents(MENU) == ["soup", "bread", "seat"]
    return store


def test_documents_come_back_as_they_were_added(menu: DynamoDBVectorStore) -> None:
    assert menu.get_by_ids(["seat", "none", "soup", "seat"]) == [MENU[2], MENU[0]]
    assert menu.similarity_search("spicy soup", k=1) == [MENU[0]]


def test_scores_are_cosine_distances(menu: DynamoDBVectorStore) -> None:
    found = menu.similarity_search_with_score("vegan bread", k=3)
    assert [document.id for document, _ in found] == ["bread", "soup", "seat"]
    # Every vector has 1/8 in its last dimension: 1/64 in every product.
    rest = 1 / 64
    assert [score for _, score in found] == pytest.approx(
        [
            0,
            1 - (1 + rest) / sqrt((2 + rest) * (3 + rest)),
            1 - rest / sqrt((2 + rest) * (3 + rest)),
        ],
        abs=1e-6,
    )
    relevant = menu.similarity_search_with_relevance_scores("vegan bread", k=1)
    assert [(document.id, score) for document, score in relevant] == [
        ("bread", pytest.approx(1, abs=1e-6))
    ]
    assert [each.id for each in menu.similarity_search_by_vector(embed("train"), k=1)] == ["seat"]


@pytest.mark.parametrize(
    ("function", "scores"),
    [("EUCLIDEAN", [("a", 0.0), ("aa", 1.0), ("b", sqrt(2))]), ("DOT_PRODUCT", None)],
)
def test_other_distances(
    function: Any, scores: list[tuple[str, float]] | None, service: Service | None
) -> None:
    store = open_store(f"menu-{function}", distance_function=function)
    store.add_texts(["soup", "soup soup", "bread"], ids=["a", "aa", "b"])
    found = [(each.id, score) for each, score in store.similarity_search_with_score("soup")]
    rest = 1 / 64
    expected = scores or [("aa", 2 + rest), ("a", 1 + rest), ("b", rest)]
    assert [name for name, _ in found] == [name for name, _ in expected]
    assert [score for _, score in found] == pytest.approx(
        [score for _, score in expected], abs=1e-6
    )


def test_a_search_is_scoped_by_a_partition(service: Service | None) -> None:
    store = open_store("tenants", partition_attribute="tenant")
    texts = ["vegan soup", "window seat", "vegan bread"]
    tenants = [{"tenant": "ada"}, {"tenant": "ada"}, {"tenant": "bob"}]
    store.add_texts(texts, tenants, ids=["1", "2", "3"])

    def search(tenant: str) -> list[str | None]:
        found = store.similarity_search("vegan bread", filter={"tenant": tenant})
        return [each.id for each in found]

    assert (search("ada"), search("bob"), search("eve")) == (["1", "2"], ["3"], [])
    with pytest.raises(ValueError, match="every search must supply its value"):
        store.similarity_search("vegan")
    retriever = store.as_retriever(search_kwargs={"k": 1, "filter": {"tenant": "ada"}})
    assert [each.metadata for each in retriever.invoke("seat")] == [{"tenant": "ada"}]


def test_an_index_is_added_to_a_table_with_items(service: Service | None) -> None:
    client = boto3.client("dynamodb")
    client.create_table(
        TableName="older",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    vector = {"L": [{"N": str(each)} for each in embed("soup")]}
    item = {"id": {"S": "old"}, "page_content": {"S": "soup"}, "embedding": vector}
    client.put_item(TableName="older", Item=item)
    store = open_store("older")
    store.add_texts(["bread"], ids=["new"])
    assert [each.id for each in store.similarity_search("soup")] == ["old", "new"]


def test_another_index_is_refused(menu: DynamoDBVectorStore) -> None:
    with pytest.raises(ValueError, match="DistanceFunction=COSINE"):
        open_store("menu", distance_function="EUCLIDEAN").add_texts(["soup"])
    with pytest.raises(ValueError, match="without a SearchSchema partition key"):
        open_store("menu", partition_attribute="tenant").add_texts(["soup"], [{"tenant": "a"}])


def test_documents_are_replaced_and_deleted(service: Service | None) -> None:
    store = open_store("changing")
    # Several batches of 25.
    ids = store.add_texts([f"soup {number}" for number in range(60)])
    assert len({each.id for each in store.similarity_search("soup", k=100)}) == 60
    store.add_texts(["bread"], ids=[ids[0]])
    [found] = store.similarity_search("bread", k=1)
    assert (found.id, found.page_content) == (ids[0], "bread")
    store.delete(ids[:59])
    assert [each.id for each in store.similarity_search("soup", k=100)] == ids[59:]


def test_asynchronous_calls(service: Service | None) -> None:
    async def use() -> None:
        store = await DynamoDBVectorStore.afrom_texts(
            ["soup", "bread"], WordCounts(), ids=["1", "2"], table_name="asynchronous"
        )
        searches = (store.asimilarity_search("bread", k=1) for _ in range(8))
        assert [found[0].id for found in await asyncio.gather(*searches)] == ["2"] * 8
        await store.adelete(["2"])
        assert [each.id for each in await store.asimilarity_search("bread")] == ["1"]

    asyncio.run(use())


def test_after_restart_documents_are_found() -> None:
    store = open_store("menu", create_table_if_not_exist=False)
    assert store.similarity_search("spicy soup", k=1) == [MENU[0]]
    scoped = open_store("tenants", partition_attribute="tenant", default_partition_value="bob")
    assert [each.id for each in scoped.similarity_search("vegan")] == ["3"]
    assert scoped.add_texts(["soup"], ids=["4"]) == ["4"]
    assert [each.id for each in scoped.similarity_search("soup")] == ["4", "3"]
