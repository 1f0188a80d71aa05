"""The caps of agents: items and bytes of an answer, units of a call and of a session."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp import Client

import keyfold
from keyfold.errors import OptionInvalid
from keyfold.service import RateLimit, RateLimits
from keyfold.service._database import ServiceDatabase
from keyfold.service.mcp import AgentCaps, AgentService, AgentSettings
from tests.unit.service.mcp.agents import agent, call, fail
from tests.unit.service.mcp.journal import ADA, BOB, JournalNote, journal
from tests.unit.service.tokens import Watch


def run_on(
    notes: list[JournalNote], use: Any, caps: AgentCaps | None = None, **options: Any
) -> None:
    """Use a client of ada's, where some notes are stored."""

    async def main() -> None:
        async with keyfold.open_async(journal, ":memory:") as store:
            for each in notes:
                await store.run(each.create())
            given = AgentSettings(caps=caps or AgentCaps(), **options)
            service = AgentService(journal, ServiceDatabase(journal, store), given)
            async with agent(journal, service=service, caller=ADA) as client:
                await use(client)

    asyncio.run(main())


def notes(count: int, text: str = "", **more: Any) -> list[JournalNote]:
    return [JournalNote(user="ada", number=each, text=text, **more) for each in range(count)]


async def read_all(client: Client, **arguments: Any) -> list[dict[str, Any]]:
    """Return the answers of a list, by following its cursors."""
    answers = [await call(client, "notes_of", **arguments)]
    while "cursor" in answers[-1]:
        assert "call again with the same arguments" in answers[-1]["note"]
        assert len(answers) < 50, "the cursors lead nowhere"
        cursor = answers[-1]["cursor"]
        answers.append(await call(client, "notes_of", cursor=cursor, **arguments))
    return answers


def numbers(answers: list[dict[str, Any]]) -> list[list[int]]:
    return [[item["number"] for item in answer["items"]] for answer in answers]


def test_an_answer_has_as_many_items_as_asked_for() -> None:
    async def use(client: Client) -> None:
        answers = await read_all(client, user="ada", limit=3)
        assert numbers(answers) == [[0, 1, 2], [3, 4, 5], [6]]

    run_on(notes(7), use)


def test_an_answer_has_a_few_items_if_no_number_is_asked_for() -> None:
    async def use(client: Client) -> None:
        answers = await read_all(client, user="ada")
        assert [*map(len, numbers(answers))] == [25, 5]

    run_on(notes(30), use)


def test_an_answer_has_at_most_as_many_items_as_the_operator_says() -> None:
    async def use(client: Client) -> None:
        answers = await read_all(client, user="ada", limit=100)
        assert [*map(len, numbers(answers))] == [4, 4, 2]
        # The pattern's own limit is one of its arguments.
        assert len((await call(client, "first_notes", user="ada", limit=9))["items"]) == 4

    run_on(notes(10), use, AgentCaps(items=4))


def test_an_answer_has_as_many_items_as_fit_into_its_bytes() -> None:
    async def use(client: Client) -> None:
        answers = await read_all(client, user="ada")
        assert [each for part in numbers(answers) for each in part] == [*range(10)]
        assert len(answers) > 3
        assert answers[0]["note"].startswith("An answer has up to 1,000 bytes.")
        for each in answers:
            assert len(str(each["items"])) < 1_100

    run_on(notes(10, "x" * 200), use, AgentCaps(answer_bytes=1_000))


def test_an_item_that_no_answer_can_have_is_passed_over() -> None:
    stored = notes(5)
    stored[2] = stored[2].model_copy(update={"text": "x" * 5_000})

    async def use(client: Client) -> None:
        answers = await read_all(client, user="ada")
        assert [each for part in numbers(answers) for each in part] == [0, 1, 3, 4]
        (told,) = [each for each in answers if "left out" in each.get("note", "")]
        assert told["items"] == []
        error = await fail(client, "note_of", user="ada", number=2)
        assert error["code"] == "answer-too-large"

    run_on(stored, use, AgentCaps(answer_bytes=1_000))


def test_a_write_whose_result_is_too_large_is_not_an_error() -> None:
    async def use(client: Client) -> None:
        note = {"user": "ada", "number": 1, "text": "x" * 2_000}
        answer = await call(client, "write_note", note=note)
        assert "result" not in answer
        assert answer["note"].startswith("It was carried out.")
        assert (await fail(client, "write_note", note=note))["code"] == "already-exists"

    run_on([], use, AgentCaps(answer_bytes=1_000), may_write=True)


def test_a_list_that_is_filtered_ends_at_the_units_of_a_call() -> None:
    stored = notes(60, "x" * 3_000)

    async def use(client: Client) -> None:
        first, *others = await read_all(client, user="ada", topic="rare")
        assert (first["items"], others == []) == ([], False)
        assert first["note"].startswith("A call uses up to 3 capacity units.")
        assert first["units"] < 20

    run_on(stored, use, AgentCaps(call_units=3))


def test_a_pattern_of_several_reads_is_stopped_at_the_units_of_a_call() -> None:
    async def use(client: Client) -> None:
        error = await fail(client, "note_and_next", user="ada", number=0)
        assert error["code"] == "call-units-spent"
        assert "stopped after 6.5 capacity units; it may use 6" in error["detail"]

    run_on(notes(2, "x" * 50_000), use, AgentCaps(call_units=6))


def test_a_session_ends_at_its_units() -> None:
    async def use(client: Client) -> None:
        for _ in range(4):
            await call(client, "note_of", user="ada", number=0)
        error = await fail(client, "note_of", user="ada", number=0)
        assert error["code"] == "session-units-spent"
        # Writes and failures are no way around it.
        assert (await fail(client, "nothing"))["code"] == "session-units-spent"

    run_on(notes(1), use, AgentCaps(session_units=2))


def test_calls_at_once_do_not_pass_the_units_of_a_session() -> None:
    async def use(client: Client) -> None:
        tried = [client.call_tool("note_of", {"user": "ada", "number": 0}) for _ in range(40)]
        done = [each for each in await asyncio.gather(*tried) if not each.is_error]
        assert 4 <= len(done) <= 8

    run_on(notes(1), use, AgentCaps(session_units=2))


def test_sessions_are_of_principals_and_end_when_idle() -> None:
    watch = Watch()

    async def main() -> None:
        settings = AgentSettings(
            caps=AgentCaps(session_units=0.5), idle_seconds=60, monotonic=watch
        )
        service = AgentService(journal, ServiceDatabase(journal, ":memory:"), settings)
        note = {"user": "ada", "number": 1}
        assert not (await service.call(ADA, "note_of", note)).is_error
        assert (await service.call(ADA, "note_of", note)).is_error
        assert not (await service.call(BOB, "note_of", {**note, "user": "bob"})).is_error
        watch.now += 61
        assert not (await service.call(ADA, "note_of", note)).is_error
        await service.database.close()

    asyncio.run(main())


def test_rate_limits_hold_for_agents() -> None:
    watch = Watch()
    limits = RateLimits(RateLimit(units_per_second=1, burst_units=1), monotonic=watch)

    async def use(client: Client) -> None:
        for _ in range(2):
            await call(client, "note_of", user="ada", number=0)
        assert (await fail(client, "note_of", user="ada", number=0))["code"] == "rate-limited"
        watch.now += 2
        await call(client, "note_of", user="ada", number=0)

    run_on(notes(1), use, limits=limits)


@pytest.mark.parametrize("name", ["items", "answer_bytes", "call_units", "session_units"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_caps_are_above_zero(name: str, value: Any) -> None:
    with pytest.raises(OptionInvalid):
        AgentCaps(**{name: value})
