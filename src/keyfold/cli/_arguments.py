"""Parsing of command-line words into the arguments of an access pattern."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import typer
from pydantic import BaseModel, TypeAdapter, ValidationError

from keyfold.cli._surfaces import Surface
from keyfold.cli._times import parse_units
from keyfold.errors import HandleInvalid, KeyfoldError
from keyfold.model import Pattern, Request
from keyfold.model._pattern_types import assume_utc, find_value_type
from keyfold.model._patterns import Parameter

_PLAIN = Surface()


def read_arguments(
    pattern: Pattern[..., Any], words: Sequence[str], surface: Surface = _PLAIN
) -> dict[str, Any]:
    """Return the arguments given as `--name value` words; raises BadParameter.

    A value is parsed as the parameter's type; structured values, such as entities, are JSON. End
    users give handles instead of ids.
    """
    known = {to_flag(each.name): each for each in pattern.parameters}
    given: dict[str, Any] = {}
    waiting = list(words)
    while waiting:
        flag, has_value, text = waiting.pop(0).partition("=")
        if not flag.startswith("--"):
            fact = f"{flag!r} is not a parameter; the pattern {_describe(pattern)}"
            raise typer.BadParameter(fact, param_hint="PATTERN")
        parameter = known.get(flag.replace("_", "-"))
        if parameter is None:
            fact = f"pattern {pattern.name!r} has no such parameter; it {_describe(pattern)}"
            raise typer.BadParameter(fact, param_hint=flag)
        if not has_value:
            if _is_flag(parameter) and not (waiting and waiting[0] in ("true", "false")):
                text = "true"
            elif waiting:
                text = waiting.pop(0)
            else:
                raise typer.BadParameter("it needs a value.", param_hint=flag)
        given[parameter.name] = _read(pattern, parameter, text, flag, surface)
    missing = [each.name for each in known.values() if each.is_required and each.name not in given]
    if missing:
        flags = " and ".join(map(to_flag, missing))
        raise ParametersMissing(f"Missing {flags}: pattern {pattern.name!r} {_describe(pattern)}")
    return given


def make_request(
    pattern: Pattern[..., Any], arguments: Mapping[str, Any], surface: Surface = _PLAIN
) -> Request[Any]:
    """Return a pattern's request; raises BadParameter if the pattern refuses its arguments.

    The original error names the query's fields, so the flags are matched by their values.
    """
    try:
        return pattern(**arguments)
    except KeyfoldError as error:
        text = str(error)
        named = [name for name, value in arguments.items() if f"got {value!r}" in text]
        flags = [to_flag(name) for name in named or arguments]
        reason = text if surface.shows_keys else f"{surface.show_error(error)} [{error.code}]"
        fact = f"pattern {pattern.name!r} does not accept it: {reason}"
        raise typer.BadParameter(fact, param_hint=", ".join(flags)) from error


class ParametersMissing(typer.BadParameter):
    """Required parameters of a pattern were not given."""

    def format_message(self) -> str:
        """Return the message alone, without typer's "Invalid value" prefix."""
        return self.message


def to_flags(pattern: Pattern[..., Any], words: Sequence[str]) -> list[str]:
    """Return words with each parameter's `name=value` changed to `--name=value`."""
    known = {to_flag(each.name): each for each in pattern.parameters}
    flags: list[str] = []
    is_value = False
    for word in words:
        name, has_value, text = word.partition("=")
        if not is_value and has_value and to_flag(name) in known:
            flags.append(f"{to_flag(name)}={text}")
            continue
        flags.append(word)
        # The word after a parameter is its value, even if it looks like `name=value`.
        parameter = None if is_value or has_value else known.get(name.replace("_", "-"))
        is_value = parameter is not None and not _is_flag(parameter)
    return flags


def takes(pattern: Pattern[..., Any], name: str) -> bool:
    """Return whether a pattern has a parameter of this name."""
    return any(each.name == name for each in pattern.parameters)


def show_parameter(pattern: Pattern[..., Any], parameter: Parameter) -> str:
    """Return a parameter's flag and type as help shows them, in brackets if optional."""
    shown = f"{to_flag(parameter.name)} {show_type(find_value_type(pattern, parameter))}"
    return shown if parameter.is_required else f"[{shown}]"


def show_type(annotation: Any) -> str:
    """Return the name of a type as help shows it.

    >>> from datetime import datetime
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
    """Return the command-line flag of a parameter.

    >>> to_flag("order_id")
    '--order-id'
    """
    return "--" + name.replace("_", "-")


def _describe(pattern: Pattern[..., Any]) -> str:
    shown = [show_parameter(pattern, each) for each in pattern.parameters]
    return f"takes {' '.join(shown)}." if shown else "takes no parameters."


def _is_flag(parameter: Parameter) -> bool:
    return parameter.annotation is bool


def _read(
    pattern: Pattern[..., Any], parameter: Parameter, text: str, flag: str, surface: Surface
) -> Any:
    wanted = find_value_type(pattern, parameter)
    try:
        return _parse(TypeAdapter(wanted), text, surface)
    except HandleInvalid as error:
        raise typer.BadParameter(surface.show_error(error), param_hint=flag) from None
    except ValidationError as error:
        reason = _describe_errors(error) if surface.shows_keys else surface.show_error(error)
    fact = f"{text!r:.80} is not valid for type {show_type(wanted)}: {reason.rstrip('.')}."
    raise typer.BadParameter(fact, param_hint=flag)


def _parse(adapter: TypeAdapter[Any], given: str, surface: Surface) -> Any:
    """Return the value of a text; raises ValidationError, HandleInvalid."""
    text = surface.read(given)
    try:
        return assume_utc(adapter.validate_strings(text))
    except ValidationError as error:
        problem = error
    duration = parse_units(text)
    if duration is not None:
        with suppress(ValidationError):
            return adapter.validate_python(duration)
    try:
        read = json.loads(given, parse_float=Decimal, parse_constant=Decimal)
    except ValueError:
        raise problem from None
    # This error names the invalid parts of a structured value.
    return assume_utc(adapter.validate_python(surface.read_json(read)))


def _describe_errors(error: ValidationError) -> str:
    problems: list[Mapping[str, Any]] = [dict(each) for each in error.errors()]
    return "; ".join(
        ": ".join(filter(None, (".".join(map(str, each["loc"])), each["msg"].rstrip("."))))
        for each in problems
    )
