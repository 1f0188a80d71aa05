"""What `keyfold heat` does: simulate a workload, or replay traffic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from keyfold.analysis.heat._loads import RecordedLoad, WorkloadLoad
from keyfold.analysis.heat._plans import plan_heat
from keyfold.analysis.heat._reports import HeatReport, report_heat
from keyfold.analysis.profiles import TableProfile
from keyfold.engine import TrafficRecord, read_traffic
from keyfold.errors import TrafficInvalid, WorkloadInvalid
from keyfold.model import Table

SECONDS = 600
FACTORS = (1.0, 10.0, 100.0)


def simulate_workload(
    profile: TableProfile,
    *,
    factors: Sequence[float] = FACTORS,
    seconds: int = SECONDS,
    seed: int = 0,
    skew: float = 0.0,
) -> HeatReport:
    """Simulate the workload of a profile, and return what gets hot; raises WorkloadInvalid."""
    load = WorkloadLoad.plan(profile, seconds=seconds, seed=seed, skew=skew)
    if not load.calls:
        advice = "Declare rate=… of patterns, or give a workload file."
        raise WorkloadInvalid(profile.table.name, "no pattern has a rate", advice)
    plan = plan_heat(profile.table, profile.sizes)
    assumptions = (*profile.assumptions, *load.assumptions)
    return report_heat(profile.table.name, load, plan, factors, assumptions)


def replay_traffic(table: Table, file: Path, *, factors: Sequence[float] = FACTORS) -> HeatReport:
    """Replay the recorded traffic of a table, and return what gets hot; raises TrafficInvalid."""
    return replay_records(table, read_traffic(file), str(file), factors=factors)


def replay_records(
    table: Table,
    traffic: Iterable[TrafficRecord],
    name: str,
    *,
    factors: Sequence[float] = FACTORS,
) -> HeatReport:
    """Replay recorded traffic, whose source errors name; raises TrafficInvalid."""
    records = [each for each in traffic if each.table == table.name]
    if not records:
        fact = f"it has no traffic of table {table.name}"
        raise TrafficInvalid(name, fact, "Record some with keyfold serve --record.")
    plan = plan_heat(table)
    names = {use.name for record in records for use in record.uses} - plan.limits.keys()
    if names:
        fact = f"table {table.name} declares no index {', '.join(sorted(names))}"
        raise TrafficInvalid(name, fact, "Replay it with the declaration it was recorded with.")
    load = RecordedLoad(records, table)
    note = f"Replayed {len(records):,} requests of {load.seconds:,} s; partitions begin empty."
    return report_heat(table.name, load, plan, factors, (note,))
