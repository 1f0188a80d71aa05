from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

import keyfold
from keyfold.cli._demo import exchange_rates as rates_of_demo
from keyfold.cli._demo import report, run_demo
from keyfold.cli._demo.data_set import SEED, Case, DataGenerator, DataSet
from keyfold.cli._demo_databases import MOST_LAG
from keyfold.designs import exchange_rates, letsgo, market, pantry
from keyfold.designs.exchange_rates import Rate
from keyfold.engine import Engine
from keyfold.engine.items.expiry import GRACE_IN_FILES
from keyfold.errors import NotFound, WriteRefused
from keyfold.store._sent_calls import CallLog
from keyfold.testing import Clock, FaultProfile, dynamodb
from keyfold.wire.server import Server
from tests.demo_run import DemoRun
from tests.transports import Transport
from tests.unit.cli.program import Outcome, Run

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
TABLES = {
    "exchange_rates": exchange_rates.table,
    "letsgo": letsgo.table,
    "pantry": pantry.table,
    "market": market.table,
}
PATTERNS = sum(len(table.patterns) for table in TABLES.values())
RATE = Rate(base="USD", target="EUR", rate=Decimal("0.85"), at=NOW)


def test_every_pattern_of_every_design_runs_and_returns_what_it_must(demo_run: DemoRun) -> None:
    assert demo_run.errors == ""
    assert f"{PATTERNS} of {PATTERNS} patterns as expected; " in demo_run.text
    for design, table in TABLES.items():
        assert f"\n{design}  table {table.name}" in f"\n{demo_run.text}"
    assert len(re.findall("^✓", demo_run.text, re.MULTILINE)) == PATTERNS
    assert "✗" not in demo_run.text
    lines = [line for line in demo_run.text.splitlines() if demo_run.file not in line]
    assert max(map(len, lines)) <= 120


def test_every_pattern_runs_on_any_database(
    run: Run, url: str, transport: Transport, request: pytest.FixtureRequest
) -> None:
    if transport.kind == "embedded":
        shared: DemoRun = request.getfixturevalue("demo_run")
        outcome = Outcome(0, shared.as_json, shared.errors)
    else:
        outcome = run("demo", "--db", url, "--json")
    assert outcome.err == ""
    told = json.loads(outcome.out)
    problems = [each["problems"] for each in told["designs"]]
    for design in told["designs"]:
        problems += [run["problem"] for row in design["patterns"] for run in row["runs"]]
    assert [each for each in problems if each] == []
    assert (outcome.code, told["as_expected"]) == (0, True)


def find_problems(reports: list[report.DesignReport]) -> list[str]:
    rows = [row for each in reports for row in each.rows]
    problems = [f"{row.pattern}: {problem}" for row in rows for problem in row.problems]
    return problems + [problem for each in reports for problem in each.problems]


def test_every_pattern_returns_what_it_must_while_indexes_lag() -> None:
    reports = run_demo("", now=NOW, index_lag=MOST_LAG)
    assert find_problems(reports) == []
    runs = [run for each in reports for row in each.rows for run in row.runs]
    assert sum(len(each.rows) for each in reports) == PATTERNS
    assert max(run.attempts for run in runs) <= MOST_LAG + 1
    repeated = {
        row.pattern
        for each in reports
        for row in each.rows
        if max(r.attempts for r in row.runs) > 1
    }
    lagging = {
        name
        for table in TABLES.values()
        for name, pattern in table.patterns.items()
        if pattern.explain().lagging_indexes
    }
    assert repeated
    assert repeated <= lagging, "only indexes lag"


def test_every_pattern_returns_what_it_must_where_all_reads_lag() -> None:
    """As on a service: reads of tables that are not consistent may lack the last writes, too."""
    faults = FaultProfile(stale_reads=1.0, index_lag=1.0, lag_writes=2)
    with dynamodb(faults=faults):
        assert find_problems(run_demo("dynamodb://us-east-1", now=NOW)) == []


def test_the_command_runs_with_indexes_that_lag(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "_MAKERS", {"pantry": report._MAKERS["pantry"]})
    outcome = run("demo", "--index-lag", "9")
    assert (outcome.code, outcome.err) == (0, "")
    assert "1 read ran again until the last writes were there.\n" in outcome.out
    told = json.loads(run("demo", "--index-lag", "9", "--json").out)
    attempts = [one["attempts"] for row in told["designs"][0]["patterns"] for one in row["runs"]]
    assert max(attempts) > 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--index-lag", "3", "--db", "demo.db"], "give it without --db"),
        (["--index-lag", "0"], "--index-lag"),
        (["--index-lag", "10"], "--index-lag"),
    ],
)
def test_a_lag_that_cannot_be_had_is_refused(run: Run, arguments: list[str], problem: str) -> None:
    outcome = run("demo", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert problem in " ".join(outcome.err.split())


def test_a_read_that_stays_wrong_is_reported_with_its_last_result() -> None:
    log = CallLog([exchange_rates.table])
    with dynamodb() as service:
        store = service.open(exchange_rates.table, on_call=[log])
        log.take()
        case = Case(exchange_rates.get, {"base": "USD", "target": "EUR"}, RATE)
        ran = report.run_case(store, log, case, attempts=4)
    assert (ran.attempts, len(ran.calls)) == (4, 4)
    assert ran.problem is not None
    assert ran.problem.endswith("got None")


def test_json_tells_of_every_pattern(demo_run: DemoRun) -> None:
    told = json.loads(demo_run.as_json)
    assert told["as_expected"] is True
    assert [each["design"] for each in told["designs"]] == list(TABLES)
    for design in told["designs"]:
        table = TABLES[design["design"]]
        assert {row["pattern"] for row in design["patterns"]} == set(table.patterns)
        assert design["problems"] == []
        for row in design["patterns"]:
            # What was sent is what the pattern explains.
            steps = table.patterns[row["pattern"]].explain().steps
            first = row["runs"][0]
            sent = dict.fromkeys((call["operation"], call["index"]) for call in first["calls"])
            assert sent == dict.fromkeys((step.operation, step.index) for step in steps)
            assert first["capacity_units"] > 0
    rates = told["designs"][0]["patterns"]
    [by_base] = [row for row in rates if row["pattern"] == "GetByBase"]
    [only] = by_base["runs"]
    assert only["calls"][0]["key"] == "Base = 'USD'"
    assert 0 < only["items"] < 29, "some of the 29 have expired"


def test_the_data_set_has_some_thousand_items_and_expired_ones(demo_run: DemoRun) -> None:
    designs = json.loads(demo_run.as_json)["designs"]
    assert sum(each["items_loaded"] for each in designs) > 3_000
    assert {each["design"] for each in designs if each["of_them_expired"] > 30} == {
        "exchange_rates",
        "letsgo",
        "market",
    }


def test_the_data_set_is_the_same_every_time() -> None:
    one, other = (rates_of_demo.make_data_set(DataGenerator(SEED, NOW)) for _ in range(2))
    assert one.stored == other.stored
    assert one.cases == other.cases


def test_a_file_still_has_everything_that_has_expired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for make in report._MAKERS.values():
        data = make(DataGenerator(SEED, NOW))
        expired = [data.expiry_of(each) for each in data.find_expired(keyfold.Entity)]
        assert all(time is not None and NOW - time < GRACE_IN_FILES for time in expired)
    monkeypatch.setattr(report, "_MAKERS", {"exchange_rates": rates_of_demo.make_data_set})
    [rates] = run_demo(str(tmp_path / "demo.db"), now=NOW)
    clock = Clock(NOW)
    with Engine.open(tmp_path / "demo.db", clock=clock, upkeep_seconds=None) as engine:
        assert engine.run_upkeep() == 0
        clock.advance(GRACE_IN_FILES)
        assert engine.run_upkeep() == rates.expired > 50


def test_memory_is_refused_because_it_deletes_expired_items_soon(run: Run) -> None:
    outcome = run("demo", "--db", ":memory:")
    assert (outcome.code, outcome.out) == (2, "")
    assert "memory deletes expired items after 10 seconds" in outcome.err


def test_a_named_database_is_kept(demo_run: DemoRun) -> None:
    """A folder was named, and has a file now."""
    assert f"The data is in {demo_run.file}." in demo_run.text
    with keyfold.open([market.table], demo_run.file) as store:
        profile = store.run(market.user_profile("rabinovich"))
    assert profile is not None


def test_a_file_may_be_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "_MAKERS", {"exchange_rates": rates_of_demo.make_data_set})
    file = tmp_path / "mine.db"
    outcome = run("demo", "--db", file)
    assert outcome.code == 0
    assert f"The data is in {file}." in outcome.out
    with keyfold.open([exchange_rates.table], file) as store:
        assert store.run(exchange_rates.table.scan().first()) is not None


def test_an_existing_file_is_refused_and_left_alone(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "demo.db"
    file.write_bytes(b"mine")
    outcome = run("demo", "--db", file)
    assert outcome.code == 2
    assert "the demo creates a new file" in outcome.err
    assert file.read_bytes() == b"mine"


def test_tables_that_have_items_are_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "demo.db"
    with keyfold.open(exchange_rates.table, file) as store:
        store.run(RATE.put())
    with pytest.raises(WriteRefused, match=r"ExchangeRates: it already has items.*"):
        run_demo(str(file), now=NOW)
    with keyfold.open(list(TABLES.values()), file) as store:
        for table in TABLES.values():
            assert len(store.run(table.scan())) == (table is exchange_rates.table)


def test_a_service_finds_nothing_that_has_expired() -> None:
    """It would delete that by its own time, while patterns run that are to find it."""
    with (
        Engine.open(
            ":memory:", clock=NOW.timestamp, expiry_grace=0.0, upkeep_seconds=None
        ) as engine,
        Server(engine).running() as url,
    ):
        reports = run_demo(url, now=NOW)
        assert all(report.holds for report in reports)
        assert sum(report.expired for report in reports) > 100
        assert engine.run_upkeep() == 0


def test_a_database_of_an_unknown_kind_is_refused(run: Run) -> None:
    outcome = run("demo", "--db", "gopher://shop")
    assert (outcome.code, outcome.out) == (2, "")
    assert "[url-unknown]" in outcome.err


# Wrong answers are told from right ones.


def make_wrong_data_set(tell: Callable[[DataSet], None]) -> Callable[[DataGenerator], DataSet]:
    def make(generator: DataGenerator) -> DataSet:
        data = rates_of_demo.make_data_set(generator)
        tell(data)
        return data

    return make


WRONG: list[tuple[Callable[[DataSet], None], str]] = [
    (
        lambda data: data.expect(exchange_rates.get, None, base="USD", target="GBP"),
        "✗ Get: expected None; got Rate(",
    ),
    (
        lambda data: data.expect(exchange_rates.mark_stale, NotFound, base="USD", target="GBP"),
        "✗ MarkStale: expected NotFound; got Rate(",
    ),
    (
        lambda data: data.expect(exchange_rates.mark_stale, RATE, base="USD", target="XXX"),
        "✗ MarkStale: expected Rate(",
    ),
    (lambda data: data.put(RATE), "✗ item RATE#USD#EUR: expected Rate("),
    (lambda data: data.drop(RATE), "✗ item RATE#USD#EUR: expected None; got Rate("),
    (
        lambda data: data.cases.remove(
            next(each for each in data.cases if each.pattern is exchange_rates.get_by_base)
        ),
        "✗ pattern 'GetByBase' was not run",
    ),
]


@pytest.mark.parametrize(("tell", "problem"), WRONG)
def test_what_is_not_as_it_must_be_is_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, tell: Callable[[DataSet], None], problem: str
) -> None:
    monkeypatch.setattr(report, "_MAKERS", {"exchange_rates": make_wrong_data_set(tell)})
    outcome = run("demo")
    assert outcome.code == 1
    assert problem in outcome.out


def test_json_tells_of_what_is_not_as_it_must_be(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    tell, _ = WRONG[0]
    monkeypatch.setattr(report, "_MAKERS", {"exchange_rates": make_wrong_data_set(tell)})
    outcome = run("demo", "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["as_expected"] is False


@pytest.mark.parametrize(
    ("expected", "is_right"),
    [
        (["EUR", "GBP"], True),
        (["GBP", "EUR"], True),
        (["GBP"], False),
        (["GBP", "EUR", "EUR"], False),
    ],
)
def test_an_answer_without_an_order_has_the_same_entities(
    expected: list[str], is_right: bool
) -> None:
    rates = {each: RATE.model_copy(update={"target": each}) for each in ("EUR", "GBP")}
    log = CallLog([exchange_rates.table])
    with keyfold.open(exchange_rates.table, ":memory:", on_call=[log]) as store:
        for rate in rates.values():
            store.run(rate.put())
        log.take()
        wanted = [rates[each] for each in expected]
        case = Case(exchange_rates.get_by_base, {"base": "USD"}, wanted, in_order=False)
        ran = report.run_case(store, log, case)
    assert (ran.problem is None) is is_right
    assert (ran.items, len(ran.calls)) == (2, 1)


def test_what_has_expired_is_stored_and_not_found() -> None:
    data = DataSet(exchange_rates.table, NOW, lambda rate: rate.expires)
    old = RATE.model_copy(update={"expires": NOW})
    new = RATE.model_copy(update={"target": "GBP", "expires": NOW + timedelta(seconds=1)})
    data.load([new, old])
    assert (data.find(Rate), data.find_expired(Rate), data.expired) == ([new], [old], 1)
    assert data.find(Rate, with_expired=True) == [old, new], "in the order of their keys"
    assert list(data.stored) == [("RATE#USD#GBP",), ("RATE#USD#EUR",)]


ONE_DESIGN = """
from keyfold.cli import main
from keyfold.cli._demo import report
del report._MAKERS["letsgo"], report._MAKERS["market"], report._MAKERS["pantry"]
main(["demo"])
"""


def test_a_terminal_is_used_to_its_width() -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    program = subprocess.Popen(
        [sys.executable, "-c", ONE_DESIGN],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    os.close(theirs)
    read = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:
            break
        if not chunk:
            break
        read += chunk
    _, complaints = program.communicate()
    os.close(ours)
    assert (program.returncode, complaints) == (0, b"")
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", read.decode())
    assert "\x1b[1mGetItem" in read.decode(), "it has styles"
    assert max(len(line.rpartition("\r")[2]) for line in plain.splitlines()) <= 100
