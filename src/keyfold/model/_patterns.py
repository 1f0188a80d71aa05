"""Access patterns: functions that return requests, and can explain themselves."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, ParamSpec, TypeVar, cast, get_type_hints

from pydantic import BaseModel, ValidationError

from keyfold.errors import DeclarationInvalid, PatternUnexplained, PatternUnknown
from keyfold.model._batches import Batch
from keyfold.model._collections import CollectionGet
from keyfold.model._placeholders import Placeholder
from keyfold.model._requests import (
    Chain,
    Count,
    First,
    Get,
    Mapped,
    Query,
    Ref,
    Request,
    ResultShape,
    Scan,
)
from keyfold.model._showing import show_item
from keyfold.model._transactions import Transaction
from keyfold.model._updates import Update, touches_unique
from keyfold.model._writes import CreateOrGet, Presence, Put, Write

# Calls are laid out for some moment; which one changes nothing that is explained.
_SOME_TIME = datetime(2020, 1, 1, tzinfo=UTC)

P = ParamSpec("P")
R_co = TypeVar("R_co", bound=Request[Any], covariant=True)


@dataclass(frozen=True, slots=True)
class PatternStep:
    """One call that a pattern makes."""

    operation: str
    table: str
    index: str | None
    key: str
    scans: bool = False
    filters: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a pattern does, found out without a database."""

    pattern: str
    steps: tuple[PatternStep, ...]

    @property
    def scans(self) -> bool:
        """Whether it reads a whole table or index."""
        return any(step.scans for step in self.steps)

    @property
    def filters(self) -> bool:
        """Whether it leaves out items after they were read, and paid for."""
        return any(step.filters for step in self.steps)

    @property
    def round_trips(self) -> int:
        """How many calls it makes at least."""
        return len(self.steps)


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of a pattern."""

    name: str
    annotation: Any
    is_required: bool


class Pattern(Generic[P, R_co]):
    """An access pattern; calling it returns its request."""

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
        """The arguments that it takes."""
        try:
            hints = get_type_hints(self.make, include_extras=True)
        except NameError:
            # A type that is local to a function stays the text that it was written as.
            hints = inspect.get_annotations(self.make)
        return tuple(
            Parameter(each.name, hints.get(each.name, Any), each.default is each.empty)
            for each in inspect.signature(self.make).parameters.values()
        )

    def explain(self) -> Explanation:
        """Return what the pattern does, without a database.

        It is called with placeholders for arguments, or with the example's; raises
        PatternUnexplained where it cannot take a placeholder.
        """
        arguments = {
            each.name: self.example.get(each.name, _placeholder_for(each.name, each.annotation))
            for each in self.parameters
            if each.is_required or each.name in self.example
        }
        try:
            request = self.make(**arguments)  # type: ignore[call-arg]
            steps = tuple(_explain(request))
        except ValidationError as error:
            places = ", ".join(".".join(map(str, each["loc"])) for each in error.errors())
            reason = f"{error.title} is validated when it is made, and takes none for {places}"
            raise PatternUnexplained(self.name, reason) from error
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise PatternUnexplained(self.name, str(error)) from error
        return Explanation(self.name, steps)


def _placeholder_for(name: str, annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        fields = {each: Placeholder(f"{name}.{each}") for each in annotation.__pydantic_fields__}
        return cast(Any, annotation).model_construct(**fields)
    return Placeholder(name)


def _explain(request: Request[Any]) -> Iterator[PatternStep]:
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
        case First(query=query) | Count(query=query) | CollectionGet(query=query):
            yield from _explain(query)
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
            yield from _explain(make(_answer_of(first)))
        case Transaction(requests=members):
            operation = "TransactGetItems" if request.is_read else "TransactWriteItems"
            for each in members:
                if isinstance(each, Write) and touches_unique(each) and not _is_create(each):
                    yield _look_up(each)
            keys = "; ".join(map(_key_of, members))
            yield PatternStep(
                operation, ", ".join(each.name for each in request.tables), None, keys
            )
        case Batch():
            for call in request.split(_SOME_TIME):
                members = [
                    request.requests[each] for places in call.places.values() for each in places
                ]
                tables = ", ".join(dict.fromkeys(each.table.name for each in members))
                yield PatternStep(call.operation, tables, None, "; ".join(map(_key_of, members)))
        case _:
            raise TypeError(f"{request!r} is no request")


def _explain_write(request: Write[Any]) -> Iterator[PatternStep]:
    key = _key_of(request)
    if not touches_unique(request):
        yield PatternStep(request.operation, request.table.name, None, key)
        return
    # What unique fields held is looked up, and what becomes of an update too.
    if not _is_create(request):
        yield _look_up(request)
    yield PatternStep("TransactWriteItems", request.table.name, None, key)
    if isinstance(request, Update):
        yield _look_up(request)


def _is_create(request: Write[Any]) -> bool:
    return isinstance(request, Put) and request.presence is Presence.MUST_NOT_EXIST


def _look_up(request: Write[Any]) -> PatternStep:
    return PatternStep("GetItem", request.table.name, None, _key_of(request))


def _key_of(request: Write[Any] | Get[Any]) -> str:
    return show_item(request.key if isinstance(request, Get) else request.item_key)


def _answer_of(request: Request[Any]) -> Any:
    """Return something that stands for what a request finds."""
    match request:
        case First(query=query):
            return _found("found", query.shape)
        case Get(shape=shape):
            return _found("found", shape)
        case Query(shape=shape) | Scan(shape=shape):
            return _PageOf(shape)
        case _:
            return Placeholder("found")


def _found(name: str, shape: ResultShape[Any]) -> Any:
    """Return something that stands for what is read."""
    if shape.schema is None:
        return Placeholder(name)
    if shape.as_refs:
        parts = {each: Placeholder(f"{name}.{each}") for each in shape.schema.key_fields}
        return Ref(shape.schema.entity, shape.schema.render_key(parts), parts)
    return _placeholder_for(name, shape.only or shape.schema.entity)


class _PageOf(Placeholder):
    """Stands for a page of what is read."""

    __slots__ = ("_shape",)

    def __init__(self, shape: ResultShape[Any]) -> None:
        super().__init__("found")
        object.__setattr__(self, "_shape", shape)

    def _member(self, place: object) -> Any:
        return _found(f"found[{place}]", self._shape)


@dataclass(slots=True)
class PatternRegistry(Mapping[str, Pattern[..., Any]]):
    """The access patterns of a table, by name."""

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
                problem = f"its example has {min(unknown)!r}, which it does not take."
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
