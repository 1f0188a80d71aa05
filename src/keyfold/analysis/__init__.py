"""Analysis of a declared table: its workload, and what each of its access patterns does.

`read_workload` says how the table is used, `find_sample` and `sample_database` what its items look
like, and `profile_table` runs every pattern on that sample and counts.
"""

from __future__ import annotations

from keyfold.analysis.profiles import (
    MeasuredRun,
    PatternProfile,
    TableProfile,
    change_workload,
    profile_table,
)
from keyfold.analysis.samples import SampleData, find_sample, sample_database
from keyfold.analysis.scratch import RecordedCall, ScratchTable
from keyfold.analysis.workload import (
    CostSettings,
    PatternUse,
    Workload,
    find_same_partitions,
    read_workload,
    use_alike,
)

__all__ = [
    "CostSettings",
    "MeasuredRun",
    "PatternProfile",
    "PatternUse",
    "RecordedCall",
    "SampleData",
    "ScratchTable",
    "TableProfile",
    "Workload",
    "change_workload",
    "find_same_partitions",
    "find_sample",
    "profile_table",
    "read_workload",
    "sample_database",
    "use_alike",
]
