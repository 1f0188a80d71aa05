"""The arguments of an endpoint: from query parameters, path segments and JSON bodies.

End users give handles where others give ids; those are read before anything is validated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import orjson
from pydantic import TypeAdapter, ValidationError

from keyfold.errors import KeyfoldError, SerializationException
from keyfold.model._pattern_types import assume_utc
from keyfold.service._bodies import read_exactly, write_exactly
from keyfold.service._endpoints import EndpointParameter, PatternEndpoint
from keyfold.store import Handles


class ArgumentProblem(NamedTuple):
    """What is wrong with an argument, or with a member of it: `line.quantity`."""

    argument: str
    message: str


class ArgumentsInvalid(Exception):
    """Arguments that an endpoint does not take."""

    def __init__(self, problems: Sequence[ArgumentProblem]) -> None:
        super().__init__("; ".join(f"{each.argument}: {each.message}" for each in problems))
        self.problems = tuple(problems)


_UNREADABLE = "A value cannot be read: it is nested too deep, or is not Unicode"


def read_body(
    endpoint: PatternEndpoint, body: bytes, places: Mapping[str, str], handles: Handles | None
) -> dict[str, Any]:
    """Return the arguments of a JSON body and of the path, which count more.

    Raises ArgumentsInvalid, SerializationException, HandleInvalid.
    """
    body = body.strip() or b"{}"
    if handles is not None:
        try:
            body = handles.read_encoded(body)
        except UnicodeDecodeError:
            raise SerializationException from None
        places = {name: handles.read(text) for name, text in places.items()}
    if places:
        body = _add_members(body, places)
    try:
        found = _validate(endpoint, body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            raise SerializationException from None
        raise ArgumentsInvalid(list_problems(error, handles)) from error
    return {name: assume_utc(value) for name, value in found.items()}


def read_arguments(
    endpoint: PatternEndpoint, given: Mapping[str, Any], handles: Handles | None
) -> dict[str, Any]:
    """Return the arguments of a JSON object; raises ArgumentsInvalid, HandleInvalid."""
    try:
        return read_body(endpoint, write_exactly(given), {}, handles)
    except (SerializationException, RecursionError):
        raise ArgumentsInvalid([ArgumentProblem("", _UNREADABLE)]) from None


def _add_members(body: bytes, members: Mapping[str, str]) -> bytes:
    """Return an encoded object with more members; of members with the same name, the last one counts."""
    if not body.endswith(b"}"):
        # Not an object, which the validation refuses.
        return body
    head = body[:-1].rstrip()
    return head + (b"" if head == b"{" else b",") + orjson.dumps(members)[1:]


def _validate(endpoint: PatternEndpoint, body: bytes) -> dict[str, Any]:
    """Return the validated members of a body, with all digits of its numbers; raises ValidationError."""
    exact = read_exactly(body)
    if exact is not None:
        # Some types take a number of JSON, but no Decimal.
        with suppress(ValidationError):
            return endpoint.arguments.validate_python(exact)
    return endpoint.arguments.validate_json(body)


def read_query(
    endpoint: PatternEndpoint, given: Sequence[tuple[str, str]], handles: Handles | None
) -> dict[str, Any]:
    """Return the arguments of a query string and of the path; raises ArgumentsInvalid, HandleInvalid.

    A list is given as a parameter that occurs several times, and anything else with members as JSON.
    """
    texts: dict[str, list[str]] = {}
    for name, text in given:
        texts.setdefault(name, []).append(text if handles is None else handles.read(text))
    found: dict[str, Any] = {}
    problems: list[ArgumentProblem] = []
    for parameter in endpoint.parameters:
        values = texts.pop(parameter.name, None)
        if values is None:
            if parameter.is_required:
                problems.append(ArgumentProblem(parameter.name, "It is required"))
            continue
        try:
            found[parameter.name] = assume_utc(_read_texts(parameter, values))
        except ArgumentsInvalid as error:
            problems += error.problems
        except ValidationError as error:
            problems += list_problems(error, handles, parameter.name)
    problems += [ArgumentProblem(name, "There is no such parameter") for name in texts]
    if problems:
        raise ArgumentsInvalid(problems)
    return found


def list_problems(
    error: ValidationError, handles: Handles | None, *within: str
) -> list[ArgumentProblem]:
    """Return what a validation found: where, and what, without the values."""
    return [
        ArgumentProblem(".".join(map(str, (*within, *each["loc"]))), _describe(dict(each), handles))
        for each in error.errors(include_url=False, include_input=False)
    ]


def _describe(problem: dict[str, Any], handles: Handles | None) -> str:
    """Return what is wrong with a value; an error of ours says it without keys."""
    cause = problem.get("ctx", {}).get("error")
    if isinstance(cause, KeyfoldError):
        return cause.public if handles is None else handles.show_error(cause)
    text = str(problem["msg"])
    return text if handles is None else handles.show(text)


def _read_texts(parameter: EndpointParameter, texts: list[str]) -> Any:
    adapter: TypeAdapter[Any] = parameter.adapter
    if parameter.is_list:
        return adapter.validate_json(orjson.dumps(texts))
    if len(texts) > 1:
        raise ArgumentsInvalid([ArgumentProblem(parameter.name, "Give it once")])
    [text] = texts
    try:
        return adapter.validate_strings(text)
    except ValidationError:
        if not text.startswith(("{", "[")):
            raise
    return adapter.validate_json(text)
