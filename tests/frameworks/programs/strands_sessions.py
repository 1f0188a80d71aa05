"""Strands' sessions and memories: `DynamoDBStorage` of strands-dynamodb-storage."""

# pyright: basic
# pyright: reportMissingImports=false
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import boto3
import pytest
from strands import Agent, tool
from strands.memory import MemoryManager
from strands.models import Model
from strands.session import SnapshotSessionManager
from strands.types.exceptions import StorageError
from strands_dynamodb_storage import (
    DynamoDBListQuery,
    DynamoDBMemoryStore,
    DynamoDBStorage,
    SearchQuery,
)
from words import DIMENSIONS, embed

from keyfold.testing import Service

TABLE = "agent-storage"


@pytest.fixture(scope="session")
def storage(service: Service | None) -> DynamoDBStorage:
    client = boto3.client("dynamodb")
    if TABLE not in client.list_tables()["TableNames"]:
        client.create_table(
            TableName=TABLE,
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            BillingMode="PAY_PER_REQUEST",
            VectorIndexes=[
                {
                    "IndexName": "vector_index",
                    "VectorAttribute": {"AttributeName": "vector"},
                    "SearchSchema": [
                        {"AttributeName": "pk", "SearchSchemaElementType": "HASH"},
                    ],
                    "Projection": {"ProjectionType": "ALL"},
                    "Dimensions": DIMENSIONS,
                    "DistanceFunction": "COSINE",
                }
            ],
        )
        client.get_waiter("table_exists").wait(TableName=TABLE)
        client.update_time_to_live(
            TableName=TABLE, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expireAt"}
        )
    return DynamoDBStorage(TABLE)


class ScriptedModel(Model):
    """A model that counts what it was told, and uses a tool when asked to."""

    def update_config(self, **model_config: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    async def structured_output(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        raise NotImplementedError  # of the package's protocol; an agent without structured output never calls it
        yield

    async def stream(self, messages: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
        last = messages[-1]["content"][-1]
        yield {"messageStart": {"role": "assistant"}}
        if last.get("text") == "roll":
            use = {"name": "roll", "toolUseId": f"use-{len(messages)}"}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"sides": 6}'}}}}
            reason = "tool_use"
        else:
            answer = {"text": f"I have read {len(messages)} messages."}
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": answer}}
            reason = "end_turn"
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": reason}}


@tool
def roll(sides: int) -> str:
    """Roll a die that always shows its highest number."""
    return str(sides)


def make_agent(storage: DynamoDBStorage, session: str, **options: Any) -> Agent:
    manager = SnapshotSessionManager(session, storage=storage, **options)
    return Agent(
        model=ScriptedModel(),
        agent_id="helper",
        session_manager=manager,
        tools=[roll],
        callback_handler=None,
    )


def texts(agent: Agent) -> list[str]:
    blocks = [block for each in agent.messages for block in each["content"]]
    return [block["text"] for block in blocks if "text" in block]


def test_values_are_written_read_listed_and_deleted(storage: DynamoDBStorage) -> None:
    async def use() -> None:
        keys = ["sessions/s1/a.json", "sessions/s1/turns/1", "sessions/s1/turns/2"]
        await storage.write("sessions/s1/a.json", b"old")
        for key in keys:
            await storage.write(key, f"\x00 {key}".encode())
        # Keys of one and two segments have a sort key of one NUL; others only begin alike.
        for key in ("single", "sessions/s1", "sessions/s1/turnstile", "sessions/s2/a.json"):
            await storage.write(key, b"other")
        assert await storage.read(keys[0]) == b"\x00 sessions/s1/a.json"
        assert await storage.read("single") == b"other"
        assert await storage.read("sessions/s1/none") is None
        assert await storage.list("sessions/s1/turns/") == keys[1:]
        assert await storage.list("sessions/s1/") == [*keys, "sessions/s1/turnstile"]
        between = DynamoDBListQuery("sessions/s1", sk_between=("turns/1", "turns/1~"))
        assert await storage.list(between) == [keys[1]]
        limited = DynamoDBListQuery("sessions/s1", limit=2, start_after=keys[0])
        assert await storage.list(limited) == keys[1:]
        await storage.delete(keys[1])
        await storage.delete(keys[1])
        assert await storage.list("sessions/s1/turns/") == [keys[2]]
        with pytest.raises(StorageError, match="too broad"):
            await storage.list("sessions/")

    asyncio.run(use())


def test_large_values(storage: DynamoDBStorage) -> None:
    async def use() -> None:
        large = bytes(range(256)) * 1480
        for number in range(5):  # together more than a page of 1 MB
            await storage.write(f"large/l1/{number}", large)
        assert await storage.read("large/l1/4") == large
        assert await storage.list("large/l1/") == [f"large/l1/{number}" for number in range(5)]
        with pytest.raises(StorageError, match="configure s3_bucket"):
            await storage.write("large/l1/5", large * 2)
        compressing = DynamoDBStorage(TABLE, compression="gzip")
        await compressing.write("large/l1/5", large * 2)
        assert await compressing.read("large/l1/5") == large * 2

    asyncio.run(use())


def test_a_session_is_resumed(storage: DynamoDBStorage) -> None:
    agent = make_agent(storage, "resumed")
    agent("hello")
    agent.state.set("mood", {"good": True, "level": 3})
    agent("roll")
    assert texts(agent)[-1] == "I have read 5 messages."

    resumed = make_agent(storage, "resumed")
    assert resumed.messages == agent.messages
    assert resumed.state.get("mood") == {"good": True, "level": 3}
    blocks = [block for each in resumed.messages for block in each["content"]]
    results = [block["toolResult"]["content"] for block in blocks if "toolResult" in block]
    assert results == [[{"text": "6"}]]
    resumed("and now?")
    assert texts(resumed)[-1] == "I have read 7 messages."
    assert make_agent(storage, "another").messages == []


def test_a_session_goes_back_to_a_snapshot(storage: DynamoDBStorage) -> None:
    agent = make_agent(storage, "history", snapshot_trigger=lambda **_: True)
    for number in range(3):
        agent(f"message {number}")

    async def use() -> None:
        manager = SnapshotSessionManager("history", storage=storage)
        ids = await manager.list_snapshot_ids(agent)
        assert (len(ids), ids) == (3, sorted(ids))
        assert await manager.list_snapshot_ids(agent, limit=1, start_after=ids[0]) == [ids[1]]
        back = make_agent(storage, "history")
        assert await manager.restore_snapshot(back, snapshot_id=ids[0])
        assert texts(back) == ["message 0", "I have read 1 messages."]
        forced = await manager.save_snapshot(back, is_latest=False)
        assert await manager.list_snapshot_ids(agent) == [*ids, forced]
        await manager.delete_session()
        assert await manager.list_snapshot_ids(agent) == []

    asyncio.run(use())
    assert make_agent(storage, "history").messages == []


def test_every_message_is_saved(storage: DynamoDBStorage) -> None:
    async def use() -> None:
        agents = [
            make_agent(storage, f"parallel-{number}", save_latest_on="message")
            for number in range(6)
        ]
        await asyncio.gather(*(agent.invoke_async("roll") for agent in agents))

    asyncio.run(use())
    for number in range(6):
        resumed = make_agent(storage, f"parallel-{number}")
        assert texts(resumed) == ["roll", "I have read 3 messages."]


def test_vectors_are_searched_in_their_partition(storage: DynamoDBStorage) -> None:
    async def use() -> None:
        mine, other = (DynamoDBStorage(TABLE, prefix=f"user/{each}") for each in ("ada", "bob"))
        memories = {"m1": "window seat", "m2": "spicy soup", "m3": "soup in the train"}
        for key, text in memories.items():
            kind = "food" if "soup" in text else "travel"
            await mine.write(
                f"memories/{key}", text.encode(), vector=embed(text), metadata={"kind": kind}
            )
        await other.write("memories/m1", b"soup", vector=embed("soup"))
        query = SearchQuery(
            vector=embed("spicy soup"),
            top_k=2,
            pk=mine.partition_key("memories/m1"),
            include_values=True,
        )
        found = await mine.search(query)
        assert [(each.key, each.data) for each in found] == [
            ("memories/m2", b"spicy soup"),
            ("memories/m3", b"soup in the train"),
        ]
        assert found[0].score == pytest.approx(0, abs=1e-6)
        assert found[1].metadata == {"kind": "food"}
        query.filter = {"kind": "travel"}
        assert [each.key for each in await mine.search(query)] == ["memories/m1"]
        with pytest.raises(StorageError, match="outside this storage namespace"):
            await mine.search(SearchQuery(embed("soup"), 1, pk="user/bob"))

    asyncio.run(use())


def test_an_agent_has_long_term_memories(storage: DynamoDBStorage) -> None:
    memory = DynamoDBMemoryStore(storage.namespace("user/eve"), embedder=embed)

    async def use() -> None:
        await memory.add("Prefers a window seat", {"source": "chat", "weight": 0.5})
        key = await memory.add("Eats vegan bread")
        assert await memory.add("Eats vegan bread") == key
        [first, second] = await memory.search("Which seat does she like?")
        assert first.content == "Prefers a window seat"
        assert first.metadata is not None
        assert (first.metadata["source"], first.metadata["weight"]) == ("chat", 0.5)
        assert second.content == "Eats vegan bread"
        manager = MemoryManager(stores=[memory])
        [best] = await manager.search("bread", {"max_search_results": 1})
        assert best.content == "Eats vegan bread"
        await storage.namespace("user/eve").delete(key)
        assert len(await memory.search("bread")) == 1

    asyncio.run(use())


def test_values_expire(storage: DynamoDBStorage, service: Service | None) -> None:
    async def use() -> None:
        expiring = DynamoDBStorage(TABLE, ttl_seconds=3600)
        await expiring.write("expiring/e1/hour", b"1", vector=embed("soup"))
        await expiring.write("expiring/e1/day", b"2", vector=embed("bread"), ttl_seconds=86_400)
        await expiring.write("expiring/e1/past", b"3", vector=embed("soup"), ttl_seconds=-10)
        assert await expiring.read("expiring/e1/past") is None
        keys = ["expiring/e1/day", "expiring/e1/hour"]
        assert await expiring.list("expiring/e1/") == keys
        found = await expiring.search(SearchQuery(embed("bread"), 5, pk="expiring/e1"))
        assert [each.key for each in found] == keys
        if service is not None:
            service.clock.advance(timedelta(hours=2))
            # One that does not look at expiries: the items themselves are deleted.
            assert await storage.list("expiring/e1/") == ["expiring/e1/day"]

    asyncio.run(use())


def test_a_session_is_kept_for_the_restart(storage: DynamoDBStorage) -> None:
    make_agent(storage, "restarted")("hello")
    asyncio.run(storage.write("kept/k1/soup", b"soup", vector=embed("soup")))


def test_after_restart_the_session_goes_on(storage: DynamoDBStorage) -> None:
    agent = make_agent(storage, "restarted")
    agent("still there?")
    assert texts(agent) == [
        "hello",
        "I have read 1 messages.",
        "still there?",
        "I have read 3 messages.",
    ]
    found = asyncio.run(storage.search(SearchQuery(embed("soup"), 1, pk="kept/k1")))
    assert [each.key for each in found] == ["kept/k1/soup"]
