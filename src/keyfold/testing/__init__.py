"""DynamoDB for tests: all DynamoDB clients of the process use an in-memory engine.

>>> from keyfold.testing import dynamodb
>>> with dynamodb() as service:
...     service.execute("ListTables", {})
{'TableNames': []}
"""

from __future__ import annotations

from keyfold.testing._clock import Clock
from keyfold.testing._dynamodb import dynamodb
from keyfold.testing._fault_profile import FaultProfile
from keyfold.testing._service import Service
from keyfold.testing._store_options import OpenAsyncStore, OpenStore

__all__ = ["Clock", "FaultProfile", "OpenAsyncStore", "OpenStore", "Service", "dynamodb"]
