"""Entering and leaving: the context manager and the decorator."""

from __future__ import annotations

import inspect
import os
import sys
import time
from collections.abc import Callable
from contextlib import aclosing
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

from keyfold.errors import OptionInvalid
from keyfold.testing._clock import Clock
from keyfold.testing._collections import without_collections
from keyfold.testing._fault_profile import FaultProfile
from keyfold.testing._service import Service

if TYPE_CHECKING:
    from keyfold.testing._core import Core

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)


class Activation:
    """A service to be entered with `with`, or to decorate with; `dynamodb` makes it.

    Every time that it is entered, and every call of what it decorates, has a service of its own.
    """

    def __init__(
        self,
        *,
        clock: Clock | None,
        faults: FaultProfile,
        region: str,
        shard_records: int | None,
        sleep: Callable[[float], object],
        buckets: str | os.PathLike[str] | None,
    ) -> None:
        self._clock, self._faults = clock, faults
        self._shard_records, self._buckets = shard_records, buckets
        self._region, self._sleep = region, sleep
        self._entered: list[Core] = []

    def __enter__(self) -> Service:
        # Here, so that a test run that never enters loads neither the engine nor botocore.
        with without_collections():
            from keyfold.testing._botocore import active  # noqa: PLC0415
            from keyfold.testing._core import Core  # noqa: PLC0415

        core = Core(
            clock=Clock() if self._clock is None else self._clock,
            faults=self._faults,
            region=self._region,
            shard_records=self._shard_records,
            sleep=self._sleep,
            buckets=self._buckets,
        )
        try:
            active.enter(core)
        except BaseException:
            core.close()
            raise
        self._entered.append(core)
        return Service(core)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        from keyfold.testing._botocore import active  # noqa: PLC0415 - loaded by now

        core = self._entered.pop()
        active.leave(core)
        core.close()

    @overload
    def __call__(self, target: C, /) -> C: ...
    @overload
    def __call__(self, target: Callable[P, R], /) -> Callable[P, R]: ...
    def __call__(self, target: Any, /) -> Any:
        if isinstance(target, type):
            return self._decorate_class(target)
        return self._decorate(target)

    def _again(self) -> Activation:
        """Return the same once more, for one call: several may be under way at the same time."""
        return Activation(
            clock=self._clock,
            faults=self._faults,
            region=self._region,
            shard_records=self._shard_records,
            sleep=self._sleep,
            buckets=self._buckets,
        )

    def _decorate_class(self, target: type) -> type:
        # No class is a TestCase before that module is loaded.
        unittest: Any = sys.modules.get("unittest")
        if unittest is not None and issubclass(target, unittest.TestCase):
            # Around everything that belongs to a test, `setUp` included.
            case: Any = target
            case.run = self._decorate(case.run)
            return target
        for name, member in list(vars(target).items()):
            if name.startswith("test") and inspect.isfunction(member):
                setattr(target, name, self._decorate(member))
        return target

    def _decorate(self, function: Callable[..., Any]) -> Callable[..., Any]:
        # Each kind is entered for as long as it runs, which for most is after the call returned.
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def call_async(*arguments: Any, **options: Any) -> Any:
                with self._again():
                    return await function(*arguments, **options)

            return call_async
        if inspect.isasyncgenfunction(function):

            @wraps(function)
            async def generate_async(*arguments: Any, **options: Any) -> Any:
                with self._again():
                    async with aclosing(function(*arguments, **options)) as values:
                        async for value in values:
                            yield value

            return generate_async
        if inspect.isgeneratorfunction(function):

            @wraps(function)
            def generate(*arguments: Any, **options: Any) -> Any:
                with self._again():
                    return cast("object", (yield from function(*arguments, **options)))

            return generate

        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            with self._again():
                return function(*arguments, **options)

        return call


@overload
def dynamodb(target: C, /) -> C: ...
@overload
def dynamodb(target: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def dynamodb(
    *,
    clock: Clock | None = None,
    faults: FaultProfile | None = None,
    region: str = "us-east-1",
    shard_records: int | None = None,
    sleep: Callable[[float], object] = time.sleep,
    buckets: str | os.PathLike[str] | None = None,
) -> Activation: ...
def dynamodb(
    target: Any = None,
    /,
    *,
    clock: Clock | None = None,
    faults: FaultProfile | None = None,
    region: str = "us-east-1",
    shard_records: int | None = None,
    sleep: Callable[[float], object] = time.sleep,
    buckets: str | os.PathLike[str] | None = None,
) -> Any:
    """Put every DynamoDB client and resource of this process on an engine in memory.

    It is a context manager, which gives the `Service`, and a decorator of functions, methods,
    coroutines, generators such as pytest's fixtures, and classes of tests.

    >>> with dynamodb() as service:
    ...     service.execute("ListTables", {})
    {'TableNames': []}

    >>> @dynamodb
    ... def test_nothing_is_there() -> None:
    ...     import boto3
    ...     assert boto3.client("dynamodb").list_tables()["TableNames"] == []
    >>> test_nothing_is_there()

    Clients of boto3, botocore, aioboto3 and aiobotocore are led there, those that were made
    before as well; other services of AWS are not touched. Where one is inside another, the
    inner one counts. No network is used, and no keys or region need be configured: clients made
    inside have `region` when they have none.

    `clock` is the service's time, `faults` what its callers meet. Shards of streams are split
    after `shard_records` records; a small number tries how code follows that. `sleep` is how a
    call that is delayed waits (asynchronous clients await asyncio.sleep). `buckets` is a folder
    whose folders stand for S3 buckets, for exports, imports and bulk operations.

    Raises OptionInvalid.
    """
    if not isinstance(clock, Clock | None):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
        raise OptionInvalid("clock", clock, "Give a keyfold.testing.Clock.")
    if not isinstance(faults, FaultProfile | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionInvalid("faults", faults, "Give a keyfold.testing.FaultProfile.")
    activation = Activation(
        clock=clock,
        faults=faults or FaultProfile(),
        region=region,
        shard_records=shard_records,
        sleep=sleep,
        buckets=buckets,
    )
    return activation if target is None else activation(cast("Callable[..., Any]", target))
