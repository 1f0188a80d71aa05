"""From the texts of a command line to the arguments of an access pattern."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin

import typer
from pydantic import BaseModel, TypeAdapter, ValidationError

from keyfold.errors import KeyfoldError
from keyfold.model import Entity, Pattern, Request
from keyfold.model._patterns import Parameter


def read_arguments(pattern: Pattern[..., Any], words: Sequence[str]) -> dict[str, Any]:
    """Return the arguments that `--name value` words give; raises BadParameter.

    A value is text as the parameter's type reads it; what has parts, such as an entity, is JSON.
    """
    known = {to_flag(each.name): each for each in pattern.parameters}
    given: dict[str, Any] = {}
    waiting = list(words)
    while waiting:
        flag, has_value, text = waiting.pop(0).partition("=")
        if not flag.startswith("--"):
            fact = f"{flag!r} follows no parameter; it {_describe(pattern)}"
            raise typer.BadParameter(fact, param_hint="PATTERN")
        parameter = known.get(flag.replace("_", "-"))
        if parameter is None:
            fact = f"pattern {pattern.name!r} does not take it; it {_describe(pattern)}"
            raise typer.BadParameter(fact, param_hint=flag)
        if not has_value:
            if _is_flag(parameter) and not (waiting and waiting[0] in ("true", "false")):
                text = "true"
            elif waiting:
                text = waiting.pop(0)
            else:
                raise typer.BadParameter("it needs a value.", param_hint=flag)
        given[parameter.name] = _read(pattern, parameter, text, flag)
    missing = [each.name for each in known.values() if each.is_required and each.name not in given]
    if missing:
        lacking = " and ".join(map(to_flag, missing))
        raise ParametersMissing(f"Missing {lacking}: pattern {pattern.name!r} {_describe(pattern)}")
    return given


def make_request(pattern: Pattern[..., Any], arguments: Mapping[str, Any]) -> Request[Any]:
    """Return what a pattern becomes; raises BadParameter where it refuses its arguments.

    What refuses them knows the query, and not the command line.
    """
    try:
        return pattern(**arguments)
    except KeyfoldError as error:
        text = str(error)
        named = [name for name, value in arguments.items() if f"got {value!r}" in text]
        flags = [to_flag(name) for name in named or arguments]
        fact = f"pattern {pattern.name!r} refuses it: {text}"
        raise typer.BadParameter(fact, param_hint=", ".join(flags)) from error


class ParametersMissing(typer.BadParameter):
    """Parameters that a pattern cannot do without were not given: no value is at fault."""

    def format_message(self) -> str:
        """Return what is missing."""
        return self.message


def to_flags(pattern: Pattern[..., Any], words: Sequence[str]) -> list[str]:
    """Return words with each `name=value` of a parameter as `--name=value`."""
    known = {to_flag(each.name): each for each in pattern.parameters}
    flags: list[str] = []
    is_value = False
    for word in words:
        name, has_value, text = word.partition("=")
        if not is_value and has_value and to_flag(name) in known:
            flags.append(f"{to_flag(name)}={text}")
            continue
        flags.append(word)
        # What follows a parameter is its value, whatever it looks like.
        parameter = None if is_value or has_value else known.get(name.replace("_", "-"))
        is_value = parameter is not None and not _is_flag(parameter)
    return flags


def takes(pattern: Pattern[..., Any], name: str) -> bool:
    """Tell whether a pattern has a parameter of this name."""
    return any(each.name == name for each in pattern.parameters)


def show_parameter(pattern: Pattern[..., Any], parameter: Parameter) -> str:
    """Show a parameter as a line of help does: its name and its type, in brackets if optional."""
    shown = f"{to_flag(parameter.name)} {show_type(type_of(pattern, parameter))}"
    return shown if parameter.is_required else f"[{shown}]"


def show_type(annotation: Any) -> str:
    """Name a type for people.

    >>> show_type(Annotated[str, "three letters"]), show_type(datetime | None)
    ('str', 'datetime')
    """
    origin, options = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return show_type(options[0])
    if origin in (Union, UnionType):
        return " or ".join(show_type(each) for each in options if each is not type(None))
    if origin is not None and options:
        return f"{show_type(origin)} of {', '.join(map(show_type, options))}"
    name = getattr(annotation, "__name__", None) or str(annotation)
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return f"{name} (JSON)" if is_model else name


def to_flag(name: str) -> str:
    """Return a parameter's name as the command line has it.

    >>> to_flag("order_id")
    '--order-id'
    """
    return "--" + name.replace("_", "-")


def _describe(pattern: Pattern[..., Any]) -> str:
    shown = [show_parameter(pattern, each) for each in pattern.parameters]
    return f"takes {' '.join(shown)}." if shown else "takes nothing."


def _is_flag(parameter: Parameter) -> bool:
    return parameter.annotation is bool


def type_of(pattern: Pattern[..., Any], parameter: Parameter) -> Any:
    """Return the type that a text is read as: the annotation, or the example's if that is open."""
    annotation: Any = parameter.annotation
    if isinstance(annotation, TypeVar):
        annotation = annotation.__bound__ or Any
    is_open = annotation is Any or isinstance(annotation, str) or _has_no_table(annotation)
    if is_open and parameter.name in pattern.example:
        return cast(type[Any], type(pattern.example[parameter.name]))
    # A type that is local to a function is known by its name alone: its value stays a text.
    return Any if isinstance(annotation, str) else annotation


def _has_no_table(annotation: Any) -> bool:
    if not isinstance(annotation, type) or not issubclass(annotation, Entity):
        return False
    return "_keyfold_table" not in vars(annotation)


def _read(pattern: Pattern[..., Any], parameter: Parameter, text: str, flag: str) -> Any:
    wanted = type_of(pattern, parameter)
    adapter: TypeAdapter[Any] = TypeAdapter(wanted)
    try:
        return _with_zone(adapter.validate_strings(text))
    except ValidationError as error:
        problem = error
    try:
        read = json.loads(text, parse_float=Decimal, parse_constant=Decimal)
    except ValueError:
        pass
    else:
        try:
            return _with_zone(adapter.validate_python(read))
        except ValidationError as error:
            # What has parts is told part by part.
            problem = error
    fact = f"{text!r:.80} will not do, for {show_type(wanted)}: {_word(problem)}."
    raise typer.BadParameter(fact, param_hint=flag)


def _with_zone(value: Any) -> Any:
    """Return a value; a time without a zone is meant as UTC."""
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value


def _word(error: ValidationError) -> str:
    problems: list[Mapping[str, Any]] = [dict(each) for each in error.errors()]
    return "; ".join(
        ": ".join(filter(None, (".".join(map(str, each["loc"])), each["msg"].rstrip("."))))
        for each in problems
    )
