"""The embedded engine: DynamoDB's semantics on one file, without a server.

>>> from keyfold.engine import Engine
>>> with Engine.open(":memory:") as engine:
...     engine.execute("ListTables", {})
{'TableNames': []}
"""

from __future__ import annotations

from keyfold.engine._engine import Engine
from keyfold.engine._hot_keys import HotKey
from keyfold.engine._key_names import TableKeyNames
from keyfold.engine._verify import Problem
from keyfold.engine.storage import Durability

__all__ = ["Durability", "Engine", "HotKey", "Problem", "TableKeyNames"]
