"""Copies, dumps and loads of tables, and backfills of stored items."""

from __future__ import annotations

from keyfold.transfer._backfill import BackfillSummary, ItemPatch, backfill_table
from keyfold.transfer._calls import CallEnvironment
from keyfold.transfer._job import Summary
from keyfold.transfer._progress import Progress
from keyfold.transfer._tallies import EntityComparison, Tally
from keyfold.transfer._transfers import (
    Form,
    LoadForm,
    Options,
    TableLocation,
    copy_table,
    dump_table,
    load_table,
)

__all__ = [
    "BackfillSummary",
    "CallEnvironment",
    "EntityComparison",
    "Form",
    "ItemPatch",
    "LoadForm",
    "Options",
    "Progress",
    "Summary",
    "TableLocation",
    "Tally",
    "backfill_table",
    "copy_table",
    "dump_table",
    "load_table",
]
