"""The room Cost and heat: forecasts by sliders, simulated heat, and recorded traffic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.analysis import find_sample
from keyfold.designs import exchange_rates, market
from keyfold.engine import Engine, TrafficFile
from keyfold.errors import PricesInvalid, TrafficInvalid, WorkloadInvalid
from keyfold.studio._actions import make_call
from keyfold.studio._bodies import StudioBody
from keyfold.studio._opening import make_workspace
from keyfold.studio._problems import StudioProblem
from keyfold.studio._workspace import Workspace
from keyfold.studio.rooms.costs import ACTIONS

_ACTIONS = {each.name: each for each in ACTIONS}
_CUSTOMER = {"roles": ["customer"], "ids": {"user": "rabinovich"}}
_RATES = exchange_rates.table
_KEY = {"PK": {"S": "RATE#USD#EUR"}}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        for table in (_RATES, market.table):
            engine.execute("CreateTable", table.to_dynamodb())
            for item in find_sample(table).items:
                engine.execute("PutItem", {"TableName": table.name, "Item": item})
        yield engine


@pytest.fixture(scope="module")
def workspace(engine: Engine) -> Workspace:
    return make_workspace(engine, [_RATES, market.table])


def act(workspace: Workspace, action: str, /, **body: Any) -> Any:
    call = make_call(workspace, StudioBody({"table": "ExchangeRates", **body}))
    return _ACTIONS[f"costs/{action}"].run(call)


def refuse(workspace: Workspace, action: str, /, **body: Any) -> Any:
    with pytest.raises(StudioProblem) as caught:
        act(workspace, action, **body)
    return caught.value.problem


def pattern(cost: Any, name: str) -> Any:
    return next(each for each in cost["patterns"] if each["name"] == name)


def line(at: float, key: Any = _KEY, **changes: Any) -> str:
    record = {"at": at, "table": "ExchangeRates", "op": "GetItem", "kind": "Read"}
    return json.dumps({**record, "uses": [["", key, 0.5]], **changes})


# Cost.


def test_a_forecast_has_its_prices_with_region_and_date(workspace: Workspace) -> None:
    cost = act(workspace, "forecast")
    assert cost["prices"] == {"region": "us-east-1", "date": "2026-09-11"}
    shares = sum(each["usd"] for each in cost["patterns"]) + cost["storage"]
    assert cost["month"] == pytest.approx(shares + sum(each["usd"] for each in cost["extras"]))
    assert cost["workload"] == "workload.toml"
    assert cost["assumptions"]


def test_twice_the_calls_cost_twice_as_much(workspace: Workspace) -> None:
    before = pattern(act(workspace, "forecast"), "get")
    rate = f"{before['rate']['second'] * 2}/s"
    after = pattern(act(workspace, "forecast", rates={"get": rate}), "get")
    assert after["usd"] == pytest.approx(before["usd"] * 2)
    assert after["declared"] == before["declared"]
    # The peak stays as many times the rate.
    assert after["peak"]["second"] == pytest.approx(before["peak"]["second"] * 2)


def test_a_rate_of_0_takes_a_pattern_out(workspace: Workspace) -> None:
    cost = act(workspace, "forecast", rates={"get": "0/s"})
    assert pattern(cost, "get")["calls"] == 0


def test_more_items_take_more_storage_and_longer_scans(workspace: Workspace) -> None:
    few = act(workspace, "forecast", items={"Rate": "1000"})
    many = act(workspace, "forecast", items={"Rate": "1M"})
    assert many["storage"] == pytest.approx(few["storage"] * 1000)
    scans = [each["name"] for each in few["patterns"] if each["scans"]]
    for name in scans:
        assert pattern(many, name)["read_units"] > 100 * pattern(few, name)["read_units"]


def test_settings_cost_something(workspace: Workspace) -> None:
    settings = {"point_in_time_recovery": True, "backups": "2"}
    cost = act(workspace, "forecast", settings=settings)
    assert {each["name"] for each in cost["extras"]} == {"point-in-time recovery", "backups"}
    assert cost["settings"]["backups"] == 2


def test_sliders_price_again_without_running_patterns_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    act(workspace, "forecast")

    def fail(*_: Any) -> Any:
        pytest.fail("the patterns ran again")

    monkeypatch.setattr("keyfold.studio.rooms._profiles.profile_table", fail)
    assert act(workspace, "forecast", rates={"get": "1k/s"})["month"] > 0


def test_a_database_is_measured_when_asked_for(workspace: Workspace) -> None:
    cost = act(workspace, "forecast", source="database", round=7)
    assert cost["source"] == "database"
    assert cost["database"]["items"] == len(_RATES.example_entities())
    assert any("of the database" in each for each in cost["assumptions"])


def test_a_role_measures_examples_only(workspace: Workspace) -> None:
    as_customer: dict[str, Any] = {"table": "Market", "as": _CUSTOMER}
    assert act(workspace, "forecast", **as_customer)["database"] is None
    problem = refuse(workspace, "forecast", **as_customer, source="database")
    assert problem.status == 403


def test_other_prices_replace_the_included_ones(workspace: Workspace) -> None:
    from keyfold.analysis import cost

    file = Path(cost.__file__).with_name("prices.toml")
    text = file.read_text("utf-8").replace("us-east-1", "eu-central-1")
    text = text.replace("storage_gb_month = 0.25", "storage_gb_month = 0.50")
    usual, other = act(workspace, "forecast"), act(workspace, "forecast", prices=text)
    assert other["prices"]["region"] == "eu-central-1"
    assert other["storage"] == pytest.approx(usual["storage"] * 2)
    with pytest.raises(PricesInvalid, match="your prices"):
        act(workspace, "forecast", prices="region = ")


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"rates": {"get": "40 a second"}}, "not a rate"),
        ({"rates": {"get": 40}}, "has to be a text"),
        ({"rates": {"nothing": "1/s"}}, "no such pattern"),
        ({"items": {"Rate": "many"}}, "not a count"),
        ({"items": {"Nothing": "1"}}, "no such entity"),
        ({"settings": {"colour": "1"}}, "there are"),
        ({"settings": {"kinesis": "yes"}}, "true or false"),
        ({"source": "elsewhere"}, "source has to be"),
    ],
)
def test_a_forecast_says_what_is_wrong(workspace: Workspace, body: Any, word: str) -> None:
    assert word in refuse(workspace, "forecast", **body).message


# Heat.


def test_heat_has_decoded_keys_and_when_throttling_begins(workspace: Workspace) -> None:
    heat = act(workspace, "heat", factors=[1, 1000], seconds=20)
    assert [run["factor"] for run in heat["runs"]] == [1, 1000]
    assert heat["runs"][0]["refused"] == 0
    assert heat["runs"][1]["throttling"][0]["begins"] >= 0
    assert heat["remedies"] or heat["advice"]
    hottest = heat["keys"][0]
    assert hottest["entity"] == "Rate"
    assert [each.get("part") for each in hottest["key"]["pieces"]] == [None, "base", None, "target"]
    peaks = [load["peak"] for load in hottest["loads"]]
    assert peaks[1] == pytest.approx(peaks[0] * 1000, rel=0.05)
    made_up = next(each for each in heat["keys"] if each["key"]["made_up"])
    assert made_up["label"].startswith(made_up["key"]["text"] + "~")


def test_heat_needs_a_rate(workspace: Workspace) -> None:
    rates = {each.__name__: "0/s" for each in _RATES.patterns.values()}
    with pytest.raises(WorkloadInvalid):
        act(workspace, "heat", rates=rates)


@pytest.mark.parametrize("factors", [[0], [1, 2, 3, 4, 5], ["10"], [True], [1e9]])
def test_factors_are_bounded(workspace: Workspace, factors: list[Any]) -> None:
    assert refuse(workspace, "heat", factors=factors).status == 400


# Recorded traffic.


def test_recorded_traffic_is_mapped_by_time(workspace: Workspace) -> None:
    other = {"PK": {"S": "RATE#EUR#GBP"}}
    times = [0, 0, 0, 30, 47.5]
    text = "\n".join([*(line(1_000 + at) for at in times), line(1_010, other), ""])
    heat = act(workspace, "traffic", text=text, name="traffic.jsonl", factors=[1])
    keys = heat["map"]["keys"]
    assert [each["label"] for each in keys] == ["RATE#USD#EUR", "RATE#EUR#GBP"]
    assert (heat["map"]["width"], heat["map"]["columns"]) == (2, 24)
    assert [(place, peak) for place, peak in enumerate(keys[0]["peaks"]) if peak] == [
        (0, 1.5),
        (15, 0.5),
        (23, 0.5),
    ]
    assert heat["runs"][0]["calls"] == 6
    assert keys[0]["entity"] == "Rate"


@pytest.mark.parametrize(
    "text",
    [
        "not JSON",
        line(1, {"other": {"S": "x"}}),
        line(1, "text"),
        line(1, {"PK": {}}),
        line(1, {"PK": {"N": "many"}}),
        line(1, {"PK": {"B": "!"}}),
        line(1, {"PK": {"S": 1}}),
        line(1, {"PK": {"S": "a", "N": "1"}}),
        line(1, table="Other"),
        line(1) + "\n" + line(1e9),
        line(1, uses=[["NoIndex", _KEY, 1]]),
    ],
)
def test_a_file_that_is_no_traffic_of_the_table_is_refused(workspace: Workspace, text: str) -> None:
    with pytest.raises(TrafficInvalid, match=r"^traffic\.jsonl"):
        act(workspace, "traffic", text=text, name="traffic.jsonl")


def test_the_file_of_a_server_is_read_as_administrator(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    workspace = make_workspace(engine, [_RATES, market.table], traffic_file=str(path))
    TrafficFile(str(path))
    path.write_text(line(5) + "\n")
    assert act(workspace, "traffic") == {"server": True}
    assert act(workspace, "traffic", server=True)["map"]["seconds"] == 1
    as_customer: dict[str, Any] = {"table": "Market", "as": _CUSTOMER}
    assert act(workspace, "traffic", **as_customer) == {"server": False}
    assert refuse(workspace, "traffic", **as_customer, server=True).status == 403


def test_without_a_server_there_is_no_file(workspace: Workspace) -> None:
    assert act(workspace, "traffic") == {"server": False}
    assert "--record" in refuse(workspace, "traffic", server=True).message
