"""Endpoints: what an access pattern is to programs and agents that call it by name.

An endpoint has the types of a pattern's arguments and of its result, which HTTP and MCP share. Whatever
can be found without a request is found once, when the endpoint is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from types import UnionType
from typing import Annotated, Any, NotRequired, Required, Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, TypeAdapter
from typing_extensions import TypedDict

from keyfold.api import find_operation
from keyfold.errors import DeclarationInvalid, KeyfoldError
from keyfold.model import Entity, Get, Page, Pattern, Query, Scan, Table
from keyfold.model._pattern_types import find_request_type, find_result_type, find_value_type
from keyfold.model._patterns import PatternStep
from keyfold.model._writes import Check, Write

# The parameter that continues a list, and the names that patterns give to their own.
CURSOR = "cursor"
_OWN_CURSORS = ("cursor", "next_token", "next", "after")

# The paths that a service has besides those of patterns.
OWN_PATHS = frozenset(
    {"/", "/openapi.json", "/batch", "/changes", "/healthz", "/readyz", "/metrics"}
)

_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")
_PATH = re.compile(r"(/([\w.~-]+|\{[A-Za-z_]\w*\}))+")
_PLACE = re.compile(r"\{(\w+)\}")
_LISTS = (list, tuple, set, frozenset, Sequence, AbstractSet, Iterable)


@dataclass(frozen=True, slots=True)
class EndpointParameter:
    """A parameter of an endpoint, and how its values are validated."""

    name: str
    type: Any
    is_required: bool
    adapter: TypeAdapter[Any]
    # Whether it may occur several times in a query string.
    is_list: bool


@dataclass(frozen=True)
class PatternEndpoint:
    """An access pattern as an endpoint; its name is that of the pattern's function."""

    name: str
    table: Table
    pattern: Pattern[..., Any]
    path: str
    writes: bool
    parameters: tuple[EndpointParameter, ...]
    # The type of the result as JSON; for a page, that of its items.
    result: Any
    is_page: bool
    # The parameter that continues a list: the service's own, or the pattern's; None if there is none.
    cursor: str | None
    # Whether the service continues the list itself, because the request is a query or a scan.
    continues: bool

    @property
    def method(self) -> str:
        """The HTTP method: reads are safe, writes are not."""
        return "POST" if self.writes else "GET"

    @property
    def description(self) -> str:
        """What the pattern does, as its function says."""
        return self.pattern.description or self.pattern.name

    @cached_property
    def arguments(self) -> TypeAdapter[dict[str, Any]]:
        """Validates all arguments at once, from JSON; unknown ones are refused."""
        fields = {
            each.name: (Required if each.is_required else NotRequired)[each.type]
            for each in self.parameters
        }
        kind: Any = TypedDict(to_camel(self.name), fields)  # type: ignore[operator] - by its values
        kind.__pydantic_config__ = ConfigDict(extra="forbid")
        return TypeAdapter(kind)

    @cached_property
    def results(self) -> TypeAdapter[Any]:
        """Serialises the result; for a page, the list of its items."""
        kind: Any = list
        return TypeAdapter(kind[self.result] if self.is_page else self.result)

    @cached_property
    def entity(self) -> type[Entity] | None:
        """The entity that the pattern returns, if it is of one kind."""
        found = {each for each in _find_entities(self.result) if each is not Entity}
        return found.pop() if len(found) == 1 else None


def make_endpoints(table: Table) -> dict[str, PatternEndpoint]:
    """Return the endpoints of a table's patterns, by name; raises DeclarationInvalid."""
    table.check()
    endpoints: dict[str, PatternEndpoint] = {}
    problems: list[str] = []
    paths: dict[tuple[str, str], str] = {}
    for pattern in table.patterns.values():
        subject = f"{table.name}: pattern {pattern.name!r}"
        try:
            endpoint = make_endpoint(table, pattern)
        except DeclarationInvalid as error:
            problems += error.problems
            continue
        if endpoint.name in endpoints:
            other = endpoints[endpoint.name].pattern.name
            problems.append(
                f"{subject} and {other!r} are functions of the same name, {endpoint.name}, by which "
                "a service calls them."
            )
        place = (endpoint.method, _PLACE.sub("{}", endpoint.path))
        if place in paths:
            problems.append(f"{subject} has the path of {paths[place]!r}, {endpoint.path}.")
        paths[place] = pattern.name
        endpoints[endpoint.name] = endpoint
    if problems:
        raise DeclarationInvalid(tuple(problems))
    return endpoints


def make_endpoint(table: Table, pattern: Pattern[..., Any]) -> PatternEndpoint:
    """Return the endpoint of one pattern; raises DeclarationInvalid."""
    name = to_snake(pattern.__name__ if pattern.__name__.isidentifier() else pattern.name)
    steps = _explain(pattern)
    request = find_request_type(pattern)
    if request is Any:
        request = _infer_request_type(pattern)
    result = find_result_type(request)
    is_page = get_origin(result) is Page or result is Page
    if is_page:
        result = next(iter(get_args(result)), Any)
    parameters = tuple(_make_parameters(table, pattern))
    names = {each.name for each in parameters}
    continues = (get_origin(request) or request) in (Query, Scan)
    own_cursor = next((each for each in _OWN_CURSORS if each in names), None)
    cursor = own_cursor
    if continues and own_cursor != CURSOR:
        cursor = CURSOR
    return PatternEndpoint(
        name=name,
        table=table,
        pattern=pattern,
        path=_find_path(table, pattern, name, result, names, steps or ()),
        writes=_writes(steps, request),
        parameters=parameters,
        result=result,
        is_page=is_page,
        cursor=cursor if is_page else None,
        continues=continues and own_cursor != CURSOR,
    )


def _infer_request_type(pattern: Pattern[..., Any]) -> Any:
    """Return the type of a pattern's request, for one that is not annotated; Any if it is not plain."""
    try:
        made = pattern.placeholder_request()
    except KeyfoldError:
        return Any
    kind: Any = type(made)
    schema = None
    if isinstance(made, Write):
        schema = made.schema
    elif isinstance(made, Query | Scan | Get):
        shape = cast("Get[Any]", made).shape
        schema = None if shape.only is not None or shape.as_refs else shape.schema
    else:
        return Any
    return kind if schema is None else kind[schema.entity]


def _make_parameters(table: Table, pattern: Pattern[..., Any]) -> Iterator[EndpointParameter]:
    for each in pattern.parameters:
        kind = find_value_type(pattern, each)
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(kind)
        except Exception as error:
            subject = f"{table.name}: pattern {pattern.name!r}"
            problem = (
                f"{subject} cannot be served: {each.name} is of a type that has no JSON: {error}"
            )
            raise DeclarationInvalid((problem,)) from error
        yield EndpointParameter(each.name, kind, each.is_required, adapter, _is_list(kind))


def _is_list(kind: Any) -> bool:
    if get_origin(kind) is Annotated:
        return _is_list(get_args(kind)[0])
    return (get_origin(kind) or kind) in _LISTS


def _find_path(
    table: Table,
    pattern: Pattern[..., Any],
    name: str,
    result: Any,
    names: set[str],
    steps: Iterable[PatternStep],
) -> str:
    subject = f"{table.name}: pattern {pattern.name!r}"
    if pattern.path is not None:
        if _PATH.fullmatch(pattern.path) is None:
            fact = f"its path is {pattern.path!r}. Give one such as /orders/{{order}}."
            raise DeclarationInvalid((f"{subject}: {fact}",))
        if pattern.path in OWN_PATHS:
            fact = f"every service has a path {pattern.path} of its own. Give another one."
            raise DeclarationInvalid((f"{subject}: {fact}",))
        unknown = {*_PLACE.findall(pattern.path)} - names
        if unknown:
            fact = f"its path has {{{min(unknown)}}}, which is not one of its parameters."
            raise DeclarationInvalid((f"{subject}: {fact}",))
        return pattern.path
    found = [each.__name__ for each in _find_entities(result) if each is not Entity]
    resource = next(iter(found), None) or _find_touched(steps) or table.name
    return f"/{to_kebab(resource)}/{to_kebab(name)}"


def _find_touched(steps: Iterable[PatternStep]) -> str | None:
    """Return the name of an entity that the calls of a pattern write; else, one that they read."""
    touched: list[Any] = []
    for step in steps:
        members: Sequence[Any] = getattr(step.request, "requests", (step.request,))
        touched += members
    written = [
        each.schema for each in touched if isinstance(each, Write) and not isinstance(each, Check)
    ]
    read = [each.shape.schema for each in touched if isinstance(each, Get | Query | Scan)]
    return next((each.name for each in (*written, *read) if each is not None), None)


def _explain(pattern: Pattern[..., Any]) -> tuple[PatternStep, ...] | None:
    """Return the calls of a pattern; None if it cannot be explained."""
    try:
        return pattern.explain().steps
    except KeyfoldError:
        return None


def _writes(steps: Iterable[PatternStep] | None, request: Any) -> bool:
    """Return whether a pattern writes; what cannot be known is taken for a write."""
    if steps is None:
        return (get_origin(request) or request) not in (Query, Scan, Get)
    return any(not find_operation(step.operation).is_read for step in steps)


def _find_entities(annotation: Any) -> Iterator[type[Entity]]:
    """Yield the entities of a type, the outermost first: those of collections are theirs."""
    if isinstance(annotation, type) and issubclass(annotation, Entity):
        yield annotation
        return
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for field in annotation.model_fields.values():
            yield from _find_entities(field.annotation)
        return
    if get_origin(annotation) in (
        Union,
        UnionType,
        Annotated,
        list,
        tuple,
        Page,
        Sequence,
        Mapping,
    ):
        for each in get_args(annotation):
            yield from _find_entities(each)


def to_kebab(name: str) -> str:
    """Return a name in lower case, its words joined by hyphens.

    >>> to_kebab("OrderLine"), to_kebab("last_orders"), to_kebab("HTTPServer2")
    ('order-line', 'last-orders', 'http-server2')
    """
    return "-".join(each.lower() for each in _WORDS.findall(name))


def to_snake(name: str) -> str:
    """Return a name in lower case, its words joined by underscores.

    >>> to_snake("ListOfGroups"), to_snake("Get user profile")
    ('list_of_groups', 'get_user_profile')
    """
    return to_kebab(name).replace("-", "_")


def to_camel(name: str) -> str:
    """Return a name as a class has it.

    >>> to_camel("last_orders")
    'LastOrders'
    """
    return "".join(each[0].upper() + each[1:] for each in cast("list[str]", _WORDS.findall(name)))
