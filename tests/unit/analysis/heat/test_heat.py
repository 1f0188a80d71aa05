"""The heat of a table: simulated workloads, replayed traffic, and what would help."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from keyfold.analysis import Workload, find_sample, profile_table, read_workload
from keyfold.analysis.heat import (
    Arrival,
    HeatReport,
    RecordedLoad,
    WorkloadLoad,
    plan_heat,
    replay_traffic,
    simulate,
    simulate_workload,
)
from keyfold.analysis.profiles import TableProfile
from keyfold.capacity import Refusal
from keyfold.designs import letsgo, market
from keyfold.engine import Engine, TrafficFile, TrafficRecord
from keyfold.errors import ThrottlingException, TrafficInvalid, WorkloadInvalid
from keyfold.model import Table
from tests.unit.analysis import library
from tests.unit.analysis.heat import visits
from tests.unit.engine.clocks import Clock


def _read(tmp_path: Path, text: str, table: Table = visits.table) -> Workload:
    file = tmp_path / "use.toml"
    file.write_text(text)
    return read_workload(table, file)


def _profile(tmp_path: Path, text: str, table: Table = visits.table) -> TableProfile:
    return profile_table(table, find_sample(table), _read(tmp_path, text, table))


_DAYS = """
[patterns."Count a visit"]
rate = "{rate}/s"
skew = {skew}
keys = {keys}
"""


def _heat(tmp_path: Path, **use: Any) -> HeatReport:
    factors = use.pop("factors", (1.0,))
    profile = _profile(tmp_path, _DAYS.format(**use))
    return simulate_workload(profile, factors=factors, seconds=60)


def test_a_skewed_load_on_dates_is_throttled_and_sharding_clears_it(tmp_path: Path) -> None:
    report = _heat(tmp_path, rate=3_000, skew=1.5, keys=90)
    (run,) = report.runs
    assert [each.reason for each in run.throttling] == ["TableWriteKeyRangeThroughputExceeded"]
    assert run.throttling[0].at == 0.0
    assert run.throttling[0].patterns == ("Count a visit",)
    hottest = run.keys[0]
    assert hottest.label.startswith("DAY#2026-01-0")
    assert hottest.peak == pytest.approx(3_000 / sum(rank**-1.5 for rank in range(1, 91)), rel=0.01)
    (remedy,) = report.remedies
    assert remedy.clears
    assert remedy.shards[("", "Visit")] > 1
    assert "clears the throttling by partitions" in remedy.text


def test_one_day_needs_shards(tmp_path: Path) -> None:
    report = _heat(tmp_path, rate=1_800, skew=0, keys=1)
    (remedy,) = report.remedies
    assert remedy.shards == {("", "Visit"): 3}
    assert remedy.clears
    assert remedy.text.startswith("At 1x, write sharding of Visit in the table by 3")
    document = report.to_json()
    assert document["advice"] == [remedy.text]
    assert document["runs"][0]["keys"][0]["peak_units"] == 1_800


def test_an_even_load_is_served(tmp_path: Path) -> None:
    report = _heat(tmp_path, rate=2_500, skew=0, keys=100_000)
    assert report.runs[0].refused == 0
    assert report.remedies == ()


def test_ten_and_a_hundred_times_the_load(tmp_path: Path) -> None:
    report = _heat(tmp_path, rate=50, skew=1, keys=365, factors=(1, 10, 100))
    assert [run.refused > 0 for run in report.runs] == [False, False, True]
    assert report.runs[2].calls == pytest.approx(100 * report.runs[0].calls, rel=0.01)
    assert report.runs[2].keys[0].peak == pytest.approx(100 * report.runs[0].keys[0].peak, rel=0.1)


def test_the_same_seed_gives_the_same_report(tmp_path: Path) -> None:
    one, two = (_heat(tmp_path, rate=2_500, skew=1.2, keys=90).to_json() for _ in range(2))
    assert one == two


def test_an_index_of_few_values_is_hot_although_the_table_is_not(tmp_path: Path) -> None:
    text = _DAYS.format(rate=3_500, skew=0, keys=100_000)
    sample = find_sample(visits.table)
    item = visits.Visit.keyfold_schema().encode(
        visits.Visit(day=date(2026, 1, 1), visit="1", country="at")
    )
    profile = profile_table(visits.table, replace(sample, items=(item,)), _read(tmp_path, text))
    (run,) = simulate_workload(profile, factors=(1.0,), seconds=60).runs
    reasons = {each.reason for each in run.throttling}
    assert "IndexWriteKeyRangeThroughputExceeded" in reasons
    hottest = next(each for each in run.keys if each.name == "ByCountry")
    assert hottest.peak == pytest.approx(3_500 / 3, rel=0.1)


def test_queries_of_a_sharded_key_ask_every_shard(tmp_path: Path) -> None:
    text = '[patterns."Visits of a day"]\nrate = "10/s"\nkeys = 1\n'
    load = WorkloadLoad.plan(_profile(tmp_path, text), seconds=10)
    sharded = load.shard({("", "Visit"): 4})
    assert [len(call.requests) for call in load.calls] == [1]
    assert {len(call.requests) for call in sharded.calls} == {4}


def _heat_of(table: Table, tmp_path: Path, text: str) -> HeatReport:
    return simulate_workload(_profile(tmp_path, text, table), factors=(1.0,), seconds=60)


def test_keys_of_an_entity_are_not_taken_for_those_of_the_fallback(tmp_path: Path) -> None:
    text = """
patterns.get_tenant.rate = "100/s"
patterns.get_item = { rate = "100/s", keys = 50 }
entities = { Tenant = { items = "1k" }, AnyItem = { items = "5M" } }
"""
    (run,) = _heat_of(letsgo.table, tmp_path, text).runs
    assert run.keys[0].label == "letsgo-tenant"
    assert run.keys[0].peak == pytest.approx(50, rel=0.05)
    assert run.keys[1].peak == pytest.approx(1, rel=0.05)


def test_guards_have_as_many_keys_as_there_are_values(tmp_path: Path) -> None:
    text = """
patterns."Place an order".rate = "500/s"
entities.Order.items = "3M"
"""
    (run,) = _heat_of(market.table, tmp_path, text).runs
    hot = {(each.name, each.label) for each in run.keys if each.peak > 1}
    # In the table, each has a key of its own; in the reverse index, they share one.
    assert {each for each in hot if "keyfold#unique" in each[1]} == {
        ("ReverseIndex", "keyfold#unique")
    }
    # The order's number is not taken for one of the few users' ids.
    assert "IdLookupIndex" not in {name for name, _ in hot}


def test_many_shards_of_many_keys_take_no_more_calls_than_a_few(tmp_path: Path) -> None:
    text = """
"Count a visit" = { rate = "10/s", keys = 10_000, skew = 1.2 }
"Visits of a day" = { rate = "10/s", keys = 10_000, skew = 1.2 }
"""
    load = WorkloadLoad.plan(_profile(tmp_path, f"[patterns]{text}"), seconds=10)
    sharded = load.shard({("", "Visit"): 500})
    assert sum(len(call.requests) for call in sharded.calls) < 3_000
    hottest = [each for call in sharded.calls for each in call.requests if "~" not in repr(each)]
    assert len({repr(each.uses) for each in hottest}) > 100, "they have shards of their own"
    rate_before, rate_after = (
        sum(rate for _, rate in each.rates(1.0, each.phases[0]) or ()) for each in (load, sharded)
    )
    assert rate_before == pytest.approx(rate_after)


def test_made_up_keys_belong_to_the_entity_of_the_sample(tmp_path: Path) -> None:
    text = '[patterns."Read a badge"]\nrate = "10/s"\nkeys = 50\n'
    load = WorkloadLoad.plan(_profile(tmp_path, text, visits.badges), seconds=10)
    planned = [each for call in load.calls for each in call.requests[0].uses]
    assert {each.role for each in planned} == {("", "Badge")}
    assert len({repr(each.use.key) for each in planned}) == 50


def test_items_of_one_partition_are_one_key(tmp_path: Path) -> None:
    """However many of them the sample has, the hottest key has only its share."""
    text = '[patterns."Add a stamp"]\nrate = "900/s"\nskew = 1.0\nkeys = 100\n'
    profile = _profile(tmp_path, text, visits.badges)
    (run,) = simulate_workload(profile, factors=(1.0,), seconds=20).runs
    share = 1 / sum(1 / rank for rank in range(1, 101))
    assert run.keys[0].peak == pytest.approx(900 * share, rel=0.1)


def test_keys_that_are_read_too_often_are_one_sentence(tmp_path: Path) -> None:
    text = '[patterns."Read a badge"]\nrate = "20000/s"\nkeys = 2\n'
    report = simulate_workload(_profile(tmp_path, text, visits.badges), factors=(1.0,), seconds=20)
    (sentence,) = report.advice
    assert " and 1 more in the table are read more often than a partition can serve" in sentence


def test_patterns_without_rates_are_named(tmp_path: Path) -> None:
    report = _heat(tmp_path, rate=10, skew=0, keys=10)
    assert any("Visits of a day" in each for each in report.assumptions)
    with pytest.raises(WorkloadInvalid, match="no pattern has a rate"):
        simulate_workload(_profile(tmp_path, ""))


def test_quiet_loads_are_counted_as_if_simulated(tmp_path: Path) -> None:
    profile = profile_table(library.table, find_sample(library.table), read_workload(library.table))
    load, plan = WorkloadLoad.plan(profile, seconds=100), plan_heat(library.table, profile.sizes)
    arrivals: list[Arrival] = []
    quick = simulate(load, plan, 1.0)
    slow = simulate(load, plan, 1.0, lambda arrival, _refused, _why: arrivals.append(arrival))
    assert quick.calls == pytest.approx(slow.calls, rel=0.02)
    assert sum(each.calls for each in arrivals) == slow.calls
    one, two = (sum(each.units for each in run.partitions) for run in (quick, slow))
    assert one == pytest.approx(two, rel=0.02)


def test_provisioned_throughput_runs_out_after_its_burst() -> None:
    table = visits.meters
    profile = profile_table(table, find_sample(table), read_workload(table))
    report = simulate_workload(profile, factors=(1.0,), seconds=200)
    (start,) = report.runs[0].throttling
    assert start.reason == "TableWriteProvisionedThroughputExceeded"
    # 1,500 units are kept, and 15 more are used than come in a second.
    assert start.at == pytest.approx(100, abs=2)
    assert report.advice == ("At 1x, the table needs 20 provisioned write units, or on-demand.",)


def test_a_maximum_on_demand_refuses_what_partitions_would_serve() -> None:
    table = visits.capped
    profile = profile_table(table, find_sample(table), read_workload(table))
    quiet, busy = simulate_workload(profile, factors=(1.0, 10.0), seconds=60).runs
    assert quiet.throttling == ()
    (start,) = busy.throttling
    assert start.reason == "TableWriteMaxOnDemandThroughputExceeded"
    # Of 200 writes a second, 50 are served.
    assert busy.refused == pytest.approx(150 * 60, rel=0.05)
    report = simulate_workload(profile, factors=(10.0,), seconds=60)
    assert report.advice == (
        "At 10x, the table needs a maximum of 201 write units on demand; it declares less.",
    )


def _materialise(call: Any, number: int) -> dict[str, Any]:
    """Return the item of a planned put, with a sort key of its own."""
    (planned,) = call.requests[0].uses
    return {**planned.use.key, "sk": {"S": f"VISIT#{number}"}}


def test_the_engine_refuses_which_requests_the_simulation_refuses(tmp_path: Path) -> None:
    profile = _profile(tmp_path, _DAYS.format(rate=4_500, skew=1.1, keys=20))
    load, clock = WorkloadLoad.plan(profile, seconds=4), Clock()
    outcomes: list[tuple[Arrival, int, Refusal | None]] = []
    plan = plan_heat(visits.table)
    start = clock()
    with Engine.open(
        ":memory:", clock=clock, upkeep_seconds=None, throttling="partitions"
    ) as engine:
        engine.execute("CreateTable", visits.table.to_dynamodb())
        simulate(
            load, plan, 1.0, lambda arrival, count, why: outcomes.append((arrival, count, why))
        )
        number = 0
        for arrival, refused, refusal in outcomes:
            clock.let_pass(start + arrival.at - clock())
            reasons: list[str] = []
            for _ in range(arrival.calls):
                number += 1
                item = _materialise(load.calls[arrival.call], number)
                try:
                    engine.execute("PutItem", {"TableName": "Visits", "Item": item})
                except ThrottlingException as error:
                    reasons.append(error.fields["throttlingReasons"][0]["reason"])
            assert reasons == [refusal.reason if refusal else ""] * refused
    assert sum(refused for _, refused, _ in outcomes) > 1_000


def _record(clock: Clock, *, throttling: Any = None) -> tuple[list[TrafficRecord], list[bool]]:
    """Write to two days, more than a partition serves, for ten seconds."""
    records: list[TrafficRecord] = []
    refused: list[bool] = []
    with Engine.open(
        ":memory:",
        clock=clock,
        upkeep_seconds=None,
        throttling=throttling,
        on_traffic=records.append,
    ) as engine:
        engine.execute("CreateTable", visits.table.to_dynamodb())
        for number in range(900):
            day = "DAY#2026-01-01" if number % 3 else "DAY#2026-01-02"
            item: dict[str, Any] = {
                "pk": {"S": day},
                "sk": {"S": f"VISIT#{number * 7 % 900}"},
                "country_key": {"S": ("COUNTRY#at", "COUNTRY#de")[number % 5 == 0]},
                "country_sort": {"S": str(number)},
                "text": {"S": "x" * 20_000},
            }
            try:
                engine.execute("PutItem", {"TableName": "Visits", "Item": item})
                refused.append(False)
            except ThrottlingException:
                refused.append(True)
            clock.let_pass(1 / 128)
    return records, refused


def test_replayed_traffic_is_refused_as_the_engine_refuses_it(tmp_path: Path) -> None:
    records, _ = _record(Clock())
    _, refused = _record(Clock(), throttling="partitions")
    load = RecordedLoad(records, visits.table)
    found: list[bool] = []
    simulate(
        load, plan_heat(visits.table), 1.0, lambda _arrival, count, _why: found.append(count > 0)
    )
    assert found == refused
    assert 100 < sum(found) < 800
    file = tmp_path / "traffic.jsonl"
    written = TrafficFile(str(file))
    for each in records:
        written.write(each)
    report = replay_traffic(visits.table, file, factors=(1.0, 2.0))
    assert report.runs[0].refused == sum(refused)
    assert report.runs[1].calls == 1_800
    assert "900 requests" in report.assumptions[0]


def test_traffic_of_another_table_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "traffic.jsonl"
    file.write_text("")
    with pytest.raises(TrafficInvalid, match="no traffic of table Visits"):
        replay_traffic(visits.table, file)
    record = '{"at":1,"table":"Visits","op":"Query","kind":"Read","uses":[["Old",null,1.0]]}\n'
    file.write_text(record)
    with pytest.raises(TrafficInvalid, match="declares no index Old"):
        replay_traffic(visits.table, file)
