"""Costs by hand: the same numbers, added up with pencil and paper."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from keyfold.analysis import TableProfile, find_sample, profile_table, read_workload
from keyfold.analysis.cost import (
    compare_costs,
    compare_modes,
    draw_chart,
    draw_comparison,
    forecast_cost,
    read_prices,
    report_cost,
)
from keyfold.errors import PricesInvalid, WorkloadInvalid
from tests.unit.analysis.library import table

WORKLOAD = """
[patterns]
"Get reader" = { rate = "1M/month", peak = "100/s" }
"Rename book" = { rate = "1M/month" }
[entities]
Reader = { items = 0 }
Loan = { items = 0 }
Book = { items = "1M", bytes = 973, growth = "1M/month" }
"""


def profile(folder: Path, text: str = WORKLOAD) -> TableProfile:
    file = folder / "workload.toml"
    file.write_text(text)
    return profile_table(table, find_sample(table), read_workload(table, file))


def test_a_month_is_calls_times_units_times_prices_and_storage(tmp_path: Path) -> None:
    found = forecast_cost(profile(tmp_path), read_prices())
    costs = {each.name: each for each in found.patterns}
    # Half a unit, a million times.
    assert costs["Get reader"].month_usd == pytest.approx(0.5 * 0.125)
    # One unit of the table, two of the index, whose entry moves.
    assert costs["Rename book"].write_units == 3.0
    assert costs["Rename book"].month_usd == pytest.approx(3 * 0.625)
    assert costs["Add book"].month_usd == 0.0
    # A million items of 973 bytes, and 100 bytes of overhead for each; the index has all of them.
    gigabytes = 1_000_000 * (973 + 100) / 2**30
    assert [each.gigabytes for each in found.parts] == pytest.approx([gigabytes, gigabytes])
    whole = 0.0625 + 1.875 + 2 * gigabytes * 0.25
    assert found.month_usd == pytest.approx(whole)


def test_extras_are_those_of_the_workload(tmp_path: Path) -> None:
    text = WORKLOAD + "[settings]\npoint_in_time_recovery = true\nbackups = 2\nreplicas = 1\n"
    found = forecast_cost(profile(tmp_path, text), read_prices())
    gigabytes = found.parts[0].gigabytes
    assert found.extras["point-in-time recovery"] == pytest.approx(gigabytes * 0.20)
    assert found.extras["backups"] == pytest.approx(gigabytes * 2 * 0.10)
    assert found.extras["writes to replicas"] == pytest.approx(3 * 0.625)
    assert found.extras["storage of replicas"] == pytest.approx(found.storage_usd)


def test_exports_restores_and_captured_changes_are_priced(tmp_path: Path) -> None:
    text = WORKLOAD + "[settings]\nexports = 4\nrestores = 2\nkinesis = true\n"
    found = forecast_cost(profile(tmp_path, text), read_prices())
    gigabytes = found.parts[0].gigabytes
    assert found.extras["exports"] == pytest.approx(gigabytes * 4 * 0.10)
    assert found.extras["restores"] == pytest.approx(gigabytes * 2 * 0.15)
    # Items of less than a KB: a unit for each write, whatever its indexes cost.
    writes = {each.name: each.calls for each in found.patterns if each.write_units}
    assert found.extras["changes to Kinesis"] == pytest.approx(sum(writes.values()) * 0.10 / 1e6)
    assert "No backups, since the workload has none under [settings]." in found.assumptions
    refused = WORKLOAD + "[settings]\nkinesis = 1\n"
    with pytest.raises(WorkloadInvalid, match="kinesis is 1"):
        profile(tmp_path, refused)


def test_provisioned_capacity_is_whole_units_for_every_hour(tmp_path: Path) -> None:
    found = {each.mode: each for each in compare_modes(profile(tmp_path), read_prices())}
    # 50 read units at the peak; 0.38 and 0.76 writes a second on average, so one of each.
    peak = 730 * (0.00013 * (50 + 1) + 0.00065 * (1 + 1))
    assert found["provisioned for the peak, Standard"].capacity_usd == pytest.approx(peak)
    # On average less than one unit is in use, and there is at least one.
    scaled = 730 * (0.00013 * (1 + 1) + 0.00065 * (1 + 2))
    assert found["provisioned with auto scaling, Standard"].capacity_usd == pytest.approx(scaled)


def test_the_month_grows_with_the_table(tmp_path: Path) -> None:
    report = report_cost(profile(tmp_path), read_prices())
    first, second = report.growth[0], report.growth[1]
    assert first.month_usd == pytest.approx(report.forecast.month_usd)
    # A million items more in each month: as many as there are.
    assert second.gigabytes == pytest.approx(2 * first.gigabytes)
    storage = report.forecast.storage_usd
    assert second.month_usd == pytest.approx(first.month_usd + storage)


def test_a_comparison_has_what_either_table_has(tmp_path: Path) -> None:
    one = report_cost(profile(tmp_path), read_prices())
    other = report_cost(
        profile(tmp_path, '[patterns."Add book"]\nrate = "1M/month"\n'), read_prices()
    )
    rows = {row.name: row for row in compare_costs(one, other).rows}
    # Declared: ten a second.
    assert rows["Get reader"].difference == pytest.approx(26.28 * 0.0625 - 0.0625)
    assert (rows["Add book"].one, rows["Add book"].other) == (None, pytest.approx(2 * 0.625))
    whole = other.forecast.month_usd - one.forecast.month_usd
    assert rows["month"].difference == pytest.approx(whole)


def test_what_could_not_be_measured_is_not_taken_to_be_free(tmp_path: Path) -> None:
    measured = profile(tmp_path)
    failed = replace(measured.patterns["Rename book"], runs=(), problem="no such book")
    lacking = replace(measured, patterns={**measured.patterns, "Rename book": failed})
    one, other = (report_cost(each, read_prices()) for each in (measured, lacking))
    assert other.forecast.assumptions[0].startswith(
        "Not measured, so the month of Library lacks them: Rename book."
    )
    rows = {row.name: row for row in compare_costs(one, other).rows}
    assert rows["Get reader"].is_measured
    assert (rows["Rename book"].other, rows["Rename book"].is_measured) == (None, False)
    assert not rows["month"].is_measured


def test_a_comparison_says_that_only_one_table_was_sampled(tmp_path: Path) -> None:
    found = profile(tmp_path)
    sampled = replace(found, sample=replace(found.sample, source="database"))
    one, other = (report_cost(each, read_prices()) for each in (sampled, found))
    note = "The items of Library are those of a database, those of Library (compared) its examples."
    assert note in compare_costs(one, other).assumptions
    assert note not in compare_costs(other, other).assumptions


def test_prices_are_replaced_by_a_file(tmp_path: Path) -> None:
    included = Path(read_prices.__code__.co_filename).with_name("prices.toml").read_text()
    dear = tmp_path / "dear.toml"
    dear.write_text(
        included.replace("us-east-1", "mars-1").replace(
            "million_read_requests = 0.125", "million_read_requests = 1.25"
        )
    )
    found = forecast_cost(profile(tmp_path), read_prices(dear))
    assert found.prices.region == "mars-1"
    assert found.patterns[0].month_usd == pytest.approx(0.625)


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        (("storage_gb_month = 0.25\n", ""), r"\[standard\]: storage_gb_month is missing"),
        (("[extras]\n", "[extras]\ncoffee = 1\n"), r"\[extras\]: coffee is unknown"),
        (("0.625", '"cheap"'), "million_write_requests is 'cheap'. Write a number of US dollars"),
        (("0.625", "-1"), "million_write_requests is -1. Write a number of US dollars"),
        (("0.625", "nan"), "million_write_requests is nan"),
        (("0.625", "1e300"), r"million_write_requests is 1e\+300"),
        (("3 = 0.77", "3 = 77"), r"\[reserved\]: got 3 = 77. Write years = a share"),
        (("3 = 0.77", "three = 0.77"), r"\[reserved\]: got three = 0.77"),
        (("[extras]", "[extra]"), "extra is unknown. It has region, date"),
        (('region = "us-east-1"\n', ""), "it lacks its region or its date"),
        (("[standard]", "[standard"), "it is not TOML"),
    ],
)
def test_a_file_of_prices_is_whole(tmp_path: Path, change: tuple[str, str], fact: str) -> None:
    included = Path(read_prices.__code__.co_filename).with_name("prices.toml").read_text()
    file = tmp_path / "prices.toml"
    file.write_text(included.replace(*change))
    with pytest.raises(PricesInvalid, match=fact):
        read_prices(file)


def test_the_chart_is_one_well_formed_picture(tmp_path: Path) -> None:
    report = report_cost(profile(tmp_path), read_prices())
    root = ET.fromstring(draw_chart(report))
    texts = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "Rename book" in texts
    assert any(f"${report.forecast.month_usd:,.2f}" in each for each in texts)


def test_the_chart_of_a_comparison_has_both_tables(tmp_path: Path) -> None:
    one = report_cost(profile(tmp_path), read_prices())
    other = report_cost(profile(tmp_path, WORKLOAD.replace("973", "1973")), read_prices())
    root = ET.fromstring(draw_comparison(compare_costs(one, other)))
    texts = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")]
    months = f"Library ${one.forecast.month_usd:,.2f}, Library (compared)"
    assert texts[0].startswith(months)
    assert "storage of the table" in texts
    # What is the same is left out.
    assert "Get reader" not in texts


def test_replicas_write_in_every_billing_mode(tmp_path: Path) -> None:
    text = WORKLOAD + "[settings]\nreplicas = 2\n"
    one, three = (
        {each.mode: each for each in compare_modes(profile(tmp_path, each), read_prices())}
        for each in (WORKLOAD, text)
    )
    demand, peak = "on demand, Standard", "provisioned for the peak, Standard"
    writes = 3 * 0.625
    assert three[demand].capacity_usd == pytest.approx(one[demand].capacity_usd + 2 * writes)
    # A write unit and a read unit of the table, and of its index, for each replica.
    more = 730 * 2 * 2 * (0.00065 + 0.00013)
    assert three[peak].capacity_usd == pytest.approx(one[peak].capacity_usd + more)


def test_reserved_capacity_is_listed_if_there_is_a_block_to_reserve(tmp_path: Path) -> None:
    few = [each.mode for each in compare_modes(profile(tmp_path), read_prices())]
    assert not any("reserved" in each for each in few)
    many = profile(tmp_path, WORKLOAD.replace("100/s", "500/s"))
    found = {each.mode: each for each in compare_modes(many, read_prices())}
    # 250 and 1 read units, of which 200 are reserved; 2 write units.
    reads = 730 * 0.00013 * (251 - 200 * 0.77)
    [reserved] = [found[each] for each in found if "reserved for 3 years" in each]
    assert reserved.capacity_usd == pytest.approx(reads + 730 * 0.00065 * 2)


def test_scans_grow_with_the_table(tmp_path: Path) -> None:
    scanning = WORKLOAD.replace("[patterns]\n", '[patterns]\n"All books" = { rate = "1k/month" }\n')
    report = report_cost(profile(tmp_path, scanning), read_prices())
    scan = next(each for each in report.forecast.patterns if each.name == "All books")
    first, second = report.growth[:2]
    # Twice as many books: twice the storage, and twice the units of the scan.
    more = scan.month_usd + report.forecast.storage_usd
    assert second.month_usd - first.month_usd == pytest.approx(more, rel=0.001)


def test_an_entity_without_items_grows_too(tmp_path: Path) -> None:
    text = WORKLOAD.replace('items = "1M"', "items = 0")
    report = report_cost(profile(tmp_path, text), read_prices())
    assert report.growth[0].gigabytes == 0
    assert report.growth[2].gigabytes == pytest.approx(2 * 2 * 1_000_000 * 1073 / 2**30)


def test_parts_share_the_requests_of_all_patterns(tmp_path: Path) -> None:
    found = forecast_cost(profile(tmp_path), read_prices())
    table_part, index = found.parts
    assert (table_part.write_usd, index.write_usd) == pytest.approx((0.625, 2 * 0.625))
    spent = sum(each.read_usd + each.write_usd for each in found.parts)
    assert spent == pytest.approx(found.requests_usd)
    shares = sum(each.share for each in found.patterns)
    assert shares == pytest.approx(found.requests_usd / found.month_usd)


def test_the_break_even_is_that_of_the_prices_beside_what_is_in_use(tmp_path: Path) -> None:
    reads, writes = report_cost(profile(tmp_path), read_prices()).break_even
    assert reads.share == pytest.approx(0.00013 / (3600 * 0.125e-6))
    # Half a unit, a million times a month, of 51 units for the peak.
    assert reads.utilisation == pytest.approx(0.5 * 1_000_000 / (730 * 3600) / 51)
    assert writes.utilisation == pytest.approx(3 * 1_000_000 / (730 * 3600) / 2)


def test_streams_and_vectors_cost_what_the_workload_says(tmp_path: Path) -> None:
    text = WORKLOAD + "[settings]\nstream_consumers = 2\nvectors_written_gb = 10\n"
    found = forecast_cost(profile(tmp_path, text), read_prices())
    assert found.extras == {"vectors written": pytest.approx(5.20)}
    assert "The table has no stream, so stream_consumers costs nothing." in found.assumptions
    market = import_module("keyfold.designs.market").table
    file = tmp_path / "market.toml"
    file.write_text("[settings]\nstream_consumers = 3\n")
    streamed = profile_table(market, find_sample(market), read_workload(market, file))
    reads = 3 * 730 * 3600 - 2_500_000
    assert forecast_cost(streamed, read_prices()).extras == {
        "stream reads": pytest.approx(reads * 0.20 / 1_000_000)
    }


def test_guards_of_unique_values_are_as_many_as_their_items(tmp_path: Path) -> None:
    market = import_module("keyfold.designs.market").table
    file = tmp_path / "market.toml"
    file.write_text("[entities]\nAccountMember = { items = 1000 }\n")
    found = profile_table(market, find_sample(market), read_workload(market, file))
    assert found.sizes.expected[None]["guards of AccountMember"].items == 1000


def test_a_report_can_be_written_as_json(tmp_path: Path) -> None:
    document = json.loads(json.dumps(report_cost(profile(tmp_path), read_prices()).to_json()))
    assert document["prices"] == {"region": "us-east-1", "date": "2026-09-11"}
    assert {"name", "read_units", "write_units", "month_usd"} <= document["patterns"][0].keys()
    assert document["assumptions"]
