"""What `keyfold demo` runs: a data set for each design, and what its patterns must return."""

from __future__ import annotations

from keyfold.cli._demo.report import DesignReport, PatternRun, Row, run_demo

__all__ = ["DesignReport", "PatternRun", "Row", "run_demo"]
