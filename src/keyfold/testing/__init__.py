"""DynamoDB for tests: every boto3 client in the process on an engine in memory.

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

__all__ = ["Clock", "FaultProfile", "Service", "dynamodb"]
