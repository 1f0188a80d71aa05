"""LangGraph's checkpointer: `DynamoDBSaver` of langgraph-checkpoint-aws."""

# pyright: basic
# pyright: reportMissingImports=false
from __future__ import annotations

import asyncio
import operator
import time
from datetime import timedelta
from typing import Annotated, Any, TypedDict

import boto3
import pytest
from botocore.exceptions import ClientError
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from langgraph_checkpoint_aws import DynamoDBSaver

from keyfold.testing import Service

TABLE = "checkpoints"


class State(TypedDict):
    steps: Annotated[list[str], operator.add]
    approved: bool


@pytest.fixture(scope="session")
def saver(service: Service | None) -> DynamoDBSaver:
    client = boto3.client("dynamodb")
    if TABLE not in client.list_tables()["TableNames"]:
        client.create_table(
            TableName=TABLE,
            AttributeDefinitions=[
                {"AttributeName": "PK", "AttributeType": "S"},
                {"AttributeName": "SK", "AttributeType": "S"},
            ],
            KeySchema=[
                {"AttributeName": "PK", "KeyType": "HASH"},
                {"AttributeName": "SK", "KeyType": "RANGE"},
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        client.get_waiter("table_exists").wait(TableName=TABLE)
    return DynamoDBSaver(table_name=TABLE)


def thread(name: str, **more: Any) -> Any:
    return {"configurable": {"thread_id": name, **more}}


def make_graph(saver: DynamoDBSaver) -> Any:
    """Return a graph that drafts, waits for a person, and sends."""

    def draft(state: State) -> dict[str, Any]:
        return {"steps": ["draft"]}

    def review(state: State) -> dict[str, Any]:
        return {"steps": ["review"], "approved": interrupt({"question": "Send it?"})}

    def send(state: State) -> dict[str, Any]:
        return {"steps": ["sent" if state["approved"] else "dropped"]}

    graph = StateGraph(State)
    for name, node in (("draft", draft), ("review", review), ("send", send)):
        graph.add_node(name, node)
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "review")
    graph.add_edge("review", "send")
    graph.add_edge("send", END)
    return graph.compile(checkpointer=saver)


def put_checkpoints(saver: DynamoDBSaver, name: str, count: int) -> list[str]:
    """Put a chain of checkpoints into a thread, and return their ids."""
    config, ids = thread(name, checkpoint_ns=""), []
    for step in range(count):
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"step": step}
        metadata = {"source": "loop", "step": step, "parents": {}}
        config = saver.put(config, checkpoint, metadata, {})
        ids.append(checkpoint["id"])
    return ids


def count_items() -> int:
    pages = boto3.client("dynamodb").get_paginator("scan").paginate(TableName=TABLE)
    return sum(page["Count"] for page in pages)


def test_a_checkpoint_is_put_and_read(saver: DynamoDBSaver) -> None:
    assert saver.get_tuple(thread("single")) is None
    first, second = put_checkpoints(saver, "single", 2)

    latest = saver.get_tuple(thread("single"))
    assert latest.checkpoint["id"] == second
    assert latest.checkpoint["channel_values"] == {"step": 1}
    assert latest.metadata == {"source": "loop", "step": 1, "parents": {}}
    assert latest.parent_config == thread("single", checkpoint_ns="", checkpoint_id=first)
    earlier = saver.get_tuple(thread("single", checkpoint_id=first))
    assert (earlier.checkpoint["id"], earlier.parent_config) == (first, None)
    assert saver.get_tuple(thread("single", checkpoint_id="none")) is None
    assert saver.get_tuple(thread("other")) is None


def test_checkpoints_are_listed_newest_first(saver: DynamoDBSaver) -> None:
    ids = put_checkpoints(saver, "listed", 7)

    def listed(**options: Any) -> list[str]:
        return [each.checkpoint["id"] for each in saver.list(thread("listed"), **options)]

    assert listed() == ids[::-1]
    assert listed(limit=2) == [ids[6], ids[5]]
    before = thread("listed", checkpoint_id=ids[3])
    assert listed(before=before) == [ids[2], ids[1], ids[0]]
    assert listed(before=before, limit=1) == [ids[2]]
    assert listed(filter={"step": 4}) == [ids[4]]
    assert listed(filter={"source": "input"}) == []


def test_writes_are_kept_with_their_checkpoint(saver: DynamoDBSaver) -> None:
    put_checkpoints(saver, "writes", 1)
    config = saver.get_tuple(thread("writes")).config
    saver.put_writes(config, [("steps", ["a"]), ("steps", b"\x00\xff")], "task-1")
    saver.put_writes(config, [("steps", ["again"])], "task-1")  # it exists already
    saver.put_writes(config, [("__error__", "first")], "task-2")
    saver.put_writes(config, [("__error__", "second")], "task-2")  # an error is replaced

    assert saver.get_tuple(config).pending_writes == [
        ("task-1", "steps", ["a"]),
        ("task-1", "steps", b"\x00\xff"),
        ("task-2", "__error__", "second"),
    ]


def test_a_graph_waits_and_goes_on(saver: DynamoDBSaver) -> None:
    graph, config = make_graph(saver), thread("approval")
    waiting = graph.invoke({"steps": [], "approved": False}, config)
    assert [each.value for each in waiting["__interrupt__"]] == [{"question": "Send it?"}]
    assert graph.get_state(config).next == ("review",)

    # A graph of another process has nothing but the table.
    done = make_graph(DynamoDBSaver(table_name=TABLE)).invoke(Command(resume=True), config)
    assert done == {"steps": ["draft", "review", "sent"], "approved": True}
    assert graph.get_state(config).next == ()


def test_a_graph_goes_back_in_its_history(saver: DynamoDBSaver) -> None:
    graph, config = make_graph(saver), thread("history")
    graph.invoke({"steps": [], "approved": False}, config)
    graph.invoke(Command(resume=True), config)
    history = list(graph.get_state_history(config))
    assert [each.next for each in history] == [(), ("send",), ("review",), ("draft",), (START,)]
    assert [each.metadata["step"] for each in history] == [3, 2, 1, 0, -1]

    # Another outcome, from the point before the last step.
    changed = graph.update_state(history[1].config, {"approved": False})
    assert graph.invoke(None, changed)["steps"] == ["draft", "review", "dropped"]
    assert graph.get_state(history[0].config).values["steps"][-1] == "sent"
    assert graph.get_state(config).values["steps"][-1] == "dropped"


def test_a_failed_step_is_repeated_alone(saver: DynamoDBSaver) -> None:
    config = thread("failed")
    runs: list[str] = []

    def good(state: State) -> dict[str, Any]:
        runs.append("good")
        return {"steps": ["good"]}

    def bad(state: State) -> dict[str, Any]:
        runs.append("bad")
        if runs.count("bad") == 1:
            # The graph stores what the other node wrote in the background; a failure cancels that.
            while not saver.get_tuple(config).pending_writes:
                time.sleep(0.01)
            raise RuntimeError("bad")
        return {"steps": ["bad"]}

    builder = StateGraph(State)
    builder.add_node("good", good)
    builder.add_node("bad", bad)
    builder.add_edge(START, "good")
    builder.add_edge(START, "bad")
    graph = builder.compile(checkpointer=saver)
    with pytest.raises(RuntimeError, match="bad"):
        graph.invoke({"steps": [], "approved": False}, config, durability="sync")
    assert sorted(graph.invoke(None, config)["steps"]) == ["bad", "good"]
    assert sorted(runs) == ["bad", "bad", "good"]


def test_a_subgraph_has_its_own_checkpoints(saver: DynamoDBSaver) -> None:
    def ask(state: State) -> dict[str, Any]:
        return {"steps": [interrupt("inner")]}

    inner = StateGraph(State)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    outer = StateGraph(State)
    outer.add_node("inner", inner.compile())
    outer.add_edge(START, "inner")
    graph, config = outer.compile(checkpointer=saver), thread("nested")
    graph.invoke({"steps": [], "approved": False}, config)

    [task] = graph.get_state(config, subgraphs=True).tasks
    assert task.state.next == ("ask",)
    namespaces = {each.config["configurable"]["checkpoint_ns"] for each in saver.list(config)}
    assert {each.partition(":")[0] for each in namespaces} == {"", "inner"}
    assert graph.invoke(Command(resume="answer"), config)["steps"] == ["answer"]


def test_a_graph_runs_asynchronously(saver: DynamoDBSaver) -> None:
    async def use() -> None:
        graph = make_graph(saver)
        configs = [thread(f"async-{number}") for number in range(8)]
        start = {"steps": [], "approved": False}
        await asyncio.gather(*(graph.ainvoke(start, config) for config in configs))
        resumed = (graph.ainvoke(Command(resume=True), config) for config in configs)
        results = await asyncio.gather(*resumed)
        assert [each["steps"] for each in results] == [["draft", "review", "sent"]] * 8

        history = [each async for each in graph.aget_state_history(configs[0])]
        assert len(history) == 5
        listed = [each async for each in saver.alist(configs[0], limit=2)]
        assert [each.config for each in listed] == [each.config for each in history[:2]]
        assert (await saver.aget_tuple(configs[0])).config == history[0].config
        await saver.adelete_thread("async-0")
        assert await saver.aget_tuple(configs[0]) is None
        assert await saver.aget_tuple(configs[1]) is not None

    asyncio.run(use())


def test_a_deleted_thread_leaves_nothing(saver: DynamoDBSaver) -> None:
    before = count_items()
    # More than a batch reads (100) and writes (25).
    put_checkpoints(saver, "deleted", 120)
    config = saver.get_tuple(thread("deleted")).config
    saver.put_writes(config, [("steps", number) for number in range(30)], "task")
    assert count_items() == before + 2 * (120 + 30)
    saver.delete_thread("deleted")
    assert count_items() == before
    assert saver.get_tuple(thread("deleted")) is None


def test_large_checkpoints_are_kept_up_to_the_limit_of_an_item(saver: DynamoDBSaver) -> None:
    def put(saver: DynamoDBSaver, name: str, text: str) -> Any:
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"text": text}
        saver.put(thread(name, checkpoint_ns=""), checkpoint, {"step": 0}, {})
        return saver.get_tuple(thread(name)).checkpoint["channel_values"]["text"]

    text = "0123456789" * 39_000
    assert put(saver, "large", text) == text
    for step in range(4):  # together more than a page of 1 MB
        put(saver, "large", f"{step}{text}")
    assert len(list(saver.list(thread("large")))) == 5
    with pytest.raises(ClientError) as error:
        put(saver, "too large", text * 2)
    assert error.value.response["Error"] == {
        "Code": "ValidationException",
        "Message": "Item size has exceeded the maximum allowed size",
    }
    compressing = DynamoDBSaver(table_name=TABLE, enable_checkpoint_compression=True)
    assert put(compressing, "compressed", text * 2) == text * 2


def test_checkpoints_expire(saver: DynamoDBSaver, service: Service | None) -> None:
    client = boto3.client("dynamodb")
    if service is not None:
        client.update_time_to_live(
            TableName=TABLE, TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"}
        )
    put_checkpoints(saver, "kept", 1)
    before = count_items()
    put_checkpoints(DynamoDBSaver(table_name=TABLE, ttl_seconds=3600), "expiring", 2)
    pages = client.get_paginator("scan").paginate(
        TableName=TABLE,
        FilterExpression="attribute_exists(#ttl)",
        ExpressionAttributeNames={"#ttl": "ttl"},
    )
    expiries = [int(item["ttl"]["N"]) for page in pages for item in page["Items"]]
    assert len(expiries) == 4
    assert all(3500 < each - time.time() <= 3600 for each in expiries)
    if service is not None:
        service.clock.advance(timedelta(hours=2))
        assert count_items() == before
        assert saver.get_tuple(thread("expiring")) is None
        assert saver.get_tuple(thread("kept")) is not None


def test_a_graph_waits_for_the_restart(saver: DynamoDBSaver) -> None:
    make_graph(saver).invoke({"steps": [], "approved": False}, thread("restarted"))
    put_checkpoints(saver, "survivors", 3)


def test_after_restart_the_graph_goes_on(saver: DynamoDBSaver) -> None:
    graph, config = make_graph(saver), thread("restarted")
    assert graph.get_state(config).next == ("review",)
    done = graph.invoke(Command(resume=True), config)
    assert done == {"steps": ["draft", "review", "sent"], "approved": True}
    steps = [each.metadata["step"] for each in saver.list(thread("survivors"))]
    assert steps == [2, 1, 0]
