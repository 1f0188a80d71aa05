"""Costs by hand: the same numbers, added up with pencil and paper."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from keyfold.analysis import TableProfile, find_sample, profile_table, read_workload
from keyfold.analysis.cost import (
    compare_costs,
    compare_modes,
    draw_chart,
    forecast_cost,
    read_prices,
    report_cost,
)
from keyfold.errors import PricesInvalid
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
    assert [each.gigabytes for each in found.storage] == pytest.approx([gigabytes, gigabytes])
    whole = 0.0625 + 1.875 + 2 * gigabytes * 0.25
    assert found.month_usd == pytest.approx(whole)


def test_extras_are_those_of_the_workload(tmp_path: Path) -> None:
    text = WORKLOAD + "[settings]\npoint_in_time_recovery = true\nbackups = 2\nreplicas = 1\n"
    found = forecast_cost(profile(tmp_path, text), read_prices())
    gigabytes = found.storage[0].gigabytes
    assert found.extras["point-in-time recovery"] == pytest.approx(gigabytes * 0.20)
    assert found.extras["backups"] == pytest.approx(gigabytes * 2 * 0.10)
    assert found.extras["replicas"] == pytest.approx(3 * 0.625 + found.storage_usd)


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


def test_a_report_can_be_written_as_json(tmp_path: Path) -> None:
    document = json.loads(json.dumps(report_cost(profile(tmp_path), read_prices()).to_json()))
    assert document["prices"] == {"region": "us-east-1", "date": "2026-09-11"}
    assert {"name", "read_units", "write_units", "month_usd"} <= document["patterns"][0].keys()
    assert document["assumptions"]
