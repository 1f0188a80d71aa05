"""Measurements of Keyfold, run by hand; README.md says how and holds the last numbers."""

from __future__ import annotations
