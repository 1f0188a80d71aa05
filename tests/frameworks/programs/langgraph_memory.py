"""LangGraph's long-term memory: `DynamoDBStore` of langgraph-checkpoint-aws."""

# pyright: basic
# pyright: reportMissingImports=false
from __future__ import annotations

import asyncio
from datetime import timedelta

import boto3
import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore, GetOp, PutOp
from langgraph_checkpoint_aws import DynamoDBStore
from words import DIMENSIONS, embed

from keyfold.testing import Service


def embed_all(texts: list[str]) -> list[list[float]]:
    return [embed(text) for text in texts]


def open_memories() -> DynamoDBStore:
    store = DynamoDBStore(
        table_name="memories",
        index={"embed": embed_all, "dims": DIMENSIONS, "fields": ["text"]},
    )
    store.setup()
    return store


@pytest.fixture(scope="session")
def memories(service: Service | None) -> DynamoDBStore:
    return open_memories()


def test_a_value_is_put_read_changed_and_deleted(memories: DynamoDBStore) -> None:
    namespace = ("users", "ada")
    memories.put(namespace, "prefs", {"theme": "dark", "size": 15, "tags": ["a", None]})
    first = memories.get(namespace, "prefs")
    assert first.value == {"theme": "dark", "size": 15, "tags": ["a", None]}
    memories.put(namespace, "prefs", {"theme": "light"})
    second = memories.get(namespace, "prefs")
    assert second.value == {"theme": "light"}
    assert (second.created_at, second.updated_at > first.updated_at) == (first.created_at, True)
    memories.delete(namespace, "prefs")
    assert memories.get(namespace, "prefs") is None


def test_values_are_listed_and_filtered(memories: DynamoDBStore) -> None:
    for number in range(30):
        memories.put(("listed", "a"), f"{number:02}", {"even": number % 2 == 0})
    memories.put(("listed", "b"), "1", {"even": True})
    found = memories.search(("listed", "a"), filter={"even": True}, limit=100)
    assert [each.key for each in found] == [f"{number:02}" for number in range(0, 30, 2)]
    page = memories.search(("listed", "a"), limit=3, offset=10)
    assert [each.key for each in page] == ["10", "11", "12"]
    namespaces = memories.list_namespaces(prefix=("listed",))
    assert sorted(namespaces) == [("listed", "a"), ("listed", "b")]
    assert memories.list_namespaces(prefix=("listed",), max_depth=1) == [("listed",)]


def test_memories_are_found_by_meaning(memories: DynamoDBStore) -> None:
    mine, other = ("mine", "ada"), ("mine", "bob")
    memories.put(mine, "seat", {"text": "A window seat in every train", "kind": "travel"})
    memories.put(mine, "food", {"text": "Spicy soup, vegan", "kind": "food"})
    memories.put(mine, "both", {"text": "Soup in the train", "kind": "food"})
    memories.put(mine, "unembedded", {"text": "window seat"})
    memories.put(mine, "unembedded", {"note": "window seat"})  # which removes the vector
    memories.put(other, "seat", {"text": "A window seat"})

    found = memories.search(mine, query="Which seat, and at the window?")
    assert [each.key for each in found] == ["seat", "both", "food"]
    # Two of the seat's three words, and two of two: 2 / √6; nothing shared leaves the last dimension.
    assert found[0].score == pytest.approx(0.8164, abs=0.01)
    assert found[2].score == pytest.approx(0.0, abs=0.01)
    filtered = memories.search(mine, query="window seat", filter={"kind": "food"}, limit=1)
    assert [each.key for each in filtered] == ["both"]

    memories.put(mine, "seat", {"text": "Bread", "kind": "food"})
    assert all(each.score < 0.1 for each in memories.search(mine, query="window seat"))
    memories.delete(mine, "both")
    assert {each.key for each in memories.search(mine, query="soup")} == {"seat", "food"}


def test_an_index_is_added_to_a_table_with_items(service: Service | None) -> None:
    plain = DynamoDBStore(table_name="later")
    plain.setup()
    plain.put(("a",), "1", {"text": "soup"})
    indexed = DynamoDBStore(
        table_name="later", index={"embed": embed_all, "dims": DIMENSIONS, "fields": ["text"]}
    )
    indexed.setup()
    indexed.put(("a",), "2", {"text": "soup and bread"})
    assert [each.key for each in indexed.search(("a",), query="soup")] == ["2"]
    indexed.put(("a",), "1", {"text": "soup"})
    assert [each.key for each in indexed.search(("a",), query="soup")] == ["1", "2"]


def test_batches_and_asynchronous_calls(memories: DynamoDBStore) -> None:
    async def use() -> None:
        puts = [PutOp(("batch",), str(number), {"number": number}) for number in range(10)]
        await memories.abatch(puts)
        items = await memories.abatch([GetOp(("batch",), "3"), GetOp(("batch",), "none")])
        assert [each and each.value for each in items] == [{"number": 3}, None]
        await memories.aput(("batch",), "text", {"text": "vegan bread"})
        found = await memories.asearch(("batch",), query="bread", limit=1)
        assert [each.key for each in found] == ["text"]
        await memories.adelete(("batch",), "text")
        assert await memories.aget(("batch",), "text") is None

    asyncio.run(use())


def test_a_graph_remembers_across_threads(memories: DynamoDBStore) -> None:
    def answer(state: MessagesState, *, store: BaseStore) -> dict[str, list[tuple[str, str]]]:
        question = str(state["messages"][-1].content)
        [best] = store.search(("facts",), query=question, limit=1)
        return {"messages": [("ai", best.value["text"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    graph = builder.compile(store=memories)
    memories.put(("facts",), "1", {"text": "The train has a window seat."})
    memories.put(("facts",), "2", {"text": "The soup is spicy."})
    asked = graph.invoke({"messages": [("user", "Is the soup vegan?")]})
    assert asked["messages"][-1].content == "The soup is spicy."


def test_values_expire(service: Service | None) -> None:
    store = DynamoDBStore(table_name="expiring", ttl={"default_ttl": 60, "refresh_on_read": True})
    store.setup()
    described = boto3.client("dynamodb").describe_time_to_live(TableName="expiring")
    assert described["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED"
    store.put(("temp",), "hour", {"a": 1})
    store.put(("temp",), "day", {"a": 2}, ttl=1440)
    assert store.get(("temp",), "hour", refresh_ttl=True).value == {"a": 1}
    if service is not None:
        service.clock.advance(timedelta(hours=2))
        assert store.get(("temp",), "hour") is None
    assert store.get(("temp",), "day").value == {"a": 2}


def test_memories_are_kept_for_the_restart(memories: DynamoDBStore) -> None:
    memories.put(("kept",), "1", {"text": "window seat"})
    memories.put(("kept",), "2", {"text": "spicy soup"})


def test_after_restart_memories_are_found() -> None:
    found = open_memories().search(("kept",), query="soup")
    assert [each.key for each in found] == ["2", "1"]
