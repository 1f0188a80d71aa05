"""DynamoDB for tests: all boto3 clients of the process use an in-memory engine.

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
