"""`keyfold cost`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.program import Run


@pytest.mark.parametrize("design", ["exchange_rates", "letsgo", "market", "pantry"])
def test_the_cost_of_a_design_is_that_of_its_patterns_and_storage(run: Run, design: str) -> None:
    shown = run("cost", design)
    assert (shown.code, shown.err) == (0, "")
    assert max(map(len, shown.out.splitlines())) <= 120
    document = json.loads(run("cost", design, "--json").out)
    storage = sum(each["storage_usd"] for each in document["parts"])
    patterns = sum(each["month_usd"] for each in document["patterns"])
    assert document["month_usd"] == pytest.approx(storage + patterns, abs=1e-4)
    assert f"${document['month_usd']:,.2f} a month" in shown.out


def test_a_workload_prices_and_a_chart_are_files(run: Run, tmp_path: Path) -> None:
    workload, chart = tmp_path / "use.toml", tmp_path / "cost.svg"
    workload.write_text('[patterns.Get]\nrate = "2M/month"\n')
    found = run("cost", "exchange_rates", "--workload", workload, "--chart", chart, "--json")
    assert found.code == 0
    [get] = [each for each in json.loads(found.out)["patterns"] if each["name"] == "Get"]
    assert get["month_usd"] == pytest.approx(2 * 0.5 * 0.125)
    assert chart.read_text().startswith("<svg")


def test_a_database_is_sampled(run: Run, tmp_path: Path) -> None:
    db = tmp_path / "rates.db"
    rate = json.dumps({"base": "USD", "target": "EUR", "rate": "0.85", "at": "2026-01-01T00:00Z"})
    assert (
        run("run", "exchange_rates", "save", "--rate", rate, "--ttl", "P1D", "--db", db).code == 0
    )
    document = json.loads(run("cost", "exchange_rates", "--sample", db, "--json").out)
    assert "Measured on 1 of 1 items of the database." in document["assumptions"]


def test_two_tables_are_compared(run: Run) -> None:
    shown = run("cost", "pantry", "--compare", "exchange_rates")
    assert shown.code == 0
    assert "difference" in shown.out
    document = json.loads(run("cost", "pantry", "--compare", "exchange_rates", "--json").out)
    [month] = [each for each in document["compared"]["rows"] if each["name"] == "month"]
    assert month["month_usd"] == pytest.approx(document["month_usd"], abs=1e-4)


def test_what_only_one_of_two_tables_assumes_has_its_name(run: Run) -> None:
    document = json.loads(run("cost", "pantry", "--compare", "exchange_rates", "--json").out)
    notes: list[str] = document["compared"]["assumptions"]
    assert sum("All patterns have their peaks at the same time." in each for each in notes) == 1
    [first] = [each for each in notes if "no peak" in each and each.startswith("Pantry: ")]
    [second] = [each for each in notes if "no peak" in each and each.startswith("ExchangeRates: ")]
    assert first.removeprefix("Pantry: ") != second.removeprefix("ExchangeRates: ")


def test_a_file_that_is_wrong_is_named(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "use.toml"
    file.write_text("[patterns.Gte]")
    found = run("cost", "exchange_rates", "--workload", file)
    assert found.code == 2
    assert "'Gte' is unknown. Did you mean 'Get'?" in found.err


def test_a_table_without_rates_has_units_and_storage_only(run: Run, tmp_path: Path) -> None:
    workload = tmp_path / "none.toml"
    workload.write_text("")
    shown = run("cost", "exchange_rates", "--workload", workload)
    assert "a month, without requests, us-east-1" in shown.out
    assert "No pattern has a rate, so only units and storage are known." in shown.out
    assert "billing mode" not in shown.out


@pytest.mark.parametrize(
    ("option", "value", "fact"),
    [
        ("--compare", "nothing", "Invalid value for --compare: there is no table 'nothing'"),
        ("--chart", "none/cost.svg", "Invalid value for --chart: none/cost.svg cannot be written"),
        ("--prices", "none.toml", "none.toml: it cannot be read: No such file or directory"),
    ],
)
def test_an_option_that_is_wrong_is_named(run: Run, option: str, value: str, fact: str) -> None:
    found = run("cost", "exchange_rates", option, value)
    assert found.code == 2
    assert fact in " ".join(found.err.split())
