"""Access patterns: functions that return requests, and explanations of the calls they make."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Generic, ParamSpec, TypeVar, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ValidationError

from keyfold.errors import DeclarationInvalid, PatternUnknown
from keyfold.keys import Ulid
from keyfold.keys._annotations import find_type
from keyfold.model._batches import Batch
from keyfold.model._collections import CollectionGet
from keyfold.model._formatting import show_item
from keyfold.model._moments import SAMPLE_TIME
from keyfold.model._paged_reads import Count, First, Query, Scan
from keyfold.model._pattern_faults import check_runnable, pattern_error
from keyfold.model._placeholders import Placeholder
from keyfold.model._reads import Get, Ref, ResultShape
from keyfold.model._requests import Chain, Mapped, Request
from keyfold.model._results import Page
from keyfold.model._transactions import Transaction
from keyfold.model._updates import Update
from keyfold.model._writes import CreateOrGet, Presence, Put, Write

_WRITES = frozenset({"BatchWriteItem", "DeleteItem", "PutItem", "TransactWriteItems", "UpdateItem"})

P = ParamSpec("P")
R_co = TypeVar("R_co", bound=Request[Any], covariant=True)


@dataclass(frozen=True, slots=True)
class PatternStep:
    """One API call that a pattern makes."""

    operation: str
    table: str
    index: str | None
    key: str
    scans: bool = False
    filters: bool = False


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
        writes = [step.operation for step in self.steps if step.operation in _WRITES]
        return len(writes) < 2 and "BatchWriteItem" not in writes  # noqa: PLR2004 - one or none

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
        self, name: str, make: Callable[P, R_co], example: Mapping[str, Any] | None
    ) -> None:
        self.name = name
        self.make = make
        self.example = dict(example or {})
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
        arguments = self._make_arguments(_placeholder_for)
        try:
            steps = self._explain(arguments)
        except ValidationError as error:
            # It makes a model of its arguments, and placeholders are not of its fields' types.
            try:
                steps = self._explain(self._make_arguments(_sample_for))
            except Exception:  # noqa: BLE001 - the samples were at fault, or it fails anyway
                raise pattern_error(self.name, error, arguments.values()) from error
        except Exception as error:
            raise pattern_error(self.name, error, arguments.values()) from error
        return Explanation(self.name, steps)

    def _make_arguments(self, make: Callable[[str, Any], Any]) -> dict[str, Any]:
        return {
            each.name: self.example.get(each.name, make(each.name, each.annotation))
            for each in self.parameters
            if each.is_required or each.name in self.example
        }

    def _explain(self, arguments: Mapping[str, Any]) -> tuple[PatternStep, ...]:
        return tuple(_explain(self.make(**arguments)))  # type: ignore[call-arg]


def _placeholder_for(name: str, annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        fields = {each: Placeholder(f"{name}.{each}") for each in annotation.__pydantic_fields__}
        return cast(Any, annotation).model_construct(**fields)
    if _is_list(annotation):
        return _PlaceholderList(name, get_args(annotation)[0])
    return Placeholder(name)


def _is_list(annotation: Any) -> bool:
    """Return whether a type is a list of others: `list[Order]`, `tuple[Order, ...]` and the like."""
    origin = get_origin(annotation)
    is_class = isinstance(origin, type)
    return is_class and issubclass(origin, Iterable) and not issubclass(origin, Mapping)


class _PlaceholderList(Placeholder):
    """Stands for an argument with several members, each of which gets the placeholder of its type."""

    __slots__ = ("_type",)

    def __init__(self, text: str, member_type: Any) -> None:
        super().__init__(text)
        object.__setattr__(self, "_type", member_type)

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return _PlaceholderList(str(found)[1:-1], self._type) if key.__class__ is slice else found

    def _member(self, index: object) -> Any:
        return _placeholder_for(f"{self._text}[{index}]", self._type)


def _explain(request: Request[Any]) -> Iterator[PatternStep]:
    check_runnable(request)
    match request:
        case Query(table=table, index=index, keys=keys):
            yield PatternStep(
                "Query",
                table.name,
                None if index is None else index.name,
                str(keys),
                filters=request.filter is not None,
            )
        case Scan(table=table, index=index):
            name = None if index is None else index.name
            yield PatternStep(
                "Scan", table.name, name, "", scans=True, filters=request.filter is not None
            )
        case First(query=query) | CollectionGet(query=query):
            yield from _explain(query)
        case Count(query=query):
            yield from _explain(request.source)
        case Get(table=table, key=key):
            yield PatternStep("GetItem", table.name, None, show_item(key))
        case Write(table=table):
            yield from _explain_write(request)
        case CreateOrGet(put=put):
            yield from _explain_write(put)
        case Mapped(request=inner):
            yield from _explain(inner)
        case Chain(first=first, make=make):
            yield from _explain(first)
            yield from _explain(_next_request(first, make))
        case Transaction(requests=members):
            operation = "TransactGetItems" if request.is_read else "TransactWriteItems"
            for each in members:
                if isinstance(each, Write) and each.changes_unique and not _is_create(each):
                    yield _lookup_step(each)
            keys = "; ".join(map(_key_of, members))
            yield PatternStep(
                operation, ", ".join(each.name for each in request.tables), None, keys
            )
        case Batch():
            for call in request.calls(SAMPLE_TIME):
                members = [
                    request.requests[each]
                    for positions in call.positions.values()
                    for each in positions
                ]
                tables = ", ".join(dict.fromkeys(each.table.name for each in members))
                yield PatternStep(call.operation, tables, None, "; ".join(map(_key_of, members)))
        case _:
            raise TypeError(f"{request!r} cannot be explained")


def _explain_write(request: Write[Any]) -> Iterator[PatternStep]:
    key = _key_of(request)
    if not request.changes_unique:
        yield PatternStep(request.operation, request.table.name, None, key)
        return
    # The store reads the old values of unique fields before the transaction, and the updated
    # entity after it.
    if not _is_create(request):
        yield _lookup_step(request)
    yield PatternStep("TransactWriteItems", request.table.name, None, key)
    if isinstance(request, Update):
        yield _lookup_step(request)


def _is_create(request: Write[Any]) -> bool:
    return isinstance(request, Put) and request.presence is Presence.MUST_NOT_EXIST


def _lookup_step(request: Write[Any]) -> PatternStep:
    return PatternStep("GetItem", request.table.name, None, _key_of(request))


def _key_of(request: Write[Any] | Get[Any]) -> str:
    return show_item(request.key if isinstance(request, Get) else request.item_key)


def _next_request(first: Request[Any], make: Callable[[Any], Request[Any]]) -> Request[Any]:
    """Return the request that follows in a chain, for a placeholder of the first one's result."""
    found = _placeholder_result(first)
    try:
        return make(found)
    except ValidationError:
        if not isinstance(found, BaseModel):
            raise
        # It makes an entity of what was found, and placeholders are not of its fields' types.
        return make(_sample_of("found", type(found)))


def _sample_for(name: str, annotation: Any) -> Any:
    """Return a value for an argument that is of its type, where that is possible."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _sample_of(name, annotation)
    if _is_list(annotation):
        return [_sample_for(f"{name}[i]", get_args(annotation)[0])]
    return _sample_value(name, find_type(annotation))


def _sample_of(name: str, model: type[BaseModel]) -> Any:
    """Return an instance of a model whose values are of simple types, where that is possible."""
    values = {
        each: _sample_value(f"{name}.{each}", find_type(field.annotation))
        for each, field in model.__pydantic_fields__.items()
    }
    return model.model_construct(**values)


def _sample_value(name: str, kind: Any) -> Any:
    if kind in (int, float, Decimal):
        return kind(1)
    if kind is str:
        return str(Placeholder(name))
    if kind in (date, datetime):
        return SAMPLE_TIME if kind is datetime else SAMPLE_TIME.date()
    if isinstance(kind, type) and issubclass(kind, Ulid):
        return kind.at(SAMPLE_TIME)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    return Placeholder(name)


def _placeholder_result(request: Request[Any]) -> Any:
    """Return a placeholder for the result of a request."""
    match request:
        case First(query=query):
            return _placeholder_of_shape("found", query.shape)
        case Get(shape=shape):
            return _placeholder_of_shape("found", shape)
        case Query(shape=shape) | Scan(shape=shape):
            return _PlaceholderPage(shape)
        case Write(schema=schema) | CreateOrGet(put=Put(schema=schema)):
            return _placeholder_for("found", schema.entity)
        case _:
            return Placeholder("found")


def _placeholder_of_shape(name: str, shape: ResultShape[Any]) -> Any:
    """Return a placeholder for one item that is read: an entity, a projection or a reference."""
    if shape.schema is None:
        return Placeholder(name)
    if shape.as_refs:
        parts = {each: Placeholder(f"{name}.{each}") for each in shape.schema.key_fields}
        return Ref(shape.schema.entity, shape.schema.render_key(parts), parts)
    return _placeholder_for(name, shape.only or shape.schema.entity)


class _PlaceholderPage(Page[Any]):
    """A page with one placeholder, which stands for all of its items; no page follows it."""

    def __init__(self, shape: ResultShape[Any]) -> None:
        super().__init__([_placeholder_of_shape("found[i]", shape)])
        self._shape = shape

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self
        return _placeholder_of_shape(f"found[{index}]", self._shape)


@dataclass(slots=True)
class PatternRegistry(Mapping[str, Pattern[..., Any]]):
    """The access patterns of a table, by name; an unknown name raises PatternUnknown."""

    table: str
    by_name: dict[str, Pattern[..., Any]] = field(default_factory=dict[str, Pattern[..., Any]])

    def register(
        self, name: str, example: Mapping[str, Any] | None
    ) -> Callable[[Callable[P, R_co]], Pattern[P, R_co]]:
        """Return the decorator that registers a function."""
        if name in self.by_name:
            raise DeclarationInvalid((f"{self.table}: pattern {name!r} is declared twice.",))

        def decorate(make: Callable[P, R_co]) -> Pattern[P, R_co]:
            pattern = Pattern(name, make, example)
            unknown = pattern.example.keys() - inspect.signature(make).parameters.keys()
            if unknown:
                problem = f"its example has {min(unknown)!r}, which is not one of its parameters."
                raise DeclarationInvalid((f"{self.table}: pattern {name!r}: {problem}",))
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
