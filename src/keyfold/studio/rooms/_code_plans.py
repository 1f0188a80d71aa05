"""A request as calls of DynamoDB's API that can be written in any language.

Values that are known only when the code runs are marked: those of an item that an earlier call found, and
those that depend on the time. What takes Python code of the pattern's own is not planned: `problem` says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, cast

from keyfold.api import find_operation
from keyfold.model import Batch, Get, Query, Request, Scan, Table, Transaction
from keyfold.model._collections import CollectionGet
from keyfold.model._key_parts import KeyPart
from keyfold.model._paged_reads import Count, First
from keyfold.model._pattern_arguments import placeholder_result
from keyfold.model._requests import Chain, Mapped
from keyfold.model._schemas import EntitySchema
from keyfold.model._writes import CreateOrGet, Write
from keyfold.studio.rooms._code_filters import FOUND, find_fixed, may_lie_in, tell_apart

# What a step leaves: one item, a list, a number, or nothing that is read.
StepResult = Literal["item", "items", "count", "written"]

_LATER = timedelta(seconds=1_000)
_EACH = "{found[i]."
_REF = '{found.key["'
# Only changes what an error has.
_DROPPED = ("ReturnValuesOnConditionCheckFailure",)


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value of an item that the step before found: an attribute, or texts around attributes.

    Texts and attributes alternate, beginning with a text: `("U#", "UserID", "#O")`.
    """

    pieces: tuple[str, ...]
    # Whether it is taken from each of several items.
    is_each: bool = False

    @property
    def attribute(self) -> str | None:
        """The attribute whose value it is; None if texts are around it."""
        return self.pieces[1] if len(self.pieces) == 3 and self.pieces[::2] == ("", "") else None  # noqa: PLR2004 - one attribute


@dataclass(frozen=True, slots=True)
class NowValue:
    """The time in seconds since 1970, and as many seconds more."""

    more: int = 0


@dataclass(frozen=True, slots=True)
class CodeStep:
    """One call. In its body, `{"found": FoundValue}` and `{"now": NowValue}` stand for values."""

    operation: str
    body: dict[str, Any]
    result: StepResult
    limit: int | None = None
    # The condition of items that are returned, by attribute, as regular expressions; others lie between.
    patterns: tuple[tuple[str, str], ...] = ()
    # An attribute that has to have one of these values: the type attribute of the table.
    types: tuple[str, tuple[str, ...]] | None = None
    # The attribute with the time at which items expire, if expired items are left out.
    ttl: str | None = None
    # Whether the body is repeated for each item that the step before found.
    is_each: bool = False


@dataclass(slots=True)
class CodePlan:
    """The calls of a request, in order; each after the first depends on the one before it."""

    table: Table
    steps: list[CodeStep] = field(default_factory=list[CodeStep])
    # Sentences about what the calls do not do.
    notes: list[str] = field(default_factory=list[str])
    problem: str | None = None

    @property
    def writes(self) -> bool:
        """Whether a call writes."""
        return any(not find_operation(each.operation).is_read for each in self.steps)

    @property
    def uses_now(self) -> bool:
        """Whether a value depends on the time."""
        return any("now" in each for step in self.steps for each in find_values(step.body))


def plan_code(table: Table, request: Request[Any], now: datetime) -> CodePlan:
    """Return the calls of a request that runs at any time."""
    plan = CodePlan(table)
    _Planner(plan, now).add(request, None)
    return plan


@dataclass(slots=True)
class _Planner:
    plan: CodePlan
    now: datetime

    def add(self, request: Request[Any], source: _Source | None) -> None:
        if self.plan.problem is not None:
            return
        match request:
            case Mapped(request=inner):
                self._note("The pattern then passes the result through Python code of its own.")
                self.add(inner, source)
            case Chain(first=first, make=make):
                self.add(first, source)
                self._add_next(first, make)
            case _:
                for step in self._make_steps(request):
                    self._append(step, source)

    def _add_next(self, first: Request[Any], make: Any) -> None:
        following: Request[Any] | None = None
        with suppress(Exception):  # a user's function, called with placeholders
            following = make(placeholder_result(first))
        if following is None or _writes(following):
            self.plan.problem = (
                "What follows is decided by Python code of the pattern, from what was found: "
                "run it with Keyfold."
            )
            return
        self.add(following, _find_source(first))

    def _append(self, step: CodeStep, source: _Source | None) -> None:
        try:
            body = _link(step.body, source)
        except _Unlinked:
            self.plan.problem = (
                "What follows takes values from what was found that only the declaration can read: "
                "run it with Keyfold."
            )
            return
        is_each = any("found" in each and each["found"].is_each for each in find_values(body))
        made = CodeStep(
            step.operation,
            body,
            step.result,
            step.limit,
            step.patterns,
            step.types,
            step.ttl,
            is_each,
        )
        self.plan.steps.append(made)

    def _note(self, sentence: str) -> None:
        if sentence not in self.plan.notes:
            self.plan.notes.append(sentence)

    def _make_steps(self, request: Request[Any]) -> Iterator[CodeStep]:
        match request:
            case Query() | Scan():
                read = cast("Query[Any] | Scan[Any]", request)
                yield self._read(read, read, "items", read.page_limit)
            case First(query=query):
                yield self._read(request, query, "item", 1)
            case Count(source=source):
                yield self._read(request, source, "count", None)
            case CollectionGet():
                yield self._read(request, request.query, "items", None)
            case Get():
                body = self._body(request)
                yield CodeStep("GetItem", body, "item", ttl=self._ttl(request.includes_expired))
            case Batch():
                is_read = all(isinstance(each, Get) for each in request.requests)
                for call in request.calls(self.now):
                    ttl = self.plan.table.ttl if is_read else None
                    result: StepResult = "items" if is_read else "written"
                    yield CodeStep(call.operation, call.request, result, ttl=ttl)
                self._check_unique(request.requests)
            case Transaction():
                self._check_unique(request.requests)
                result = "items" if request.is_read else "written"
                operation = "TransactGetItems" if request.is_read else "TransactWriteItems"
                yield CodeStep(operation, self._body(request), result)
            case CreateOrGet(put=put):
                self._note("If the item exists, Keyfold returns it instead of failing.")
                yield from self._make_steps(cast("Request[Any]", put))
            case Write():
                self._check_unique([request])
                operation = request.operation
                body = self._body(request)
                if operation == "ConditionCheck":
                    operation, body = "TransactWriteItems", {"TransactItems": [{operation: body}]}
                yield CodeStep(operation, body, "written")
            case _:
                self.plan.problem = "This request has no form outside of Keyfold."

    def _check_unique(self, requests: Sequence[Any]) -> None:
        for each in requests:
            if isinstance(each, Write) and each.changes_unique:
                names = ", ".join(each.schema.unique)
                self._note(
                    f"Keyfold also keeps the guard items of {each.schema.name}'s unique values "
                    f"({names}), in the same transaction. This does not."
                )

    def _ttl(self, includes_expired: bool) -> str | None:  # noqa: FBT001 - as the request says
        return None if includes_expired else self.plan.table.ttl

    def _read(
        self,
        request: Request[Any],
        source: Query[Any] | Scan[Any],
        result: StepResult,
        limit: int | None,
    ) -> CodeStep:
        if source.test is not None:
            name = getattr(source.test, "__name__", "a test")
            self._note(f"The pattern then leaves out items by {name}, a function of its own.")
        schemas = (
            [each.schema for each in request.members]
            if isinstance(request, CollectionGet)
            else [source.shape.schema]
        )
        body = self._body(source)
        for name in ("Segment", "TotalSegments"):
            # Segments are read at the same time; one after the other, they are a scan.
            body.pop(name, None)
        patterns: tuple[tuple[str, str], ...] = ()
        types: tuple[str, tuple[str, ...]] | None = None
        known = [each for each in schemas if each is not None]
        if known and len(known) == len(schemas):
            declared = self.plan.table
            others = [
                each
                for each in declared.entities.values()
                if each not in known and each is not declared.fallback
            ]
            if any(may_lie_in(each, source, body) for each in others):
                patterns, types = tell_apart(declared, known, find_fixed(body))
        if patterns or types or source.filter is not None:
            # A limit counts what is read, not what is returned.
            body.pop("Limit", None)
        ttl = self._ttl(source.includes_expired)
        return CodeStep(source.operation, body, result, limit, patterns, types, ttl)

    def _body(self, request: Request[Any]) -> dict[str, Any]:
        """Return the body of a request, whose values that depend on the time are marked."""
        body = request.to_dynamodb(now=self.now)
        later = request.to_dynamodb(now=self.now + _LATER)
        marked = _mark_now(body, later, int(self.now.timestamp()))
        if _has_times(marked, later):
            self._note("Times that are stored as text are those of now.")
        return _drop(marked)


def _writes(request: Request[Any]) -> bool:
    match request:
        case Mapped(request=inner):
            return _writes(inner)
        case Chain(first=first):
            return _writes(first)
        case Transaction():
            return not request.is_read
        case Batch(requests=members):
            return not all(isinstance(each, Get) for each in members)
        case _:
            return isinstance(request, Write | CreateOrGet)


def _mark_now(value: Any, later: Any, now: int) -> Any:
    """Return a body in which numbers that grow with the time are marked."""
    match value:
        case {"N": str() as number} if value != later and len(value) == 1:
            if number.isdecimal() and later["N"] == str(int(number) + int(_LATER.total_seconds())):
                return {"now": NowValue(int(number) - now)}
            return value
        case dict():
            members = cast("dict[str, Any]", value)
            return {name: _mark_now(each, later[name], now) for name, each in members.items()}
        case list():
            pairs = zip(cast("list[Any]", value), later, strict=True)
            return [_mark_now(*pair, now) for pair in pairs]
        case _:
            return value


def _has_times(marked: Any, later: Any) -> bool:
    """Return whether a body has other values that depend on the time."""
    match marked:
        case {"now": NowValue()}:
            return False
        case dict():
            members = cast("dict[str, Any]", marked)
            return any(_has_times(each, later[name]) for name, each in members.items())
        case list():
            pairs = zip(cast("list[Any]", marked), later, strict=True)
            return any(_has_times(*pair) for pair in pairs)
        case _:
            return marked != later


def _drop(value: Any) -> Any:
    match value:
        case dict():
            members = cast("dict[str, Any]", value)
            return {name: _drop(each) for name, each in members.items() if name not in _DROPPED}
        case list():
            return [_drop(each) for each in cast("list[Any]", value)]
        case _:
            return value


def find_values(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the members of a body that stand for values which are known only later."""
    match value:
        case {"found": FoundValue()} | {"now": NowValue()}:
            yield cast("dict[str, Any]", value)
        case dict():
            for each in cast("dict[str, Any]", value).values():
                yield from find_values(each)
        case list():
            for each in cast("list[Any]", value):
                yield from find_values(each)
        case _:
            pass


class _Unlinked(Exception):
    """A value is taken from what was found, but no attribute is known that has it."""


@dataclass(frozen=True, slots=True)
class _Source:
    """What was found before: items of an entity, if that is known."""

    schema: EntitySchema | None

    def resolve(self, text: str) -> FoundValue:
        """Return where the text of a placeholder is found; raises _Unlinked."""
        start = _EACH if _EACH in text else f"{FOUND}."
        is_each = start == _EACH
        if text.startswith(_REF) and text.count(FOUND) == 1 and text.endswith('"]["S"]}'):
            return FoundValue(("", text.split('"')[1], ""))
        if self.schema is None:
            raise _Unlinked
        for part in self.schema.keys:
            if _render_placeholder(part, start) == text:
                return FoundValue(("", part.attribute, ""), is_each)
        first, *rest = text.split(start)
        pieces = [first]
        for each in rest:
            name, _, after = each.partition("}")
            pieces += [self._find_attribute(name), after]
        if len(pieces) == 1 or any(FOUND in each for each in pieces):
            raise _Unlinked
        return FoundValue(tuple(pieces), is_each)

    def _find_attribute(self, name: str) -> str:
        """Return the attribute that stores a field as text."""
        assert self.schema is not None  # or the text would not be resolved
        for part in self.schema.keys:
            if part.fields == (name,) and (
                part.held_by is not None or (part.template and part.template.text == f"{{{name}}}")
            ):
                return part.attribute
        found = self.schema.fields.get(name)
        if found is None or found.is_part or found.codec.kinds != frozenset({"S"}):
            raise _Unlinked
        return found.stored


def _render_placeholder(part: KeyPart, start: str) -> str:
    """Return the text of a key whose fields are placeholders."""
    if part.template is None:
        return f"{start}{part.fields[0]}}}"
    pieces = [f"{each.before}{start}{each.name}}}" for each in part.template.parts]
    return "".join(pieces) + part.template.tail


def _find_source(request: Request[Any]) -> _Source:
    match request:
        case First(query=query):
            return _Source(query.shape.schema)
        case Get(shape=shape) | Query(shape=shape) | Scan(shape=shape):
            return _Source(shape.schema)
        case Mapped(request=inner):
            return _find_source(inner)
        case _:
            return _Source(None)


def _link(value: Any, source: _Source | None) -> Any:
    """Return a body in which values of what was found are marked; raises _Unlinked."""
    match value:
        case {"S": str() as text} if source is not None and FOUND in text:
            return {"found": source.resolve(str(text))}
        case dict():
            members = cast("dict[str, Any]", value)
            if source is not None and any(FOUND in name for name in members):
                raise _Unlinked
            return {name: _link(each, source) for name, each in members.items()}
        case list():
            return [_link(each, source) for each in cast("list[Any]", value)]
        case str() if source is not None and FOUND in value:
            raise _Unlinked
        case _:
            return value
