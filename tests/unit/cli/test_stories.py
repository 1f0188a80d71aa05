from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import keyfold
from keyfold.cli._demo_databases import MOST_LAG
from keyfold.cli._stories import (
    STORIES,
    Actor,
    Story,
    StoryClock,
    StoryReport,
    Teller,
    report,
    tell_stories,
    tell_story,
)
from keyfold.designs import exchange_rates
from keyfold.engine import Engine
from keyfold.errors import NotFound, ResourceNotFoundException
from keyfold.store import Store, make_write_checks
from keyfold.store._sent_calls import CallLog
from keyfold.testing import FaultProfile, dynamodb
from keyfold.wire.client import Credentials
from keyfold.wire.server import Server, make_key_gate
from tests.transports import START, Transport
from tests.unit.cli.program import Run

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def find_problems(told: StoryReport) -> list[str]:
    return [f"{step.text} {each}" for step in told.steps for each in step.problems]


@pytest.mark.parametrize("design", STORIES)
def test_every_step_goes_as_the_story_has_it_on_any_database(
    url: str, transport: Transport, design: str
) -> None:
    is_shared = transport.kind == "foreign"
    if is_shared:
        drop_table(url, design)
    [told] = tell_stories(url, now=START if is_shared else NOW, designs=[design])
    if is_shared:
        drop_table(url, design)
    assert find_problems(told) == []


def test_every_step_goes_as_the_story_has_it_while_indexes_lag() -> None:
    told = tell_stories("", now=NOW, index_lag=MOST_LAG)
    assert [problem for each in told for problem in find_problems(each)] == []
    calls = [call for each in told for step in each.steps for call in step.calls]
    plain = [
        call
        for each in tell_stories("", now=NOW, index_lag=1)
        for step in each.steps
        for call in step.calls
    ]
    assert len(calls) > len(plain), "more lag takes more attempts"


def test_every_step_goes_as_the_story_has_it_where_all_reads_lag() -> None:
    with dynamodb(faults=FaultProfile(stale_reads=1.0, index_lag=1.0, lag_writes=2)):
        told = tell_stories("dynamodb://us-east-1", now=START)
    assert [problem for each in told for problem in find_problems(each)] == []


def drop_table(url: str, design: str) -> None:
    """Drop the table of a design that another test may have left in a shared database."""
    table = STORIES[design].table
    with (
        suppress(ResourceNotFoundException),
        keyfold.open(table, url, cursor_key=bytes(32)) as store,
    ):
        store.drop_table(table)


def open_with_key(
    run: Run, keys: Path, url: str, log: CallLog, clock: StoryClock
) -> Callable[[Actor], Store]:
    """Return a function that gives an actor an access key, and opens a store with it."""

    def open_as(actor: Actor) -> Store:
        roles = [word for role in actor.roles for word in ("--role", role)] or ["--admin"]
        ids = [word for each in actor.ids.items() for word in ("--id", "=".join(each))]
        name = re.sub(r"\W+", "-", actor.name)
        outcome = run("keys", "add", keys, "--name", name, *roles, *ids, "--json")
        assert outcome.code == 0, outcome.err
        made = json.loads(outcome.out)
        credentials = Credentials(made["access_key"], made["secret"])
        tables = [story.table for story in STORIES.values()]
        return keyfold.open(
            tables, url, credentials=credentials, clock=clock, on_call=[log], cursor_key=bytes(32)
        )

    return open_as


@pytest.mark.parametrize("design", STORIES)
def test_every_step_goes_as_the_story_has_it_over_the_wire_with_access_keys(
    run: Run, tmp_path: Path, design: str
) -> None:
    table, clock = STORIES[design].table, StoryClock(NOW)
    log, keys = CallLog([table]), tmp_path / "keys.toml"
    run("keys", "add", keys, "--name", "operator", "--admin")
    with ExitStack() as stack:
        checks = make_write_checks([table], clock=clock)
        engine = stack.enter_context(
            Engine.open(":memory:", clock=clock, upkeep_seconds=None, write_checks=checks)
        )
        engine.execute("CreateTable", table.to_dynamodb())
        gate = make_key_gate(str(keys), engine.find_key_names, tables=[table], checked=checks)
        url = stack.enter_context(Server(engine, gate=gate).running())
        open_store = open_with_key(run, keys, url, log, clock)
        told = tell_story(design, clock, log, lambda actor: stack.enter_context(open_store(actor)))
    assert find_problems(told) == []


def test_the_command_tells_every_story(run: Run) -> None:
    outcome = run("demo", "--story")
    assert (outcome.code, outcome.err) == (0, "")
    for design, story in STORIES.items():
        assert f"{design}  {story.title}\n" in outcome.out
    [told, number] = re.findall(r"(\d+) of (\d+) steps as the stories have it", outcome.out)[0]
    assert told == number
    assert "✗" not in outcome.out
    assert all(line == line.rstrip() for line in outcome.out.splitlines())


def test_json_has_every_step(run: Run) -> None:
    told = json.loads(run("demo", "--story", "--json").out)
    assert told["as_expected"] is True
    assert [each["design"] for each in told["stories"]] == list(STORIES)
    steps = [step for story in told["stories"] for step in story["steps"]]
    assert all(
        step["calls"] for step in steps if step["pattern"] and "refused" not in step["outcome"]
    )


# What does not go as a story has it is reported.


def _expect_too_much(story: Teller) -> None:
    shop = story.actor("A shop")
    found = story.step(shop, "looks a rate up.", exchange_rates.get, "USD", "EUR")
    story.check(found is not None, "the rate is found")
    story.later("A day passes.", timedelta(days=1))


def _read_too_much(story: Teller) -> None:
    shop = story.actor("A shop")
    story.read(
        shop, "looks a rate up.", "the rate is found", bool, exchange_rates.get, "USD", "EUR"
    )
    story.later("A day passes.", timedelta(days=1))


def _fail(story: Teller) -> None:
    shop = story.actor("A shop")
    story.step(shop, "flags a rate.", exchange_rates.mark_stale, "USD", "EUR")
    story.later("A day passes.", timedelta(days=1))


def _expect_a_refusal(story: Teller) -> None:
    shop = story.actor("A shop")
    story.refused(shop, "looks a rate up.", NotFound, exchange_rates.get, "USD", "EUR")
    story.later("A day passes.", timedelta(days=1))


@pytest.mark.parametrize(
    ("tell", "problem", "steps"),
    [
        (_expect_too_much, "it does not hold that the rate is found", 2),
        (_read_too_much, "it does not hold that the rate is found; got None", 1),
        (_fail, "expected a result; got ", 1),
        (_expect_a_refusal, "expected NotFound; got None", 1),
    ],
)
def test_what_does_not_go_as_told_is_reported(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    tell: Callable[[Teller], None],
    problem: str,
    steps: int,
) -> None:
    story = Story("A bad day", exchange_rates.table, tell)
    monkeypatch.setattr(report, "STORIES", {"exchange_rates": story})
    outcome = run("demo", "--story")
    assert outcome.code == 1
    assert f"✗   {problem}" in outcome.out
    assert f"{steps - 1} of {steps} step" in outcome.out
