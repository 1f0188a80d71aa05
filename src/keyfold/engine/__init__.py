"""The embedded engine: DynamoDB's semantics on one file, without a server.

>>> from keyfold.engine import Engine
>>> with Engine.open(":memory:") as engine:
...     engine.execute("ListTables", {})
{'TableNames': []}
"""

from __future__ import annotations

from keyfold.api import TableKeyNames
from keyfold.api.wordings import Wording
from keyfold.engine.engine import Engine, Throttling
from keyfold.engine.file_copies import FileCopy, backup_file, restore_file
from keyfold.engine.insights.hot_keys import HotKey
from keyfold.engine.insights.traffic import TrafficFile, TrafficRecord, read_traffic
from keyfold.engine.items.deadlines import NO_DEADLINE, Deadline
from keyfold.engine.items.work import NeedsThread
from keyfold.engine.storage import Durability
from keyfold.engine.verify import Problem

__all__ = [
    "NO_DEADLINE",
    "Deadline",
    "Durability",
    "Engine",
    "FileCopy",
    "HotKey",
    "NeedsThread",
    "Problem",
    "TableKeyNames",
    "Throttling",
    "TrafficFile",
    "TrafficRecord",
    "Wording",
    "backup_file",
    "read_traffic",
    "restore_file",
]
