"""Access patterns: functions that return requests, and explanations of the calls they make."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, ParamSpec, TypeVar, get_type_hints

from pydantic import ValidationError

from keyfold.api import find_operation
from keyfold.errors import DeclarationInvalid, PatternUnknown
from keyfold.model._batches import Batch
from keyfold.model._collections import CollectionGet
from keyfold.model._expected_use import CallRate, declare_rate
from keyfold.model._formatting import show_item
from keyfold.model._moments import SAMPLE_TIME
from keyfold.model._paged_reads import Count, First, Query, Scan
from keyfold.model._pattern_arguments import (
    placeholder_for,
    placeholder_result,
    sample_for,
    sample_result,
)
from keyfold.model._pattern_faults import check_runnable, pattern_error
from keyfold.model._reads import Get
from keyfold.model._requests import Chain, Mapped, Request
from keyfold.model._transactions import Transaction
from keyfold.model._updates import Update
from keyfold.model._writes import CreateOrGet, Presence, Put, Write

P = ParamSpec("P")
R_co = TypeVar("R_co", bound=Request[Any], covariant=True)
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class PatternStep:
    """One API call that a pattern makes, and the request that makes it, whose values are placeholders.

    `lags` says that it reads a global index, which may lag behind writes. A write of unique values
    makes several calls: a GetItem whose request is a write is the store's own.
    """

    operation: str
    table: str
    index: str | None
    key: str
    scans: bool = False
    filters: bool = False
    lags: bool = False
    request: Request[Any] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The API calls that an access pattern makes, determined without a database."""

    pattern: str
    steps: tuple[PatternStep, ...]

    @property
    def scans(self) -> bool:
        """Whether the pattern scans a whole table or index."""
        return any(step.scans for step in self.steps)

    @property
    def filters(self) -> bool:
        """Whether the pattern filters items after reading them, which consumes capacity."""
        return any(step.filters for step in self.steps)

    @property
    def is_atomic(self) -> bool:
        """Whether its writes succeed or fail as a whole; False if it makes several calls to write.

        The members of a batch are also written independently.
        """
        operations = [find_operation(step.operation) for step in self.steps]
        writes = [each for each in operations if not each.is_read]
        return len(writes) < 2 and not any(each.name == "BatchWriteItem" for each in writes)  # noqa: PLR2004 - one or none

    @property
    def lagging_indexes(self) -> tuple[str, ...]:
        """The global indexes that the pattern reads: they may lack the last writes."""
        names = (step.index for step in self.steps if step.lags and step.index is not None)
        return tuple(dict.fromkeys(names))

    @property
    def writes_after_lag(self) -> bool:
        """Whether it writes after it has read a global index, by what may be out of date."""
        lagging = [number for number, step in enumerate(self.steps) if step.lags]
        later = self.steps[lagging[0] :] if lagging else ()
        return any(not find_operation(step.operation).is_read for step in later)

    @property
    def round_trips(self) -> int:
        """The minimum number of API calls that the pattern makes."""
        return len(self.steps)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a pattern."""

    name: str
    annotation: Any
    is_required: bool


class Pattern(Generic[P, R_co]):
    """An access pattern: a named function that returns a request; calling the pattern calls it."""

    def __init__(
        self,
        name: str,
        make: Callable[P, R_co],
        example: Mapping[str, Any] | None,
        *,
        rate: CallRate | None = None,
        peak: CallRate | None = None,
        lint_ignore: Mapping[str, str] | None = None,
        path: str | None = None,
    ) -> None:
        self.name = name
        self.make = make
        self.example = dict(example or {})
        # How often it is expected to be called, on average and at most; None if that is unknown.
        self.rate = rate
        self.peak = peak
        # The codes of lint rules that do not apply to it, with the reasons.
        self.lint_ignore = dict(lint_ignore or {})
        # Where a service has it, such as "/users/{user}/orders"; None for a path by its name.
        self.path = path
        self.description = inspect.getdoc(make) or ""
        self.__doc__ = make.__doc__
        self.__name__ = getattr(make, "__name__", name)
        self.__wrapped__ = make

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        return self.make(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Pattern {self.name!r}>"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the pattern's function."""
        try:
            hints = get_type_hints(self.make, include_extras=True)
        except NameError:
            # An annotation that names a type local to a function cannot be resolved: keep its text.
            hints = inspect.get_annotations(self.make)
        return tuple(
            Parameter(each.name, hints.get(each.name, Any), each.default is each.empty)
            for each in inspect.signature(self.make).parameters.values()
        )

    def explain(self) -> Explanation:
        """Return the API calls that the pattern makes, without running them.

        The pattern's function is called with the values of its example, and with placeholders for
        its other arguments. Raises PatternUnexplained if it cannot take a placeholder, and
        PatternFailed for any other error of the function, or if the request cannot run, such as an
        update that lacks parts of an index key.
        """
        return Explanation(self.name, self._use_request(lambda made: tuple(explain_request(made))))

    def placeholder_request(self) -> Request[Any]:
        """Return the request that `explain` explains, whose values are placeholders.

        Raises PatternUnexplained and PatternFailed.
        """
        return self._use_request(lambda made: made)

    def _use_request(self, use: Callable[[Request[Any]], U]) -> U:
        arguments = self._make_arguments(placeholder_for)
        try:
            return use(self._make(arguments))
        except ValidationError as error:
            # It makes a model of its arguments, and placeholders are not of its fields' types.
            try:
                return use(self._make(self._make_arguments(sample_for)))
            except Exception:  # noqa: BLE001 - the samples were at fault, or it fails anyway
                raise pattern_error(self.name, error, arguments.values()) from error
        except Exception as error:
            raise pattern_error(self.name, error, arguments.values()) from error

    def _make_arguments(self, make: Callable[[str, Any], Any]) -> dict[str, Any]:
        return {
            each.name: self.example.get(each.name, make(each.name, each.annotation))
            for each in self.parameters
            if each.is_required or each.name in self.example
        }

    def _make(self, arguments: Mapping[str, Any]) -> Request[Any]:
        return self.make(**arguments)  # type: ignore[call-arg]


def explain_request(request: Request[Any]) -> Iterator[PatternStep]:
    """Yield the API calls that a request makes; what depends on a response has placeholders."""
    check_runnable(request)
    made = request  # of any type, in each case
    match request:
        case Query(table=table, index=index, keys=keys):
            yield PatternStep(
                "Query",
                table.name,
                None if index is None else index.name,
                str(keys),
                filters=request.filter is not None or request.test is not None,
                lags=index is not None and not index.local,
                request=made,
            )
        case Scan(table=table, index=index):
            name = None if index is None else index.name
            yield PatternStep(
                "Scan",
                table.name,
                name,
                "",
                scans=True,
                filters=request.filter is not None or request.test is not None,
                lags=index is not None and not index.local,
                request=made,
            )
        case First() | CollectionGet() | Count():
            for step in explain_request(request.source):
                yield replace(step, request=made)
        case Get(table=table, key=key):
            yield PatternStep("GetItem", table.name, None, show_item(key), request=made)
        case Write(table=table):
            yield from _explain_write(request)
        case CreateOrGet(put=put):
            yield from _explain_write(put)
        case Mapped(request=inner):
            yield from explain_request(inner)
        case Chain(first=first, make=make):
            yield from explain_request(first)
            yield from explain_request(_next_request(first, make))
        case Transaction(requests=members):
            operation = "TransactGetItems" if request.is_read else "TransactWriteItems"
            for each in members:
                if isinstance(each, Write) and each.changes_unique and not _is_create(each):
                    yield _lookup_step(each)
            keys = "; ".join(map(_key_of, members))
            tables = ", ".join(each.name for each in request.tables)
            yield PatternStep(operation, tables, None, keys, request=made)
        case Batch():
            for call in request.calls(SAMPLE_TIME):
                members = [
                    request.requests[each]
                    for positions in call.positions.values()
                    for each in positions
                ]
                tables = ", ".join(dict.fromkeys(each.table.name for each in members))
                keys = "; ".join(map(_key_of, members))
                yield PatternStep(call.operation, tables, None, keys, request=made)
        case _:
            raise TypeError(f"{request!r} cannot be explained")


def _explain_write(request: Write[Any]) -> Iterator[PatternStep]:
    key = _key_of(request)
    if not request.changes_unique:
        yield PatternStep(request.operation, request.table.name, None, key, request=request)
        return
    # The store reads the old values of unique fields before the transaction, and the updated
    # entity after it.
    if not _is_create(request):
        yield _lookup_step(request)
    yield PatternStep("TransactWriteItems", request.table.name, None, key, request=request)
    if isinstance(request, Update):
        yield _lookup_step(request)


def _is_create(request: Write[Any]) -> bool:
    return isinstance(request, Put) and request.presence is Presence.MUST_NOT_EXIST


def _lookup_step(request: Write[Any]) -> PatternStep:
    return PatternStep("GetItem", request.table.name, None, _key_of(request), request=request)


def _key_of(request: Write[Any] | Get[Any]) -> str:
    return show_item(request.key if isinstance(request, Get) else request.item_key)


def _next_request(first: Request[Any], make: Callable[[Any], Request[Any]]) -> Request[Any]:
    """Return the request that follows in a chain, for a placeholder of the first one's result."""
    found = placeholder_result(first)
    try:
        return make(found)
    except ValidationError:
        samples = sample_result(found)
        if samples is None:
            raise
        # It makes an entity of what was found, and placeholders are not of its fields' types.
        return make(samples)


@dataclass(slots=True)
class PatternRegistry(Mapping[str, Pattern[..., Any]]):
    """The access patterns of a table, by name; an unknown name raises PatternUnknown."""

    table: str
    by_name: dict[str, Pattern[..., Any]] = field(default_factory=dict[str, Pattern[..., Any]])

    def register(
        self,
        name: str,
        example: Mapping[str, Any] | None,
        *,
        rate: str | float | None = None,
        peak: str | float | None = None,
        lint_ignore: Mapping[str, str] | None = None,
        path: str | None = None,
    ) -> Callable[[Callable[P, R_co]], Pattern[P, R_co]]:
        """Return the decorator that registers a function."""
        subject = f"{self.table}: pattern {name!r}"
        if name in self.by_name:
            raise DeclarationInvalid((f"{subject} is declared twice.",))
        mean, most = declare_rate(subject, "rate", rate), declare_rate(subject, "peak", peak)
        if mean is not None and most is not None and most.per_second < mean.per_second:
            problem = f"{subject}: its peak ({most.text}) is lower than its rate ({mean.text})."
            raise DeclarationInvalid((problem,))

        def decorate(make: Callable[P, R_co]) -> Pattern[P, R_co]:
            pattern = Pattern(
                name, make, example, rate=mean, peak=most, lint_ignore=lint_ignore, path=path
            )
            unknown = pattern.example.keys() - inspect.signature(make).parameters.keys()
            if unknown:
                problem = f"its example has {min(unknown)!r}, which is not one of its parameters."
                raise DeclarationInvalid((f"{subject}: {problem}",))
            self.by_name[name] = pattern
            return pattern

        return decorate

    def __getitem__(self, name: str) -> Pattern[..., Any]:
        try:
            return self.by_name[name]
        except KeyError:
            raise PatternUnknown(self.table, name, tuple(self.by_name)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)
