"""Benchmarks of Keyfold, run by hand; README.md says how and has the last figures."""

from __future__ import annotations
