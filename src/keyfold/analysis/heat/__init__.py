"""Heat: which keys and partitions of a table are hot, and when requests are throttled.

`WorkloadLoad` makes the calls of a workload, and `RecordedLoad` repeats recorded traffic.
`report_heat` runs them over the model of partitions that the engine has, too, at several factors.
"""

from __future__ import annotations

from keyfold.analysis.heat._calls import PlannedCall, PlannedRequest
from keyfold.analysis.heat._loads import Arrival, Load, LoadPhase, RecordedLoad, WorkloadLoad
from keyfold.analysis.heat._plans import HeatPlan, plan_heat
from keyfold.analysis.heat._reports import HeatReport, Remedy, report_heat
from keyfold.analysis.heat._simulation import HeatRun, HotSpot, ThrottlingStart, simulate
from keyfold.analysis.heat._tools import replay_records, replay_traffic, simulate_workload

__all__ = [
    "Arrival",
    "HeatPlan",
    "HeatReport",
    "HeatRun",
    "HotSpot",
    "Load",
    "LoadPhase",
    "PlannedCall",
    "PlannedRequest",
    "RecordedLoad",
    "Remedy",
    "ThrottlingStart",
    "WorkloadLoad",
    "plan_heat",
    "replay_records",
    "replay_traffic",
    "report_heat",
    "simulate",
    "simulate_workload",
]
