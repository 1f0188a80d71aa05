"""What a query asks of a key: the attributes that are given, and a range of the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from keyfold.errors import KeyfoldError, QueryInvalid
from keyfold.keys import KeyTemplate, Ulid
from keyfold.model._moments import has_moment, resolve_moments
from keyfold.model._placeholders import Placeholder
from keyfold.model._schemas import KeyPart
from keyfold.model._showing import show_value
from keyfold.model._sketches import sketch_start
from keyfold.values import AttributeValue

# Some moment, to try out whether a range with moments in it can be made.
_SOME_TIME = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SortRange:
    """What the sort attribute after the ones that are fixed is limited to."""

    attribute: str
    low: AttributeValue | None = None
    high: AttributeValue | None = None
    prefix: AttributeValue | None = None

    def resolve(self, now: datetime) -> SortRange:  # noqa: ARG002 - as a Span does
        """Return the range for a request that runs at `now`: itself."""
        return self

    def __str__(self) -> str:
        name = self.attribute
        if self.prefix is not None:
            return f"{name} begins with {show_value(self.prefix)}"
        if self.low is not None and self.high is not None:
            return f"{name} between {show_value(self.low)} and {show_value(self.high)}"
        if self.low is not None:
            return f"{name} >= {show_value(self.low)}"
        assert self.high is not None  # there is one of them
        return f"{name} <= {show_value(self.high)}"


@dataclass(frozen=True, slots=True)
class PartRange:
    """A range of the next key part, by its values; moments among them wait until it runs."""

    part: KeyPart
    known: Mapping[str, Any]
    low: Any
    high: Any

    def resolve(self, now: datetime) -> SortRange:
        """Return the range for a request that runs at `now`."""
        low, high = (resolve_moments(each, now) for each in (self.low, self.high))
        if self.part.template is None:
            return self._of_attribute(low, high)
        template, attribute = self.part.template, self.part.attribute
        if isinstance(low, Placeholder) or isinstance(high, Placeholder):
            start = sketch_start(template, self.known)
            texts = tuple(None if each is None else f"{start}{each}" for each in (low, high))
        else:
            low, high = _ids_at(template, self.known, low, high)
            texts = template.span(self.known, low, high)
        ends: list[AttributeValue | None] = [
            None if text is None else {"S": text} for text in texts
        ]
        return SortRange(attribute, *ends)

    def _of_attribute(self, low: Any, high: Any) -> SortRange:
        part = self.part
        ends = [None if each is None else part.encode(each) for each in (low, high)]
        if ends[0] is not None and ends[1] is not None and _order(ends[0]) > _order(ends[1]):
            fact = f"there is nothing between {show_value(ends[0])} and {show_value(ends[1])}"
            raise QueryInvalid(part.attribute, fact, "Swap the two.")
        return SortRange(part.attribute, *ends)

    def __str__(self) -> str:
        start = "" if self.part.template is None else sketch_start(self.part.template, self.known)
        ends = [None if each is None else f"{start}{{{each!r}}}" for each in (self.low, self.high)]
        name = self.part.attribute
        if None not in ends:
            return f"{name} between {ends[0]} and {ends[1]}"
        return f"{name} <= {ends[1]}" if ends[0] is None else f"{name} >= {ends[0]}"


def make_range(
    part: KeyPart, known: Mapping[str, Any], low: Any, high: Any
) -> SortRange | PartRange:
    """Return the range of the next key part from one value to another; raises where there is none."""
    span = PartRange(part, known, low, high)
    try:
        tried = span.resolve(_SOME_TIME)
    except (AttributeError, TypeError) as error:
        if isinstance(error, KeyfoldError):
            raise
        fact = f"{low!r:.80} and {high!r:.80} are no range of it"
        raise QueryInvalid(part.attribute, fact, "Give values of its type.") from None
    return span if has_moment(low) or has_moment(high) else tried


def make_prefix(part: KeyPart, known: Mapping[str, Any], text: Any) -> SortRange:
    """Return the range of what begins with `text` in the next key part."""
    if part.template is not None:
        if isinstance(text, Placeholder):
            return SortRange(
                part.attribute, prefix={"S": f"{sketch_start(part.template, known)}{text}"}
            )
        return SortRange(part.attribute, prefix={"S": part.template.starting_with(known, text)})
    kind = part.kind if part.held_by is not None else "B" if isinstance(text, bytes) else "S"
    wanted = {"S": str | Placeholder, "B": bytes | Placeholder}.get(kind)
    if wanted is None or not isinstance(text, wanted) or not text:
        fact = f"{text!r:.80} cannot be the beginning of one"
        raise QueryInvalid(part.attribute, fact, "Give the beginning of its text, or of its bytes.")
    return SortRange(part.attribute, prefix={kind: str(text) if kind == "S" else text})


def _ids_at(
    template: KeyTemplate, known: Mapping[str, Any], low: Any, high: Any
) -> tuple[Any, Any]:
    """Return ends with typed ids for times: the first of one, and the last of the other."""
    part = next((each for each in template.parts if each.name not in known), None)
    kind = getattr(part.format, "kind", None) if part is not None else None
    if not isinstance(kind, type) or not issubclass(kind, Ulid):
        return low, high
    if isinstance(low, datetime):
        low = kind.range(since=low)[0]
    if isinstance(high, datetime):
        high = kind.range(until=high)[1]
    return low, high


def _order(value: AttributeValue) -> Any:
    ((kind, data),) = value.items()
    return Decimal(data) if kind == "N" and "{" not in data else data


@dataclass(frozen=True, slots=True)
class KeyState:
    """How far the fields that were given determine the key of what is queried."""

    equals: tuple[tuple[str, AttributeValue], ...]
    # The sort part that comes next, and what is known of its fields.
    open_part: KeyPart | None = None
    known: Mapping[str, Any] = field(default_factory=dict[str, Any])
    range: SortRange | PartRange | None = None
    # Whether the caller has limited the sort key, beyond what the fields do.
    is_limited: bool = False

    def __str__(self) -> str:
        parts = [f"{name} = {show_value(value)}" for name, value in self.equals]
        if self.range is not None:
            parts.append(str(self.range))
        return " and ".join(parts)
