"""Moving data between databases and files, and bringing stored items up to date."""

from __future__ import annotations

from keyfold.transfer._backfill import BackfillSummary, Change, backfill_table
from keyfold.transfer._calls import Surroundings
from keyfold.transfer._job import Summary
from keyfold.transfer._moves import Form, Options, Place, copy_table, dump_table, load_table
from keyfold.transfer._progress import Progress
from keyfold.transfer._tallies import Comparison, Tally

__all__ = [
    "BackfillSummary",
    "Change",
    "Comparison",
    "Form",
    "Options",
    "Place",
    "Progress",
    "Summary",
    "Surroundings",
    "Tally",
    "backfill_table",
    "copy_table",
    "dump_table",
    "load_table",
]
