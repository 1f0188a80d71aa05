"""`dynamodb`: the context manager and decorator that activates a service."""

from __future__ import annotations

import inspect
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

from keyfold.clocks import Clock as AnyClock
from keyfold.clocks import check_clock
from keyfold.errors import OptionInvalid
from keyfold.testing._clock import Clock
from keyfold.testing._fault_profile import FaultProfile
from keyfold.testing._gc import gc_paused
from keyfold.testing._service import Service

if TYPE_CHECKING:
    from keyfold.api.wordings import Wording
    from keyfold.engine import Throttling
    from keyfold.model import Table
    from keyfold.testing._core import Core

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)


class Activation:
    """A context manager and decorator that activates a service; returned by `dynamodb`.

    Each `with` block, and each call of a decorated function, gets its own service.
    """

    def __init__(
        self,
        *,
        clock: AnyClock | None,
        faults: FaultProfile,
        region: str,
        shard_records: int | None,
        sleep: Callable[[float], object],
        buckets: str | os.PathLike[str] | None,
        tables: Sequence[Table],
        wording: Wording,
        throttling: Throttling | None,
    ) -> None:
        self._clock, self._faults = clock, faults
        self._shard_records, self._buckets = shard_records, buckets
        self._region, self._sleep, self._tables = region, sleep, tables
        self._wording: Wording = wording
        self._throttling: Throttling | None = throttling
        self._entered: list[Core] = []

    def __enter__(self) -> Service:
        # Imported here, so that a test run without any service loads neither engine nor botocore.
        with gc_paused():
            from keyfold.testing._active import active  # noqa: PLC0415
            from keyfold.testing._core import Core  # noqa: PLC0415

        core = Core(
            clock=self._clock if isinstance(self._clock, Clock) else Clock(self._clock),
            faults=self._faults,
            region=self._region,
            shard_records=self._shard_records,
            sleep=self._sleep,
            buckets=self._buckets,
            tables=self._tables,
            wording=self._wording,
            throttling=self._throttling,
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
        from keyfold.testing._active import active  # noqa: PLC0415 - already loaded

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

    def _copy(self) -> Activation:
        """Return a copy for one call, since several calls may run at the same time."""
        return Activation(
            clock=self._clock,
            faults=self._faults,
            region=self._region,
            shard_records=self._shard_records,
            sleep=self._sleep,
            buckets=self._buckets,
            tables=self._tables,
            wording=self._wording,
            throttling=self._throttling,
        )

    def _decorate_class(self, target: type) -> type:
        # Not imported: no class can be a TestCase before that module is loaded.
        unittest: Any = sys.modules.get("unittest")
        if unittest is not None and issubclass(target, unittest.TestCase):
            # `run` includes everything that belongs to a test, such as `setUp`.
            case: Any = target
            case.run = self._decorate(case.run)
            return target
        for name, member in list(vars(target).items()):
            if name.startswith("test") and inspect.isfunction(member):
                setattr(target, name, self._decorate(member))
        return target

    def _decorate(self, function: Callable[..., Any]) -> Callable[..., Any]:
        # The service is active while the function runs; coroutines and generators run after the
        # call has returned, so each kind needs its own wrapper.
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def call_async(*arguments: Any, **options: Any) -> Any:
                with self._copy():
                    return await function(*arguments, **options)

            return call_async
        if inspect.isasyncgenfunction(function):

            @wraps(function)
            async def generate_async(*arguments: Any, **options: Any) -> Any:
                with self._copy():
                    async with aclosing(function(*arguments, **options)) as values:
                        async for value in values:
                            yield value

            return generate_async
        if inspect.isgeneratorfunction(function):

            @wraps(function)
            def generate(*arguments: Any, **options: Any) -> Any:
                with self._copy():
                    return cast("object", (yield from function(*arguments, **options)))

            return generate

        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            with self._copy():
                return function(*arguments, **options)

        return call


@overload
def dynamodb(target: C, /) -> C: ...
@overload
def dynamodb(target: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def dynamodb(
    *,
    clock: AnyClock | None = None,
    faults: FaultProfile | None = None,
    region: str = "us-east-1",
    shard_records: int | None = None,
    sleep: Callable[[float], object] = time.sleep,
    buckets: str | os.PathLike[str] | None = None,
    tables: Sequence[Table] = (),
    wording: Wording = "2026",
    throttling: Throttling | None = None,
) -> Activation: ...
def dynamodb(
    target: Any = None,
    /,
    *,
    clock: AnyClock | None = None,
    faults: FaultProfile | None = None,
    region: str = "us-east-1",
    shard_records: int | None = None,
    sleep: Callable[[float], object] = time.sleep,
    buckets: str | os.PathLike[str] | None = None,
    tables: Sequence[Table] = (),
    wording: Wording = "2026",
    throttling: Throttling | None = None,
) -> Any:
    """Redirect all DynamoDB clients and resources of this process to an in-memory engine.

    It is a context manager, which returns the `Service`, and a decorator for functions, methods,
    coroutines, generators such as pytest's fixtures, and test classes.

    >>> with dynamodb() as service:
    ...     service.execute("ListTables", {})
    {'TableNames': []}

    >>> @dynamodb
    ... def test_nothing_is_there() -> None:
    ...     import boto3
    ...     assert boto3.client("dynamodb").list_tables()["TableNames"] == []
    >>> test_nothing_is_there()

    Clients of boto3, botocore, aioboto3, aiobotocore and Keyfold are redirected, including those
    that already exist; other AWS services and database files are not affected. If blocks are
    nested, the innermost applies. No network is used, and neither credentials nor a region have to
    be configured: clients made inside use `region` if they have none.

    `clock` is the service's clock: a `Clock`, or any other, which the service's then follows.
    `faults` are the faults to inject. Shards of streams are split after `shard_records` records; a
    small number tests how code handles splits. `sleep` is called for injected latency (asynchronous
    clients await asyncio.sleep). `buckets` is a folder whose subfolders stand for S3 buckets, for
    exports, imports and bulk operations. Writes to `tables` that do not fit their declarations are
    refused, as `keyfold serve --table` refuses them. `wording` is that of errors about requests, as
    in `Engine.open`, and so is `throttling`: with "partitions", hot keys are throttled, by the
    service's clock.

    Raises OptionInvalid.
    """
    if clock is not None:
        check_clock(clock)
    if not isinstance(faults, FaultProfile | None):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
        raise OptionInvalid("faults", faults, "Give a keyfold.testing.FaultProfile.")
    activation = Activation(
        clock=clock,
        faults=faults or FaultProfile(),
        region=region,
        shard_records=shard_records,
        sleep=sleep,
        buckets=buckets,
        tables=tables,
        wording=wording,
        throttling=throttling,
    )
    return activation if target is None else activation(cast("Callable[..., Any]", target))
