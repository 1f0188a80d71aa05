"""The data sets of `keyfold demo`: one for each design, with the results its patterns must have."""

from __future__ import annotations

from keyfold.cli._demo.report import DesignReport, PatternRun, Row, run_demo

__all__ = ["DesignReport", "PatternRun", "Row", "run_demo"]
