"""Clients that reconnect hear what they have missed, once each and in order, or that there is a gap."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from keyfold import Entity, Key, Role, Table, part
from keyfold.errors import LimitExceededException
from keyfold.policy import EVERYTHING, READ
from keyfold.service._changes import ChangeWatcher
from tests.unit.service.listeners import Listener, Scene, open_scene

counters = Table("ChangeCounters", key=Key("pk", "sk"), stream="new and old")
DAY = 24 * 60 * 60


class Counter(Entity, table=counters, key=("C#{owner}#{name}", "COUNT")):
    owner: str = part()
    name: str = part()
    value: int


counters.add_role(Role("owner", tenant="owner", can={Counter: READ}))
counters.add_role(Role("auditor", can={EVERYTHING: READ}))

Test = Callable[[Scene], Awaitable[None]]


def play(test: Test, **options: Any) -> None:
    async def run() -> None:
        async with open_scene(counters, **options) as scene:
            await test(scene)

    asyncio.run(run())


async def count(scene: Scene, *values: int, owner: str = "ada", name: str = "n") -> None:
    for value in values:
        await scene.run(Counter(owner=owner, name=name, value=value).put())


def values(listener: Listener) -> list[int]:
    """Take the values that were heard, with -1 for a gap."""
    heard, listener.heard = listener.heard, []
    return [-1 if each.kind == "gap" else each.data["new"]["value"] for each in heard]


# Reconnecting.


def test_a_client_that_reconnects_hears_what_it_has_missed() -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("owner", owner="ada")
        await count(scene, 1, 2)
        await scene.tick()
        last = await ada.leave()
        await count(scene, 3, 4)
        again = await scene.listen("owner", owner="ada", last=last)
        assert values(ada) == [1, 2]
        assert values(again) == [3, 4]
        await count(scene, 5)
        await scene.tick()
        assert values(again) == [5]

    play(test)


def test_a_client_may_reconnect_before_it_heard_anything() -> None:
    async def test(scene: Scene) -> None:
        await count(scene, 1)
        await scene.tick(60)
        last = await (await scene.listen("owner", owner="ada")).leave()
        await scene.tick(60)
        await count(scene, 2)
        again = await scene.listen("owner", owner="ada", last=last)
        assert values(again) == [2]

    play(test)


def test_a_client_goes_on_after_each_event_that_it_heard() -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("owner", owner="ada")
        await count(scene, *range(12))
        await scene.tick()
        for place, event in enumerate(ada.heard):
            again = await scene.listen("owner", owner="ada", last=event.id)
            await scene.tick()
            assert values(again) == list(range(place + 1, 12))

    play(test, shard_records=4)


def test_another_process_goes_on_with_the_same_event_id() -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("owner", owner="ada")
        await count(scene, 1)
        await scene.tick()
        other = scene.start()
        await count(scene, 2)
        # One listens there already, from now on.
        bob = await scene.listen("auditor", watcher=other)
        again = await scene.listen("owner", owner="ada", last=ada.last_id, watcher=other)
        assert values(again) == [2]
        await count(scene, 3)
        await scene.tick()
        assert values(again) == [3]
        assert values(bob) == [3]
        other.close()

    play(test)


def test_a_client_that_is_ahead_of_a_feed_hears_nothing_twice() -> None:
    async def test(scene: Scene) -> None:
        other = scene.start()
        await scene.listen("auditor")
        here = await scene.listen("owner", owner="ada")
        there = await scene.listen("owner", owner="ada", watcher=other)
        await count(scene, 1)
        await scene.tick()
        # Only the other process has heard of the second.
        await here.leave()
        await count(scene, 2)
        for _ in range(3):
            await other._feeds[0].read_round()
        await scene.settle()
        assert values(there) == [1, 2]
        moved = await scene.listen("owner", owner="ada", last=there.last_id)
        await count(scene, 3)
        await scene.tick()
        await scene.tick()
        assert values(moved) == [3]
        other.close()

    play(test)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_missed_or_heard_twice(seed: int) -> None:
    """Clients come, go and move between processes while items change and shards are split."""
    rng = random.Random(seed)

    async def test(scene: Scene) -> None:
        processes: list[ChangeWatcher] = [scene.watcher, scene.start()]
        names = [f"{owner}{number}" for owner in ("ada", "bob") for number in range(4)]
        written: dict[str, list[int]] = defaultdict(list)
        heard: dict[str, list[Any]] = defaultdict(list)
        clients: dict[str, Listener | None] = {
            owner: await scene.listen("owner", owner=owner) for owner in ("ada", "bob")
        }
        last = {owner: client.last_id for owner, client in clients.items() if client}

        def collect(client: Listener) -> None:
            for each in client.heard:
                assert each.kind != "gap"
                heard[each.data["key"]["name"]].append(each.data["new"]["value"])
            client.heard.clear()

        for step in range(150):
            match rng.randrange(6):
                case 0 | 1 | 2:
                    name = rng.choice(names)
                    await count(scene, step, owner=name[:3], name=name)
                    written[name].append(step)
                case 3:
                    await scene.tick(rng.choice([0.5, 1.0, 3.0, 900.0]))
                case 4:
                    # A client gets some events, loses the connection, and reconnects elsewhere.
                    owner = rng.choice(["ada", "bob"])
                    client = clients[owner]
                    if client is not None:
                        last[owner] = await client.leave()
                        collect(client)
                        clients[owner] = None
                case _:
                    owner = rng.choice(["ada", "bob"])
                    if clients[owner] is None:
                        process = rng.choice(processes)
                        clients[owner] = await scene.listen(
                            "owner", owner=owner, last=last[owner], watcher=process
                        )
        for owner, client in clients.items():
            found = client or await scene.listen("owner", owner=owner, last=last[owner])
            for _ in range(20):
                await scene.tick()
            collect(found)
        assert heard == written
        processes[1].close()

    play(test, shard_records=rng.choice([3, 8, 10_000]))


# Gaps.


def test_a_position_that_is_too_old_is_a_gap() -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("owner", owner="ada")
        await count(scene, 1)
        await scene.tick()
        last = await ada.leave()
        await count(scene, 2)
        await scene.tick(DAY + 60)
        await count(scene, 3)
        again = await scene.listen("owner", owner="ada", last=last)
        assert values(again) == [-1, 3]
        # The gap was told.
        last = await again.leave()
        await count(scene, 4)
        assert values(await scene.listen("owner", owner="ada", last=last)) == [4]

    play(test)


def test_a_gap_does_not_depend_on_what_others_have_written() -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("owner", owner="ada")
        last = await ada.leave()
        await scene.tick(DAY + 60)
        again = await scene.listen("owner", owner="ada", last=last)
        assert values(again) == [-1]

    play(test)


def test_a_client_without_changes_does_not_fall_behind() -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("owner", owner="ada")
        for hour in range(30):
            await count(scene, hour, owner="bob")
            await scene.tick(3600)
            await scene.tick()
        assert ada.heard == []
        again = await scene.listen("owner", owner="ada", last=ada.last_id)
        await count(scene, 1)
        await scene.tick()
        assert values(again) == [1]

    play(test)


async def set_stream(scene: Scene, *, is_on: bool) -> None:
    specification: dict[str, Any] = {"StreamEnabled": is_on}
    if is_on:
        specification["StreamViewType"] = "NEW_AND_OLD_IMAGES"
    request = {"TableName": counters.name, "StreamSpecification": specification}
    await scene.store.execute("UpdateTable", request)


def test_a_stream_that_is_enabled_again_is_read_on() -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("owner", owner="ada")
        await count(scene, 1)
        await scene.tick()
        last = await ada.leave()
        stays = await scene.listen("owner", owner="ada")
        await count(scene, 2)
        await set_stream(scene, is_on=False)
        await scene.tick(2)
        await set_stream(scene, is_on=True)
        await count(scene, 3)
        for _ in range(4):
            await scene.tick(10)
        assert values(stays) == [2, 3]
        again = await scene.listen("owner", owner="ada", last=last)
        for _ in range(4):
            await scene.tick(10)
        assert values(again) == [2, 3]

    play(test)


def test_a_stream_that_is_gone_is_a_gap() -> None:
    async def test(scene: Scene) -> None:
        last = await (await scene.listen("owner", owner="ada")).leave()
        await count(scene, 1)
        await scene.store.drop_table(counters)
        await scene.tick(DAY + 60)
        scene.engine.run_upkeep()
        await scene.store.create_table(counters)
        await count(scene, 2)
        again = await scene.listen("owner", owner="ada", last=last)
        assert values(again) == [-1, 2]

    play(test)


# One reader for all.


def test_many_listeners_share_one_reader() -> None:
    async def test(scene: Scene) -> None:
        listeners = [await scene.listen("owner", owner=f"user{each}") for each in range(40)]
        del scene.calls[:]
        for _ in range(5):
            await scene.tick()
        assert scene.calls.count("GetRecords") == 5
        # They reconnect after a restart, all at once.
        scene.watcher.close()
        await scene.settle()
        assert all(each.is_over for each in listeners)
        scene.watcher = scene.start()
        await scene.tick()
        del scene.calls[:]
        for place, each in enumerate(listeners):
            listeners[place] = await scene.listen("owner", owner=f"user{place}", last=each.last_id)
        assert len(scene.calls) < 10
        await count(scene, 1, owner="user7")
        await scene.tick()
        assert [values(each) for each in listeners] == [[1] if n == 7 else [] for n in range(40)]

    play(test)


def test_nothing_is_read_while_nobody_listens() -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("owner", owner="ada")
        await ada.leave()
        await scene.settle()
        del scene.calls[:]
        await scene.tick(60)
        assert scene.calls == []

    play(test)


def test_a_slow_client_is_ended_and_misses_nothing() -> None:
    async def test(scene: Scene) -> None:
        bob = await scene.listen("owner", owner="bob")
        slow = await scene.listen("owner", owner="ada")
        slow.pause()
        await count(scene, 0)
        await scene.tick()
        for value in range(1, 10):
            await count(scene, value)
            await scene.tick()
        slow.go_on()
        await scene.settle()
        # What fits into its queue is sent, and the stream ends.
        assert (values(slow), slow.is_over) == ([0, 1, 2, 3, 4], True)
        assert not bob.is_over
        again = await scene.listen("owner", owner="ada", last=slow.last_id)
        assert values(again) == [5, 6, 7, 8, 9]

    play(test, queue_events=4)


def test_a_queue_is_limited_in_bytes() -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("owner", owner="ada")
        await count(scene, 1, 2, 3)
        await scene.tick()
        assert (values(ada), ada.is_over) == ([1], True)

    play(test, queue_bytes=100)


def test_a_stream_of_events_ends_with_its_token() -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("owner", owner="ada", expires=scene.clock() + 10)
        resumed = await scene.listen(
            "owner", owner="ada", last=ada.last_id, expires=scene.clock() + 20
        )
        await count(scene, 1)
        await scene.tick()
        await scene.tick(9)
        await count(scene, 2)
        await scene.tick()
        assert (values(ada), ada.is_over) == ([1], True)
        assert (values(resumed), resumed.is_over) == ([1, 2], False)
        await scene.tick(10)
        assert resumed.is_over

    play(test)


def test_a_client_that_waits_gets_signs_of_life() -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("owner", owner="ada")
        assert ada.received.startswith(b"retry: 2000\nid: ")
        before = ada.last_id
        await scene.tick(14)
        assert ada.last_id == before
        await scene.tick(1)
        assert b": keep-alive\n" in ada.received
        assert ada.last_id != before

    play(test)


# Faults.


def test_errors_of_the_database_are_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("owner", owner="ada")
        await count(scene, 1)
        whole = scene.engine.execute
        faults = iter([LimitExceededException("busy"), LimitExceededException("busy")])

        def execute(operation: str, request: dict[str, Any]) -> dict[str, Any]:
            fault = next(faults, None) if operation == "GetRecords" else None
            if fault is not None:
                raise fault
            return whole(operation, request)

        monkeypatch.setattr(scene.engine, "execute", execute)
        await scene.tick()
        assert values(ada) == []
        await scene.tick()
        await scene.tick()
        assert values(ada) == [1]

    play(test)


def test_listeners_are_ended_if_the_stream_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(scene: Scene) -> None:
        ada = await scene.listen("owner", owner="ada")

        def execute(operation: str, request: dict[str, Any]) -> dict[str, Any]:
            raise ValueError(operation, request)

        with monkeypatch.context() as patch:
            patch.setattr(scene.engine, "execute", execute)
            await scene.tick()
            assert ada.is_over
        await count(scene, 1)
        assert values(await scene.listen("owner", owner="ada", last=ada.last_id)) == [1]

    play(test)
