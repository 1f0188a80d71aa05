"""A pattern that the browser calls: found by name, its arguments read by type, and its request made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from keyfold.errors import (
    DeclarationInvalid,
    KeyfoldError,
    PatternFailed,
    SerializationException,
    ValueInvalid,
)
from keyfold.model import Pattern, Request, Table
from keyfold.model._pattern_types import assume_utc, find_value_type
from keyfold.service._arguments import ArgumentsInvalid, read_body
from keyfold.service._endpoints import PatternEndpoint, make_endpoint
from keyfold.service._running import PageLimits, make_request
from keyfold.studio._actions import StudioCall
from keyfold.studio._problems import StudioProblem

# How many items a page has, if nobody says, and at most.
_PAGES = PageLimits(items=50, most=1_000)


@dataclass(frozen=True, slots=True)
class CalledPattern:
    """A pattern, and its endpoint; if it cannot be one, `problem` says why."""

    table: Table
    pattern: Pattern[..., Any]
    endpoint: PatternEndpoint | None
    problem: str | None = None

    @property
    def name(self) -> str:
        """The name of the pattern's function."""
        return self.pattern.__name__

    def read(self, text: str) -> dict[str, Any]:
        """Return the arguments of a JSON object, given as text; raises StudioProblem.

        As text, since the browser's own numbers would lose digits.
        """
        if self.endpoint is None:
            return self._read_plainly(text)
        try:
            return read_body(self.endpoint, text.encode("utf-8", "surrogatepass"), {}, None)
        except ArgumentsInvalid as error:
            fields = [{"field": each.argument, "message": each.message} for each in error.problems]
            raise refuse_arguments(fields) from error
        except (SerializationException, RecursionError):
            raise _not_json() from None

    def _read_plainly(self, text: str) -> dict[str, Any]:
        """Return arguments by name; those whose type has a JSON form are validated."""
        try:
            given = json.loads(text or "{}", parse_float=Decimal)
        except (ValueError, RecursionError):
            raise _not_json() from None
        if not isinstance(given, dict):
            raise _not_json()
        members = cast("dict[str, Any]", given)
        found: dict[str, Any] = {}
        fields: list[dict[str, str]] = []
        for each in self.pattern.parameters:
            if each.name not in members:
                if each.is_required:
                    fields.append({"field": each.name, "message": "It is required"})
                continue
            value = members.pop(each.name)
            try:
                adapter: TypeAdapter[Any] = TypeAdapter(find_value_type(self.pattern, each))
                found[each.name] = assume_utc(adapter.validate_python(value))
            except PydanticUserError:
                found[each.name] = value
            except ValidationError as error:
                fault = error.errors(include_url=False, include_input=False)[0]
                fields.append({"field": each.name, "message": fault["msg"]})
        fields += [{"field": name, "message": "There is no such parameter"} for name in members]
        if fields:
            raise refuse_arguments(fields)
        return found

    def make(
        self,
        arguments: Mapping[str, Any],
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Request[Any]:
        """Return the request for some arguments; `cursor` continues a list.

        Raises KeyfoldError and ValidationError for arguments that the pattern refuses, PatternFailed
        for its own mistakes.
        """
        endpoint = self.endpoint
        if endpoint is not None:
            if endpoint.continues:
                return make_request(endpoint, arguments, limit=limit, cursor=cursor, pages=_PAGES)
            if cursor is not None and endpoint.cursor is not None:
                arguments = {**arguments, endpoint.cursor: cursor}
        return self.make_whole(arguments)

    def make_whole(self, arguments: Mapping[str, Any]) -> Request[Any]:
        """Return the request as the pattern makes it, without a limit of ours; raises as `make`."""
        try:
            return self.pattern(**arguments)
        except (KeyfoldError, ValidationError):
            raise
        except Exception as error:
            raise PatternFailed(self.pattern.name, type(error).__name__, str(error)) from error


def find_pattern(call: StudioCall) -> CalledPattern:
    """Return the pattern that a call names, by its function or its title; raises StudioProblem."""
    name = call.body.text("pattern")
    patterns = call.table.patterns.values()
    found = next((each for each in patterns if each.__name__ == name), None)
    found = found or next((each for each in patterns if each.name == name), None)
    if found is None:
        known = ", ".join(each.__name__ for each in patterns) or "none"
        message = f"{call.table.name} has no pattern {name!r:.80}; it has {known}."
        raise StudioProblem(404, "pattern-unknown", message)
    return describe_pattern(call.table, found)


def describe_pattern(table: Table, pattern: Pattern[..., Any]) -> CalledPattern:
    """Return a pattern with its endpoint, or with the reason why it has none."""
    try:
        return CalledPattern(table, pattern, make_endpoint(table, pattern))
    except DeclarationInvalid as error:
        return CalledPattern(table, pattern, None, " ".join(error.problems))


def refuse_arguments(fields: list[dict[str, str]]) -> StudioProblem:
    """Return the problem of arguments that a pattern does not take."""
    shown = "; ".join(f"{each['field']}: {each['message']}" for each in fields)
    return StudioProblem(422, ValueInvalid.code, shown, fields=fields)


def _not_json() -> StudioProblem:
    message = 'The arguments have to be a JSON object, such as {"user": "ada"}.'
    return StudioProblem(400, "request-malformed", message)
