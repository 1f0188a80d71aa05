"""What a test holds: the engine of the moment, its clock, and its faults."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from keyfold.testing._clock import Clock
from keyfold.testing._fault_profile import FaultProfile

if TYPE_CHECKING:
    # Loading the engine takes longer than all else here, and not every test run wants it.
    from keyfold.engine import Engine
    from keyfold.testing._core import Core


class Service:
    """The DynamoDB that clients talk to inside `dynamodb()`.

    >>> from keyfold.testing import FaultProfile, dynamodb
    >>> with dynamodb() as service:
    ...     with service.under(FaultProfile(throttling=1.0)):
    ...         try:
    ...             service.execute("Scan", {"TableName": "Music"})
    ...         except Exception as error:
    ...             print(type(error).__name__)
    ProvisionedThroughputExceededException

    It may be used by several threads.
    """

    def __init__(self, core: Core) -> None:
        """Use `dynamodb` instead."""
        self._core = core

    @property
    def engine(self) -> Engine:
        """The engine of the moment; calls of its own methods meet no faults."""
        return self._core.engine

    @property
    def clock(self) -> Clock:
        """The service's clock; moving it makes expired items go at once."""
        return self._core.clock

    @property
    def faults(self) -> FaultProfile:
        """What callers have to put up with at the moment; may be set."""
        return self._core.faults

    @faults.setter
    def faults(self, faults: FaultProfile) -> None:
        self._core.use(faults)

    @contextmanager
    def under(self, faults: FaultProfile) -> Generator[None]:
        """Use other faults for a while, and then the former again."""
        core = self._core
        before = core.injector
        core.use(faults)
        try:
            yield
        finally:
            core.resume(before)

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation as `Engine.execute` does, under the faults."""
        self._core.wait()
        return self._core.execute(operation, request)

    def execute_json(self, operation: str, body: bytes) -> bytes:
        """Carry out one operation as `Engine.execute_json` does, under the faults.

        That is all a server asks of an engine, so it can be put on a service.
        """
        self._core.wait()
        return self._core.execute_json(operation, body)

    def reset(self) -> None:
        """Forget every table, and draw faults from their seed again, within a millisecond.

        Clients stay as they are. The former engine is closed.
        """
        self._core.reset()

    def __repr__(self) -> str:
        return f"<Service on {self._core.engine!r}, {self._core.clock!r}>"
