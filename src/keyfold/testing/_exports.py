"""The names that `keyfold.testing` exports, which imports them when one of them is first used."""

from __future__ import annotations

from keyfold.testing._clock import Clock
from keyfold.testing._dynamodb import dynamodb
from keyfold.testing._fault_profile import FaultProfile
from keyfold.testing._lint_options import LintTable
from keyfold.testing._service import Service
from keyfold.testing._store_options import OpenAsyncStore, OpenStore

__all__ = [
    "Clock",
    "FaultProfile",
    "LintTable",
    "OpenAsyncStore",
    "OpenStore",
    "Service",
    "dynamodb",
]
